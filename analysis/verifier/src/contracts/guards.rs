//! Functions that only look: `if (is_broken(s)) return …;`. Where one is called by its name, its edges take the place of the call, with its obligations, so
//! that what it found out is known behind it (that `s->state` is not null). Knows no contracts.
//!
//! **Law.** Each run of the function is a run of the new automaton; and where an obligation of a function that is looked into fails in it, the obligation
//! that took its place fails there.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Argument, Base, Call, Callee, CompareOp, Edge, Expr, Function, Loc, Local, LocalId, Lvalue, Name,
    Obligation, ObligationId, Op, Program, Role, Site,
    visit::{self, Mention, Renaming},
};

/// So many edges one of them has at most.
const EDGES: usize = 250;

/// The function with what its guards do, and the obligations that came with them. `None`: it calls none.
pub(super) fn looked_into(program: &Program, name: Name) -> Option<(Function, BTreeSet<ObligationId>)> {
    let function = program.function(name)?;
    let mut out: Option<Function> = None;
    for (at, edge) in function.edges.iter().enumerate() {
        let Some((callee, call)) = guard(program, function, &edge.op) else { continue };
        insert(out.get_or_insert_with(|| Function::clone(function)), at, callee, call);
    }
    let out = out?;
    let new = (function.obligations.len()..out.obligations.len()).map(|at| ObligationId(at as u32)).collect();
    Some((out, new))
}

/// The function that is called, if it only looks.
fn guard<'p>(program: &'p Program, caller: &Function, op: &'p Op) -> Option<(&'p Function, &'p Call)> {
    let call = op.call()?;
    let Callee::Direct(name) = call.callee else { return None };
    let callee = program.function(name).filter(|callee| callee.name != caller.name)?;
    let is_plain = |argument: &Argument| matches!(argument, Argument::Value(_));
    let fits = call.arguments.len() == callee.parameters.len() && call.arguments.iter().all(is_plain);
    let result = callee.result.map(|id| callee.local(id));
    let takes_result = call.dst.as_ref().is_none_or(|dst| {
        result.is_some_and(|result| dst.scalar.is_some() && dst.ty.unqualified() == result.ty.unqualified())
    });
    (fits && takes_result && only_looks(callee)).then_some((&**callee, call))
}

/// Whether it changes nothing but its own variables, calls nothing, and has no loop.
fn only_looks(function: &Function) -> bool {
    let is_own = |op: &Op| match op {
        Op::Skip | Op::Assume(_) | Op::Begin(_) | Op::End(_) => true,
        Op::Assign(Lvalue { base: Base::Local(id), .. }, _) => !function.local(*id).address_taken,
        Op::Assign(..)
        | Op::Copy(..)
        | Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Call(_)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => false,
    };
    let is_whole = !function.variadic && function.unsupported.is_empty() && function.result.is_some();
    let is_small = function.edges.len() <= EDGES && function.locals.iter().all(|local| !local.address_taken);
    is_whole && is_small && function.edges.iter().all(|edge| is_own(&edge.op)) && !has_loop(function)
}

fn has_loop(function: &Function) -> bool {
    let successors = function.successors();
    let mut left: Vec<usize> = vec![0; function.locations as usize];
    for edge in &function.edges {
        left[edge.to.index()] += 1;
    }
    let mut open: Vec<usize> = (0..left.len()).filter(|at| left[*at] == 0).collect();
    let mut seen = 0;
    while let Some(at) = open.pop() {
        seen += 1;
        for id in &successors[at] {
            let to = function.edge(*id).to.index();
            left[to] -= 1;
            if left[to] == 0 {
                open.push(to);
            }
        }
    }
    seen < left.len()
}

/// Locals of a guard, as the caller has them.
struct Renamed(BTreeMap<LocalId, LocalId>);

impl Renaming for Renamed {
    fn local(&self, id: LocalId) -> LocalId {
        self.0.get(&id).copied().unwrap_or(id)
    }
}

