//! What became of a request, for the audit log and for counting failures to authenticate.

use protocol::{Code, Principal, Proof};

/// What became of a request, as an extension of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handled {
    /// One of a fixed set of names; `refused` if it did not get as far as to have one.
    pub operation: &'static str,
    /// It changes what the account consists of rather than documents.
    pub is_control: bool,
    /// It was refused for who asked, rather than for what: limits of storage are a 403, too.
    pub is_refused: bool,
    /// By what the caller was let in; `None` if by nothing.
    pub credential: Option<Credential>,
    /// Names the request in answers and logs.
    pub activity_id: u128,
    /// Why it was refused, if it was: words of ours, and names from the request's own path.
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
    /// An access token.
    AccessToken,
}

impl Credential {
    /// Its name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::ReadOnlyKey => "read-only key",
            Self::ResourceToken => "resource token",
            Self::AccessToken => "access token",
        }
    }

    pub(crate) fn of(principal: Principal) -> Self {
        match principal.proof() {
            Proof::Key => Self::Key,
            Proof::ReadOnlyKey => Self::ReadOnlyKey,
            Proof::Role(_) => Self::AccessToken,
            Proof::Token(_) => Self::ResourceToken,
        }
    }
}

/// Whether an error is about who asked. Limits that are reached are a 403, too, by codes of their own.
pub(crate) fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::Unauthorized | Code::Forbidden | Code::ActionNotSupported | Code::ActionNotGranted
    )
}

/// The first sentence of an error: what follows may repeat what the client signed.
pub(crate) fn reason(message: &str) -> String {
    const CHARS_MAX: usize = 200;
    let sentence = message.split_once(". ").map_or(message, |(first, _)| first);
    sentence.chars().take(CHARS_MAX).collect()
}
