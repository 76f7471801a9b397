//! Definition, references, highlights, symbols of the workspace, call hierarchy: all from the index of names. Places are those of the
//! current texts.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use crate::{
    index::{Occurrence, Symbol},
    place::{Place, Point, Range},
    results::FileResults,
    state::State,
    workspace::Workspace,
};

/// Symbols of the workspace that are listed.
const MOST_SYMBOLS: usize = 500;

/// What can be searched: the open files, and what a glance at the others has shown.
pub struct Searched<'r> {
    /// The open files.
    pub open: Vec<&'r FileResults>,
    /// The others.
    pub workspace: Option<&'r Workspace>,
}

/// Where a name is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// Here, or where it is only declared because no known file defines it.
    At(Place),
    /// A glance at files that are not open has shown these.
    Perhaps(Vec<Place>),
}

/// A use of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Highlight {
    /// Where.
    pub range: Range,
    /// Whether it declares the name.
    pub is_declaration: bool,
}

/// A function or global that a search has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSymbol {
    /// Its name.
    pub name: String,
    /// Whether it is a function.
    pub is_function: bool,
    /// Where it is defined.
    pub place: Place,
}

/// A function in the call hierarchy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallItem {
    /// Its name.
    pub name: String,
    /// What is known of its verdicts.
    pub state: Option<State>,
    /// Its name in its definition.
    pub selection: Place,
    /// Its definition, in the same file.
    pub range: Range,
    /// The open file whose program it is of; `None`: of a file that is not open.
    pub of: Option<PathBuf>,
}

/// A caller or callee, and where the calls are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The other function.
    pub item: CallItem,
    /// The callee's name in the calls.
    pub calls: Vec<Place>,
}

/// The name at a point of the current text.
pub(crate) fn occurrence(file: &FileResults, point: Point) -> Option<&Occurrence> {
    file.program()?.index().at(file.path(), file.before(point)?)
}

/// Where the name is defined; in another file if only that one defines it.
pub fn definition(file: &FileResults, searched: &Searched<'_>, point: Point) -> Option<Definition> {
    let symbol = &occurrence(file, point)?.symbol;
    let known = file.program()?.index().declaration(symbol)?;
    if known.is_defined || matches!(symbol, Symbol::Local(..)) {
        return Some(Definition::At(file.place_now(&known.place)));
    }
    for other in searched.open.iter().filter(|other| other.path() != file.path()) {
        let elsewhere = other.program().and_then(|program| program.index().declaration(symbol));
        if let Some(elsewhere) = elsewhere.filter(|elsewhere| elsewhere.is_defined) {
            return Some(Definition::At(other.place_now(&elsewhere.place)));
        }
    }
    if let (Symbol::Function(name), Some(workspace)) = (symbol, searched.workspace) {
        let found: Vec<Place> = workspace.definitions(name).into_iter().map(|found| found.place).collect();
        if !found.is_empty() {
            return Some(Definition::Perhaps(found));
        }
    }
    Some(Definition::At(file.place_now(&known.place)))
}

/// Every use of the name, in every open file if others can see it; each place once.
pub fn references(
    file: &FileResults,
    searched: &Searched<'_>,
    point: Point,
    with_declarations: bool,
) -> Option<Vec<Place>> {
    let symbol = &occurrence(file, point)?.symbol;
    let is_local = matches!(symbol, Symbol::Local(..));
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for other in searched.open.iter().filter(|other| !is_local || other.path() == file.path()) {
        let Some(program) = other.program() else { continue };
        let uses = program.index().occurrences(symbol).filter(|o| with_declarations || !o.is_declaration);
        out.extend(uses.map(|o| other.place_now(&o.place)).filter(|place| seen.insert(place.clone())));
    }
    Some(out)
}

/// Uses of the name in the file.
pub fn highlights(file: &FileResults, point: Point) -> Option<Vec<Highlight>> {
    let symbol = &occurrence(file, point)?.symbol;
    let here = file.program()?.index().occurrences(symbol).filter(|o| file.is_own(&o.place));
    let highlight =
        |o: &Occurrence| Highlight { range: file.now(o.place.range), is_declaration: o.is_declaration };
    Some(here.map(highlight).collect())
}

