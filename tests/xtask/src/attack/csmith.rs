//! Programs of csmith [YCER11], by seed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// Small programs: of the usual ones of a thousand lines a minute of processor time decides few.
const SMALL: [&str; 11] = [
    "--no-argc",
    "--concise",
    "--max-funcs",
    "3",
    "--max-block-size",
    "3",
    "--max-block-depth",
    "3",
    "--max-expr-complexity",
    "5",
    "--quiet",
];

/// The programs with these seeds; those that are not in the folder yet are generated.
///
/// # Errors
/// If there is no csmith, or the folder cannot be written.
pub(super) fn generate(folder: &Path, seeds: &str) -> Result<Vec<PathBuf>> {
    let (from, to) = seeds.split_once("..").context("seeds are `A..B`")?;
    fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    for seed in from.parse::<u64>()?..to.parse::<u64>()? {
        let file = folder.join(format!("{seed:06}.c"));
        if !file.exists() {
            // It leaves a file about the machine where it runs.
            let seed = seed.to_string();
            let output =
                Command::new("csmith").args(SMALL).args(["--seed", &seed]).current_dir(folder).output();
            let output = output.context("cannot run csmith")?;
            ensure!(output.status.success(), "csmith fails with seed {seed}");
            fs::write(&file, &output.stdout)?;
        }
        files.push(file);
    }
    Ok(files)
}
