//! Runs every test of every suite under `tests/suites`. `cargo test -p proofline-suites -- WORDS` runs those whose name holds the words;
//! with `--slowest` it says at the end which took longest.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proofline_suites::{Case, cases, run, snapshot, work_or_employ};

/// How many of the slowest tests are named.
const SHOWN: usize = 60;

fn main() -> ExitCode {
    if let Some(end) = work_or_employ() {
        return end;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let mut tests: Vec<(String, Case)> = Vec::new();
    for file in &files {
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            update(file);
        }
        let text = fs::read_to_string(file).unwrap_or_default();
        let suite = file.strip_prefix(&folder).unwrap_or(file).display().to_string();
        tests.extend(
            cases(&text).into_iter().map(|case| (format!("{suite}:{} {}", case.line, case.name), case)),
        );
    }
    tests.retain(|(name, _)| words.iter().all(|word| name.contains(word.as_str())));
    let failed = Mutex::new(Vec::new());
    let times: Mutex<Vec<(Duration, &str)>> = Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let work = || {
                while let Some((name, case)) =
                    tests.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let begin = Instant::now();
                    let outcome = std::panic::catch_unwind(|| run(case));
                    times.lock().push((begin.elapsed(), name));
                    let fault = match outcome {
                        Ok(Ok(())) => continue,
                        Ok(Err(fault)) => fault,
                        Err(_) => "panicked".to_owned(),
                    };
                    failed.lock().push(format!("{name}\n{fault}\n"));
                }
            };
            // Deeply nested programs need a deep stack.
            let _ = std::thread::Builder::new().stack_size(1 << 28).spawn_scoped(scope, work);
        }
    });
    let mut failed = failed.into_inner();
    failed.sort();
    for fault in &failed {
        println!("FAILED {fault}");
    }
    if std::env::args().any(|word| word == "--slowest") {
        let mut times = times.into_inner();
        times.sort_by(|a, b| b.cmp(a));
        for (time, name) in times.iter().take(SHOWN) {
            println!("{:7.2} s  {name}", time.as_secs_f64());
        }
    }
    println!("{} passed, {} failed", tests.len() - failed.len(), failed.len());
    if failed.is_empty() && (!tests.is_empty() || !words.is_empty()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Rewrites the snapshots of a file, from the last to the first, so that line numbers stay right.
fn update(file: &Path) {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for case in cases(&text).iter().rev() {
        if let (Some(old), Some(new)) = (&case.snapshot, snapshot(case)) {
            lines.splice(old.first..old.last, new.lines().map(str::to_owned));
        }
    }
    let new: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if new != text && fs::write(file, new).is_err() {
        println!("cannot write {}", file.display());
    }
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|e| e.path())) {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "md")
            && path.file_name().is_some_and(|n| n != "README.md")
        {
            out.push(path);
        }
    }
}
