//! `automata [-v] [-p] FILE… [-Idir] [-DX]…`: reads each file as a unit of its own and says how much of it became automata. `-p`
//! prints the automata, `-v` lists approximations; `-l` applies the library models.

use std::{collections::BTreeMap, path::Path, time::Instant};

use proofline_cfa::{Name, text};
use proofline_syntax::{Flags, Preprocessor, RealFs, RuccPreprocessor};

fn main() {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let is_own = |option: &String| matches!(option.as_str(), "-v" | "-p" | "-l" | "-q");
    let says = |option: &str| options.iter().any(|given| given == option);
    let flags: Vec<String> = options.iter().filter(|option| !is_own(option)).cloned().collect();
    let here = std::env::current_dir().unwrap_or_default();
    let flags = match Flags::from_args(&flags, &here) {
        Ok((flags, _)) => flags,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let (mut functions, mut listed) = (0, 0);
    for file in &files {
        let start = Instant::now();
        let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(Path::new(file), &RealFs, &flags));
        for error in unit.errors().iter().take(5) {
            eprintln!("{file}: syntax: {}", error.message);
        }
        let read = start.elapsed();
        let hir = proofline_hir::lower(&unit, &flags);
        for error in hir.errors.iter().take(5) {
            let (line, column) = unit.files().line_col(error.span.file, error.span.start);
            let path = unit.files().path(error.span.file).display();
            eprintln!("{path}:{}:{}: {}", line + 1, column + 1, error.message);
        }
        let understood = start.elapsed();
        let lowered = proofline_cfa_build::lower(&hir.module, &hir.map);
        let made = start.elapsed();
        let (mut program, map) = proofline_cfa_build::link(vec![lowered]);
        if says("-l") {
            proofline_cfa_build::models::apply(&mut program, proofline_cfa_build::models::standard());
        }
        if says("-p") {
            print!("{}", text::print_program(&program));
        }
        let mut whats: BTreeMap<Name, usize> = BTreeMap::new();
        let (mut edges, mut locations, bad) = (0, 0, 0);
        for function in program.functions.values() {
            edges += function.edges.len();
            locations += function.locations as usize;
            functions += 1;
            for approximation in &function.approximations {
                *whats.entry(approximation.what).or_default() += 1;
            }
            let reasons: Vec<String> =
                function.unsupported.iter().map(|(loc, what)| format!("{loc}: {what}")).collect();
            if !reasons.is_empty() {
                listed += 1;
                let span = map.function(function.name).and_then(|(_, map)| map.name);
                let line = span.map_or(0, |span| unit.files().line_col(span.file, span.start).0 + 1);
                eprintln!("{file}:{line}: {}: {}", function.name, reasons.join("; "));
            }
        }
        if !says("-q") {
            eprintln!(
                "{file}: {} functions, {} globals, {locations} locations, {edges} edges, {bad} refused; \
                 {read:.0?} + {:.0?} + {:.0?}",
                program.functions.len(),
                program.globals.len(),
                understood - read,
                made - understood
            );
        }
        if says("-v") {
            for (what, count) in whats {
                eprintln!("  {count:6} {what}");
            }
            for (function, what) in &program.unsupported {
                eprintln!("  unsupported: {what} in {function}");
            }
        }
    }
    println!("{functions} functions, {listed} listed");
}