/// Functions and globals of the open files, and functions of the others, whose names contain the query's letters in order.
pub fn symbols(searched: &Searched<'_>, query: &str) -> Vec<FoundSymbol> {
    let mut out: Vec<FoundSymbol> = Vec::new();
    let mut add = |found: FoundSymbol| {
        if out.len() < MOST_SYMBOLS && !out.contains(&found) {
            out.push(found);
        }
    };
    for file in &searched.open {
        let Some(program) = file.program() else { continue };
        for (symbol, known) in program.index().symbols().filter(|(_, known)| is_match(&known.name, query)) {
            add(FoundSymbol {
                name: known.name.clone(),
                is_function: matches!(symbol, Symbol::Function(_)),
                place: file.place_now(&known.place),
            });
        }
    }
    let glance = searched.workspace.into_iter();
    for found in glance.flat_map(|known| known.matching(MOST_SYMBOLS, |name| is_match(name, query))) {
        if !searched.open.iter().any(|file| file.is_own(&found.place)) {
            add(FoundSymbol { name: found.name, is_function: true, place: found.place });
        }
    }
    out
}

/// Whether the letters of the query occur in the name in their order.
fn is_match(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}

/// The function whose name is at a point.
pub fn call_item(file: &FileResults, point: Point) -> Option<CallItem> {
    match &occurrence(file, point)?.symbol {
        Symbol::Function(name) => item(file, name),
        Symbol::Global(_) | Symbol::Local(..) => None,
    }
}

fn item(file: &FileResults, name: &str) -> Option<CallItem> {
    let program = file.program()?;
    let known = program.index().declaration(&Symbol::Function(name.to_owned()))?;
    let selection = file.place_now(&known.place);
    let whole = program.function(name).filter(|function| function.selection.path == known.place.path);
    let range = whole.map_or(selection.range, |function| {
        file.place_now(&Place { path: known.place.path.clone(), range: function.range }).range
    });
    Some(CallItem {
        name: name.to_owned(),
        state: file.function(name).map(|report| report.state),
        selection,
        range,
        of: Some(file.path().to_path_buf()),
    })
}

/// Who calls a function: in the program of the file (the first of all if it is given), then in those of the others as they were read,
/// elsewhere at a glance.
pub fn incoming(file: Option<&FileResults>, searched: &Searched<'_>, name: &str) -> Vec<Call> {
    let mut out = Vec::new();
    let mut read: BTreeSet<PathBuf> = BTreeSet::new();
    let others = searched.open.iter().copied();
    let others = others.filter(|other| file.is_none_or(|own| own.path() != other.path()));
    for file in file.into_iter().chain(others) {
        let Some(program) = file.program() else { continue };
        let mut callers: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
        let symbol = Symbol::Function(name.to_owned());
        for o in program.index().occurrences(&symbol).filter(|o| !o.is_declaration) {
            if let Some(inside) = o.inside.as_ref().filter(|_| !read.contains(&*o.place.path)) {
                callers.entry(inside).or_default().push(file.place_now(&o.place));
            }
        }
        let call = |(caller, calls)| Some(Call { item: item(file, caller)?, calls });
        out.extend(callers.into_iter().filter_map(call));
        read.extend(program.files().iter().cloned());
    }
    let glance = searched.workspace.into_iter().flat_map(|known| known.callers(name, &read));
    out.extend(glance.map(|caller| Call {
        calls: caller.call.into_iter().collect(),
        item: CallItem {
            name: caller.name,
            state: None,
            range: caller.place.range,
            selection: caller.place,
            of: None,
        },
    }));
    out
}

/// Whom a function of the file's program calls.
pub fn outgoing(file: &FileResults, name: &str) -> Option<Vec<Call>> {
    let calls = file.program()?.index().calls(name);
    let call = |(callee, places): (String, Vec<Place>)| {
        let calls = places.iter().map(|place| file.place_now(place)).collect();
        Some(Call { item: item(file, &callee)?, calls })
    };
    Some(calls.into_iter().filter_map(call).collect())
}
