//! What the index costs those who write: its size, and the work of a create, under three policies.

use std::time::Instant;

use anyhow::Result;

use super::{data::Data, sheaf::Sheaf};
use crate::{
    arguments::Arguments,
    cell::metrics,
    scratch::Scratch,
    startup::{megabytes, size_of},
};

/// Names of policies, and how a collection says them.
const POLICIES: [(&str, &str); 3] = [
    ("default", ""),
    (
        "three-paths",
        concat!(
            r#","indexingPolicy":{"includedPaths":[{"path":"/status/?"},{"path":"/batch/?"},"#,
            r#"{"path":"/created/?"}],"excludedPaths":[{"path":"/*"}]}"#
        ),
    ),
    ("none", r#","indexingPolicy":{"indexingMode":"none","automatic":false}"#),
];

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments, data: Data) -> Result<()> {
    println!();
    println!("writing {} documents under three indexing policies", data.documents);
    println!(
        "{:12} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9}",
        "policy", "creates/s", "CPU µs", "later µs", "keys/create", "index/data", "disk MB"
    );
    for (name, indexing) in POLICIES {
        let scratch = Scratch::named(name)?;
        let sheaf = Sheaf::start(&arguments.sheaf, &scratch.0)?;
        sheaf.create(indexing).await?;
        let (store_begin, cpu_begin) = (metrics(&sheaf.server).await?, sheaf.server.cpu()?);
        let begin = Instant::now();
        sheaf.fill(data, arguments.connections).await?;
        let (elapsed, cpu_filled) = (begin.elapsed(), sheaf.server.cpu()?);
        sheaf.settle().await?;
        let (store_end, cpu_end) = (metrics(&sheaf.server).await?, sheaf.server.cpu()?);
        let (documents_kb, collection_kb) = sheaf.usage().await?;
        let keys = store_end.value("sheaf_store_keys_written")?
            - store_begin.value("sheaf_store_keys_written")?;
        let count = data.documents as f64;
        sheaf.server.stop()?;
        println!(
            "{name:12} {:9.0} {:9.1} {:9.1} {:11.1} {:11.2} {:9.1}",
            count / elapsed.as_secs_f64(),
            cpu_filled.saturating_sub(cpu_begin).as_secs_f64() * 1e6 / count,
            cpu_end.saturating_sub(cpu_filled).as_secs_f64() * 1e6 / count,
            keys / count,
            (collection_kb - documents_kb) / documents_kb,
            megabytes(size_of(&scratch.0)?),
        );
    }
    Ok(())
}
