//! What is tried for one pointer, one memory after the other.

use proofline_cfa::{BinaryOp, Expr, Function};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::super::{
    Memory,
    origin::{is_character, types},
};
use super::{
    parameters::{counts, limits, meant, over_parameters},
    uses::Uses,
};

/// So many numbers of elements are tried for a pointer.
const COUNTS: usize = 4;
/// So many sizes that are numbers in the text are.
const LIMITS: usize = 4;

/// What to try for one pointer, weakest first where there is an order.
pub(super) fn ladder(env: &Environment, function: &Function, at: usize, uses: &Uses) -> Vec<Memory> {
    let local = function.local(function.parameters[at]);
    let Some(pointee) = local.ty.pointee().map(proofline_cfa::Type::unqualified) else { return Vec::new() };
    let is_looked_into = uses.bytes > 0 || uses.varies || uses.ends || uses.follows || !uses.sizes.is_empty();
    if uses.is_stream && !is_looked_into {
        return vec![Memory::Nothing];
    }
    let pointee_size = types(env.program()).size(pointee).filter(|size| *size > 0);
    let mut ladder = Vec::new();
    let mut add = |memory: Memory| {
        if !ladder.contains(&memory) {
            ladder.push(memory);
        }
    };
    let is_record = matches!(pointee.kind(), TypeKind::Record(_));
    let whole = if is_record { pointee_size.unwrap_or(0) } else { 0 };
    let bytes = u64::try_from(uses.bytes).unwrap_or(0).max(whole);
    if is_record && (uses.follows || uses.passed.contains(&Memory::Structure)) {
        add(Memory::Structure);
    }
    if !uses.varies
        && uses.sizes.is_empty()
        && !uses.ends
        && uses.passed.is_empty()
        && bytes > 0
        && !uses.follows
    {
        add(Memory::Bytes(bytes));
    }
    // Of an array that is a member its length says where it ends.
    if is_record && uses.varies && uses.sizes.is_empty() && !uses.ends && bytes > 0 && !uses.follows {
        add(Memory::Bytes(bytes));
    }
    for memory in &uses.passed {
        add(match memory {
            Memory::Elements(count, stride) => Memory::Elements(meant(count), *stride),
            memory => memory.clone(),
        });
    }
    uses.compared.iter().for_each(|end| add(Memory::Until(*end)));
    let is_text = is_character(pointee);
    if uses.ends || is_text && uses.varies && !uses.written {
        add(Memory::String);
    }
    let stride = uses.stride.or(pointee_size).unwrap_or(1);
    for size in uses.sizes.iter().filter(|size| over_parameters(function, size)) {
        add(match elements(size) {
            Some((count, by)) if pointee_size == Some(by) => Memory::Elements(meant(count), by),
            _ => Memory::Elements(meant(size), 1),
        });
    }
    if uses.varies || !uses.sizes.is_empty() {
        for count in counts(function, at, &uses.widths).into_iter().take(COUNTS) {
            add(Memory::Elements(count, if uses.varies { stride } else { 1 }));
        }
    }
    if uses.varies && counts(function, at, &uses.widths).is_empty() {
        let sizes = limits(env, function).into_iter().filter_map(|count| count.checked_mul(stride));
        sizes.filter(|size| *size > bytes).take(LIMITS).for_each(|size| add(Memory::Bytes(size)));
    }
    if is_text && uses.varies {
        add(Memory::String);
    }
    if is_text && !uses.written && !ladder.contains(&Memory::String) {
        ladder.push(Memory::String);
    }
    if ladder.is_empty() && bytes > 0 {
        ladder.push(Memory::Bytes(bytes));
    }
    ladder
}

/// A product with a number, as so many elements of so many bytes each.
fn elements(size: &Expr) -> Option<(&Expr, u64)> {
    let Expr::Binary(BinaryOp::Mul, lhs, rhs, _) = size else { return None };
    match (&**lhs, &**rhs) {
        (count, Expr::Int(by, _)) | (Expr::Int(by, _), count) => Some((count, u64::try_from(*by).ok()?)),
        _ => None,
    }
}
