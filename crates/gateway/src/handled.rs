//! The outcome of a request, for the audit log and for counting failures to authenticate.

use protocol::{Code, Principal, Proof};

/// The outcome of a request. The gateway returns it with the answer, or attaches it as an extension to
/// the answer to a request that it refuses before that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handled {
    /// The operation, from a fixed set of names; `refused` if the request was refused before it had
    /// one.
    pub operation: &'static str,
    /// Whether the operation changes the account's resources rather than documents.
    pub is_control: bool,
    /// Whether the gateway refused the request because of the caller, not because of a limit:
    /// storage limits are a 403, too.
    pub is_refused: bool,
    /// The credential that let the caller in, if any did.
    pub credential: Option<Credential>,
    /// The id of the request in answers and logs.
    pub activity_id: u128,
    /// Why the request was refused. The text is ours, plus names from the request's own path.
    pub reason: Option<String>,
}

/// The kind of credential that a caller presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A key with full access.
    Key,
    /// A read-only key.
    ReadOnlyKey,
    /// A resource token, made for a permission.
    ResourceToken,
    /// An access token.
    AccessToken,
}

impl Credential {
    /// The name of the credential in logs.
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

/// Whether an error refuses the caller. Limits are a 403, too, but have codes of their own.
pub(crate) fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::Unauthorized | Code::Forbidden | Code::ActionNotSupported | Code::ActionNotGranted
    )
}

/// Returns the first sentence of an error message. The rest may repeat what the client signed.
pub(crate) fn reason(message: &str) -> String {
    const CHARS_MAX: usize = 200;
    let sentence = message.split_once(". ").map_or(message, |(first, _)| first);
    sentence.chars().take(CHARS_MAX).collect()
}
