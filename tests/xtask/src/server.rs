//! The language server and the debug adapter under clients of other projects: pytest-lsp and Microsoft's DAP test client, in
//! folders under `target/`.

use std::path::Path;

use anyhow::Result;

/// Python packages, pinned.
const PYTHON: &[&str] = &["pytest-lsp==1.0.1", "pytest-timeout==2.4.0"];
/// The DAP test client, pinned.
const NODE: &[&str] = &["@vscode/debugadapter-testsupport@1.68.0"];

/// The Python of the tests' own environment, made if it is not there.
fn python(root: &Path) -> Result<String> {
    let folder = root.join("target/lsp-venv");
    let python = folder.join("bin/python");
    if !folder.join("ready").exists() {
        crate::run(root, "python3", &["-m", "venv", &folder.to_string_lossy()])?;
        let mut arguments = vec!["-m", "pip", "install", "--quiet"];
        arguments.extend(PYTHON);
        crate::run(root, &python.to_string_lossy(), &arguments)?;
        std::fs::write(folder.join("ready"), "")?;
    }
    Ok(python.to_string_lossy().into_owned())
}

/// Builds the debug binary and runs the tests in `tests/lsp`; the debug adapter's where there is Node.
pub(crate) fn test(root: &Path) -> Result<()> {
    // The features that the other tests have, so that nothing is compiled twice; tests of the command line need the binary.
    crate::run(root, "cargo", &["test", "--quiet", "--workspace", "--no-run", "--test", "command_line"])?;
    let python = python(root)?;
    crate::run(root, &python, &["-m", "pytest", "--quiet", "--timeout", "120", "tests/lsp"])?;
    let has_node =
        std::process::Command::new("npm").arg("--version").output().is_ok_and(|o| o.status.success());
    if !has_node {
        eprintln!("there is no npm: the debug adapter's test is left out");
        return Ok(());
    }
    let folder = root.join("target/dap-client");
    if !folder.join("node_modules").exists() {
        std::fs::create_dir_all(&folder)?;
        let prefix = folder.to_string_lossy().into_owned();
        let mut arguments = vec!["install", "--silent", "--no-audit", "--no-fund", "--prefix", &prefix];
        arguments.extend(NODE);
        crate::run(root, "npm", &arguments)?;
    }
    let modules = format!("NODE_PATH={}", folder.join("node_modules").display());
    let binary = root.join("target/debug/proofline");
    crate::run(root, "env", &[&modules, "node", "tests/lsp/dap.js", &binary.to_string_lossy()])
}

/// Builds the release binary and kills its workers for so many minutes.
pub(crate) fn chaos(root: &Path, minutes: f64) -> Result<()> {
    crate::run(root, "cargo", &["build", "--quiet", "--release", "--package", "proofline"])?;
    let python = python(root)?;
    let binary = format!("PROOFLINE={}", root.join("target/release/proofline").display());
    crate::run(root, "env", &[&binary, &python, "tests/lsp/chaos.py", "--minutes", &minutes.to_string()])
}

/// Builds the release binary and prints how long people wait, with `real` in the real files of this folder.
pub(crate) fn latency(root: &Path, check: bool, real: Option<&str>) -> Result<()> {
    crate::run(root, "cargo", &["build", "--quiet", "--release", "--package", "proofline"])?;
    let python = python(root)?;
    let binary = format!("PROOFLINE={}", root.join("target/release/proofline").display());
    if let Some(folder) = real {
        return crate::run(root, "env", &[&binary, &python, "tests/lsp/real.py", folder]);
    }
    let mut arguments = vec![binary.as_str(), python.as_str(), "tests/lsp/latency.py"];
    if check {
        arguments.push("--check");
    }
    crate::run(root, "env", &arguments)
}

/// Builds the release binary and prints how long people wait in a workspace of a million lines, with these programs of others in it.
pub(crate) fn million(root: &Path, corpus: &str, check: bool) -> Result<()> {
    crate::run(root, "cargo", &["build", "--quiet", "--release", "--package", "proofline"])?;
    let python = python(root)?;
    let binary = format!("PROOFLINE={}", root.join("target/release/proofline").display());
    let mut arguments = vec![binary.as_str(), python.as_str(), "tests/lsp/million.py", corpus];
    if check {
        arguments.push("--check");
    }
    crate::run(root, "env", &arguments)
}
