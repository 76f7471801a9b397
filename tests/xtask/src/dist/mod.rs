//! Packages that people install: an archive, a Debian package, a Python wheel, an npm package and the extension of VS Code, each with the program
//! and its solver inside. Two runs on one commit give the same bytes.

mod components;
mod format;
mod integrations;
mod stage;
mod try_out;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use stage::Stage;

/// `cargo xtask dist`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where the packages go.
    #[arg(long, default_value = "target/dist/packages")]
    folder: PathBuf,
    /// Builds everything twice, in two folders, and compares.
    #[arg(long)]
    twice: bool,
    /// Installs each package into an empty home and proves a program with it, and tries what is there for build systems and services. Of a release
    /// build, the laws of the domains are tested as they are shipped, too.
    #[arg(long)]
    try_out: bool,
    /// Packs this program, and compiles none: CI tries packages out with the program that all tests ran with.
    #[arg(long, conflicts_with = "twice")]
    program: Option<PathBuf>,
}

/// Builds the packages.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    crate::z3::fetch(root)?;
    let folder = root.join(&arguments.folder);
    let target = root.join("target/dist/build");
    let program = arguments.program.as_ref().map(|program| root.join(program));
    let sums = build(root, &target, &folder, program.as_deref())?;
    if arguments.twice {
        let again =
            build(root, &root.join("target/dist/build-again"), &root.join("target/dist/again"), None)?;
        for (one, other) in sums.lines().zip(again.lines()) {
            ensure!(one == other, "two builds differ:\n  {one}\n  {other}");
        }
        eprintln!("two builds are equal");
    }
    if arguments.try_out {
        if program.is_none() {
            stage::laws(root, &target)?;
        }
        try_out::all(root, &folder)?;
        integrations::all(root, &try_out::package(&folder, ".whl")?)?;
    }
    print!("{sums}");
    Ok(())
}

/// Builds the program, where none is given, and its packages; the text of `SHA256SUMS`.
fn build(root: &Path, target: &Path, folder: &Path, program: Option<&Path>) -> Result<String> {
    let stage = Stage::fill(root, target, program)?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    format::archive(&stage, folder)?;
    format::debian(root, &stage, folder)?;
    format::wheel(root, &stage, folder)?;
    format::npm(root, &stage, folder)?;
    format::vsix(root, &stage, folder)?;
    fs::copy(stage.sbom(), folder.join(format!("{}.cdx.json", stage.name())))?;
    let extension = root.join("vscode-extension/dist/sbom.cdx.json");
    fs::copy(extension, folder.join(format!("proofline-{}-vscode.cdx.json", stage.version)))?;
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.sort();
    let mut sums = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let digest = Sha256::digest(fs::read(&file)?);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        sums.push_str(&format!("{hex}  {name}\n"));
    }
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    Ok(sums)
}

/// Runs a program to its end; what it printed. Its files are as old as the commit.
fn tool(stage_epoch: &str, folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("SOURCE_DATE_EPOCH", stage_epoch)
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    ensure!(
        output.status.success(),
        "`{program} {}` failed: {}\n{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
