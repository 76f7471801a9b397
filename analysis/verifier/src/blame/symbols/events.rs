//! What the events of a trace do to variables.

use std::sync::Arc;

use proofline_cfa::{
    Argument, Base, Call, Cause, Expr, Function, IntType, Lvalue, Name, Op, Role, Scalar, Site, eval::Value,
    visit,
};
use proofline_cfa_build::models;
use proofline_hir::Type;
use proofline_program_analysis::Environment;

use super::{Choice, Influence, Open, Rest, Root, Symbol, Symbols, frame, own, result_of};
use crate::interpret::Event;

/// Whether a function that is not here is one whose results are known to come from outside the program: they are whatever its model
/// allows (`rand`, `getchar`, `fgets`), so that no caller has a say in them.
pub(in crate::blame) fn is_input(name: Name) -> bool {
    models::standard().model(&name).is_some()
}

impl<'p> Symbols<'p> {
    /// What an event does to variables. In a loop whose rounds are influenced from outside, numbers are computed any number of times.
    pub(in crate::blame) fn event(
        &mut self,
        env: &Environment,
        function: &Function,
        event: &Event,
        by_loops: Influence,
    ) {
        let depth = event.depth;
        let edge = function.edge(event.edge);
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Address(Lvalue { base: Base::Local(id), .. }) = expr {
                self.taken.insert((depth, *id));
            }
            self.meet(expr, depth);
        });
        let choice = self.choice.take().filter(|choice| choice.site == edge.site && choice.depth == depth);
        match &edge.op {
            Op::Assign(dst, value) => {
                // Numbers that nothing outside influences are what they are in this run.
                let mut symbol = self.value(value, depth);
                let is_constant = matches!(value, Expr::Int(..) | Expr::Null | Expr::Address(_));
                if !is_constant {
                    symbol.on = symbol.on.and(by_loops);
                }
                if (!symbol.on.is_some() || symbol.expr.as_ref().is_some_and(is_closed))
                    && let (Some((Value::Int(n), scalar)), Some(_)) = (event.value, dst.scalar)
                {
                    symbol.expr = match scalar {
                        Scalar::Int(ty) => Some(Expr::Int(n, ty)),
                        Scalar::Pointer if n == 0 => Some(Expr::Null),
                        Scalar::Pointer => symbol.expr.filter(|expr| matches!(expr, Expr::Address(_))),
                        Scalar::Float(_) => None,
                    };
                }
                // Which of its results an unknown function gives is as unknown as the result.
                if let Some(choice) = choice
                    && matches!(symbol.expr, Some(Expr::Null))
                {
                    symbol = self.result(choice.by, dst);
                }
                // A bit-field keeps some bits of it only.
                if let (Some(field), Some(Scalar::Int(ty))) = (dst.bits, dst.scalar) {
                    let ty = IntType { bits: field.width, ..ty };
                    let kept = |expr| Expr::Cast(Scalar::Int(ty), Arc::new(expr), edge.site);
                    symbol.expr = symbol.expr.map(kept);
                }
                self.write(dst, depth, symbol);
            }
            Op::Havoc(dst, cause) => {
                let computed = self.computed(function, dst, depth);
                let symbol = match cause {
                    Cause::External(_) | Cause::Keeping(_) | Cause::Within(_) | Cause::Unmodelled(_)
                        if computed.is_some() =>
                    {
                        let expr = self.computed_again(function, dst, depth);
                        Symbol::new(expr, computed.unwrap_or_default())
                    }
                    Cause::External(name) | Cause::Within(name) if is_input(*name) => Symbol::default(),
                    // The effect of an unknown function is as little this function's fault as its arguments are.
                    Cause::External(name) | Cause::Keeping(name) => self.result(*name, dst),
                    Cause::Within(name) | Cause::Unmodelled(name) => {
                        Symbol::new(None, Influence::unknown(*name))
                    }
                    Cause::Input(_) | Cause::Text(_) | Cause::Volatile | Cause::Indeterminate => {
                        Symbol::default()
                    }
                };
                if let Cause::Within(by) = cause
                    && !is_input(*by)
                    && computed.is_none()
                {
                    self.choice = Some(Choice { by: *by, site: edge.site, depth });
                }
                self.write(dst, depth, symbol);
            }
            Op::Copy(dst, src) => self.copy(dst, src, depth),
            Op::Allocate(allocation) => {
                let size = self.value(&allocation.size, depth);
                let pointer = event.value.map(|(value, _)| match value {
                    Value::Int(0) => Expr::Null,
                    Value::Int(_) | Value::Float(_) => self.own.allocated(&allocation.dst, size),
                });
                self.write(&allocation.dst, depth, Symbol::new(pointer, Influence::default()));
            }
            Op::Call(call) => self.call(call, depth),
            Op::Clobber(_, cause) => self.clobbered(*cause),
            Op::HavocBytes(to, _, cause) => {
                let on = match cause {
                    Cause::External(name) | Cause::Within(name) if is_input(*name) => Influence::default(),
                    Cause::External(name)
                    | Cause::Keeping(name)
                    | Cause::Within(name)
                    | Cause::Unmodelled(name) => Influence::unknown(*name),
                    Cause::Input(_) | Cause::Text(_) | Cause::Volatile | Cause::Indeterminate => {
                        Influence::default()
                    }
                };
                self.overwritten(to, depth, on);
            }
            Op::CopyBytes(to, from, _) => {
                let on = self.influence(from, depth).and(self.memory).and(self.of_callers());
                self.overwritten(to, depth, on);
            }
            Op::FillBytes(to, byte, _) => {
                let on = self.influence(byte, depth);
                self.overwritten(to, depth, on);
            }
            // What can still be read is what it was before.
            Op::Free(pointer) => {
                let freed = self.substituted(pointer, depth);
                self.freed.extend(freed);
            }
            Op::Assume(condition) => {
                self.choice = choice;
                if env.structure(function.name).successors(edge.from).len() == 1 {
                    self.bounded(condition, depth);
                }
            }
            Op::Skip | Op::Begin(_) | Op::End(_) => {}
        }
        // The entry's own parameters keep their first values in expressions; a variable that is no parameter has none.
        debug_assert!(depth >= self.base, "events below the entry's activation");
        debug_assert!(
            function.parameters.iter().all(|id| function.local(*id).role == Role::Parameter),
            "parameters are parameters"
        );
    }

    /// Who has a say in a result that follows from the program's state (`strlen`), if the variable gets one: who has a say in what it is made of,
    /// and in what that leads to.
    fn computed(&self, function: &Function, dst: &Lvalue, depth: u32) -> Option<Influence> {
        let Base::Local(id) = dst.base else { return None };
        let result = function.library_results.iter().find(|result| result.dst == id)?;
        let on = result.arguments.iter().map(|argument| {
            let own = self.influence(argument, depth);
            if argument.scalar() != Scalar::Pointer {
                return own;
            }
            let behind = Lvalue {
                base: Base::Deref(Arc::new(argument.clone()), Site::NOWHERE),
                path: Vec::new(),
                ty: Type::int(),
                scalar: Some(Scalar::Int(IntType { bits: 8, signed: true })),
                bits: None,
                size: 1,
            };
            own.and(self.behind(&behind, depth))
        });
        Some(on.fold(Influence::default(), Influence::and))
    }

    /// Such a result as an expression, if memory is as it was at the start.
    fn computed_again(&mut self, function: &Function, dst: &Lvalue, depth: u32) -> Option<Expr> {
        let Base::Local(id) = dst.base else { return None };
        let result = function.library_results.iter().find(|result| result.dst == id)?;
        let arguments = result.arguments.iter().map(|argument| self.value(argument, depth).expr);
        let arguments = arguments.collect::<Option<Vec<_>>>().filter(|_| !self.is_written)?;
        self.own.computed(result, arguments, dst)
    }

    /// Who has a say in the bytes of the object that the lvalue is in.
    fn behind(&self, lvalue: &Lvalue, depth: u32) -> Influence {
        let Some((at, root, _)) = self.key(lvalue, depth) else { return self.loaded(lvalue, depth).on };
        if matches!(root, Root::Global(name) if self.constants.contains(&name)) {
            return Influence::default();
        }
        let rest = match root {
            Root::Local(_) => self.rest.get(&(at, root)).copied().unwrap_or_default().on,
            Root::Global(name) if own::is_object(name) => {
                self.rest.get(&(at, root)).copied().unwrap_or_default().on.and(self.of_callers())
            }
            Root::Global(_) => Influence::CALLERS,
        };
        let parts = self.known.iter().filter(|((depth, other, _), _)| (*depth, *other) == (at, root));
        parts.fold(rest.and(self.memory), |on, (_, part)| on.and(part.on))
    }

    /// What is assumed without a branch is what a model says of a result: who has a say in the bound has one in the result.
    fn bounded(&mut self, condition: &Expr, depth: u32) {
        let Expr::Compare(_, result, bound) = condition else { return };
        let (Expr::Load(place), on) = (&**result, self.influence(bound, depth)) else { return };
        if let Some(key) = self.key(place, depth)
            && let Some(symbol) = self.known.get_mut(&key)
        {
            symbol.on = symbol.on.and(on);
        }
    }

    /// Another result of an unknown function.
    fn result(&mut self, name: proofline_cfa::Name, dst: &Lvalue) -> Symbol {
        self.results += 1;
        Symbol::new(result_of(name, self.results, dst), Influence::unknown(name))
    }

    fn write(&mut self, lvalue: &Lvalue, depth: u32, value: Symbol) {
        match self.key(lvalue, depth) {
            Some((at, root, offset)) if lvalue.scalar.is_none() => {
                self.forget(at, root, (offset, lvalue.size), value.on);
            }
            Some(key) => {
                self.known.insert(key, value);
            }
            None => {
                let on = value.on.and(match &lvalue.base {
                    Base::Deref(pointer, _) => self.influence(pointer, depth),
                    Base::Local(_) | Base::Global(_) => Influence::CALLERS,
                });
                if let Base::Local(id) = lvalue.base {
                    return self.forget(depth, Root::Local(id), (0, 0), on);
                }
                self.written_anywhere(on);
            }
        }
    }

    /// Bytes of a variable, from an offset on (a size of 0: all), have values from outside.
    fn forget(&mut self, at: u32, root: Root, (offset, size): (u64, u64), on: Influence) {
        let end = if size == 0 { u64::MAX } else { offset.saturating_add(size) };
        let start = if size == 0 { 0 } else { offset };
        self.known.retain(|(depth, other, byte), _| {
            *depth != at || *other != root || *byte < start || *byte >= end
        });
        let rest = self.rest.entry((at, root)).or_default();
        *rest = Rest { on: on.and(rest.on), is_first: false };
        if matches!(root, Root::Global(_)) {
            self.is_written = true;
        }
    }

    /// Through a pointer, many bytes at a time.
    fn overwritten(&mut self, to: &Expr, depth: u32, on: Influence) {
        let target = match self.substituted(to, depth) {
            Some(Expr::Address(target)) => Some(target.base),
            _ => None,
        };
        match target {
            Some(Base::Global(name)) => match frame(name) {
                Some((at, id)) => self.forget(at, Root::Local(id), (0, 0), on),
                None => self.forget(0, Root::Global(name), (0, 0), on),
            },
            _ => {
                let on = on.and(self.influence(to, depth));
                self.written_anywhere(on);
            }
        }
    }

    /// Something in memory was written: it may have been any variable whose address is about.
    fn written_anywhere(&mut self, on: Influence) {
        self.memory = on.and(self.memory);
        self.is_written = true;
        for ((at, root, _), symbol) in &mut self.known {
            let may_change = match root {
                Root::Global(_) => true,
                Root::Local(id) => self.taken.contains(&(*at, *id)),
            };
            if may_change {
                *symbol = Symbol::new(None, on.and(symbol.on));
            }
        }
        for ((at, root), rest) in &mut self.rest {
            if matches!(root, Root::Local(id) if self.taken.contains(&(*at, *id))) {
                *rest = Rest { on: on.and(rest.on), is_first: false };
            }
        }
    }

    /// What unknown functions write through pointers is as little this function's fault as their results.
    fn clobbered(&mut self, cause: Cause) {
        match cause {
            Cause::External(name) | Cause::Keeping(name) | Cause::Within(name) | Cause::Unmodelled(name) => {
                self.written_anywhere(Influence::unknown(name));
            }
            Cause::Input(_) | Cause::Text(_) | Cause::Volatile | Cause::Indeterminate => {
                self.is_written = true;
            }
        }
    }

    fn copy(&mut self, dst: &Lvalue, src: &Lvalue, depth: u32) {
        let on = self.loaded(src, depth).on;
        let (to, from) = (self.key(dst, depth), self.key(src, depth));
        self.write(dst, depth, Symbol::new(None, on));
        let (Some(to), Some(from)) = (to, from) else { return };
        self.carry(from, to, src.size);
    }

    /// What is known of the bytes of one variable is so of another's.
    fn carry(&mut self, from: super::Key, to: super::Key, size: u64) {
        let parts: Vec<(u64, Symbol)> = self
            .known
            .iter()
            .filter(|((at, root, byte), _)| {
                *at == from.0 && *root == from.1 && *byte >= from.2 && byte - from.2 < size
            })
            .map(|((.., byte), symbol)| (byte - from.2, symbol.clone()))
            .collect();
        for (byte, symbol) in parts {
            self.known.insert((to.0, to.1, to.2.wrapping_add(byte)), symbol);
        }
    }

    /// A call is entered, or has come back.
    fn call(&mut self, call: &Call, depth: u32) {
        if let Some(open) = self.open.pop_if(|open| open.depth == depth) {
            let value = open
                .result
                .and_then(|id| self.known.get(&(depth + 1, Root::Local(id), 0)).cloned())
                .or_else(|| {
                    let rest = self.rest.get(&(depth + 1, Root::Local(open.result?)))?;
                    Some(Symbol::new(None, rest.on))
                })
                .unwrap_or_default();
            if let Some(dst) = &call.dst {
                let target = self.key(dst, depth).filter(|_| dst.scalar.is_none());
                self.write(dst, depth, value);
                if let (Some(target), Some(result)) = (target, open.result) {
                    self.carry((depth + 1, Root::Local(result), 0), target, dst.size);
                }
            }
            self.leave(depth);
            return;
        }
        self.leave(depth);
        self.open.push(Open { depth, arguments: call.arguments.clone(), result: None });
    }

    /// Control is in this function now: after a call its parameters are what was passed.
    pub(in crate::blame) fn enter(&mut self, function: &'p Function, depth: u32) {
        self.functions.insert(depth, function);
        let Some(open) = self.open.last_mut().filter(|open| open.depth + 1 == depth) else { return };
        open.result = function.result;
        let arguments = std::mem::take(&mut open.arguments);
        let caller = depth - 1;
        for (id, argument) in function.parameters.iter().zip(&arguments) {
            let root = Root::Local(*id);
            match argument {
                Argument::Value(value) => {
                    let value = self.value(value, caller);
                    self.known.insert((depth, root, 0), value);
                }
                Argument::Aggregate(lvalue) => {
                    let on = self.loaded(lvalue, caller).on;
                    self.rest.insert((depth, root), Rest { on, is_first: false });
                    if let Some(from) = self.key(lvalue, caller) {
                        self.carry(from, (depth, root, 0), lvalue.size);
                    }
                }
            }
        }
    }

    /// Nothing is open above.
    fn leave(&mut self, depth: u32) {
        self.known.retain(|(at, ..), _| *at <= depth);
        self.rest.retain(|(at, _), _| *at <= depth);
        self.taken.retain(|(at, _)| *at <= depth);
    }
}

/// Whether it reads nothing.
fn is_closed(expr: &Expr) -> bool {
    let mut is_closed = true;
    visit::walk(expr, &mut |part| is_closed &= !matches!(part, Expr::Load(_)));
    is_closed
}
