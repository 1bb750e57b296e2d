//! What is made of the command line itself: completions for shells, and manual pages.

use std::{fs, path::Path, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::{failure::Failure, output};

pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:
  sheaf completions bash > ~/.local/share/bash-completion/completions/sheaf
  sheaf completions zsh > ~/.zfunc/_sheaf          With ~/.zfunc in $fpath
  sheaf completions fish > ~/.config/fish/completions/sheaf.fish
  sheaf completions powershell >> $PROFILE";

pub(crate) const MAN_HELP: &str = "\
Examples:
  sheaf man | man -l -                             The page of sheaf itself
  sheaf man ~/.local/share/man/man1                All pages: man sheaf, man sheaf-query";

/// What `sheaf completions` takes.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// What `sheaf man` takes.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Directory to write the pages of all commands to [default: the page of sheaf, to stdout]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Prints the completions of a command line.
pub(crate) fn completions(
    args: &CompletionsArgs,
    mut command: Command,
) -> Result<ExitCode, Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::print(script)
}

/// Prints the manual page of a command line, or writes those of all its commands.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<ExitCode, Failure> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(Failure::start)?;
        return output::print(page);
    };
    let count = pages(directory, command).map_err(Failure::start)?;
    output::print(format!("{count} pages in {}\n", directory.display()))
}

fn pages(directory: &Path, command: Command) -> anyhow::Result<usize> {
    let there = directory.display();
    fs::create_dir_all(directory).with_context(|| format!("cannot create `{there}`"))?;
    clap_mangen::generate_to(command, directory)
        .with_context(|| format!("cannot write the pages into `{there}`"))?;
    let is_page = |name: &str| name.starts_with("sheaf") && name.ends_with(".1");
    let entries = fs::read_dir(directory)?.flatten();
    Ok(entries.filter(|entry| is_page(&entry.file_name().to_string_lossy())).count())
}
