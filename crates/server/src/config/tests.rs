//! Tests of the configuration.

use clap::ValueEnum as _;

use super::*;

#[test]
fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
    let file = parse("port = 9000\nhost = \"::1\"\ncharges = \"2017\"").unwrap();
    let flags = Settings { port: Some(1), ..Settings::default() };
    let config = Config::resolve(flags.over(file)).unwrap();
    assert_eq!((config.port, config.host.as_deref()), (1, Some("::1")));
    assert_eq!(config.charges, Charges::Y2017);
    assert_eq!(config.header_timeout, Duration::from_secs(10));
    assert_eq!(config.cross_partition, CrossPartition::Auto);
    assert_eq!(config.data_dir, Some(PathBuf::from("./sheaf-data")));
}

#[test]
fn the_cache_is_given_in_mebibytes() {
    let cache = |said: Settings| Config::resolve(said).unwrap().cache_bytes;
    assert_eq!(cache(Settings::default()), default_cache(memory::available_bytes()));
    let file = || parse("cache-mb = 256").unwrap();
    assert_eq!(cache(file()), 256 << 20);
    let flags = Settings { cache_mb: Some(16), ..Settings::default() };
    assert_eq!(cache(flags.over(file())), 16 << 20);
}

#[test]
fn the_cache_is_an_eighth_of_the_memory_within_bounds() {
    for (available, expected) in [(64, 16), (256, 32), (2048, 256), (4096, 512), (65_536, 512)] {
        assert_eq!(default_cache(Some(available << 20)), expected << 20, "of {available}");
    }
    assert_eq!(default_cache(None), 64 << 20);
}

#[test]
fn words_of_a_setting_are_the_same_in_the_file_and_as_flags() {
    for (word, expected) in [
        ("auto", CrossPartition::Auto),
        ("service", CrossPartition::Service),
        ("direct", CrossPartition::Direct),
    ] {
        let file = parse(&format!("cross-partition = \"{word}\"")).unwrap();
        assert_eq!(Config::resolve(file).unwrap().cross_partition, expected);
        assert_eq!(CrossPartition::from_str(word, false), Ok(expected));
    }
    let error = parse("cross-partition = \"Both\"").unwrap_err();
    assert!(error.contains("Both") && error.contains("direct"), "{error}");
}

#[test]
fn an_unknown_key_is_named() {
    let error = parse("prot = 8081").unwrap_err();
    assert!(error.contains("unknown field `prot`"), "{error}");
    let error = parse("tls = \"maybe\"").unwrap_err();
    assert!(error.contains("maybe") && error.contains("optional"), "{error}");
    let error = parse("header-timeout = \"soon\"").unwrap_err();
    assert!(error.contains("`soon` is not a duration"), "{error}");
}

#[test]
fn all_versions_are_kept_from_a_minute_to_a_year() {
    let resolve = |text: &str| {
        let said = parse(&format!("all-versions-retention = \"{text}\""))?;
        Config::resolve(said)
            .map(|it| it.all_versions_retention)
            .map_err(|it| it.message().to_owned())
    };
    assert_eq!(resolve("7d"), Ok(Some(Duration::from_hours(7 * 24))));
    assert_eq!(resolve("1m"), Ok(Some(Duration::from_mins(1))));
    let error = resolve("30s").unwrap_err();
    assert!(error.contains("`all-versions-retention` is 30s: use 1m to 365d"), "{error}");
    assert!(resolve("366d").is_err());
    let config = Config::resolve(Settings::default()).unwrap();
    assert_eq!(config.all_versions_retention, None);
}

#[test]
fn senseless_values_are_refused_with_advice() {
    let none = Settings { max_connections: Some(0), ..Settings::default() };
    let failure = Config::resolve(none).unwrap_err();
    assert_eq!(failure.message(), "`max-connections` is 0: use 1 or more");
    for bad in [0, 257] {
        let workers = Settings { script_workers: Some(bad), ..Settings::default() };
        let failure = Config::resolve(workers).unwrap_err();
        assert_eq!(failure.message(), format!("`script-workers` is {bad}: use 1 to 256"));
    }
    let half = Settings { tls_cert: Some("a".into()), ..Settings::default() };
    assert!(Config::resolve(half).unwrap_err().message().contains("`tls-key`"));
    let open = Settings { tls_client_ca: Some("a".into()), ..Settings::default() };
    assert!(Config::resolve(open.clone()).unwrap_err().message().contains("`required`"));
    Config::resolve(Settings { tls: Some(TlsMode::Required), ..open }).unwrap();
}

#[test]
fn the_audit_log_lies_with_the_data() {
    let resolve = |text: &str| Config::resolve(parse(text).unwrap()).map(|config| config.audit);
    let audit = resolve("data-dir = \"/data\"").unwrap().unwrap();
    assert_eq!(audit.path, Path::new("/data/audit.log"));
    assert_eq!((audit.bytes_max, audit.files_max), (16 << 20, 5));
    assert_eq!(resolve("in-memory = true").unwrap(), None);
    assert_eq!(resolve("audit-log = \"off\"").unwrap(), None);
    let said = "in-memory = true\naudit-log = \"a\"\naudit-log-size = \"1MB\"";
    assert_eq!(resolve(said).unwrap().unwrap().bytes_max, 1 << 20);
    assert!(resolve("audit-log-size = \"2KB\"").unwrap_err().message().contains("64KB"));
    assert!(resolve("audit-log-files = 0").unwrap_err().message().contains("1 or more"));
}

