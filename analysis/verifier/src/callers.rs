//! Which functions call one, as far as the text says: what must be known before anything that callers keep may be relied on. Knows no contract.
//!
//! **Law.** Where [`calls_only`] holds of every definition that mentions an internal function, and its unit has no [gap](has_gaps), then nothing but
//! these definitions calls it.

use proofline_cfa::{Constant, Expr, Function, Global, Linkage, Name, visit};

/// Objects with more initial values than this are read without them.
const MANY: u64 = 1 << 20;

/// Whether only the function's own unit can name it, and nothing runs it before or after `main`.
pub fn is_hidden(function: &Function) -> bool {
    function.linkage == Linkage::Internal && !function.attributes.runs_outside_main
}

/// Whether a function does nothing with another one but call it by its name.
pub fn calls_only(user: &Function, callee: Name) -> bool {
    let mut only = true;
    for edge in &user.edges {
        visit::exprs(&edge.op, &mut |part| only &= *part != Expr::Function(callee));
    }
    only
}

/// Whether definitions of one unit may mention a function where nobody has seen it: in what was not understood, and in initial values that are not known.
pub fn has_gaps<'u>(
    mut functions: impl Iterator<Item = &'u Function>,
    mut globals: impl Iterator<Item = &'u Global>,
) -> bool {
    functions.any(|function| !function.unsupported.is_empty()) || globals.any(hides_values)
}

fn hides_values(global: &Global) -> bool {
    let is_cut = !global.defined && (global.linkage == Linkage::Internal || global.size > MANY);
    is_cut || global.init.iter().any(|initial| initial.value == Constant::Unknown)
}
