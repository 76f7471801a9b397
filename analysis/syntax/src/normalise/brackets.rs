//! The stack of open brackets: which construct we are in, and what to add when it closes.

use super::words::Word;
use super::{LastColon, Normaliser};
use crate::limits::MAX_BRACKETS;
use crate::token::Token;

/// What an open bracket belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing is open.
    File,
    /// `{` of a function, a statement or a statement expression.
    Block,
    /// `{` of a struct or union.
    Members,
    /// `{` of an enum.
    Enumerators,
    /// `{` of an initialiser.
    Values,
    /// `[`.
    Square,
    /// `(` of no special construct.
    Paren,
    /// `(` around nothing but a type name.
    TypeInParens,
    /// `(` of `if`, `while`, `for`.
    Control,
    /// `(` of `switch`.
    Switch,
    /// `(` of an `asm` statement.
    Asm,
    /// `(` of a call whose arguments named by `Bracket::type_argument` are types.
    TypedCall,
    /// `(` of `typeof` and its like: something of the grammar of types.
    Typeof,
    /// From `case` to its colon: no bracket, it ends with the `:`.
    Case,
    /// From `goto *` to the semicolon: no bracket.
    Goto,
}

/// An open bracket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bracket {
    pub(super) role: Role,
    /// Emitted behind the closing bracket, or in front of the `:` or `;` that ends a pseudo bracket.
    pub(super) on_close: &'static [&'static str],
    /// In `TypedCall`: which arguments are types, as a bit set.
    pub(super) type_arguments: u8,
    /// In `TypedCall`: the argument being read.
    pub(super) argument: u8,
    /// In `Case` and blocks: how many `?` wait for their `:`.
    pub(super) questions: u32,
    /// In `Members`: the type of the member has been read.
    pub(super) has_type: bool,
    /// In `Members`: the declarator of the member has been read.
    pub(super) has_name: bool,
    /// In `File` and `Block`: the declaration being read started with a word that the grammar wants
    /// a declarator for.
    pub(super) needs_name: bool,
}

impl Bracket {
    pub(super) fn new(role: Role) -> Self {
        Self {
            role,
            on_close: &[],
            type_arguments: 0,
            argument: 0,
            questions: 0,
            has_type: false,
            has_name: false,
            needs_name: false,
        }
    }

    fn is_pseudo(&self) -> bool {
        matches!(self.role, Role::Case | Role::Goto)
    }
}

