//! A pointer may lead into its object and to its end, also where nobody follows it (C11 6.5.6). Real programs form others, so the check
//! is opt-in. Arrays whose length the type says are `array-bounds`, accesses are `out-of-bounds`.

use std::sync::Arc;

use proofline_cfa::{Base, Expr, Function, IntType, MemoryPredicate, Site, Step};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "pointer-arithmetic",
    cwe: &[823, 468],
    title: |failure| failure.named("pointer arithmetic leaves the object"),
    last_step: Some(|failure| {
        Some(format!("`{}` is neither inside its object nor at its end", failure.source?))
    }),
    help: "compare lengths or indices instead of pointers outside of the object",
    is_claim: false,
    is_opt_in: true,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/pointer-arithmetic.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Formed { place, site } = part else { return };
    let moves = |step: &Step| match step {
        Step::Index { index, length: None, .. } => !matches!(**index, Expr::Int(0, _)),
        Step::Index { .. } | Step::Field { .. } => false,
    };
    let Base::Deref(pointer, _) = &place.base else { return };
    if super::out_of_bounds::is_number(pointer) || !place.path.iter().any(moves) {
        return;
    }
    let address = Arc::new(Expr::Address(place.clone()));
    let nothing = Arc::new(Expr::Int(0, IntType { bits: 64, signed: false }));
    out.push(Demand { condition: Expr::Memory(MemoryPredicate::Within, address, nothing), site });
}
