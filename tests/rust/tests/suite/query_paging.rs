//! Pages, and reading on from a token.

use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, ContainerProperties,
    IndexingPolicy, PropertyPath, ThroughputProperties,
};
use azure_data_cosmos::options::CreateContainerOptions;
use azure_data_cosmos::FeedScope;
use futures::TryStreamExt;
use serde_json::{json, Value};

use crate::server::{Directory, Server};
use crate::support::*;
use crate::things::*;

/// Queries whose pages the SDK can read on from, and the number of their rows.
const RESUMABLE: [(&str, usize); 10] = [
    ("SELECT * FROM c", 60),
    ("SELECT VALUE c.n FROM c WHERE c.even", 30),
    ("SELECT c.id, t.name FROM c JOIN t IN c.tags WHERE c.n < 30", 43),
    ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", 60),
    ("SELECT c.id, c.color FROM c ORDER BY c.color", 60),
    ("SELECT c.id, c.color FROM c ORDER BY c.color DESC", 60),
    ("SELECT TOP 13 c.id FROM c ORDER BY c.price", 13),
    ("SELECT c.id FROM c ORDER BY c.n OFFSET 11 LIMIT 13", 13),
    ("SELECT c.id FROM c OFFSET 11 LIMIT 13", 13),
    ("SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk", 9),
];

#[test]
fn every_page_size_gives_the_same_rows() {
    on_runtime(async {
        for container in loaded().await {
            for (query, count) in RESUMABLE {
                let whole = rows(container, query).await;
                assert_eq!(whole.len(), count, "{query}");
                for size in [1, 3, 0].into_iter().filter(|size| count <= 30 || *size != 1) {
                    let pages = try_pages(container, query, everywhere(), by(size)).await.unwrap();
                    assert!(
                        size == 0 || pages.iter().all(|page| page.items().len() <= size as usize)
                    );
                    let found: Vec<_> =
                        pages.into_iter().flat_map(|page| page.into_items()).collect();
                    assert_eq!(found, whole, "{query} by {size}");
                }
            }
        }
    });
}

#[test]
fn tokens_read_on() {
    on_runtime(async {
        for container in loaded().await {
            for (query, count) in RESUMABLE {
                let whole = rows(container, query).await;
                for size in if count > 30 { [7, 0] } else { [1, 3] } {
                    let pages = resumed(container, query, everywhere(), size).await;
                    assert!(size == 0 || pages.len() >= count / size as usize);
                    assert_eq!(pages.concat(), whole, "{query} by {size}");
                }
            }
        }
    });
}

#[test]
fn one_logical_partition_has_pages_too() {
    on_runtime(async {
        for container in loaded().await {
            for query in [
                "SELECT * FROM c",
                "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
                "SELECT VALUE t FROM c JOIN t IN c.tags",
            ] {
                let whole = rows_in(container, query, FeedScope::partition("k3")).await;
                assert!(whole.len() > 5);
                for size in [1, 3, 0] {
                    let pages = resumed(container, query, FeedScope::partition("k3"), size).await;
                    assert_eq!(pages.concat(), whole, "{query} by {size}");
                }
            }
        }
    });
}

#[test]
fn tokens_see_later_writes_as_an_ordered_read_would() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let container = container_with(&database, "/pk", Some(throughput)).await;
            load(&container).await;
            let query = "SELECT VALUE c.n FROM c WHERE c.n > 50 OR c.n < 0 ORDER BY c.n";
            let found = container.query_items::<Value>(query, everywhere(), Some(by(4))).await;
            let mut pages = found.unwrap().into_pages();
            let first = pages.try_next().await.unwrap().unwrap();
            assert_rows(first.items(), json!([51, 52, 53, 54]));
            let token = pages.to_continuation_token().unwrap();
            for (id, pk, n) in [("before", "k1", json!(-1)), ("after", "k2", json!(56.5))] {
                let body = json!({"id": id, "pk": pk, "n": n});
                container.create_item(pk, id, body, None).await.unwrap();
            }
            let options = by(4).with_continuation_token(token);
            let rest = try_pages(&container, query, everywhere(), options).await.unwrap();
            let rest: Vec<_> = rest.into_iter().flat_map(|page| page.into_items()).collect();
            assert_rows(&rest, json!([55, 56, 56.5, 57, 58, 59]));
        }
    });
}

