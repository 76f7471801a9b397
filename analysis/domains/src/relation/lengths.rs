//! Lengths of strings: what `strlen` and its relatives say of where a string ends, and what conditions and copies say of that. Knows no calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    self as cfa, Base, CompareOp, Constant, Expr, Function, IntType, LibraryResult, Loc, LocalId, Lvalue,
    MemoryPredicate, Op, Program, Quantity, Scalar, scalar_of, texts, visit,
};
use proofline_hir::{TypeKind, types::IntKind};

use crate::store::mentions::whole_local;

use super::{
    filled::leads_into,
    form::{Form, View},
    places::Place,
    state::{Null, Pointer, Relations, Rest},
    terminator::{has_tag, hold_zero},
    transfer::{Impossible, Result, Step, point, restrict, set},
    units::Units,
    variable::{Tag, Var},
    zone::Dim,
};

/// So many edges back somebody looks for the computation of a number, at most.
const STEPS: usize = 8;

/// No object has more bytes.
const LONGEST: i128 = 1 << 62;

/// Where which locals are what numbers have been computed of just before, or are about to be.
pub(super) fn computed(function: &Function) -> BTreeSet<(Loc, LocalId)> {
    let mut found = BTreeSet::new();
    if function.library_results.is_empty() {
        return found;
    }
    let successors = function.successors();
    let mut places: BTreeMap<LocalId, Vec<Loc>> = BTreeMap::new();
    for edge in &function.edges {
        if let Op::Havoc(Lvalue { base: Base::Local(id), .. }, _) = edge.op {
            places.entry(id).or_default().push(edge.from);
        }
    }
    for result in &function.library_results {
        let mut of: BTreeSet<LocalId> = BTreeSet::new();
        for argument in &result.arguments {
            visit::reads_of_expr(argument, &mut |lvalue| {
                if let Base::Local(id) = lvalue.base {
                    of.insert(id);
                }
            });
        }
        let mut near = places.get(&result.dst).cloned().unwrap_or_default();
        for _ in 0..STEPS {
            found.extend(near.iter().flat_map(|loc| of.iter().map(|id| (*loc, *id))));
            let next = near.iter().flat_map(|loc| &successors[loc.index()]).map(|edge| function.edge(*edge));
            near = next
                .filter(|edge| matches!(edge.op, Op::Assume(_) | Op::Havoc(..)))
                .map(|edge| edge.to)
                .collect();
            near.sort_unstable();
            near.dedup();
        }
    }
    found
}

