//! Real programs, fetched by `tests/corpus/fetch.sh`: how much of them becomes automata. Knows no engine.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use proofline_syntax::{Flags, Preprocessor, RealFs, RuccPreprocessor, Severity};

/// A program of the corpus: which files are its units, and how they are compiled.
pub struct Package {
    /// Its folder.
    pub name: &'static str,
    /// Folders of units, or units.
    pub sources: &'static [&'static str],
    /// Compiler flags.
    pub flags: &'static [&'static str],
}

/// What `fetch.sh` fetches when it is not told.
pub const PACKAGES: &[Package] = &[
    Package { name: "lua5.4", sources: &["src"], flags: &["-DLUA_USE_LINUX", "-std=gnu99"] },
    Package { name: "zlib", sources: &["."], flags: &["-D_LARGEFILE64_SOURCE=1", "-DHAVE_HIDDEN"] },
    Package {
        name: "libzstd",
        sources: &["lib/common", "lib/compress", "lib/decompress", "lib/deprecated", "lib/dictBuilder"],
        flags: &["-Ilib", "-Ilib/common", "-DZSTD_MULTITHREAD", "-DZSTD_DISABLE_ASM"],
    },
    Package { name: "cjson", sources: &["cJSON.c", "cJSON_Utils.c"], flags: &[] },
    Package { name: "sqlite3", sources: &["sqlite3.c"], flags: &[] },
];

/// What became of one unit.
pub struct Reading {
    /// Functions with a body that became automata.
    pub functions: BTreeSet<String>,
    /// Functions that are not all there, each with the reason.
    pub listed: Vec<(String, String)>,
    /// Locations and edges of the automata, before obligations.
    pub locations: usize,
    /// Edges.
    pub edges: usize,
    /// Places of which more is assumed possible than is.
    pub approximations: usize,
    /// Processor time from bytes to tokens, to HIR, to automata, to obligations and checked.
    pub times: [Duration; 4],
}

impl Package {
    /// Its units, in order.
    ///
    /// # Errors
    /// They are not there.
    pub fn units(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        for source in self.sources {
            let path = folder.join(self.name).join(source);
            if path.extension().is_some_and(|e| e == "c") {
                out.push(path);
                continue;
            }
            let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut files = Vec::new();
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|e| e == "c") {
                    files.push(path);
                }
            }
            files.sort();
            out.extend(files);
        }
        Ok(out)
    }
}

/// Reads a unit, down to checked automata with obligations.
///
/// # Errors
/// The flags are wrong.
pub fn read(file: &Path, flags: &[&str], directory: &Path) -> Result<Reading> {
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    let (flags, _) = Flags::from_args(&flags, directory)?;
    let mut last = worked();
    let mut lap = || {
        let now = worked();
        let took = now.saturating_sub(last);
        last = now;
        took
    };
    let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(file, &RealFs, &flags));
    let read = lap();
    let hir = proofline_hir::lower(&unit, &flags);
    let understood = lap();
    let (mut program, map) =
        proofline_cfa_build::link(vec![proofline_cfa_build::lower(&hir.module, &hir.map)]);
    let made = lap();
    let mut listed = BTreeSet::new();
    let place = |span: proofline_syntax::Span| {
        let (line, column) = unit.files().line_col(span.file, span.start);
        format!("{}:{}:{}", unit.files().path(span.file).display(), line + 1, column + 1)
    };
    for error in unit.errors().iter().filter(|error| error.severity == Severity::Error) {
        let at = error.span.map(place).unwrap_or_default();
        listed.insert((at, error.message.clone()));
    }
    for error in &hir.errors {
        let of = error.function.map(|name| format!(" in {name}")).unwrap_or_default();
        listed.insert((format!("{}{of}", place(error.span)), error.message.clone()));
    }
    for violation in proofline_hir::verify::module(&hir.module) {
        listed.insert(("HIR".to_owned(), format!("{violation:?}")));
    }
    for function in program.functions.values() {
        let at = map.function(function.name).and_then(|(_, map)| map.name).map(place).unwrap_or_default();
        for (_, what) in &function.unsupported {
            listed.insert((format!("{at} {}", function.name), what.to_string()));
        }
    }
    for (what, of) in &program.unsupported {
        listed.insert((of.to_string(), what.to_string()));
    }
    let functions = program.functions.keys().map(|name| name.as_str().to_owned()).collect();
    let sum =
        |of: fn(&proofline_cfa::Function) -> usize| program.functions.values().map(|f| of(f)).sum::<usize>();
    let (locations, edges) = (sum(|f| f.locations as usize), sum(|f| f.edges.len()));
    let approximations = sum(|f| f.approximations.len());
    let mut defects = proofline_cfa::verify::verify_program(&program);
    proofline_cfa_build::models::apply(&mut program, proofline_cfa_build::models::standard());
    proofline_verifier::checks::insert(&mut program);
    defects.extend(proofline_cfa::verify::verify_program(&program));
    for defect in defects {
        listed.insert((defect.of.to_string(), format!("{:?}: {}", defect.flaw, defect.detail)));
    }
    let checked = lap();
    Ok(Reading {
        functions,
        listed: listed.into_iter().collect(),
        locations,
        edges,
        approximations,
        times: [read, understood, made, checked],
    })
}

/// Processor time of this thread (Linux; elsewhere the clock's), so that what else the machine does makes no difference.
fn worked() -> Duration {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    let beginning = *BEGINNING.get_or_init(Instant::now);
    fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or_else(|| beginning.elapsed(), Duration::from_nanos)
}

/// The functions that gcc finds in a unit: a second opinion on what "every function" means.
///
/// # Errors
/// gcc or nm cannot be run, or refuse the unit.
pub fn defined_for_gcc(file: &Path, flags: &[&str], directory: &Path) -> Result<BTreeSet<String>> {
    let temporary = tempfile::tempdir()?;
    let object = temporary.path().join("unit.o");
    let compiled = Command::new("gcc")
        .args(["-w", "-O0", "-fkeep-static-functions", "-fkeep-inline-functions", "-c", "-o"])
        .arg(&object)
        .args(flags)
        .arg(file)
        .current_dir(directory)
        .output()
        .context("cannot run gcc")?;
    if !compiled.status.success() {
        bail!("gcc: {}", String::from_utf8_lossy(&compiled.stderr).lines().next().unwrap_or_default());
    }
    let listing = Command::new("nm").arg(&object).output().context("cannot run nm")?;
    let functions = String::from_utf8_lossy(&listing.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (kind, name) = (words.next()?, words.next()?);
            // Clones have a dot in their names.
            (matches!(kind, "t" | "T" | "W") && !name.contains('.')).then(|| name.to_owned())
        })
        .collect();
    Ok(functions)
}
