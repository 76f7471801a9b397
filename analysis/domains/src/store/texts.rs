//! What conditions say of pointers into strings that the program does not name: who sees a character that is not 0 has not come to the end, so the next
//! one is in the string, too.

use proofline_cfa::{Base, Expr, IntType, Lvalue, Object, Scalar, texts, visit};

use crate::store::{
    arithmetic::{Arithmetic, Impossible},
    assume::Refiner,
    mentions,
    offsets::Offsets,
    value::{Abstract, join_all},
    view::StateView,
};

/// So many definitions of temporaries behind one another are looked through for characters.
const DEPTH: u32 = 3;

impl<A: Arithmetic> Refiner<'_, A> {
    /// The condition counts as `truth`: wherever it would not if a character of such a string were 0, the string goes on behind it.
    pub(super) fn go_on_in_texts(&mut self, condition: &Expr, truth: bool) -> Result<(), Impossible> {
        let found = {
            let view = self.view();
            let mut found: Vec<(Lvalue, i64)> = Vec::new();
            characters(&view, condition, DEPTH, &mut |place| {
                if let Some(at) = place_in_text(&view, place)
                    && !found.iter().any(|(other, _)| other == place)
                    && is_not_end(&view, condition, place, truth)
                {
                    found.push((place.clone(), at));
                }
            });
            found
        };
        for (place, at) in found {
            if let Base::Deref(pointer, _) = &place.base {
                self.is_before_end(pointer, at + 1)?;
            }
        }
        Ok(())
    }

    /// The pointer leads into a string, at or before its end.
    pub(super) fn is_in_text(&mut self, pointer: &Expr) -> Result<(), Impossible> {
        let Expr::Address(Lvalue { base: Base::Deref(start, _), path, .. }) = pointer else {
            return self.is_before_end(pointer, 0);
        };
        match self.view().path_offsets(path, true)?.single() {
            Some(bytes @ 0..) => self.is_before_end(start, bytes),
            _ => Ok(()),
        }
    }

    /// So many bytes behind the pointer are in the string, and behind them its end, at the latest.
    fn is_before_end(&mut self, pointer: &Expr, bytes: i64) -> Result<(), Impossible> {
        let Expr::Load(place) = pointer else { return Ok(()) };
        let value = {
            let view = self.view();
            let Some(known) = view.eval(pointer)?.known() else { return Ok(()) };
            let Some(addresses) = self.domain().addresses(&known) else { return Ok(()) };
            if !addresses.iter().any(|(object, offsets)| texts::is_text(*object) && offsets.hi > -bytes) {
                return Ok(());
            }
            let nearer = |(object, offsets): &(Object, Offsets)| match texts::is_text(*object) {
                true => {
                    let [low, high] = [offsets.lo, offsets.hi].map(|at| i128::from(at.min(-bytes)));
                    self.domain().address(*object, Offsets::range(low, high, 1))
                }
                false => self.domain().address(*object, *offsets),
            };
            let may_be_null = self.domain().truth(&known) != Some(true);
            let null = may_be_null.then(|| Abstract::Of(self.domain().null()));
            join_all(addresses.iter().map(nearer).chain(null), Scalar::Pointer)
        };
        match value {
            Abstract::Of(value) => self.learn(place, &value),
            Abstract::Any => Ok(()),
        }
    }
}

/// How far behind its pointer a character lies that may be one of such a string and, if so, is in it or its end.
fn place_in_text<A: Arithmetic>(view: &StateView<'_, A>, place: &Lvalue) -> Option<i64> {
    let Base::Deref(pointer, _) = &place.base else { return None };
    let at = view.path_offsets(&place.path, true).ok()?.single().filter(|at| *at >= 0)?;
    let value = view.eval(pointer).ok()?.known()?;
    let addresses = view.model.arithmetic.addresses(&value)?;
    let mut in_texts = addresses.iter().filter(|(object, _)| texts::is_text(*object)).peekable();
    in_texts.peek()?;
    in_texts.all(|(_, offsets)| offsets.hi + at <= 0).then_some(at)
}

/// Whether the condition cannot count as `truth` while the character is 0.
fn is_not_end<A: Arithmetic>(view: &StateView<'_, A>, condition: &Expr, place: &Lvalue, truth: bool) -> bool {
    let condition = ended(view, condition, place, DEPTH);
    match view.truth(&condition) {
        Ok(known) => known == Some(!truth),
        Err(Impossible) => true,
    }
}

/// The expression with 0 in the place of the character.
fn ended<A: Arithmetic>(view: &StateView<'_, A>, expr: &Expr, place: &Lvalue, depth: u32) -> Expr {
    let mut expr = expr.clone();
    visit::replace_in(&mut expr, &|part| {
        let Expr::Load(read) = part else { return None };
        if read == place {
            return part.int_type().map(|ty| Expr::Int(0, ty));
        }
        let definition = definition(view, read).filter(|_| depth > 0)?;
        let mut mentions = false;
        characters(view, definition, depth - 1, &mut |other| mentions |= other == place);
        mentions.then(|| ended(view, definition, place, depth - 1))
    });
    expr
}

/// The characters behind pointers that an expression, or what a temporary in it stands for, reads.
fn characters<A: Arithmetic>(view: &StateView<'_, A>, expr: &Expr, depth: u32, see: &mut dyn FnMut(&Lvalue)) {
    visit::walk(expr, &mut |part| {
        let Expr::Load(place) = part else { return };
        if matches!(place.base, Base::Deref(..))
            && matches!(place.scalar, Some(Scalar::Int(IntType { bits: 8, .. })))
            && place.bits.is_none()
        {
            see(place);
        } else if let Some(definition) = definition(view, place).filter(|_| depth > 0) {
            characters(view, definition, depth - 1, see);
        }
    });
}

fn definition<'v, A: Arithmetic>(view: &'v StateView<'_, A>, place: &Lvalue) -> Option<&'v Expr> {
    let id = mentions::whole_local(view.function, place)?;
    view.state.frame.definition(id).map(|definition| &**definition)
}
