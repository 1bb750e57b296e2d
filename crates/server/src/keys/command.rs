//! `sheaf keys`: shows the account's keys, and replaces them while the server runs.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    thread::sleep,
};

use anyhow::Context as _;
use gateway::Key;
use tools::{
    Failure,
    keys::{KeyName, Source},
};

use crate::{
    cli::{KeyFileArgs, KeysCommand},
    data_dir, reload,
};

/// Runs the command.
pub(crate) fn run(command: &KeysCommand) -> Result<ExitCode, Failure> {
    if std::env::var_os("SHEAF_KEY").is_some() {
        tools::say(
            "SHEAF_KEY is set: `sheaf serve` and the client commands use that key instead of the \
             file",
        );
    }
    match command {
        KeysCommand::List(args) => print(&source(args).read()?.lines(KeyName::All))?,
        KeysCommand::Regenerate(args) => regenerate(args.name, &source(&args.file))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn source(args: &KeyFileArgs) -> Source {
    let directory = args.data_dir.as_deref().unwrap_or_else(|| Path::new("sheaf-data"));
    Source::new(args.key_file.as_deref(), Some(directory))
}

fn regenerate(name: KeyName, source: &Source) -> Result<(), Failure> {
    let path = source.path().ok_or_else(|| Failure::usage("there is no key file"))?;
    // For a link, replace the file it points to: others may read that by its own name.
    let path = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let path = path.map_err(Failure::start)?;
    let directory = path.parent().unwrap_or(&path);
    data_dir::create_private(directory)
        .with_context(|| format!("cannot create the directory `{}`", directory.display()))
        .map_err(Failure::start)?;
    // Two concurrent commands must not undo each other's changes. If the directory cannot be
    // locked, continue without a lock.
    let _turn = File::open(directory).and_then(|turn| turn.lock().map(|()| turn));
    let mut file = source.read()?;
    file.replace(name, || Ok(Key::generate()?)).map_err(Failure::start)?;
    let is_there = path.try_exists().map_err(Failure::start)?;
    let like = if is_there { &path } else { directory };
    data_dir::write_private_like(&path, &file.lines(KeyName::All), like)
        .with_context(|| format!("cannot write the key file `{}`", path.display()))
        .map_err(Failure::start)?;
    print(&file.lines(name))?;
    // When this command returns, the old key is no longer valid.
    sleep(reload::TAKEN_UP);
    Ok(())
}

fn print(lines: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::start)
}
