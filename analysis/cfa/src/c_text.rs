//! Expressions, lvalues and operations as C-like text for people: names as written, no casts that only lowering made
//! visible. Not parseable back; that is `text`.

use std::fmt::Write;

use proofline_hir::TypeKind;

use crate::{
    Argument, Base, BinaryOp, Call, Callee, Cause, CompareOp, Expr, Function, LocalId, Lvalue, Op, Role,
    Scalar, Step, UnaryOp, register,
    visit::{Mention, mentions, walk},
};

/// A text that is longer does not get calls for the temporaries that hold their results.
const LONGEST: usize = 120;

/// What stands for a value that has no name in C.
pub const UNNAMED: &str = "(value)";

/// An expression as C text, without outer parentheses.
pub fn expr_text(function: &Function, expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, function, expr, 0);
    out
}

/// An lvalue as C text.
pub fn lvalue_text(function: &Function, lvalue: &Lvalue) -> String {
    let mut out = String::new();
    write_lvalue(&mut out, function, lvalue);
    out
}

/// What an edge does, as C text; `None` for what people need not see (scopes, skips).
pub fn op_text(function: &Function, op: &Op) -> Option<String> {
    Some(match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => return None,
        Op::Assume(condition) => expr_text(function, condition),
        Op::Assign(dst, value) => format!("{} = {}", lvalue_text(function, dst), expr_text(function, value)),
        Op::Copy(dst, src) => format!("{} = {}", lvalue_text(function, dst), lvalue_text(function, src)),
        Op::Havoc(dst, _) => format!("{} = any value", lvalue_text(function, dst)),
        Op::Clobber(..) => "memory may change".to_owned(),
        Op::Call(call) => {
            let mut text = String::new();
            if let Some(dst) = &call.dst {
                write_lvalue(&mut text, function, dst);
                text.push_str(" = ");
            }
            write_call(&mut text, function, call);
            text
        }
        Op::Allocate(allocation) => {
            let how = if allocation.on_heap { "malloc" } else { "alloca" };
            format!(
                "{} = {how}({})",
                lvalue_text(function, &allocation.dst),
                expr_text(function, &allocation.size)
            )
        }
        Op::Free(pointer) => format!("free({})", expr_text(function, pointer)),
        Op::CopyBytes(to, from, size) => format!(
            "memcpy({}, {}, {})",
            expr_text(function, to),
            expr_text(function, from),
            expr_text(function, size)
        ),
        Op::FillBytes(to, byte, size) => format!(
            "memset({}, {}, {})",
            expr_text(function, to),
            expr_text(function, byte),
            expr_text(function, size)
        ),
        Op::HavocBytes(to, size, _) => {
            format!("any {} bytes at {}", expr_text(function, size), expr_text(function, to))
        }
    })
}

fn write_call(out: &mut String, function: &Function, call: &Call) {
    match &call.callee {
        Callee::Direct(name) => out.push_str(name),
        Callee::Indirect(pointer, _) => write_expr(out, function, pointer, 15),
    }
    out.push('(');
    for (i, argument) in call.arguments.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        match argument {
            Argument::Value(value) => write_expr(out, function, value, 1),
            Argument::Aggregate(lvalue) => write_lvalue(out, function, lvalue),
        }
    }
    out.push(')');
}

/// A temporary has no name in C. The result of a call is written as the call, if nothing else gives the temporary a value.
fn write_temporary(out: &mut String, function: &Function, id: LocalId) {
    let start = out.len();
    let is_written = start < LONGEST && write_result(out, function, id).is_some();
    if !is_written || out.len() > LONGEST {
        out.truncate(start);
        out.push_str(UNNAMED);
    }
}

