//! The caller's identity, as proved by an authenticator.

use crate::token::Grant;

/// The caller's identity, as proved by an authenticator.
///
/// Only code that has verified a signature or a token may create one: `auth`, `resource_token` and
/// `issuers` of the crate `gateway`, their counterparts in other protocols, and tests. There is no
/// default, and nothing converts into one. The service decides what the principal may do
/// ([`crate::rights`]), so a protocol that forgets to check gives nothing away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal(Proof);

/// The credential that a caller proved to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// An account key that may do everything.
    Key,
    /// An account key that may only read and query.
    ReadOnlyKey,
    /// An access token of a user who has this role in the account.
    Role(Role),
    /// The token of a permission, genuine and not expired. The service looks up whether the
    /// permission still exists and what it grants.
    Token(Grant),
}

/// A role, like the service's built-in data roles; each includes the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// May read and query everything.
    Reader,
    /// May also change documents and their attachments, and run scripts.
    Contributor,
    /// May do everything. The service has no such data role: there, the rest goes through another
    /// API.
    Owner,
}

impl Principal {
    /// For code that verified a signature with an unrestricted key.
    pub fn of_key() -> Self {
        Self(Proof::Key)
    }

    /// For code that verified a signature with a read-only key.
    pub fn of_read_only_key() -> Self {
        Self(Proof::ReadOnlyKey)
    }

    /// For code that verified an access token and found the role of its holder.
    pub fn of_role(role: Role) -> Self {
        Self(Proof::Role(role))
    }

    /// For code that verified the signature and expiry of a resource token.
    pub fn of_token(grant: Grant) -> Self {
        Self(Proof::Token(grant))
    }

    /// The credential that the caller proved to have.
    pub fn proof(self) -> Proof {
        self.0
    }
}

impl Role {
    /// The role with this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "reader" => Some(Self::Reader),
            "contributor" => Some(Self::Contributor),
            "owner" => Some(Self::Owner),
            _ => None,
        }
    }
}
