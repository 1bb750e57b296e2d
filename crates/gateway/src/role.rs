//! What the holder of an access token may do.

use protocol::{Code, Error, Operation};

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

    /// Refuses what the role does not include.
    pub(crate) fn check(self, operation: &Operation, is_control: bool) -> Result<(), Error> {
        if operation.is_read() || self == Self::Owner {
            return Ok(());
        }
        let name = operation.name();
        if is_control {
            return Err(Error::new(
                Code::ActionNotSupported,
                format!(
                    "Request blocked by Auth: the action {name} cannot be authorized by an access \
                     token in the data plane. Use a key of the account."
                ),
            ));
        }
        if self == Self::Contributor {
            return Ok(());
        }
        Err(Error::new(
            Code::ActionNotGranted,
            format!(
                "Request blocked by Auth: the principal does not have required RBAC permissions \
                 to perform the action {name}. Learn more: https://aka.ms/cosmos-native-rbac."
            ),
        ))
    }
}