fn write_result(out: &mut String, function: &Function, id: LocalId) -> Option<()> {
    if let Some(result) = function.library_results.iter().find(|result| result.dst == id) {
        out.push_str(result.quantity.c_name()?);
        for (i, argument) in result.arguments.iter().enumerate() {
            out.push_str(if i == 0 { "(" } else { ", " });
            write_expr(out, function, argument, 1);
        }
        out.push(')');
        return Some(());
    }
    let is_it = |lvalue: &Lvalue| lvalue.base == Base::Local(id);
    let mut writes = function.edges.iter().filter(|edge| {
        let mut is_write = false;
        mentions(&edge.op, &mut |mention| is_write |= matches!(mention, Mention::Write(dst) if is_it(dst)));
        is_write
    });
    let (write, second) = (writes.next()?, writes.next());
    if writes.next().is_some() {
        return None;
    }
    if let Some(second) = second {
        // A read of a volatile object, and what else it may have given.
        let (Op::Assign(_, Expr::Load(of)), Op::Havoc(_, Cause::Volatile)) = (&write.op, &second.op) else {
            return None;
        };
        write_lvalue(out, function, of);
        return Some(());
    }
    match &write.op {
        Op::Call(call) => write_call(out, function, call),
        Op::Havoc(_, Cause::Input(name) | Cause::External(name) | Cause::Text(name)) => {
            out.push_str(name);
            out.push_str("(…)");
        }
        // Variables may have another value by now.
        Op::Assign(_, value) => match through_casts(value) {
            Expr::Load(Lvalue { base: Base::Local(other), path, .. })
                if path.is_empty() && function.local(*other).role == Role::Temporary =>
            {
                write_result(out, function, *other)?;
            }
            value if is_fixed(function, value) => write_expr(out, function, value, 15),
            Expr::Load(of) => {
                let step = stepped(function, id, of)?;
                write_lvalue(out, function, of);
                out.push_str(step);
            }
            _ => return None,
        },
        Op::Havoc(..)
        | Op::Skip
        | Op::Begin(_)
        | Op::End(_)
        | Op::Assume(_)
        | Op::Copy(..)
        | Op::Clobber(..)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => return None,
    }
    Some(())
}

/// `++` or `--`, if the temporary holds what was there before such a step.
fn stepped(function: &Function, id: LocalId, of: &Lvalue) -> Option<&'static str> {
    let is_it = |expr: &Expr| match through_casts(expr) {
        Expr::Load(from) => from.base == Base::Local(id) && from.path.is_empty(),
        _ => false,
    };
    let number = |expr: &Expr| match expr {
        Expr::Int(number, _) => Some(*number),
        _ => None,
    };
    function.edges.iter().find_map(|edge| {
        let Op::Assign(to, value) = &edge.op else { return None };
        let step = match through_casts(value) {
            Expr::Binary(BinaryOp::Add, from, by, _) if is_it(from) => number(by)?,
            Expr::Binary(BinaryOp::Sub, from, by, _) if is_it(from) => -number(by)?,
            Expr::Address(Lvalue { base: Base::Deref(from, _), path, .. }) if is_it(from) => {
                match &path[..] {
                    [Step::Index { index, .. }] => number(index)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        match step {
            1 if to == of => Some("++"),
            -1 if to == of => Some("--"),
            _ => None,
        }
    })
}

/// Whether the expression has one value from the function's first edge to its last: it reads nothing but parameters that nothing writes.
fn is_fixed(function: &Function, expr: &Expr) -> bool {
    let mut is_fixed = true;
    let mut parameters = Vec::new();
    walk(expr, &mut |part| match part {
        Expr::Load(Lvalue { base: Base::Local(id), path, .. })
            if path.is_empty()
                && function.local(*id).role == Role::Parameter
                && !function.local(*id).address_taken =>
        {
            parameters.push(*id);
        }
        Expr::Load(_) | Expr::Memory(..) => is_fixed = false,
        _ => {}
    });
    is_fixed
        && !function.edges.iter().any(|edge| {
            let mut writes = false;
            mentions(&edge.op, &mut |mention| {
                writes |= matches!(mention, Mention::Write(dst) if parameters.iter().any(|id| dst.base == Base::Local(*id)));
            });
            writes
        })
}

fn through_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(_, arg, _) => through_casts(arg),
        _ => expr,
    }
}

/// C's binding strengths, higher binds tighter.
fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 13,
        BinaryOp::Add | BinaryOp::Sub => 12,
        BinaryOp::Shl | BinaryOp::Shr => 11,
        BinaryOp::BitAnd => 8,
        BinaryOp::BitXor => 7,
        BinaryOp::BitOr => 6,
    }
}

/// The same of comparisons.
fn comparison_strength(op: CompareOp) -> u8 {
    match op {
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => 10,
        CompareOp::Eq | CompareOp::Ne => 9,
    }
}

fn infix(out: &mut String, function: &Function, text: &str, own: u8, outer: u8, lhs: &Expr, rhs: &Expr) {
    if own < outer {
        out.push('(');
    }
    write_expr(out, function, lhs, own);
    let _ = write!(out, " {text} ");
    write_expr(out, function, rhs, own + 1);
    if own < outer {
        out.push(')');
    }
}

/// What is subtracted from zero is negated: that is what the program has written nearly always.
fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::Int(0, _))
}

fn negated(out: &mut String, function: &Function, arg: &Expr, outer: u8) {
    if outer > 14 {
        out.push('(');
    }
    out.push('-');
    write_expr(out, function, arg, 14);
    if outer > 14 {
        out.push(')');
    }
}

