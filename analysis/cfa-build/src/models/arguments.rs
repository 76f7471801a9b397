//! The arguments of a modelled call: whether they are such as the model says, and in a form that its effects may repeat.

use proofline_cfa::{Argument, Base, Expr, Lvalue, Name, Role, Scalar, Site, visit};

use super::{
    Model,
    apply::Pass,
    effect::{Effect, Factor, Outcome, Size, Use},
};
use crate::lower::fold;

impl Pass<'_, '_> {
    /// Arguments in a form that may be repeated and outlives the effects of the call; each is evaluated, used or not, if that
    /// can go wrong.
    pub(super) fn evaluate(
        &mut self,
        arguments: Vec<Argument>,
        dst: Option<&Lvalue>,
        model: Option<&Model>,
        single: bool,
    ) -> Vec<Argument> {
        let mut out = Vec::with_capacity(arguments.len());
        self.saved.clear();
        for (at, argument) in arguments.into_iter().enumerate() {
            out.push(match argument {
                Argument::Aggregate(lvalue) => Argument::Aggregate(lvalue),
                Argument::Value(value) => {
                    let is_used = model.is_none_or(|model| model.mentions(at));
                    let as_it_is = if is_used {
                        single && at == 0 || self.is_stable(&value, dst)
                    } else {
                        self.is_harmless(&value)
                    };
                    Argument::Value(if as_it_is {
                        value
                    } else {
                        let saved = self.emitter.save(value.clone());
                        if let Expr::Load(Lvalue { base: Base::Local(id), .. }) = saved {
                            self.saved.push((id, value));
                        }
                        saved
                    })
                }
            });
        }
        out
    }

    /// Whether no check looks at its evaluation: of a variable in memory, and of parts of one, it is asked whether they have a value.
    fn is_harmless(&self, value: &Expr) -> bool {
        let mut harmless = !fold::is_partial(value);
        visit::reads_of_expr(value, &mut |lvalue| {
            harmless &= match lvalue.base {
                Base::Local(id) => {
                    let local = self.emitter.function.local(id);
                    lvalue.path.is_empty() && !local.address_taken && !self.has_shadow(local.name)
                }
                Base::Global(_) => true,
                Base::Deref(..) => false,
            };
        });
        harmless
    }

    fn is_stable(&self, value: &Expr, dst: Option<&Lvalue>) -> bool {
        if fold::is_partial(value) {
            return false;
        }
        let mut stable = true;
        visit::reads_of_expr(value, &mut |lvalue| {
            stable &= match lvalue.base {
                Base::Local(id) => {
                    let local = self.emitter.function.local(id);
                    lvalue.path.is_empty()
                        && !local.address_taken
                        && !self.has_shadow(local.name)
                        && dst.is_none_or(|dst| dst.base != lvalue.base)
                }
                Base::Global(_) | Base::Deref(..) => false,
            };
        });
        stable
    }

    /// Whether reading the local is checked.
    fn has_shadow(&self, name: Name) -> bool {
        self.emitter
            .function
            .locals
            .iter()
            .any(|local| local.role == Role::Shadow && local.name.strip_suffix('?') == Some(name.as_str()))
    }
}

impl Model {
    /// Whether exactly one edge evaluates the first argument, so that it can stand there as it is.
    pub(super) fn uses_argument_once(&self, wanted: bool) -> bool {
        let simple_effect = self.needs.is_empty()
            && matches!(&self.effects[..], [Effect::Assumes(0)] | [Effect::Frees(0)])
            && self.result.is_none();
        let simple_result = self.effects.is_empty()
            && self.needs.is_empty()
            && wanted
            && matches!(&self.result, Some(Outcome::Fresh { size: Size::Product(factors), .. })
                if matches!(&factors[..], [Factor::Argument(0)]));
        simple_effect || simple_result
    }
}

/// Whether the arguments are such that the model makes sense.
pub(super) fn fits(model: &Model, arguments: &[Argument], pointer_bits: u8) -> bool {
    let mut fits = true;
    model.uses(&mut |at, how| {
        let scalar = value(arguments, at).map(|value| value.scalar());
        fits &= match (how, scalar) {
            (Use::Pointer, Some(Scalar::Int(ty))) => ty.bits >= pointer_bits,
            (Use::Pointer, scalar) => scalar == Some(Scalar::Pointer),
            (Use::Number, scalar) => matches!(scalar, Some(Scalar::Int(_))),
            (Use::Any, _) => at < arguments.len(),
        };
    });
    fits
}

/// The arguments, numbers that are used as pointers converted.
pub(super) fn with_pointers(mut arguments: Vec<Argument>, model: &Model, site: Site) -> Vec<Argument> {
    model.uses(&mut |at, how| {
        if how == Use::Pointer
            && let Some(Argument::Value(value)) = arguments.get_mut(at)
            && value.scalar() != Scalar::Pointer
        {
            *value = fold::cast(Scalar::Pointer, value.clone(), site);
        }
    });
    arguments
}

/// Whether the value is written down.
pub(super) fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Int(..) | Expr::Float(..) | Expr::Null => true,
        Expr::Cast(_, arg, _) => is_constant(arg),
        _ => false,
    }
}

pub(super) fn value(arguments: &[Argument], at: usize) -> Option<Expr> {
    match arguments.get(at)? {
        Argument::Value(value) => Some(value.clone()),
        Argument::Aggregate(_) => None,
    }
}

pub(super) fn pointer(arguments: &[Argument], at: usize) -> Option<Expr> {
    value(arguments, at).filter(|value| value.scalar() == Scalar::Pointer)
}

pub(super) fn pointers_from(arguments: &[Argument], first: usize) -> Vec<Expr> {
    (first..arguments.len()).filter_map(|at| pointer(arguments, at)).collect()
}
