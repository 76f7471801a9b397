//! Where the parts of an automaton are in the text. Kept apart, so that whitespace changes no automaton.

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
}

impl FunctionMap {
    /// Position of a site.
    pub fn span(&self, site: Site) -> Option<Span> {
        self.sites.get(site.in_map().index()).copied()
    }
}
