//! What every package holds, as it lies under `/usr`, a virtual environment or an unpacked archive.
//!
//! ```text
//! bin/proofline                 finds the solver in ../lib/proofline, wherever the tree stands
//! lib/proofline/libz3.so.4.15
//! share/                        manual pages, completions, licences, the bill of materials
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{components, tool};

/// The solver's library, by the name that the program asks for.
const SOLVER: &str = "libz3.so.4.15";

/// How old files are where there is no repository: the beginning of 2026.
const WITHOUT_HISTORY: &str = "1767225600";

/// The tree, and what packages say of it.
pub(super) struct Stage {
    /// Where `bin`, `lib` and `share` are.
    pub(super) tree: PathBuf,
    /// Of the project.
    pub(super) version: String,
    /// Seconds since 1970 of the commit: every file is as old as that.
    pub(super) epoch: String,
    /// The oldest C library that the program runs with, such as `2.34`.
    pub(super) libc: String,
}

impl Stage {
    /// Puts the tree together, with this program or with one that is built now.
    pub(super) fn fill(root: &Path, target: &Path, program: Option<&Path>) -> Result<Stage> {
        let version = components::version(root)?;
        let commit = tool("0", root, "git", &["log", "-1", "--format=%ct"]);
        let epoch = commit.map_or_else(|_| WITHOUT_HISTORY.to_owned(), |time| time.trim().to_owned());
        let program = match program {
            Some(program) => program.to_path_buf(),
            None => build(root, target)?,
        };
        let tree = target.join("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        let place = |path: &str| -> Result<PathBuf> {
            let place = tree.join(path);
            fs::create_dir_all(place.parent().unwrap_or(&tree))?;
            Ok(place)
        };
        // As the release profile does.
        let own = place("bin/proofline")?.to_string_lossy().into_owned();
        tool(&epoch, root, "strip", &["--strip-debug", "-o", &own, &program.to_string_lossy()])?;
        let (solver, to) = (root.join(".z3/lib").join(SOLVER), place(&format!("lib/proofline/{SOLVER}"))?);
        let (solver, to) = (solver.to_string_lossy(), to.to_string_lossy());
        tool(&epoch, root, "strip", &["--strip-unneeded", "-o", &to, &solver])?;
        tool(
            &epoch,
            root,
            &own,
            &["manual-pages", &place("share/man/man1/x")?.with_file_name("").to_string_lossy()],
        )?;
        for (shell, file) in [
            ("bash", "share/bash-completion/completions/proofline"),
            ("zsh", "share/zsh/site-functions/_proofline"),
            ("fish", "share/fish/vendor_completions.d/proofline.fish"),
        ] {
            fs::write(place(file)?, tool(&epoch, root, &own, &["completions", shell])?)?;
        }
        let components = components::shipped(root)?;
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
            fs::copy(root.join(file), place(&format!("share/doc/proofline/{file}"))?)?;
        }
        let solver = fs::read_to_string(root.join("packages/LICENSE-Z3"))?;
        fs::write(
            place("share/doc/proofline/THIRD-PARTY-LICENSES")?,
            components::licences(&components, &solver),
        )?;
        fs::write(
            place("share/doc/proofline/sbom.cdx.json")?,
            components::bill_of_materials(&version, &components)?,
        )?;
        let libc = oldest_libc(root, &program)?;
        let manual = fs::read_to_string(root.join("docs/install.md"))?;
        ensure!(
            manual.contains(&format!("glibc {libc} or newer")),
            "docs/install.md does not say that the program needs glibc {libc}"
        );
        Ok(Stage { tree, version, epoch, libc })
    }

    /// Name and version and machine.
    pub(super) fn name(&self) -> String {
        format!("proofline-{}-x86_64-linux", self.version)
    }

    /// The bill of materials.
    pub(super) fn sbom(&self) -> PathBuf {
        self.tree.join("share/doc/proofline/sbom.cdx.json")
    }
}

/// The program, built without paths of this machine.
fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    cargo(root, target, &["build", "--package", "proofline"])?;
    Ok(target.join("release/proofline"))
}

/// The laws of the domains hold in what is shipped, too: it is compiled otherwise than what other tests run, and most of it is compiled already.
pub(super) fn laws(root: &Path, target: &Path) -> Result<()> {
    cargo(root, target, &["test", "--package", "proofline-domains", "--test", "domains"])
}

/// A command of cargo, for what is shipped.
fn cargo(root: &Path, target: &Path, command: &[&str]) -> Result<()> {
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    let flags = [
        "-Clink-arg=-Wl,-rpath,$ORIGIN/../lib/proofline".to_owned(),
        format!("--remap-path-prefix={}=/proofline", root.display()),
        format!("--remap-path-prefix={}=/target", target.display()),
        format!("--remap-path-prefix={cargo_home}=/cargo"),
    ];
    let status = Command::new("cargo")
        .args(command)
        .args(["--quiet", "--release", "--locked", "--target-dir"])
        .arg(target)
        // Tests do not lie where the program will.
        .env("LD_LIBRARY_PATH", root.join(".z3/lib"))
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env_remove("RUSTFLAGS")
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(root)
        .status()?;
    ensure!(status.success(), "cargo {} failed", command.join(" "));
    Ok(())
}

/// From the versions of the symbols that the program and its solver import.
fn oldest_libc(root: &Path, program: &Path) -> Result<String> {
    let mut newest = (0, 0);
    for file in [program.to_path_buf(), root.join(".z3/lib").join(SOLVER)] {
        let symbols = tool("0", root, "objdump", &["-T", &file.to_string_lossy()])?;
        for line in symbols.lines().filter(|line| line.contains("*UND*") && !line.contains(" w ")) {
            let version = line.split("GLIBC_").nth(1).and_then(|rest| rest.split([')', ' ']).next());
            let mut numbers = version.unwrap_or_default().split('.').map(str::parse::<u32>);
            if let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) {
                newest = newest.max((major, minor));
            }
        }
    }
    ensure!(newest > (2, 0), "the program imports nothing of the C library");
    Ok(format!("{}.{}", newest.0, newest.1))
}
