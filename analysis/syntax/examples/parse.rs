//! Parses files and counts what was not understood: `parse [FLAGS…] FILE…`. For measuring.

use std::path::Path;
use std::time::Instant;

use proofline_syntax::{Flags, Preprocessor, RealFs, RuccPreprocessor, Severity, parse};

fn main() {
    let (mut args, mut files) = (Vec::new(), Vec::new());
    for arg in std::env::args().skip(1) {
        if arg.starts_with('-') { args.push(arg) } else { files.push(arg) }
    }
    let verbose = args.iter().any(|arg| arg == "-v");
    let (flags, warnings) = Flags::from_args(&args, Path::new("")).expect("usable flags");
    for warning in warnings {
        eprintln!("{}: {}", warning.flag, warning.message);
    }
    for file in files {
        let start = Instant::now();
        let pre = RuccPreprocessor.preprocess(Path::new(&file), &RealFs, &flags);
        let (tokens, preprocessed) = (pre.tokens.len(), start.elapsed());
        let unit = parse(pre);
        let total = start.elapsed();
        let errors = unit.errors().iter().filter(|error| error.severity == Severity::Error).count();
        println!(
            "{file}: {tokens} tokens, {errors} errors, {preprocessed:.1?} + {:.1?}",
            total - preprocessed
        );
        for error in unit.errors() {
            let place = error.span.map_or(String::new(), |span| {
                let (line, col) = unit.files().line_col(span.file, span.start);
                format!("{}:{}:{}: ", unit.files().path(span.file).display(), line + 1, col + 1)
            });
            println!("  {place}{:?}: {}", error.severity, error.message);
        }
        if verbose {
            println!("{}\n{}", unit.text(), unit.root().to_sexp());
        }
    }
}
