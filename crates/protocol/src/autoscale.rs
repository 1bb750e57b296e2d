//! Autoscale settings, as headers and offers write them.

use value::{Value, json};

use crate::error::Error;

/// Throughput that follows the load up to a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autoscale {
    /// The maximum, as asked; the engine checks its range.
    pub max: i64,
    /// By how much the maximum may be raised when the data outgrows it.
    pub increment_percent: Option<u8>,
}

impl Autoscale {
    /// Reads the JSON text of a header.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let settings = json::parse(text.as_bytes()).map_err(|error| {
            Error::bad_request(format!("The autoscale settings are invalid: {error}"))
        })?;
        Self::read(&settings)
    }

    /// Reads the settings in an offer's content.
    pub fn read(settings: &Value) -> Result<Self, Error> {
        let max = settings.get("maxThroughput").as_i64().ok_or_else(|| {
            Error::bad_request("The 'maxThroughput' of the autoscale settings must be an integer.")
        })?;
        Ok(Self { max, increment_percent: increment_percent(settings)? })
    }
}

/// The percentage in the upgrade policy. `null` counts as absent.
fn increment_percent(settings: &Value) -> Result<Option<u8>, Error> {
    let mut value = settings;
    for name in ["autoUpgradePolicy", "throughputPolicy"] {
        value = value.get(name);
        if matches!(value, Value::Undefined | Value::Null) {
            return Ok(None);
        }
        if value.as_object().is_none() {
            return Err(Error::bad_request(format!(
                "The '{name}' of the autoscale settings must be an object."
            )));
        }
    }
    let percent = value.get("incrementPercent");
    if matches!(percent, Value::Undefined | Value::Null) {
        return Ok(None);
    }
    let percent = percent.as_i64().and_then(|percent| u8::try_from(percent).ok());
    percent.filter(|percent| *percent <= 100).map(Some).ok_or_else(|| {
        Error::bad_request(
            "The 'incrementPercent' of the autoscale settings should be an integer between 0 and \
             100 inclusive.",
        )
    })
}
