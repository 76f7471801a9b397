//! The Juliet test suite: small programs with one weakness each, in many ways of flow, and beside each the same without it. The mark
//! is a comment with the word `FLAW` before the line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{
    alert::Kind,
    program::{Error, Program},
};

/// The families, and what their errors are.
const FAMILIES: [(&str, &[Kind]); 16] = [
    ("CWE121", &[Kind::Bounds, Kind::Library]),
    ("CWE122", &[Kind::Bounds, Kind::Library]),
    ("CWE124", &[Kind::Bounds, Kind::Library]),
    ("CWE126", &[Kind::Bounds, Kind::Library]),
    ("CWE127", &[Kind::Bounds, Kind::Library]),
    ("CWE190", &[Kind::Overflow]),
    ("CWE191", &[Kind::Overflow]),
    ("CWE369", &[Kind::Division, Kind::Overflow]),
    ("CWE401", &[Kind::Leak]),
    ("CWE415", &[Kind::Free]),
    ("CWE416", &[Kind::Lifetime, Kind::Library]),
    ("CWE457", &[Kind::Uninitialised]),
    ("CWE476", &[Kind::Null, Kind::Library]),
    ("CWE590", &[Kind::Free]),
    ("CWE680", &[Kind::Bounds, Kind::Library]),
    ("CWE690", &[Kind::Null, Kind::Library]),
];

/// What is defined in C whatever the suite says: unsigned arithmetic, and conversions to narrow types.
const DEFINED: [&str; 3] = ["__unsigned_int_", "__char_", "__short_"];

/// How many lines after a mark belong to it.
const REACH: u32 = 6;

/// A case: the files of one name, and which way of flow it is.
struct Case {
    name: String,
    weakness: String,
    variant: u32,
    files: Vec<PathBuf>,
}

/// So many cases of each family, of all ways of flow in turn; of each the wrong program and the right one.
///
/// # Errors
/// If the suite is not there.
pub(super) fn sample(suite: &Path, cases: usize, seed: u64, only: &[String]) -> Result<Vec<Program>> {
    let suite = suite.canonicalize().with_context(|| format!("no folder {}", suite.display()))?;
    let mut programs = Vec::new();
    for (place, (family, kinds)) in FAMILIES.iter().enumerate() {
        let folder = fs::read_dir(suite.join("testcases"))?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .find(|path| {
                path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&format!("{family}_")))
            });
        let Some(folder) = folder else { continue };
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        for case in choose(group(files), cases, seed, place * cases) {
            if only.is_empty() || only.iter().any(|word| case.name.contains(word.as_str())) {
                programs.push(case.program(&suite, family, kinds, true)?);
                programs.push(case.program(&suite, family, kinds, false)?);
            }
        }
    }
    ensure!(!programs.is_empty(), "no cases in {}", suite.display());
    Ok(programs)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Cases in C that do not need another system, by name.
fn group(files: Vec<PathBuf>) -> Vec<Case> {
    let mut cases: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.trim_end_matches(|c: char| c.is_ascii_lowercase());
        if name.contains("__") {
            cases.entry(name.to_owned()).or_default().push(file);
        }
    }
    let mut out = Vec::new();
    for (name, mut files) in cases {
        let is_c = files.iter().all(|file| file.extension().is_some_and(|e| e == "c"));
        let Some((weakness, variant)) = name.rsplit_once('_') else { continue };
        let is_arithmetic = name.starts_with("CWE190") || name.starts_with("CWE191");
        let is_defined = is_arithmetic && DEFINED.iter().any(|word| name.contains(word));
        // In these ways of flow a static object still refers to the memory when the program ends: it is not lost.
        let is_kept = name.starts_with("CWE401") && ["45", "68"].contains(&variant);
        if let Ok(variant) = variant.parse()
            && is_c
            && !is_defined
            && !is_kept
            && !name.contains("w32")
        {
            files.sort();
            out.push(Case { weakness: weakness.to_owned(), variant, files, name });
        }
    }
    out
}

/// Takes ways of flow in turn, beginning at one of them; of each the case whose weakness was taken least often.
fn choose(mut cases: Vec<Case>, count: usize, seed: u64, from: usize) -> Vec<Case> {
    cases.sort_by_key(|case| hash(seed, &case.name));
    let mut variants: Vec<u32> = cases.iter().map(|case| case.variant).collect();
    variants.sort_unstable();
    variants.dedup();
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    for turn in from.. {
        if chosen.len() >= count || cases.is_empty() || turn > from + 50 * count {
            break;
        }
        let Some(&variant) = variants.get(turn % variants.len().max(1)) else { break };
        let best = (0..cases.len())
            .filter(|&at| cases[at].variant == variant)
            .min_by_key(|&at| taken.get(&cases[at].weakness).copied().unwrap_or(0));
        if let Some(at) = best {
            let case = cases.remove(at);
            *taken.entry(case.weakness.clone()).or_default() += 1;
            chosen.push(case);
        }
    }
    chosen
}

/// FNV-1a with the bits mixed, so that seeds give other orders.
fn hash(seed: u64, text: &str) -> u64 {
    let sum =
        text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    (sum ^ sum >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Case {
    fn program(&self, suite: &Path, family: &str, kinds: &[Kind], is_wrong: bool) -> Result<Program> {
        let mut errors = Vec::new();
        if is_wrong {
            for file in &self.files {
                errors.extend(marks(file)?);
            }
            ensure!(!errors.is_empty(), "{} has no mark", self.name);
        }
        let mut is_leaky = false;
        for file in &self.files {
            is_leaky |= is_marked_leaky(file)?;
        }
        Ok(Program {
            is_leaky: is_leaky && !kinds.contains(&Kind::Leak),
            name: self.name.clone(),
            family: family.to_owned(),
            sources: self.files.clone(),
            support: vec![suite.join("testcasesupport/io.c")],
            folders: vec![suite.join("testcasesupport")],
            macros: vec!["INCLUDEMAIN".into(), if is_wrong { "OMITGOOD" } else { "OMITBAD" }.into()],
            // The size of a pointer instead of that of what is there, and products in a wide `size_t`, fit on 64 bits.
            is_32_bit: family == "CWE680" || self.name.contains("__sizeof_"),
            is_whole: true,
            kinds: kinds.to_vec(),
            errors,
            has_one_error: true,
        })
    }
}

/// Whether a comment says that memory is lost besides: `INCIDENTAL CWE-401: Memory Leak`.
fn is_marked_leaky(file: &Path) -> Result<bool> {
    let text = String::from_utf8_lossy(&fs::read(file)?).to_lowercase();
    Ok(text.lines().any(|line| line.contains("incidental") && line.contains("memory leak")))
}

/// The marks outside of what the right program has.
fn marks(file: &Path) -> Result<Vec<Error>> {
    let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    let mut is_good = false;
    let mut errors = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if line.contains("#ifndef OMITGOOD") {
            is_good = true;
        } else if line.contains("#endif /* OMITGOOD") {
            is_good = false;
        } else if !is_good && line.contains("FLAW") {
            errors.push(Error { file: file.to_path_buf(), first: number, last: number + REACH });
        }
    }
    Ok(errors)
}
