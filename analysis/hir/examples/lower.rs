//! Lowers files and counts functions, records and what was not understood: `lower [FLAGS…] FILE…`. For measuring;
//! `-v` prints the errors of the HIR, `-t` the units, `-p` the HIR.

use std::{path::Path, time::Instant};

use proofline_hir::{
    body::{ExprKind, Stmt},
    lower,
};
use proofline_syntax::{Flags, Preprocessor, RealFs, RuccPreprocessor, Severity, SourceFiles, Span, parse};

fn main() {
    let (mut args, mut files, mut verbose, mut text) = (Vec::new(), Vec::new(), false, false);
    let mut print = false;
    for arg in std::env::args().skip(1) {
        match arg.as_str() {
            "-v" => verbose = true,
            "-t" => text = true,
            "-p" => print = true,
            _ if arg.starts_with('-') => args.push(arg),
            _ => files.push(arg),
        }
    }
    let (flags, _) = Flags::from_args(&args, Path::new("")).expect("usable flags");
    let mut sums = [0usize; 5];
    for file in &files {
        let start = Instant::now();
        let unit = parse(RuccPreprocessor.preprocess(Path::new(file), &RealFs, &flags));
        let parsed = start.elapsed();
        let lowered = lower(&unit, &flags);
        let total = start.elapsed();
        let bodies: Vec<_> = lowered.module.functions.iter().filter_map(|f| f.body.as_ref()).collect();
        let unsupported =
            bodies.iter().filter(|b| b.stmts.iter().any(|s| matches!(s, Stmt::Unsupported(_)))).count();
        let unmodelled = bodies
            .iter()
            .filter(|b| b.exprs.iter().any(|e| matches!(e.kind, ExprKind::Unmodelled(..))))
            .count();
        let syntax = unit.errors().iter().filter(|e| e.severity == Severity::Error);
        let counts = [bodies.len(), unsupported, unmodelled, syntax.clone().count(), lowered.errors.len()];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        println!("{file}: {} ({parsed:.0?} + {:.0?})", line(counts), total - parsed);
        for error in syntax {
            println!("  {}{}", place(unit.files(), error.span), error.message);
        }
        if verbose {
            for error in &lowered.errors {
                println!("  {}{}", place(unit.files(), Some(error.span)), error.message);
            }
        }
        if text {
            println!("{}", unit.text());
        }
        for violation in proofline_hir::verify::module(&lowered.module) {
            println!("  VIOLATION in {}: {}", violation.owner, violation.what);
        }
        if print {
            println!("{}", proofline_hir::print::module(&lowered.module));
        }
    }
    println!("sum: {}", line(sums));
}

fn line([bodies, unsupported, unmodelled, syntax, errors]: [usize; 5]) -> String {
    format!(
        "{bodies} bodies, {unsupported} with unsupported statements, {unmodelled} with unmodelled expressions, \
         {syntax} syntax errors, {errors} errors"
    )
}

fn place(files: &SourceFiles, span: Option<Span>) -> String {
    span.map_or_else(String::new, |span| {
        let (line, column) = files.line_col(span.file, span.start);
        format!("{}:{}:{}: ", files.path(span.file).display(), line + 1, column + 1)
    })
}
