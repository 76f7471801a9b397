//! Calls of closures that rustc gets wrong: its issue 155241, open at version 1.95.
//!
//! A closure receives its arguments as one tuple (`extern "rust-call"`). Where two calls get equal tuples, the compiler makes one of them and passes
//! it twice; a large argument is passed as a pointer into it, and the first closure may change what it points to. So in
//! `is_lost(cell) || is_hidden(cell)` the second closure can see another cell: no `unsafe`, no panic, a wrong answer. The remedy is to pass such
//! arguments by reference. In the compiler's intermediate form these calls have `copy` before their tuple, which is what this chore looks for.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

/// Types that are passed in registers, besides references and primitive ones: the callee gets a value of its own.
const SMALL: &[&str] = &["IntKind", "IntType", "LocalId", "Name", "ObligationId"];

/// Builds the workspace in release mode, with its intermediate form, and looks through it.
///
/// # Errors
/// The places that were found; a build that fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    // At one place, so that a build that was stopped goes on.
    let target = root.join("target/rust-call");
    let wrapper = target.join("rustc");
    fs::create_dir_all(&target)?;
    let script = "#!/bin/sh\ncase \"$*\" in *'--crate-name proofline'*) exec \"$@\" --emit=mir;; *) exec \"$@\";; esac\n";
    fs::write(&wrapper, script)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    let build = Command::new("cargo")
        .args(["build", "--release", "--workspace", "--bin", "proofline", "--target-dir"])
        .arg(&target)
        .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
        .current_dir(root)
        .status()
        .context("cargo does not start")?;
    ensure!(build.success(), "the build fails");
    let (mut looked_at, mut faults) = (0, Vec::new());
    for entry in fs::read_dir(target.join("release/deps"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "mir") {
            looked_at += 1;
            let text = fs::read_to_string(&path)?;
            faults.extend(text.lines().filter(|line| is_shared(line)).map(|line| line.trim().to_owned()));
        }
    }
    // Build folders are kept: an old file would be looked at again.
    fs::remove_dir_all(&target)?;
    ensure!(looked_at > 10, "only {looked_at} crates have been looked at");
    ensure!(faults.is_empty(), "pass the arguments of these closures by reference:\n{}", faults.join("\n"));
    println!("{looked_at} crates: no closure is given a large argument that is used again");
    Ok(())
}

/// Whether a line calls a closure with a tuple that is used again, and that holds something large.
fn is_shared(line: &str) -> bool {
    let Some((_, call)) = line.split_once(" as Fn") else { return false };
    let Some((types, operands)) = call.split_once(">>::call") else { return false };
    let Some((_, last)) = operands.split_once(", ") else { return false };
    let Some((_, tuple)) = types.split_once("<(") else { return false };
    let is_small = |ty: &str| {
        let name = ty.rsplit("::").next().unwrap_or(ty);
        let is_number =
            ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
        ty.starts_with('&')
            || is_number.contains(&name)
            || ["bool", "char"].contains(&name)
            || SMALL.contains(&name)
    };
    let mut types = tuple.trim_end_matches(')').split(", ").map(|ty| ty.trim_end_matches(','));
    last.starts_with("copy ") && !types.all(|ty| ty.is_empty() || is_small(ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_arguments_that_are_used_again_are_faults() {
        let call = |types: &str, operand: &str| {
            is_shared(&format!(
                "        _3 = <{{closure@a.rs:1:2: 3:4}} as Fn<({types})>>::call(move _5, {operand} _4) -> [return: bb1];"
            ))
        };
        assert!(call("variable::Cell,", "copy"));
        assert!(call("usize, Dim", "copy"));
        assert!(!call("Dim,", "move"));
        assert!(!call("usize,", "copy"));
        assert!(!call("proofline_cfa::LocalId, IntType", "copy"));
        assert!(!call("&mut Lowering<'_>,", "copy"));
    }
}
