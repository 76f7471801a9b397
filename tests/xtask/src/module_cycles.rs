//! Cycles between the modules of one crate, read off the sources: paths of `use` declarations and inline paths, names followed through
//! re-exports to the module that defines them. Two modules may know each other; more than two in a circle have no order in which they
//! can be understood. Knows no types: what a method call leads to is not seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Result, ensure};

/// Modules of these crates are looked at.
const CRATES: &[&str] = &["analysis/cpa", "analysis/db", "analysis/ide", "analysis/smt"];

/// Most modules that may depend on one another in a circle.
const LARGEST: usize = 2;

/// The path of a module or name: the segments after `crate`.
type ModulePath = Vec<String>;

/// Lists circles that are too large.
pub(crate) fn run(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for name in CRATES {
        for circle in Crate::read(&root.join(name).join("src"))?.circles() {
            if circle.len() > LARGEST {
                faults.push(format!("{name}: these modules depend on one another: {}", circle.join(", ")));
            }
        }
    }
    Ok(())
}

/// The modules of a crate, with what each names.
#[derive(Default)]
struct Crate {
    /// Texts without comments, literals and tests.
    texts: BTreeMap<ModulePath, String>,
    /// Re-exported names of each module with what they stand for; `*` for all of a module.
    exports: BTreeMap<ModulePath, Vec<(String, ModulePath)>>,
    /// Paths that a module names, from the crate's root.
    named: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

impl Crate {
    fn read(source: &Path) -> Result<Crate> {
        let mut found = Crate::default();
        found.files(source, &Vec::new())?;
        ensure!(!found.texts.is_empty(), "no modules in {}", source.display());
        let modules: Vec<ModulePath> = found.texts.keys().cloned().collect();
        for module in modules {
            found.names(&module);
        }
        Ok(found)
    }

    fn files(&mut self, folder: &Path, parent: &ModulePath) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut module = parent.clone();
            if !matches!(stem.as_str(), "lib" | "main" | "mod") {
                module.push(stem);
            }
            if path.is_dir() {
                self.files(&path, &module)?;
            } else if path.extension().is_some_and(|e| e == "rs") {
                self.texts.insert(module, code(&fs::read_to_string(&path)?));
            }
        }
        Ok(())
    }

    /// Collects what a module names and what it re-exports.
    fn names(&mut self, module: &ModulePath) {
        let mut rest = self.texts[module].clone();
        let (mut named, mut exports) = (BTreeSet::new(), Vec::new());
        while let Some((start, end)) = use_declaration(&rest) {
            let declaration = rest[start..end].to_owned();
            let (visibility, tree) = declaration.split_once("use ").unwrap_or_default();
            let mut leaves = Vec::new();
            expand(tree.trim_end_matches(';').trim(), &Vec::new(), &mut leaves);
            for (path, alias) in leaves {
                let Some(path) = self.absolute(module, &path) else { continue };
                if visibility.contains("pub") {
                    exports.push((alias, path));
                } else {
                    named.insert(path);
                }
            }
            rest.replace_range(start..end, " ");
        }
        for path in inline_paths(&rest) {
            named.extend(self.absolute(module, &path));
        }
        self.exports.insert(module.clone(), exports);
        self.named.insert(module.clone(), named);
    }

    /// A path from the crate's root; `None` if it leads to another crate or is no path of modules.
    fn absolute(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let (mut from, mut at) = (module.clone(), 0);
        match path.first()?.as_str() {
            "crate" => (from, at) = (Vec::new(), 1),
            "self" => at = 1,
            "super" => {}
            // A child, by its name alone.
            first => {
                from.push(first.to_owned());
                self.texts.get(&from)?;
                at = 1;
            }
        }
        while path.get(at).is_some_and(|segment| segment == "super") {
            from.pop()?;
            at += 1;
        }
        from.extend_from_slice(&path[at..]);
        Some(from)
    }

    /// The module that defines what a path names.
    fn definition(&self, path: &[String], depth: usize) -> ModulePath {
        let mut module = Vec::new();
        for (at, segment) in path.iter().enumerate() {
            module.push(segment.clone());
            if self.texts.contains_key(&module) {
                continue;
            }
            module.pop();
            let exports = self.exports.get(&module).map_or(&[][..], Vec::as_slice);
            if depth > 0
                && let Some((_, target)) = exports.iter().find(|(name, _)| name == segment)
            {
                return self.definition(&[target.as_slice(), &path[at + 1..]].concat(), depth - 1);
            }
            break;
        }
        module
    }

    /// Modules that depend on one another, directly or not, in groups.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut reached: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (module, named) in &self.named {
            let targets = named.iter().map(|path| self.definition(path, 8));
            reached.insert(module, targets.filter(|target| target != module).collect());
        }
        // The crates have a hundred modules at most: following arrows until nothing is new is quick enough.
        loop {
            let before: usize = reached.values().map(BTreeSet::len).sum();
            for module in self.named.keys() {
                let next: Vec<ModulePath> =
                    reached[module].iter().filter_map(|to| reached.get(to)).flatten().cloned().collect();
                if let Some(all) = reached.get_mut(module) {
                    all.extend(next);
                }
            }
            if reached.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for module in self.named.keys().filter(|module| reached[module].contains(*module)) {
            let members =
                reached[module].iter().filter(|to| reached.get(to).is_some_and(|r| r.contains(module)));
            circles.insert(
                members.map(|member| [&["crate".to_owned()][..], member].concat().join("::")).collect(),
            );
        }
        circles.into_iter().collect()
    }
}

