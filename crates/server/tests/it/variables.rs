//! Variables of the environment: the same for every command, and watched for typing mistakes.

use std::{
    net::TcpListener,
    process::{Output, Stdio},
};

use crate::process::{Sheaf, command};

const KEY: &str = "YSBrZXkgb2Ygc2l4dGVlbiBieXRlcyBvciBtb3Jl";

fn run(args: &[&str], variables: &[(&str, &str)]) -> Output {
    command(args).envs(variables.iter().copied()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn one_environment_serves_the_server_and_its_clients() {
    // A port that was free a moment ago; whoever takes it meanwhile makes the start fail, and loudly.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let variables = [("SHEAF_PORT", port.as_str()), ("SHEAF_KEY", KEY)];
    let mut serve = command(&["serve", "--in-memory"]);
    let sheaf = Sheaf::spawn(serve.envs(variables));
    assert_eq!(sheaf.address.port().to_string(), port);
    for tool in [
        &["db", "create", "shop"][..],
        &["coll", "create", "orders", "-d", "shop", "-k", "/id"],
        &["query", "-d", "shop", "-c", "orders", "SELECT 1"],
        &["partition", "list", "-d", "shop", "-c", "orders"],
        &["top", "--once"],
    ] {
        let output = run(tool, &variables);
        assert_eq!(output.status.code(), Some(0), "{tool:?} {}", said(&output));
    }
    // The server knows no other key.
    let output = run(&["db", "list"], &variables[..1]);
    assert!(said(&output).contains("401"), "{}", said(&output));
    // Flags win over variables.
    let output = run(&["db", "list", "--endpoint", "http://127.0.0.1:1"], &variables);
    assert!(said(&output).contains("127.0.0.1:1"), "{}", said(&output));
    let output = run(&["db", "list", "--port", "1"], &variables);
    assert!(said(&output).contains("127.0.0.1:1"), "{}", said(&output));
    let output = run(&["db", "list", "--key-file", "/nowhere/keys"], &variables);
    assert!(said(&output).contains("/nowhere/keys"), "{}", said(&output));
    let output = run(&["db", "list", "--help"], &variables);
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("SHEAF_KEY]") && !help.contains(KEY), "{help}");
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("keys");
    std::fs::write(&file, KEY).unwrap();
    let file = file.to_str().unwrap();
    for base in [&["serve", "--in-memory", "--port", "0"][..], &["db", "list", "--port", "1"]] {
        let both = [base, &["--key", KEY, "--key-file", file]].concat();
        let output = run(&both, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("give one of them"), "{}", said(&output));
        let output = run(base, &[("SHEAF_KEY", KEY), ("SHEAF_KEY_FILE", file)]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("unset one of them"), "{}", said(&output));
        let output = run(base, &[("SHEAF_KEY", "s3cr3t!")]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(!said(&output).contains("s3cr3t"), "{}", said(&output));
    }
    // A flag wins over a variable, and a variable over the file of settings.
    let settings = scratch.path().join("sheaf.toml");
    std::fs::write(&settings, format!("in-memory = true\nport = 0\nkey-file = \"{file}\"\n"))
        .unwrap();
    let mut serve = command(&["serve", "--config", settings.to_str().unwrap()]);
    let other = "b3RoZXIga2V5IG9mIHNpeHRlZW4gYnl0ZXM=";
    let sheaf = Sheaf::spawn(serve.env("SHEAF_KEY", other));
    let output = run(&["db", "list", "--endpoint", &sheaf.endpoint, "--key", other], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    std::fs::write(&settings, format!("key = \"{KEY}\nport = 0\n")).unwrap();
    let output = run(&["serve", "--config", settings.to_str().unwrap()], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!said(&output).contains(KEY) && said(&output).contains("line 1"), "{}", said(&output));
}

#[test]
fn a_misspelt_variable_is_told() {
    let variables = [("SHEAF_PROT", "1"), ("SHEAF_UNRELATED", "1"), ("SHEAF_DATABSE", "shop")];
    let expected = "sheaf: the variable `SHEAF_PROT` is unknown; do you mean `SHEAF_PORT`?\n";
    let output = run(&["db", "list", "--endpoint", "http://127.0.0.1:1"], &variables);
    let text = said(&output);
    assert!(text.contains(expected) && !text.contains("UNRELATED"), "{text}");
    // Also where the variable would have been what is missing.
    let output = run(&["coll", "list"], &variables);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("do you mean `SHEAF_DATABASE`?"), "{}", said(&output));
    assert!(said(&output).contains("--database"), "{}", said(&output));
}

#[test]
fn the_server_logs_a_misspelt_variable() {
    let mut serve = command(&["serve", "--in-memory", "--port", "0", "--log-format", "json"]);
    serve.env("SHEAF_LOG_LEVEL", "warn").env("SHEAF_DATADIR", "x").stderr(Stdio::piped());
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let line = {
        use std::io::{BufRead as _, BufReader};
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        line
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with('{') && line.contains("do you mean `SHEAF_DATA_DIR`?"), "{line}");
}
