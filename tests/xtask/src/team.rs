//! A team's store and batches against real servers: Redis, S3, Dask, and Ninja. Their Python packages are in a folder under `target/`.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, bail};

/// Python packages, pinned: a server that speaks S3, the scheduler, the build system, the tests' runner.
const PYTHON: &[&str] = &[
    "moto[server]==5.2.5",
    "distributed==2026.8.0",
    "ninja==1.13.0",
    "psutil==7.2.2",
    "pytest==8.4.2",
    "pytest-timeout==2.4.0",
];

/// Builds the debug binary and runs the tests in `tests/team`.
pub(crate) fn test(root: &Path) -> Result<()> {
    if !Command::new("redis-server").arg("--version").output().is_ok_and(|done| done.status.success()) {
        bail!("there is no redis-server\n  help: apt-get install redis-server");
    }
    crate::run(root, "cargo", &["test", "--quiet", "--workspace", "--no-run", "--test", "command_line"])?;
    let folder = root.join("target/team-venv");
    let python = folder.join("bin/python").to_string_lossy().into_owned();
    // Says what is installed there.
    let (ready, packages) = (folder.join("ready"), PYTHON.join("\n"));
    if !fs::read_to_string(&ready).is_ok_and(|there| there == packages) {
        crate::run(root, "python3", &["-m", "venv", &folder.to_string_lossy()])?;
        let mut arguments = vec!["-m", "pip", "install", "--quiet"];
        arguments.extend(PYTHON);
        crate::run(root, &python, &arguments)?;
        fs::write(ready, packages)?;
    }
    crate::run(root, &python, &["-m", "pytest", "--quiet", "--timeout", "300", "tests/team"])
}
