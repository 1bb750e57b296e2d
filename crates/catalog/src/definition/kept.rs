//! Policies that are stored and returned as sent, without any effect.

use protocol::Error;
use value::Value;

use super::read;

/// The policies, each with the name of a member that must be a list if present.
const POLICIES: [(&str, Option<&str>); 3] = [
    ("changeFeedPolicy", None),
    ("clientEncryptionPolicy", Some("includedPaths")),
    ("materializedViewDefinition", None),
];

/// The policies that a definition contains, by name.
pub(super) fn parse(body: &Value) -> Result<Vec<(&'static str, Value)>, Error> {
    let mut kept = Vec::new();
    for (name, list) in POLICIES {
        let Some(policy) = read::given(body.get(name)) else { continue };
        read::object(policy, name)?;
        if let Some(list) = list
            && let Some(entries) = read::given(policy.get(list))
        {
            for entry in read::array(entries, &format!("{name}.{list}"))? {
                read::object(entry, &format!("{name}.{list}"))?;
            }
        }
        kept.push((name, policy.clone()));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    #[test]
    fn objects_are_kept_and_all_else_is_refused() {
        let body = r#"{"changeFeedPolicy":{"retentionDuration":10},"materializedViewDefinition":null,
            "clientEncryptionPolicy":{"includedPaths":[{"path":"/a"}],"policyFormatVersion":1}}"#;
        let body = value_of(body);
        for (name, policy) in parse(&body).unwrap() {
            assert_eq!(&policy, body.get(name));
        }
        assert_eq!(parse(&body).unwrap().len(), 2);
        for bad in [
            r#"{"changeFeedPolicy":1}"#,
            r#"{"materializedViewDefinition":[]}"#,
            r#"{"clientEncryptionPolicy":{"includedPaths":{}}}"#,
            r#"{"clientEncryptionPolicy":{"includedPaths":["/a"]}}"#,
        ] {
            assert!(parse(&value_of(bad)).is_err(), "{bad}");
        }
    }
}
