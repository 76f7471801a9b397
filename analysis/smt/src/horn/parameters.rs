//! A system for numbers as one for any numbers in their place: an invariant like `i <= n` is found where `i <= 100000` would be searched
//! for step by step.
//!
//! Law: if `Q` solves the result, `P(x) = Q(x, c)` with the constants `c` that were replaced solves the system.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use super::{Atom, HornSystem};
use crate::build as t;
use crate::rewrite::rewrite;
use crate::term::{Op, Sort, Term, Var, postorder};

/// Smaller constants are left as they are.
const LEAST: i32 = 12;
/// Larger ones are limits of types.
const LIMITS: [u32; 8] = [7, 8, 15, 16, 31, 32, 63, 64];
/// Constants so close to each other are one and a difference.
const CLOSE: u32 = 2;
/// Parameters, at most.
const MOST: usize = 3;

impl HornSystem {
    /// The system for any numbers. `None`: nothing is large.
    #[must_use]
    pub fn for_any_numbers(&self) -> Option<HornSystem> {
        let parameters = Parameters::of(self)?;
        let mut out = HornSystem::default();
        for predicate in &self.predicates {
            let more = parameters.0.iter().map(|_| Sort::Int);
            let sorts: Vec<Sort> = predicate.sorts.iter().copied().chain(more).collect();
            out.predicate(&predicate.name, &sorts);
        }
        for rule in &self.rules {
            let atom = |atom: &Atom| Atom {
                predicate: atom.predicate,
                args: atom
                    .args
                    .iter()
                    .map(|arg| parameters.in_term(*arg))
                    .chain(parameters.variables())
                    .collect(),
            };
            let constraint = t::and([parameters.in_term(rule.constraint), parameters.order()]);
            out.rule(rule.body.iter().map(atom).collect(), constraint, rule.head.as_ref().map(atom));
        }
        Some(out)
    }
}

/// The constants that become variables, the smallest first.
struct Parameters(Vec<BigInt>);

impl Parameters {
    fn of(system: &HornSystem) -> Option<Parameters> {
        let mut constants: BTreeSet<BigInt> = BTreeSet::new();
        for rule in &system.rules {
            let atoms = rule.body.iter().chain(&rule.head).flat_map(|a| a.args.iter().copied());
            let roots: Vec<Term> = atoms.chain([rule.constraint]).collect();
            constants.extend(roots.iter().filter_map(|root| root.as_int()).cloned());
            for term in postorder(&roots).into_iter().filter(|term| is_place(term.op())) {
                constants.extend(term.args().iter().filter_map(|arg| arg.as_int()).cloned());
            }
        }
        constants.retain(|c| *c >= BigInt::from(LEAST) && !is_near_limit(c));
        let mut groups: Vec<BigInt> = Vec::new();
        for constant in constants {
            match groups.last_mut() {
                Some(last) if is_close(&constant, last) => *last = constant,
                _ => groups.push(constant),
            }
        }
        (1..=MOST).contains(&groups.len()).then_some(Parameters(groups))
    }

    fn variables(&self) -> impl Iterator<Item = Term> {
        (1..).take(self.0.len()).map(|i| t::var(Var::indexed("%n", i, Sort::Int)))
    }

    /// What is known of them.
    fn order(&self) -> Term {
        let mut known = Vec::new();
        let mut last = t::int(LEAST - 1);
        for variable in self.variables() {
            known.push(t::lt(last, variable));
            last = variable;
        }
        t::and(known)
    }

    fn number(&self, term: Term) -> Term {
        let Some(value) = term.as_int().filter(|value| !is_near_limit(value)) else { return term };
        let opposite = -value;
        for (c, variable) in self.0.iter().zip(self.variables()) {
            if is_close(c, value) {
                return t::add([variable, t::int(value - c)]);
            }
            if is_close(c, &opposite) {
                return t::sub(t::int(value + c), variable);
            }
        }
        term
    }

    fn in_term(&self, term: Term) -> Term {
        let new = rewrite(term, |term, args| {
            is_place(term.op()).then(|| {
                let args: Vec<Term> = args.iter().map(|arg| self.number(*arg)).collect();
                t::apply(term.op(), &args)
            })
        });
        self.number(new)
    }
}

/// Whether a constant here is a number of the program's: not a factor, a divisor or a width.
fn is_place(op: &Op) -> bool {
    matches!(op, Op::Le | Op::Eq | Op::Add | Op::Ite)
}

/// Whether this is about the least or greatest value of a type.
pub(super) fn is_near_limit(value: &BigInt) -> bool {
    LIMITS.iter().any(|bits| is_close(&BigInt::from(value.magnitude().clone()), &BigInt::from(2).pow(*bits)))
}

fn is_close(a: &BigInt, b: &BigInt) -> bool {
    *(a - b).magnitude() <= CLOSE.into()
}
