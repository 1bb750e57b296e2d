//! The commands of docs/command-line.md, run as they are printed.

use std::{env, fmt::Write as _, fs, path::Path};

use crate::process::{Sheaf, command};

const PAGE: &str = include_str!("../../../../docs/command-line.md");

/// What stands between fences of this kind.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        match &mut block {
            None if line == format!("```{kind}") => block = Some(String::new()),
            Some(_) if line == "```" => blocks.extend(block.take()),
            Some(text) => writeln!(text, "{line}").unwrap(),
            None => {}
        }
    }
    blocks
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_page_work_in_their_order() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path();
    let data = home.join("sheaf-data");
    let sheaf = Sheaf::start(&["--data-dir", data.to_str().unwrap()]);
    let program = Path::new(env!("CARGO_BIN_EXE_sheaf")).parent().unwrap();
    let path = env::join_paths(
        [program.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())),
    );
    let script = blocks(PAGE, "sh").concat();
    assert!(script.lines().count() > 15, "{script}");
    // `command` is the way to an environment without variables of ours.
    let environment = command(&[]);
    let mut shell = std::process::Command::new("sh");
    for (name, value) in environment.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", path.unwrap()).env("HOME", home).current_dir(home);
    shell.env("SHEAF_PORT", sheaf.address.port().to_string());
    let output = shell.args(["-eu", "-c", &script]).output().unwrap();
    let (printed, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    for part in
        ["the database `shop` is created", "12.50", "/tenant, /user", "Usage: sheaf coll create"]
    {
        assert!(printed.contains(part), "{part} in {printed}");
    }
    assert!(fs::read_dir(home.join("man1")).unwrap().count() > 30);
}

/// The table of commands names all of them.
#[test]
fn every_command_that_asks_a_server_is_on_the_page() {
    for tool in ["db", "coll", "doc"] {
        let output = command(&["help", tool]).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let commands = help.split("Commands:\n").nth(1).unwrap().lines();
        let names = commands.take_while(|line| !line.is_empty());
        for name in names.filter_map(|line| line.split_whitespace().next()) {
            let row = format!("| `sheaf {tool} {name} ");
            let bare = format!("| `sheaf {tool} {name}`");
            assert!(name == "help" || PAGE.contains(&row) || PAGE.contains(&bare), "{tool} {name}");
        }
    }
}
