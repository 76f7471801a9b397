//! Replays the commits of one C file through one query graph: after each the verdicts must be those of a fresh process, and those of a
//! process that has only the disk. `cargo run -p proofline-db --example replay -- GIT-DIRECTORY FILE.c [ENGINES [STEPS [MOST]]]`; the
//! file's includes are found in the same repository. Says per commit what was done and how long it took.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use proofline_db::{Database, Store, Work};
use proofline_verifier::{
    load::Options,
    portfolio::{self, Control, Request, Round},
    property::Property,
    report::Report,
};

/// Where the files seem to lie.
const ROOT: &str = "/replay";

fn git(directory: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--git-dir").arg(directory).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file and every header of a commit.
fn texts(directory: &str, commit: &str, file: &str) -> BTreeMap<PathBuf, String> {
    let names = git(directory, &["ls-tree", "-r", "--name-only", commit]).unwrap_or_default();
    let wanted = names.lines().filter(|name| *name == file || name.ends_with(".h"));
    let text = |name: &str| {
        let text = git(directory, &["show", &format!("{commit}:{name}")])?;
        Some((Path::new(ROOT).join(name), text))
    };
    wanted.filter_map(text).collect()
}

struct Replay {
    unit: PathBuf,
    options: Options,
    question: Request,
}

impl Replay {
    fn database(&self, texts: &BTreeMap<PathBuf, String>) -> Database {
        let mut db = Database::new(vec![self.unit.clone()], self.options.clone());
        for (path, text) in texts {
            db.set_text(path, text);
        }
        db
    }

    fn ask(&self, db: &Database) -> (Option<Report>, Duration) {
        let start = Instant::now();
        (portfolio::check(db, &self.question, &[], &Control::default()).ok(), start.elapsed())
    }
}

/// Entries verified, entries found on the disk, functions explored, functions whose blocks were known.
fn work(db: &Database) -> [usize; 4] {
    let mut counts = [0; 4];
    for work in db.take_work() {
        match work {
            Work::Verified(_) => counts[0] += 1,
            Work::Recalled(_) | Work::Confirmed(_) => counts[1] += 1,
            Work::Rechecked(_) => counts[2] += 1,
            Work::Reused(_) => counts[3] += 1,
            Work::Read(_) | Work::Linked | Work::Sliced(_) | Work::Refused(_) | Work::Explained(_) => {}
        }
    }
    counts
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, file, rest @ ..] = &arguments[..] else {
        eprintln!("replay GIT-DIRECTORY FILE.c [ENGINES [STEPS [MOST]]]");
        return ExitCode::FAILURE;
    };
    let number = |at: usize, usual: u64| rest.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let engines = rest.first().map_or("intervals", String::as_str).split(',').map(str::to_owned).collect();
    let unit = Path::new(ROOT).join(file);
    let folder = unit.parent().unwrap_or(Path::new(ROOT)).display().to_string();
    let replay = Replay {
        options: Options { flags: vec![format!("-I{ROOT}"), format!("-I{folder}")], ..Options::default() },
        question: Request {
            property: Property::Everything,
            engines,
            steps: number(1, 20_000),
            first_only: false,
            round: Round::default(),
            under: std::sync::Arc::default(),
        },
        unit,
    };
    let Some(log) = git(directory, &["log", "--reverse", "--format=%H", "--", file]) else {
        eprintln!("no history of {file} in {directory}");
        return ExitCode::FAILURE;
    };
    let Ok(disk) = tempfile::tempdir() else {
        eprintln!("no folder for the disk's answers");
        return ExitCode::FAILURE;
    };
    let mut db: Option<(Database, BTreeMap<PathBuf, String>)> = None;
    let (mut commits, mut different, mut verdicts) = (0, 0, 0);
    let (mut total, mut needed) = ([0; 4], [0; 4]);
    let mut times = [Duration::ZERO; 3];
    for commit in log.lines().take(number(2, u64::MAX) as usize) {
        let texts = texts(directory, commit, file);
        if !texts.contains_key(&replay.unit) {
            continue;
        }
        let db = match &mut db {
            None => &db.insert((replay.database(&texts), texts.clone())).0,
            Some((db, before)) => {
                for (path, text) in &texts {
                    if before.get(path) != Some(text) {
                        db.set_text(path, text);
                    }
                }
                for path in before.keys().filter(|path| !texts.contains_key(*path)) {
                    db.set_text(path, "#error this file is not there any more\n");
                }
                *before = texts.clone();
                db
            }
        };
        let (incremental, time) = replay.ask(db);
        let done = work(db);
        let fresh = replay.database(&texts);
        let (expected, fresh_time) = replay.ask(&fresh);
        let all = work(&fresh);
        let mut stored = replay.database(&texts);
        stored.set_store(Store::new(disk.path(), 1 << 26));
        let (from_disk, disk_time) = replay.ask(&stored);
        stored.save();
        let seen = |report: &Option<Report>| report.as_ref().map(|report| report.verdicts.clone());
        let is_same = seen(&incremental) == seen(&expected) && seen(&from_disk) == seen(&expected);
        commits += 1;
        different += usize::from(!is_same);
        verdicts += expected.as_ref().map_or(0, |report| report.verdicts.len());
        for (sum, one) in total.iter_mut().zip(done).chain(needed.iter_mut().zip(all)) {
            *sum += one;
        }
        for (sum, one) in times.iter_mut().zip([time, fresh_time, disk_time]) {
            *sum += one;
        }
        println!(
            "{} {}: {} of {} entries, {} of {} functions, {:.3} s; fresh {:.3} s; disk {:.3} s",
            &commit[..10.min(commit.len())],
            if is_same { "same" } else { "DIFFERENT" },
            done[0],
            all[0],
            done[2],
            all[2] + all[3],
            time.as_secs_f64(),
            fresh_time.as_secs_f64(),
            disk_time.as_secs_f64(),
        );
    }
    println!(
        "{file}: {commits} commits, {different} different, {verdicts} verdicts; entries {} of {}, functions {} of {}; \
         incremental {:.2} s, fresh {:.2} s, disk {:.2} s",
        total[0],
        needed[0],
        total[2],
        needed[2] + needed[3],
        times[0].as_secs_f64(),
        times[1].as_secs_f64(),
        times[2].as_secs_f64(),
    );
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
