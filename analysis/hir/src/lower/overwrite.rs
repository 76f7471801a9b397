//! Initialisers that give a part a value again: the last one counts, and as a whole. Must not read the syntax of
//! initialisers.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::Lowerer;
use crate::{
    body::{Expr, ExprId, ExprKind, InitEntry, InitStep},
    types::{Type, TypeKind},
};

/// What is being filled.
pub(super) struct Target<'t> {
    pub(super) path: &'t mut Vec<InitStep>,
    pub(super) entries: &'t mut Vec<InitEntry>,
    /// A designator went back: what comes may initialise again what has a value already.
    pub(super) went_back: bool,
}

impl Target<'_> {
    /// Gives the part at the path a value.
    pub(super) fn push(&mut self, value: ExprId) {
        self.forget();
        self.entries.push(InitEntry { path: self.path.clone(), value });
    }

    /// Drops the values that the part at the path and its parts have: it is initialised again as a whole.
    pub(super) fn forget(&mut self) {
        if self.went_back {
            let path = self.path.clone();
            self.forget_at(&path);
        }
    }

    fn forget_at(&mut self, path: &[InitStep]) {
        // Tables in any order are long, and almost nothing in them is said twice.
        if !self.entries.iter().any(|entry| overlap(&entry.path, path)) {
            return;
        }
        let old = std::mem::take(self.entries);
        for entry in old {
            for path in uncovered(entry.path, path, 0) {
                self.entries.push(InitEntry { path, value: entry.value });
            }
        }
    }
}

/// Whether a part has something in it that lies in the other.
fn overlap(path: &[InitStep], by: &[InitStep]) -> bool {
    path.len() >= by.len()
        && path.iter().zip(by).all(|(own, other)| match (elements(*own), elements(*other)) {
            (Some((first, last)), Some((from, to))) => first.max(from) <= last.min(to),
            _ => own == other,
        })
}

/// What of a part lies outside of another: ranges may be split.
fn uncovered(path: Vec<InitStep>, by: &[InitStep], level: usize) -> Vec<Vec<InitStep>> {
    let (Some(&own), Some(&other)) = (path.get(level), by.get(level)) else {
        // Either it is all inside, or it is around.
        return if level == by.len() { Vec::new() } else { vec![path] };
    };
    let (Some((first, last)), Some((from, to))) = (elements(own), elements(other)) else {
        return if own == other { uncovered(path, by, level + 1) } else { vec![path] };
    };
    let (inside_first, inside_last) = (first.max(from), last.min(to));
    if inside_first > inside_last {
        return vec![path];
    }
    let with = |first: u64, last: u64| {
        let mut path = path.clone();
        path[level] = if first == last { InitStep::Element(first) } else { InitStep::Range(first, last) };
        path
    };
    let mut rest = Vec::new();
    if first < inside_first {
        rest.push(with(first, inside_first - 1));
    }
    rest.extend(uncovered(with(inside_first, inside_last), by, level + 1));
    if inside_last < last {
        rest.push(with(inside_last + 1, last));
    }
    rest
}

/// The elements of a step into an array.
fn elements(step: InitStep) -> Option<(u64, u64)> {
    match step {
        InitStep::Element(index) => Some((index, index)),
        InitStep::Range(first, last) => Some((first, last)),
        InitStep::Field(_) => None,
    }
}

impl<'u> Lowerer<'u> {
    /// Gives each of the entries that a range was split into a value of its own.
    pub(super) fn own_values(&mut self, node: Node<'u>, entries: &mut [InitEntry]) {
        let mut used = BTreeSet::new();
        for entry in entries {
            if used.insert(entry.value) {
                continue;
            }
            match self.copy_of(entry.value) {
                Some(copy) => entry.value = copy,
                None => {
                    let what = "a range that is initialised again in part needs a simple value";
                    self.error(node, what);
                    let ty = self.body.body.expr(entry.value).ty;
                    entry.value = self.unmodelled(what, Vec::new(), ty, self.span(node));
                }
            }
        }
    }

    /// A copy of a constant expression of the usual forms.
    fn copy_of(&mut self, id: ExprId) -> Option<ExprId> {
        let Expr { kind, ty } = self.body.body.expr(id).clone();
        let kind = match kind {
            ExprKind::Int(_)
            | ExprKind::Float(..)
            | ExprKind::StringLiteral(_)
            | ExprKind::Global(_)
            | ExprKind::Function(_) => kind,
            ExprKind::Cast(inner) => ExprKind::Cast(self.copy_of(inner)?),
            ExprKind::Decay(inner) => ExprKind::Decay(self.copy_of(inner)?),
            ExprKind::AddressOf(inner) => ExprKind::AddressOf(self.copy_of(inner)?),
            ExprKind::Unary(op, inner) => ExprKind::Unary(op, self.copy_of(inner)?),
            _ => return None,
        };
        let span = self.body.map.exprs[id.index()];
        Some(self.body.expr(kind, ty, span))
    }

    /// A union holds its last initialised member.
    pub(super) fn forget_other_members(&self, ty: Type, step: InitStep, target: &mut Target<'_>) {
        let TypeKind::Record(tag) = ty.kind() else { return };
        let count = self.records.get(tag).map_or(0, |r| r.fields.len() as u32);
        for other in (0..count).map(InitStep::Field).filter(|other| *other != step) {
            let mut path = target.path.clone();
            path.push(other);
            target.forget_at(&path);
        }
    }
}
