//! Resource tokens: what a permission's token contains, and where responses contain tokens.
//!
//! The engine knows permissions, the gateway knows keys. The engine writes a [`TokenMark`] wherever
//! a token belongs, the gateway replaces each mark with a token that it signs, and the engine looks
//! up the permission whenever a token comes back.

use crate::rid::PermissionRid;

/// The content of a resource token: the permission it was made for. The rights are looked up, so
/// that a token ends with its permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The permission.
    pub permission: PermissionRid,
    /// Identifies one version of the permission's rights: when they change, old tokens become
    /// invalid. A random number, so that another permission with the same number (after restoring a
    /// backup) has another generation.
    pub generation: u64,
}

/// The prefix of the placeholders for tokens in one response. Clients that store text in the
/// database cannot guess it, because it is random for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenMark(u128);

/// Hexadecimal digits of a mark, and of the grant after it.
const MARK_DIGITS: usize = 32;
const GRANT_DIGITS: usize = 48;

impl TokenMark {
    /// Creates a mark from a random number.
    pub fn new(random: u128) -> Self {
        Self(random)
    }

    /// The placeholder for a token of this grant.
    pub fn text(self, grant: Grant) -> String {
        let permission = u128::from_be_bytes(grant.permission.bytes());
        format!("{}{permission:032x}{:016x}", self.prefix(), grant.generation)
    }

    /// The grant that a placeholder stands for; `None` if the text is not a placeholder with this
    /// mark.
    pub fn read(self, text: &str) -> Option<Grant> {
        let digits = text.strip_prefix(&self.prefix()).filter(|it| it.len() == GRANT_DIGITS)?;
        let (permission, generation) = digits.split_at_checked(32)?;
        let permission = u128::from_str_radix(permission, 16).ok()?.to_be_bytes();
        Some(Grant {
            permission: PermissionRid::from_bytes(&permission)?,
            generation: u64::from_str_radix(generation, 16).ok()?,
        })
    }

    /// Replaces each placeholder with this mark in a response by its token.
    pub fn replace<E>(
        self,
        answer: &[u8],
        mut token: impl FnMut(Grant) -> Result<String, E>,
    ) -> Result<Vec<u8>, E> {
        let prefix = self.prefix();
        let mut out = Vec::with_capacity(answer.len());
        let mut rest = answer;
        while let Some(at) = rest.windows(MARK_DIGITS).position(|it| it == prefix.as_bytes()) {
            let end = (at + MARK_DIGITS + GRANT_DIGITS).min(rest.len());
            let grant = std::str::from_utf8(&rest[at..end]).ok().and_then(|text| self.read(text));
            out.extend_from_slice(&rest[..at]);
            match grant {
                Some(grant) => out.extend_from_slice(token(grant)?.as_bytes()),
                None => out.extend_from_slice(&rest[at..end]),
            }
            rest = &rest[end..];
        }
        out.extend_from_slice(rest);
        Ok(out)
    }

    fn prefix(self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rid::{DatabaseRid, UserRid};

    fn grant(number: u64) -> Grant {
        let user = UserRid { database: DatabaseRid(0xA1B2_C3D4), number: 1 };
        Grant { permission: PermissionRid { user, number }, generation: u64::MAX - number }
    }

    fn replaced(mark: TokenMark, answer: &str) -> String {
        let token = |grant: Grant| Ok::<_, ()>(format!("<{}>", grant.permission.number));
        String::from_utf8(mark.replace(answer.as_bytes(), token).expect("tokens")).expect("text")
    }

    #[test]
    fn each_mark_becomes_the_token_of_its_grant() {
        let mark = TokenMark::new(7);
        let (one, two) = (mark.text(grant(1)), mark.text(grant(2)));
        assert_eq!(mark.read(&one), Some(grant(1)));
        let answer = format!(r#"[{{"a":"{one}"}},{{"b":"x{two}y{one}"}}]"#);
        assert_eq!(replaced(mark, &answer), r#"[{"a":"<1>"},{"b":"x<2>y<1>"}]"#);
    }

    #[test]
    fn other_texts_stay() {
        let mark = TokenMark::new(7);
        let text = mark.text(grant(1));
        assert_eq!(TokenMark::new(8).read(&text), None);
        for other in ["", "0", &text[..40], &text[1..], &TokenMark::new(8).text(grant(1))] {
            assert_eq!(mark.read(other), None);
            assert_eq!(replaced(mark, other), other);
        }
        let broken = text.replace(&text[32..], &"x".repeat(GRANT_DIGITS));
        assert_eq!(replaced(mark, &broken), broken);
    }
}