/// Puts a guard in the place of its call.
fn insert(out: &mut Function, at: usize, callee: &Function, call: &Call) {
    let Edge { from, to, site, .. } = out.edges[at].clone();
    let mut renamed = Renamed(BTreeMap::new());
    let mut before = Vec::new();
    for (index, local) in callee.locals.iter().enumerate() {
        let id = LocalId(index as u32);
        let place = callee.parameters.iter().position(|parameter| *parameter == id);
        let argument = place.and_then(|place| match call.arguments.get(place)? {
            Argument::Value(value) => Some(value),
            Argument::Aggregate(_) => None,
        });
        if let Some(own) = argument.and_then(|value| variable(out, value)).filter(|_| !is_written(callee, id))
        {
            renamed.0.insert(id, own);
            continue;
        }
        let new = LocalId(out.locals.len() as u32);
        let name = Name::new(&format!("{}#{}{}", local.name, callee.name, new.0));
        let role = if local.role == Role::Parameter { Role::Variable } else { local.role };
        let role = if role == Role::Result { Role::Temporary } else { role };
        out.locals.push(Local { name, role, ..local.clone() });
        renamed.0.insert(id, new);
        before.extend(argument.map(|value| (new, value.clone())));
    }
    let mut body = callee.clone();
    visit::rename(&mut body, &renamed);
    let mut now = from;
    for (id, value) in before {
        let next = fresh(out);
        let op = Op::Assign(whole(out, id, &value), value);
        out.edges.push(Edge { from: now, to: next, op, site });
        now = next;
    }
    let copied = Copied::of(out, &body, site);
    for obligation in body.obligations {
        let error = copied.errors[&obligation.error];
        let text = Name::new(&format!("in `{}`: {}", callee.name, obligation.text));
        out.obligations.push(Obligation { error, site, text, ..obligation });
    }
    out.edges[at] = Edge { from: now, to: copied.entry, op: Op::Skip, site };
    let errors: BTreeSet<Loc> = out.obligations.iter().map(|obligation| obligation.error).collect();
    // What the caller asks of the result it asks behind each of them, so that what led there is not forgotten.
    let asks: Vec<usize> = (0..out.edges.len()).filter(|at| out.edges[*at].from == to).collect();
    let is_question = |edge: &Edge| matches!(edge.op, Op::Assume(_)) && !errors.contains(&edge.to);
    let is_asked = asks.iter().all(|at| is_question(&out.edges[*at])) && to != out.exit;
    let is_lone = out.edges.iter().all(|edge| edge.to != to);
    let mut used = BTreeSet::new();
    for (exit, number) in copied.exits {
        let op = match (body.result, &call.dst) {
            (Some(id), Some(dst)) => {
                let base = Base::Local(id);
                let value = Expr::Load(Lvalue { base, path: Vec::new(), bits: None, ..dst.clone() });
                Op::Assign(dst.clone(), value)
            }
            _ => Op::Skip,
        };
        if !is_asked || !is_lone {
            out.edges.push(Edge { from: exit, to, op, site });
            continue;
        }
        let behind = fresh(out);
        out.edges.push(Edge { from: exit, to: behind, op, site });
        for at in &asks {
            let fails = number.zip(call.dst.as_ref()).and_then(|(number, dst)| {
                if let Op::Assume(condition) = &out.edges[*at].op {
                    holds(condition, dst, number)
                } else {
                    None
                }
            });
            if fails == Some(false) {
                continue;
            }
            // The caller's own edges keep their numbers.
            if used.insert(*at) {
                out.edges[*at].from = behind;
            } else {
                let edge = Edge { from: behind, ..out.edges[*at].clone() };
                out.edges.push(edge);
            }
        }
    }
}

/// Whether a condition holds where the variable has this value, if that is all that it asks.
fn holds(condition: &Expr, variable: &Lvalue, value: i128) -> Option<bool> {
    let is_it = |expr: &Expr| matches!(expr, Expr::Load(read) if read == variable);
    match condition {
        expr if is_it(expr) => Some(value != 0),
        Expr::Compare(op, lhs, rhs) if is_it(lhs) => {
            let Expr::Int(other, _) = **rhs else { return None };
            Some(match op {
                CompareOp::Eq => value == other,
                CompareOp::Ne => value != other,
                CompareOp::Lt => value < other,
                CompareOp::Le => value <= other,
                CompareOp::Gt => value > other,
                CompareOp::Ge => value >= other,
            })
        }
        _ => None,
    }
}

fn fresh(out: &mut Function) -> Loc {
    out.locations += 1;
    Loc(out.locations - 1)
}

/// The edges of a guard in its caller. Where it has put a number into its result, its locations are others than where it has put another one there.
struct Copied {
    entry: Loc,
    /// With the number in the result.
    exits: Vec<(Loc, Option<i128>)>,
    errors: BTreeMap<Loc, Loc>,
}

impl Copied {
    fn of(out: &mut Function, body: &Function, site: Site) -> Copied {
        let mut errors = BTreeMap::new();
        for obligation in &body.obligations {
            errors.insert(obligation.error, fresh(out));
        }
        let successors = body.successors();
        let mut known: BTreeMap<(Loc, Option<i128>), Loc> = BTreeMap::new();
        let start = (body.entry, None);
        known.insert(start, fresh(out));
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let from = known[&at];
            for id in &successors[at.0.index()] {
                let Edge { to, op, .. } = body.edge(*id);
                let (to, result) = (*to, result_of(body, op).unwrap_or(at.1));
                let to = match errors.get(&to) {
                    Some(error) => *error,
                    None => *known.entry((to, result)).or_insert_with(|| {
                        open.push((to, result));
                        fresh(out)
                    }),
                };
                out.edges.push(Edge { from, to, op: op.clone(), site });
            }
        }
        let exits = known.iter().filter(|((at, _), _)| *at == body.exit);
        let exits = exits.map(|((_, result), new)| (*new, *result)).collect();
        Copied { entry: known[&start], exits, errors }
    }
}

/// What an operation puts into the result: a number, or `Some(None)` for anything else.
fn result_of(body: &Function, op: &Op) -> Option<Option<i128>> {
    let Op::Assign(Lvalue { base: Base::Local(id), .. }, value) = op else { return None };
    let is_result = Some(*id) == body.result;
    is_result.then_some(if let Expr::Int(value, _) = value { Some(*value) } else { None })
}

/// The variable whose value it is, if no pointer leads there.
fn variable(function: &Function, value: &Expr) -> Option<LocalId> {
    let Expr::Load(Lvalue { base: Base::Local(id), path, bits: None, .. }) = value else { return None };
    (path.is_empty() && !function.local(*id).address_taken).then_some(*id)
}

fn is_written(function: &Function, id: LocalId) -> bool {
    let mut found = false;
    for edge in &function.edges {
        visit::mentions(&edge.op, &mut |mention| {
            found |= matches!(mention, Mention::Write(to) if to.base == Base::Local(id));
        });
        found |= matches!(&edge.op, Op::Begin(of) | Op::End(of) if *of == id);
    }
    found
}

/// The whole local, in the format of a value.
fn whole(function: &Function, id: LocalId, value: &Expr) -> Lvalue {
    let local = function.local(id);
    Lvalue::local(id, local.ty, value.scalar(), local.size)
}
