//! Installs those who are not there yet: an emulator from npm, two servers from the Go module proxy.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use tokio::{process::Command, time::timeout};

use super::competitor::{Who, tools};

/// Nobody waits longer for one of them.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(10);

/// A module, its version, the program in it, and the tags that it is built with.
const COSMIUM: [&str; 4] =
    ["github.com/pikami/cosmium", "v0.1.20", "github.com/pikami/cosmium/cmd/server", ""];
const FERRET: [&str; 4] = [
    "github.com/FerretDB/FerretDB",
    "v1.24.0",
    "github.com/FerretDB/FerretDB/cmd/ferretdb",
    "ferretdb_sqlite",
];

/// Where they are, or why they are not.
pub(crate) struct Programs {
    vercel: Result<(), String>,
    cosmium: Result<PathBuf, String>,
    ferret: Result<PathBuf, String>,
}

impl Programs {
    /// Installs what is wanted and missing.
    pub(crate) async fn install(wants: impl Fn(Who) -> bool) -> Self {
        let unwanted = || "not asked for".to_owned();
        let vercel = if wants(Who::Vercel) { said(npm().await) } else { Err(unwanted()) };
        let cosmium =
            if wants(Who::Cosmium) { said(go("cosmium", COSMIUM).await) } else { Err(unwanted()) };
        let ferret =
            if wants(Who::Ferret) { said(go("ferretdb", FERRET).await) } else { Err(unwanted()) };
        Self { vercel, cosmium, ferret }
    }

    pub(crate) fn vercel(&self) -> Result<()> {
        self.vercel.clone().map_err(|reason| anyhow!(reason))
    }

    pub(crate) fn cosmium(&self) -> Result<&Path> {
        self.cosmium.as_deref().map_err(|reason| anyhow!(reason.clone()))
    }

    pub(crate) fn ferret(&self) -> Result<&Path> {
        self.ferret.as_deref().map_err(|reason| anyhow!(reason.clone()))
    }
}

fn said<T>(outcome: Result<T>) -> Result<T, String> {
    outcome.map_err(|error| format!("{error:#}"))
}

async fn npm() -> Result<()> {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vercel");
    if place.join("node_modules").is_dir() {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.arg("install").arg("--prefix").arg(&place).args([
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--omit=dev",
        "--silent",
    ]);
    finish("npm", &mut command).await.map(drop)
}

/// Builds a program in a module of ours that requires nothing else.
async fn go(name: &str, [module, version, package, tags]: [&str; 4]) -> Result<PathBuf> {
    let program = tools().join(format!("{name}-{version}"));
    if program.is_file() {
        return Ok(program);
    }
    let module_directory = tools().join(format!("{name}-module"));
    std::fs::create_dir_all(&module_directory)?;
    println!("building {name} {version}: a few minutes, once");
    let manifest = format!("module compare\n\ngo 1.21\n\nrequire {module} {version}\n");
    let file = module_directory.join("go.mod");
    std::fs::write(&file, &manifest)?;
    if module == FERRET[0] {
        own_sources(&module_directory, module, version).await?;
        std::fs::write(&file, format!("{manifest}\nreplace {module} => ./sources\n"))?;
    }
    let mut command = Command::new("go");
    command.args(["build", "-mod=mod", "-tags", tags, "-o"]).arg(&program).arg(package);
    finish("go", command.current_dir(&module_directory)).await?;
    Ok(program)
}

/// Copies a module's sources, and adds a file that its own build would have made: FerretDB does not
/// start without one that says which version it is.
async fn own_sources(directory: &Path, module: &str, version: &str) -> Result<()> {
    let go = |words: &[&str]| {
        let mut command = Command::new("go");
        command.args(words).current_dir(directory);
        command
    };
    finish("go", &mut go(&["mod", "download", module])).await?;
    let found =
        finish("go", &mut go(&["list", "-mod=mod", "-m", "-f", "{{.Dir}}", module])).await?;
    let sources = directory.join("sources");
    if sources.is_dir() {
        std::fs::remove_dir_all(&sources)?;
    }
    finish("cp", Command::new("cp").arg("-R").arg(found.trim()).arg(&sources)).await?;
    // The module cache is read-only, and so is a copy of it.
    finish("chmod", Command::new("chmod").args(["-R", "u+w"]).arg(&sources)).await?;
    Ok(std::fs::write(sources.join("build/version/version.txt"), version)?)
}

/// Runs it to its end; gives what it said.
async fn finish(name: &str, command: &mut Command) -> Result<String> {
    command.kill_on_drop(true);
    let output = timeout(INSTALL_TIMEOUT, command.output()).await;
    let output = output.with_context(|| format!("{name} took more than {INSTALL_TIMEOUT:?}"))?;
    let output = output.with_context(|| format!("cannot run {name}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint.trim().lines().next_back().unwrap_or_default().to_owned();
    ensure!(output.status.success(), "{name}: {last}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