/// The first `use` declaration of a text, with its visibility.
fn use_declaration(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find("use ").map(|at| at + from) {
        let before = text[..found].trim_end();
        let start = ["pub(crate)", "pub(super)", "pub"]
            .iter()
            .find(|word| before.ends_with(**word))
            .map_or(found, |word| before.len() - word.len());
        let stands_first =
            text[..start].trim_end().ends_with([';', '}', '{', ']']) || text[..start].trim().is_empty();
        if stands_first && let Some(end) = text[found..].find(';') {
            return Some((start, found + end + 1));
        }
        from = found + 4;
    }
    None
}

/// The leaves of a `use` tree: path, and the name under which it is known then.
fn expand(tree: &str, prefix: &[String], out: &mut Vec<(ModulePath, String)>) {
    let tree = tree.trim();
    if let Some(at) = tree.find('{') {
        let mut prefix = prefix.to_vec();
        prefix
            .extend(tree[..at].split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        let inner = &tree[at + 1..tree.rfind('}').unwrap_or(tree.len())];
        let (mut depth, mut start) = (0, 0);
        for (i, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&inner[start..i], &prefix, out);
                    start = i + 1;
                }
                _ => {}
            }
        }
        return expand(&inner[start..], &prefix, out);
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let mut all = prefix.to_vec();
    all.extend(path.split("::").map(|part| part.trim().to_owned()).filter(|part| part != "self"));
    let name =
        if alias.is_empty() { all.last().cloned().unwrap_or_default() } else { alias.trim().to_owned() };
    if path.trim() == "self" && prefix.is_empty() {
        return;
    }
    out.push((all, name));
}

/// Paths of at least two segments.
fn inline_paths(text: &str) -> Vec<ModulePath> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    text.split(|c: char| !is_part(c))
        .filter(|word| word.contains("::"))
        .map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect())
        .filter(|path: &ModulePath| path.len() > 1)
        .collect()
}

/// A text without comments, literals and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut in_string, mut escaped) = (false, false);
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_string => escaped = true,
                '"' => in_string = !in_string,
                _ if in_string => {}
                '/' if characters.peek() == Some(&'/') => break,
                c => out.push(c),
            }
        }
        out.push('\n');
    }
    out
}
