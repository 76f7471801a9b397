//! From C text to programs, for tests.

#![expect(dead_code, reason = "each test file uses a part of it")]

use std::path::Path;

use proofline_cfa::{Function, Name, Program, text};
use proofline_cfa_build::{ProgramMap, models};
use proofline_syntax::{Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor};

/// Lowers and links texts without applying models.
pub(crate) fn linked(texts: &[&str]) -> (Program, ProgramMap) {
    let units = texts.iter().enumerate().map(|(number, code)| {
        let name = format!("{}.c", char::from(b'a' + number as u8));
        let mut fs = OverlayFs::new(NoFs);
        fs.insert(&name, code.as_bytes().to_vec());
        let flags = Flags::default();
        let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(Path::new(&name), &fs, &flags));
        assert!(unit.errors().is_empty(), "{:?}", unit.errors());
        let hir = proofline_hir::lower(&unit, &flags);
        assert!(hir.errors.is_empty(), "{:?}", hir.errors);
        let (mut unit, map) = proofline_cfa_build::lower(&hir.module, &hir.map);
        unit.file = Some(Name::new(&name));
        (unit, map)
    });
    proofline_cfa_build::link(units.collect())
}

pub(crate) fn program(texts: &[&str]) -> Program {
    linked(texts).0
}

/// With the library models applied.
pub(crate) fn modelled(code: &str) -> Program {
    let mut program = program(&[code]);
    models::apply(&mut program, models::standard());
    program
}

pub(crate) fn function<'p>(program: &'p Program, name: &str) -> &'p Function {
    program.function(Name::new(name)).unwrap_or_else(|| panic!("no function {name}"))
}

/// The text of a program without what is the same in all of them. A first line `// models` asks for the models.
pub(crate) fn automata(code: &str) -> String {
    let program = if code.starts_with("// models") { modelled(code) } else { program(&[code]) };
    text::print_program(&program)
}

/// The operations of a function, in order, without sites.
pub(crate) fn operations(program: &Program, name: &str) -> Vec<String> {
    let function = function(program, name);
    let surroundings = text::Surroundings::of(program);
    function.edges.iter().map(|edge| text::print_op(&edge.op, function, surroundings)).collect()
}
