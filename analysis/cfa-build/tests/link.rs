//! Several units in one program.

mod common;

use common::{function, linked, operations, program};
use proofline_cfa::Name;

#[test]
fn internal_names_that_clash_are_told_apart() {
    let units = [
        "static int n = 1; static int get(void) { static int calls; calls++; return n; } int a(void) { return get(); }",
        "static int n = 2; static int get(void) { static int calls; calls++; return n; } int b(void) { return get(); }
         static int own(void) { return 0; } int (*p)(void) = own;",
    ];
    let program = program(&units);
    let functions: Vec<&str> = program.functions.keys().map(|name| name.as_str()).collect();
    assert_eq!(functions, ["a", "a.c:get", "b", "b.c:get", "own"]);
    let globals: Vec<&str> = program.globals.keys().map(|name| name.as_str()).collect();
    assert_eq!(globals, ["a.c:get.calls", "a.c:n", "b.c:get.calls", "b.c:n", "p"]);
    assert_eq!(operations(&program, "b"), ["%return := call `b.c:get`()"]);
    assert_eq!(operations(&program, "b.c:get")[1], "%return := `b.c:n`");
}

#[test]
fn definitions_win_over_declarations_and_tentative_ones() {
    let program = program(&[
        "extern int g; int t; int f(int); int use(void) { return f(g); }",
        "int g = 3; int t = 4;
        int f(int x) { return x; }",
    ]);
    assert!(program.externals.is_empty());
    let value = |name: &str| program.globals[&Name::new(name)].init.len();
    assert_eq!((value("g"), value("t")), (1, 1));
}

#[test]
fn equal_tags_with_different_members_are_told_apart() {
    let program = program(&[
        "struct s { int a; }; struct t { struct s *p; }; int f(struct t *x) { return x->p->a; }",
        "struct s { char b; int a; }; struct t { struct s *p; }; int g(struct t *x) { return x->p->a; }",
    ]);
    let tags: Vec<&str> = program.records.keys().map(|name| name.as_str()).collect();
    assert_eq!(tags, ["struct s", "struct s~2", "struct t", "struct t~2"]);
    assert_eq!(program.records[&Name::new("struct s~2")].size, 8);
    let edge = &function(&program, "g").edges[0];
    assert!(format!("{:?}", edge.op).contains("struct s~2"));
}

#[test]
fn two_definitions_are_a_problem_and_take_the_verdict() {
    let (program, map) =
        linked(&["int f(void) { return 1; } int g = 1;", "int f(void) { return 2; } int g = 2;"]);
    let names: Vec<&str> = map.problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(names, ["g", "f"]);
    assert_eq!(program.unsupported, [(Name::new("f"), Name::new("two different definitions"))]);
    // No run goes through one of them.
    let f = function(&program, "f");
    assert_eq!(f.unsupported, [(f.entry, Name::new("two different definitions"))]);
    assert!(!program.globals[&Name::new("g")].defined);
}

#[test]
fn a_definition_replaces_a_weak_one_in_any_order() {
    let strong = "int f(void) { return 7; }";
    for weak in [
        "__attribute__((weak)) int f(void) { return 3; } int g(void) { return f(); }",
        "int f(void) __attribute__((weak)); int f(void) { return 3; } int g(void) { return f(); }",
    ] {
        for texts in [[strong, weak], [weak, strong]] {
            let (program, map) = linked(&texts);
            assert!(map.problems.is_empty() && program.unsupported.is_empty());
            assert!(format!("{:?}", function(&program, "f").edges).contains("Int(7"), "{texts:?}");
            assert!(function(&program, "f").approximations.is_empty());
        }
    }
}

#[test]
fn in_a_library_a_weak_definition_may_be_replaced() {
    let weak = "__attribute__((weak)) int f(void) { return 3; }";
    let said = |texts: &[&str]| function(&linked(texts).0, "f").approximations.len();
    assert_eq!(said(&[weak]), 1);
    assert_eq!(said(&[weak, "int f(void); int main(void) { return f(); }"]), 0);
}

