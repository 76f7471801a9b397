//! Access paths: scalars in memory that are neither locals nor cells, because where they lie depends on values: `a[i]`, `argv[i]`, `t->slots[h]`. What
//! conditions and assignments say of one is known until a local changes that the path names, or memory that may be there, or on the way there: so
//! `if (a[i] < n) … b[a[i]]` stays inside, whatever `i` is. Knows no calls.
//!
//! **Law.** If the path leads to a place, what lies there now has the numbers of its [`Var::Path`].

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Cause, Expr, Function, LocalId, Lvalue, Object, Op, Scalar, Step as PathStep, is_same_place,
    place_without_sites, visit,
};
use proofline_program_analysis::Environment;

use super::{
    form::View,
    numbers::whole,
    state::Relations,
    transfer::{Result, Step},
    variable::Var,
    zone::Dim,
};

/// So many paths of a function are looked at.
const PATHS: usize = 64;

/// So many parts a path has at most.
const PARTS: usize = 16;

/// Something is known of so many at a time.
pub(super) const MOST: usize = 8;

/// A path that a function reads.
#[derive(Clone, Debug)]
pub(super) struct AccessPath {
    /// As if it were nowhere in the text.
    pub(super) lvalue: Lvalue,
    /// The locals that it names.
    names: BTreeSet<LocalId>,
    /// The objects that it may lead into.
    to: BTreeSet<Object>,
    /// The objects that are read on the way.
    through: BTreeSet<Object>,
}

impl AccessPath {
    /// The path, if nothing but integers and pointers, in locals without an address and in memory, says where it leads.
    fn new(env: &Environment, function: &Function, lvalue: &Lvalue) -> Option<AccessPath> {
        let is_held = match lvalue.scalar? {
            Scalar::Int(ty) => ty.bits <= 64,
            Scalar::Pointer => true,
            Scalar::Float(_) => false,
        };
        let is_constant = |step: &PathStep| match step {
            PathStep::Field { .. } => true,
            PathStep::Index { index, .. } => matches!(**index, Expr::Int(..)),
        };
        let depends = matches!(lvalue.base, Base::Deref(..)) || !lvalue.path.iter().all(is_constant);
        if !is_held || !depends || lvalue.bits.is_some() || lvalue.size == 0 {
            return None;
        }
        let objects = |place: &Lvalue| {
            env.targets(function.name, &Expr::Address(place.clone())).objects.iter().copied().collect()
        };
        let lvalue = place_without_sites(lvalue);
        let (mut names, mut through) = (BTreeSet::new(), BTreeSet::new());
        let (mut is_simple, mut parts) = (true, 0);
        visit::parts_of_place(&lvalue, &mut |part| {
            visit::walk(part, &mut |expr| {
                parts += 1;
                match expr {
                    Expr::Int(..)
                    | Expr::Cast(..)
                    | Expr::Unary(..)
                    | Expr::Binary(..)
                    | Expr::Address(_) => {}
                    Expr::Load(read) => match whole(env.program(), function, read) {
                        Some((id, _)) => {
                            names.insert(id);
                        }
                        None => {
                            let objects: BTreeSet<Object> = objects(read);
                            through.extend(objects);
                        }
                    },
                    Expr::Float(_)
                    | Expr::Null
                    | Expr::Function(_)
                    | Expr::Compare(..)
                    | Expr::Overflows(..)
                    | Expr::Memory(..)
                    | Expr::PointerDifference(..) => is_simple = false,
                }
            });
        });
        let to = objects(&lvalue);
        (is_simple && parts <= PARTS).then_some(AccessPath { lvalue, names, to, through })
    }
}

/// The paths that a function reads.
pub(super) fn access_paths(env: &Environment, function: &Function) -> Vec<AccessPath> {
    let mut found: Vec<AccessPath> = Vec::new();
    for edge in &function.edges {
        visit::reads(&edge.op, &mut |lvalue| {
            if found.len() < PATHS
                && !found.iter().any(|known| is_same_place(&known.lvalue, lvalue))
                && let Some(path) = AccessPath::new(env, function, lvalue)
            {
                found.push(path);
            }
        });
    }
    found
}

impl View<'_> {
    /// The path that an lvalue is.
    pub(super) fn path(&self, lvalue: &Lvalue) -> Option<Var> {
        if lvalue.bits.is_some() || !self.paths.iter().any(|known| known.lvalue.size == lvalue.size) {
            return None;
        }
        let at = self.paths.iter().position(|known| is_same_place(&known.lvalue, lvalue))?;
        u16::try_from(at).ok().map(Var::Path)
    }
}

