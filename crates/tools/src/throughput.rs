//! Provisioned throughput: what a command requests when it creates a resource, and what the
//! server's offers say about existing ones.

use std::collections::HashMap;

use clap::Args;
use value::{Object, Value, json};

use crate::client::{Call, Client, place::Place};

/// Throughput of a new database or collection.
#[derive(Args, Debug)]
pub struct ThroughputArgs {
    /// Request units per second to provision
    #[arg(long, value_name = "RU/S", conflicts_with = "autoscale")]
    pub throughput: Option<u32>,

    /// Maximum request units per second of autoscale
    #[arg(long, value_name = "RU/S")]
    pub autoscale: Option<u32>,
}

impl ThroughputArgs {
    /// The headers that request it.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(rate) = self.throughput {
            headers.push(("x-ms-offer-throughput", rate.to_string()));
        }
        if let Some(most) = self.autoscale {
            let mut settings = Object::new();
            settings.insert("maxThroughput", i64::from(most));
            let settings = json::print(&settings.into());
            headers.push(("x-ms-cosmos-offer-autopilot-settings", settings));
        }
        headers
    }
}

/// The throughput of a server's databases and collections, by their rids; `None` if the server does
/// not say.
#[derive(Debug, Default)]
pub(crate) struct Offers(Option<HashMap<String, String>>);

impl Offers {
    /// Reads the offers from the server.
    pub(crate) async fn read(client: &mut Client<'_>) -> Self {
        let call = Call::get("/offers", "offers", "");
        let offers = client.feed("list of offers", &Place::account(), call, "Offers").await;
        offers.map_or_else(|_| Self(None), |offers| Self::of(&offers))
    }

    fn of(offers: &[Value]) -> Self {
        let read = |offer: &Value| {
            Some((offer.get("offerResourceId").as_str()?.to_owned(), shown(offer.get("content"))?))
        };
        Self(Some(offers.iter().filter_map(read).collect()))
    }

    /// The throughput of a resource in words; `none` if it has none of its own.
    pub(crate) fn text<'a>(&'a self, resource: &Value, none: &'a str) -> &'a str {
        let Some(offers) = &self.0 else { return "unknown" };
        let rid = resource.get("_rid").as_str().unwrap_or_default();
        offers.get(rid).map_or(none, String::as_str)
    }
}

fn shown(content: &Value) -> Option<String> {
    let most = content.get("offerAutopilotSettings").get("maxThroughput");
    match most.as_i64() {
        Some(most) => Some(format!("autoscale {most} RU/s")),
        None => Some(format!("{} RU/s", content.get("offerThroughput").as_i64()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_asked_for_by_headers() {
        let args = |throughput, autoscale| ThroughputArgs { throughput, autoscale }.headers();
        assert!(args(None, None).is_empty());
        assert_eq!(args(Some(400), None), [("x-ms-offer-throughput", "400".to_owned())]);
        let settings = r#"{"maxThroughput":4000}"#.to_owned();
        let expected = [("x-ms-cosmos-offer-autopilot-settings", settings)];
        assert_eq!(args(None, Some(4000)), expected);
    }

    #[test]
    fn offers_are_found_by_rid() {
        let value = |text: &str| json::parse(text.as_bytes()).unwrap();
        let offers = Offers::of(&[
            value(r#"{"offerResourceId":"a","content":{"offerThroughput":400}}"#),
            value(
                r#"{"offerResourceId":"b","content":{"offerThroughput":400,
                    "offerAutopilotSettings":{"maxThroughput":4000}}}"#,
            ),
            value(r#"{"offerResourceId":"c"}"#),
        ]);
        let text = |rid: &str| {
            let resource = value(&format!(r#"{{"_rid":"{rid}"}}"#));
            offers.text(&resource, "none").to_owned()
        };
        assert_eq!((text("a").as_str(), text("b").as_str()), ("400 RU/s", "autoscale 4000 RU/s"));
        assert_eq!((text("c").as_str(), offers.text(&Value::Null, "none")), ("none", "none"));
        assert_eq!(Offers::default().text(&Value::Null, "none"), "unknown");
    }
}
