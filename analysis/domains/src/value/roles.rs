//! What variables are used for, guessed from their assignments: flags are cheap to track, loop counters are not. A hint for
//! refinement; nothing depends on it for soundness.

use std::collections::BTreeMap;

use proofline_cfa::{Base, Expr, Lvalue, Object, Op, Program, visit};

use crate::value::Variable;

/// Costs of tracking variables.
pub(super) struct Roles(BTreeMap<Variable, u32>);

/// Only constants are assigned.
const FLAG: u32 = 1;
/// Computed from others.
const COMPUTED: u32 = 8;
/// Computed from itself.
const COUNTER: u32 = 64;
/// Part of an object with many parts.
const AGGREGATE: u32 = 24;

impl Roles {
    pub(super) fn new(program: &Program) -> Roles {
        let mut costs = BTreeMap::new();
        for function in program.functions.values() {
            let variable = |lvalue: &Lvalue| match &lvalue.base {
                Base::Local(id) if function.local(*id).address_taken => {
                    Some(Variable::Object(Object::Local(function.name, *id)))
                }
                Base::Local(id) => Some(Variable::Local(function.name, *id)),
                Base::Global(name) => Some(Variable::Object(Object::Global(*name))),
                Base::Deref(..) => None,
            };
            // `$1 = x + 1; x = $1` counts like `x = x + 1`.
            let mut sources: BTreeMap<Variable, Vec<Variable>> = BTreeMap::new();
            for edge in &function.edges {
                let Op::Assign(dst, expr) = &edge.op else { continue };
                let Some(to) = variable(dst) else { continue };
                let mut read = Vec::new();
                visit::reads_of_expr(expr, &mut |lvalue| read.extend(variable(lvalue)));
                for from in read.clone() {
                    read.extend(sources.get(&from).into_iter().flatten().copied().take(8));
                }
                read.sort_unstable();
                read.dedup();
                let cost = if read.contains(&to) && !matches!(expr, Expr::Load(_)) {
                    COUNTER
                } else if !dst.path.is_empty() {
                    AGGREGATE
                } else if read.is_empty() && matches!(strip(expr), Expr::Int(..) | Expr::Null) {
                    FLAG
                } else {
                    COMPUTED
                };
                let known = costs.entry(to).or_insert(FLAG);
                *known = cost.max(*known);
                read.truncate(16);
                sources.insert(to, read);
            }
        }
        Roles(costs)
    }

    /// What tracking the variable is likely to cost.
    pub(super) fn cost(&self, variable: Variable) -> u32 {
        match self.0.get(&variable) {
            Some(cost) => *cost,
            None => match variable {
                // Parameters and results are assigned by calls.
                Variable::Local(..) => COMPUTED,
                Variable::Object(Object::Global(_)) => FLAG,
                Variable::Object(_) => AGGREGATE,
            },
        }
    }
}

fn strip(expr: &Expr) -> &Expr {
    if let Expr::Cast(_, arg, _) = expr { strip(arg) } else { expr }
}
