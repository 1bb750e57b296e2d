//! A job: how the requests of one workload are made for one server, and what answers they have.

use std::sync::Arc;

use super::framing::Framing;

/// Appends the request with this number, which asks for the page that a token names.
pub(crate) type Make = dyn Fn(usize, Option<&[u8]>, &mut Vec<u8>) + Send + Sync;

/// What connections send.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) framing: Framing,
    /// Sent once by each connection, before anything is measured: logs in, prepares statements.
    pub(crate) prelude: Vec<Vec<u8>>,
    pub(crate) make: Arc<Make>,
    /// Statuses of the answers that are right.
    pub(crate) statuses: &'static [u16],
    /// What the first answer of each connection must say.
    pub(crate) says: Option<&'static str>,
    /// How many rows it must have, all pages together.
    pub(crate) rows: Option<usize>,
    /// Whether answers may come in pages, which are all fetched.
    pub(crate) has_pages: bool,
}

impl Job {
    pub(crate) fn new(
        framing: Framing,
        make: impl Fn(usize, Option<&[u8]>, &mut Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            framing,
            prelude: Vec::new(),
            make: Arc::new(make),
            statuses: &[200],
            says: None,
            rows: None,
            has_pages: false,
        }
    }

    pub(crate) fn answered(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }
}
