//! Records what Sheaf answers to a point read and to a create, for the floor to give again.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Result, bail};

use super::{framing::Framing, pool::Pool, rest::Rest, setup, stream::Stream, workload::Workload};
use crate::{
    process::{Kind, Server},
    query::data::Data,
    scratch::Scratch,
};

/// Of whom a point read is recorded: the smallest collection that there can be.
const DOCUMENTS: usize = 1000;

/// Writes the answers, and the certificate that Sheaf made for itself.
pub(crate) async fn record(sheaf: &Path, pool: &Arc<Pool>, into: &Path) -> Result<()> {
    let scratch = Scratch::named("recorded")?;
    let server = Server::start_with(Kind::SheafDisk, sheaf, &scratch.0, &["--tls", "optional"])?;
    let data = Data::new(DOCUMENTS)?;
    setup::rest_collections(&server.host, true, setup::PARTITIONS).await?;
    let rest = || Rest::new(&server.host, pool, data);
    let mut stream = Stream::open(&server.host, false).await?;
    let mut exchange = async |request: &[u8]| {
        stream.send(request).await?;
        let mut answer = Vec::new();
        while Framing::Http.answer(&answer)?.is_none() {
            if stream.receive(&mut answer).await? == 0 {
                bail!("the server closed the connection");
            }
        }
        Ok(answer)
    };
    let load = rest()?.load_job();
    for number in 0..DOCUMENTS {
        let mut request = Vec::new();
        (load.make)(number, None, &mut request);
        exchange(&request).await?;
    }
    for (workload, method) in [(Workload::Create, "POST"), (Workload::PointRead, "GET")] {
        let mut request = Vec::new();
        (rest()?.job(workload).make)(0, None, &mut request);
        fs::write(into.join(method), exchange(&request).await?)?;
    }
    fs::create_dir_all(into.join("tls"))?;
    for entry in fs::read_dir(scratch.0.join("tls"))? {
        let entry = entry?;
        fs::copy(entry.path(), into.join("tls").join(entry.file_name()))?;
    }
    server.stop()?;
    Ok(())
}
