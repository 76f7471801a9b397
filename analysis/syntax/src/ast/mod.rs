//! Typed views of the tree: one newtype per kind of node, and enums to match on exhaustively.
//!
//! Views cost nothing and never fail: a child that a damaged tree lacks is `None`. They know the
//! grammar's shapes and none of their meaning. [`KINDS`] and [`NEVER`] together are all kinds that the
//! grammar has; a test holds that against the grammar, so that no kind is forgotten when it changes.

#[macro_use]
mod views;
mod declarations;
mod expressions;
mod statements;

use tree_sitter::Node;

pub use declarations::*;
pub use expressions::*;
pub use statements::*;

/// A view of a node of a certain kind.
pub trait View<'t>: Sized + Copy {
    /// The kinds of node it is a view of.
    const KINDS: &'static [&'static str];

    /// The view of a node, `None` if it is of another kind.
    fn of(node: Node<'t>) -> Option<Self>;

    /// The node.
    fn node(self) -> Node<'t>;
}

/// The named children of a node without what is no part of the program: comments and errors.
pub fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    children.into_iter().filter(|child| !child.is_extra() && !child.is_error())
}

/// The children that a view is of.
pub fn children_of<'t, V: View<'t>>(node: Node<'t>) -> impl Iterator<Item = V> {
    children(node).filter_map(V::of)
}

/// Every kind that a reader of normalised text has to know.
pub const KINDS: &[&[&str]] = &[
    Item::KINDS,
    Statement::KINDS,
    Expression::KINDS,
    TypeSpecifier::KINDS,
    Declarator::KINDS,
    AbstractDeclarator::KINDS,
    Initializer::KINDS,
    Designator::KINDS,
    Specifier::KINDS,
    TranslationUnit::KINDS,
    InitDeclarator::KINDS,
    TypeDescriptor::KINDS,
    FieldDeclarationList::KINDS,
    FieldDeclaration::KINDS,
    BitfieldClause::KINDS,
    EnumeratorList::KINDS,
    Enumerator::KINDS,
    ParameterList::KINDS,
    ParameterDeclaration::KINDS,
    VariadicParameter::KINDS,
    ElseClause::KINDS,
    ArgumentList::KINDS,
    CommaExpression::KINDS,
    AsmOutputs::KINDS,
    AsmInputs::KINDS,
    AsmClobbers::KINDS,
    AsmLabels::KINDS,
    AsmOutput::KINDS,
    AsmInput::KINDS,
    LEAVES,
];

/// Leaves without a view: their text says everything.
const LEAVES: &[&str] =
    &["statement_identifier", "gnu_asm_qualifier", "character", "escape_sequence", "string_content"];

/// Kinds that normalised text has no node of: the preprocessor's, Microsoft's, attributes, and what
/// the normaliser spells in another way.
pub const NEVER: &[&str] = &[
    "attribute",
    "attribute_declaration",
    "attribute_specifier",
    "attributed_declarator",
    "attributed_statement",
    "comment",
    "declaration_list",
    "extension_expression",
    "linkage_specification",
    "ms_based_modifier",
    "ms_call_modifier",
    "ms_declspec_modifier",
    "ms_pointer_modifier",
    "ms_restrict_modifier",
    "ms_signed_ptr_modifier",
    "ms_unaligned_ptr_modifier",
    "ms_unsigned_ptr_modifier",
    "offsetof_expression",
    "preproc_arg",
    "preproc_call",
    "preproc_def",
    "preproc_defined",
    "preproc_directive",
    "preproc_elif",
    "preproc_elifdef",
    "preproc_else",
    "preproc_function_def",
    "preproc_if",
    "preproc_ifdef",
    "preproc_include",
    "preproc_params",
    "seh_except_clause",
    "seh_finally_clause",
    "seh_leave_statement",
    "seh_try_statement",
    "system_lib_string",
];
