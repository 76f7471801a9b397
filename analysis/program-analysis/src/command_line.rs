//! What holds of the arguments of `main` (C11 5.1.2.2.1): `argc` is not negative, `argv` points to the first of `argc + 1` pointers, the last of
//! them is null, and the others are the addresses of strings. Written into the program as a prologue of `main` and, before each use of
//! an element of `argv`, as what is known of it, so that no engine needs to know. The interpreter makes the objects when a run begins.
//!
//! The strings have one name together ([`texts`]). That an element is not null is said only where the array certainly still is what
//! it was: nothing writes to it, and its address goes nowhere but to functions that only read it.

mod bounds;
mod elements;
mod readers;

use std::sync::Arc;

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    types::{ArrayLength, IntKind},
};

use proofline_cfa::{
    Base, CompareOp, Edge, Entry, Expr, Function, Global, IntType, Loc, LocalId, Lvalue, Op, Program, Scalar,
    Site, Step,
    command_line::{ARGV, ENVP},
    scalar_of, texts,
};
use readers::Readers;

/// Writes what holds of the arguments of `main` into a program whose library calls have been replaced and whose obligations have been
/// inserted. Nothing changes where `main` is no function of the standard's form, or where the program calls it itself.
pub fn provide(program: &mut Program) {
    let name = Entry::main().name;
    let Some(main) = program.functions.get(&name) else { return };
    let Some(parameters) = Parameters::of(program, main) else { return };
    if readers::uses(program).contains(&name) {
        return;
    }
    if let Some(argv) = parameters.argv {
        let argc = value_of(program, main, parameters.argc);
        let main = bounds::in_numbers(main, parameters.argc, &argc, argv);
        program.functions.extend(main.map(|main| (name, Arc::new(main))));
        let readers = Readers::of(program, parameters.argc, argv);
        for (reader, pair) in readers.into_iter().flat_map(|readers| readers.found) {
            if let (Some(argc), Some(function)) = (pair.argc, program.functions.get(&reader)) {
                let known = elements::known(function, &value_of(program, function, argc), pair.argv);
                program.functions.extend(known.map(|function| (reader, Arc::new(function))));
            }
        }
    }
    parameters.write_prologue(program, name);
}

/// The parameters of `main`.
struct Parameters {
    argc: LocalId,
    argv: Option<LocalId>,
    envp: Option<LocalId>,
}

impl Parameters {
    /// `int main(int)`, `int main(int, char **)` or `int main(int, char **, char **)`.
    fn of(program: &Program, main: &Function) -> Option<Parameters> {
        let scalar = |id: LocalId| scalar_of(main.local(id).ty, program.data_model);
        let (&argc, rest) = main.parameters.split_first()?;
        let is_strings = |id: &LocalId| is_pointer_to_strings(main.local(*id).ty);
        let fits = scalar(argc) == Some(Scalar::Int(IntType::INT)) && rest.len() <= 2;
        (fits && rest.iter().all(is_strings)).then(|| Parameters {
            argc,
            argv: rest.first().copied(),
            envp: rest.get(1).copied(),
        })
    }

    fn write_prologue(&self, program: &mut Program, name: Name) {
        let Some(main) = program.functions.get(&name).cloned() else { return };
        let argc = value_of(program, &main, self.argc);
        let not_negative = compare(CompareOp::Ge, argc.clone(), Expr::int(0));
        let mut operations = vec![Op::Assume(not_negative)];
        for (parameter, object) in [(self.argv, ARGV), (self.envp, ENVP)] {
            let Some(parameter) = parameter else { continue };
            let element = main.local(parameter).ty.pointee().unwrap_or(Type::void());
            let object = Name::new(object);
            if object.as_str() == ARGV {
                let last = Expr::Load(element_of(program, object, element, argc.clone()));
                operations.push(Op::Assume(compare(CompareOp::Eq, last, Expr::Null)));
            }
            let first = Expr::Address(element_of(program, object, element, Expr::int(0)));
            operations.push(Op::Assign(place_of(program, &main, parameter), first));
            program.globals.insert(object, Arc::new(array(object, element)));
            let strings = texts::object(texts::ARGUMENTS);
            program.globals.insert(strings.name, Arc::new(strings));
        }
        let mut out = Function::clone(&main);
        let (mut at, before) = (Loc(out.locations), out.entry);
        out.entry = at;
        out.locations += 1;
        let last = operations.len() - 1;
        for (number, op) in operations.into_iter().enumerate() {
            let to = if number == last { before } else { Loc(out.locations) };
            out.locations += u32::from(number != last);
            out.edges.push(Edge { from: at, to, op, site: Site::NOWHERE });
            at = to;
        }
        program.functions.insert(name, Arc::new(out));
    }
}

fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    Expr::Compare(op, Arc::new(a), Arc::new(b))
}

fn is_pointer_to_strings(ty: Type) -> bool {
    let string = ty.pointee().filter(|_| !ty.qualifiers().is_volatile);
    let string = string.filter(|string| !string.qualifiers().is_volatile);
    string.and_then(Type::pointee).is_some_and(|character| {
        matches!(character.kind(), TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar))
    })
}

/// An array of pointers whose length nothing here says.
fn array(name: Name, element: Type) -> Global {
    Global {
        name,
        ty: Type::new(TypeKind::Array(element, ArrayLength::Unknown)),
        size: 0,
        linkage: Linkage::Internal,
        defined: false,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}

fn element_of(program: &Program, object: Name, element: Type, index: Expr) -> Lvalue {
    let size = u64::from(program.pointer_bits() / 8);
    let step = Step::Index { index: Arc::new(index), stride: size, length: None, site: Site::NOWHERE };
    let scalar = Some(Scalar::Pointer);
    Lvalue { base: Base::Global(object), path: vec![step], ty: element, scalar, bits: None, size }
}

fn place_of(program: &Program, function: &Function, id: LocalId) -> Lvalue {
    let local = function.local(id);
    let scalar = scalar_of(local.ty, program.data_model);
    Lvalue { base: Base::Local(id), path: Vec::new(), ty: local.ty, scalar, bits: None, size: local.size }
}

fn value_of(program: &Program, function: &Function, id: LocalId) -> Expr {
    Expr::Load(place_of(program, function, id))
}
