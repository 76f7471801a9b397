//! rucc's tokens, positions and diagnostics as ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use rucc_base::{Interner, Symbol};
use rucc_diag::{Diagnostic, SourceMap};
use rucc_lex::{PpTokenKind, TokenFlags};
use rucc_pp::Tok;
use rustc_hash::FxHashMap;

use crate::error::{Severity, SyntaxError};
use crate::limits::{MAX_ERRORS, MAX_TOKENS};
use crate::preprocess::HEADER_HELP;
use crate::source::{FileId, SourceFiles, Span};
use crate::token::{Pragma, Preprocessed, TextId, Texts, Token, TokenKind};

/// Everything of a run but its errors and dependencies.
pub(super) fn preprocessed(tokens: &[Tok], sources: &SourceMap, interner: &Interner) -> Preprocessed {
    let files = source_files(sources);
    let mut converter = Converter {
        files: &files,
        locate: Locator::new(sources),
        interner,
        texts: Texts::default(),
        known: FxHashMap::default(),
        last_macro: None,
    };
    let mut out = Preprocessed::default();
    let mut rest = tokens.iter().filter(|tok| !matches!(tok.kind, PpTokenKind::Eof)).peekable();
    while let Some(tok) = rest.next() {
        crate::interrupt::poll();
        let starts_line = tok.flags.has(TokenFlags::START_OF_LINE);
        let is_pragma = |next: &&&Tok| {
            next.ident().is_some_and(|name| interner.resolve(name) == "pragma")
                && !next.flags.has(TokenFlags::START_OF_LINE)
        };
        let hash = matches!(tok.kind, PpTokenKind::Punct(rucc_lex::Punct::Hash));
        if starts_line && hash && rest.peek().filter(is_pragma).is_some() {
            rest.next();
            let mut words = Vec::new();
            let mut span = converter.token(tok).expansion;
            while let Some(word) = rest.next_if(|next| !next.flags.has(TokenFlags::START_OF_LINE)) {
                let word = converter.token(word);
                words.push(converter.texts.get(word.text).to_owned());
                span = span.to(word.expansion);
            }
            out.pragmas.push(Pragma { before: out.tokens.len(), words, span });
            continue;
        }
        if out.tokens.len() == MAX_TOKENS {
            let message = format!("more than {MAX_TOKENS} tokens after macro expansion");
            out.errors.push(SyntaxError::error(message, None));
            break;
        }
        out.tokens.push(converter.token(tok));
    }
    out.texts = converter.texts;
    out.files = files;
    out
}

/// Appends the diagnostics of a run to `out`.
pub(super) fn errors(diagnostics: &[Diagnostic], sources: &SourceMap, out: &mut Preprocessed) {
    let mut locate = Locator::new(sources);
    // A header that is read again says the same again.
    let mut said = BTreeSet::new();
    for diagnostic in diagnostics {
        if said.len() == MAX_ERRORS {
            break;
        }
        use rucc_diag::Severity as Theirs;
        let severity = match diagnostic.severity {
            Theirs::Error | Theirs::Ice => Severity::Error,
            Theirs::Warning => Severity::Warning,
            Theirs::Note | Theirs::Help => continue,
        };
        let span = locate.span(diagnostic.span);
        if severity == Severity::Error && is_harmless_directive(diagnostic, span, out) {
            continue;
        }
        let in_system = span.is_some_and(|span| out.files.is_system(span.file));
        if severity == Severity::Warning && in_system {
            continue;
        }
        let place = span.map(|span| (out.files.path(span.file).to_owned(), span.start));
        if !said.insert((place, &diagnostic.message)) {
            continue;
        }
        let help = match diagnostic.code {
            Some("E0341") => missing_header_help(diagnostic),
            _ => None,
        };
        out.errors.push(SyntaxError { severity, message: diagnostic.message.clone(), span, help });
    }
}

/// `#ident "…"` and its like, which GCC takes and rucc does not know.
fn is_harmless_directive(diagnostic: &Diagnostic, span: Option<Span>, out: &Preprocessed) -> bool {
    let Some(span) = span.filter(|_| diagnostic.message.starts_with("invalid preprocessing directive"))
    else {
        return false;
    };
    let line = out.files.text(span.file).get(span.start as usize..).unwrap_or("");
    let word = line.trim_start_matches(['#', ' ', '\t']).split_whitespace().next();
    matches!(word, Some("ident" | "sccs" | "assert" | "unassert"))
}

