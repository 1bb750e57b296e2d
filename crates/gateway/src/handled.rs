//! How a request was taken, for whoever counts strangers or keeps an audit log.

use protocol::{Operation, Principal};

/// What became of a request, as an extension of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handled {
    /// One of a fixed set of names; `refused` if it did not get as far as to have one.
    pub operation: &'static str,
    /// It changes what the account consists of rather than documents.
    pub is_control: bool,
    /// By what the caller was let in; `None` if by nothing.
    pub credential: Option<Credential>,
    /// Names the request in answers and logs.
    pub activity_id: u128,
    /// Why it failed, if it did: words of ours, and names from the request's own path.
    pub reason: Option<String>,
}

/// What a caller proved to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A key that may do everything.
    Key,
    /// A key that may read.
    ReadOnlyKey,
    /// The token of a permission.
    ResourceToken,
}

impl Credential {
    /// Its name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::ReadOnlyKey => "read-only key",
            Self::ResourceToken => "resource token",
        }
    }

    pub(crate) fn of(principal: &Principal) -> Self {
        match principal {
            Principal::Account { read_only: false } => Self::Key,
            Principal::Account { read_only: true } => Self::ReadOnlyKey,
            Principal::Token(_) => Self::ResourceToken,
        }
    }
}

/// Whether an operation changes databases, collections, throughput and the like. What only runs or
/// changes documents is told by its name, so that a new kind of resource is never forgotten.
pub(crate) fn is_control(operation: &Operation) -> bool {
    let name = operation.name();
    !(operation.is_read() || name.ends_with("_document") || name.starts_with("execute_"))
}

/// The first sentence of an error: what follows may repeat what the client signed.
pub(crate) fn reason(message: &str) -> String {
    const CHARS_MAX: usize = 200;
    let sentence = message.split_once(". ").map_or(message, |(first, _)| first);
    sentence.chars().take(CHARS_MAX).collect()
}