#[test]
fn sizes_follow_the_limits_and_must_fit() {
    let resolve = |text: &str| Config::resolve(parse(text).unwrap()).map(|config| config.sizes);
    let sizes = resolve("").unwrap();
    assert_eq!((sizes.logical_partition >> 30, sizes.partition >> 30), (20, 50));
    let sizes = resolve("limits = \"2016\"").unwrap();
    assert_eq!((sizes.logical_partition >> 30, sizes.partition >> 30), (10, 10));
    let small = "partition-size = \"2MB\"\nlogical-partition-size = 1048576";
    let sizes = resolve(small).unwrap();
    assert_eq!((sizes.logical_partition, sizes.partition), (1 << 20, 2 << 20));
    for bad in ["partition-size = \"10GB\"", "logical-partition-size = \"60GB\""] {
        let message = resolve(bad).unwrap_err().message().to_owned();
        assert!(message.contains("must fit into one partition"), "{message}");
    }
    assert!(parse("partition-size = \"big\"").unwrap_err().contains("is not a size"));
}

#[test]
fn the_most_throughput_follows_the_limits_unless_said() {
    let resolve =
        |text: &str| Config::resolve(parse(text).unwrap()).map(|config| config.throughput_max);
    assert_eq!(resolve("").unwrap(), 1_000_000);
    assert_eq!(resolve("limits = \"2017\"").unwrap(), 1_000_000);
    assert_eq!(resolve("limits = \"2016\"").unwrap(), 250_000);
    assert_eq!(resolve("limits = \"2016\"\nthroughput-max = 500000").unwrap(), 500_000);
    for bad in [0, 999, 10_000_001] {
        let message = resolve(&format!("throughput-max = {bad}")).unwrap_err();
        assert!(message.message().contains("use 1000 to 10000000"), "{bad}");
    }
}

#[test]
fn a_partition_carries_ten_thousand_units_unless_said() {
    let resolve = |text: &str| {
        Config::resolve(parse(text).unwrap()).map(|config| config.partition_throughput)
    };
    for unsaid in ["", "limits = \"2016\"", "limits = \"2017\""] {
        assert_eq!(resolve(unsaid).unwrap(), 10_000, "{unsaid}");
    }
    assert_eq!(resolve("partition-throughput = 6000").unwrap(), 6_000);
    for bad in [0, 999, 10_001] {
        let message = resolve(&format!("partition-throughput = {bad}")).unwrap_err();
        assert!(message.message().contains("use 1000 to 10000"), "{bad}");
    }
}

#[test]
fn staleness_keeps_to_the_ranges_of_the_service() {
    let resolve = |text: &str| Config::resolve(parse(text).unwrap());
    let config = resolve("consistency = \"bounded-staleness\"").unwrap();
    assert_eq!(config.consistency, Consistency::BoundedStaleness);
    assert_eq!(config.staleness, gateway::Staleness::default());
    let said = "max-staleness-prefix = 1000\nmax-staleness-interval = \"24h\"";
    let expected = gateway::Staleness { prefix_max: 1000, interval_seconds_max: 86_400 };
    assert_eq!(resolve(said).unwrap().staleness, expected);
    for (bad, advice) in [
        ("max-staleness-prefix = 9", "use 10 to 2147483647"),
        ("max-staleness-prefix = 2147483648", "use 10 to 2147483647"),
        ("max-staleness-interval = 4", "use 5s to 24h"),
        ("max-staleness-interval = \"5500ms\"", "whole seconds"),
        ("max-staleness-interval = \"25h\"", "use 5s to 24h"),
    ] {
        let failure = resolve(bad).unwrap_err();
        assert!(failure.message().contains(advice), "{bad}: {}", failure.message());
    }
}

#[test]
fn the_advertised_endpoint_is_a_url() {
    let resolve = |text: &str| Config::resolve(parse(&format!("advertise = \"{text}\"")).unwrap());
    let advertised = resolve("https://DB.example:8443").unwrap().advertise.unwrap();
    assert_eq!(advertised.to_string(), "https://db.example:8443/");
    for bad in ["db.example", "https://db.example/path"] {
        let failure = resolve(bad).unwrap_err();
        assert!(failure.message().starts_with("`advertise`: "), "{}", failure.message());
    }
    assert!(Config::resolve(Settings::default()).unwrap().advertise.is_none());
}

#[test]
fn trusted_proxies_are_networks() {
    assert!(parse("trusted-proxies = [\"10.0.0.0/8\", \"::1\"]").is_ok());
    assert!(parse("trusted-proxies = [\"proxy\"]").unwrap_err().contains("is not a network"));
}

#[test]
fn in_memory_wins_over_a_directory() {
    let file = parse("in-memory = true\ndata-dir = \"/var/lib/sheaf\"").unwrap();
    assert_eq!(Config::resolve(file).unwrap().data_dir, None);
}
