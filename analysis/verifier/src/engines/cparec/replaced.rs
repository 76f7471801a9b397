//! Programs without recursion in which summaries stand for recursive calls: `CheckSummary` of [REC14]. Each call of a recursive function is replaced by
//! any result, and any values of what it may write, of which its summary holds; at its exit each recursive function has the obligation that its summary
//! holds. If every function keeps its obligations, whatever its arguments and the values of objects are, then by Hoare's rule for recursion
//! each summary holds of each call, and what the replaced program does not reach, the program does not.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Argument, Callee, Cause, Edge, EdgeId, Expr, Function, Local, LocalId, Lvalue, Name, Obligation,
    ObligationId, Op, Program, Role, Scalar, Site,
};
use proofline_cpa::Unknown;
use proofline_smt::Term;

use super::{
    claim::{Claim, Places, fresh_location},
    summary::{Interface, after, before, global_place, input, local_place, output},
};
use crate::checks::assertion;

/// A program with its recursive calls replaced.
pub(super) struct Replaced {
    pub(super) program: Program,
    /// That each recursive function keeps its summary.
    pub(super) obligations: BTreeMap<Name, ObligationId>,
}

impl Replaced {
    /// # Errors
    /// If a call cannot be replaced.
    pub(super) fn new(
        program: &Program,
        interfaces: &BTreeMap<Name, Interface>,
        summaries: &BTreeMap<Name, Vec<Term>>,
    ) -> Result<Replaced, Unknown> {
        let mut replaced = Replaced { program: program.clone(), obligations: BTreeMap::new() };
        for (name, function) in &program.functions {
            let mut writer = Writer { program, function: (**function).clone(), is_changed: false };
            for id in 0..function.edges.len() {
                let id = EdgeId(id as u32);
                let Op::Call(call) = &function.edge(id).op else { continue };
                let Callee::Direct(callee) = call.callee else { continue };
                let (Some(interface), Some(summary)) = (interfaces.get(&callee), summaries.get(&callee))
                else {
                    continue;
                };
                writer.replace_call(id, callee, interface, summary)?;
            }
            if let (Some(interface), Some(summary)) = (interfaces.get(name), summaries.get(name)) {
                let obligation = writer.oblige(interface, summary)?;
                replaced.obligations.insert(*name, obligation);
            }
            if writer.is_changed {
                replaced.program.functions.insert(*name, Arc::new(writer.function));
            }
        }
        Ok(replaced)
    }
}

/// Changes one function.
struct Writer<'w> {
    program: &'w Program,
    function: Function,
    is_changed: bool,
}

fn load(place: &Lvalue) -> Expr {
    Expr::Load(place.clone())
}

fn lost(what: &str) -> Unknown {
    Unknown::InternalError(format!("{what} has no place"))
}

