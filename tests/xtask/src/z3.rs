//! Fetches the prebuilt Z3. The version and the hashes are pinned: a library that does not match the bindings answers wrongly
//! without an error.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

/// The version that the bindings of `proofline-smt` are built for.
const VERSION: &str = "4.15.4.0";

/// Puts `lib/` and `include/` of the pinned Z3 into `.z3`, unless they are there.
pub(crate) fn fetch(root: &Path) -> Result<()> {
    let home = root.join(".z3");
    let stamp = home.join("version");
    if fs::read_to_string(&stamp).is_ok_and(|version| version == VERSION) {
        return Ok(());
    }
    let scratch = root.join(".z3.part");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch)?;
    let pins = root.join("tests/xtask/z3-pins.txt");
    eprintln!("fetching Z3 {VERSION} …");
    let status = Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
        ])
        .args(["--require-hashes", "--dest"])
        .arg(&scratch)
        .arg("--requirement")
        .arg(&pins)
        .status()
        .context(
            "cannot run python3\n  help: install Python 3 with pip, or build with `--features vendored-z3`",
        )?;
    ensure!(
        status.success(),
        "pip could not fetch Z3 {VERSION} with the pinned hash\n  help: see the lines above"
    );
    let wheel = fs::read_dir(&scratch)?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .context("pip fetched no wheel")?;
    let status = Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&scratch).status()?;
    ensure!(status.success(), "cannot unpack {}", wheel.display());
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home)?;
    for part in ["lib", "include"] {
        fs::rename(scratch.join("z3").join(part), home.join(part))
            .with_context(|| format!("the wheel has no {part}/"))?;
    }
    fs::write(stamp, VERSION)?;
    fs::remove_dir_all(&scratch)?;
    Ok(())
}
