//! Who is asking: what an authenticator proved.

use crate::token::Grant;

/// Who is asking, as an authenticator proved it.
///
/// Only the code that verified a signature or a token may make one: `auth`, `resource_token` and
/// `issuers` of the crate `gateway`, their counterparts in other protocols, and tests. There is no
/// default, and nothing converts into one. The service decides what the principal may do
/// ([`crate::rights`]), so a protocol that forgets to ask gives nothing away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal(Proof);

/// What a caller proved to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A key of the account that may do everything.
    Key,
    /// A key of the account that may read and query, nothing else.
    ReadOnlyKey,
    /// An access token of somebody whom the account gives this role.
    Role(Role),
    /// The token of a permission, which is genuine and has not expired. Whether its permission still
    /// exists, and what that grants, is for the service to look up.
    Token(Grant),
}

/// A role, as the service's built-in data roles are; each includes the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads and queries everything.
    Reader,
    /// Changes documents and their attachments, and runs scripts.
    Contributor,
    /// Does everything. The service has no such role for data: there, another API does the rest.
    Owner,
}

impl Principal {
    /// For code that verified a signature with a key that may do everything.
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

    /// For code that verified the signature and the time of a resource token.
    pub fn of_token(grant: Grant) -> Self {
        Self(Proof::Token(grant))
    }

    /// What the caller proved to have.
    pub fn proof(self) -> Proof {
        self.0
    }
}

impl Role {
    /// The role of this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "reader" => Some(Self::Reader),
            "contributor" => Some(Self::Contributor),
            "owner" => Some(Self::Owner),
            _ => None,
        }
    }
}