#[test]
fn what_two_units_disagree_about_a_third_does_not_settle() {
    for third in ["int g = 3;", "int g;", "int g = 1;"] {
        let (program, map) = linked(&["int g = 1;", "int g = 2;", third]);
        let global = &program.globals[&Name::new("g")];
        assert!(!global.defined && global.init.is_empty(), "{third}");
        assert_eq!(map.problems[0].unit, 1);
    }
}

#[test]
fn declarations_that_contradict_each_other_take_the_verdict() {
    let why = |texts: [&str; 2]| {
        let (program, map) = linked(&texts);
        assert!(map.problems.iter().all(|problem| problem.unit == 1));
        assert_eq!(map.problems.len(), program.unsupported.len());
        program.unsupported.first().map(|(_, what)| what.to_string())
    };
    let of = |what: &str| Some(format!("declarations in different files with different {what}"));
    assert_eq!(why(["extern int a[8]; int f(void) { return a[7]; }", "int a[2];"]), of("sizes"));
    assert_eq!(why(["extern int a[]; int f(void) { return a[7]; }", "char a[16];"]), of("types"));
    assert_eq!(why(["extern float x; float f(void) { return x; }", "int x;"]), of("types"));
    assert_eq!(
        why(["extern int k; void f(void) { k = 3; }", "const int k = 7;"]),
        of("qualifiers (`const`)")
    );
    // These say less, not something else.
    assert_eq!(why(["extern int a[]; int f(void) { return a[1]; }", "int a[2];"]), None);
    assert_eq!(why(["extern unsigned n; unsigned f(void) { return n; }", "int n = 1;"]), None);
    assert_eq!(why(["extern const int k; int f(void) { return k; }", "const int k = 7;"]), None);
}

#[test]
fn what_is_declared_not_to_return_and_does_is_marked() {
    let marks = |definition: &str| {
        let use_it = "extern _Noreturn void die(int); int f(int n) { if (n) die(n); return n; }";
        function(&program(&[use_it, definition]), "f").unsupported.len()
    };
    assert_eq!(marks("void die(int n) { }"), 1);
    assert_eq!(marks("void die(int n) { if (n) for (;;) ; }"), 1);
    assert_eq!(marks("void die(int n) { for (;;) ; }"), 0);
    assert_eq!(marks("extern _Noreturn void exit(int); void die(int n) { exit(n); }"), 0);
    assert_eq!(marks("int other;"), 0);
}

#[test]
fn equal_inline_definitions_are_one() {
    let header = "static inline int one(void) { return 1; } inline int two(void) { return 2; }";
    let (program, map) = linked(&[header, header]);
    assert!(map.problems.is_empty());
    assert_eq!(program.functions.len(), 3);
}

#[test]
fn calls_are_made_to_fit_the_definition() {
    let program = program(&[
        "int main(void) { int n = f(1, 2, 3); return n + g(2.5); }",
        "long f(char c, unsigned u) { return c + u; } void g(int i) { }",
    ]);
    let texts: Vec<&str> =
        function(&program, "main").obligations.iter().map(|obligation| obligation.text.as_str()).collect();
    assert_eq!(texts, ["f is called with 2 arguments", "argument 1 of g is passed as int"]);
    let operations = operations(&program, "main");
    let what = "unmodelled `call that does not fit the definition`";
    for operation in ["assume 1".to_owned(), "assume 0".to_owned(), format!("havoc %$0 {what}")] {
        assert!(operations.contains(&operation), "{operation}: {operations:?}");
    }
}

