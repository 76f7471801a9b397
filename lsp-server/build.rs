//! Makes the table of the checks' pages: `tests/suites/checks/CODE.md` is the page of the check CODE.

use std::{env, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../tests/suites/checks");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            println!("cargo::rerun-if-changed={}", path.display());
            entries.push((code, fs::read_to_string(&path)?));
        }
    }
    entries.sort();
    let out = Path::new(&env::var("OUT_DIR")?).join("pages.rs");
    // A list of string literals reads the same as `Debug` of strings.
    fs::write(out, format!("{entries:?}"))?;
    Ok(())
}
