//! Views of statements and of what stands at file scope.

use tree_sitter::Node;

use super::declarations::{Declaration, FunctionDefinition, TypeDefinition};
use super::{View, children_of};

views! {
    /// The whole text.
    TranslationUnit = "translation_unit" {}
    /// `{ … }`.
    CompoundStatement = "compound_statement" {}
    /// An expression or nothing, and `;`.
    ExpressionStatement = "expression_statement" {}
    /// `name: …`.
    LabeledStatement = "labeled_statement" {
        /// The label's name.
        label: "label",
    }
    /// `case e:` or `default:` with the statements up to the next one.
    CaseStatement = "case_statement" {
        /// The expression (a [`crate::marks::RANGE`] call for a range); none is `default`.
        value: "value",
    }
    /// `if (…) … else …`.
    IfStatement = "if_statement" {
        /// In parentheses.
        condition: "condition",
        /// The statement behind the condition.
        consequence: "consequence",
        /// The [`ElseClause`].
        alternative: "alternative",
    }
    /// `else …`.
    ElseClause = "else_clause" {}
    /// `switch (…) { … }`.
    SwitchStatement = "switch_statement" {
        /// In parentheses.
        condition: "condition",
        /// A compound statement.
        body: "body",
    }
    /// `while (…) …`.
    WhileStatement = "while_statement" {
        /// In parentheses.
        condition: "condition",
        /// The statement that is repeated.
        body: "body",
    }
    /// `do … while (…);`.
    DoStatement = "do_statement" {
        /// The statement that is repeated.
        body: "body",
        /// In parentheses.
        condition: "condition",
    }
    /// `for (…; …; …) …`.
    ForStatement = "for_statement" {
        /// An expression or a declaration.
        initializer: "initializer",
        /// An expression.
        condition: "condition",
        /// An expression.
        update: "update",
        /// The statement that is repeated.
        body: "body",
    }
    /// `return …;`.
    ReturnStatement = "return_statement" {}
    /// `break;`.
    BreakStatement = "break_statement" {}
    /// `continue;`.
    ContinueStatement = "continue_statement" {}
    /// `goto name;`.
    GotoStatement = "goto_statement" {
        /// The label's name.
        label: "label",
    }
}

one_of! {
    /// A statement. In blocks there are declarations beside them.
    Statement {
        CompoundStatement, ExpressionStatement, LabeledStatement, CaseStatement, IfStatement, SwitchStatement,
        WhileStatement, DoStatement, ForStatement, ReturnStatement, BreakStatement, ContinueStatement, GotoStatement,
    }
}

one_of! {
    /// What declares something at file scope or in a block. A `struct s { … };` alone is a bare
    /// [`super::TypeSpecifier`]; a static assertion or top-level `asm` is an [`ExpressionStatement`].
    Item { FunctionDefinition, Declaration, TypeDefinition }
}

impl<'t> ElseClause<'t> {
    /// The statement behind `else`.
    #[must_use]
    pub fn statement(self) -> Option<Statement<'t>> {
        children_of(self.node()).next()
    }
}

impl<'t> CaseStatement<'t> {
    /// Statements and declarations behind the colon.
    pub fn body(self) -> impl Iterator<Item = Node<'t>> {
        let value = self.value();
        super::children(self.node()).filter(move |child| Some(*child) != value)
    }
}
