//! `__atomic_*` and `__sync_*`, typed by the object they work on. A plain load or store is one; everything else stays
//! a call by its own name. That other threads exist is for the layers above to notice.

use proofline_syntax::Span;
use tree_sitter::Node;

use super::super::Lowerer;
use crate::{
    body::ExprId,
    types::{Type, TypeKind},
};

/// What an atomic builtin gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The object's type.
    Object,
    Bool,
    Void,
}

/// What an atomic builtin does.
enum Shape {
    Load,
    Store,
    /// A call: how many arguments after the pointer are values of the object's type, and the result.
    Call(usize, Gives),
}

fn shape(name: &str) -> Option<Shape> {
    if let Some(rest) = name.strip_prefix("__atomic_") {
        let rest = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_suffix('_').unwrap_or(rest);
        return Some(match rest {
            "load_n" => Shape::Load,
            "store_n" => Shape::Store,
            "exchange_n" => Shape::Call(1, Gives::Object),
            "compare_exchange_n" | "compare_exchange" => Shape::Call(0, Gives::Bool),
            "load" | "store" | "exchange" | "clear" | "thread_fence" | "signal_fence" => {
                Shape::Call(0, Gives::Void)
            }
            "test_and_set" | "is_lock_free" | "always_lock_free" => Shape::Call(0, Gives::Bool),
            "fetch_add" | "fetch_sub" | "fetch_and" | "fetch_or" | "fetch_xor" | "fetch_nand"
            | "add_fetch" | "sub_fetch" | "and_fetch" | "or_fetch" | "xor_fetch" | "nand_fetch" => {
                Shape::Call(1, Gives::Object)
            }
            _ => return None,
        });
    }
    let rest = name.strip_prefix("__sync_")?;
    let rest = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_suffix('_').unwrap_or(rest);
    Some(match rest {
        "fetch_and_add" | "fetch_and_sub" | "fetch_and_or" | "fetch_and_and" | "fetch_and_xor"
        | "fetch_and_nand" | "add_and_fetch" | "sub_and_fetch" | "or_and_fetch" | "and_and_fetch"
        | "xor_and_fetch" | "nand_and_fetch" | "lock_test_and_set" => Shape::Call(1, Gives::Object),
        "bool_compare_and_swap" => Shape::Call(2, Gives::Bool),
        "val_compare_and_swap" => Shape::Call(2, Gives::Object),
        "lock_release" | "synchronize" => Shape::Call(0, Gives::Void),
        _ => return None,
    })
}

impl<'u> Lowerer<'u> {
    pub(super) fn atomic_call(&mut self, name: &str, arguments: &[Node<'u>], span: Span) -> Option<ExprId> {
        let shape = shape(name)?;
        let mut values: Vec<ExprId> = arguments.iter().map(|a| self.value(*a)).collect();
        let object = values.first().and_then(|p| self.type_of(*p).pointee());
        match (shape, object) {
            (Shape::Load, Some(_)) => {
                let place = self.dereferenced(values[0], span);
                Some(self.rvalue(place))
            }
            (Shape::Store, Some(_)) if values.len() >= 2 => {
                let place = self.dereferenced(values[0], span);
                let store = self.assigned(place, values[1], span);
                Some(self.convert(store, Type::void()))
            }
            (Shape::Load | Shape::Store, _) => None,
            (Shape::Call(count, gives), object) => {
                let result = match (gives, object) {
                    (Gives::Bool, _) => Type::new(TypeKind::Bool),
                    (Gives::Void, _) => Type::void(),
                    (Gives::Object, Some(object)) => object.unqualified(),
                    (Gives::Object, None) => return None,
                };
                // Arithmetic on an atomic pointer counts in bytes: its operand stays a number.
                if let Some(object) = object.filter(|o| o.is_integer()) {
                    for value in values.iter_mut().skip(1).take(count) {
                        *value = self.convert(*value, object);
                    }
                }
                if name.contains("compare_exchange_n")
                    && let (Some(object), Some(desired)) =
                        (object.filter(|o| o.is_scalar()), values.get(2).copied())
                {
                    values[2] = self.convert(desired, object);
                }
                Some(self.own_call_with(name, result, values, span))
            }
        }
    }
}