impl Step<'_> {
    /// What is at most so large as a number that is in a string is in the string, too.
    pub(super) fn stays_in_string(&self, state: &mut Relations, op: CompareOp, lhs: &Expr, rhs: &Expr) {
        let view = self.view();
        let (small, large) = match op {
            CompareOp::Lt | CompareOp::Le => (lhs, rhs),
            CompareOp::Gt | CompareOp::Ge => (rhs, lhs),
            CompareOp::Eq | CompareOp::Ne => return,
        };
        if let (Some((number, _)), Some(rest)) = (view.number_of(small), self.rest_of(&view, large))
            && !state.rests.contains_key(&number)
        {
            let is_before = rest.is_before || matches!(op, CompareOp::Lt | CompareOp::Gt);
            Arc::make_mut(&mut state.rests).insert(number, Rest { is_before, ..rest });
        }
    }

    /// A library function has computed a number.
    pub(super) fn computes(&self, state: &mut Relations, dst: &Lvalue) -> Result<()> {
        let view = self.view();
        let Some((id, Scalar::Int(ty))) = view.whole(dst) else { return Ok(()) };
        let results = &self.at.function.library_results;
        let Some(result) = results.iter().find(|result| result.dst == id && !result.is_absence) else {
            return Ok(());
        };
        let is_exact = match result.quantity {
            Quantity::StringLength => true,
            Quantity::BoundedLength | Quantity::Span | Quantity::ComplementSpan => false,
            // 0 where there is none.
            Quantity::FirstCharacter
            | Quantity::LastCharacter
            | Quantity::FirstOfSet
            | Quantity::FirstString => false,
            _ => return Ok(()),
        };
        let Some(string) = result.arguments.first() else { return Ok(()) };
        let Some(place) = view.place(string).filter(|place| place.pointer.unit == 1) else { return Ok(()) };
        let Some(zero) = place.zero.as_ref().filter(|_| view.is_terminated(string)) else { return Ok(()) };
        // No further than the zero that is known: theirs is the first one.
        let rest = view.difference(zero, &place.offset);
        if rest.high < 0 || ty.max() < rest.high {
            return Ok(());
        }
        let has_character = view.holder(string).is_some_and(|id| state.not_zero.contains(&id));
        let low = i128::from(is_exact && has_character);
        let length = Form { low, below: Default::default(), ..rest };
        set(state, &[(Dim::Value(Var::Local(id), ty), &length)])?;
        if is_exact && place.offset.low == place.offset.high {
            let dim = Dim::Value(Var::Local(id), ty);
            let near = |more: i128| [(dim, more)].into_iter().collect();
            let start = place.offset.low;
            let (low, high) = (start, start.saturating_add(length.high));
            let end = Form { low, high, above: near(start), below: near(-start) };
            let held: Vec<Var> = view
                .state
                .pointers
                .keys()
                .copied()
                .filter(|id| leads_into(&view, *id, string, &place))
                .collect();
            for pointer in held {
                hold_zero(state, pointer, &end)?;
            }
        }
        if let Some(pointer) = view.base(string).filter(|_| view.holder(string).is_some()) {
            Arc::make_mut(&mut state.rests).insert(Var::Local(id), Rest { of: pointer, is_before: false });
        }
        Ok(())
    }

    /// A search has found a character. It is not the end of its string, so it is before that.
    pub(super) fn found(&self, state: &mut Relations, absence: LocalId) -> Result<()> {
        let view = self.view();
        let results = &self.at.function.library_results;
        let Some(absent) = results.iter().find(|result| result.dst == absence && result.is_absence) else {
            return Ok(());
        };
        let is_character = |expr: &Expr| {
            view.form(expr)
                .is_some_and(|form| 1 <= form.low && form.high <= 127 || -128 <= form.low && form.high <= -1)
        };
        let is_before_end = match (absent.quantity, &absent.arguments[..]) {
            (Quantity::FirstCharacter | Quantity::LastCharacter, [_, character]) => is_character(character),
            (Quantity::FirstOfSet, _) => true,
            _ => false,
        };
        let same = |result: &&LibraryResult| {
            !result.is_absence
                && (result.quantity, &result.arguments) == (absent.quantity, &absent.arguments)
                && self.was_just_computed(result.dst)
        };
        let (Some(offset), Some(string)) = (results.iter().find(same), absent.arguments.first()) else {
            return Ok(());
        };
        let Some(place) = view.place(string).filter(|place| is_before_end && place.pointer.unit == 1) else {
            return Ok(());
        };
        let Some(zero) = place.zero.as_ref().filter(|_| view.is_terminated(string)) else { return Ok(()) };
        let Some(Scalar::Int(ty)) = scalar_of(self.at.function.local(offset.dst).ty, view.program.data_model)
        else {
            return Ok(());
        };
        let number = Var::Local(offset.dst);
        if view.state.rests.get(&number).is_some_and(|rest| view.holder(string) == Some(rest.of))
            && let Some(rest) = Arc::make_mut(&mut state.rests).get_mut(&number)
        {
            rest.is_before = true;
        }
        let offset = view.number(Dim::Value(number, ty));
        restrict(&view, state, CompareOp::Lt, &offset, &view.difference(zero, &place.offset))
    }

    /// A comparison has found no difference between a string and a literal, or between the first characters of both: so many characters come before the
    /// string's end.
    pub(super) fn begins_alike(&self, state: &mut Relations, difference: LocalId) -> Result<()> {
        let view = self.view();
        let Some(result) = self.just_computed(difference) else { return Ok(()) };
        let (one, other, most) = match (result.quantity, &result.arguments[..]) {
            (Quantity::StringOrder, [one, other]) => (one, other, LONGEST),
            (Quantity::BoundedOrder | Quantity::ByteOrder, [one, other, size]) => {
                (one, other, view.form(size).map_or(0, |size| size.low))
            }
            _ => return Ok(()),
        };
        for (string, literal) in [(one, other), (other, one)] {
            let length = characters(view.program, literal).min(most);
            let place = view.place(string).filter(|place| length > 0 && place.pointer.unit == 1);
            let Some(place) = place.filter(|_| view.is_terminated(string)) else { continue };
            if let Some(zero) = &place.zero {
                let left = view.difference(zero, &place.offset);
                restrict(&view, state, CompareOp::Le, &Form::constant(length), &left)?;
            }
        }
        Ok(())
    }

    /// What a local was computed as just before: only conditions, other such numbers and copies of it come between, and nothing that it was computed of.
    fn just_computed(&self, number: LocalId) -> Option<&LibraryResult> {
        let function = self.at.function;
        let structure = self.env.structure(function.name);
        let (mut number, mut written, mut at) = (number, BTreeSet::new(), self.at.edge.from);
        for _ in 0..STEPS {
            let [edge] = structure.predecessors(at) else { return None };
            let edge = function.edge(*edge);
            match &edge.op {
                Op::Assume(_) => {}
                Op::Assign(dst, Expr::Load(from)) if whole_local(function, dst) == Some(number) => {
                    written.insert(number);
                    number = whole_local(function, from)?;
                }
                Op::Havoc(dst, _) => {
                    let id = whole_local(function, dst)?;
                    let result = function.library_results.iter().find(|result| result.dst == id)?;
                    if id == number {
                        let mut is_written = false;
                        for argument in &result.arguments {
                            visit::reads_of_expr(argument, &mut |lvalue| {
                                is_written |= matches!(lvalue.base, Base::Local(id) if written.contains(&id));
                            });
                        }
                        return Some(result).filter(|result| !is_written && !result.is_absence);
                    }
                    written.insert(id);
                }
                Op::Skip
                | Op::Assign(..)
                | Op::Copy(..)
                | Op::Clobber(..)
                | Op::Call(_)
                | Op::Allocate(_)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..)
                | Op::Begin(_)
                | Op::End(_) => return None,
            }
            at = edge.from;
        }
        None
    }

    /// Whether nothing has changed since the temporary was computed: only conditions and other such numbers come between.
    pub(super) fn was_just_computed(&self, number: LocalId) -> bool {
        let function = self.at.function;
        let structure = self.env.structure(function.name);
        let is_result = |dst: &Lvalue| match dst.base {
            Base::Local(id) => function.library_results.iter().any(|result| result.dst == id),
            Base::Global(_) | Base::Deref(..) => false,
        };
        let mut at = self.at.edge.from;
        for _ in 0..STEPS {
            let [edge] = structure.predecessors(at) else { return false };
            let edge = function.edge(*edge);
            if let Op::Havoc(dst, _) = &edge.op {
                if dst.base == Base::Local(number) {
                    return true;
                }
                if !is_result(dst) {
                    return false;
                }
            } else if !matches!(edge.op, Op::Assume(_)) {
                return false;
            }
            at = edge.from;
        }
        false
    }

    /// The pointer of whose string a value is at most the rest, if it is a number that was read so.
    pub(super) fn rest_of(&self, view: &View<'_>, value: &Expr) -> Option<Rest> {
        let (number, _) = view.number_of(value)?;
        view.state.rests.get(&number).copied()
    }

    /// A string begins where the pointer leads.
    pub(super) fn ends_there(&self, state: &mut Relations, pointer: &Expr) -> Result<()> {
        let view = self.view();
        let Some(id) = view.base(pointer) else { return Ok(()) };
        let Some(place) = view.place(pointer) else {
            return match view.holder(pointer) {
                Some(id) => self.leads_to_string(state, id, pointer, true),
                None => Ok(()),
            };
        };
        let is_unit = view.state.pointers.get(&id).is_some_and(|known| known.unit == 1);
        if !is_unit || place.pointer.unit != 1 || view.is_terminated(pointer) {
            return Ok(());
        }
        let mut end = Form { low: place.offset.low.max(0), high: LONGEST, ..place.offset.clone() };
        end.above.clear();
        if matches!(place.pointer.tag, Some(Tag::Named(_))) {
            end.high = end.high.min(place.size.high - 1);
        }
        if end.low > end.high {
            return Err(Impossible);
        }
        hold_zero(state, id, &end)?;
        // Others to the same object, of which no zero is known, get to know that one.
        let own = view.number(Dim::Zero(id));
        let same = Form { low: end.low, high: end.high, ..own };
        let others: Vec<Var> = state
            .pointers
            .iter()
            .filter(|(other, known)| **other != id && !known.has_zero && has_tag(&view, **other, &place))
            .map(|(other, _)| *other)
            .collect();
        for other in others {
            hold_zero(state, other, &same)?;
        }
        Ok(())
    }

    /// Whether others know that an address is that of a string, and then whether it is certainly not null.
    pub(super) fn is_string(&self, dst: &Lvalue, value: &Expr) -> Option<bool> {
        let is_character =
            |kind: &TypeKind| matches!(kind, TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar));
        if !dst.ty.pointee().is_some_and(|ty| is_character(ty.kind())) {
            return None;
        }
        let size = Expr::Int(0, IntType { bits: 64, signed: false });
        let ends = Expr::Memory(MemoryPredicate::Terminated, Arc::new(value.clone()), Arc::new(size));
        match self.facts.truth(&ends) {
            Some(true) => Some(true),
            _ => self.is_text(value).then_some(false),
        }
    }

    /// Whether an address, if it is not null, is in a string that the program does not name, or of its end.
    fn is_text(&self, value: &Expr) -> bool {
        let is_inside = |offset: Option<i64>| offset.is_some_and(|offset| offset <= 0);
        self.facts.points_to(value).is_some_and(|targets| {
            !targets.is_empty()
                && targets.iter().all(|(object, offset)| texts::is_text(*object) && is_inside(*offset))
        })
    }

    /// The pointer leads to a string of which nothing else is known: the rest of its object, from there on.
    pub(super) fn leads_to_string(
        &self,
        state: &mut Relations,
        id: Var,
        value: &Expr,
        is_there: bool,
    ) -> Result<()> {
        let is_text = self.is_text(value);
        let (has_zero, is_filled, on_heap) = (true, is_text, false);
        let null = if is_there { Null::Never } else { Null::Any };
        let units = Units::Any;
        let pointer = Pointer { unit: 1, tag: None, null, has_zero, is_filled, units, on_heap };
        let any = |least: i128| Form::between(least, LONGEST + least);
        let filled = is_text.then(|| any(1));
        point(
            state,
            id,
            &Place { pointer, offset: Form::constant(0), size: any(1), zero: Some(any(0)), filled },
        )?;
        let zone = Arc::make_mut(&mut state.zone);
        let mut holds = zone.constrain(Dim::Zero(id), Dim::Size(id), -1);
        if is_text {
            holds &= zone.constrain(Dim::Zero(id), Dim::Filled(id), -1);
        }
        if holds { Ok(()) } else { Err(Impossible) }
    }

    /// Where the end of a string is that is copied with it, and in what.
    pub(super) fn copied_zero(
        &self,
        view: &View<'_>,
        to: &Expr,
        from: &Expr,
        size: &Expr,
    ) -> Option<(Place, Form)> {
        let size = self.copied_size(from, size);
        let (target, source, size) = (view.place(to)?, view.place(from)?, view.form(size)?);
        let zero = source.zero.as_ref()?;
        let is_unit = target.pointer.unit == 1 && source.pointer.unit == 1 && source.pointer.is_there();
        let end = source.offset.plus(&size);
        let is_copied = view.distance(&source.offset, zero) <= 0 && view.distance(zero, &end) < 0;
        (is_unit && is_copied).then(|| {
            let at = target.offset.plus(&view.difference(zero, &source.offset));
            (target, at)
        })
    }
}

/// How many characters of a literal come before its end; 0 of anything else.
fn characters(program: &Program, pointer: &Expr) -> i128 {
    let literal = match pointer {
        Expr::Cast(Scalar::Pointer, inner, _) => return characters(program, inner),
        Expr::Address(Lvalue { base: Base::Global(name), path, .. }) => {
            program.globals.get(name).filter(|global| global.is_literal() && starts(path))
        }
        _ => None,
    };
    let Some(literal) = literal else { return 0 };
    let is_character = |at: u64| {
        literal.init.iter().any(|initial| {
            let is_byte = matches!(initial.scalar, Scalar::Int(ty) if ty.bits == 8);
            initial.offset == at && is_byte && matches!(initial.value, Constant::Int(value) if value != 0)
        })
    };
    (0..).take_while(|at| is_character(*at)).count() as i128
}

/// Whether the path leads to where its object begins.
fn starts(path: &[cfa::Step]) -> bool {
    path.iter().all(|step| match step {
        cfa::Step::Index { index, .. } => matches!(**index, Expr::Int(0, _)),
        cfa::Step::Field { offset, .. } => *offset == 0,
    })
}
