//! Databases and containers.

use azure_data_cosmos::models::{
    ContainerProperties, ThroughputProperties, TimeToLive, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::CreateContainerOptions;

use crate::support::*;

#[test]
fn databases_are_created_read_and_deleted() {
    on_runtime(async {
        let client = client().await;
        let id = unique("db");
        let created = client.create_database(&id, None).await.unwrap();
        assert_eq!(u16::from(created.status().status_code()), 201);
        let created = created.into_model().unwrap();
        assert_eq!(created.id.as_deref(), Some(id.as_str()));

        let database = client.database_client(id.clone());
        let read = database.read(None).await.unwrap();
        assert_eq!(u16::from(read.status().status_code()), 200);
        assert!(read.headers().request_charge().is_some());
        assert!(read.headers().activity_id().is_some());
        let read = read.into_model().unwrap();
        assert_eq!(read, created);
        let rid = read.system_properties.resource_id.unwrap();
        assert_eq!(
            read.system_properties.self_link.as_deref(),
            Some(format!("dbs/{rid}/").as_str())
        );

        refused(409, client.create_database(&id, None).await);
        refused(400, client.create_database(&"x".repeat(256), None).await);
        let deleted = database.delete(None).await.unwrap();
        assert_eq!(u16::from(deleted.status().status_code()), 204);
        refused(404, database.read(None).await);
        refused(404, database.delete(None).await);
    });
}

#[test]
fn containers_make_the_round_trip() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let id = unique("c");
        let properties = ContainerProperties::new(id.clone(), "/a/b".into())
            .with_default_ttl(TimeToLive::Seconds(3600))
            .with_unique_key_policy(
                UniqueKeyPolicy::default()
                    .with_unique_key(UniqueKey::default().with_path("/email")),
            );
        let created = database.create_container(properties.clone(), None).await.unwrap();
        assert_eq!(u16::from(created.status().status_code()), 201);
        let created = created.into_model().unwrap();
        assert_eq!(created.id, id);
        assert_eq!(created.partition_key.paths(), ["/a/b"]);
        assert_eq!(created.default_ttl, TimeToLive::Seconds(3600));
        assert_eq!(created.unique_key_policy.clone().unwrap().unique_keys.len(), 1);
        let policy = created.indexing_policy.clone().expect("an indexing policy");
        assert!(policy.automatic);

        let container = database.container_client(id.clone(), None).await.unwrap();
        let read = container.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(read, created);

        let mut changed = read.clone();
        changed.default_ttl = TimeToLive::NoDefault;
        let replaced = container.replace(changed, None).await.unwrap();
        assert_eq!(u16::from(replaced.status().status_code()), 200);
        let replaced = replaced.into_model().unwrap();
        assert_eq!(replaced.default_ttl, TimeToLive::NoDefault);
        assert_eq!(replaced.system_properties.resource_id, created.system_properties.resource_id);
        assert_ne!(replaced.system_properties.etag, created.system_properties.etag);

        let mut other_key = replaced.clone();
        other_key.partition_key = "/other".into();
        refused(400, container.replace(other_key, None).await);

        refused(409, database.create_container(properties, None).await);
        container.delete(None).await.unwrap();
        refused(404, container.read(None).await);
    });
}

#[test]
fn bad_containers_are_refused() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for path in ["/a/*", "pk", ""] {
            let properties = ContainerProperties::new(unique("bad"), path.into());
            refused(400, database.create_container(properties, None).await);
        }
        for throughput in [100, 450] {
            let properties = ContainerProperties::new(unique("bad"), "/pk".into());
            let options = CreateContainerOptions::default()
                .with_throughput(ThroughputProperties::manual(throughput));
            refused(400, database.create_container(properties, Some(options)).await);
        }
        let properties = ContainerProperties::new(unique("bad"), "/pk".into());
        let nowhere = client.database_client("no such database");
        refused(404, nowhere.create_container(properties, None).await);
        refused(404, database.container_client("none", None).await);
    });
}

#[test]
fn resources_are_addressed_by_rid_too() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container = container_with(&database, "/pk", None).await;
        let database_rid = database.read(None).await.unwrap().into_model().unwrap();
        let database_rid = database_rid.system_properties.resource_id.unwrap();
        let container_rid = container.read(None).await.unwrap().into_model().unwrap();
        let container_rid = container_rid.system_properties.resource_id.unwrap();

        let by_rid = client.database_client(azure_data_cosmos::ResourceId::from(database_rid));
        assert_eq!(
            by_rid.read(None).await.unwrap().into_model().unwrap().id.as_deref(),
            database.name()
        );
        let by_rid = by_rid
            .container_client(azure_data_cosmos::ResourceId::from(container_rid), None)
            .await
            .unwrap();
        assert_eq!(
            by_rid.read(None).await.unwrap().into_model().unwrap().id,
            container.read(None).await.unwrap().into_model().unwrap().id
        );
        assert_eq!(by_rid.read_feed_ranges(None).await.unwrap().len(), 1);
    });
}
