//! Every test of the suites with edits; see `proofline_suites::edit`. `PROOFLINE_SESSIONS` asks for more edits of each.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use proofline_suites::{Case, cases, edit, work_or_employ};

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            out.push(path);
        }
    }
}

/// Edited suites recall what computing gives.
fn main() -> ExitCode {
    if let Some(end) = work_or_employ() {
        return end;
    }
    let most = std::env::var("PROOFLINE_SESSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let mut tests: Vec<(String, Case)> = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("readable");
        let suite = file.strip_prefix(&folder).unwrap_or(file).display().to_string();
        tests.extend(cases(&text).into_iter().map(|case| (format!("{suite}:{}", case.line), case)));
    }
    assert!(!tests.is_empty(), "there are suites");
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let work = || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, case)) = tests.get(at) else { break };
                    if let Err(fault) = edit(case, at, most) {
                        faults.lock().push(format!("{name} {fault}"));
                    }
                }
            };
            // Deeply nested programs need a deep stack.
            std::thread::Builder::new().stack_size(1 << 28).spawn_scoped(scope, work).expect("a thread");
        }
    });
    let mut faults = faults.into_inner();
    faults.sort();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    ExitCode::SUCCESS
}
