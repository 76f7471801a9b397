//! Statements that the grammar lacks: computed goto, case ranges, labels at the end of a block.

use super::brackets::{Bracket, Role};
use super::words::Word;
use super::{LastColon, Normaliser};
use crate::marks;
use crate::token::TokenKind;

impl Normaliser<'_> {
    /// Whether a statement or declaration may start here.
    pub(super) fn at_statement_start(&self) -> bool {
        if !matches!(self.role(), Role::File | Role::Block) {
            return false;
        }
        match self.previous() {
            None | Some(Word::Semicolon | Word::OpenBrace | Word::Else | Word::Do) => true,
            Some(Word::CloseBrace) => {
                matches!(self.last_closed, Role::Block)
            }
            Some(Word::CloseParen) => matches!(self.last_closed, Role::Control | Role::Switch),
            Some(Word::Colon) => self.last_colon == LastColon::Label,
            Some(_) => false,
        }
    }

    /// Whether a declaration may start here: a statement, or the first part of a `for`.
    pub(super) fn at_declaration_start(&self) -> bool {
        let mut before = self.pieces.iter().rev().map(|piece| self.words.of(piece.text));
        match self.role() {
            Role::Control => before.next() == Some(Word::OpenParen) && before.next() == Some(Word::Loop),
            _ => self.at_statement_start(),
        }
    }

    /// Whether what starts at a token looks like `(x)`, `*(x)` or `*const *(x)`: behind the name of a type a declarator, which the
    /// grammar takes for an argument or a factor.
    pub(super) fn has_declarator_in_parens(&self, mut at: usize) -> bool {
        loop {
            let Some(token) = self.tokens.get(at) else { return false };
            at = match self.words.of(token.text) {
                Word::OpenParen => return true,
                Word::Attribute => match self.groups.behind(at + 1) {
                    Some(behind) => behind,
                    None => return false,
                },
                Word::Star
                | Word::Const
                | Word::Volatile
                | Word::Restrict
                | Word::Atomic
                | Word::Nullability
                | Word::Extension => at + 1,
                _ => return false,
            };
        }
    }

    /// `goto *e;` becomes `__proofline_goto(e);`, other `goto`s stay.
    pub(super) fn goto(&mut self) {
        if self.peek(1) != Some(Word::Star) {
            self.copy();
            return;
        }
        self.close_pseudo();
        let origin = self.at;
        self.insert(origin, &[marks::GOTO, "("]);
        self.at += 2;
        self.stack.push(Bracket { on_close: &[")"], ..Bracket::new(Role::Goto) });
    }

    /// `case a ... b:` becomes `case __proofline_range(a, b):`.
    pub(super) fn case(&mut self) {
        let origin = self.at;
        self.close_pseudo();
        self.label_in_control();
        let is_range = self.has_ellipsis_before_colon();
        self.copy();
        if is_range {
            self.insert(origin, &[marks::RANGE, "("]);
        }
        let on_close: &[&str] = if is_range { &[")"] } else { &[] };
        self.stack.push(Bracket { on_close, ..Bracket::new(Role::Case) });
    }

    /// `default`, of a `switch` or a `_Generic`.
    pub(super) fn default_label(&mut self) {
        self.close_pseudo();
        self.label_in_control();
        self.copy();
    }

    /// `if (x) case 1: a(); b();`: the grammar takes all that follows a `case` for its own, here also
    /// `b();`, which is not in the `if`. Braces around the statement keep it apart.
    fn label_in_control(&mut self) {
        let mut words = self.pieces.iter().rev().map(|piece| self.words.of(piece.text)).peekable();
        while words.next_if_eq(&Word::Colon).is_some() {
            words.next();
        }
        let controlled = match words.next() {
            Some(Word::CloseParen) => self.last_closed == Role::Control,
            Some(word) => matches!(word, Word::Else | Word::Do),
            None => false,
        };
        if controlled {
            self.wrap_statement();
        }
    }

    fn has_ellipsis_before_colon(&self) -> bool {
        let (mut depth, mut questions) = (0usize, 0usize);
        for token in self.tokens.iter().skip(self.at + 1) {
            match self.words.of(token.text) {
                // A further `case` ends the search, so that no text makes it quadratic.
                Word::Case => return false,
                Word::OpenParen | Word::OpenSquare | Word::OpenBrace => depth += 1,
                Word::CloseParen | Word::CloseSquare | Word::CloseBrace if depth == 0 => return false,
                Word::CloseParen | Word::CloseSquare | Word::CloseBrace => depth -= 1,
                Word::Question if depth == 0 => questions += 1,
                Word::Colon if depth == 0 && questions == 0 => return false,
                Word::Colon if depth == 0 => questions -= 1,
                Word::Ellipsis if depth == 0 => return true,
                Word::Semicolon if depth == 0 => return false,
                _ => {}
            }
        }
        false
    }

    /// `label: }` needs a statement.
    pub(super) fn end_of_block(&mut self, origin: usize) {
        if self.previous() == Some(Word::Colon) && self.last_colon == LastColon::Label {
            self.insert(origin, &[";"]);
        }
    }

    /// `_Static_assert(…)`: a call where a statement may stand, nothing among members.
    pub(super) fn static_assert(&mut self) {
        if self.peek(1) != Some(Word::OpenParen) {
            self.copy();
        } else if self.role() == Role::Members {
            let Some(behind) = self.group(self.at + 1) else { return };
            self.asserts_in_structs.push(self.span_of(self.at, behind));
            self.at = behind;
        } else {
            self.copy_as(marks::STATIC_ASSERT);
            self.open(Bracket::new(Role::Paren));
        }
    }

    /// The role of a `(` that no keyword in front explains.
    pub(super) fn role_of_paren(&self) -> Role {
        match self.previous() {
            Some(Word::If | Word::Loop) => Role::Control,
            Some(Word::Switch) => Role::Switch,
            _ if self.is_type_in_parens() => Role::TypeInParens,
            _ => Role::Paren,
        }
    }

    /// Whether the `(` at hand holds a type and nothing else, as far as the tokens can tell.
    fn is_type_in_parens(&self) -> bool {
        self.starts_type(self.at + 1) && self.can_be_cast()
    }

    /// Whether an operand of an expression may stand here, so that `(` starts a cast.
    pub(super) fn can_be_cast(&self) -> bool {
        let Some(piece) = self.pieces.last() else { return false };
        let word = self.words.of(piece.text);
        match piece.kind {
            TokenKind::Number | TokenKind::String | TokenKind::Char => false,
            TokenKind::Identifier => {
                matches!(
                    word,
                    Word::Return
                        | Word::Sizeof
                        | Word::Case
                        | Word::Else
                        | Word::Do
                        | Word::Alignof
                        | Word::Alignas
                )
            }
            TokenKind::Punctuator | TokenKind::Other => match word {
                Word::CloseParen => {
                    matches!(self.last_closed, Role::TypeInParens | Role::Control | Role::Switch)
                }
                Word::CloseSquare | Word::CloseBrace => self.at_statement_start(),
                // A declarator's star: `char *(name)`, and a product's.
                Word::Star => self.star_is_operator(),
                _ => true,
            },
        }
    }

    /// Whether the `*` emitted last cannot belong to a declarator: what is before it is no type.
    fn star_is_operator(&self) -> bool {
        let Some(piece) = self.pieces.iter().rev().find(|piece| self.words.of(piece.text) != Word::Star)
        else {
            return false;
        };
        let word = self.words.of(piece.text);
        match piece.kind {
            TokenKind::Number | TokenKind::String | TokenKind::Char => true,
            TokenKind::Identifier => word == Word::Return || word == Word::Sizeof,
            TokenKind::Punctuator | TokenKind::Other => {
                matches!(
                    word,
                    Word::Equals | Word::OpenParen | Word::CloseSquare | Word::Semicolon | Word::OpenBrace
                )
            }
        }
    }
}
