use protocol::{etag::Etag, rid::OfferRid};
use value::json;

use super::*;
use catalog::{HighWater, Version};

use catalog::throughput::Kind;

use crate::Limits;

const PARTITIONED: Kind = Kind::Collection { is_partitioned: true };

fn offer(throughput: Throughput, highest: u32) -> Offer {
    Offer {
        rid: OfferRid(1),
        version: Version { etag: Etag(1), ts: 1 },
        resource: String::new(),
        resource_rid: String::new(),
        throughput,
        highest,
        storage_kb: HighWater::default(),
        is_asked: true,
    }
}

fn manual(rate: u32) -> Offer {
    offer(Throughput::Manual(rate), rate)
}

fn scaled(max: u32) -> Offer {
    offer(Throughput::Autoscale { max, increment_percent: Some(5) }, max)
}

fn level(name: &str, rate: u32) -> Offer {
    offer(Throughput::Level { name: name.to_owned(), rate }, rate)
}

fn replace(old: &Offer, body: &str, migration: Option<Migration>) -> Result<Throughput, String> {
    let body = json::parse(body.as_bytes()).expect("JSON");
    let holding = Holding { kind: PARTITIONED, storage_kb: 0, sharing: 0 };
    let found = replacement(old, &body, migration, (Limits::Current.into(), holding));
    found.map_err(|error| error.message)
}

#[test]
fn each_kind_is_replaced_by_its_like() {
    let body = r#"{"content":{"offerThroughput":900}}"#;
    assert_eq!(replace(&manual(400), body, None), Ok(Throughput::Manual(900)));
    // SDKs send the old manual rate together with the autoscale settings.
    let body =
        r#"{"content":{"offerThroughput":400,"offerAutopilotSettings":{"maxThroughput":8000}}}"#;
    let expected = Throughput::Autoscale { max: 8000, increment_percent: None };
    assert_eq!(replace(&scaled(4000), body, None), Ok(expected));
}

#[test]
fn another_kind_needs_its_header() {
    let settings = r#"{"content":{"offerAutopilotSettings":{"maxThroughput":8000}}}"#;
    let rate = r#"{"content":{"offerThroughput":900,"offerAutopilotSettings":null}}"#;
    let refused = replace(&manual(400), settings, None).expect_err("refused");
    assert_eq!(refused, NEEDS_AUTOSCALE_HEADER);
    let refused = replace(&scaled(4000), rate, None).expect_err("refused");
    assert_eq!(refused, NEEDS_MANUAL_HEADER);
}

#[test]
fn a_migration_chooses_the_rate() {
    let to_autoscale = Some(Migration::ToAutoscale);
    let max = |old: &Offer| {
        // The rate is ignored, and so is its absence.
        let answers = [r#"{"content":{"offerThroughput":-1}}"#, r#"{"content":{}}"#]
            .map(|body| replace(old, body, to_autoscale));
        assert_eq!(answers[0], answers[1]);
        match answers[0].as_ref().expect("migrated") {
            Throughput::Autoscale { max, increment_percent: None } => *max,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(max(&manual(400)), 1000);
    assert_eq!(max(&manual(4100)), 5000);
    assert_eq!(max(&offer(Throughput::Manual(500), 45_000)), 5000);
    assert_eq!(max(&level("S3", 2500)), 3000);
    let body = r#"{"content":{"offerAutopilotSettings":{"maxThroughput":-1}}}"#;
    let migrated = replace(&scaled(4000), body, Some(Migration::ToManual));
    assert_eq!(migrated, Ok(Throughput::Manual(4000)));
}

#[test]
fn migrations_that_make_no_sense() {
    let settings = r#"{"content":{"offerAutopilotSettings":{"maxThroughput":8000}}}"#;
    let refused = replace(&manual(400), settings, Some(Migration::ToAutoscale));
    assert_eq!(refused.expect_err("refused"), NEEDS_AUTOSCALE_HEADER);
    let plain = r#"{"content":{"offerThroughput":400}}"#;
    assert!(replace(&scaled(4000), plain, Some(Migration::ToAutoscale)).is_err());
    assert!(replace(&manual(400), settings, Some(Migration::ToManual)).is_err());
    for body in ["{}", r#"{"content":5}"#] {
        assert!(replace(&manual(400), body, Some(Migration::ToAutoscale)).is_err(), "{body}");
    }
}

#[test]
fn levels_change_by_their_name_or_give_way_to_a_rate() {
    let by_name = r#"{"offerVersion":"V1","offerType":"S2"}"#;
    let expected = || Throughput::Level { name: "S2".to_owned(), rate: 1000 };
    assert_eq!(replace(&level("S1", 250), by_name, None), Ok(expected()));
    assert_eq!(replace(&manual(400), by_name, None), Ok(expected()));
    assert_eq!(replace(&level("S2", 1000), by_name, None), Ok(expected()));
    assert!(replace(&manual(10_100), by_name, None).is_err());
    let same = r#"{"offerVersion":"V1","offerType":"S1","content":{"offerThroughput":250}}"#;
    assert_eq!(replace(&level("S1", 250), same, None).map(|found| found.rate()), Ok(250));
    let rate = r#"{"offerVersion":"V1","offerType":"S1","content":{"offerThroughput":700}}"#;
    assert_eq!(replace(&level("S1", 250), rate, None), Ok(Throughput::Manual(700)));
    let rate = r#"{"offerVersion":"V2","offerType":"Invalid","content":{"offerThroughput":700}}"#;
    assert_eq!(replace(&level("S1", 250), rate, None), Ok(Throughput::Manual(700)));
    for bad in [
        r#"{"offerVersion":"V1","content":{"offerThroughput":700}}"#,
        r#"{"offerVersion":"V1","offerType":"Invalid","content":{"offerThroughput":700}}"#,
        r#"{"offerVersion":"V3","content":{"offerThroughput":700}}"#,
        r#"{"offerVersion":2,"content":{"offerThroughput":700}}"#,
        r#"{"offerVersion":"V2","offerType":"S1","content":{"offerThroughput":250}}"#,
    ] {
        assert!(replace(&level("S1", 250), bad, None).is_err(), "{bad}");
    }
}

#[test]
fn a_level_is_no_way_below_the_minimum() {
    let replace = |storage_gb: u64, body: &str| {
        let holding = Holding { kind: PARTITIONED, storage_kb: storage_gb << 20, sharing: 0 };
        let body = json::parse(body.as_bytes()).expect("JSON");
        let found = replacement(&manual(3000), &body, None, (Limits::Current.into(), holding));
        found.map_err(|error| error.message)
    };
    for (level, storage_gb) in [("S1", 3000), ("S2", 3000), ("S3", 3000), ("S1", 260)] {
        let body = format!(r#"{{"offerVersion":"V1","offerType":"{level}"}}"#);
        let refused = replace(storage_gb, &body).expect_err("too little for what is stored");
        let reason = format!("is because of Storage consumed {storage_gb} GB.");
        assert!(refused.ends_with(&reason), "{refused}");
    }
    let body = r#"{"offerVersion":"V1","offerType":"S1"}"#;
    assert_eq!(replace(5, body), Ok(Throughput::Level { name: "S1".to_owned(), rate: 250 }));
}
