//! An attribute is found at the node that it is for.

use proofline_syntax::{AttributeStyle, Place, Unit};
use tree_sitter::Node;

use crate::common::{errors, nodes, unit};

/// Each attribute with the kind and the text of its owner, in the order of the text.
fn owners(unit: &Unit) -> Vec<(String, Place, String)> {
    let mut found: Vec<_> = nodes(unit)
        .into_iter()
        .flat_map(|node: Node<'_>| {
            unit.attributes(node).map(move |attribute| {
                let text: String = unit.node_text(node).split_whitespace().collect();
                let written = format!("{}({})", attribute.name, attribute.arguments.join(","));
                (attribute.span, (written.replace("()", ""), attribute.place, text))
            })
        })
        .collect();
    found.sort_by_key(|(span, _)| *span);
    found.into_iter().map(|(_, owner)| owner).collect()
}

fn check(text: &str, expected: &[(&str, Place, &str)]) {
    let unit = unit(text);
    assert_eq!(errors(&unit), [""; 0], "{text}");
    assert_eq!(unit.unplaced_attributes(), [], "{text}");
    let found = owners(&unit);
    let found: Vec<_> =
        found.iter().map(|(name, place, owner)| (name.as_str(), *place, owner.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn at_structs_members_and_enumerators() {
    check(
        "struct __attribute__((packed)) s { int a; char b __attribute__((aligned(4))), c : 3 __attribute__((packed)); } x;",
        &[
            ("packed", Place::Tag, "structs{inta;charb,c:3;}"),
            ("aligned(4)", Place::Declarator, "b"),
            ("packed", Place::Declarator, "c"),
        ],
    );
    check(
        "typedef struct { int a; } __attribute__((packed, aligned(sizeof(long) * 2))) T;",
        &[
            ("packed", Place::Tag, "struct{inta;}"),
            ("aligned(sizeof ( long ) * 2)", Place::Tag, "struct{inta;}"),
        ],
    );
    check(
        "union u { __attribute__((aligned(8))) int a, *b; }; enum e { A __attribute__((deprecated(\"m\"))), B = 2 __attribute__((x)) };",
        &[
            ("aligned(8)", Place::Specifiers, "inta,*b;"),
            ("deprecated(\"m\")", Place::Enumerator, "A"),
            ("x", Place::Enumerator, "B=2"),
        ],
    );
}

#[test]
fn at_variables_functions_and_parameters() {
    check(
        "int a __attribute__((aligned(16))) = 1, *b __attribute__((unused)), __attribute__((section(\"s\"))) c;",
        &[
            ("aligned(16)", Place::Declarator, "a"),
            ("unused", Place::Declarator, "*b"),
            ("section(\"s\")", Place::Declarator, "c"),
        ],
    );
    check(
        "__attribute__((noreturn)) void f(int x __attribute__((unused)), __attribute__((y)) char *, int __attribute__((z)) w) __attribute__((pure));",
        &[
            ("noreturn", Place::Specifiers, "voidf(intx,char*,intw);"),
            ("unused", Place::Declarator, "x"),
            ("y", Place::Specifiers, "char*"),
            ("z", Place::Specifiers, "intw"),
            ("pure", Place::Declarator, "f(intx,char*,intw)"),
        ],
    );
    check(
        "int g(void) { return 0; } static int __attribute__((noinline)) h(void) { int __attribute__((aligned(8))) v; return 1; }",
        &[
            ("noinline", Place::Specifiers, "staticinth(void){intv;return1;}"),
            ("aligned(8)", Place::Specifiers, "intv;"),
        ],
    );
    check(
        "int *__attribute__((p)) a; int * const __attribute__((q)) b; int (__attribute__((cdecl)) *fp)(void);",
        &[
            ("p", Place::Pointer, "*a"),
            ("q", Place::Pointer, "*constb"),
            ("cdecl", Place::Declarator, "(*fp)(void)"),
        ],
    );
    check(
        "typedef int v4 __attribute__((vector_size(16))); typedef __attribute__((aligned(1))) int u; unsigned long x = sizeof(int __attribute__((aligned(2))));",
        &[
            ("vector_size(16)", Place::Declarator, "v4"),
            ("aligned(1)", Place::Specifiers, "typedefintu;"),
            ("aligned(2)", Place::Specifiers, "int"),
        ],
    );
}

#[test]
fn at_labels_and_statements() {
    check(
        "void f(int x) { switch (x) { case 1: x++; __attribute__((fallthrough)); default: goto l; } l: __attribute__((unused)) return; }",
        &[("fallthrough", Place::Statement, ";"), ("unused", Place::Label, "l:return;")],
    );
}

#[test]
fn in_every_spelling() {
    let unit = unit(
        "_Noreturn void n(void); __declspec(align(8), dllexport) int d; [[gnu::packed, deprecated(\"m\")]] int c;
         extern int __stdcall k(int) __asm__(\"_\" \"k\") __attribute__((__nothrow__, __leaf__));",
    );
    assert_eq!(errors(&unit), [""; 0]);
    let all: Vec<_> = nodes(&unit)
        .into_iter()
        .flat_map(|node| unit.attributes(node))
        .map(|attribute| (attribute.style, attribute.name.as_str(), attribute.arguments.join(",")))
        .collect();
    use AttributeStyle::{AsmLabel, C23, Declspec, Gnu, Keyword};
    let expected = [
        (Keyword, "noreturn", ""),
        (Declspec, "align", "8"),
        (Declspec, "dllexport", ""),
        (C23, "packed", ""),
        (C23, "deprecated", "\"m\""),
        (Declspec, "stdcall", ""),
        (AsmLabel, "asm", "\"_k\""),
        (Gnu, "nothrow", ""),
        (Gnu, "leaf", ""),
    ];
    let all: Vec<_> = all.iter().map(|(style, name, text)| (*style, *name, text.as_str())).collect();
    assert_eq!(all, expected);
}

#[test]
fn one_that_changes_a_layout_is_never_lost_silently() {
    let unit = unit("__attribute__((aligned(8)))");
    assert!(errors(&unit)[0].contains("belongs to nothing"), "{:?}", errors(&unit));
}
