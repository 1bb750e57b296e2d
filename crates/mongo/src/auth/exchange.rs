//! The messages of SCRAM: the client names a user and a nonce, the server answers with its own and
//! the salt, the client proves that it has the password, the server that it has it, too.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::mechanism::Mechanism;
use super::verifier::{Salt, Verifier};

/// Longer messages than these are no part of an exchange.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Why an exchange failed. Clients learn no more than that it did.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A message that is not one of SCRAM, or asks for what the server does not do.
    #[error("a message that is not SCRAM")]
    Malformed,
    /// A proof that was made with none of the keys.
    #[error("a wrong proof")]
    Proof,
}

/// An exchange that has begun.
#[derive(Clone, Debug)]
pub struct Exchange {
    mechanism: Mechanism,
    user: String,
    client_first_bare: String,
    server_first: String,
    nonce: String,
    salt: Salt,
}

impl Exchange {
    /// Reads the client's first message. `secret` is that of the salts, `nonce` is fresh random text
    /// without commas.
    pub fn begin(
        mechanism: Mechanism,
        payload: &[u8],
        secret: &[u8],
        nonce: &str,
    ) -> Result<Self, Failure> {
        let message = text(payload)?;
        // No channel binding; the client may say that it could have done it.
        let bare = ["n,,", "y,,"].iter().find_map(|prefix| message.strip_prefix(prefix));
        let bare = bare.ok_or(Failure::Malformed)?;
        let mut fields = bare.split(',');
        let user = field(fields.next(), "n=")?;
        let client_nonce = field(fields.next(), "r=")?;
        if client_nonce.is_empty() {
            return Err(Failure::Malformed);
        }
        let user = unescaped(user)?;
        let nonce = format!("{client_nonce}{nonce}");
        let salt = Salt::derive(mechanism, secret, &user);
        let encoded = BASE64_STANDARD.encode(salt.bytes());
        let server_first = format!("r={nonce},s={encoded},i={}", mechanism.iterations());
        let client_first_bare = bare.to_owned();
        Ok(Self { mechanism, user, client_first_bare, server_first, nonce, salt })
    }

    /// The user that the client named.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The mechanism that the client chose.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The salt that verifiers must have.
    pub fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The answer to the first message.
    pub fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Checks the client's proof with each verifier. Returns the position of the one that fits and
    /// the server's last message. All are tried, so the time does not tell which one it was.
    pub fn finish(
        &self,
        payload: &[u8],
        verifiers: &[Verifier],
    ) -> Result<(usize, String), Failure> {
        let message = text(payload)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(Failure::Malformed)?;
        let proof = BASE64_STANDARD.decode(proof).map_err(|_| Failure::Malformed)?;
        let mut fields = without_proof.split(',');
        let binding = field(fields.next(), "c=")?;
        if !["biws", "eSws"].contains(&binding) {
            return Err(Failure::Malformed);
        }
        if field(fields.next(), "r=")? != self.nonce {
            return Err(Failure::Malformed);
        }
        let authenticated =
            format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let mut found = None;
        for (position, verifier) in verifiers.iter().enumerate() {
            let fits = verifier.mechanism == self.mechanism;
            if verifier.is_proved(&proof, authenticated.as_bytes()) && fits {
                found = found.or(Some((position, verifier)));
            }
        }
        let (position, verifier) = found.ok_or(Failure::Proof)?;
        let signature = verifier.signature(authenticated.as_bytes());
        Ok((position, format!("v={}", BASE64_STANDARD.encode(signature))))
    }
}

fn text(payload: &[u8]) -> Result<&str, Failure> {
    if payload.len() > MESSAGE_BYTES_MAX {
        return Err(Failure::Malformed);
    }
    std::str::from_utf8(payload).map_err(|_| Failure::Malformed)
}

fn field<'a>(field: Option<&'a str>, prefix: &str) -> Result<&'a str, Failure> {
    field.and_then(|field| field.strip_prefix(prefix)).ok_or(Failure::Malformed)
}

