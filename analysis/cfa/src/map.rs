//! Where the parts of an automaton are in the text. Kept apart, so that whitespace changes no automaton.

use std::sync::Arc;

use proofline_hir::{Enumerations, Name, Type, TypeKind};
use proofline_syntax::Span;

use crate::Site;

/// Positions of one function's sites.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionMap {
    /// Per [`Site`].
    pub sites: Vec<Span>,
    /// Per local: its declaration (`None` for temporaries).
    pub locals: Vec<Option<Span>>,
    /// The function's name.
    pub name: Option<Span>,
    /// The closing brace.
    pub end: Option<Span>,
    /// What its unit calls the values of enumerations.
    pub enumerations: Arc<Enumerations>,
}

impl FunctionMap {
    /// Position of a site.
    pub fn span(&self, site: Site) -> Option<Span> {
        self.sites.get(site.in_map().index()).copied()
    }
}

/// What a text calls a value of this type, if that is an enumeration with such a constant: the first one.
pub fn enumerator(enumerations: &Enumerations, ty: Type, value: i128) -> Option<Name> {
    let TypeKind::Enum(tag, _) = ty.kind() else { return None };
    let constants = enumerations.get(tag)?;
    constants.iter().find(|(_, known)| *known == value).map(|(name, _)| *name)
}
