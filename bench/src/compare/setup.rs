//! What is made before anything is measured: databases, collections, the stored procedure.

use anyhow::Result;
use hyper::{Method, header::HeaderValue};

use super::rest::{FRESH, LOADED, PROCEDURE};
use crate::{
    api::{Api, DATABASE, VERSION},
    cell::Connection,
};

/// How many partitions the collections have unless somebody asks for others.
pub(crate) const PARTITIONS: usize = 4;
/// Throughput that makes one partition.
const THROUGHPUT: usize = 10_000;
/// The stored procedure.
const SOURCE: &str = "function (documents) { \
    const collection = getContext().getCollection(); let count = 0; \
    for (const document of documents) { \
      collection.createDocument(collection.getSelfLink(), document, (error) => { \
        if (error) throw error; getContext().getResponse().setBody(count += 1); }); } }";

/// Creates the database and both collections of a server that speaks the REST API.
pub(crate) async fn rest_collections(
    host: &str,
    has_procedures: bool,
    partitions: usize,
) -> Result<()> {
    let api = Api::new(host);
    let mut connection = Connection::open(host).await?;
    connection.expect(api.create_database()?, 201).await?;
    let (link, path) = (format!("dbs/{DATABASE}"), format!("/dbs/{DATABASE}/colls"));
    for name in [LOADED, FRESH] {
        let key = r#""partitionKey":{"paths":["/customer"],"kind":"Hash","version":2}"#;
        let body = format!(r#"{{"id":"{name}",{key}}}"#);
        let mut request = api.prepare(Method::POST, "colls", &link, &path, VERSION, body)?;
        let throughput = HeaderValue::from(partitions * THROUGHPUT);
        request.headers_mut().insert("x-ms-offer-throughput", throughput);
        connection.expect(request, 201).await?;
    }
    if has_procedures {
        let link = format!("dbs/{DATABASE}/colls/{FRESH}");
        let body = format!(r#"{{"id":"{PROCEDURE}","body":"{SOURCE}"}}"#);
        let path = format!("/{link}/sprocs");
        let request = api.prepare(Method::POST, "sprocs", &link, &path, VERSION, body)?;
        connection.expect(request, 201).await?;
    }
    Ok(())
}
