//! Flags over environment over file.

use std::fs;

use crate::process::{Sheaf, command, failure, run};

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("sheaf.toml");
    fs::write(&file, "port = 0\nin-memory = true\ntls = \"required\"\n").unwrap();
    let endpoint = |environment: Option<&str>, flag: Option<&str>| {
        let mut command = command(&["serve", "--config", file.to_str().unwrap()]);
        command.envs(environment.map(|value| ("SHEAF_TLS", value)));
        command.args(flag.map(|value| format!("--tls={value}")));
        Sheaf::spawn(&mut command).endpoint.clone()
    };
    assert!(endpoint(None, None).starts_with("https:"));
    assert!(endpoint(Some("off"), None).starts_with("http:"));
    assert!(endpoint(Some("off"), Some("required")).starts_with("https:"));
}

#[test]
fn the_file_can_be_named_by_the_environment() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("sheaf.toml");
    fs::write(&file, "port = 0\nin-memory = true\ntls = \"required\"\n").unwrap();
    let sheaf = Sheaf::spawn(command(&["serve"]).env("SHEAF_CONFIG", &file));
    assert!(sheaf.endpoint.starts_with("https:"));
}

#[test]
fn mistakes_in_the_file_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("sheaf.toml");
    let path = file.to_str().unwrap();
    let said = |text: &str| {
        fs::write(&file, text).unwrap();
        failure(2, &["serve", "--config", path])
    };
    let stderr = said("in-memory = true\nprot = 8081\n");
    assert!(stderr.contains("`prot`") && stderr.contains("sheaf.toml"), "{stderr}");
    let stderr = said("port = 99999\n");
    assert!(stderr.contains("port"), "{stderr}");
    let stderr = said("max-connections = 0\n");
    assert!(stderr.contains("use 1 or more"), "{stderr}");
    let stderr = failure(2, &["serve", "--config", "/nowhere/sheaf.toml"]);
    assert!(stderr.contains("/nowhere/sheaf.toml"), "{stderr}");
}

#[test]
fn mistakes_in_flags_are_named() {
    let stderr = failure(2, &["serve", "--tls", "maybe"]);
    assert!(stderr.contains("optional"), "{stderr}");
    let stderr = failure(2, &["serve", "--cross-partition", "maybe"]);
    assert!(stderr.contains("auto, service, direct"), "{stderr}");
    let stderr = failure(2, &["serve", "--header-timeout", "soon"]);
    assert!(stderr.contains("500ms"), "{stderr}");
    let stderr = failure(2, &["serve", "--consistency", "weak"]);
    assert!(stderr.contains("bounded-staleness"), "{stderr}");
    let stderr = failure(2, &["serve", "--max-staleness-interval", "1s"]);
    assert!(stderr.contains("use 5s to 24h"), "{stderr}");
    let stderr = failure(2, &["serve", "--partition-size", "plenty"]);
    assert!(stderr.contains("is not a size"), "{stderr}");
    let stderr = failure(2, &["serve", "--partition-size", "1GB"]);
    assert!(stderr.contains("must fit into one partition"), "{stderr}");
    let stderr = failure(2, &["serve", "--tls-cert", "cert.pem"]);
    assert!(stderr.contains("tls-key"), "{stderr}");
}

/// A setting has one name for the flag, the variable, the line of the file, and the documentation.
#[test]
fn every_setting_can_be_given_in_three_ways_and_is_documented() {
    let documentation = include_str!("../../../../docs/configuration.md");
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    let flags = help.lines().filter_map(|line| line.strip_prefix("      --"));
    let flags = flags.filter_map(|line| line.split([' ', '[']).next());
    let settings: Vec<_> = flags.filter(|name| *name != "config").collect();
    assert!(settings.len() >= 40, "{settings:?}");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("sheaf.toml");
    for name in settings {
        let variable = format!("[env: SHEAF_{}", name.to_uppercase().replace('-', "_"));
        // The value of a secret is not shown.
        let is_told = ["=", "]"].iter().any(|end| help.contains(&format!("{variable}{end}")));
        assert!(is_told, "{name} has no variable");
        assert!(documentation.contains(&format!("\n| `{name}` |")), "{name} is not documented");
        // A table is no value of any setting: a key that is known is refused for that alone.
        fs::write(&file, format!("{name} = {{}}\n")).unwrap();
        let stderr = failure(2, &["serve", "--config", file.to_str().unwrap()]);
        assert!(stderr.contains("sheaf.toml") && !stderr.contains("unknown field"), "{stderr}");
    }
}
