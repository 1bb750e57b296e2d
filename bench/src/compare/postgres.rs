//! PostgreSQL's side: its tables, and its jobs. Each statement is prepared once by each connection.

use std::sync::Arc;

use anyhow::Result;

use super::{
    framing::Framing,
    job::Job,
    pgwire,
    pool::Pool,
    queries,
    workload::{MANY, SEVERAL, Workload, scatter},
};
use crate::{
    api::id,
    query::{data::Data, postgres::USER, wire::Client},
};

/// The same documents without GIN and with an index on the one number that is ordered by.
pub(crate) const ORDERED_TABLE: &str = "ordered";
const LOADED_TABLE: &str = "orders";
/// Of so many operations of the mix one is an upsert.
const UPSERT_EVERY: usize = 20;

/// Loads the tables. The GIN index has no list of pending entries: each write pays for itself.
pub(crate) fn fill(address: &str, data: Data) -> Result<()> {
    let mut client = Client::connect(address, USER)?;
    for table in [LOADED_TABLE, "fresh", ORDERED_TABLE] {
        client.run(&format!("CREATE TABLE {table} (id text PRIMARY KEY, doc jsonb NOT NULL)"))?;
    }
    // No document has a character that COPY would want escaped.
    let lines = (0..data.documents).map(|n| format!("{}\t{}\n", id(n), data.document(n)));
    client.copy("COPY orders FROM STDIN", lines)?;
    client.run("INSERT INTO ordered SELECT * FROM orders")?;
    for table in [LOADED_TABLE, "fresh"] {
        client.run(&format!(
            "CREATE INDEX {table}_doc ON {table} USING gin (doc jsonb_path_ops) \
             WITH (fastupdate = off)"
        ))?;
    }
    client.run("CREATE INDEX ordered_amount ON ordered (((doc->'amount')::numeric))")?;
    client.run("VACUUM ANALYZE")?;
    client.run("CHECKPOINT")?;
    Ok(())
}

/// Bytes of the loaded table with its indexes, and of its GIN index.
pub(crate) fn sizes(address: &str) -> Result<(f64, f64)> {
    let mut client = Client::connect(address, USER)?;
    let total = client.run("SELECT pg_total_relation_size('orders')")?.value.parse()?;
    let index = client.run("SELECT pg_relation_size('orders_doc')")?.value.parse()?;
    Ok((total, index))
}

/// The job of a workload; `None` for what has no counterpart. `is_ordered`: in the table that has an
/// index on what is ordered by.
pub(crate) fn job(
    workload: Workload,
    pool: &Arc<Pool>,
    data: Data,
    is_ordered: bool,
) -> Option<Job> {
    let table = if is_ordered { ORDERED_TABLE } else { LOADED_TABLE };
    let read = format!("SELECT doc FROM {table} WHERE id = $1");
    let upsert = format!(
        "INSERT INTO {table} VALUES ($1, $2::jsonb) \
         ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc"
    );
    let statements = match workload {
        Workload::PointRead => vec![read],
        Workload::UpsertMix => vec![read, upsert],
        Workload::Replace => vec![format!("UPDATE {table} SET doc = $2::jsonb WHERE id = $1")],
        Workload::Patch => vec![format!(
            "UPDATE {table} SET doc = jsonb_set(doc, '{{active}}', 'true') WHERE id = $1"
        )],
        Workload::Create => vec![insert(1)],
        Workload::Batch => vec![insert(SEVERAL)],
        Workload::Bulk => vec![insert(MANY)],
        Workload::CreateOneKey | Workload::Procedure | Workload::ChangeFeed => return None,
        query => vec![queries::statement(query, table)?],
    };
    let (mut login, mut prepare) = (Vec::new(), Vec::new());
    pgwire::start(USER, &mut login);
    for (at, statement) in statements.iter().enumerate() {
        pgwire::prepare(&format!("s{at}"), statement, &mut prepare);
    }
    pgwire::sync(&mut prepare);
    let prelude = vec![login, prepare];
    let pool = Arc::clone(pool);
    let make = move |number: usize, _: Option<&[u8]>, out: &mut Vec<u8>| {
        make(workload, &pool, data, number, out);
        pgwire::sync(out);
    };
    Some(Job { prelude, rows: workload.rows(), ..Job::new(Framing::Postgres, make) })
}

/// An insert of so many documents.
fn insert(count: usize) -> String {
    let rows: Vec<String> =
        (0..count).map(|at| format!("(${}, ${}::jsonb)", at * 2 + 1, at * 2 + 2)).collect();
    format!("INSERT INTO fresh VALUES {}", rows.join(","))
}

fn make(workload: Workload, pool: &Pool, data: Data, number: usize, out: &mut Vec<u8>) {
    let of = scatter(number, data.documents);
    match workload {
        Workload::PointRead | Workload::Patch => pgwire::run("s0", &[id(of).as_bytes()], out),
        Workload::UpsertMix if !number.is_multiple_of(UPSERT_EVERY) => {
            pgwire::run("s0", &[id(of).as_bytes()], out);
        }
        Workload::UpsertMix | Workload::Replace => {
            let name = if workload == Workload::Replace { "s0" } else { "s1" };
            pgwire::run(name, &[id(of).as_bytes(), data.document(of).as_bytes()], out);
        }
        Workload::Create | Workload::Batch | Workload::Bulk => {
            let count = workload.creates();
            let mut parameters = Vec::with_capacity(count * 2);
            for number in number * count..(number + 1) * count {
                let mut text = Vec::new();
                pool.append(number, pool.sample(number), &mut text);
                parameters.push(id(number).into_bytes());
                parameters.push(text);
            }
            let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
            pgwire::run("s0", &parameters, out);
        }
        query => {
            let parameters = queries::parameters(query, data, number);
            let parameters: Vec<&[u8]> = parameters.iter().map(String::as_bytes).collect();
            pgwire::run("s0", &parameters, out);
        }
    }
}
