use super::*;

const PARTITIONED: Kind = Kind::Collection { is_partitioned: true };
const SINGLE: Kind = Kind::Collection { is_partitioned: false };

fn ask(request: &ThroughputRequest, kind: Kind) -> Result<Option<Throughput>, Error> {
    requested(request, kind, Limits::Current.into())
}

fn manual(rate: i64) -> ThroughputRequest {
    ThroughputRequest { manual: Some(rate), ..ThroughputRequest::default() }
}

fn scaled(settings: &str) -> ThroughputRequest {
    ThroughputRequest { autoscale: Some(settings.to_owned()), ..ThroughputRequest::default() }
}

fn level(name: &str) -> ThroughputRequest {
    ThroughputRequest { level: Some(name.to_owned()), ..ThroughputRequest::default() }
}

#[test]
fn one_partition_gives_ten_thousand_units() {
    assert_eq!(ask(&manual(10_000), SINGLE).ok(), Some(Some(Throughput::Manual(10_000))));
    assert_eq!(ask(&manual(10_100), PARTITIONED).ok(), Some(Some(Throughput::Manual(10_100))));
    let refused = ask(&manual(10_100), SINGLE).expect_err("too much").message;
    assert!(refused.contains("between 400 and 10000 inclusive"), "{refused}");
    assert!(ask(&scaled(r#"{"maxThroughput":11000}"#), SINGLE).is_err());
}

#[test]
fn limits_of_the_past() {
    let least = |limits: Limits| match unasked(PARTITIONED, limits.into()) {
        Throughput::Manual(rate) => rate,
        other => panic!("{other:?}"),
    };
    assert_eq!([Limits::Current, Limits::Y2016, Limits::Y2017].map(least), [400, 10_100, 2_500]);
    let refused =
        requested(&manual(10_000), PARTITIONED, Limits::Y2016.into()).expect_err("too little");
    assert!(refused.message.contains("required minimum throughput 10100"), "{}", refused.message);
    assert!(requested(&manual(250_100), PARTITIONED, Limits::Y2016.into()).is_err());
    assert!(requested(&manual(250_100), PARTITIONED, Limits::Y2017.into()).is_ok());
    assert_eq!(unasked(SINGLE, Limits::Y2016.into()), Throughput::Manual(400));
}

#[test]
fn twenty_five_thousand_units_need_three_partitions() {
    let count =
        |rate| partition_count(PARTITION_THROUGHPUT_MAX, Some(&Throughput::Manual(rate)), true);
    assert_eq!([count(400), count(10_000), count(10_100), count(25_000)], [1, 1, 2, 3]);
    assert_eq!(
        partition_count(PARTITION_THROUGHPUT_MAX, Some(&Throughput::Manual(10_000)), false),
        1
    );
    assert_eq!(partition_count(PARTITION_THROUGHPUT_MAX, None, true), 1);
}

#[test]
fn the_operator_says_how_much_manual_throughput_a_partition_carries() {
    let count = |throughput| partition_count(6_000, Some(&throughput), true);
    let manual = [400, 6_000, 6_100, 12_000, 25_000].map(|rate| count(Throughput::Manual(rate)));
    assert_eq!(manual, [1, 1, 2, 2, 5]);
    let autoscale = |max| count(Throughput::Autoscale { max, increment_percent: None });
    assert_eq!([autoscale(10_000), autoscale(25_000)], [1, 3]);
    let shared = |rate| shared_partition_count(&Throughput::Manual(rate), true);
    assert_eq!([shared(400), shared(10_000), shared(25_000)], [1, 1, 3]);
    assert_eq!(shared_partition_count(&Throughput::Manual(25_000), false), 1);
}

#[test]
fn autoscale_has_a_maximum_in_thousands() {
    let expected = Throughput::Autoscale { max: 4000, increment_percent: None };
    let found = ask(&scaled(r#"{"maxThroughput":4000}"#), Kind::Database);
    assert_eq!(found.ok(), Some(Some(expected)));
    for bad in ["", "{}", "[]", "4000", r#"{"maxThroughput":4500}"#, r#"{"maxThroughput":"4000"}"#]
    {
        assert!(ask(&scaled(bad), Kind::Database).is_err(), "{bad}");
    }
    // The wording that an SDK's tests look for.
    let refused = ask(&scaled(r#"{"maxThroughput":-200}"#), PARTITIONED).expect_err("refused");
    let expected = "Requested throughput -200 is less than required minimum throughput 1000";
    assert!(refused.message.contains(expected), "{}", refused.message);
}

#[test]
fn the_increment_is_a_percentage() {
    let percent = |policy: &str| {
        let settings = format!(r#"{{"maxThroughput":4000,"autoUpgradePolicy":{policy}}}"#);
        match ask(&scaled(&settings), PARTITIONED) {
            Ok(Some(Throughput::Autoscale { increment_percent, .. })) => Ok(increment_percent),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.message),
        }
    };
    for (policy, expected) in [
        ("null", None),
        ("{}", None),
        (r#"{"throughputPolicy":{}}"#, None),
        (r#"{"throughputPolicy":{"incrementPercent":0}}"#, Some(0)),
        (r#"{"throughputPolicy":{"incrementPercent":100}}"#, Some(100)),
    ] {
        assert_eq!(percent(policy), Ok(expected), "{policy}");
    }
    for bad in ["-1", "101", "300", "0.5", r#""5""#, "true"] {
        let policy = format!(r#"{{"throughputPolicy":{{"incrementPercent":{bad}}}}}"#);
        assert!(percent(&policy).is_err(), "{bad}");
    }
    for bad in ["5", "[]", r#"{"throughputPolicy":5}"#] {
        assert!(percent(bad).is_err(), "{bad}");
    }
}

#[test]
fn levels_are_for_collections() {
    let rate = |name| ask(&level(name), SINGLE).expect("a level").map(|found| found.rate());
    assert_eq!(["S1", "s2", "S3"].map(rate), [Some(250), Some(1000), Some(2500)]);
    assert!(ask(&level("S4"), SINGLE).is_err());
    assert!(ask(&level("S1"), Kind::Database).is_err());
    assert!(requested(&level("S3"), PARTITIONED, Limits::Y2016.into()).is_err());
    assert!(requested(&level("S3"), PARTITIONED, Limits::Y2017.into()).is_ok());
    assert!(requested(&level("S1"), SINGLE, Limits::Y2016.into()).is_ok());
}

#[test]
fn only_one_way_to_ask() {
    let settings = Some(r#"{"maxThroughput":4000}"#.to_owned());
    let both = ThroughputRequest { autoscale: settings, ..manual(400) };
    let refused = ask(&both, PARTITIONED).expect_err("both").message;
    assert!(refused.contains("cannot both be specified"), "{refused}");
    for request in [manual(400), both] {
        let request = ThroughputRequest { level: Some("S1".to_owned()), ..request };
        assert!(ask(&request, PARTITIONED).is_err());
    }
}