impl Normaliser<'_> {
    /// Copies a punctuator and keeps the stack.
    pub(super) fn punctuator(&mut self, token: Token) {
        match self.words.of(token.text) {
            Word::OpenParen => {
                let role = self.role_of_paren();
                self.open(Bracket::new(role));
            }
            Word::OpenSquare if self.peek(1) == Some(Word::OpenSquare) => self.c23_attributes(),
            Word::OpenSquare => {
                let on_close = self.behind_square();
                self.open(Bracket { on_close, ..Bracket::new(Role::Square) });
            }
            Word::OpenBrace => {
                let role = self.role_of_brace();
                self.open(Bracket::new(role));
            }
            Word::CloseParen | Word::CloseSquare | Word::CloseBrace => self.close(),
            Word::Semicolon => self.semicolon(),
            Word::Comma => self.comma(),
            Word::Colon => self.colon(),
            Word::DoubleColon => {
                let origin = self.at;
                self.insert(origin, &[":", ":"]);
                self.at += 1;
            }
            Word::Question => {
                self.top().questions += 1;
                self.copy();
            }
            Word::Hash => self.stray(token),
            Word::Ellipsis if self.role() == Role::Case => self.copy_as(","),
            _ => self.copy(),
        }
    }

    /// What stands behind a `[…]`: GNU's old designators (`{[N] value}`) have no `=`.
    fn behind_square(&self) -> &'static [&'static str] {
        let begins_value = matches!(self.previous(), Some(Word::OpenBrace | Word::Comma));
        let behind = self.groups.behind(self.at).and_then(|behind| self.tokens.get(behind));
        let next = behind.map(|token| self.words.of(token.text));
        let goes_on = matches!(next, Some(Word::Equals | Word::Dot | Word::OpenSquare) | None);
        if self.role() == Role::Values && begins_value && !goes_on { &["="] } else { &[] }
    }

    /// Copies an opening bracket, or drops the whole group where it is too deep for any reader.
    pub(super) fn open(&mut self, bracket: Bracket) {
        if self.stack.len() > MAX_BRACKETS as usize {
            let behind = self.groups.behind(self.at).unwrap_or(self.tokens.len());
            let span = self.span_of(self.at, behind);
            self.error(format!("brackets are nested deeper than {MAX_BRACKETS}"), span);
            // An empty pair in its place, so that what is around it still parses.
            let stand_in: &[&str] = match self.words.of(self.tokens[self.at].text) {
                Word::OpenBrace => &["{", "}"],
                Word::OpenSquare => &["[", "0", "]"],
                _ => &["(", "0", ")"],
            };
            let origin = self.at;
            self.insert(origin, stand_in);
            self.at = behind;
            return;
        }
        self.member_bracket(bracket.role);
        self.copy();
        self.stack.push(bracket);
        if bracket.type_arguments & 1 != 0 {
            let origin = self.at - 1;
            self.insert(origin, &["sizeof", "("]);
        }
    }

    /// Copies a closing bracket with what its construct needs around it.
    fn close(&mut self) {
        let closing = self.words.of(self.tokens[self.at].text);
        self.close_pseudo();
        let matches = |role: Role| match closing {
            Word::CloseBrace => {
                matches!(role, Role::Block | Role::Members | Role::Enumerators | Role::Values)
            }
            Word::CloseSquare => role == Role::Square,
            _ => !matches!(
                role,
                Role::File
                    | Role::Block
                    | Role::Members
                    | Role::Enumerators
                    | Role::Values
                    | Role::Square
                    | Role::Case
                    | Role::Goto
            ),
        };
        // A brace closes whatever was forgotten inside it; other brackets only their own kind.
        if closing == Word::CloseBrace && self.stack.iter().skip(1).any(|open| matches(open.role)) {
            while self.stack.len() > 1 && !matches(self.role()) {
                self.stack.pop();
            }
        }
        let origin = self.at;
        if self.stack.len() < 2 || !matches(self.role()) {
            self.copy();
            return;
        }
        let Some(bracket) = self.stack.pop() else { return };
        if bracket.role == Role::TypedCall && bracket.type_arguments >> bracket.argument & 1 != 0 {
            self.insert(origin, &[")"]);
        }
        if bracket.role == Role::Block {
            self.end_of_block(origin);
        }
        // GNU C lets the last member go without its semicolon.
        let ended = matches!(self.previous(), Some(Word::Semicolon | Word::OpenBrace));
        if bracket.role == Role::Members && !ended {
            self.insert(origin, &[";"]);
        }
        // In front of the bracket for typeof, whose operand is wrapped.
        if bracket.role == Role::Typeof {
            self.insert(origin, bracket.on_close);
            self.copy();
        } else {
            self.copy();
            self.insert(origin, bracket.on_close);
        }
        self.last_closed = bracket.role;
        if bracket.role == Role::Block {
            // The end of a function is the end of its declaration.
            self.top().needs_name = false;
        }
        if bracket.role == Role::Switch && self.peek(0) != Some(Word::OpenBrace) {
            self.wrap_statement();
        }
    }

    /// Ends a `case` or `goto *` that lacks its colon or semicolon.
    pub(super) fn close_pseudo(&mut self) {
        while let Some(bracket) = self.stack.last().copied().filter(Bracket::is_pseudo) {
            self.stack.pop();
            let origin = self.at.min(self.tokens.len().saturating_sub(1));
            self.insert(origin, bracket.on_close);
        }
    }

    fn semicolon(&mut self) {
        self.close_pseudo();
        let origin = self.at;
        match self.role() {
            // A lone `;` among members is nothing, and the grammar has no place for it.
            Role::Members if matches!(self.previous(), Some(Word::Semicolon | Word::OpenBrace)) => {
                self.at += 1;
                return;
            }
            Role::Members => {
                let top = self.top();
                (top.has_type, top.has_name) = (false, false);
            }
            Role::File | Role::Block => {
                self.declaration_without_name(origin);
                let top = self.top();
                (top.needs_name, top.questions) = (false, 0);
            }
            _ => {}
        }
        self.copy();
    }

    fn comma(&mut self) {
        let origin = self.at;
        let top = self.top();
        match top.role {
            Role::Members => top.has_name = false,
            Role::TypedCall => {
                let was_type = top.type_arguments >> top.argument & 1 != 0;
                top.argument = (top.argument + 1).min(7);
                let is_type = top.type_arguments >> top.argument & 1 != 0;
                self.insert(origin, if was_type { &[")"] } else { &[] });
                self.copy();
                self.insert(origin, if is_type { &["sizeof", "("] } else { &[] });
                return;
            }
            _ => {}
        }
        self.copy();
    }

    fn colon(&mut self) {
        let origin = self.at;
        self.last_colon = LastColon::Other;
        let top = self.top();
        if top.questions > 0 {
            top.questions -= 1;
        } else {
            match top.role {
                Role::Case => {
                    let on_close = top.on_close;
                    self.stack.pop();
                    self.insert(origin, on_close);
                    self.last_colon = LastColon::Label;
                }
                Role::Members if !top.has_name => {
                    top.has_name = true;
                    let name = self.fresh();
                    self.insert(origin, &[&name]);
                }
                Role::Block => self.last_colon = LastColon::Label,
                _ => {}
            }
        }
        self.copy();
    }

    /// What the `{` at hand opens, seen from the pieces before it.
    fn role_of_brace(&self) -> Role {
        if self.role() == Role::Values {
            return Role::Values;
        }
        let mut before = self.pieces.iter().rev().map(|piece| (piece.kind, self.words.of(piece.text)));
        let Some((kind, last)) = before.next() else { return Role::Block };
        let tagged = |word| match word {
            Word::Struct => Some(Role::Members),
            Word::Enum => Some(Role::Enumerators),
            _ => None,
        };
        if let Some(role) = tagged(last) {
            return role;
        }
        if last == Word::Equals {
            return Role::Values;
        }
        if kind == crate::token::TokenKind::Identifier
            && let Some(role) = before.next().and_then(|(_, word)| tagged(word))
        {
            return role;
        }
        // A compound literal's brace follows a type in parentheses; `(a) {` is no C otherwise inside an
        // expression. At statement level, `)` ends `if (…)`, a parameter list or an attribute.
        let in_expression = matches!(
            self.role(),
            Role::Paren | Role::Square | Role::TypedCall | Role::Typeof | Role::Control | Role::Case
        );
        match last {
            Word::CloseParen if self.last_closed == Role::TypeInParens || in_expression => Role::Values,
            _ => Role::Block,
        }
    }
}
