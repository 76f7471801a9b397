//! What is known of a program before analyses start: call graph, targets of pointers, effects. Soundness cases say what must be
//! there, precision cases what must not.

use std::collections::BTreeSet;

use proofline_cfa::{text::parse_program, *};
use proofline_program_analysis::{Callees, Environment};

fn program(text: &str) -> Program {
    parse_program(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn environment(text: &str) -> Environment {
    Environment::new(program(text))
}

/// As seen from `main` only.
fn closed(text: &str) -> Environment {
    Environment::for_entries(program(text), BTreeSet::from([Name::new("main")]))
}

fn show(environment: &Environment, object: Object) -> String {
    match object {
        Object::Global(name) => name.to_string(),
        Object::Local(function, id) => {
            let local = environment.function(function).map(|f| f.local(id).name);
            format!("{function}.{}", local.map_or("?", Name::as_str))
        }
        Object::Heap(function, site) => format!("{function}.heap{site}"),
        Object::External => "external".to_owned(),
    }
}

fn show_all(environment: &Environment, objects: &BTreeSet<Object>) -> String {
    let mut names: Vec<String> = objects.iter().map(|object| show(environment, *object)).collect();
    names.sort();
    names.join(" ")
}

/// Targets of a pointer variable of a function.
fn targets(environment: &Environment, function: &str, local: &str) -> String {
    let function = environment.function(Name::new(function)).expect("has a body");
    let index = function.locals.iter().position(|l| l.name == Name::new(local)).expect("is declared");
    let id = LocalId(index as u32);
    let Local { ty, size, .. } = *function.local(id);
    let pointer = Expr::Load(Lvalue::local(id, ty, Scalar::Pointer, size));
    let found = environment.targets(function.name, &pointer);
    let mut text = show_all(environment, &found.objects);
    for name in &found.functions {
        text += &format!(" fn {name}");
    }
    text.trim().to_owned()
}

/// A program of globals and a `main` with these locals (beside `p`, `q`: int*) and operations in a row.
fn main_of(globals: &str, locals: &str, ops: &[&str]) -> String {
    let mut text = format!(
        "{globals}\nfn main: int() {{\n  result return: int\n  variable p: int*\n  variable q: int*\n{locals}\n"
    );
    text += &format!("  locations {} entry l0 exit l{}\n", ops.len() + 1, ops.len());
    for (at, op) in ops.iter().enumerate() {
        text += &format!("  l{at} -> l{} @{at}: {op}\n", at + 1);
    }
    text + "}\n"
}

/// Where `p` of a `main` of these operations points to.
fn p_of(globals: &str, locals: &str, ops: &[&str]) -> String {
    targets(&closed(&main_of(globals, locals, ops)), "main", "p")
}

const RECORD: &str = "record struct s: struct size 24 align 8 {\n  a: int* at 0\n  b: int* at 8\n  n: int at 16\n}
record struct t: struct size 48 align 8 {\n  name: char[16] at 0\n  v: int*[2] at 16\n  last: struct s* at 32\n  in: int* at 40\n}
global x: int static\nglobal y: int static\nglobal z: int static\n";

#[test]
fn addresses_flow_through_variables_and_memory() {
    assert_eq!(p_of(RECORD, "", &["%p := &x"]), "x");
    assert_eq!(p_of(RECORD, "", &["%p := &x", "%q := &y", "%p := %q"]), "x y");
    let through = ["%pp := &%q", "%q := &x", "(*%pp) := &y", "%p := (*%pp)"];
    assert_eq!(p_of(RECORD, "  variable pp: int**", &through), "x y");
    assert_eq!(
        p_of(RECORD, "", &["%p := null"]),
        "external",
        "nothing else was put there: its use is undefined"
    );
}

#[test]
fn members_are_kept_apart() {
    let locals = "  variable s: struct s addressed\n  variable r: struct s*\n  variable u: struct s*";
    let ops = ["%s.a := &x", "%s.b := &y", "%p := %s.a"];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
    let ops = ["%r := &%s", "(*%r).a := &x", "(*%r).b := &y", "%p := (*%r).b"];
    assert_eq!(p_of(RECORD, locals, &ops), "y");
    let ops = ["%r := allocate heap fallible @9 (24u64)", "(*%r).a := &x", "(*%r).b := &y", "%p := (*%r).b"];
    assert_eq!(p_of(RECORD, locals, &ops), "y");
    // Back from a member to its record.
    let ops = ["%s.a := &x", "%s.b := &y", "%r := ptr(&(*&%s.b)[-8 by 1]{char})", "%p := (*%r).a"];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
}

#[test]
fn elements_of_an_array_are_one_but_their_members_are_not() {
    let globals = format!("{RECORD}global t: struct s[10] static\n");
    let locals = "  variable i: int\n  variable r: struct s*";
    let put = ["t[%i].a := &x", "t[3].b := &y"];
    assert_eq!(p_of(&globals, locals, &[put[0], put[1], "%p := t[7].a"]), "x");
    assert_eq!(p_of(&globals, locals, &[put[0], put[1], "%r := &t[0]", "%p := (*&(*%r)[%i]).b"]), "y");
    assert_eq!(
        p_of(&globals, locals, &[put[0], put[1], "%r := &t[0]", "%r := &(*%r)[1]", "%p := (*%r).b"]),
        "y"
    );
    // As bytes: anything.
    let walk = ["%q := ptr(&(*&t)[%i by 1]{char})", "%p := (*ptr(%q)){int*}"];
    assert_eq!(p_of(&globals, locals, &[put[0], put[1], walk[0], walk[1]]), "x y");
    // An allocation says of what its elements are.
    let heap = ["%r := allocate heap @9 (u64(%i) * 24u64)", "(*%r)[%i].a := &x", "(*%r)[2].b := &y"];
    assert_eq!(p_of(RECORD, locals, &[heap[0], heap[1], heap[2], "%p := (*%r)[%i].b"]), "y");
}

#[test]
fn an_allocation_of_unknown_elements_keeps_members_of_elements_apart() {
    let locals = "  variable i: int\n  variable n: unsigned long\n  variable r: struct s*";
    let ops = ["%r := allocate heap @9 (%n)", "(*%r)[%i].a := &x", "(*%r)[%i].b := &y", "%p := (*%r)[%i].b"];
    assert_eq!(p_of(RECORD, locals, &ops), "y");
    // Also where no access names a single place.
    let ops = ["%r := allocate heap @9 (%n)", "(*%r)[%i].a := &x", "%p := (*%r)[%i].a"];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
}

#[test]
fn characters_in_a_record_do_not_touch_its_pointers() {
    let locals = "  variable i: int\n  variable t: struct t addressed\n  variable c: char*\n  variable r: struct t*\n  variable n: unsigned long";
    // A pointer made from the member stays in the member.
    let ops = ["%t.in := &x", "%c := &%t.name[0]", "havoc_bytes(%c, 16u64) external fgets", "%p := %t.in"];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
    let ops = [
        "%r := allocate heap @9 (48u64)",
        "(*%r).in := &x",
        "%c := &(*%r).name[0]",
        "(*%c)[%i] := i8(u64(&y))",
        "%p := (*%r).in",
    ];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
    // The record's bytes are all of it.
    let ops = ["%t.in := &x", "%c := ptr(&%t)", "havoc_bytes(%c, %n) external fgets", "%p := %t.in"];
    assert_eq!(p_of(RECORD, locals, &ops), "external x");
    let ops = ["%t.in := &x", "%c := ptr(&%t)", "(*%c)[%i] := i8(u64(&y))", "%p := %t.in"];
    assert_eq!(p_of(RECORD, locals, &ops), "x y");
}

#[test]
fn integers_and_bytes_carry_addresses() {
    assert_eq!(p_of(RECORD, "  variable n: unsigned long", &["%n := u64(&x)", "%p := ptr(%n)"]), "x");
    assert_eq!(
        p_of(
            RECORD,
            "  variable n: unsigned long",
            &["%n := u64(&x) | 1u64", "%p := ptr(%n & 18446744073709551614u64)"]
        ),
        "x"
    );
    assert_eq!(p_of(RECORD, "", &["%p := ptr(4096u64)"]), "external");
    assert_eq!(p_of(RECORD, "", &["%p := ptr(0u64)"]), "external");
    let locals = "  variable n: unsigned long\n  variable m: unsigned long";
    // A list linked by exclusive or.
    let ops = ["%n := u64(&x) ^ u64(&y)", "%m := %n ^ u64(&x)", "%p := ptr(%m)"];
    assert_eq!(p_of(RECORD, locals, &ops), "x y");
    // Byte by byte.
    let locals = "  variable c: char*\n  variable d: char*\n  variable b: char\n  variable i: int";
    let ops = ["%q := &x", "%c := ptr(&%q)", "%d := ptr(&%p)", "%b := (*%c)[%i]", "(*%d)[%i] := %b"];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
    // An index from null.
    let ops = ["%p := ptr(&(*null)[i64(&x) by 1]{char})"];
    assert_eq!(p_of(RECORD, "", &ops), "x");
    // An integer from nowhere.
    let ops = ["havoc %n input nondet", "%p := ptr(%n)"];
    assert_eq!(p_of(RECORD, "  variable n: unsigned long", &ops), "external");
}

#[test]
fn copies_of_bytes_and_records_carry_addresses() {
    let locals = "  variable s: struct s addressed\n  variable u: struct s addressed\n  variable h: struct s*\n  variable n: unsigned long\n  variable i: int";
    let fill = ["%s.a := &x", "%s.b := &y"];
    assert_eq!(p_of(RECORD, locals, &[fill[0], fill[1], "copy %u := %s", "%p := %u.b"]), "y");
    assert_eq!(p_of(RECORD, locals, &[fill[0], fill[1], "copy_bytes(&%u, &%s, 24u64)", "%p := %u.b"]), "y");
    assert_eq!(p_of(RECORD, locals, &[fill[0], fill[1], "copy_bytes(&%u, &%s, %n)", "%p := %u.a"]), "x");
    // To other offsets.
    assert_eq!(
        p_of(RECORD, locals, &[fill[0], fill[1], "copy_bytes(&%u.b, &%s.a, 8u64)", "%p := %u.b"]),
        "x"
    );
    assert_eq!(
        p_of(RECORD, locals, &[fill[0], fill[1], "copy_bytes(&%u.b, &%s.a, 8u64)", "%p := %u.a"]),
        "external"
    );
    // Only a part.
    assert_eq!(
        p_of(RECORD, locals, &[fill[0], fill[1], "copy_bytes(&%u, &%s, 8u64)", "%p := %u.b"]),
        "external"
    );
    let heap = "%h := allocate heap @9 (24u64)";
    assert_eq!(p_of(RECORD, locals, &[fill[0], fill[1], heap, "copy (*%h) := %s", "%p := (*%h).b"]), "y");
    assert_eq!(
        p_of(RECORD, locals, &[fill[0], fill[1], heap, "copy (*%h) := %s", "copy %u := (*%h)", "%p := %u.a"]),
        "x"
    );
    // Order does not matter: what is put there later is copied, too.
    assert_eq!(p_of(RECORD, locals, &["copy %u := %s", fill[0], "%p := %u.a"]), "x");
}

#[test]
fn copies_of_arrays_reach_every_element() {
    let locals = "  variable t: struct t addressed\n  variable h: struct t*\n  variable g: struct t*\n  variable i: int\n  variable n: unsigned long";
    let ops = [
        "%t.v[%i] := &x",
        "%t.in := &y",
        "%h := allocate heap @9 (%n)",
        "copy (*%h) := %t",
        "%p := (*%h).v[1]",
    ];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
    let ops = [
        "%t.v[%i] := &x",
        "%t.in := &y",
        "%h := allocate heap @9 (%n)",
        "copy (*%h)[%i] := %t",
        "%p := (*%h)[%i].in",
    ];
    assert_eq!(p_of(RECORD, locals, &ops), "y");
    // A growing array.
    let ops = [
        "%h := allocate heap @8 (48u64 * %n)",
        "(*%h)[%i].in := &x",
        "(*%h)[%i].v[0] := &y",
        "%g := allocate heap @9 (%n)",
        "copy_bytes(%g, %h, %n)",
        "%p := (*%g)[%i].in",
    ];
    assert_eq!(p_of(RECORD, locals, &ops), "x");
}

#[test]
fn members_of_unions_overlap() {
    let globals = format!(
        "{RECORD}record union u: union size 16 align 8 {{\n  p: int* at 0\n  n: unsigned long at 0\n  c: char[16] at 0\n  l: unsigned int[4] at 0\n}}\n"
    );
    let locals = "  variable u: union u\n  variable v: union u\n  variable i: int";
    assert_eq!(p_of(&globals, locals, &["%u.n := u64(&x)", "%p := %u.p"]), "x");
    assert_eq!(p_of(&globals, locals, &["%u.p := &x", "%v.l[%i] := %u.l[0]", "%p := %v.p"]), "x");
    assert_eq!(p_of(&globals, locals, &["%u.p := &x", "%v.c[3] := %u.c[3]", "%p := %v.p"]), "x");
    assert_eq!(p_of(&globals, locals, &["%u.p := &x", "copy %v := %u", "%p := ptr(%v.n)"]), "x");
}

#[test]
fn initial_values_count() {
    let globals = format!("{RECORD}global s: struct s = {{\n  0 ptr: &x\n  8 ptr: &y\n}}\n");
    assert_eq!(p_of(&globals, "", &["%p := s.b"]), "y");
    let globals = format!("{RECORD}global s: struct s[2] = {{\n  0 ptr: &x\n  32 ptr: &y\n}}\n");
    assert_eq!(p_of(&globals, "  variable i: int", &["%p := s[%i].b"]), "y");
    let globals = format!("{RECORD}global s: struct s = {{\n  0 ptr: ?\n}}\n");
    assert_eq!(p_of(&globals, "", &["%p := s.a"]), "external");
    let globals = format!("{RECORD}global s: int* extern\n");
    assert_eq!(p_of(&globals, "", &["%p := s"]), "external s");
}

#[test]
fn code_outside_knows_what_it_was_given_and_what_that_leads_to() {
    let globals = format!("{RECORD}global s: struct s static\nexternal ext: int*(struct s*)\n");
    let given = ["s.a := &x", "clobber (&s) external ext", "%p := s.b"];
    assert_eq!(p_of(&globals, "", &given), "external s x");
    let environment = closed(&main_of(&globals, "", &["s.a := &x", "%q := &y", "%p := call ext(&s)"]));
    assert_eq!(targets(&environment, "main", "p"), "external s x");
    assert_eq!(targets(&environment, "main", "q"), "y");
    assert_eq!(show_all(&environment, environment.escaped()), "external s x");
    assert_eq!(show_all(&environment, environment.writes(Name::new("main"))), "external s x");
    // What is put there later escapes as well.
    let ops = ["%p := call ext(&s)", "s.a := &x", "(*%p){int*} := &y"];
    let environment = closed(&main_of(&globals, "", &ops));
    assert_eq!(show_all(&environment, environment.escaped()), "external s x y");
    // What has a name that it can name.
    let globals = "global x: int\nglobal y: int static\nglobal c: int constant\n";
    let environment = closed(&main_of(globals, "", &["clobber () external ext"]));
    assert_eq!(show_all(&environment, environment.escaped()), "external x");
    let environment = closed(&main_of(globals, "", &["skip"]));
    assert_eq!(show_all(&environment, environment.escaped()), "external");
}

#[test]
fn a_havocked_or_volatile_pointer_points_to_what_escaped() {
    let globals = format!("{RECORD}global v: int* volatile static\n");
    assert_eq!(p_of(RECORD, "", &["havoc %p unmodelled asm"]), "external");
    assert_eq!(p_of(RECORD, "", &["%q := &y", "clobber (&x) external f", "havoc %p input f"]), "external x");
    assert_eq!(p_of(&globals, "", &["v := &x", "%p := v", "havoc %p volatile"]), "external x");
    let locals = "  variable s: struct s addressed\n  variable n: int";
    assert_eq!(p_of(RECORD, locals, &["havoc %s input f", "%p := %s.b"]), "external");
    assert_eq!(p_of(RECORD, locals, &["%s.b := &x", "havoc %s.n external f", "%p := %s.b"]), "x");
}

const CALLS: &str = "\
record struct ops: struct size 16 align 8 {
  get: int(int*)* at 0
  put: int(int*)* at 8
}
global x: int static
global y: int static
global table: struct ops[2] static = {
  0 ptr: fn get
  8 ptr: fn put
  16 ptr: fn get
}
fn get: int(int*) static {
  result return: int
  parameter a: int*
  locations 2 entry l0 exit l1
  l0 -> l1 @0: %return := (*%a)
}
fn put: int(int*) static {
  result return: int
  parameter a: int*
  locations 3 entry l0 exit l2
  l0 -> l1 @0: (*%a) := 1
  l1 -> l2 @0: %return := 0
}
fn other: int(int, int) static {
  result return: int
  locations 1 entry l0 exit l0
}
";

#[test]
fn calls_through_tables_are_resolved_by_member() {
    let main = main_of(
        CALLS,
        "  variable i: int\n  variable n: int",
        &["%n := call (*table[%i].get : int(int*))(&x)", "%n := call (*table[0].put : int(int*))(&y)"],
    );
    let environment = closed(&main);
    let graph = environment.call_graph();
    let call = |edge| graph.call(Name::new("main"), EdgeId(edge)).expect("is a call").clone();
    assert_eq!(call(0), Callees { functions: vec![Name::new("get")], may_be_external: false });
    assert_eq!(call(1), Callees { functions: vec![Name::new("put")], may_be_external: false });
    assert_eq!(targets(&environment, "get", "a"), "x");
    assert_eq!(targets(&environment, "put", "a"), "y");
    let effects = |f: &str| {
        (
            show_all(&environment, environment.reads(Name::new(f))),
            show_all(&environment, environment.writes(Name::new(f))),
        )
    };
    assert_eq!(effects("get"), ("x".to_owned(), String::new()));
    assert_eq!(effects("put"), (String::new(), "y".to_owned()));
    assert_eq!(effects("main"), ("table x".to_owned(), "y".to_owned()));
    assert!(environment.is_called(Name::new("get")) && !environment.is_called(Name::new("other")));
}

#[test]
fn functions_whose_address_escapes_are_called_from_outside() {
    let main = main_of(
        CALLS,
        "  variable n: int",
        &[
            "%p := &x",
            "%n := call (*ptr(%q) : int(int*))(&y)",
            "clobber (fn put, %p) external ext",
            "havoc %q input f",
        ],
    );
    let environment = closed(&main);
    assert_eq!(targets(&environment, "put", "a"), "external x y fn put");
    let call = environment.call_graph().call(Name::new("main"), EdgeId(1)).expect("is a call");
    assert_eq!(*call, Callees { functions: vec![Name::new("put")], may_be_external: true });
}

#[test]
fn what_is_called_back_may_change_what_nobody_was_given() {
    let program = "global counter: int static
fn step: void() static {
  locations 2 entry l0 exit l1
  l0 -> l1 @0: counter := counter + 1
}
fn main: int() {
  result return: int
  variable p: int*
  variable k: int addressed
  locations 3 entry l0 exit l2
  l0 -> l1 @0: %p := &%k
  l1 -> l2 @1: clobber (fn step) external atexit
}
fn quiet: void() {
  locations 2 entry l0 exit l1
  l0 -> l1 @0: call step()
}
";
    let environment = environment(program);
    assert_eq!(show_all(&environment, environment.escaped()), "counter external");
    assert_eq!(show_all(&environment, environment.writes(Name::new("main"))), "counter external");
    assert_eq!(show_all(&environment, environment.writes(Name::new("quiet"))), "counter");
    assert!(environment.is_single(Object::Local(Name::new("main"), LocalId(2))));
}

#[test]
fn in_a_library_parameters_and_named_globals_are_anything() {
    let program = "global shared: int*\nglobal own: int* static\nglobal x: int static
fn public: void(int*) {
  parameter a: int*
  variable p: int*
  locations 4 entry l0 exit l3
  l0 -> l1 @0: own := &x
  l1 -> l2 @0: %p := shared
  l2 -> l3 @0: call hidden(own)
}
fn hidden: void(int*) static {
  parameter a: int*
  locations 1 entry l0 exit l0
}
fn unused: void(int*) static {
  parameter a: int*
  locations 1 entry l0 exit l0
}
";
    let environment = environment(program);
    assert_eq!(targets(&environment, "public", "a"), "external shared fn public");
    assert_eq!(targets(&environment, "public", "p"), "external shared fn public");
    assert_eq!(targets(&environment, "hidden", "a"), "x");
    assert_eq!(targets(&environment, "unused", "a"), "external shared fn public");
}

#[test]
fn arguments_and_results_of_every_kind_pass_addresses() {
    let program = format!(
        "{RECORD}
fn pass: struct s(struct s, int*) static {{
  result return: struct s
  parameter s: struct s
  parameter a: int*
  locations 3 entry l0 exit l2
  l0 -> l1 @0: copy %return := %s
  l1 -> l2 @0: %return.b := %a
}}
fn many: void(int, ...) static {{
  parameter n: int
  variable p: int*
  locations 2 entry l0 exit l1
  l0 -> l1 @0: havoc %p unmodelled va_arg
}}
fn main: int() {{
  result return: int
  variable p: int*
  variable q: int*
  variable s: struct s
  variable u: struct s
  locations 6 entry l0 exit l5
  l0 -> l1 @0: %s.a := &x
  l1 -> l2 @0: %u := call pass(copy %s, &y)
  l2 -> l3 @0: %p := %u.a
  l3 -> l4 @0: %q := %u.b
  l4 -> l5 @0: call many(1, &z)
}}
"
    );
    let environment = closed(&program);
    assert_eq!(targets(&environment, "main", "p"), "x");
    assert_eq!(targets(&environment, "main", "q"), "y");
    assert_eq!(targets(&environment, "many", "p"), "external z");
}

#[test]
fn components_come_callees_first_and_recursion_is_seen() {
    let function = |name: &str, callees: &[&str]| {
        let mut text = format!(
            "fn {name}: void() static {{\n  variable v: int addressed\n  locations {} entry l0 exit l{}\n",
            callees.len() + 1,
            callees.len()
        );
        for (at, callee) in callees.iter().enumerate() {
            text += &format!("  l{at} -> l{} @0: call {callee}()\n", at + 1);
        }
        text + "}\n"
    };
    let program = [
        function("main", &["even", "leaf", "own"]),
        function("even", &["odd"]),
        function("odd", &["even", "leaf"]),
        function("leaf", &[]),
        function("own", &["own", "reach_error"]),
    ]
    .concat();
    let environment = environment(&program);
    let graph = environment.call_graph();
    let names: Vec<Vec<&str>> =
        graph.components().iter().map(|c| c.iter().map(|n| n.as_str()).collect()).collect();
    assert_eq!(names, [vec!["leaf"], vec!["even", "odd"], vec!["own"], vec!["main"]]);
    let recursive: Vec<bool> =
        ["main", "even", "odd", "leaf", "own"].map(|f| graph.is_recursive(Name::new(f))).to_vec();
    assert_eq!(recursive, [false, true, true, false, true]);
    let single = ["main", "even", "own", "leaf"]
        .map(|f| environment.is_single(Object::Local(Name::new(f), LocalId(0))));
    assert_eq!(single, [true, false, false, true]);
    assert_eq!(
        graph.callers(Name::new("leaf")).iter().map(|n| n.as_str()).collect::<Vec<_>>(),
        ["main", "odd"]
    );
    assert_eq!(graph.reachable([Name::new("odd")]).len(), 3);
}

#[test]
fn graphs_are_drawn() {
    let text =
        "fn f: void(int) {\n  parameter n: int\n  locations 2 entry l0 exit l1\n  l0 -> l1: call f(%n)\n}";
    let dot = proofline_program_analysis::dot::call_graph(environment(text).call_graph());
    assert!(dot.contains("subgraph cluster_0") && dot.contains(r#""f" -> "f";"#), "{dot}");
}
