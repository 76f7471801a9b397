//! The typed views know every kind of the grammar, and the shapes that readers rely on.

use std::collections::BTreeSet;

use proofline_syntax::ast::{
    self, AbstractDeclarator, CaseStatement, Declaration, Declarator, Expression, GenericExpression,
    InitializerPair, Statement, TypeSpecifier, View, declarators, specifiers,
};

use crate::common::{find, nodes, unit};

#[test]
fn no_kind_of_the_grammar_is_forgotten() {
    let language = unit("").root().language().to_owned();
    let grammar: BTreeSet<&str> = (0..u16::try_from(language.node_kind_count()).expect("few kinds"))
        .filter(|id| language.node_kind_is_named(*id) && language.node_kind_is_visible(*id))
        .filter_map(|id| language.node_kind_for_id(id))
        .collect();
    let known: BTreeSet<&str> = ast::KINDS.iter().flat_map(|kinds| kinds.iter().copied()).collect();
    let never: BTreeSet<&str> = ast::NEVER.iter().copied().collect();
    let all: BTreeSet<&str> = known.union(&never).copied().collect();
    assert_eq!(grammar.difference(&all).collect::<Vec<_>>(), [&""; 0], "no view and not in NEVER");
    assert_eq!(all.difference(&grammar).collect::<Vec<_>>(), [&""; 0], "not in the grammar");
    assert_eq!(known.intersection(&never).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn the_enums_have_a_variant_for_every_kind_that_can_stand_there() {
    let language = unit("").root().language().to_owned();
    let never: BTreeSet<&str> = ast::NEVER.iter().copied().collect();
    for (supertype, kinds) in [
        ("expression", Expression::KINDS),
        ("statement", Statement::KINDS),
        ("type_specifier", TypeSpecifier::KINDS),
        ("_declarator", Declarator::KINDS),
        ("_field_declarator", Declarator::KINDS),
        ("_type_declarator", Declarator::KINDS),
        ("_abstract_declarator", AbstractDeclarator::KINDS),
    ] {
        let id = language.supertypes().iter().find(|id| language.node_kind_for_id(**id) == Some(supertype));
        let subtypes = language.subtypes_for_supertype(*id.expect("a supertype"));
        let names: BTreeSet<&str> = subtypes.iter().filter_map(|id| language.node_kind_for_id(*id)).collect();
        assert!(!names.is_empty());
        for name in names.difference(&never) {
            assert!(kinds.contains(name), "{supertype}: {name}");
        }
    }
}

#[test]
fn declarators_lead_to_their_name() {
    let unit = unit(
        "static const int *(*a)[3], b(int x), c = 1; struct s { int (*d)(void); }; typedef int *size_t, e[2];",
    );
    let names: Vec<_> = nodes(&unit)
        .into_iter()
        .filter(|node| matches!(node.kind(), "declaration" | "field_declaration" | "type_definition"))
        .flat_map(declarators)
        .map(|node| ast::InitDeclarator::of(node).and_then(|init| init.declarator()).unwrap_or(node))
        .map(|node| unit.node_text(Declarator::of(node).expect("a declarator").name()))
        .collect();
    assert_eq!(names, ["a", "b", "c", "d", "size_t", "e"]);
    let declaration = Declaration::of(unit.root().child(0).expect("an item")).expect("a declaration");
    assert_eq!(specifiers(declaration.node()).count(), 2);
    assert!(matches!(
        declaration.specifier().and_then(TypeSpecifier::of),
        Some(TypeSpecifier::PrimitiveType(_))
    ));
}

#[test]
fn irregular_shapes_have_accessors() {
    let unit = unit(
        "int f(int x) { switch (x) { case 1: x++; --x; default: ; } int a[9] = { [1 ... 2].y = 3 };
         return _Generic(x, int: 1, default: 2); }",
    );
    let case = CaseStatement::of(find(&unit, "case_statement", "case 1 : x ++ ; -- x ;")).expect("a case");
    assert_eq!((case.value().is_some(), case.body().count()), (true, 2));
    let prefix: Vec<_> = nodes(&unit)
        .into_iter()
        .filter_map(ast::UpdateExpression::of)
        .map(|update| update.is_prefix())
        .collect();
    assert_eq!(prefix, [false, true]);
    let pair = nodes(&unit).into_iter().find_map(InitializerPair::of).expect("a pair");
    assert_eq!(pair.designators().count(), 2);
    let generic = nodes(&unit).into_iter().find_map(GenericExpression::of).expect("a generic");
    let types: Vec<_> =
        generic.associations().map(|(of, value)| (unit.node_text(of), unit.node_text(value))).collect();
    assert_eq!(types, [("int", "1"), ("default", "2")]);
    assert!(matches!(generic.controlling(), Some(Expression::Identifier(_))));
}
