//! What the server keeps of a key: enough to check a proof, not enough to make one.

use super::mechanism::Mechanism;

/// The salt of a user. It is derived from a secret of the server, so every node has it, and a user
/// that does not exist has one, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salt(Vec<u8>);

impl Salt {
    /// Derives the salt of a user.
    pub fn derive(mechanism: Mechanism, secret: &[u8], user: &str) -> Self {
        let mut label = mechanism.name().as_bytes().to_vec();
        label.push(0);
        label.extend(user.as_bytes());
        let mut bytes = Mechanism::ScramSha256.hmac(secret, &label);
        bytes.truncate(mechanism.salt_bytes());
        Self(bytes)
    }

    #[cfg(test)]
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What proofs of one key are checked with. To derive one takes milliseconds: keep it.
#[derive(Clone)]
pub struct Verifier {
    pub(super) mechanism: Mechanism,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Verifier {
    /// Derives the verifier of a password.
    pub fn derive(mechanism: Mechanism, salt: &Salt, user: &str, password: &str) -> Self {
        Self::iterated(mechanism, salt, user, password, mechanism.iterations())
    }

    pub(super) fn iterated(
        mechanism: Mechanism,
        salt: &Salt,
        user: &str,
        password: &str,
        iterations: u32,
    ) -> Self {
        let password = mechanism.password(user, password);
        let salted = mechanism.salted(&password, salt.bytes(), iterations);
        let client_key = mechanism.hmac(&salted, b"Client Key");
        Self {
            mechanism,
            stored_key: mechanism.hash(&client_key),
            server_key: mechanism.hmac(&salted, b"Server Key"),
        }
    }

    /// Whether a proof was made with the key. Takes the same time wherever they differ.
    pub(super) fn is_proved(&self, proof: &[u8], authenticated: &[u8]) -> bool {
        let signature = self.mechanism.hmac(&self.stored_key, authenticated);
        if proof.len() != signature.len() {
            return false;
        }
        let client_key: Vec<u8> =
            proof.iter().zip(&signature).map(|(proof, signature)| proof ^ signature).collect();
        let stored = self.mechanism.hash(&client_key);
        bool::from(subtle::ConstantTimeEq::ct_eq(&stored[..], &self.stored_key[..]))
    }

    /// What shows the client that the server has the key, too.
    pub(super) fn signature(&self, authenticated: &[u8]) -> Vec<u8> {
        self.mechanism.hmac(&self.server_key, authenticated)
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("mechanism", &self.mechanism).finish_non_exhaustive()
    }
}
