//! Lengths of strings: what `strlen` and its relatives say of where a string ends, and what conditions and copies say of that. Knows no calls.

use std::sync::Arc;

use proofline_cfa::{Expr, IntType, LocalId, Lvalue, MemoryPredicate, Quantity, Scalar, texts};
use proofline_hir::{TypeKind, types::IntKind};

use super::{
    filled::leads_into,
    form::{Form, Place, View},
    state::{Pointer, Relations, Tag},
    terminator::hold_zero,
    transfer::{Impossible, Result, Step, point, set},
    zone::Dim,
};

/// No object has more bytes.
const LONGEST: i128 = 1 << 62;

impl Step<'_> {
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
            _ => return Ok(()),
        };
        let Some(string) = result.arguments.first() else { return Ok(()) };
        let Some(place) = view.place(string).filter(|place| place.pointer.unit == 1) else { return Ok(()) };
        let Some(zero) = place.zero.as_ref().filter(|_| place.pointer.is_there) else { return Ok(()) };
        // No further than the zero that is known: theirs is the first one.
        let rest = view.difference(zero, &place.offset);
        if rest.high < 0 || ty.max() < rest.high {
            return Ok(());
        }
        let length = Form { low: 0, below: Default::default(), ..rest };
        set(state, &[(Dim::Value(id, ty), &length)])?;
        if is_exact && place.offset.low == place.offset.high {
            let dim = Dim::Value(id, ty);
            let near = |more: i128| [(dim, more)].into_iter().collect();
            let start = place.offset.low;
            let (low, high) = (start, start.saturating_add(length.high));
            let end = Form { low, high, above: near(start), below: near(-start) };
            let held: Vec<LocalId> = view
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
        if let Some(pointer) = view.base(string).filter(|_| view.register(string).is_some()) {
            Arc::make_mut(&mut state.rests).insert(id, pointer);
        }
        Ok(())
    }

    /// The pointer of whose string a value is at most the rest, if it is a number that was read so.
    pub(super) fn rest_of(&self, view: &View<'_>, value: &Expr) -> Option<LocalId> {
        let (number, _) = view.number_of(value)?;
        view.state.rests.get(&number).copied()
    }

    /// A string begins where the pointer leads.
    pub(super) fn ends_there(&self, state: &mut Relations, pointer: &Expr) -> Result<()> {
        let view = self.view();
        let Some(id) = view.base(pointer) else { return Ok(()) };
        let Some(place) = view.place(pointer) else {
            return match view.register(pointer) {
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
        hold_zero(state, id, &end)
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
        id: LocalId,
        value: &Expr,
        is_there: bool,
    ) -> Result<()> {
        let is_text = self.is_text(value);
        let pointer = Pointer { unit: 1, tag: None, is_there, has_zero: true, is_filled: is_text };
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
        let (target, source, size) = (view.place(to)?, view.place(from)?, view.form(size)?);
        let zero = source.zero.as_ref()?;
        let is_unit = target.pointer.unit == 1 && source.pointer.unit == 1 && source.pointer.is_there;
        let end = source.offset.plus(&size);
        let is_copied = view.distance(&source.offset, zero) <= 0 && view.distance(zero, &end) < 0;
        (is_unit && is_copied).then(|| {
            let at = target.offset.plus(&view.difference(zero, &source.offset));
            (target, at)
        })
    }
}
