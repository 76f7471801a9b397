//! Small programs built from statements, for the tests of the drivers. Variables are whole integers: `g…` is a global, everything
//! else a local. Knows no analysis.

pub mod brute;
pub mod located;
pub mod ranges;
pub mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, BinaryOp, Call, Callee, Cause, CheckId, CompareOp, Edge, Expr, Function, Global, IntType,
    Linkage, Loc, Local, LocalId, Lvalue, Name, Obligation, Op, Program, Role, Scalar, Site, Type,
};
use proofline_cpa::{Config, Question};
use proofline_program_analysis::Environment;

/// An expression.
#[derive(Clone, Debug)]
pub enum E {
    K(i128),
    V(&'static str),
    Bin(BinaryOp, Box<E>, Box<E>),
    Cmp(CompareOp, Box<E>, Box<E>),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum S {
    Set(&'static str, E),
    Havoc(&'static str),
    Assume(E),
    If(E, Vec<S>, Vec<S>),
    While(E, Vec<S>),
    Call(Option<&'static str>, &'static str, Vec<E>),
    Assert(E),
    Return(E),
    Unsupported,
}

pub fn k(value: i128) -> E {
    E::K(value)
}
pub fn v(name: &'static str) -> E {
    E::V(name)
}
pub fn add(a: E, b: E) -> E {
    E::Bin(BinaryOp::Add, Box::new(a), Box::new(b))
}
pub fn sub(a: E, b: E) -> E {
    E::Bin(BinaryOp::Sub, Box::new(a), Box::new(b))
}
pub fn cmp(op: CompareOp, a: E, b: E) -> E {
    E::Cmp(op, Box::new(a), Box::new(b))
}
pub fn eq(a: E, b: E) -> E {
    cmp(CompareOp::Eq, a, b)
}
pub fn ne(a: E, b: E) -> E {
    cmp(CompareOp::Ne, a, b)
}
pub fn le(a: E, b: E) -> E {
    cmp(CompareOp::Le, a, b)
}
pub fn lt(a: E, b: E) -> E {
    cmp(CompareOp::Lt, a, b)
}
pub fn set(name: &'static str, e: E) -> S {
    S::Set(name, e)
}
pub fn call(dst: &'static str, f: &'static str, args: Vec<E>) -> S {
    S::Call(Some(dst), f, args)
}
pub fn when(c: E, then: Vec<S>) -> S {
    S::If(c, then, vec![])
}

/// A function: its name, parameters, other locals, body.
#[derive(Clone, Debug)]
pub struct F {
    pub name: &'static str,
    pub parameters: Vec<&'static str>,
    pub locals: Vec<&'static str>,
    pub body: Vec<S>,
}

pub fn f(name: &'static str, parameters: &[&'static str], locals: &[&'static str], body: Vec<S>) -> F {
    F { name, parameters: parameters.to_vec(), locals: locals.to_vec(), body }
}

/// A program over integers of one type. Globals and locals that are no parameters start as 0.
pub fn program(ty: IntType, globals: &[&'static str], functions: Vec<F>) -> Arc<Environment> {
    let globals = globals.iter().map(|g| {
        let name = Name::new(g);
        let global = Global {
            name,
            ty: Type::int(),
            size: 4,
            linkage: Linkage::Internal,
            defined: true,
            constant: false,
            init: vec![],
            hidden: vec![],
        };
        (name, Arc::new(global))
    });
    let functions = functions.into_iter().map(|f| (Name::new(f.name), Arc::new(Build::function(ty, f))));
    Arc::new(Environment::new(Program {
        data_model: proofline_syntax::DataModel::Lp64,
        records: proofline_hir::Records::default(),
        globals: globals.collect(),
        functions: functions.collect(),
        externals: BTreeMap::new(),
        shared: BTreeSet::new(),
        unsupported: vec![],
    }))
}

pub const INT: IntType = IntType::INT;
/// Two bits, wrapping: few enough values to try them all.
pub const TINY: IntType = IntType { bits: 2, signed: false };

/// Whether an assertion can fail, from `main`.
pub fn question<'p>(env: &'p Environment, config: &Config) -> Question<'p> {
    Question::new(env, main_name(), selected(), *config)
}

pub fn selected() -> BTreeSet<CheckId> {
    BTreeSet::from([CheckId::new("assertion")])
}

pub fn main_name() -> Name {
    Name::new("main")
}

struct Build {
    ty: IntType,
    names: Vec<&'static str>,
    locations: u32,
    edges: Vec<Edge>,
    obligations: Vec<Obligation>,
    unsupported: Vec<(Loc, Name)>,
    exit: Loc,
}

impl Build {
    fn function(ty: IntType, f: F) -> Function {
        let mut names = vec!["return"];
        names.extend(&f.parameters);
        names.extend(&f.locals);
        let locals = names.iter().enumerate().map(|(i, name)| Local {
            name: Name::new(name),
            ty: Type::int(),
            role: match i {
                0 => Role::Result,
                i if i <= f.parameters.len() => Role::Parameter,
                _ => Role::Variable,
            },
            address_taken: false,
            size: 4,
        });
        let locals: Vec<Local> = locals.collect();
        let mut build = Build {
            ty,
            names,
            locations: 2,
            edges: vec![],
            obligations: vec![],
            unsupported: vec![],
            exit: Loc(1),
        };
        let mut at = Loc(0);
        let zeroed: Vec<&'static str> = ["return"].into_iter().chain(f.locals.iter().copied()).collect();
        for local in zeroed {
            at = build.step(at, build.assign(local, &k(0)));
        }
        if let Some(end) = build.block(at, &f.body) {
            let exit = build.exit;
            build.edge(end, exit, Op::Skip);
        }
        Function {
            name: Name::new(f.name),
            ty: Type::int(),
            linkage: Linkage::External,
            attributes: Default::default(),
            parameters: (1..=f.parameters.len() as u32).map(LocalId).collect(),
            locals,
            result: Some(LocalId(0)),
            variadic: false,
            locations: build.locations,
            entry: Loc(0),
            exit: Loc(1),
            edges: build.edges,
            obligations: build.obligations,
            labels: vec![],
            approximations: vec![],
            operands: Vec::new(),
            library_results: vec![],
            unsupported: build.unsupported,
        }
    }

    fn fresh(&mut self) -> Loc {
        self.locations += 1;
        Loc(self.locations - 1)
    }
    fn edge(&mut self, from: Loc, to: Loc, op: Op) {
        let site = Site(self.edges.len() as u32);
        self.edges.push(Edge { from, to, op, site });
    }
    fn step(&mut self, from: Loc, op: Op) -> Loc {
        let to = self.fresh();
        self.edge(from, to, op);
        to
    }
    fn place(&self, name: &'static str) -> Lvalue {
        let base = if name.starts_with('g') {
            Base::Global(Name::new(name))
        } else {
            let position = self.names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no {name}"));
            Base::Local(LocalId(position as u32))
        };
        let scalar = Some(Scalar::Int(self.ty));
        Lvalue { base, path: vec![], ty: Type::int(), scalar, bits: None, size: 4 }
    }
    fn expr(&self, e: &E) -> Expr {
        match e {
            E::K(value) => Expr::Int(self.ty.wrap(*value), self.ty),
            E::V(name) => Expr::Load(self.place(name)),
            E::Bin(op, a, b) => Expr::Binary(*op, Arc::new(self.expr(a)), Arc::new(self.expr(b)), Site(0)),
            E::Cmp(op, a, b) => Expr::Compare(*op, Arc::new(self.expr(a)), Arc::new(self.expr(b))),
        }
    }
    fn assign(&self, name: &'static str, e: &E) -> Op {
        Op::Assign(self.place(name), self.expr(e))
    }
    fn block(&mut self, mut at: Loc, body: &[S]) -> Option<Loc> {
        for s in body {
            at = self.statement(at, s)?;
        }
        Some(at)
    }
    fn statement(&mut self, at: Loc, s: &S) -> Option<Loc> {
        match s {
            S::Set(name, e) => Some(self.step(at, self.assign(name, e))),
            S::Havoc(name) => {
                let op = Op::Havoc(self.place(name), Cause::Input(Name::new("nondet")));
                Some(self.step(at, op))
            }
            S::Assume(c) => Some(self.step(at, Op::Assume(self.expr(c)))),
            S::If(c, then, otherwise) => {
                let c = self.expr(c);
                let yes = self.step(at, Op::Assume(c.clone()));
                let no = self.step(at, Op::Assume(c.negated()));
                let ends = [self.block(yes, then), self.block(no, otherwise)];
                let ends: Vec<Loc> = ends.into_iter().flatten().collect();
                if ends.is_empty() {
                    return None;
                }
                let join = self.fresh();
                ends.into_iter().for_each(|end| self.edge(end, join, Op::Skip));
                Some(join)
            }
            S::While(c, body) => {
                let c = self.expr(c);
                let head = self.step(at, Op::Skip);
                let inside = self.step(head, Op::Assume(c.clone()));
                if let Some(end) = self.block(inside, body) {
                    self.edge(end, head, Op::Skip);
                }
                Some(self.step(head, Op::Assume(c.negated())))
            }
            S::Call(dst, name, args) => {
                let dst = dst.map(|dst| self.place(dst));
                let arguments = args.iter().map(|a| Argument::Value(self.expr(a))).collect();
                let callee = Callee::Direct(Name::new(name));
                Some(self.step(at, Op::Call(Call { dst, callee, arguments })))
            }
            S::Assert(c) => {
                let c = self.expr(c);
                let error = self.fresh();
                let (site, text) = (Site(self.edges.len() as u32), Name::new("assert"));
                self.obligations.push(Obligation { check: CheckId::new("assertion"), error, site, text });
                self.edge(at, error, Op::Assume(c.negated()));
                Some(self.step(at, Op::Assume(c)))
            }
            S::Return(e) => {
                let op = self.assign("return", e);
                let exit = self.exit;
                self.edge(at, exit, op);
                None
            }
            S::Unsupported => {
                let to = self.step(at, Op::Skip);
                self.unsupported.push((to, Name::new("setjmp")));
                Some(to)
            }
        }
    }
}
