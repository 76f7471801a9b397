//! A toy analysis: ranges of variables, joined at every location, widened to infinity at loop heads and recursive entries.

use std::collections::BTreeMap;

use proofline_cfa::{
    Argument, Base, BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Name, Op, Scalar,
};
use proofline_cpa::*;

type Range = (i128, i128);

/// Ranges that say something: of globals and of each open frame's locals.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Box_ {
    pub globals: BTreeMap<Name, Range>,
    pub frames: Vec<(Name, BTreeMap<LocalId, Range>)>,
}

pub struct Ranges {
    pub ty: IntType,
    pub globals: Vec<Name>,
}

impl Ranges {
    pub fn new(ty: IntType, globals: &[&str]) -> Ranges {
        Ranges { ty, globals: globals.iter().map(|g| Name::new(g)).collect() }
    }
    fn full(&self) -> Range {
        (self.ty.min(), self.ty.max())
    }
    fn get(&self, s: &Box_, place: &Lvalue) -> Range {
        let known = match &place.base {
            Base::Global(g) => s.globals.get(g),
            Base::Local(l) => s.frames.last().and_then(|f| f.1.get(l)),
            Base::Deref(..) => None,
        };
        known.copied().unwrap_or(self.full())
    }
    fn set(&self, s: &mut Box_, place: &Lvalue, range: Range) {
        let says = range != self.full();
        match &place.base {
            Base::Global(g) if says => drop(s.globals.insert(*g, range)),
            Base::Global(g) => drop(s.globals.remove(g)),
            Base::Local(l) if says => drop(s.frames.last_mut().unwrap().1.insert(*l, range)),
            Base::Local(l) => drop(s.frames.last_mut().unwrap().1.remove(l)),
            Base::Deref(..) => {}
        }
    }
    pub fn eval(&self, s: &Box_, e: &Expr) -> Range {
        let Scalar::Int(ty) = e.scalar() else { return (i128::MIN, i128::MAX) };
        let all = (ty.min(), ty.max());
        match e {
            Expr::Int(value, _) => (*value, *value),
            Expr::Load(place) => self.get(s, place),
            Expr::Binary(op, a, b, _) => {
                let ((a, b), (c, d)) = (self.eval(s, a), self.eval(s, b));
                let (lo, hi) = match op {
                    BinaryOp::Add => (a + c, b + d),
                    BinaryOp::Sub => (a - d, b - c),
                    _ => return all,
                };
                // Signed overflow does not happen (in these tests); unsigned values wrap.
                if ty.signed {
                    (lo.max(all.0), hi.min(all.1))
                } else if lo < all.0 || hi > all.1 {
                    all
                } else {
                    (lo, hi)
                }
            }
            _ => all,
        }
    }
    fn truth(&self, s: &Box_, c: &Expr) -> Option<bool> {
        let Expr::Compare(op, a, b) = c else {
            let (lo, hi) = self.eval(s, c);
            return if lo > 0 || hi < 0 { Some(true) } else { ((lo, hi) == (0, 0)).then_some(false) };
        };
        let ((a, b), (c, d)) = (self.eval(s, a), self.eval(s, b));
        let decide = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
        match op {
            CompareOp::Lt => decide(b < c, a >= d),
            CompareOp::Le => decide(b <= c, a > d),
            CompareOp::Gt => decide(a > d, b <= c),
            CompareOp::Ge => decide(a >= d, b < c),
            CompareOp::Eq => decide(a == b && c == d && a == c, b < c || a > d),
            CompareOp::Ne => decide(b < c || a > d, a == b && c == d && a == c),
        }
    }
    fn narrow(&self, s: &mut Box_, place: &Lvalue, (lo, hi): Range) -> bool {
        let old = self.get(s, place);
        let new = (old.0.max(lo), old.1.min(hi));
        self.set(s, place, new);
        new.0 <= new.1
    }
    fn assume(&self, s: &mut Box_, c: &Expr) -> bool {
        if self.truth(s, c) == Some(false) {
            return false;
        }
        let Expr::Compare(op, a, b) = c else { return true };
        let (ra, rb) = (self.eval(s, a), self.eval(s, b));
        let full = (i128::MIN, i128::MAX);
        let (for_a, for_b) = match op {
            CompareOp::Lt => ((full.0, rb.1 - 1), (ra.0 + 1, full.1)),
            CompareOp::Le => ((full.0, rb.1), (ra.0, full.1)),
            CompareOp::Gt => ((rb.0 + 1, full.1), (full.0, ra.1 - 1)),
            CompareOp::Ge => ((rb.0, full.1), (full.0, ra.1)),
            CompareOp::Eq => (rb, ra),
            CompareOp::Ne => (full, full),
        };
        let mut possible = true;
        if let Expr::Load(place) = &**a {
            possible &= self.narrow(s, place, for_a);
        }
        if let Expr::Load(place) = &**b {
            possible &= self.narrow(s, place, for_b);
        }
        possible
    }
    fn combine(&self, a: &Box_, b: &Box_, f: impl Fn(Range, Range) -> Range) -> Box_ {
        let mut out = a.clone();
        let full = self.full();
        let both = |x: Range, y: Option<&Range>| Some(f(x, *y?)).filter(|r| *r != full);
        out.globals = a.globals.iter().filter_map(|(g, x)| Some((*g, both(*x, b.globals.get(g))?))).collect();
        for (frame, other) in out.frames.iter_mut().zip(&b.frames) {
            frame.1 = frame.1.iter().filter_map(|(l, x)| Some((*l, both(*x, other.1.get(l))?))).collect();
        }
        out
    }
    fn widen(&self, old: &Box_, new: &Box_) -> Box_ {
        let full = self.full();
        self.combine(old, new, |o, n| {
            (if n.0 < o.0 { full.0 } else { o.0 }, if n.1 > o.1 { full.1 } else { o.1 })
        })
    }
}

