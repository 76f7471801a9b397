//! What the text of a function says at its sites, wherever the function stands: an explanation that is made of this stays what it is when lines
//! come and go around the function. Knows no lines.

use std::{cell::RefCell, sync::Arc};

use proofline_cfa::{FunctionMap, LocalId, Name, Site, Type};
use proofline_hir::{Enumerations, TypeKind};
use proofline_syntax::{SourceFiles, Span};
use rustc_hash::FxHashMap;

use crate::sources::{Position, Sources, is_balanced};

/// People do not read longer pieces of text in a sentence.
const LONGEST: usize = 60;

/// A place in a function's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// Of a site.
    Site(Name, Site),
    /// Where a local is declared; if it is not, where the function is.
    Local(Name, LocalId),
    /// Where a function is defined: its name.
    Definition(Name),
}

impl Spot {
    /// In whose text.
    pub(crate) fn function(self) -> Name {
        match self {
            Spot::Site(function, _) | Spot::Local(function, _) | Spot::Definition(function) => function,
        }
    }
}

impl Sources {
    /// What a function's text says.
    pub fn wording(&self, function: Name) -> Option<Arc<Wording>> {
        let (map, files) = self.map_of(function)?;
        Some(Arc::new(Wording::new(map, files)))
    }

    /// Where a spot is, in this text.
    pub fn spot(&self, spot: Spot) -> Option<Position> {
        match spot {
            Spot::Site(function, site) => self.position(function, site),
            Spot::Local(function, local) => self.local(function, local).or_else(|| self.definition(function)),
            Spot::Definition(function) => self.definition(function),
        }
    }
}

/// The wording of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wording {
    /// Per site of the function's map.
    sites: Vec<SiteWords>,
    enumerations: Arc<Enumerations>,
}

/// What stands at a site.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct SiteWords {
    /// Sites at one place have one number.
    place: u32,
    /// On one line, and short; empty otherwise.
    text: Box<str>,
    /// Behind `case`.
    is_case: bool,
}

impl Wording {
    /// What stands at the sites of a function, in the files that its map counts in.
    pub fn new(map: &FunctionMap, files: &SourceFiles) -> Wording {
        let mut places: FxHashMap<Span, u32> = FxHashMap::default();
        let sites = map.sites.iter().map(|span| {
            let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
            let place = *places.entry(*span).or_insert(count);
            let text = files.span_text(*span);
            let is_short = text.len() <= LONGEST && !text.contains('\n') && is_balanced(text);
            SiteWords {
                place,
                text: if is_short { text.into() } else { "".into() },
                is_case: is_case(*span, files),
            }
        });
        Wording { sites: sites.collect(), enumerations: map.enumerations.clone() }
    }

    fn site(&self, site: Site) -> Option<&SiteWords> {
        self.sites.get(site.in_map().index())
    }
}

/// Whether the line says `case` in front of it.
fn is_case(span: Span, files: &SourceFiles) -> bool {
    let (line, column) = files.line_col(span.file, span.start);
    let before = files
        .line_start(span.file, line)
        .and_then(|start| files.text(span.file).get(start as usize..)?.get(..column as usize));
    before.is_some_and(|before| before.trim_end().ends_with("case"))
}

/// Who knows the wording of functions. Each is asked for once.
pub struct Wordings<'w> {
    of: &'w dyn Fn(Name) -> Option<Arc<Wording>>,
    known: RefCell<FxHashMap<Name, Option<Arc<Wording>>>>,
}

impl<'w> Wordings<'w> {
    /// Asked of this.
    pub fn new(of: &'w dyn Fn(Name) -> Option<Arc<Wording>>) -> Wordings<'w> {
        Wordings { of, known: RefCell::default() }
    }

    fn of(&self, function: Name) -> Option<Arc<Wording>> {
        self.known.borrow_mut().entry(function).or_insert_with(|| (self.of)(function)).clone()
    }

    /// The site as a spot, if the text has it.
    pub(crate) fn spot(&self, function: Name, site: Site) -> Option<Spot> {
        self.of(function)?.site(site).map(|_| Spot::Site(function, site))
    }

    /// What stands at a site, if that is on one line and short; empty otherwise.
    pub(crate) fn text(&self, function: Name, site: Site) -> Box<str> {
        let wording = self.of(function);
        wording
            .as_ref()
            .and_then(|wording| wording.site(site))
            .map(|words| words.text.clone())
            .unwrap_or_default()
    }

    /// Whether a site stands behind `case`.
    pub(crate) fn is_case(&self, function: Name, site: Site) -> bool {
        self.of(function).as_ref().and_then(|wording| wording.site(site)).is_some_and(|words| words.is_case)
    }

    /// What a function's text calls a value of a type.
    pub(crate) fn enumerator(&self, function: Name, ty: Type, value: i128) -> Option<Name> {
        proofline_cfa::enumerator(&self.of(function)?.enumerations, ty, value)
    }

    /// The values of an enumeration's constants, as a function's text declares it; of another type, none.
    pub(crate) fn constants(&self, function: Name, ty: Type) -> Vec<i128> {
        let TypeKind::Enum(tag, _) = ty.kind() else { return Vec::new() };
        let wording = self.of(function);
        let constants = wording.as_ref().and_then(|wording| wording.enumerations.get(tag));
        constants.into_iter().flatten().map(|(_, value)| *value).collect()
    }

    /// Whether they are one place in the text.
    pub(crate) fn is_same_place(&self, one: Option<Spot>, other: Option<Spot>) -> bool {
        match (one, other) {
            (Some(Spot::Site(one, a)), Some(Spot::Site(other, b))) if one == other => {
                let Some(wording) = self.of(one) else { return false };
                wording.site(a).map(|words| words.place) == wording.site(b).map(|words| words.place)
            }
            _ => one == other,
        }
    }
}
