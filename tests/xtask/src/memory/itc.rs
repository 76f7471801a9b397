//! The benchmarks of the Toyota InfoTechnology Center: files of small functions, each with an error on a marked line, and beside each file
//! the same without errors. Files are libraries: one function calls all others.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{
    alert::Kind,
    program::{Error, Program},
};

/// Groups, their files, and what their errors are.
const GROUPS: [(&str, &[&str], &[Kind]); 10] = [
    ("static bounds", &["overrun_st", "underrun_st", "littlemem_st"], &[Kind::Bounds, Kind::Library]),
    ("heap bounds", &["buffer_overrun_dynamic", "buffer_underrun_dynamic"], &[Kind::Bounds, Kind::Library]),
    ("lifetime", &["invalid_memory_access", "return_local"], &[Kind::Lifetime, Kind::Library]),
    ("free", &["double_free", "free_nondynamic_allocated_memory"], &[Kind::Free]),
    ("leak", &["memory_leak"], &[Kind::Leak]),
    ("uninitialised", &["uninit_var", "uninit_pointer", "uninit_memory_access"], &[Kind::Uninitialised]),
    ("null", &["null_pointer"], &[Kind::Null, Kind::Library]),
    ("overlap", &["ow_memcpy"], &[Kind::Library, Kind::Bounds]),
    ("arithmetic", &["data_overflow", "data_underflow", "zero_division"], &[Kind::Overflow, Kind::Division]),
    ("shift", &["bit_shift"], &[Kind::Shift]),
];

/// All files of the groups, the wrong and the right ones.
///
/// # Errors
/// If the suite is not there.
pub(super) fn programs(suite: &Path, only: &[String]) -> Result<Vec<Program>> {
    let suite = suite.canonicalize().with_context(|| format!("no folder {}", suite.display()))?;
    let mut programs = Vec::new();
    for (group, files, kinds) in GROUPS {
        for name in files {
            if !only.is_empty() && !only.iter().any(|word| name.contains(word.as_str())) {
                continue;
            }
            let wrong = suite.join("01.w_Defects").join(name).with_extension("c");
            let errors = marks(&wrong)?;
            ensure!(!errors.is_empty(), "{name} has no marks");
            // One name is spelt in two ways.
            let right = [(*name).to_owned(), name.replace("nondynamic", "nondynamically")]
                .map(|name| suite.join("02.wo_Defects").join(name).with_extension("c"));
            let right = right.into_iter().find(|path| path.exists()).context("a file without its twin")?;
            programs.push(program(&suite, group, name, wrong, kinds, errors));
            programs.push(program(&suite, group, name, right, kinds, Vec::new()));
        }
    }
    Ok(programs)
}

fn program(
    suite: &Path,
    group: &str,
    name: &str,
    file: PathBuf,
    kinds: &[Kind],
    errors: Vec<Error>,
) -> Program {
    Program {
        name: name.to_owned(),
        family: group.to_owned(),
        sources: vec![file],
        support: Vec::new(),
        folders: vec![suite.join("include")],
        macros: Vec::new(),
        is_32_bit: false,
        is_whole: false,
        kinds: kinds.to_vec(),
        errors,
        is_leaky: false,
        has_one_error: false,
    }
}

/// Lines with `/*Tool should detect this line as error*/`, or `/*ERROR: …*/`.
fn marks(file: &Path) -> Result<Vec<Error>> {
    let text =
        String::from_utf8_lossy(&fs::read(file).with_context(|| format!("cannot read {}", file.display()))?)
            .into_owned();
    Ok((1u32..)
        .zip(text.lines())
        .filter(|(_, line)| line.contains("Tool should detect") || line.contains("ERROR:"))
        .map(|(line, _)| Error { file: file.to_path_buf(), first: line, last: line })
        .collect())
}
