//! Reading the output of `cc -E`: tokens, line markers, pragmas, messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rucc_base::Interner;
use rucc_lex::{PpToken, PpTokenKind, TokenFlags};
use rustc_hash::FxHashMap;

use crate::error::{Severity, SyntaxError};
use crate::flags::{Edition, Flags};
use crate::fs::FileSystem;
use crate::preprocess::main_file::decode;
use crate::source::{FileId, Span};
use crate::token::{Pragma, Preprocessed, Token, TokenKind};

pub(super) struct Reader<'a> {
    fs: &'a dyn FileSystem,
    lex: rucc_lex::Options,
    ids: FxHashMap<PathBuf, FileId>,
    pub(super) out: Preprocessed,
}

/// Where the output being read says that it comes from.
#[derive(Clone, Copy)]
struct Place {
    file: FileId,
    /// The line of `file`, from 0, that the line `at` of the output shows.
    line: u32,
    at: u32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(fs: &'a dyn FileSystem, flags: &Flags) -> Self {
        use rucc_session::Std;
        let std = if flags.standard.edition >= Edition::C23 { Std::C23 } else { Std::C17 };
        let lex = rucc_lex::Options::for_dialect(std, true, false);
        Self { fs, lex, ids: FxHashMap::default(), out: Preprocessed::default() }
    }

    pub(super) fn finish(self) -> Preprocessed {
        self.out
    }

    pub(super) fn add_main(&mut self, path: &Path, text: Arc<str>) {
        let id = self.out.files.add(path.to_owned(), text, None, false);
        self.ids.insert(path.to_owned(), id);
    }

    fn file(&mut self, path: &Path, system: bool) -> FileId {
        if let Some(&id) = self.ids.get(path) {
            return id;
        }
        let text = self.fs.read(path).map_or_else(|_| "".into(), |bytes| decode(&bytes).text);
        if !text.is_empty() {
            self.out.dependencies.push(path.to_owned());
        }
        let id = self.out.files.add(path.to_owned(), text, None, system);
        self.ids.insert(path.to_owned(), id);
        id
    }

    /// Reads everything that the compiler wrote.
    pub(super) fn read(&mut self, text: &str, messages: &str) {
        let mut interner = Interner::new();
        let (tokens, _) = rucc_lex::tokenize(text.as_bytes(), 0, self.lex, &mut interner);
        let spelling = |token: &PpToken| match token.kind {
            PpTokenKind::Punct(punct) => punct.as_str(),
            _ => token.value.map_or("", |symbol| interner.resolve(symbol)),
        };
        let newlines: Vec<u32> = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX))
            .collect();
        let line_of = |at: u32| u32::try_from(newlines.partition_point(|&end| end < at)).unwrap_or(u32::MAX);
        let mut place = Place { file: FileId::MAIN, line: 0, at: 0 };
        let mut column = (Place { line: u32::MAX, ..place }, 0usize);
        let mut rest = tokens.iter().filter(|token| !token.is_eof()).peekable();
        while let Some(token) = rest.next() {
            let starts_line = token.flags.has(TokenFlags::START_OF_LINE);
            if starts_line && matches!(token.kind, PpTokenKind::Punct(rucc_lex::Punct::Hash)) {
                let mut words = Vec::new();
                while let Some(word) = rest.next_if(|next| !next.flags.has(TokenFlags::START_OF_LINE)) {
                    words.push(spelling(word));
                }
                let line = line_of(token.span.lo);
                if let Some(marked) = self.line_marker(&words, line) {
                    place = marked;
                } else if words.first() == Some(&"pragma") {
                    let span = self.line_span(place, line);
                    let words = words[1..].iter().map(|word| (*word).to_owned()).collect();
                    self.out.pragmas.push(Pragma { before: self.out.tokens.len(), words, span });
                }
                continue;
            }
            let text = spelling(token);
            let line = line_of(token.span.lo);
            let here = Place { line: place.line + (line - place.at), at: line, ..place };
            if (column.0.file, column.0.line) != (here.file, here.line) {
                column = (here, 0);
            }
            let whole = self.line_span(place, line);
            let source = self.out.files.span_text(whole);
            let span = match source.get(column.1..).and_then(|rest| rest.find(text)) {
                Some(found) if !text.is_empty() => {
                    let start = column.1 + found;
                    column.1 = start + text.len();
                    let offset = |at: usize| whole.start + u32::try_from(at).unwrap_or(u32::MAX);
                    Span::new(whole.file, offset(start), offset(start + text.len()))
                }
                _ => whole,
            };
            let text = self.out.texts.intern(text);
            let kind = match token.kind {
                PpTokenKind::Ident => TokenKind::Identifier,
                PpTokenKind::Number => TokenKind::Number,
                PpTokenKind::CharConst => TokenKind::Char,
                PpTokenKind::StringLit => TokenKind::String,
                PpTokenKind::Punct(_) => TokenKind::Punctuator,
                PpTokenKind::HeaderName | PpTokenKind::Other | PpTokenKind::Eof => TokenKind::Other,
            };
            let token = Token { kind, text, spelling: span, expansion: span, macro_name: None, starts_line };
            self.out.tokens.push(token);
        }
        self.messages(messages);
    }

    /// `# 12 "file.h" 3`, shown on line `at` of the output.
    fn line_marker(&mut self, words: &[&str], at: u32) -> Option<Place> {
        let [number, name, flags @ ..] = words else { return None };
        let line: u32 = number.parse().ok()?;
        let name = name.strip_prefix('"')?.strip_suffix('"')?.replace("\\\"", "\"").replace("\\\\", "\\");
        let file = self.file(Path::new(&name), flags.contains(&"3"));
        Some(Place { file, line: line.saturating_sub(1), at: at + 1 })
    }

    /// The line of a file that a line of the output shows, without its line break.
    fn line_span(&self, place: Place, line: u32) -> Span {
        let shown = place.line + line.saturating_sub(place.at);
        let end = u32::try_from(self.out.files.text(place.file).len()).unwrap_or(u32::MAX);
        let start = self.out.files.line_start(place.file, shown).unwrap_or(end);
        let behind = self.out.files.line_start(place.file, shown + 1).map_or(end, |next| next - 1);
        Span::new(place.file, start, behind.max(start))
    }

    /// `file:12:5: error: text`.
    fn messages(&mut self, messages: &str) {
        for message in messages.lines() {
            let found = [
                ("fatal error: ", Severity::Error),
                ("error: ", Severity::Error),
                ("warning: ", Severity::Warning),
            ]
            .into_iter()
            .find_map(|(word, severity)| Some((message.split_once(word)?, severity)));
            let Some(((place, text), severity)) = found else { continue };
            let mut parts = place.trim_end_matches([':', ' ']).rsplitn(3, ':');
            let (column, line, path) = (parts.next(), parts.next(), parts.next());
            let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
            let span = match (path, number(line), number(column)) {
                (Some(path), Some(line), Some(column)) => {
                    let file = self.file(Path::new(path), false);
                    let start = self.out.files.line_start(file, line.saturating_sub(1));
                    start.map(|start| Span::new(file, start + column - 1, start + column))
                }
                _ => None,
            };
            let error = SyntaxError { severity, message: text.to_owned(), span, help: None };
            let is_missing = text.ends_with("No such file or directory");
            self.out.errors.push(match is_missing {
                true => error.with_help(super::super::HEADER_HELP),
                false => error,
            });
        }
    }
}
