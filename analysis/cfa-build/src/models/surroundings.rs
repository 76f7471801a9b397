//! Which programs have to do with code that is not theirs and no library's. Looks at a program before models are put into it.

use proofline_cfa::{Op, Program, Scalar, Types};

use super::Library;

/// Assembly that may use memory may name everything.
pub(super) fn has_assembly(program: &Program) -> bool {
    let mut edges = program.functions.values().flat_map(|function| &function.edges);
    edges.any(|edge| matches!(edge.op, Op::Clobber(..)))
}

/// Whether another file defines an object that may hold an address: that of whatever has external linkage, and what this leads to. (Bytes and
/// small numbers side by side may hold one, too.)
pub(super) fn has_unknown_object(program: &Program, library: &Library) -> bool {
    let types = Types { records: &program.records, model: program.data_model };
    let may_hold_address = |ty| match types.scalar(ty) {
        Some(Scalar::Int(int)) => int.bits >= types.pointer_bits(),
        Some(Scalar::Float(_)) => false,
        Some(Scalar::Pointer) | None => true,
    };
    let mut globals = program.globals.values();
    globals.any(|global| {
        !global.defined && !library.objects.contains(&global.name) && may_hold_address(global.ty)
    })
}
