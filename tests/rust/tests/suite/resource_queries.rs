//! Queries over resources: databases, containers, and the offers that hold their throughput.

use azure_data_cosmos::models::{ContainerProperties, ThroughputProperties};
use azure_data_cosmos::options::CreateContainerOptions;
use azure_data_cosmos::Query;
use futures::TryStreamExt;

use crate::support::*;

#[test]
fn databases_are_queried() {
    on_runtime(async {
        let client = client().await;
        let prefix = unique("asked");
        for suffix in ["a", "b", "größe"] {
            client.create_database(&format!("{prefix}{suffix}"), None).await.unwrap();
        }
        let query = Query::from("SELECT * FROM root r WHERE r.id = @id")
            .with_parameter("@id", format!("{prefix}größe"))
            .unwrap();
        let found: Vec<_> =
            client.query_databases(query, None).await.unwrap().try_collect().await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, Some(format!("{prefix}größe")));
        let query = Query::from("SELECT * FROM c WHERE STARTSWITH(c.id, @p)")
            .with_parameter("@p", &prefix)
            .unwrap();
        let found: Vec<_> =
            client.query_databases(query, None).await.unwrap().try_collect().await.unwrap();
        let mut ids: Vec<_> = found.into_iter().map(|one| one.id.unwrap()).collect();
        ids.sort();
        assert_eq!(ids, ["a", "b", "größe"].map(|suffix| format!("{prefix}{suffix}")));
        let found = client.query_databases("SELECT * FORM c", None).await.unwrap();
        refused(400, found.try_collect::<Vec<_>>().await);
    });
}

#[test]
fn containers_are_queried() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for (id, path) in [("one", "/a"), ("two", "/b/deep"), ("größe", "/c")] {
            let properties = ContainerProperties::new(id, path.into());
            database.create_container(properties, None).await.unwrap();
        }
        for (query, expected) in [
            ("SELECT * FROM c", vec!["größe", "one", "two"]),
            ("SELECT * FROM c WHERE c.id = 'größe'", vec!["größe"]),
            ("SELECT * FROM c WHERE c.partitionKey.paths[0] = '/b/deep'", vec!["two"]),
            ("SELECT * FROM c WHERE c.id = 'none'", vec![]),
        ] {
            let found = database.query_containers(query, None).await.unwrap();
            let found: Vec<_> = found.try_collect().await.unwrap();
            let mut ids: Vec<_> = found.iter().map(|one| one.id.to_string()).collect();
            ids.sort();
            assert_eq!(ids, expected, "{query}");
        }
    });
}

#[test]
fn throughput_is_read_and_replaced() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container = container_with(&database, "/pk", Some(400)).await;
        let read = container.read_throughput(None).await.unwrap().expect("an offer");
        assert_eq!((read.throughput(), read.autoscale_maximum()), (Some(400), None));
        let replaced = container
            .begin_replace_throughput(ThroughputProperties::manual(800), None)
            .await
            .unwrap()
            .await
            .unwrap();
        assert_eq!(replaced.into_model().unwrap().throughput(), Some(800));
        let read = container.read_throughput(None).await.unwrap().expect("an offer");
        assert_eq!(read.throughput(), Some(800));
        for throughput in [100, 450] {
            let wanted = ThroughputProperties::manual(throughput);
            let started = container.begin_replace_throughput(wanted, None).await;
            match started {
                Err(error) => assert_eq!(u16::from(error.status().status_code()), 400),
                Ok(poller) => refused(400, poller.await),
            }
        }
    });
}

#[test]
fn throughput_that_scales() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let id = unique("c");
        let options = CreateContainerOptions::default()
            .with_throughput(ThroughputProperties::autoscale(4000, None));
        let properties = ContainerProperties::new(id.clone(), "/pk".into());
        database.create_container(properties, Some(options)).await.unwrap();
        let container = database.container_client(id, None).await.unwrap();
        let read = container.read_throughput(None).await.unwrap().expect("an offer");
        assert_eq!(read.autoscale_maximum(), Some(4000));
        container
            .begin_replace_throughput(ThroughputProperties::autoscale(6000, None), None)
            .await
            .unwrap()
            .await
            .unwrap();
        let read = container.read_throughput(None).await.unwrap().expect("an offer");
        assert_eq!(read.autoscale_maximum(), Some(6000));
    });
}

#[test]
fn a_database_has_no_throughput_of_its_own() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        assert!(database.read_throughput(None).await.unwrap().is_none());
        // Nor is the offer of its container taken for one.
        container_with(&database, "/pk", Some(400)).await;
        assert!(database.read_throughput(None).await.unwrap().is_none());
    });
}