/// Puts the bytes that are not UTF-8 back into strings and character constants, as octal escapes.
pub(super) fn restore_bytes(out: &mut Preprocessed, raw: &BTreeMap<PathBuf, Arc<[u8]>>) {
    if raw.is_empty() {
        return;
    }
    for at in 0..out.tokens.len() {
        let Token { kind, text, spelling, .. } = out.tokens[at];
        if !matches!(kind, TokenKind::String | TokenKind::Char) {
            continue;
        }
        let range = spelling.start as usize..spelling.end as usize;
        let bytes = raw.get(out.files.path(spelling.file)).and_then(|bytes| bytes.get(range));
        // Of another length are strings made by `#` and those with a line splice inside.
        let Some(bytes) = bytes.filter(|bytes| bytes.len() == out.texts.get(text).len()) else { continue };
        let mut restored = String::new();
        for chunk in bytes.utf8_chunks() {
            restored.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| restored.push_str(&format!("\\{byte:03o}")));
        }
        out.tokens[at].text = out.texts.intern(&restored);
    }
}

fn missing_header_help(diagnostic: &Diagnostic) -> Option<String> {
    let searched = diagnostic.children.first().map_or("", |note| note.message.as_str());
    Some(format!("{HEADER_HELP}; {searched}"))
}

fn source_files(sources: &SourceMap) -> SourceFiles {
    let mut files = SourceFiles::new();
    let mut locate = Locator::new(sources);
    for file in sources.files() {
        // Our file system only hands out text, so this copies and never replaces.
        let text: Arc<str> = String::from_utf8_lossy(file.bytes()).into();
        let from = file.included_from.and_then(|span| locate.span(span));
        files.add(file.name.clone().into(), text, from, sources.is_system(file.start));
    }
    files
}

/// From rucc's one space of positions to a file and an offset in it.
struct Locator {
    starts: Vec<u32>,
    last: usize,
}

impl Locator {
    fn new(sources: &SourceMap) -> Self {
        Self { starts: sources.files().iter().map(|file| file.start).collect(), last: 0 }
    }

    fn span(&mut self, span: rucc_diag::Span) -> Option<Span> {
        if span.is_dummy() {
            return None;
        }
        let after_last = self.starts.get(self.last + 1).is_none_or(|&next| span.lo < next);
        if !(self.starts.get(self.last).is_some_and(|&start| start <= span.lo) && after_last) {
            self.last = self.starts.partition_point(|&start| start <= span.lo).checked_sub(1)?;
        }
        let start = self.starts[self.last];
        let file = FileId(u32::try_from(self.last).ok()?);
        Some(Span::new(file, span.lo - start, span.hi.max(span.lo) - start))
    }
}

struct Converter<'a> {
    locate: Locator,
    files: &'a SourceFiles,
    interner: &'a Interner,
    texts: Texts,
    known: FxHashMap<Symbol, TextId>,
    last_macro: Option<(Span, TextId)>,
}

impl Converter<'_> {
    fn token(&mut self, tok: &Tok) -> Token {
        let nowhere = Span::new(FileId::MAIN, 0, 0);
        let spelling = self.locate.span(tok.span);
        let called = self.locate.span(tok.expansion);
        let expansion = match (spelling, called) {
            // An argument of a macro is written behind the macro's name in the same file. A body
            // is not: the definition stands before every use.
            (Some(spelling), Some(called))
                if spelling.file == called.file && spelling.start >= called.start =>
            {
                spelling
            }
            (spelling, called) => called.or(spelling).unwrap_or(nowhere),
        };
        let (kind, text) = match (tok.kind, tok.value) {
            (PpTokenKind::Punct(punct), _) => (TokenKind::Punctuator, self.texts.intern(punct.as_str())),
            (kind, Some(symbol)) => (category(kind), self.symbol(symbol)),
            (kind, None) => (category(kind), self.texts.intern("")),
        };
        Token {
            kind,
            text,
            spelling: spelling.unwrap_or(expansion),
            expansion,
            macro_name: self.macro_name(called),
            starts_line: tok.flags.has(TokenFlags::START_OF_LINE),
        }
    }

    fn symbol(&mut self, symbol: Symbol) -> TextId {
        let (texts, interner) = (&mut self.texts, self.interner);
        *self.known.entry(symbol).or_insert_with(|| texts.intern(interner.resolve(symbol)))
    }

    /// The macro's name as written at its call.
    fn macro_name(&mut self, called: Option<Span>) -> Option<TextId> {
        let called = called?;
        if let Some((span, name)) = self.last_macro
            && span == called
        {
            return Some(name);
        }
        let text = self.files.span_text(called);
        let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).next()?;
        let name = self.texts.intern(word);
        self.last_macro = Some((called, name));
        Some(name)
    }
}

fn category(kind: PpTokenKind) -> TokenKind {
    match kind {
        PpTokenKind::Ident => TokenKind::Identifier,
        PpTokenKind::Number => TokenKind::Number,
        PpTokenKind::CharConst => TokenKind::Char,
        PpTokenKind::StringLit => TokenKind::String,
        PpTokenKind::Punct(_) => TokenKind::Punctuator,
        PpTokenKind::HeaderName | PpTokenKind::Other | PpTokenKind::Eof => TokenKind::Other,
    }
}
