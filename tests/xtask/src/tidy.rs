//! The invariants of `analysis/ARCHITECTURE.md` that a compiler does not hold.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::module_cycles;

/// Arrows that must not exist: `.0` must not depend on `.1`, directly or not.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("proofline-syntax", &["proofline-hir", "z3", "salsa"]),
    ("proofline-hir", &["proofline-cfa", "z3", "salsa"]),
    ("proofline-cfa", &["proofline-cfa-build", "proofline-program-analysis", "proofline-cpa", "z3", "salsa"]),
    (
        "proofline-native",
        &["proofline-program-analysis", "proofline-cpa", "proofline-verifier", "z3", "salsa"],
    ),
    ("proofline-cfa-build", &["proofline-program-analysis", "proofline-cpa", "z3", "salsa"]),
    ("proofline-program-analysis", &["proofline-cfa-build", "proofline-cpa", "z3", "salsa"]),
    ("proofline-cpa", &["proofline-cfa-build", "proofline-domains", "z3", "salsa"]),
    ("proofline-encoding", &["proofline-domains", "salsa"]),
    ("proofline-domains", &["proofline-cfa-build", "proofline-verifier", "salsa"]),
    ("proofline-verifier", &["proofline", "salsa"]),
    ("proofline-ide", &["proofline", "tower-lsp-server", "ls-types"]),
    ("proofline-smt", &["proofline-syntax", "salsa"]),
    (
        "proofline-team-store",
        &["proofline-syntax", "proofline-hir", "proofline-db", "proofline-ide", "salsa", "z3"],
    ),
    ("xtask", &["z3", "proofline-syntax"]),
];

/// Only these crates may name a solver's crate.
const KNOWS_Z3: &[&str] = &["proofline-smt"];

/// Where the system may be asked for: the server's module for it, what it takes for that, and what starts the solver.
const KNOWS_THE_SYSTEM: &[&str] = &["lsp-server/src/platform/", "analysis/smt/src/worker/process.rs"];

/// What asks for it, apart from the module of the compiler's.
const ASKS_FOR_THE_SYSTEM: &[&str] = &[
    "cfg(unix)",
    "cfg(windows)",
    "cfg(not(unix))",
    "cfg(not(windows))",
    "target_os",
    "target_family",
    "os::unix",
    "os::linux",
    "os::windows",
    "libc::",
    "landlock::",
    "seccompiler::",
    "rustix::",
];

/// Bytes of a file of the repository, at most: what is larger got in by mistake.
const LARGEST: u64 = 2 << 20;

/// Checks the invariants and lists everything that is wrong.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    arrows(root, &mut faults)?;
    sizes(root, &mut faults)?;
    module_cycles::run(root, &mut faults)?;
    not_compiled_again(root, &mut faults)?;
    let mut files = Vec::new();
    for folder in ["analysis", "lsp-server", "team-store", "tests"] {
        rust_files(&root.join(folder), &mut files)?;
    }
    files.sort();
    ensure!(!files.is_empty(), "no Rust files under {}", root.display());
    for file in &files {
        source(root, file, &mut faults)?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("the tree is not tidy:\n{}", faults.join("\n"))
}

/// Of the files that git keeps; elsewhere there is nothing to look at.
fn sizes(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let output =
        Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().context("cannot run git")?;
    for name in String::from_utf8_lossy(&output.stdout).split('\0').filter(|name| !name.is_empty()) {
        let size = fs::metadata(root.join(name)).map_or(0, |file| file.len());
        if size > LARGEST {
            faults.push(format!("{name} has {size} bytes: is it to be kept in the repository?"));
        }
    }
    Ok(())
}

