//! Names the engines by their sources, so that answers on the disk are found only by the program that would give the same ones.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let analysis = here.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut files = Vec::new();
    // Every crate below this one, so that a new one cannot be forgotten; what is above asks and decides nothing.
    for layer in folders(&analysis).into_iter().filter(|layer| !layer.ends_with("ide")) {
        for folder in [layer.join("src"), layer.join("models")].into_iter().filter(|folder| folder.is_dir()) {
            println!("cargo::rerun-if-changed={}", folder.display());
            collect(&folder, &mut files);
        }
    }
    let lock = analysis.join("../Cargo.lock");
    if lock.exists() {
        println!("cargo::rerun-if-changed={}", lock.display());
        files.push(lock);
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let content = fs::read(&file).unwrap_or_default();
        hasher.update(&(content.len() as u64).to_le_bytes());
        hasher.update(&content);
    }
    println!("cargo::rustc-env=PROOFLINE_ENGINES={}", hasher.finalize().to_hex());
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(of) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_dir()).collect()
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.is_dir() { collect(&path, out) } else { out.push(path) }
    }
}
