//! `changeFeedPolicy`: for how long every version of a document is kept.

use protocol::Error;
use value::Value;

use super::read;

const RETENTION: &str = "retentionDuration";

/// Fails on an invalid policy. Stored policies are exempt: earlier builds kept them unchecked.
pub(super) fn check(policy: &Value) -> Result<(), Error> {
    let Some(policy) = read::given(policy) else { return Ok(()) };
    read::object(policy, "changeFeedPolicy")?;
    if let Some(minutes) = read::member(policy, RETENTION) {
        let name = format!("changeFeedPolicy.{RETENTION}");
        read::integer(minutes, &name, 0..=i64::from(i32::MAX))?;
    }
    Ok(())
}

/// For how many minutes all versions are kept; `None` if they are not.
pub(super) fn retention(policy: &Value) -> Option<u32> {
    let minutes = read::member(policy, RETENTION)?.as_i64()?;
    u32::try_from(minutes).ok().filter(|minutes| *minutes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    #[test]
    fn minutes() {
        for (policy, minutes) in [
            ("null", None),
            ("{}", None),
            (r#"{"retentionDuration":0}"#, None),
            (r#"{"retentionDuration":null}"#, None),
            (r#"{"retentionDuration":10}"#, Some(10)),
            (r#"{"RetentionDuration":10.0}"#, Some(10)),
        ] {
            let policy = value_of(policy);
            check(&policy).expect("understood");
            assert_eq!(retention(&policy), minutes);
        }
        assert!(check(&Value::Undefined).is_ok());
        for bad in [
            "1",
            "[]",
            r#"{"retentionDuration":-1}"#,
            r#"{"retentionDuration":1.5}"#,
            r#"{"retentionDuration":"10"}"#,
            r#"{"retentionDuration":2147483648}"#,
        ] {
            let policy = value_of(bad);
            assert!(check(&policy).is_err(), "{bad}");
            let _ = retention(&policy);
        }
    }
}
