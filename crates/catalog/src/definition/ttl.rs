//! `defaultTtl`, after which documents expire. `ttlPropertyPath` and `analyticalStorageTtl` are
//! stored but have no effect.

use protocol::Error;
use value::Value;

use super::read;

/// The default time to live in seconds: `None` if documents never expire, -1 if only those with
/// their own `ttl` do.
pub(super) fn parse_default(value: &Value) -> Result<Option<i32>, Error> {
    // Unlike elsewhere, `null` is rejected, as in the service.
    if value.is_undefined() {
        return Ok(None);
    }
    let seconds = value.as_i64().and_then(|seconds| i32::try_from(seconds).ok());
    match seconds {
        Some(seconds) if seconds == -1 || seconds > 0 => Ok(Some(seconds)),
        _ => Err(Error::bad_request(
            "The value of 'defaultTtl' specified is invalid. Ensure to provide a nonzero positive \
             integer less than or equal to '2147483647', or -1.",
        )),
    }
}

/// The path of the property from whose time on documents lived, before `_ts` took over. Stored for
/// its clients, but the time to live counts from the last change.
pub(super) fn parse_property_path(
    value: &Value,
    default_ttl: Option<i32>,
) -> Result<Option<Value>, Error> {
    let Some(given) = read::given(value) else { return Ok(None) };
    let path = read::path(given, "ttlPropertyPath")?;
    if default_ttl.is_none() {
        return Err(Error::bad_request(
            "The property 'ttlPropertyPath' can only be specified together with 'defaultTtl'.",
        ));
    }
    Ok(Some(path.as_str().into()))
}

/// The analytical time to live: -1 for unlimited, 0 for off.
pub(super) fn parse_analytical(value: &Value) -> Result<Option<Value>, Error> {
    let Some(given) = read::given(value) else { return Ok(None) };
    let seconds = read::integer(given, "analyticalStorageTtl", -1..=i64::from(i32::MAX))?;
    Ok(Some(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    #[test]
    fn default_ttl() {
        for (sent, seconds) in
            [("-1", Some(-1)), ("1", Some(1)), ("60.0", Some(60)), ("2147483647", Some(i32::MAX))]
        {
            assert_eq!(parse_default(&value_of(sent)).unwrap(), seconds, "{sent}");
        }
        assert_eq!(parse_default(&Value::Undefined).unwrap(), None);
        for bad in ["null", "0", "-2", "2147483648", "1.5", "1e300", "\"60\"", "true", "[]", "{}"] {
            assert!(parse_default(&value_of(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn property_path() {
        assert_eq!(parse_property_path(&Value::Null, None).unwrap(), None);
        let path = value_of(r#""/created""#);
        assert_eq!(parse_property_path(&path, Some(10)).unwrap(), Some(path.clone()));
        assert!(parse_property_path(&path, None).is_err());
        for bad in ["1", r#""created""#, r#""/a/*""#] {
            assert!(parse_property_path(&value_of(bad), Some(10)).is_err(), "{bad}");
        }
    }

    #[test]
    fn analytical_ttl() {
        assert!(parse_analytical(&Value::Null).unwrap().is_none());
        assert_eq!(parse_analytical(&value_of("-1")).unwrap(), Some((-1).into()));
        for bad in ["-2", "2147483648", "\"1\""] {
            assert!(parse_analytical(&value_of(bad)).is_err(), "{bad}");
        }
    }
}
