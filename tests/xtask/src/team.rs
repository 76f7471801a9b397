//! A team's store and batches against real servers: Redis, S3, Dask. Their Python packages are in a folder under `target/`.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

/// Python packages, pinned: a server that speaks S3, the scheduler, the tests' runner.
const PYTHON: &[&str] = &[
    "moto[server]==5.2.5",
    "distributed==2026.8.0",
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
    if !folder.join("ready").exists() {
        crate::run(root, "python3", &["-m", "venv", &folder.to_string_lossy()])?;
        let mut arguments = vec!["-m", "pip", "install", "--quiet"];
        arguments.extend(PYTHON);
        crate::run(root, &python, &arguments)?;
        std::fs::write(folder.join("ready"), "")?;
    }
    crate::run(root, &python, &["-m", "pytest", "--quiet", "--timeout", "300", "tests/team"])
}
