//! Resource tokens: what a permission's token stands for, and who makes its text.
//!
//! The engine knows permissions, the gateway knows keys. So the engine has a token made by whoever
//! signs, and looks the permission up again whenever one comes back.

use std::{fmt, sync::Arc};

use crate::rid::PermissionRid;

/// What a resource token says: which permission it was made of. What that grants is looked up, so
/// that a token ends with its permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The permission.
    pub permission: PermissionRid,
    /// Which of the rights that it has had: other rights need other tokens. A random number, so that
    /// another permission under the same number (after a backup is restored) has another.
    pub generation: u64,
}

/// Makes tokens.
pub trait Minter: fmt::Debug + Send + Sync {
    /// The text of a token that is good for this long, unlike any other; `None` if none can be
    /// made.
    fn mint(&self, grant: Grant, seconds: u32) -> Option<String>;
}

/// How the tokens of permissions are made in a request.
#[derive(Clone, Debug, Default)]
pub struct TokenOptions {
    /// For how long they are good, if the caller says so.
    pub seconds: Option<u32>,
    /// Who makes them; without one, permissions are shown without.
    pub minter: Option<Arc<dyn Minter>>,
}
