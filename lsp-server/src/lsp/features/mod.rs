//! Answers about a buffer, one file per feature: each calls `ide` once and converts what it says.

mod actions;
mod annotations;
mod folding;
mod hints;
mod hover;
mod lens;
mod navigation;
mod symbols;
mod tokens;

pub(super) use actions::actions;
pub(super) use folding::folding;
pub(super) use hints::hints;
pub(super) use hover::hover;
pub(super) use lens::lenses;
pub(super) use navigation::{
    definition, highlights, incoming, outgoing, prepare_calls, references, workspace_symbols,
};
pub(super) use symbols::symbols;
pub(super) use tokens::{LEGEND, tokens};
