//! The command line about itself: help, completions, manual pages; and the mistakes that it forgives
//! or explains.

use std::fs;

use crate::{
    process::{Sheaf, command, failure, run},
    query::filled,
};

fn printed(args: &[&str]) -> String {
    let output = run(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_is_a_command() {
    assert_eq!(printed(&["help", "query"]), printed(&["query", "--help"]));
    assert_eq!(printed(&["help", "coll", "create"]), printed(&["coll", "create", "--help"]));
    for name in ["serve", "db", "coll", "doc", "keys", "backup", "completions", "man"] {
        assert!(printed(&["help"]).contains(&format!("\n  {name} ")), "{name}");
        assert!(printed(&["help", name]).contains("Usage:"), "{name}");
    }
    assert!(failure(2, &["help", "nonsense"]).contains("nonsense"));
    assert!(!printed(&["help"]).contains("script-worker"));
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = printed(&["completions", shell]);
        for word in ["sheaf", "serve", "coll", "partition-key", "if-not-exists", "regenerate"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
        // Only the setting `script-workers` is for people.
        assert!(!script.replace("script-workers", "").contains("script-worker"), "{shell}");
    }
    assert!(failure(2, &["completions", "csh"]).contains("zsh"));
}

#[test]
fn every_command_has_its_page() {
    assert!(printed(&["man"]).contains(".SH NAME\nsheaf \\- "));
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("new/man1");
    let said = printed(&["man", directory.to_str().unwrap()]);
    let count = fs::read_dir(&directory).unwrap().count();
    assert_eq!(said, format!("wrote {count} pages to {}\n", directory.display()));
    for name in ["sheaf", "sheaf-serve", "sheaf-query", "sheaf-coll-create", "sheaf-keys-list"] {
        let page = fs::read_to_string(directory.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        assert!(page.contains("\"sheaf 0."), "{page}");
    }
    let page = fs::read_to_string(directory.join("sheaf-coll-create.1")).unwrap();
    assert!(page.contains("SHEAF_DATABASE") && page.contains("unique"), "{page}");
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(failure(1, &["man", file.to_str().unwrap()]).contains("file"));
}

#[test]
fn a_semicolon_may_end_a_query() {
    let sheaf = filled(&["--in-memory"], 1);
    let base = ["query", "--endpoint", &sheaf.endpoint, "-d", "shop", "-c", "or ders"];
    for sql in ["SELECT VALUE c.id FROM c;", "SELECT VALUE c.id FROM c ;\n"] {
        let output = run(&[&base[..], &["--format", "lines", sql]].concat());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "\"0\"\n");
    }
    let said = failure(4, &[&base[..], &["SELECT 1; SELECT 2;"]].concat());
    assert!(said.contains("SC1010"), "{said}");
}

/// Somebody made new keys, and a command still uses the old one.
#[test]
fn a_wrong_key_is_explained() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let data = data.to_str().unwrap();
    let sheaf = Sheaf::start(&["--data-dir", data]);
    let old = "b2xkIGtleSBvZiBhbiBhY2NvdW50IQ==";
    printed(&["keys", "regenerate", "all", "--data-dir", data]);
    for tool in [
        &["query", "-d", "d", "-c", "c", "SELECT 1"][..],
        &["db", "list"],
        &["coll", "show", "c", "-d", "d"],
        &["doc", "get", "1", "-d", "d", "-c", "c"],
        &["partition", "list", "-d", "d", "-c", "c"],
        &["backup", "create", data],
    ] {
        let base = [tool, &["--endpoint", &sheaf.endpoint]].concat();
        let said = failure(4, &[&base[..], &["--data-dir", "/nowhere"]].concat());
        assert!(said.contains("(401 Unauthorized)"), "{said}");
        assert!(said.contains("signed with the published emulator key"), "{said}");
        assert!(said.contains("`/nowhere/keys`") && said.contains("--data-dir"), "{said}");
        let said = failure(4, &[&base[..], &["--key", old, "--data-dir", data]].concat());
        assert!(said.contains("signed with the key of --key\n"), "{said}");
        assert!(said.contains("without --key the keys of `"), "{said}");
        assert!(!said.contains("b2xk"), "{said}");
    }
    let list = ["db", "list", "--endpoint", &sheaf.endpoint, "--data-dir", data];
    let output = command(&list).env("SHEAF_KEY", old).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(said.contains("the key of SHEAF_KEY\n") && !said.contains("b2xk"), "{said}");
    assert_eq!(printed(&list), "no databases\n");
}
