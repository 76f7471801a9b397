//! Declarations with a part left out, members and tags.

use super::Normaliser;
use super::brackets::Role;
use super::words::Word;
use crate::marks;
use crate::token::TokenKind;

impl Normaliser<'_> {
    /// `const`, `static`, `typedef`, … in the spelling that the grammar knows.
    pub(super) fn modifier(&mut self) {
        if self.at_statement_start() {
            self.top().needs_name = true;
        }
        let text = self.tokens[self.at].text;
        match self.words.of(text) {
            Word::Const if self.texts.get(text) != "constexpr" => self.copy_as("const"),
            Word::Volatile => self.copy_as("volatile"),
            Word::Inline => self.copy_as("inline"),
            Word::ThreadLocal => self.copy_as("__thread"),
            _ => self.copy(),
        }
    }

    /// `struct`, `union` or `enum` with its tag.
    pub(super) fn tag(&mut self) {
        if self.role() == Role::Members {
            self.top().has_type = true;
        }
        let is_enum = self.peek(0) == Some(Word::Enum);
        let start = self.at;
        self.copy();
        loop {
            match self.peek(0) {
                Some(Word::Attribute) => self.gnu_attributes(),
                Some(Word::Declspec) => self.declspec(),
                Some(Word::OpenSquare) if self.peek(1) == Some(Word::OpenSquare) => self.c23_attributes(),
                _ => break,
            }
        }
        let Some(&token) = self.tokens.get(self.at) else { return };
        if token.kind == TokenKind::Identifier {
            match self.words.of(token.text) {
                Word::Masked | Word::MaskedBefore23 | Word::Offsetof => {
                    self.copy_as(&format!("{}{}", crate::marks::ID, self.texts.get(token.text)));
                }
                _ => self.copy(),
            }
        }
        if is_enum && self.peek(0) == Some(Word::Colon) && self.starts_type(self.at + 1) {
            self.enum_with_type(start);
        }
    }

    /// `enum e : T`, of C23: not supported, and said so.
    fn enum_with_type(&mut self, start: usize) {
        let ends = |word| matches!(word, Word::OpenBrace | Word::Semicolon | Word::CloseBrace);
        let rest = self.tokens[self.at..].iter();
        let behind = self.at + rest.take_while(|token| !ends(self.words.of(token.text))).count();
        let span = self.span_of(start, behind);
        self.error("unsupported C23 enum with a fixed underlying type", span);
        self.at = behind;
    }

    /// Keeps track of type and declarator among members, to find bit-fields without a name.
    pub(super) fn member_name(&mut self) {
        let top = self.top();
        if top.has_type {
            top.has_name = true;
        } else {
            top.has_type = true;
        }
    }

    /// A parenthesis among members starts a declarator, or is a type's.
    pub(super) fn member_bracket(&mut self, role: Role) {
        if self.role() != Role::Members {
            return;
        }
        let top = self.top();
        match role {
            Role::Typeof => top.has_type = true,
            Role::Paren | Role::TypeInParens if top.has_type => top.has_name = true,
            _ => {}
        }
    }

    /// `typedef struct s { … };` and `static enum { … };` get a declarator that nothing names.
    pub(super) fn declaration_without_name(&mut self, origin: usize) {
        let closed = matches!(self.last_closed, Role::Members | Role::Enumerators);
        if self.top().needs_name && closed && self.previous() == Some(Word::CloseBrace) {
            let name = self.fresh();
            self.insert(origin, &[&name]);
        }
    }

    /// A declaration without a type means `int`: `static x;`, `main() { … }`.
    pub(super) fn implicit_int(&mut self) {
        let origin = self.at;
        if self.role() == Role::File && self.at_statement_start() {
            let is_declaration = match self.peek(1) {
                Some(Word::OpenParen) => self.body_behind_parameters().is_some() || self.declares_function(),
                Some(Word::Equals | Word::Semicolon | Word::Comma | Word::OpenSquare) => true,
                _ => false,
            };
            if is_declaration {
                self.insert(origin, &["int"]);
            }
            return;
        }
        let is_modifier = |word| {
            matches!(
                word,
                Word::Const | Word::Volatile | Word::Storage | Word::Inline | Word::ThreadLocal | Word::Auto
            )
        };
        if !self.previous().is_some_and(is_modifier) {
            return;
        }
        let words = self.pieces.iter().rev().map(|piece| self.words.of(piece.text));
        let modifiers: Vec<Word> = words.take_while(|&word| is_modifier(word)).collect();
        let before = self.pieces.len() - modifiers.len();
        let starts = match before.checked_sub(1).map(|at| self.words.of(self.pieces[at].text)) {
            None | Some(Word::Semicolon | Word::OpenBrace) => true,
            Some(Word::CloseBrace) => self.last_closed == Role::Block,
            Some(_) => false,
        };
        let declares = matches!(
            self.peek(1),
            Some(Word::Equals | Word::Semicolon | Word::Comma | Word::OpenSquare | Word::OpenParen)
        );
        if !(starts && declares) {
            return;
        }
        let inferred = self.c23 && modifiers.contains(&Word::Auto);
        self.insert(origin, &[if inferred { "__auto_type" } else { "int" }]);
    }

    /// `char *f(a) int a; { … }`: the grammar knows old-style definitions only without the star, so the
    /// result type becomes one word: `typeof(char *) f(a) int a; { … }`.
    pub(super) fn old_style_pointer(&mut self) {
        let pointer = |word| matches!(word, Word::Star | Word::Const | Word::Volatile | Word::Restrict);
        if self.role() != Role::File
            || !self.previous().is_some_and(pointer)
            || self.peek(1) != Some(Word::OpenParen)
            || self.body_behind_parameters() != Some(Body::BehindDeclarations)
        {
            return;
        }
        let word = |at: usize| self.words.of(self.pieces[at].text);
        let mut stars = self.pieces.len();
        while stars > 0 && pointer(word(stars - 1)) {
            stars -= 1;
        }
        let is_type = |at: usize| {
            self.pieces[at].kind == TokenKind::Identifier
                && !matches!(word(at), Word::Storage | Word::Inline | Word::ThreadLocal | Word::Typedef)
        };
        let mut start = stars;
        while start > 0 && is_type(start - 1) {
            start -= 1;
        }
        let has_star = (stars..self.pieces.len()).any(|at| word(at) == Word::Star);
        if start == stars || !has_star {
            return;
        }
        let origin = self.pieces[start].origin as usize;
        let tail = self.pieces.split_off(start);
        let before = self.pieces.len();
        self.insert(origin, &[marks::TYPE_FOLLOWS, marks::TYPEOF, "("]);
        let inserted = self.pieces.len() - before;
        self.pieces.extend(tail);
        let behind = self.at;
        self.insert(behind, &[")"]);
        let moved = self.attributes.iter_mut().rev().take_while(|attribute| attribute.before > start);
        moved.for_each(|attribute| attribute.before += inserted);
    }

    /// Whether `f(…)` at hand ends like a declaration.
    fn declares_function(&self) -> bool {
        let next = self.groups.behind(self.at + 1).and_then(|behind| self.tokens.get(behind));
        next.is_some_and(|next| matches!(self.words.of(next.text), Word::Semicolon | Word::Comma))
    }

    /// Whether and how `f(…)` at hand is followed by a body.
    fn body_behind_parameters(&self) -> Option<Body> {
        const FAR: usize = 400;
        let behind = self.groups.behind(self.at + 1)?;
        let mut rest = self.tokens[behind..].iter().take(FAR);
        let next = rest.next()?;
        match self.words.of(next.text) {
            Word::OpenBrace => return Some(Body::AtOnce),
            _ if next.kind == TokenKind::Identifier => {}
            _ => return None,
        }
        let mut last = Word::Plain;
        for token in rest {
            match self.words.of(token.text) {
                Word::OpenBrace => return (last == Word::Semicolon).then_some(Body::BehindDeclarations),
                Word::Equals | Word::CloseBrace => return None,
                word => last = word,
            }
        }
        None
    }
}

/// Where the body of a function definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Behind the parameter list.
    AtOnce,
    /// Behind old-style parameter declarations.
    BehindDeclarations,
}