fn write_expr(out: &mut String, function: &Function, expr: &Expr, outer: u8) {
    match expr {
        Expr::Int(value, _) => {
            let _ = write!(out, "{value}");
        }
        Expr::Float(value) => {
            let _ = write!(out, "{value}");
        }
        Expr::Null => out.push_str("NULL"),
        // `(*p)->x` is not `*p->x`.
        Expr::Load(lvalue)
            if outer > 14 && matches!((&lvalue.base, &lvalue.path[..]), (Base::Deref(..), [])) =>
        {
            out.push('(');
            write_lvalue(out, function, lvalue);
            out.push(')');
        }
        Expr::Load(lvalue) => write_lvalue(out, function, lvalue),
        Expr::Address(lvalue) => write_address(out, function, lvalue, outer),
        Expr::Function(name) => out.push_str(name),
        Expr::Unary(op, arg, _) => {
            out.push(match op {
                UnaryOp::Negate => '-',
                UnaryOp::BitNot => '~',
            });
            write_expr(out, function, arg, 14);
        }
        Expr::Binary(BinaryOp::Sub, zero, arg, _) if is_zero(zero) => negated(out, function, arg, outer),
        Expr::Binary(op, lhs, rhs, _) => infix(out, function, op.symbol(), strength(*op), outer, lhs, rhs),
        Expr::Compare(op, lhs, rhs) => {
            let (text, own) = (op.symbol(), comparison_strength(*op));
            infix(out, function, text, own, outer, lhs, rhs);
        }
        Expr::Cast(to, arg, _) => write_conversion(out, function, *to, arg, outer),
        Expr::Overflows(BinaryOp::Sub, zero, arg) if is_zero(zero) => {
            negated(out, function, arg, 15);
            out.push_str(" overflows");
        }
        Expr::Overflows(op, lhs, rhs) => {
            infix(out, function, op.symbol(), strength(*op), 15, lhs, rhs);
            out.push_str(" overflows");
        }
        Expr::Memory(predicate, pointer, size) => {
            out.push_str(&crate::memory::text(function, *predicate, pointer, size));
        }
        Expr::PointerDifference(lhs, rhs, ..) => infix(out, function, "-", 12, outer, lhs, rhs),
    }
}

/// `(unsigned char)n`, or the value alone where C's own conversions say the same.
fn write_conversion(out: &mut String, function: &Function, to: Scalar, value: &Expr, outer: u8) {
    let value = converted(to, value);
    if let Some(mask) = mask(to, value.scalar()) {
        let (text, own) = (BinaryOp::BitAnd.symbol(), strength(BinaryOp::BitAnd));
        return infix(out, function, text, own, outer, value, &mask);
    }
    let Some(ty) = narrowed(to, value.scalar()) else { return write_expr(out, function, value, outer) };
    if outer > 14 {
        out.push('(');
    }
    let _ = write!(out, "({ty})");
    write_expr(out, function, value, 14);
    if outer > 14 {
        out.push(')');
    }
}

/// What is converted: a conversion before, to a type that is no narrower, changes nothing in the result.
fn converted(to: Scalar, value: &Expr) -> &Expr {
    match (to, value) {
        (Scalar::Int(last), Expr::Cast(Scalar::Int(first), inner, _))
            if first.bits >= last.bits && matches!(inner.scalar(), Scalar::Int(_)) =>
        {
            converted(to, inner)
        }
        _ => value,
    }
}

/// All ones, if what is left of the number are its lowest bits, in a type that C has no name for: an unsigned bit-field.
fn mask(to: Scalar, from: Scalar) -> Option<Expr> {
    let (Scalar::Int(to), Scalar::Int(from)) = (to, from) else { return None };
    let has_name = matches!(to.bits, 8 | 16 | 32 | 64 | 128);
    let is_mask = from.bits <= 64 && to.bits < from.bits && !to.signed && !has_name;
    is_mask.then(|| Expr::Int((1 << to.bits) - 1, to))
}

/// The name of a type to which a conversion may change the number, if C does not convert so by itself where the text stands in an expression.
fn narrowed(to: Scalar, from: Scalar) -> Option<String> {
    let Scalar::Int(to) = to else { return None };
    let is_whole = match from {
        Scalar::Int(from) => {
            // Wider than any type of C: of a computation that cannot wrap around.
            from.bits > 64 || to.bits > from.bits || to.bits == from.bits && (from.signed || !to.signed)
        }
        Scalar::Float(_) => false,
        Scalar::Pointer => true,
    };
    (!is_whole).then(|| {
        let sign = if to.signed { "" } else { "unsigned " };
        match to.bits {
            8 => format!("{}char", if to.signed { "signed " } else { sign }),
            16 => format!("{sign}short"),
            32 => format!("{sign}int"),
            64 => format!("{sign}long"),
            128 => format!("{sign}__int128"),
            bits => format!("{sign}int:{bits}"),
        }
    })
}

