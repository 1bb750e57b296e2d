//! Generated from the command line: completions for shells, and manual pages.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::{failure::Failure, output};

/// The text at the bottom and top of every page.
const SOURCE: &str = concat!("sheaf ", env!("CARGO_PKG_VERSION"));
const MANUAL: &str = "Sheaf Manual";

/// Examples of `sheaf completions`.
pub const COMPLETIONS_HELP: &str = "\
Examples:
  sheaf completions bash > ~/.local/share/bash-completion/completions/sheaf
  sheaf completions zsh > ~/.zfunc/_sheaf          With ~/.zfunc in $fpath
  sheaf completions fish > ~/.config/fish/completions/sheaf.fish
  sheaf completions powershell >> $PROFILE";

/// Examples of `sheaf man`.
pub const MAN_HELP: &str = "\
Examples:
  sheaf man | man -l -                             The page of sheaf itself
  sheaf man ~/.local/share/man/man1                All pages: man sheaf, man sheaf-query";

/// Arguments of `sheaf completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Arguments of `sheaf man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Directory to write the pages of all commands to [default: the page of sheaf, to stdout]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Prints the completions of a command line.
pub fn completions(args: &CompletionsArgs, mut command: Command) -> Result<ExitCode, Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::print(script)
}

/// Prints the manual page of a command line, or writes those of all its commands.
pub fn man(args: &ManArgs, command: Command) -> Result<ExitCode, Failure> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .source(SOURCE)
            .manual(MANUAL)
            .render(&mut page)
            .map_err(Failure::start)?;
        return output::print(page);
    };
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let there = directory.display();
    let count = fs::create_dir_all(directory)
        .and_then(|()| write(directory, &command))
        .with_context(|| format!("cannot write manual pages into `{there}`"))
        .map_err(Failure::start)?;
    output::print(format!("wrote {count} pages to {there}\n"))
}

/// Writes the pages of a command and its subcommands, and returns their number.
fn write(directory: &Path, command: &Command) -> io::Result<usize> {
    let page = clap_mangen::Man::new(command.clone()).source(SOURCE).manual(MANUAL);
    page.generate_to(directory)?;
    let mut count = 1;
    for below in command.get_subcommands() {
        count += write(directory, below)?;
    }
    Ok(count)
}
