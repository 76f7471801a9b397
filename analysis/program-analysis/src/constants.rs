//! Objects of internal linkage that the program never writes keep their initial values, declared `const` or not. Looks at the functions that
//! mention the object and at nothing else; must not know where pointers point.

use std::sync::Arc;

use proofline_hir::{Linkage, Name};

use crate::{nonnull::is_understood, slice::SliceSource};
use proofline_cfa::{
    Base, Expr, Function, Global, Program,
    visit::{self, Mention},
};

/// Marks the objects of a slice that never change as constant.
pub(crate) fn mark(program: &mut Program, source: &dyn SliceSource) {
    for global in program.globals.values_mut() {
        if is_never_written(source, global) {
            Arc::make_mut(global).constant = true;
        }
    }
}

fn is_never_written(source: &dyn SliceSource, global: &Global) -> bool {
    let is_candidate = global.linkage == Linkage::Internal
        && global.defined
        && !global.constant
        && !global.ty.qualifiers().is_volatile;
    // An object that starts with its address is among the users, and no function.
    is_candidate
        && source.users(global.name).iter().all(|user| {
            source.function(*user).is_some_and(|(function, _)| {
                is_understood(source, &function) && only_reads(&function, global.name)
            })
        })
}

/// Whether the function neither writes the object nor uses its address.
fn only_reads(function: &Function, name: Name) -> bool {
    function.edges.iter().all(|edge| {
        let is_it = |base: &Base| *base == Base::Global(name);
        let mut only_reads = true;
        visit::mentions(&edge.op, &mut |mention| {
            only_reads &= !matches!(mention, Mention::Write(place) if is_it(&place.base));
        });
        visit::exprs(&edge.op, &mut |expr| {
            only_reads &= !matches!(expr, Expr::Address(place) if is_it(&place.base));
        });
        only_reads
    })
}
