//! The parsed translation unit: tree, normalised text, side tables, and the way back to what the user
//! wrote. Knows nothing of types or scopes.

mod attributes;
mod damage;
mod declared;
mod expansions;
mod parser;

use std::ops::Range;

use tree_sitter::{Node, Tree};

pub use attributes::{Attribute, Place};

use crate::error::{Severity, SyntaxError};
use crate::marks;
use crate::normalise::{Normalised, normalise};
use crate::source::{FileId, SourceFiles, Span};
use crate::token::{Preprocessed, Texts, Token};

/// A parsed translation unit. Read-only, `Send` and `Sync`.
///
/// The tree is of [`Unit::text`], the normalised text; [`crate::marks`] says what differs from C. The
/// side tables are asked by node: [`Unit::attributes`], [`Unit::pack`]. Whether a node may be trusted
/// is asked with [`Unit::is_damaged`].
#[derive(Debug)]
pub struct Unit {
    tree: Tree,
    text: String,
    /// Where each token starts in `text`, ascending.
    starts: Vec<u32>,
    /// Which of `tokens` stands at each of `starts`.
    origins: Vec<u32>,
    tokens: Vec<Token>,
    texts: Texts,
    files: SourceFiles,
    errors: Vec<SyntaxError>,
    attributes: attributes::Attributes,
    /// Packing in force from an offset on.
    packs: Vec<(u32, Option<u8>)>,
    /// Offsets at which something was not understood, ascending.
    damaged: Vec<u32>,
    too_deep: Vec<Range<usize>>,
    asserts_in_structs: Vec<Span>,
}

/// Parses preprocessed text. Never fails: what was not understood is in [`Unit::errors`].
#[must_use]
pub fn parse(pre: Preprocessed) -> Unit {
    parse_after(pre, None)
}

/// The same, faster where little has changed since an older text was parsed. Law: the unit is the one that [`parse`] gives.
#[must_use]
pub fn parse_after(mut pre: Preprocessed, older: Option<&Unit>) -> Unit {
    let normalised = normalise(&mut pre);
    let Preprocessed { files, tokens, texts, mut errors, .. } = pre;
    let Normalised { text, starts, origins, attributes, packs, errors: placed, asserts_in_structs, c23_word } =
        normalised;
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let offset = |piece: usize| starts.get(piece).copied().unwrap_or(end);
    let mut damaged: Vec<u32> = placed.iter().map(|placed| offset(placed.before)).collect();
    errors.extend(placed.into_iter().map(|placed| placed.error));
    let tree = match parser::tree_of(&text, older.map(|unit| (&unit.tree, &*unit.text))) {
        Ok(tree) => tree,
        Err(error) => {
            errors.push(error);
            damaged.push(0);
            parser::empty_tree()
        }
    };
    let packs = packs.into_iter().map(|(piece, pack)| (offset(piece), pack)).collect();
    let too_deep = damage::too_deep(&tree);
    let mut unit = Unit {
        attributes: attributes::Attributes::default(),
        tree,
        text,
        starts,
        origins,
        tokens,
        texts,
        files,
        errors,
        packs,
        damaged,
        too_deep,
        asserts_in_structs,
    };
    unit.place_attributes(attributes);
    unit.find_syntax_errors();
    if let Some(word) = c23_word.filter(|_| unit.tree.root_node().has_error()) {
        let message =
            format!("`{}` is a keyword of C23 and an ordinary name here", unit.texts.get(word.text));
        let help = "-std=c2x makes it a keyword";
        unit.errors.push(SyntaxError::warning(message, Some(word.expansion)).with_help(help));
    }
    unit.damaged.sort_unstable();
    unit
}

impl Unit {
    /// The root of the tree, a `translation_unit` (an `ERROR` when hardly anything was understood).
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The normalised text that the tree's offsets refer to. Masked names are masked in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a node. For a name that was masked ([`marks::ID`]) it is the name as written.
    #[must_use]
    pub fn node_text(&self, node: Node<'_>) -> &str {
        let text = self.text.get(node.byte_range()).unwrap_or("");
        text.strip_prefix(marks::ID).unwrap_or(text)
    }

    /// Where the user wrote this. For what came out of a macro's body it is the macro's name at the
    /// call; for an argument of a macro it is the argument.
    #[must_use]
    pub fn span(&self, node: Node<'_>) -> Span {
        self.span_by(node.byte_range(), |token| token.expansion)
    }

    /// Where the characters stand: for what came out of a macro, its definition.
    #[must_use]
    pub fn spelling_span(&self, node: Node<'_>) -> Span {
        self.span_by(node.byte_range(), |token| token.spelling)
    }

    /// Where the user wrote a range of the normalised text.
    #[must_use]
    pub fn span_of_range(&self, range: Range<usize>) -> Span {
        self.span_by(range, |token| token.expansion)
    }

    fn span_by(&self, range: Range<usize>, of: impl Fn(&Token) -> Span) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let first = self.token_at(offset(range.start));
        let last = self.token_at(offset(range.end.saturating_sub(1).max(range.start)));
        match (first, last) {
            (Some(first), Some(last)) => of(first).to(of(last)),
            (Some(only), None) | (None, Some(only)) => of(only),
            (None, None) => Span::new(FileId::MAIN, 0, 0),
        }
    }

    /// The token that the byte at `offset` of the normalised text was made from.
    #[must_use]
    pub fn token_at(&self, offset: u32) -> Option<&Token> {
        let at = self.starts.partition_point(|&start| start <= offset).checked_sub(1)?;
        self.tokens.get(*self.origins.get(at)? as usize)
    }

    /// The name of the outermost macro that the start of this node came through.
    #[must_use]
    pub fn macro_name(&self, node: Node<'_>) -> Option<&str> {
        let token = self.token_at(u32::try_from(node.start_byte()).ok()?)?;
        token.macro_name.map(|name| self.texts.get(name))
    }

    /// The packing (`#pragma pack`) for a `struct_specifier` or `union_specifier`, in bytes: that in
    /// force at its closing brace, as in GCC. `None` is the natural layout.
    #[must_use]
    pub fn pack(&self, specifier: Node<'_>) -> Option<u8> {
        let end = u32::try_from(specifier.end_byte()).unwrap_or(u32::MAX);
        let at = self.packs.partition_point(|&(from, _)| from < end).checked_sub(1)?;
        self.packs[at].1
    }

    /// Where `_Static_assert` stood among members; those elsewhere are calls in the tree.
    #[must_use]
    pub fn static_asserts_in_structs(&self) -> &[Span] {
        &self.asserts_in_structs
    }

    /// What is wrong with the text, that of the preprocessor included.
    #[must_use]
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    /// Whether anything is an error and not just a warning.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors.iter().any(|error| error.severity == Severity::Error)
    }

    /// The files that spans refer to.
    #[must_use]
    pub fn files(&self) -> &SourceFiles {
        &self.files
    }
}