/// `&x`, or `p + i` for an element behind a pointer, or the array's name for its first element.
fn write_address(out: &mut String, function: &Function, lvalue: &Lvalue, outer: u8) {
    if let (Base::Deref(pointer, _), [Step::Index { index, .. }]) = (&lvalue.base, lvalue.path.as_slice()) {
        let own = 12;
        if own < outer {
            out.push('(');
        }
        write_expr(out, function, pointer, own);
        match &**index {
            Expr::Binary(BinaryOp::Sub, zero, arg, _) if is_zero(zero) => {
                out.push_str(" - ");
                write_expr(out, function, arg, own + 1);
            }
            Expr::Int(value, _) if *value < 0 => {
                let _ = write!(out, " - {}", value.unsigned_abs());
            }
            index => {
                out.push_str(" + ");
                write_expr(out, function, index, own + 1);
            }
        }
        if own < outer {
            out.push(')');
        }
        return;
    }
    if let (Base::Deref(pointer, _), []) = (&lvalue.base, lvalue.path.as_slice()) {
        return write_expr(out, function, pointer, outer);
    }
    if let Some((Step::Index { index, .. }, before)) = lvalue.path.split_last()
        && matches!(**index, Expr::Int(0, _))
    {
        return write_steps(out, function, &lvalue.base, before);
    }
    if let (Base::Global(name), []) = (&lvalue.base, lvalue.path.as_slice())
        && let Some(pointer) = register::pointer(*name)
    {
        return out.push_str(pointer);
    }
    let is_literal =
        matches!((&lvalue.base, lvalue.path.as_slice()), (Base::Global(name), []) if name.contains('"'));
    // An array is written as the pointer to its first element that it becomes.
    if !is_literal && !matches!(lvalue.ty.kind(), TypeKind::Array(..)) {
        out.push('&');
    }
    write_lvalue(out, function, lvalue);
}

fn write_lvalue(out: &mut String, function: &Function, lvalue: &Lvalue) {
    write_steps(out, function, &lvalue.base, &lvalue.path);
}

/// `->member`, of the first step that has a name in C: anonymous members have none.
fn write_member<'s>(out: &mut String, steps: &mut impl Iterator<Item = &'s Step>) {
    let named = steps.find(|step| !matches!(step, Step::Field { name, .. } if name.starts_with('#')));
    if let Some(Step::Field { name, .. }) = named {
        let _ = write!(out, "->{name}");
    }
}

fn write_steps(out: &mut String, function: &Function, base: &Base, path: &[Step]) {
    let mut steps = path.iter();
    match base {
        Base::Local(id) => {
            let local = function.local(*id);
            match local.role {
                Role::Result => out.push_str("\\result"),
                Role::Temporary => write_temporary(out, function, *id),
                Role::Parameter | Role::Variable | Role::VariableArray | Role::Shadow => {
                    out.push_str(
                        local.name.split('#').next().filter(|n| !n.is_empty()).unwrap_or("(unnamed)"),
                    );
                }
            }
        }
        Base::Global(name) => match (register::pointer(*name), path.first()) {
            (Some(pointer), Some(Step::Field { .. })) => {
                let _ = write!(out, "({pointer})");
                write_member(out, &mut steps);
            }
            (Some(_), Some(Step::Index { .. })) => {
                let _ = write!(out, "({name})");
            }
            (Some(_) | None, _) => out.push_str(name),
        },
        Base::Deref(pointer, _) => match path.first() {
            Some(Step::Field { .. }) => {
                // What is behind the address of a member is a member of it.
                let is_member = match &**pointer {
                    Expr::Address(of) => {
                        let is_shown = matches!(of.path.last(), Some(Step::Field { .. }))
                            || of.path.is_empty() && !matches!(of.base, Base::Deref(..));
                        if is_shown {
                            write_lvalue(out, function, of);
                        }
                        is_shown
                    }
                    _ => false,
                };
                if !is_member {
                    write_expr(out, function, pointer, 15);
                    write_member(out, &mut steps);
                }
            }
            Some(Step::Index { .. }) => write_expr(out, function, pointer, 15),
            None => {
                out.push('*');
                write_expr(out, function, pointer, 14);
            }
        },
    }
    for step in steps {
        match step {
            // Anonymous members have no name in C.
            Step::Field { name, .. } if name.starts_with('#') => {}
            Step::Field { name, .. } => {
                let _ = write!(out, ".{name}");
            }
            Step::Index { index, .. } => {
                out.push('[');
                write_expr(out, function, index, 0);
                out.push(']');
            }
        }
    }
}