fn arrows(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for (package, forbidden) in FORBIDDEN {
        let output = Command::new("cargo")
            .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}"])
            .current_dir(root)
            .output()
            .context("cannot run cargo tree")?;
        ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8_lossy(&output.stdout);
        let mut names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        names.dedup();
        for name in *forbidden {
            if names.iter().skip(1).any(|dependency| dependency == name) {
                faults.push(format!("{package} must not depend on {name}"));
            }
        }
    }
    let server = fs::read_to_string(root.join("lsp-server/Cargo.toml"))?;
    for line in server.lines().filter(|line| line.starts_with("proofline-")) {
        // The store of a team is no part of the analysis.
        if !line.starts_with("proofline-ide.") && !line.starts_with("proofline-team-store.") {
            faults.push(format!("lsp-server must know of the analysis nothing but proofline-ide: {line}"));
        }
    }
    for manifest in
        fs::read_dir(root.join("analysis"))?.filter_map(|e| e.ok()).map(|e| e.path().join("Cargo.toml"))
    {
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let names_z3 = text.lines().any(|line| line.starts_with("z3.") || line.starts_with("z3-sys"));
        let allowed = KNOWS_Z3.iter().any(|name| text.contains(&format!("name = \"{name}\"")));
        if names_z3 && !allowed {
            faults.push(format!("{}: only proofline-smt may know z3", manifest.display()));
        }
    }
    Ok(())
}

/// A crate that says that it has no unit tests, or no examples in comments, is not compiled for them: it must have none.
fn not_compiled_again(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut crates = vec![root.join("team-store"), root.join("lsp-server")];
    for folder in ["analysis", "tests"] {
        crates.extend(fs::read_dir(root.join(folder))?.filter_map(|entry| Some(entry.ok()?.path())));
    }
    for folder in crates {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let library = manifest.split("[lib]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or("");
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files)?;
        for file in files {
            let text = fs::read_to_string(&file)?;
            let name = file.strip_prefix(root).unwrap_or(&file).display();
            let mut open = false;
            for line in text.lines().map(str::trim_start) {
                if line == concat!("#[", "test]") && library.contains("\ntest = false") {
                    faults.push(format!(
                        "{name}: a unit test that does not run: its crate says `test = false`"
                    ));
                    break;
                }
                let fence = line.strip_prefix("///").or(line.strip_prefix("//!")).map(str::trim_start);
                if let Some(kind) = fence.and_then(|text| text.strip_prefix("```")) {
                    open = !open;
                    if open && !kind.starts_with("text") && library.contains("\ndoctest = false") {
                        faults.push(format!(
                            "{name}: an example that does not run: its crate says `doctest = false`"
                        ));
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target" && name != "node_modules") {
                rust_files(&path, out)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

fn source(root: &Path, file: &Path, faults: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(file)?;
    let name = file.strip_prefix(root).unwrap_or(file).display();
    let relative = file.strip_prefix(root).unwrap_or(file);
    // The operators of terms have the same name; they are no operations of automata. Analyses made up for tests may leave some out.
    if !relative.starts_with("analysis/smt") && !relative.components().any(|part| part.as_os_str() == "tests")
    {
        crate::exhaustive::check(relative, &text, faults)?;
    }
    let is_code =
        relative.components().any(|part| part.as_os_str() == "src") && !relative.starts_with("tests");
    let here = relative.to_string_lossy();
    if is_code && !KNOWS_THE_SYSTEM.iter().any(|known| here.starts_with(known)) {
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for word in ASKS_FOR_THE_SYSTEM.iter().filter(|word| line.contains(**word)) {
                faults.push(format!(
                    "{name}:{}: `{word}`: what depends on the system is in {}",
                    i + 1,
                    KNOWS_THE_SYSTEM[0]
                ));
            }
        }
    }
    if !text.starts_with("//!") {
        faults.push(format!("{name}: does not open with `//!`, what it is and what it must not know"));
    }
    // Spelled apart, so that this file does not find itself.
    for (marker, instead) in [
        (concat!("#[", "allow("), "#[expect(lint, reason = \"…\")]"),
        (concat!("#![", "allow("), "#![expect(lint, reason = \"…\")]"),
        (concat!("#[", "ignore"), "assert today's behaviour with a FIXME"),
        (concat!("#[", "should_panic"), "assert the outcome"),
        (concat!("todo", "!("), "an outcome with a reason"),
        (concat!("unimplemented", "!("), "an outcome with a reason"),
    ] {
        for (i, line) in text.lines().enumerate() {
            if line.trim_start().starts_with(marker) {
                faults.push(format!("{name}:{}: `{marker}`: use {instead}", i + 1));
            }
        }
    }
    Ok(())
}
