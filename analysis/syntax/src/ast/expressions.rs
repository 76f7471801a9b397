//! Views of expressions, initialisers and inline assembly.

use tree_sitter::Node;

use super::{View, children, children_of};

views! {
    /// A name.
    Identifier = "identifier" {}
    /// A number in C's spelling.
    NumberLiteral = "number_literal" {}
    /// A character constant with prefix and quotes.
    CharLiteral = "char_literal" {}
    /// One string literal with prefix and quotes.
    StringLiteral = "string_literal" {}
    /// Several string literals in a row.
    ConcatenatedString = "concatenated_string" {}
    /// `true`, of C23.
    True = "true" {}
    /// `false`, of C23.
    False = "false" {}
    /// `NULL` without a header that defines it, or `nullptr`.
    Null = "null" {}
    /// `(e)`, or a statement expression `({ … })`.
    ParenthesizedExpression = "parenthesized_expression" {}
    /// `a, b`.
    CommaExpression = "comma_expression" {
        /// The first expression.
        left: "left",
        /// The rest, which may be a comma expression.
        right: "right",
    }
    /// `a ? b : c` or `a ?: c`.
    ConditionalExpression = "conditional_expression" {
        /// Before the `?`.
        condition: "condition",
        /// Between; may be missing.
        consequence: "consequence",
        /// Behind the `:`.
        alternative: "alternative",
    }
    /// `a = b`, `a += b`, ….
    AssignmentExpression = "assignment_expression" {
        /// What is assigned to.
        left: "left",
        /// The operator's token.
        operator: "operator",
        /// The value.
        right: "right",
    }
    /// `a + b`, `a && b`, ….
    BinaryExpression = "binary_expression" {
        /// The first operand.
        left: "left",
        /// The operator's token.
        operator: "operator",
        /// The second operand.
        right: "right",
    }
    /// `!a`, `~a`, `-a`, `+a`.
    UnaryExpression = "unary_expression" {
        /// The operator's token.
        operator: "operator",
        /// The operand.
        argument: "argument",
    }
    /// `++a`, `a--`.
    UpdateExpression = "update_expression" {
        /// The operator's token; before the operand if it is a prefix.
        operator: "operator",
        /// The operand.
        argument: "argument",
    }
    /// `*a`, `&a`.
    PointerExpression = "pointer_expression" {
        /// The operator's token.
        operator: "operator",
        /// The operand.
        argument: "argument",
    }
    /// `(T)e`.
    CastExpression = "cast_expression" {
        /// A [`super::TypeDescriptor`].
        target: "type",
        /// The operand.
        value: "value",
    }
    /// `sizeof e`, `sizeof(T)`.
    SizeofExpression = "sizeof_expression" {
        /// An expression; a name in parentheses may be a type.
        value: "value",
        /// A [`super::TypeDescriptor`].
        target: "type",
    }
    /// `_Alignof(T)`.
    AlignofExpression = "alignof_expression" {
        /// A [`super::TypeDescriptor`].
        target: "type",
    }
    /// `_Generic(e, T: e, …)`.
    GenericExpression = "generic_expression" {}
    /// `a[b]`.
    SubscriptExpression = "subscript_expression" {
        /// Before the bracket.
        argument: "argument",
        /// Inside.
        index: "index",
    }
    /// `f(…)`.
    CallExpression = "call_expression" {
        /// What is called.
        function: "function",
        /// The [`ArgumentList`].
        arguments: "arguments",
    }
    /// `(…)` of a call.
    ArgumentList = "argument_list" {}
    /// `a.b`, `a->b`.
    FieldExpression = "field_expression" {
        /// Before the operator.
        argument: "argument",
        /// `.` or `->`.
        operator: "operator",
        /// The member's name.
        field: "field",
    }
    /// `(T){ … }`.
    CompoundLiteral = "compound_literal_expression" {
        /// A [`super::TypeDescriptor`].
        target: "type",
        /// An [`InitializerList`].
        value: "value",
    }
    /// `asm (…)`.
    AsmExpression = "gnu_asm_expression" {
        /// A string.
        code: "assembly_code",
        /// [`AsmOutputs`].
        outputs: "output_operands",
        /// [`AsmInputs`].
        inputs: "input_operands",
        /// [`AsmClobbers`].
        clobbers: "clobbers",
        /// [`AsmLabels`].
        labels: "goto_labels",
    }
    /// `: "=r"(a), …`.
    AsmOutputs = "gnu_asm_output_operand_list" {}
    /// `: "r"(a), …`.
    AsmInputs = "gnu_asm_input_operand_list" {}
    /// `: "memory", …`.
    AsmClobbers = "gnu_asm_clobber_list" {}
    /// `: label, …`.
    AsmLabels = "gnu_asm_goto_list" {}
    /// `[name] "=r"(a)`.
    AsmOutput = "gnu_asm_output_operand" {
        /// A string.
        constraint: "constraint",
        /// The lvalue that is written.
        value: "value",
    }
    /// `[name] "r"(a)`.
    AsmInput = "gnu_asm_input_operand" {
        /// A string.
        constraint: "constraint",
        /// The value that is read.
        value: "value",
    }
    /// `{ … }` of an initialiser.
    InitializerList = "initializer_list" {}
    /// `.x[1] = e`, `x: e`.
    InitializerPair = "initializer_pair" {
        /// The value.
        value: "value",
    }
    /// `[e]`.
    SubscriptDesignator = "subscript_designator" {}
    /// `[a ... b]`.
    RangeDesignator = "subscript_range_designator" {
        /// The first index.
        start: "start",
        /// The last index.
        end: "end",
    }
    /// `.x`.
    FieldDesignator = "field_designator" {}
    /// The name of a member.
    FieldIdentifier = "field_identifier" {}
}

