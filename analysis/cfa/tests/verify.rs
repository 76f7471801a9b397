//! The checker finds each kind of defect, and nothing in automata without one.

use proofline_cfa::{
    FunctionMap,
    text::{Surroundings, parse_function, parse_program},
    verify::{Flaw, Part, verify_function, verify_program},
};
use proofline_syntax::DataModel;

const GLOBALS: &str = "\
record struct s: struct size 16 align 8 {
  a: int at 0
  f: unsigned int at 4 bits 2 3
  p: int* at 8
}
global g: int
global r: struct s
global x: struct s = {
  0 i32: 1
  4 u32 bits 2 3: 5
  8 ptr: &g
}
external ext: int(int)
fn callee: int(int, double) {
  result return: int
  parameter a: int
  parameter b: double
  locations 2 entry l0 exit l1
  l0 -> l1: %return := %a
}
";

const LOCALS: &str = "\
  result return: int
  parameter n: int
  variable i: int
  variable l: long
  variable d: double
  variable p: int* addressed
  variable s: struct s addressed
  temporary t: int
";

/// What is wrong with a function of these operations in a row, after these locals.
fn flaws_with(locals: &str, ops: &[&str], rest: &str) -> Vec<(Flaw, Part)> {
    let mut text = format!(
        "{GLOBALS}fn f: int(int) {{\n{locals}  locations {} entry l0 exit l{}\n",
        ops.len() + 1,
        ops.len()
    );
    for (at, op) in ops.iter().enumerate() {
        text += &format!("  l{at} -> l{}: {op}\n", at + 1);
    }
    text += &format!("{rest}}}\n");
    let program = parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_program(&program).into_iter().map(|defect| (defect.flaw, defect.part)).collect()
}

fn flaws(ops: &[&str]) -> Vec<Flaw> {
    flaws_with(LOCALS, ops, "").into_iter().map(|(flaw, _)| flaw).collect()
}

#[test]
fn a_sound_automaton_has_no_defect() {
    let ops = [
        "begin %i",
        "%i := %n + 1",
        "assume %i < 10",
        "%s.f := u32(%i)",
        "copy x := %s",
        "%p := &%s.a",
        "(*%p)[%i] := %i << 2u64",
        "%p := allocate heap @1 (8u64)",
        "copy_bytes(%p, &%s, 8u64)",
        "%t := call callee(%i, %d)",
        "%i := call (*fn ext : int(int))(%t)",
        "%d := f64(%i)",
        "%l := distance(%p, %p by 4 in i64)",
        "clobber (%p) external ext",
        "%return := %i",
        "end %i",
    ];
    assert_eq!(flaws_with(LOCALS, &ops, ""), []);
}