#[test]
fn who_calls_otherwise_than_another_file_defines_has_an_obligation() {
    let broken = |caller: &str, definition: &str| -> Vec<String> {
        let program = program(&[caller, definition]);
        function(&program, "use").obligations.iter().map(|obligation| obligation.text.to_string()).collect()
    };
    let result = "short f(int); int use(void) { return f(1); }";
    assert_eq!(broken(result, "int f(int a) { return a; }"), ["the result of f is taken as int"]);
    assert_eq!(broken(result, "void f(int a) { }"), ["no result of f is used"]);
    let promoted = "float half(); float use(float x) { return half(x); }";
    assert_eq!(
        broken(promoted, "float half(float x) { return x / 2; }"),
        ["argument 1 of half is passed as float"]
    );
    let named =
        "struct s { int a; }; int f(struct s *, unsigned, char); int use(void) { return f(0, 1, 2); }";
    assert!(
        broken(named, "struct s { long b; }; int f(struct s *p, int n, char c) { return n; }").is_empty()
    );
    let old = "int f(); int use(char c, float x) { return f(c, x); }";
    assert!(broken(old, "int f(c, x) char c; float x; { return c; }").is_empty());
    // A definition without a prototype takes what is promoted; another file that has one says so, or says something else.
    let prototype = |ty: &str| format!("int f({ty}); int use({ty} x) {{ return f(x); }}");
    for (ty, taken, expected) in
        [("float", "float", "double"), ("short", "int", "int"), ("char", "char", "int")]
    {
        let definition = format!("int f(x) {taken} x; {{ return x; }}");
        assert_eq!(broken(&prototype(ty), &definition), [format!("argument 1 of f is passed as {expected}")]);
    }
    assert!(broken(&prototype("double"), "int f(x) float x; { return x; }").is_empty());
    assert!(broken("int f(x) float x; { return x; } int use(float x) { return f(x); }", "int g;").is_empty());
    assert!(broken("int f(); void use(void) { f(); }", "short f(void) { return 1; }").is_empty());
}

#[test]
fn what_is_weak_has_the_address_that_another_file_gives_it() {
    let use_it = "extern int n __attribute__((weak)); extern int f(void) __attribute__((weak));
                  int use(void) { return &n && f ? n + f() : 0; }";
    let initial = |units: &[&str]| -> Vec<usize> {
        let program = program(units);
        ["&n", "&f"].iter().map(|name| program.globals[&Name::new(name)].init.len()).collect()
    };
    assert_eq!(initial(&[use_it]), [0, 0]);
    assert_eq!(initial(&[use_it, "int n = 1; int f(void) { return 2; }"]), [1, 1]);
    let here = "__attribute__((weak)) int f(void); int use(void) { return f(); } int f(void) { return 1; }";
    assert!(!program(&[here]).globals.contains_key(&Name::new("&f")));
}

#[test]
fn what_has_another_name_for_the_linker_is_found_under_that_name() {
    let two = program(&[
        "void stub(void) __asm__(\"real\"); extern int x __asm__(\"y\"); int main(void) { stub(); return x; }",
        "int y = 3; void real(void) { y = 1; } static int x; int *own(void) { return &x; }",
    ]);
    assert_eq!(operations(&two, "main"), ["call real()", "%return := y"]);
    let globals: Vec<&str> = two.globals.keys().map(|name| name.as_str()).collect();
    assert_eq!(globals, ["b.c:x", "y"]);
    // Two names for what no unit defines; a name that means something else in another unit.
    let two = program(&[
        "extern int x __asm__(\"q\"); int a(void) { return x; }",
        "extern int w __asm__(\"q\"); int x = 2; int b(void) { return w + x; }",
    ]);
    assert_eq!(operations(&two, "a"), ["%return := q"]);
    assert_eq!(operations(&two, "b"), ["%return := q +@1 x"]);
    // A hidden name of another unit is none of the linker's.
    let two = program(&[
        "extern int x __asm__(\"y\"); int a(void) { return x; }",
        "static int y = 2; int b(void) { return y; }",
        "int y = 5;",
    ]);
    assert_eq!(operations(&two, "a"), ["%return := y"]);
    assert_eq!(operations(&two, "b"), ["%return := `b.c:y`"]);
}

#[test]
fn a_name_of_the_linker_that_all_units_agree_about_changes_nothing() {
    let header = "int fscanf(void *, const char *, ...) __asm__(\"__isoc99_fscanf\");";
    let units = [format!("{header} int a(void) {{ return fscanf(0, 0); }}"), header.to_owned()];
    let program = program(&[&units[0], &units[1]]);
    assert_eq!(operations(&program, "a"), ["%return := call fscanf(null, null)"]);
}
