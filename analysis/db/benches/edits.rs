//! From an edit to all verdicts, for generated libraries of 1, 10 and 100 thousand lines in files of a thousand lines. The edit changes one
//! function that four others reach, or only a comment: what it costs grows with its reach and its file, not with the program.

use std::{hint::black_box, path::PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use proofline_db::Database;
use proofline_verifier::{
    load::Options,
    portfolio::{self, Control, Request, Round},
    property::Property,
};

/// Lines of one function.
const LINES: usize = 10;
/// Functions of one file: each calls the one before it, in groups.
const PER_FILE: usize = 100;
/// Functions of one group.
const GROUP: usize = 5;

fn file(number: usize) -> PathBuf {
    format!("/bench/f{number}.c").into()
}

fn text(number: usize, constant: u64, comment: u64) -> String {
    let mut out = format!("/* {comment} */\n");
    for i in 0..PER_FILE {
        let name = format!("f{number}_{i}");
        let call = if i % GROUP == 0 { "x".to_owned() } else { format!("f{number}_{}(x)", i - 1) };
        // The first function of the first group is the one that changes.
        let k = if i == 0 { constant } else { 3 };
        out.push_str(&format!(
            "int {name}(int x)\n{{\n    int a[8];\n    int s = 0;\n    for (int i = 0; i < 8; i++)\n        a[i] = i + {k};\n    \
             if (x > 0 && x < 8)\n        s = a[x] / x;\n    return s + {call} % 100;\n}}\n"
        ));
    }
    out
}

fn database(files: usize) -> Database {
    let mut db = Database::new((0..files).map(file).collect(), Options::default());
    for number in 0..files {
        db.set_text(&file(number), &text(number, 3, 0));
    }
    db
}

fn check(db: &Database) -> usize {
    let question = Request {
        property: Property::Everything,
        engines: vec!["intervals".into()],
        steps: 100_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    };
    portfolio::check(db, &question, &[], &Control::default()).map_or(0, |report| report.verdicts.len())
}

fn edits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("edit to verdicts");
    group.sample_size(10);
    for files in [1, 10, 100] {
        let mut db = database(files);
        check(&db);
        let lines = files * PER_FILE * LINES;
        let mut next = 4;
        for (what, is_comment) in [("function", false), ("comment", true)] {
            group.bench_function(BenchmarkId::new(what, lines), |bencher| {
                bencher.iter_batched(
                    || {
                        next += 1;
                        if is_comment { text(0, 3, next) } else { text(0, next, 0) }
                    },
                    |text| {
                        db.set_text(&file(0), &text);
                        black_box(check(&db))
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, edits);
criterion_main!(benches);