#[test]
fn values_and_operations_are_typed() {
    let cases = [
        ("%n := 3000000000", Flaw::Constant),
        ("%n := i32(256u8)", Flaw::Constant),
        ("%n := i32(0u200)", Flaw::Format),
        ("%n := %n + %l", Flaw::Operands),
        ("%n := i32(%p + %p)", Flaw::Operands),
        ("%d := %d % %d", Flaw::Operands),
        ("%d := ~%d", Flaw::Operands),
        ("%n := %n << %d", Flaw::Operands),
        ("assume %n < %d", Flaw::Operands),
        ("assume overflows(%d + %d)", Flaw::Operands),
        ("%p := ptr(%d)", Flaw::Operands),
        ("%l := distance(%p, %l by 4 in i64)", Flaw::NotAPointer),
        ("%n := (*%l){int}", Flaw::NotAPointer),
        ("free %l", Flaw::NotAPointer),
        ("%n := (*%p)[%d]", Flaw::NotAnInteger),
        ("copy_bytes(%p, %p, %d)", Flaw::NotAnInteger),
        ("assume %s{as ?}", Flaw::Aggregate),
        ("%p := &%i", Flaw::Address),
        ("%p := &%s.f", Flaw::Address),
        ("%l := %n", Flaw::Assigned),
        ("%s{as ?} := 0", Flaw::Aggregate),
        ("copy %s := %s.p", Flaw::Aggregate),
        ("begin %n", Flaw::Lifetime),
        ("end %return", Flaw::Lifetime),
        ("%n := %s.a{int as i16}", Flaw::Format),
        ("%n := %s.a{int size 8}", Flaw::Size),
        ("%n := i32(%s.f{size 4})", Flaw::Size),
        ("%n := i32(%s.f{bits 9 3})", Flaw::BitField),
        ("%n := i32(%s.p{bits 0 3})", Flaw::BitField),
        ("%n := %s.a(struct s at 4)", Flaw::Member),
        ("%n := %9{int}", Flaw::UnknownLocal),
        ("begin %9", Flaw::UnknownLocal),
        ("%n := %t", Flaw::Unassigned),
        ("%n := h{int}", Flaw::Name),
        ("%p := fn h", Flaw::Name),
        ("call h()", Flaw::Name),
        ("%n := call callee(1)", Flaw::Call),
        ("%n := call callee(%l, %d)", Flaw::Call),
        ("%l := call callee(1, %d)", Flaw::Call),
        ("%n := call callee(1, copy %s)", Flaw::Call),
        ("%n := call (*fn ext : int(int))(1, 2)", Flaw::Call),
        ("%n := call (*fn ext : int(int))(%l)", Flaw::Call),
        ("%n := call (*fn ext : int*)(1)", Flaw::Call),
    ];
    for (op, flaw) in cases {
        assert!(flaws(&[op]).contains(&flaw), "{op}: {:?}", flaws(&[op]));
    }
}

#[test]
fn a_float_has_a_flaw_only_if_it_is_not_exact() {
    assert_eq!(flaws(&["%d := f64(0.5f32)"]), []);
    assert_eq!(flaws(&["%d := f64(float(0x7ff8000000000000)f32)"]), []);
}

#[test]
fn a_temporary_must_be_assigned_on_every_path() {
    let branch = |edges: &str| {
        let text = format!(
            "fn f: int(int) {{\n  result return: int\n  parameter n: int\n  temporary t: int\n  locations 5 entry l0 exit l4\n{edges}}}"
        );
        let bare = Surroundings::bare(DataModel::Lp64);
        let function = parse_function(&text, bare).expect("reads");
        let defects = verify_function(&function, DataModel::Lp64, bare.records, None);
        defects.into_iter().map(|defect| (defect.flaw, defect.part)).collect::<Vec<_>>()
    };
    let one = "l0 -> l1: assume %n == 0\nl0 -> l2: assume %n != 0\nl1 -> l3: %t := 1\n";
    let last = "l3 -> l4: %return := %t\n";
    assert_eq!(branch(&format!("{one}l2 -> l3: havoc %t input f\n{last}")), []);
    let missing = branch(&format!("{one}l2 -> l3: skip\n{last}"));
    assert_eq!(missing, [(Flaw::Unassigned, Part::Edge(proofline_cfa::EdgeId(4)))]);
    // A loop that assigns only at its end.
    let around = "l0 -> l1: skip\nl1 -> l2: %return := %t\nl2 -> l1: %t := 1\nl1 -> l4: skip\n";
    assert_eq!(branch(around).len(), 1);
}

#[test]
fn locations_are_where_they_belong() {
    let flaws = |ops: &[&str], rest: &str| -> Vec<Flaw> {
        flaws_with(LOCALS, ops, rest).into_iter().map(|(flaw, _)| flaw).collect()
    };
    assert_eq!(flaws(&["skip"], "  l0 -> l7: skip\n"), [Flaw::Location]);
    assert_eq!(flaws(&["skip"], "  label ERROR l9\n"), [Flaw::Location]);
    assert_eq!(flaws(&["skip"], "  l1 -> l0: skip\n"), [Flaw::LeavesEnd]);
    assert_eq!(flaws(&["assume %n", "skip"], "  obligation assertion l1 @0 `n`\n"), [Flaw::LeavesEnd]);
    assert_eq!(
        flaws(&["skip"], "  obligation assertion l1 @0 `n`\n"),
        [Flaw::ErrorLocation, Flaw::ErrorLocation]
    );
    let twice = "  l0 -> l1: assume %n\n  obligation assertion l1 @0 `n`\n  obligation assertion l1 @0 `n`\n";
    let shared = flaws_with(LOCALS, &["skip", "skip"], &twice.replace("l1", "l2"));
    assert!(shared.iter().any(|(flaw, _)| *flaw == Flaw::ErrorLocation));
}

