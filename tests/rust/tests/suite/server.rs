//! A server of one test's own, for what no test may do to the shared one: to stop it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use azure_data_cosmos::clients::DatabaseClient;
use azure_data_cosmos::CosmosClient;

use crate::support::*;

pub struct Server {
    process: Child,
    endpoint: String,
}

impl Server {
    pub fn start(directory: &Directory) -> Server {
        let mut command = Command::new(std::env::var("SHEAF_BIN").expect("SHEAF_BIN"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SHEAF_")) {
            command.env_remove(name);
        }
        command.args(["serve", "--port", "0", "--data-dir"]).arg(&directory.0);
        let log = std::fs::File::create(directory.0.with_extension("log")).unwrap();
        let mut process = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let endpoint = ready.trim().strip_prefix("ready endpoint=").expect("a started server");
        Server { endpoint: endpoint.to_owned(), process }
    }

    pub async fn database(&self) -> (CosmosClient, DatabaseClient) {
        let client = CosmosClient::builder().build(account(&self.endpoint, KEY), routing()).await;
        let client = client.expect("a client");
        let database = client.database_client("db");
        (client, database)
    }

    /// Stops the server in good order.
    pub fn stop(mut self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only a test that failed leaves it running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A directory for a server's data, gone at the end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        let name = format!("{}-{}", unique("sheaf"), std::process::id());
        Directory(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("log"));
    }
}
