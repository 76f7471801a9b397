//! Lifetimes of locals: which are alive where, and what a jump between two places must begin and end. Knows no
//! expressions and no statements.

use std::collections::BTreeSet;

use proofline_hir::body::{Body, LocalId as BodyLocal};

use super::{build::Lowering, early};
use proofline_cfa::{Argument, Call, Callee, Expr, Op, Role, Site};

/// A block (each of the text is one).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Scope(u32);

/// What is alive at a place.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Alive {
    /// Open blocks, outermost first.
    blocks: Vec<Scope>,
    /// Locals in the order in which they began, with their blocks.
    locals: Vec<(BodyLocal, Scope)>,
}

/// The open blocks during lowering.
#[derive(Default)]
pub(crate) struct Scopes {
    alive: Alive,
    count: u32,
    /// What began with its block.
    early: BTreeSet<BodyLocal>,
    /// Whether anything may, once that is known.
    may_begin_early: Option<bool>,
}

/// How many locals are alive, to return to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth(usize);

impl Alive {
    /// What may stay alive on the way to one of the places: what lives in blocks that are open at some of them.
    pub(crate) fn towards<'a>(&self, places: impl Iterator<Item = &'a Alive>) -> Alive {
        let open: BTreeSet<Scope> = places.flat_map(|place| place.blocks.iter().copied()).collect();
        let mut towards = self.clone();
        towards.blocks.retain(|block| open.contains(block));
        // A local that is not declared at any of the places lives on all the same, while its block is open.
        towards.locals.retain(|(_, block)| open.contains(block));
        towards
    }
}

impl Lowering<'_> {
    pub(crate) fn open_scope(&mut self) {
        let scope = Scope(self.scopes.count);
        self.scopes.count += 1;
        self.scopes.alive.blocks.push(scope);
    }

    /// Ends the innermost block and what lives in it.
    pub(crate) fn close_scope(&mut self, site: Site) {
        let Some(scope) = self.scopes.alive.blocks.pop() else { return };
        let keep = self.scopes.alive.locals.iter().position(|(_, at)| *at == scope);
        if let Some(keep) = keep {
            self.end_locals(Depth(keep), site);
            self.scopes.alive.locals.truncate(keep);
        }
    }

    pub(crate) fn depth(&self) -> Depth {
        Depth(self.scopes.alive.locals.len())
    }

    pub(crate) fn alive(&self) -> Alive {
        self.scopes.alive.clone()
    }

    /// These begin with the innermost block.
    pub(crate) fn begin_early(&mut self, locals: impl FnOnce(&Body) -> Vec<BodyLocal>) {
        let body = self.body;
        if !*self.scopes.may_begin_early.get_or_insert_with(|| early::may_exist(body)) {
            return;
        }
        for local in locals(body) {
            let site = self.local_site(local);
            self.begin(local, site);
            self.scopes.early.insert(local);
        }
    }

    /// Whether the local is alive already where its declaration is reached.
    pub(crate) fn is_early(&self, local: BodyLocal) -> bool {
        self.scopes.early.contains(&local)
    }

    /// The local begins its life here (again, if it was alive), unless it began with its block.
    pub(crate) fn begin(&mut self, local: BodyLocal, site: Site) {
        if self.is_early(local) {
            return;
        }
        let Some(&scope) = self.scopes.alive.blocks.last() else { return };
        if !self.scopes.alive.locals.iter().any(|(known, _)| *known == local) {
            self.scopes.alive.locals.push((local, scope));
        }
        self.emit(Op::Begin(self.locals[local.index()]), site);
    }

    /// The local ends its life before its block does.
    pub(crate) fn end_early(&mut self, local: BodyLocal, site: Site) {
        self.scopes.alive.locals.retain(|(known, _)| *known != local);
        self.end(local, site);
    }

    /// Ends, innermost first, what is alive beyond the depth; the bookkeeping stays, for the code behind the jump.
    pub(crate) fn end_locals(&mut self, depth: Depth, site: Site) {
        let ending: Vec<BodyLocal> =
            self.scopes.alive.locals[depth.0..].iter().rev().map(|(l, _)| *l).collect();
        for local in ending {
            self.end(local, site);
        }
    }

    /// Everything alive ends.
    pub(crate) fn end_all(&mut self, site: Site) {
        self.end_locals(Depth(0), site);
    }

    fn end(&mut self, local: BodyLocal, site: Site) {
        let id = self.locals[local.index()];
        if let Some(cleanup) = self.body.local(local).cleanup {
            let argument = Argument::Value(Expr::Address(self.whole(id)));
            let call = Call { dst: None, callee: Callee::Direct(cleanup), arguments: vec![argument] };
            self.emit(Op::Call(call), site);
        }
        self.emit(Op::End(id), site);
    }

    /// Whether a jump from here, where `from` is alive, to a place where `to` is alive cleans something up.
    pub(crate) fn cleans_up(&self, from: &Alive, to: &Alive) -> bool {
        let is_cleaned = |local: &BodyLocal| self.body.local(*local).cleanup.is_some();
        let stays = |of: &(BodyLocal, Scope)| to.blocks.contains(&of.1) && to.locals.contains(of);
        from.locals.iter().any(|of| is_cleaned(&of.0) && !stays(of))
    }

    /// From here, where `from` is alive, to a place where `to` is alive (C11 6.2.4: a local lives until its block is left, an array of variable
    /// length only until its declaration is jumped back over, and a local is indeterminate when a jump skipped its declaration).
    pub(crate) fn transfer(&mut self, from: &Alive, to: &Alive, site: Site) {
        for &(local, scope) in from.locals.iter().rev() {
            let stays = to.blocks.contains(&scope);
            let declared_there = to.locals.iter().any(|(known, _)| *known == local);
            // GNU: a cleanup also runs when its declaration is jumped back over.
            let id = self.locals[local.index()];
            let ends_at_declaration = self.body.local(local).cleanup.is_some()
                || self.function.local(id).role == Role::VariableArray;
            if !stays || (!declared_there && ends_at_declaration) {
                self.end(local, site);
            }
        }
        for &(local, _) in &to.locals {
            if !from.locals.iter().any(|(known, _)| *known == local) {
                self.emit(Op::Begin(self.locals[local.index()]), site);
            }
        }
    }
}