#[test]
fn locals_have_their_roles() {
    let flaws = |locals: &str| -> Vec<Flaw> {
        flaws_with(locals, &["skip"], "").into_iter().map(|(flaw, _)| flaw).collect()
    };
    assert_eq!(flaws("  result return: int\n  parameter n: int\n"), []);
    assert_eq!(flaws("  parameter n: int\n"), [Flaw::Signature]);
    assert_eq!(flaws("  result return: int\n"), [Flaw::Signature]);
    assert_eq!(flaws("  parameter n: int\n  result return: int\n"), [Flaw::Role, Flaw::Role]);
    assert_eq!(
        flaws("  result return: int\n  parameter n: int\n  parameters\n"),
        [Flaw::Role, Flaw::Signature]
    );
    assert_eq!(flaws("  result return: int\n  parameter n: int\n  variable n: int\n"), [Flaw::Duplicate]);
    assert_eq!(flaws("  result return: int\n  parameter n: int size 8\n"), [Flaw::Size]);
    assert_eq!(flaws("  result return: int\n  parameter n: int\n  returns %7\n"), [Flaw::UnknownLocal]);
}

#[test]
fn sites_are_those_of_the_map_and_of_one_allocation() {
    let bare = Surroundings::bare(DataModel::Lp64);
    let text = "fn f: void() {\n  variable p: int*\n  locations 3 entry l0 exit l2\n  l0 -> l1 @0: %p := allocate heap @2 (4u64)\n  l1 -> l2 @1: %p := allocate heap @2 (4u64)\n}";
    let function = parse_function(text, bare).expect("reads");
    let map = FunctionMap::default();
    let flaws = |map| -> Vec<Flaw> {
        verify_function(&function, DataModel::Lp64, bare.records, map).into_iter().map(|d| d.flaw).collect()
    };
    assert_eq!(flaws(None), [Flaw::AllocationSite]);
    assert_eq!(flaws(Some(&map)), [Flaw::Site, Flaw::Site]);
}

#[test]
fn initial_values_lie_apart_in_their_object() {
    let flaws = |init: &str| -> Vec<Flaw> {
        let text = format!("global g: int\nglobal a: int[2] = {{ {init} }}\n");
        verify_program(&parse_program(&text).expect("reads")).into_iter().map(|defect| defect.flaw).collect()
    };
    assert_eq!(flaws("0 i32: 1 4 i32: 2"), []);
    assert_eq!(flaws("0 u32 bits 0 3: 1 0 u32 bits 3 3: 1"), []);
    assert_eq!(flaws("8 i32: 1"), [Flaw::Initial]);
    assert_eq!(flaws("0 i32: 1 2 i16: 1"), [Flaw::Initial]);
    assert_eq!(flaws("0 ptr: &h"), [Flaw::Name]);
    assert_eq!(flaws("0 ptr: fn h"), [Flaw::Name]);
}

#[test]
fn graphs_are_drawn() {
    let text = "fn f: void(int) {\n  parameter n: int\n  locations 4 entry l0 exit l2\n  l0 -> l1: assume %n < 2\n  l1 -> l0: call f(%n)\n  l0 -> l2: skip\n  l0 -> l3: assume %n == 0\n  obligation assertion l3 @0 `n \"!=\" 0`\n}";
    let program = parse_program(text).expect("reads");
    let function = program.functions.values().next().expect("one");
    let dot = proofline_cfa::dot::automaton(function, Surroundings::of(&program));
    assert!(dot.contains("l0 [style=bold, shape=doublecircle];"), "{dot}");
    assert!(dot.contains(r#"l3 [shape=box, color=red, label="l3\nassertion\nn \"!=\" 0"];"#), "{dot}");
    assert!(dot.contains(r#"l1 -> l0 [label="call f(%n)"];"#), "{dot}");
}
