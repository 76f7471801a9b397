//! What people see of a program: positions, text, and what is wrong with it. Must not know engines.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_cfa::{FunctionMap, LocalId, Name, Site};
use proofline_cfa_build::ProgramMap;
use proofline_cpa::Unknown;
use proofline_syntax::{SourceFiles, Span, Unit};

use crate::contracts::acsl;

/// A place in a file, for people and editors. Lines and columns count from 0, columns in bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Position {
    /// The file.
    pub path: Arc<Path>,
    /// Number of the unit whose text it is in, for [`Sources`].
    unit: usize,
    /// In that unit.
    span: Span,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// One past the last column.
    pub end_column: u32,
}

/// Something wrong with the text of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Parts of the program may be missing.
    pub is_error: bool,
    /// What.
    pub message: String,
    /// Where.
    pub position: Option<Position>,
    /// What to do.
    pub help: Option<String>,
    /// The function in whose body it stands, when nothing outside of that body depends on it.
    pub function: Option<Name>,
}

/// The text of a program: where its functions are, and what is wrong with it.
#[derive(Clone, Default)]
pub struct Sources {
    map: Arc<ProgramMap>,
    units: BTreeMap<usize, Arc<Unit>>,
    problems: Vec<Problem>,
}

impl Sources {
    /// From its parts: positions by function, by number the units that these name (those that are not there have no positions), and
    /// what is wrong.
    pub fn new(map: Arc<ProgramMap>, units: BTreeMap<usize, Arc<Unit>>, problems: Vec<Problem>) -> Sources {
        Sources { map, units, problems }
    }

    /// What is wrong with the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether parts of the program may be missing.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.is_error)
    }

    /// What was not understood in the text and may matter to executions of these functions.
    pub fn misunderstood(&self, functions: &BTreeSet<Name>) -> Option<Unknown> {
        let errors = self.problems.iter().filter(|problem| problem.is_error);
        misunderstood(errors.map(|problem| problem.function), functions)
    }

    /// Where a site of a function is.
    pub fn position(&self, function: Name, site: Site) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.span(site)?)
    }

    /// The sites of a function, and the files that they count in.
    pub(crate) fn map_of(&self, function: Name) -> Option<(&FunctionMap, &SourceFiles)> {
        let (unit, map) = self.map.function(function)?;
        Some((map, self.units.get(&unit)?.files()))
    }

    /// Where a function is defined: its name.
    pub fn definition(&self, function: Name) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.name?)
    }

    /// The annotation in front of a function's definition (`/*@ … */`), without its delimiters.
    pub fn annotation(&self, function: Name) -> Option<String> {
        let (unit, map) = self.map.function(function)?;
        let (files, name) = (self.units.get(&unit)?.files(), map.name?);
        let before = files.text(name.file).get(..name.start as usize)?;
        acsl::in_front(before).map(str::to_owned)
    }

    /// Where a local of a function is declared.
    pub fn local(&self, function: Name, local: LocalId) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), (*map.locals.get(local.index())?)?)
    }

    /// Where a function's body ends: its closing brace.
    pub fn closing(&self, function: Name) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.end?)
    }

    /// Every file that was read, headers included, in order, each once.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let units = self.units.values().map(|unit| unit.files());
        units.flat_map(|files| files.ids().map(|id| files.path(id).to_path_buf())).collect()
    }

    /// The text of a file that was read, by its path. Bytes that are not UTF-8 are `?`.
    pub fn text_of(&self, path: &Path) -> Option<&str> {
        self.units
            .values()
            .map(|unit| unit.files())
            .find_map(|files| files.ids().find(|id| files.path(*id) == path).map(|id| files.text(id)))
    }

    /// The text at a position; empty where that begins outside of a macro's parentheses and ends inside.
    pub fn text_at(&self, position: &Position) -> String {
        let unit = self.units.get(&position.unit);
        let text = unit.map(|unit| unit.files().span_text(position.span)).unwrap_or_default();
        if is_balanced(text) { text.to_owned() } else { String::new() }
    }

    /// The first line of a position.
    pub fn line(&self, position: &Position) -> Option<&str> {
        self.line_of_file(position, position.line)
    }

    /// The last line of a position.
    pub fn last_line(&self, position: &Position) -> Option<&str> {
        self.line_of_file(position, position.end_line)
    }

    fn line_of_file(&self, position: &Position, line: u32) -> Option<&str> {
        let files = self.units.get(&position.unit)?.files();
        let start = files.line_start(position.span.file, line)?;
        files.text(position.span.file).get(start as usize..)?.lines().next()
    }
}

/// Why nothing may be called proved of executions of these functions: an error stands in the body of one of them (`Some`), or somewhere that
/// everything may depend on (`None`).
pub fn misunderstood(
    mut errors: impl Iterator<Item = Option<Name>>,
    functions: &BTreeSet<Name>,
) -> Option<Unknown> {
    let is_in = |name: Name| functions.iter().any(|function| function.written() == name.as_str());
    let fatal = errors.find(|function| function.is_none_or(is_in))?;
    Some(Unknown::Unsupported(match fatal {
        Some(function) => format!("`{function}` has errors, so parts of it were not understood"),
        None => "the program has errors, so parts of it were not understood".to_owned(),
    }))
}

/// A place in a unit of this number.
pub(crate) fn position(unit: usize, files: &SourceFiles, span: Span) -> Option<Position> {
    let (line, column) = files.line_col(span.file, span.start);
    let (end_line, end_column) = files.line_col(span.file, span.end);
    Some(Position { path: files.shared_path(span.file), unit, span, line, column, end_line, end_column })
}

/// Whether as many parentheses are closed as are opened, those in literals not counted.
pub(crate) fn is_balanced(text: &str) -> bool {
    let (mut open, mut literal, mut characters) = (0usize, None, text.chars());
    while let Some(character) = characters.next() {
        match (character, literal) {
            ('\\', Some(_)) => _ = characters.next(),
            (quote, Some(begun)) => literal = (quote != begun).then_some(begun),
            ('"' | '\'', None) => literal = Some(character),
            ('(', None) => open += 1,
            (')', None) if open == 0 => return false,
            (')', None) => open -= 1,
            _ => {}
        }
    }
    open == 0
}
