//! The main job on a fresh machine: fetch Z3, build, check a program that is shipped here.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};

/// Runs `proofline check` on the example. Its violation is the point, so exit code 1 is success.
pub(crate) fn run(root: &Path) -> Result<()> {
    crate::z3::fetch(root)?;
    crate::run(root, "cargo", &["build", "--release", "--quiet", "--package", "proofline"])?;
    let program = root.join("target/release/proofline");
    eprintln!("$ proofline check examples/average.c");
    let status = Command::new(&program)
        .args(["check", "examples/average.c"])
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(status.code() == Some(1), "the example has a violation, so exit code 1 was expected: {status}");
    Ok(())
}