one_of! {
    /// An expression. (`a, b` is a [`CommaExpression`] and stands only where C has a full expression.)
    Expression {
        Identifier, NumberLiteral, CharLiteral, StringLiteral, ConcatenatedString, True, False, Null,
        ParenthesizedExpression, ConditionalExpression, AssignmentExpression, BinaryExpression,
        UnaryExpression, UpdateExpression, PointerExpression, CastExpression, SizeofExpression, AlignofExpression,
        GenericExpression, SubscriptExpression, CallExpression, FieldExpression, CompoundLiteral, AsmExpression,
    }
}

one_of! {
    /// What stands in an initialiser beside expressions.
    Initializer { InitializerList, InitializerPair }
}

one_of! {
    /// What an initialiser names.
    Designator { SubscriptDesignator, RangeDesignator, FieldDesignator, FieldIdentifier }
}

impl<'t> InitializerPair<'t> {
    /// The designators, outermost first.
    pub fn designators(self) -> impl Iterator<Item = Designator<'t>> {
        let mut cursor = self.node().walk();
        let nodes: Vec<Node<'t>> = self.node().children_by_field_name("designator", &mut cursor).collect();
        nodes.into_iter().filter_map(Designator::of)
    }
}

impl<'t> GenericExpression<'t> {
    /// The expression whose type decides.
    #[must_use]
    pub fn controlling(self) -> Option<Expression<'t>> {
        children_of(self.node()).next()
    }

    /// Each type with its value. The type of `default` is a type named `default`.
    pub fn associations(self) -> impl Iterator<Item = (Node<'t>, Node<'t>)> {
        let rest: Vec<Node<'t>> = children(self.node()).skip(1).collect();
        rest.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>().into_iter()
    }
}

impl UpdateExpression<'_> {
    /// Whether the operator stands before its operand.
    #[must_use]
    pub fn is_prefix(self) -> bool {
        match (self.operator(), self.argument()) {
            (Some(operator), Some(argument)) => operator.start_byte() < argument.start_byte(),
            _ => false,
        }
    }
}