/// A name, in which `=2C` is a comma and `=3D` an equals sign.
fn unescaped(name: &str) -> Result<String, Failure> {
    let mut parts = name.split('=');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (character, rest) = if let Some(rest) = part.strip_prefix("2C") {
            (',', rest)
        } else if let Some(rest) = part.strip_prefix("3D") {
            ('=', rest)
        } else {
            return Err(Failure::Malformed);
        };
        out.push(character);
        out.push_str(rest);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The client's side, as a driver does it.
    fn client_final(exchange: &Exchange, password: &str) -> Vec<u8> {
        let mechanism = exchange.mechanism();
        let password = mechanism.password(exchange.user(), password);
        let salted = mechanism.salted(&password, exchange.salt().bytes(), mechanism.iterations());
        let client_key = mechanism.hmac(&salted, b"Client Key");
        let stored_key = mechanism.hash(&client_key);
        let without_proof = format!("c=biws,r={}", exchange.nonce);
        let authenticated =
            format!("{},{},{without_proof}", exchange.client_first_bare, exchange.server_first);
        let signature = mechanism.hmac(&stored_key, authenticated.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)).into_bytes()
    }

    fn begin(mechanism: Mechanism, first: &str) -> Result<Exchange, Failure> {
        Exchange::begin(mechanism, first.as_bytes(), b"secret", "server")
    }

    #[test]
    fn each_key_opens_and_no_other() {
        for mechanism in [Mechanism::ScramSha1, Mechanism::ScramSha256] {
            let exchange = begin(mechanism, "n,,n=a=2Cb=3Dc,r=client").unwrap();
            assert_eq!(exchange.user(), "a,b=c");
            let derive =
                |key: &str| Verifier::derive(mechanism, exchange.salt(), exchange.user(), key);
            let verifiers = [derive("first=="), derive("second==")];
            for (position, key) in ["first==", "second=="].iter().enumerate() {
                let (found, last) =
                    exchange.finish(&client_final(&exchange, key), &verifiers).unwrap();
                assert_eq!(found, position);
                assert!(last.starts_with("v="));
            }
            let wrong = exchange.finish(&client_final(&exchange, "third=="), &verifiers);
            assert_eq!(wrong, Err(Failure::Proof));
            assert_eq!(
                exchange.finish(&client_final(&exchange, "first=="), &[]),
                Err(Failure::Proof)
            );
        }
    }

    #[test]
    fn the_example_of_rfc_7677_is_accepted() {
        let mechanism = Mechanism::ScramSha256;
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let salt = Salt::from_bytes(BASE64_STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap());
        let exchange = Exchange {
            mechanism,
            user: "user".to_owned(),
            client_first_bare: "n=user,r=rOprNGfwEbeRWgbNEkqO".to_owned(),
            server_first: format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            nonce: nonce.to_owned(),
            salt: salt.clone(),
        };
        let verifier = Verifier::iterated(mechanism, &salt, "user", "pencil", 4096);
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let server_last = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_owned();
        assert_eq!(exchange.finish(last.as_bytes(), &[verifier]), Ok((0, server_last)));
    }

    #[test]
    fn the_older_mechanism_hashes_the_password_with_the_user() {
        let password = Mechanism::ScramSha1.password("user", "pencil");
        assert_eq!(password, b"1c33006ec1ffd90f9cadcbcc0e118200");
        let salted = Mechanism::ScramSha1.salted(b"pencil", b"salt", 4096);
        assert_eq!(BASE64_STANDARD.encode(salted), "PX4JiCFFrReAgRmAfGbK273MBGE=");
    }

    #[test]
    fn salts_depend_on_user_mechanism_and_secret() {
        let salt = |mechanism, secret: &[u8], user| Salt::derive(mechanism, secret, user);
        let one = salt(Mechanism::ScramSha256, b"s", "u");
        assert_eq!(one.bytes().len(), 28);
        assert_eq!(one, salt(Mechanism::ScramSha256, b"s", "u"));
        assert_ne!(one, salt(Mechanism::ScramSha256, b"s", "v"));
        assert_ne!(one, salt(Mechanism::ScramSha256, b"t", "u"));
        assert_eq!(salt(Mechanism::ScramSha1, b"s", "u").bytes().len(), 16);
    }

    #[test]
    fn malformed_messages_fail() {
        for first in [
            "",
            "n,,",
            "n,,n=u",
            "n,,n=u,r=",
            "p=tls-unique,,n=u,r=x",
            "n,,n=u=2,r=x",
            "n,a=b,n=u,r=x",
        ] {
            assert_eq!(
                begin(Mechanism::ScramSha256, first).unwrap_err(),
                Failure::Malformed,
                "{first}"
            );
        }
        let exchange = begin(Mechanism::ScramSha256, "n,,n=u,r=client").unwrap();
        assert_eq!(exchange.server_first().split(',').next(), Some("r=clientserver"));
        for last in [
            "",
            "c=biws",
            "c=biws,r=other,p=AA==",
            "c=x,r=clientserver,p=AA==",
            "c=biws,r=clientserver,p=!",
        ] {
            assert_eq!(exchange.finish(last.as_bytes(), &[]), Err(Failure::Malformed), "{last}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(first: Vec<u8>, last: Vec<u8>) {
            let _ = Exchange::begin(Mechanism::ScramSha1, &first, b"secret", "server");
            let exchange = begin(Mechanism::ScramSha256, "n,,n=u,r=client").unwrap();
            let _ = exchange.finish(&last, &[]);
        }
    }
}
