//! `environment FILE… [-Idir] [-DX]… [-t]`: reads the C files as one program (each `.cfa` file as a program) and says what is known of it before analyses start, and how
//! long that took. `-t` lists where every pointer that is used points. `-m`: only what `main` calls.

use std::{collections::BTreeMap, path::Path, time::Instant};

use proofline_cfa::{Name, Object, Op, Program, text, visit};
use proofline_program_analysis::Environment;
use proofline_syntax::{Flags, Preprocessor, RealFs, RuccPreprocessor};

fn main() {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let says = |option: &str| options.iter().any(|given| given == option);
    let flags: Vec<String> =
        options.iter().filter(|option| !matches!(option.as_str(), "-t" | "-m")).cloned().collect();
    let here = std::env::current_dir().unwrap_or_default();
    let flags = match Flags::from_args(&flags, &here) {
        Ok((flags, _)) => flags,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let mut units = Vec::new();
    for file in &files {
        if file.ends_with(".cfa") {
            match text::parse_program(&std::fs::read_to_string(file).unwrap_or_default()) {
                Ok(program) => measure(file, program, says("-t"), says("-m")),
                Err(error) => eprintln!("{file}: {error}"),
            }
            continue;
        }
        let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(Path::new(file), &RealFs, &flags));
        let hir = proofline_hir::lower(&unit, &flags);
        units.push(proofline_cfa_build::lower(&hir.module, &hir.map));
    }
    if !units.is_empty() {
        let (mut program, _) = proofline_cfa_build::link(units);
        proofline_cfa_build::models::apply(&mut program, proofline_cfa_build::models::standard());
        measure(&files[0], program, says("-t"), says("-m"));
    }
}

fn measure(file: &str, program: Program, list: bool, closed: bool) {
    let start = Instant::now();
    let printed = text::print_program(&program);
    let printing = start.elapsed();
    let same = text::parse_program(&printed).is_ok_and(|read| read == program);
    let reading = start.elapsed() - printing;
    println!("{file}: text {} bytes, printed {printing:?}, read {reading:?}, same: {same}", printed.len());
    let start = Instant::now();
    let defects = proofline_cfa::verify::verify_program(&program);
    println!("  {} defects (checked in {:?})", defects.len(), start.elapsed());
    let mut shown: BTreeMap<proofline_cfa::verify::Flaw, usize> = BTreeMap::new();
    for defect in &defects {
        let count = shown.entry(defect.flaw).or_default();
        *count += 1;
        if *count <= 5 {
            println!("    {defect}");
        }
    }
    let start = Instant::now();
    let environment = if closed {
        Environment::for_entries(program, [Name::new("main")].into())
    } else {
        Environment::new(program)
    };
    let built = start.elapsed();
    let graph = environment.call_graph();
    let largest = graph.components().iter().map(Vec::len).max().unwrap_or(0);
    println!(
        "  environment {built:?}; {} functions, {} components, largest {largest}, escaped {} objects, {} functions",
        environment.program().functions.len(),
        graph.components().len(),
        environment.escaped().len(),
        environment.escaped_functions().len(),
    );
    report(&environment, list);
}

fn report(environment: &Environment, list: bool) {
    let (mut indirect, mut external, mut callees) = (0, 0, 0);
    let (mut loops, mut irreducible) = (0, 0);
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let start = Instant::now();
    for (name, function) in &environment.program().functions {
        if !environment.is_called(*name) {
            continue;
        }
        let structure = environment.structure(*name);
        loops += structure.loops().len();
        irreducible += structure.loops().iter().filter(|found| found.irreducible).count();
        for edge in &function.edges {
            if let Op::Call(call) = &edge.op
                && let proofline_cfa::Callee::Indirect(..) = call.callee
            {
                let found = environment.callees(*name, call);
                indirect += 1;
                external += usize::from(found.may_be_external);
                callees += found.functions.len();
            }
            visit::exprs(&edge.op, &mut |expr| {
                let proofline_cfa::Expr::Load(lvalue) = expr else { return };
                let proofline_cfa::Base::Deref(pointer, _) = &lvalue.base else { return };
                let targets = environment.targets(*name, pointer);
                let class = if targets.objects.contains(&Object::External) {
                    "external"
                } else {
                    match targets.objects.len() {
                        0 => "nowhere",
                        1 => "1",
                        2..=5 => "2-5",
                        6..=50 => "6-50",
                        _ => "more",
                    }
                };
                *sizes.entry(class).or_default() += 1;
                if list {
                    println!("  {name}: {:?} -> {:?}", proofline_cfa::expr_text(function, pointer), targets);
                }
            });
        }
    }
    println!(
        "  {loops} loops ({irreducible} irreducible); {indirect} calls through pointers, {external} may be external, {callees} callees; \
         loads by number of targets {sizes:?} (asked in {:?})",
        start.elapsed()
    );
}
