//! What to do with a keyword or a name: the table of all rewritings.

use super::attributes::AttributeStyle;
use super::brackets::Role;
use super::words::Word;
use super::{Normaliser, PlacedError};
use crate::error::SyntaxError;
use crate::marks;
use crate::token::{Token, TokenKind};

impl Normaliser<'_> {
    /// Reads a construct that starts with a word.
    pub(super) fn identifier(&mut self, token: Token) {
        let word = self.words.of(token.text);
        let called = self.peek(1) == Some(Word::OpenParen);
        match word {
            Word::BuiltinType if self.peek(1) == Some(Word::Complex) => self.base_type(),
            Word::Plain | Word::BuiltinType => self.name(token),
            Word::Masked | Word::MaskedBefore23 => self.masked(token),
            Word::Attribute => self.gnu_attributes(),
            Word::Declspec => self.declspec(),
            Word::CallConvention => self.keyword_attribute(AttributeStyle::Declspec),
            Word::Noreturn => self.keyword_attribute(AttributeStyle::Keyword),
            Word::Asm => self.asm(),
            Word::Extension | Word::Nullability => self.at += 1,
            Word::Base | Word::Signed | Word::Bool | Word::Complex => self.base_type(),
            Word::Const
            | Word::Volatile
            | Word::Inline
            | Word::ThreadLocal
            | Word::Storage
            | Word::Auto
            | Word::Typedef => self.modifier(),
            Word::Restrict => self.copy_as("restrict"),
            Word::Atomic => self.atomic(),
            Word::Struct | Word::Enum => self.tag(),
            Word::Typeof => self.type_of(marks::TYPEOF),
            Word::TypeofUnqual => self.type_of(marks::TYPEOF_UNQUAL),
            Word::Alignof => self.align_of(),
            Word::Alignas => self.copy_as("_Alignas"),
            Word::VaArg if called => self.typed_call("__builtin_va_arg", 0b10),
            Word::TypesCompatible if called => self.typed_call("__builtin_types_compatible_p", 0b11),
            Word::ConvertVector if called => self.typed_call("__builtin_convertvector", 0b10),
            Word::Offsetof if called => self.typed_call("__builtin_offsetof", 0b01),
            Word::VaArg | Word::TypesCompatible | Word::ConvertVector => self.name(token),
            Word::Offsetof => self.masked(token),
            Word::StaticAssert => self.static_assert(),
            Word::Real => self.complex_part(marks::REAL),
            Word::Imag => self.complex_part(marks::IMAG),
            Word::Goto => self.goto(),
            Word::Case => self.case(),
            Word::Default => self.default_label(),
            Word::BitInt => self.bit_int(),
            Word::Sizeof | Word::If | Word::Switch | Word::Loop | Word::Else | Word::Do | Word::Return => {
                self.copy()
            }
            // Punctuators are no identifiers.
            Word::OpenParen
            | Word::CloseParen
            | Word::OpenBrace
            | Word::CloseBrace
            | Word::OpenSquare
            | Word::CloseSquare
            | Word::Semicolon
            | Word::Comma
            | Word::Colon
            | Word::DoubleColon
            | Word::Question
            | Word::Ellipsis
            | Word::Star
            | Word::Hash
            | Word::Equals
            | Word::Dot => {
                self.copy();
            }
        }
    }

    /// A name that tree-sitter takes for a keyword gets another spelling.
    fn masked(&mut self, token: Token) {
        if self.words.of(token.text) == Word::MaskedBefore23 && self.c23_word.is_none() {
            self.c23_word = Some(token);
        }
        let name = format!("{}{}", marks::ID, self.texts.get(token.text));
        self.before_name(token);
        self.copy_as(&name);
    }

    /// An ordinary identifier.
    fn name(&mut self, token: Token) {
        self.before_name(token);
        self.copy();
    }

    /// What has to stand in front of a name, and what the name says about the declaration it is in.
    fn before_name(&mut self, token: Token) {
        if self.pieces.last().is_some_and(|piece| piece.kind == TokenKind::String) {
            self.name_beside_string(token);
        }
        let is_type = self.is_type_name(token.text, self.at);
        self.old_style_pointer();
        match self.role() {
            Role::Members => self.member_name(),
            Role::File | Role::Block if !is_type && !self.typedefs.may_contain(token.text) => {
                self.implicit_int()
            }
            _ => {}
        }
        if self.previous() == Some(Word::Dot) {
            return;
        }
        let opens = self.previous() == Some(Word::OpenParen);
        let marked = match self.role() {
            Role::TypeInParens => opens && is_type,
            // The argument itself says that this is a type.
            Role::TypedCall => opens && self.word_before_last() == Some(Word::Sizeof),
            // There are no expressions at file scope.
            Role::File | Role::Block | Role::Control => {
                let is_type = is_type || (self.role() == Role::File && self.typedefs.may_contain(token.text));
                is_type && self.at_declaration_start() && self.has_declarator_in_parens(self.at + 1)
            }
            _ => false,
        };
        if marked {
            let origin = self.at;
            self.insert(origin, &[marks::TYPE_FOLLOWS]);
        }
    }

    /// The grammar takes a name beside a string for a macro that is a string. There are none any more.
    pub(super) fn name_beside_string(&mut self, name: Token) {
        let text = self.texts.get(name.text);
        let error = SyntaxError::error(format!("`{text}` beside a string"), Some(name.expansion))
            .with_help("if it is a macro, the header that defines it is not included");
        let before = self.pieces.len();
        if self.errors.last().is_none_or(|last| last.error != error) {
            self.errors.push(PlacedError { error, before });
        }
    }

    fn word_before_last(&self) -> Option<Word> {
        let before = self.pieces.len().checked_sub(2)?;
        Some(self.words.of(self.pieces[before].text))
    }
}