impl Writer<'_> {
    /// A local of the same type as a place.
    fn local_like(&mut self, place: &Lvalue) -> Result<Lvalue, Unknown> {
        let id = LocalId(self.function.locals.len() as u32);
        self.function.locals.push(Local {
            name: Name::new(&format!("#{}", id.0)),
            ty: place.ty,
            role: Role::Temporary,
            address_taken: false,
            size: place.size,
        });
        let scalar = place.scalar.ok_or_else(|| lost("a number"))?;
        Ok(Lvalue::local(id, place.ty, scalar, place.size))
    }

    fn global(&self, name: Name) -> Result<Lvalue, Unknown> {
        global_place(self.program, name).ok_or_else(|| lost(name.as_str()))
    }

    /// Adds an edge from a location to a new one.
    fn step(&mut self, from: proofline_cfa::Loc, op: Op, site: Site) -> proofline_cfa::Loc {
        let to = fresh_location(&mut self.function);
        self.function.edges.push(Edge { from, to, op, site });
        to
    }

    /// `x := any; assume S[g](p, x)` in place of `x := g(p)`.
    fn replace_call(
        &mut self,
        id: EdgeId,
        callee: Name,
        interface: &Interface,
        summary: &[Term],
    ) -> Result<(), Unknown> {
        self.is_changed = true;
        let Edge { to, op, site, .. } = self.function.edge(id).clone();
        let (Op::Call(call), Some(called)) = (op, self.program.functions.get(&callee)) else {
            return Err(Unknown::InternalError("no call of a function with a body".into()));
        };
        let mut at = fresh_location(&mut self.function);
        let begun = &mut self.function.edges[id.index()];
        (begun.op, begun.to) = (Op::Skip, at);
        let mut places = Places::new();
        for (index, (argument, parameter)) in call.arguments.iter().zip(&interface.parameters).enumerate() {
            let Argument::Value(value) = argument else {
                return Err(Unknown::Unsupported("a record is passed to a recursive function".into()));
            };
            let parameter =
                local_place(self.program, called, *parameter).ok_or_else(|| lost("a parameter"))?;
            let copy = self.local_like(&parameter)?;
            at = self.step(at, Op::Assign(copy.clone(), value.clone()), site);
            places.insert(input(index), copy);
        }
        for name in &interface.integers {
            let object = self.global(*name)?;
            let copy = self.local_like(&object)?;
            at = self.step(at, Op::Assign(copy.clone(), load(&object)), site);
            places.insert(before(*name), copy);
            places.insert(after(*name), object);
        }
        let cause = Cause::Unmodelled(callee);
        for name in &interface.written {
            let object = self.global(*name)?;
            at = self.step(at, Op::Havoc(object, cause), site);
        }
        if let Some(result) = interface.result {
            let result = local_place(self.program, called, result).ok_or_else(|| lost("a result"))?;
            let copy = self.local_like(&result)?;
            at = self.step(at, Op::Havoc(copy.clone(), cause), site);
            places.insert(output(), copy);
        }
        // What no expression says is not assumed.
        for part in summary.iter().filter_map(|part| Claim::new(*part, true, &places)) {
            let next = fresh_location(&mut self.function);
            part.assume(&mut self.function, at, next, site);
            at = next;
        }
        let op = match (call.dst, places.get(&output())) {
            (Some(dst), Some(result)) => {
                let value = match dst.scalar {
                    Some(scalar) if dst.bits.is_none() && Some(scalar) != result.scalar => {
                        Expr::Cast(scalar, Arc::new(load(result)), site)
                    }
                    Some(Scalar::Int(_)) => load(result),
                    Some(Scalar::Float(_) | Scalar::Pointer) | None => return Err(lost("a result")),
                };
                Op::Assign(dst, value)
            }
            (Some(_), None) => return Err(lost("a result")),
            (None, _) => Op::Skip,
        };
        self.function.edges.push(Edge { from: at, to, op, site });
        Ok(())
    }

    /// Begins with any values of whatever is mentioned, and ends with the obligation that the summary holds.
    fn oblige(&mut self, interface: &Interface, summary: &[Term]) -> Result<ObligationId, Unknown> {
        self.is_changed = true;
        let site = Site::NOWHERE;
        let mut places = Places::new();
        let (first, last) = (self.function.entry, self.function.exit);
        let mut at = fresh_location(&mut self.function);
        self.function.entry = at;
        // Also what analyses believe to be as it began: a call in the middle of a program may find anything.
        for name in &interface.mentioned {
            if self.program.globals.get(name).is_some_and(|global| !global.constant) {
                let object = self.global(*name)?;
                at = self.step(at, Op::Havoc(object, Cause::Unmodelled(*name)), site);
            }
        }
        for (index, parameter) in interface.parameters.iter().enumerate() {
            let parameter = local_place(self.program, &self.function, *parameter);
            let parameter = parameter.ok_or_else(|| lost("a parameter"))?;
            let copy = self.local_like(&parameter)?;
            at = self.step(at, Op::Assign(copy.clone(), load(&parameter)), site);
            places.insert(input(index), copy);
        }
        for name in &interface.integers {
            let object = self.global(*name)?;
            let copy = self.local_like(&object)?;
            at = self.step(at, Op::Assign(copy.clone(), load(&object)), site);
            places.insert(before(*name), copy);
            places.insert(after(*name), object);
        }
        self.function.edges.push(Edge { from: at, to: first, op: Op::Skip, site });
        if let Some(result) = interface.result {
            let place = local_place(self.program, &self.function, result);
            places.insert(output(), place.ok_or_else(|| lost("a result"))?);
        }
        let error = fresh_location(&mut self.function);
        let mut at = last;
        for part in summary {
            // Assumed exactly where it is checked: by the same rule.
            let (Some(holds), Some(fails)) =
                (Claim::new(*part, true, &places), Claim::new(*part, false, &places))
            else {
                continue;
            };
            let next = fresh_location(&mut self.function);
            holds.assume(&mut self.function, at, next, site);
            fails.assume(&mut self.function, at, error, site);
            at = next;
        }
        self.function.exit = self.step(at, Op::Skip, site);
        let id = ObligationId(self.function.obligations.len() as u32);
        let text = Name::new("the summary holds");
        self.function.obligations.push(Obligation { check: assertion::CHECK.id(), error, site, text });
        Ok(id)
    }
}