impl Domain for Ranges {
    type State = Box_;
    fn leq(&self, lower: &Box_, upper: &Box_) -> bool {
        let inside = |l: Option<&Range>, u: &Range| l.is_some_and(|l| u.0 <= l.0 && l.1 <= u.1);
        lower.frames.len() == upper.frames.len()
            && upper.globals.iter().all(|(g, u)| inside(lower.globals.get(g), u))
            && lower
                .frames
                .iter()
                .zip(&upper.frames)
                .all(|(l, u)| l.0 == u.0 && u.1.iter().all(|(x, u)| inside(l.1.get(x), u)))
    }
    fn join(&self, a: &Box_, b: &Box_) -> Box_ {
        self.combine(a, b, |x, y| (x.0.min(y.0), x.1.max(y.1)))
    }
}

impl Cpa for Ranges {
    type Precision = ();
    fn name(&self) -> &'static str {
        "toy ranges"
    }
    fn entry(&self) -> (Box_, ()) {
        let globals = self.globals.iter().map(|g| (*g, (0, 0))).collect();
        (Box_ { globals, frames: vec![(Name::new("main"), BTreeMap::new())] }, ())
    }
    fn transfer(&self, from: &Box_, (): &(), at: EdgeContext<'_>, facts: &dyn Facts) -> Vec<Box_> {
        let mut next = from.clone();
        match &at.edge.op {
            Op::Assume(c) if !self.assume(&mut next, c) => return vec![],
            Op::Assign(place, value) => {
                let own = self.eval(from, value);
                let other = facts.int_range(value).unwrap_or(own);
                self.set(&mut next, place, (own.0.max(other.0), own.1.min(other.1)));
            }
            Op::Havoc(place, _) => self.set(&mut next, place, self.full()),
            Op::Clobber(..) => next.globals.clear(),
            _ => {}
        }
        vec![next]
    }
    fn enter(&self, from: &Box_, (): &(), call: CallContext<'_>) -> Vec<Box_> {
        let values = call.callee.parameters.iter().zip(&call.call.arguments).filter_map(|(p, a)| match a {
            Argument::Value(value) => Some((*p, self.eval(from, value))).filter(|x| x.1 != self.full()),
            Argument::Aggregate(_) => None,
        });
        let frame = (call.callee.name, values.collect());
        let mut state = from.clone();
        state.frames.push(frame);
        vec![state]
    }
    fn leave(&self, _: &Box_, exit: &Box_, (): &(), call: CallContext<'_>) -> Vec<Box_> {
        let result = call.callee.result.and_then(|r| exit.frames.last().unwrap().1.get(&r).copied());
        let mut state = exit.clone();
        state.frames.pop();
        if let Some(dst) = &call.call.dst {
            self.set(&mut state, dst, result.unwrap_or(self.full()));
        }
        vec![state]
    }
    fn merge(&self, new: &Box_, reached: &Box_, (): &()) -> Merge<Box_> {
        Merge::Into(self.join(new, reached))
    }
    fn adjust(&self, state: Box_, (): (), here: &[&Box_], at: LocationContext<'_>) -> Adjusted<Box_, ()> {
        let widened = match here {
            [old] if at.is_loop_head => self.widen(old, &self.join(old, &state)),
            _ => state,
        };
        Adjusted::Continue(widened, ())
    }
    fn facts<'a>(&'a self, state: &'a Box_, _: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(RangeFacts(self, state))
    }
    fn join_precision(&self, (): &(), (): &()) {}
}

struct RangeFacts<'a>(&'a Ranges, &'a Box_);
impl Facts for RangeFacts<'_> {
    fn int_range(&self, e: &Expr) -> Option<(i128, i128)> {
        Some(self.0.eval(self.1, e))
    }
    fn truth(&self, c: &Expr) -> Option<bool> {
        self.0.truth(self.1, c)
    }
}

impl BlockCpa for Ranges {
    fn reduce(&self, entry: &Box_, _: BlockContext<'_>) -> Reduced<Box_> {
        let mut state = entry.clone();
        state.frames.drain(..state.frames.len() - 1);
        Reduced(state)
    }
    fn expand(&self, before: &Box_, _: BlockContext<'_>, exit: &Reduced<Box_>) -> Option<Box_> {
        let mut state = exit.0.clone();
        state.frames.splice(0..0, before.frames[..before.frames.len() - 1].to_vec());
        Some(state)
    }
    fn reduce_precision(&self, (): &(), _: BlockContext<'_>) -> Reduced<()> {
        Reduced(())
    }
    fn widen_entry(&self, open: &Reduced<Box_>, new: &Reduced<Box_>, _: u32) -> Reduced<Box_> {
        Reduced(self.widen(&open.0, &self.join(&open.0, &new.0)))
    }
}

impl Refine for Ranges {
    type Witness = Path;
    fn refine(&self, path: &Path, (): &(), _: &Budget) -> Result<Refinement<()>, Unknown> {
        Ok(Refinement::Feasible(path.clone()))
    }
}
