//! What the components of a product know of a path that neither refutes. Knows no analysis.

use crate::Path;

/// What each component knows; `None` where it refutes the path without learning from it, or does not decide it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProductWitness<L, R> {
    /// The first component.
    pub left: Option<L>,
    /// The second.
    pub right: Option<R>,
}

impl<L: From<Path>, R: From<Path>> From<Path> for ProductWitness<L, R> {
    fn from(path: Path) -> ProductWitness<L, R> {
        ProductWitness { left: Some(path.clone().into()), right: Some(path.into()) }
    }
}
