//! A chain of edges under construction: what a monitor does at a place of a function. Knows automata, no monitor.

use std::collections::BTreeMap;

use proofline_cfa::{
    Base, Cause, CheckId, CompareOp, Edge, Expr, Function, IntType, Loc, Local, LocalId, Lvalue, Name,
    Obligation, Op, Role, Scalar, Site, Types,
};

/// The chain. Tests stand nowhere in the text; what people are told stands where the event does.
pub(super) struct Builder<'p> {
    pub(super) function: Function,
    pub(super) types: Types<'p>,
    pub(super) at: Loc,
    pub(super) site: Site,
    temporaries: u32,
    notes: BTreeMap<String, LocalId>,
}

impl<'p> Builder<'p> {
    pub(super) fn new(function: Function, types: Types<'p>) -> Builder<'p> {
        let numbers =
            function.locals.iter().filter_map(|local| local.name.strip_prefix('$')?.parse::<u32>().ok());
        let temporaries = numbers.max().map_or(0, |last| last + 1);
        let at = function.entry;
        Builder { function, types, at, site: Site::NOWHERE, temporaries, notes: BTreeMap::new() }
    }

    pub(super) fn location(&mut self) -> Loc {
        self.function.locations += 1;
        Loc(self.function.locations - 1)
    }

    /// An edge that is nowhere in the text; here stays.
    pub(super) fn connect(&mut self, op: Op, to: Loc) {
        self.function.edges.push(Edge { from: self.at, to, op, site: Site::NOWHERE });
    }

    /// An edge to a new location, which becomes here.
    pub(super) fn emit(&mut self, op: Op) {
        let to = self.location();
        self.connect(op, to);
        self.at = to;
    }

    /// The same, in the text.
    pub(super) fn emit_here(&mut self, op: Op) {
        self.emit(op);
        if let Some(edge) = self.function.edges.last_mut() {
            edge.site = self.site;
        }
    }

    pub(super) fn temporary(&mut self, scalar: Scalar) -> Lvalue {
        let ty = self.types.of_scalar(scalar);
        let id = LocalId(self.function.locals.len() as u32);
        let name = Name::new(&format!("${}", self.temporaries));
        self.temporaries += 1;
        let size = self.types.size(ty).unwrap_or(0);
        self.function.locals.push(Local { name, ty, role: Role::Temporary, address_taken: false, size });
        Lvalue { base: Base::Local(id), path: Vec::new(), ty, scalar: Some(scalar), bits: None, size }
    }

    /// Goes on where the condition holds; where it does not, to `otherwise`. Constants are no edges.
    pub(super) fn test(&mut self, condition: &Expr, otherwise: Loc) {
        match condition {
            Expr::Int(0, _) => {
                self.connect(Op::Skip, otherwise);
                self.at = self.location();
            }
            Expr::Int(..) => {}
            condition => {
                self.connect(Op::Assume(condition.negated()), otherwise);
                self.emit(Op::Assume(condition.clone()));
            }
        }
    }

    /// Fails where the condition holds: one test, so that executions may go on instead. Here is where it does not.
    pub(super) fn fail(&mut self, condition: &Expr, error: Loc) {
        self.connect(Op::Assume(condition.clone()), error);
        self.emit(Op::Assume(condition.negated()));
    }

    /// Any number: something that the automaton chooses.
    pub(super) fn choice(&mut self, of: Name) -> Expr {
        let temporary = self.temporary(Scalar::Int(IntType::INT));
        self.emit(Op::Havoc(temporary.clone(), Cause::Within(of)));
        let zero = std::sync::Arc::new(Expr::int(0));
        Expr::Compare(CompareOp::Ne, std::sync::Arc::new(Expr::Load(temporary)), zero)
    }

    /// People are told so here: the end of a life that nothing else has to do with.
    pub(super) fn note(&mut self, message: &str) {
        if message.is_empty() {
            return;
        }
        let id = match self.notes.get(message) {
            Some(id) => *id,
            None => {
                let id = LocalId(self.function.locals.len() as u32);
                let name = Name::new(&format!("{} {message}", super::PREFIX));
                let (ty, size) = (proofline_cfa::Type::int(), 4);
                self.function.locals.push(Local {
                    name,
                    ty,
                    role: Role::Temporary,
                    address_taken: false,
                    size,
                });
                self.notes.insert(message.to_owned(), id);
                id
            }
        };
        self.emit_here(Op::End(id));
    }

    /// An obligation, without the edges on which it fails.
    pub(super) fn obligation(&mut self, check: CheckId, text: &str) -> Loc {
        let error = self.location();
        self.function.obligations.push(Obligation { check, error, site: self.site, text: Name::new(text) });
        error
    }
}
