//! Installs each package as people do, into a home that has nothing else, and proves a program with it: no Rust, no repository, another `PATH`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::tool;

/// Its proof needs the solver.
pub(super) const RIGHT: &str = "#include <assert.h>
extern int input(void);
int main(void) {
    int n = input(), i = 0, sum = 0;
    if (n < 0 || n > 1000) return 0;
    while (i < n) { i++; sum += 2; }
    assert(sum == 2 * n);
    return 0;
}
";

/// A run without arguments divides by zero.
pub(super) const WRONG: &str = "int main(int argc, char **argv) { int rest = argc - 1; return 10 / rest; }\n";

/// Tries every package of a folder.
pub(super) fn all(root: &Path, folder: &Path) -> Result<()> {
    for (ending, install) in [
        (".tar.gz", archive as fn(&Path, &Path) -> Result<PathBuf>),
        (".deb", debian),
        (".whl", wheel),
        (".tgz", npm),
        (".vsix", vsix),
    ] {
        let home = tempfile::tempdir()?;
        let program = install(&package(folder, ending)?, home.path())?;
        ensure!(!program.starts_with(root), "{ending} was installed into the repository");
        works(&program, home.path()).with_context(|| format!("the package {ending}"))?;
        eprintln!("{ending}: installed, a proof and a counterexample found");
    }
    debian_policy(root, folder)
}

/// Debian's own checker of packages finds no error, where it is installed.
fn debian_policy(root: &Path, folder: &Path) -> Result<()> {
    if Command::new("lintian").arg("--version").output().is_err() {
        eprintln!(".deb: not checked, there is no `lintian`");
        return Ok(());
    }
    let file = package(folder, ".deb")?;
    let said = tool("0", root, "lintian", &["--allow-root", "--fail-on", "error", &file.to_string_lossy()])?;
    eprintln!(".deb: no error by Debian's rules\n{said}");
    Ok(())
}

/// The package of a kind.
pub(super) fn package(folder: &Path, ending: &str) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    files
        .find(|path| path.to_string_lossy().ends_with(ending))
        .with_context(|| format!("no package {ending} in {}", folder.display()))
}

fn archive(file: &Path, home: &Path) -> Result<PathBuf> {
    tool("0", home, "tar", &["--extract", "--strip-components=1", "--file", &file.to_string_lossy()])?;
    let page = home.join("share/man/man1/proofline-check.1");
    ensure!(page.exists(), "no manual page");
    Ok(home.join("bin/proofline"))
}

fn debian(file: &Path, home: &Path) -> Result<PathBuf> {
    let state = home.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(state.join(folder))?;
    }
    fs::write(state.join("status"), "")?;
    let (own, file) = (format!("--root={}", home.display()), file.to_string_lossy());
    // A root of its own, in which nothing else is installed.
    let arguments = [&own, "--force-depends", "--force-not-root", "--force-bad-path", "--install", &file];
    tool("0", home, "dpkg", &arguments)?;
    Ok(home.join("usr/bin/proofline"))
}

fn wheel(file: &Path, home: &Path) -> Result<PathBuf> {
    tool("0", home, "python3", &["-m", "venv", "venv"])?;
    let python = home.join("venv/bin/python").to_string_lossy().into_owned();
    let install = ["-m", "pip", "install", "--quiet", "--no-index", &file.to_string_lossy()];
    tool("0", home, &python, &install)?;
    let version = tool("0", home, &home.join("venv/bin/proofline-c").to_string_lossy(), &["--version"])?;
    ensure!(version.starts_with("proofline "), "`proofline-c --version` says {version}");
    batch_without_dask(&home.join("venv/bin/proofline-batch"))?;
    Ok(home.join("venv/bin/proofline"))
}

/// The package does not bring Dask along: its command explains itself, and says what is missing.
fn batch_without_dask(program: &Path) -> Result<()> {
    let help = tool("0", Path::new("/"), &program.to_string_lossy(), &["--help"])?;
    ensure!(help.contains("--scheduler"), "`proofline-batch --help` says {help}");
    let output = Command::new(program).arg("plan").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(1) && said.contains("pip install 'proofline-c[batch]'"),
        "`proofline-batch` without Dask: {}\n{said}",
        output.status
    );
    Ok(())
}

fn npm(file: &Path, home: &Path) -> Result<PathBuf> {
    let file = file.to_string_lossy();
    tool("0", home, "npm", &["install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", &file])?;
    Ok(home.join("node_modules/.bin/proofline"))
}

fn vsix(file: &Path, home: &Path) -> Result<PathBuf> {
    tool("0", home, "python3", &["-m", "zipfile", "-e", &file.to_string_lossy(), "."])?;
    let program = home.join("extension/bin/proofline");
    // Editors keep the mode that the archive says; this unpacker does not.
    tool("0", home, "chmod", &["755", &program.to_string_lossy()])?;
    Ok(program)
}

/// A proof that needs the solver, and a counterexample.
fn works(program: &Path, home: &Path) -> Result<()> {
    for (name, text, code, says) in
        [("right.c", RIGHT, 0, "RESULT: true"), ("wrong.c", WRONG, 1, "RESULT: false")]
    {
        fs::write(home.join(name), text)?;
        let output = Command::new(program)
            .args(["check", name])
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.code() == Some(code) && text.contains(says),
            "{name}: {}\n{text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