impl Step<'_> {
    /// The state with what others know of the pointers that the edge reads: a string of the environment is one wherever its address lies.
    ///
    /// # Errors
    /// [`Impossible`](super::transfer::Impossible) if nothing gets there.
    pub(super) fn with_strings(&self) -> Result<Relations> {
        let mut state = self.from.clone();
        let view = self.view();
        let mut found: Vec<(Var, &Lvalue)> = Vec::new();
        visit::exprs(&self.at.edge.op, &mut |expr| {
            if let Expr::Load(lvalue) = expr
                && lvalue.scalar == Some(Scalar::Pointer)
                && let Some((var @ Var::Path(_), _)) = view.variable(lvalue)
                && !self.from.pointers.contains_key(&var)
                && !found.iter().any(|(known, _)| *known == var)
            {
                found.push((var, lvalue));
            }
        });
        for (var, lvalue) in found {
            let value = Expr::Load(lvalue.clone());
            if let Some(is_there) = self.is_string(lvalue, &value) {
                self.leads_to_string(&mut state, var, &value, is_there)?;
            }
        }
        Ok(state)
    }

    /// The edge may change what lies where paths lead, and where that is. `own` got its value from the edge.
    pub(super) fn lose_paths(&self, state: &mut Relations, own: &[Var]) {
        if !state.has_paths() {
            return;
        }
        let name = self.at.function.name;
        let mut lose = |is_lost: &dyn Fn(&AccessPath, bool) -> bool| {
            state.retain_paths(|nth| {
                let is_own = own.contains(&Var::Path(nth));
                self.paths.get(usize::from(nth)).is_some_and(|path| !is_lost(path, is_own))
            });
        };
        match &self.at.edge.op {
            Op::Skip | Op::Assume(_) => {}
            Op::Assign(dst, _) | Op::Havoc(dst, _) | Op::Copy(dst, _) => {
                let is_text = matches!(&self.at.edge.op, Op::Havoc(_, Cause::Text(_)));
                match self.view().whole(dst) {
                    _ if is_text => lose(&|_, _| true),
                    Some((changed, _)) => lose(&|path, _| path.names.contains(&changed)),
                    None => {
                        let there = self.env.targets(name, &Expr::Address(dst.clone()));
                        lose(&|path, is_own| {
                            !is_own && !path.to.is_disjoint(&there.objects)
                                || !path.through.is_disjoint(&there.objects)
                                || names_base(path, dst)
                        });
                    }
                }
            }
            Op::Allocate(allocation) => {
                let dst = &allocation.dst;
                let there = self.env.targets(name, &Expr::Address(dst.clone()));
                lose(&|path, is_own| {
                    !is_own && !path.to.is_disjoint(&there.objects)
                        || !path.through.is_disjoint(&there.objects)
                        || names_base(path, dst)
                });
            }
            Op::Begin(changed) | Op::End(changed) => {
                let object = Object::Local(name, *changed);
                lose(&|path, _| {
                    path.names.contains(changed)
                        || path.to.contains(&object)
                        || path.through.contains(&object)
                });
            }
            Op::CopyBytes(..)
            | Op::HavocBytes(..)
            | Op::FillBytes(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Free(_) => lose(&|_, _| true),
        }
    }
}

/// Whether the path names the local that a place is, or is a part of.
fn names_base(path: &AccessPath, place: &Lvalue) -> bool {
    matches!(place.base, Base::Local(id) if path.names.contains(&id))
}

/// Forgets paths that name other locals than these.
pub(super) fn retain_paths_by(state: &mut Relations, paths: &[AccessPath], keep: &dyn Fn(LocalId) -> bool) {
    state.retain_paths(|nth| {
        paths.get(usize::from(nth)).is_some_and(|path| path.names.iter().all(|id| keep(*id)))
    });
}

/// Whether what a place is, if a path leads there, is there as long as nothing else is written than these objects and the place itself.
pub(super) fn is_steady(paths: &[AccessPath], var: Var, place: &Lvalue, written: &BTreeSet<Object>) -> bool {
    let Var::Path(nth) = var else { return true };
    paths
        .get(usize::from(nth))
        .is_some_and(|path| path.through.is_disjoint(written) && !names_base(path, place))
}

/// The paths that a function leaves as they are which may write into these objects.
pub(super) fn retain_unwritten_paths(
    state: &mut Relations,
    paths: &[AccessPath],
    written: &BTreeSet<Object>,
) {
    let is_anything = written.contains(&Object::External);
    state.retain_paths(|nth| {
        !is_anything
            && paths
                .get(usize::from(nth))
                .is_some_and(|path| path.to.is_disjoint(written) && path.through.is_disjoint(written))
    });
}

impl Relations {
    /// Whether something is known of a path.
    pub(super) fn has_paths(&self) -> bool {
        let is_path = |var: Var| matches!(var, Var::Path(_));
        self.zone.mentions(|dim| dim.var().is_some_and(is_path))
            || self.pointers.keys().any(|var| is_path(*var))
    }

    /// Whether something is known of what holds a number or a pointer.
    pub(super) fn knows(&self, var: Var) -> bool {
        self.zone.mentions(|dim| dim.var() == Some(var)) || self.pointers.contains_key(&var)
    }

    /// Forgets the paths for which `keep` does not hold.
    pub(super) fn retain_paths(&mut self, keep: impl Fn(u16) -> bool) {
        self.retain_vars(|var| match var {
            Var::Path(nth) => keep(nth),
            Var::Local(_) | Var::Cell(_) => true,
        });
    }

    /// Forgets all paths but the first ones.
    pub(super) fn keep_few_paths(&mut self) {
        let of = |var: Var| if let Var::Path(nth) = var { Some(nth) } else { None };
        let numbers = self.zone.dims().filter_map(Dim::var).filter_map(of);
        let paths: BTreeSet<u16> = numbers.chain(self.pointers.keys().filter_map(|var| of(*var))).collect();
        if let Some(first) = paths.iter().nth(MOST) {
            self.retain_paths(|nth| nth < *first);
        }
    }
}