#[test]
fn a_page_is_at_most_four_megabytes() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let container = container_with(&database, "/pk", Some(throughput)).await;
            let long = "ä".repeat(500_000);
            for n in 0..9 {
                let body = json!({"id": format!("b{n}"), "pk": "p", "n": n, "text": long});
                container.create_item("p", &format!("b{n}"), body, None).await.unwrap();
            }
            for scope in [everywhere(), FeedScope::partition("p")] {
                for query in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"] {
                    let pages = resumed(&container, query, scope.clone(), 100).await;
                    assert!(
                        pages.len() >= 3 || query.contains("ORDER"),
                        "{query}: {}",
                        pages.len()
                    );
                    let found = pages.concat();
                    assert_same_rows(
                        &found.iter().map(|row| row["n"].clone()).collect::<Vec<_>>(),
                        (0..9).collect(),
                    );
                    assert!(found.iter().all(|row| row["text"] == long));
                }
            }
        }
    });
}

#[test]
fn a_damaged_token_is_refused() {
    on_runtime(async {
        for container in loaded().await {
            for scope in [FeedScope::partition("k3"), everywhere()] {
                let options =
                    by(3).with_continuation_token(ContinuationToken::from_string("nothing".into()));
                refused(400, try_pages(container, "SELECT * FROM c", scope, options).await);
            }
        }
    });
}

fn composite() -> IndexingPolicy {
    let mut policy = IndexingPolicy::default()
        .with_included_path(PropertyPath::from("/*"))
        .with_composite_index(
            CompositeIndex::default()
                .with_property(CompositeIndexProperty::new(
                    "/color",
                    CompositeIndexOrder::Ascending,
                ))
                .with_property(CompositeIndexProperty::new("/n", CompositeIndexOrder::Descending)),
        );
    policy.automatic = true;
    policy
}

#[test]
fn tokens_outlive_the_server() {
    on_runtime(async {
        let directory = Directory::new();
        let queries = RESUMABLE.map(|(query, _)| query).into_iter().chain([
            "SELECT c.id FROM c ORDER BY c.color, c.n DESC",
            "SELECT c.id FROM c ORDER BY c.color DESC, c.n",
        ]);
        let queries: Vec<_> = queries.collect();
        let mut kept = Vec::new();
        let server = Server::start(&directory);
        {
            let (client, database) = server.database().await;
            client.create_database("db", None).await.unwrap();
            for throughput in [400, 30_000] {
                let id = format!("c{throughput}");
                let properties = ContainerProperties::new(id.clone(), "/pk".into())
                    .with_indexing_policy(composite());
                let options = CreateContainerOptions::default()
                    .with_throughput(ThroughputProperties::manual(throughput));
                database.create_container(properties, Some(options)).await.unwrap();
                let container = database.container_client(id.clone(), None).await.unwrap();
                load(&container).await;
                for query in &queries {
                    let whole = rows(&container, *query).await;
                    let found = container.query_items::<Value>(*query, everywhere(), Some(by(5)));
                    let mut pages = found.await.unwrap().into_pages();
                    let first = pages.try_next().await.unwrap().unwrap().into_items();
                    let token = pages.to_continuation_token().unwrap().as_str().to_owned();
                    kept.push((id.clone(), *query, whole, first, token));
                }
            }
        }
        server.stop();
        let server = Server::start(&directory);
        {
            let (_, database) = server.database().await;
            for (id, query, whole, mut found, token) in kept {
                let container = database.container_client(id.clone(), None).await.unwrap();
                let options = by(5).with_continuation_token(ContinuationToken::from_string(token));
                let rest = try_pages(&container, query, everywhere(), options).await;
                let rest = rest.unwrap_or_else(|error| panic!("{id}, {query}: {error}"));
                found.extend(rest.into_iter().flat_map(|page| page.into_items()));
                assert_eq!(found, whole, "{id}, {query}");
            }
        }
        server.stop();
    });
}
