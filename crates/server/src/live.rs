//! State of a running server that is read from files, and reloaded when they change.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::anyhow;
use gateway::Gateway;
use net::Acceptor;
use tools::keys::Source;

use crate::{
    certificate::{Certificate, PublicCertificate},
    issuers,
    keys::Loaded,
    reload::Reload,
};

/// The account's keys.
pub(crate) struct LiveKeys {
    pub(crate) source: Source,
    pub(crate) gateway: Arc<Gateway>,
    /// The addresses that the server listens on: not every key may be used everywhere.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Whether the published key may be used everywhere.
    pub(crate) is_allowed: bool,
}

impl Reload for LiveKeys {
    fn name(&self) -> &'static str {
        "key file"
    }

    fn files(&self) -> Vec<PathBuf> {
        self.source.path().into_iter().map(Into::into).collect()
    }

    /// If the file is missing, keep the keys: moving a file must not bring back the published key.
    fn reload(&self) -> anyhow::Result<()> {
        let Some(path) = self.source.path() else { return Ok(()) };
        if !path.try_exists()? {
            return Err(anyhow!("`{}` does not exist", path.display()));
        }
        let loaded = Loaded::read(&self.source).map_err(|failure| anyhow!("{failure}"))?;
        loaded
            .check_exposure(&self.addresses, self.is_allowed)
            .map_err(|failure| anyhow!("{failure}"))?;
        self.gateway.set_keys(loaded.keys);
        Ok(())
    }
}

/// The certificate.
pub(crate) struct LiveCertificate {
    pub(crate) certificate: Certificate,
    pub(crate) acceptor: Acceptor,
    pub(crate) public: PublicCertificate,
}

impl Reload for LiveCertificate {
    fn name(&self) -> &'static str {
        "TLS certificate"
    }

    fn files(&self) -> Vec<PathBuf> {
        self.certificate.files()
    }

    fn reload(&self) -> anyhow::Result<()> {
        let (acceptor, public) = self.certificate.acceptor()?;
        self.acceptor.replace(acceptor);
        self.public.replace(public);
        Ok(())
    }
}

/// The issuers of access tokens, and their keys.
pub(crate) struct LiveIssuers {
    pub(crate) path: PathBuf,
    pub(crate) gateway: Arc<Gateway>,
}

impl Reload for LiveIssuers {
    fn name(&self) -> &'static str {
        "issuers of access tokens"
    }

    /// Includes the key sets: they change more often than the file that names them.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.path.clone()];
        files.extend(issuers::key_files(&self.path));
        files
    }

    fn reload(&self) -> anyhow::Result<()> {
        self.gateway.set_issuers(issuers::load(&self.path)?);
        Ok(())
    }
}
