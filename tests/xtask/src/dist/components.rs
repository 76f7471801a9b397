//! What is inside of the program: the packages that cargo links, with their licences, and the solver.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The solver: it is no package of cargo's.
const SOLVER: (&str, &str, &str) = ("z3", "4.15.4", "MIT");

/// A package that is linked into the program.
pub(super) struct Component {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
}

fn metadata(root: &Path) -> Result<Value> {
    let text = super::tool(
        "0",
        root,
        "cargo",
        &["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"],
    )?;
    serde_json::from_str(&text).context("cargo's metadata is no JSON")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The project's version.
pub(super) fn version(root: &Path) -> Result<String> {
    let metadata = metadata(root)?;
    let own = list(&metadata, "packages").iter().find(|package| text(package, "name") == "proofline");
    Ok(text(own.context("no package `proofline`")?, "version").to_owned())
}

/// The packages of others that are linked into the program, by name. What only builds or tests it is none of them.
pub(super) fn shipped(root: &Path) -> Result<Vec<Component>> {
    let metadata = metadata(root)?;
    let packages: BTreeMap<&str, &Value> =
        list(&metadata, "packages").iter().map(|package| (text(package, "id"), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|node| (text(node, "id"), node)).collect();
    let mut open: Vec<&str> = packages
        .iter()
        .filter(|(_, package)| text(package, "name") == "proofline")
        .map(|(id, _)| *id)
        .collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        // A macro works while the program is built, and is not in it.
        let targets = packages.get(id).map_or(&[][..], |package| list(package, "targets"));
        if targets.iter().any(|target| list(target, "kind").iter().any(|kind| kind == "proc-macro"))
            || !linked.insert(id)
        {
            continue;
        }
        let dependencies = nodes.get(id).map_or(&[][..], |node| list(node, "deps"));
        for dependency in dependencies {
            if list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].is_null()) {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    let mut components: Vec<Component> = linked
        .into_iter()
        .filter_map(|id| packages.get(id))
        .filter(|package| !package["source"].is_null())
        .map(|package| Component {
            name: text(package, "name").to_owned(),
            version: text(package, "version").to_owned(),
            licence: text(package, "license").to_owned(),
            folder: Path::new(text(package, "manifest_path")).parent().unwrap_or(root).to_path_buf(),
        })
        .collect();
    components.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(components)
}

/// All licences, each text once, under the names of those that it is of.
pub(super) fn licences(components: &[Component], solver: &str) -> String {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    texts.entry(solver.trim().to_owned()).or_default().push(format!("{} {}", SOLVER.0, SOLVER.1));
    let mut all = "What is inside of Proofline, and under which licence.\n\n".to_owned();
    all.push_str(&format!("{} {}: {}\n", SOLVER.0, SOLVER.1, SOLVER.2));
    for component in components {
        let name = format!("{} {}", component.name, component.version);
        all.push_str(&format!("{name}: {}\n", component.licence));
        for file in licence_files(&component.folder) {
            let text = String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()).replace('\r', "");
            texts.entry(text.trim().to_owned()).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        all.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(79), names.join(", ")));
    }
    all
}

fn licence_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            path.is_file()
                && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
                    .iter()
                    .any(|word| name.starts_with(word))
        })
        .collect();
    files.sort();
    files
}

/// The bill of materials, as CycloneDX 1.5.
pub(super) fn bill_of_materials(version: &str, components: &[Component]) -> Result<String> {
    let solver = json!({
        "type": "library", "name": SOLVER.0, "version": SOLVER.1,
        "licenses": [{ "expression": SOLVER.2 }], "purl": format!("pkg:github/z3prover/z3@z3-{}", SOLVER.1),
    });
    let others = components.iter().map(|component| {
        json!({
            "type": "library", "name": component.name, "version": component.version,
            "licenses": [{ "expression": component.licence.replace('/', " OR ") }],
            "purl": format!("pkg:cargo/{}@{}", component.name, component.version),
        })
    });
    let bill = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": {
            "type": "application", "name": "proofline", "version": version,
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": std::iter::once(solver).chain(others).collect::<Vec<Value>>(),
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}
