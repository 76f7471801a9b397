//! Method `farkas`: interpolants from linear arithmetic. A contradiction of linear inequalities is a sum of them, with factors, that says `0 < 0`
//! (Farkas); the part of the sum that a subtree contributes is its interpolant. What cancels on the way, such as a loop's counter
//! against what it counts, stays related: `m + n = m₀ + n₀` after any number of steps. Disjunctions are split.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use super::super::{Failure, NodeId, Options, Tree};
use crate::build::{add, and, bool, eq, ge, int, le, lt, mul, not, or, var};
use crate::logic::nnf;
use crate::rewrite::rewrite;
use crate::simplify::Linear;
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Var, postorder};
use crate::z3::Z3;

/// Contradictions found one by one at most.
const LEAVES: usize = 24;
/// Inequalities in one contradiction at most.
const ROWS: usize = 160;
/// Factors are looked for up to these sizes; small ones first, for they generalise.
const FACTORS: [i64; 3] = [1, 8, 4096];

/// `sum <= 0`, or `sum = 0`.
#[derive(Clone, Debug)]
struct Row {
    node: usize,
    sum: Linear,
    is_equation: bool,
}

struct Search<'s> {
    z3: &'s Z3,
    options: Options,
    /// The nodes of each node's subtree.
    subtrees: Vec<BTreeSet<NodeId>>,
    leaves: usize,
}

/// A literal and where it stands.
type Part = (usize, Term);

pub(super) fn whole(z3: &Z3, tree: &Tree, options: Options) -> Result<Vec<Term>, Failure> {
    let subtrees = tree.nodes().map(|node| tree.subtree(node)).collect();
    let mut search = Search { z3, options, subtrees, leaves: 0 };
    let parts = tree.nodes().map(|node| (node.index(), nnf(tree.label(node)))).collect();
    let mut found = search.refute(Vec::new(), parts, Vec::new())?;
    if let Some(root) = found.last_mut() {
        *root = bool(false);
    }
    Ok(found)
}

fn not_linear() -> Failure {
    Failure::Unknown(Reason::Incomplete("no contradiction of linear inequalities".into()))
}

impl Search<'_> {
    /// Formulas for a contradiction of `rows` with `parts`; `splits` are disjunctions put off.
    fn refute(
        &mut self,
        mut rows: Vec<Row>,
        mut parts: Vec<Part>,
        mut splits: Vec<(usize, Vec<Term>)>,
    ) -> Result<Vec<Term>, Failure> {
        while let Some((node, part)) = parts.pop() {
            if part.is_false() {
                return Ok(self.subtrees.iter().map(|s| bool(!s.contains(&NodeId(node as u32)))).collect());
            }
            if let Some(options) = cases(part) {
                splits.push((node, options));
                continue;
            }
            match part.op() {
                Op::And => parts.extend(part.args().iter().map(|t| (node, *t))),
                _ => rows.extend(inequality(node, part)),
            }
        }
        if rows.len() > ROWS {
            return Err(not_linear());
        }
        self.leaves += 1;
        if self.leaves > LEAVES {
            return Err(Failure::Unknown(Reason::Limit));
        }
        if let Some(factors) = self.factors(&with_remainders(&mut rows))? {
            return Ok(self.sums(&rows, &factors));
        }
        // What is later on the path decides more often.
        splits.sort_by_key(|(node, options)| (options.len(), usize::MAX - node));
        if splits.is_empty() {
            return Err(not_linear());
        }
        let (at, options) = splits.remove(0);
        let mut found: Vec<Vec<Term>> = vec![Vec::new(); self.subtrees.len()];
        for option in options {
            let one = self.refute(rows.clone(), vec![(at, option)], splits.clone())?;
            found.iter_mut().zip(one).for_each(|(all, formula)| all.push(formula));
        }
        let inside = |subtree: &BTreeSet<NodeId>| subtree.contains(&NodeId(at as u32));
        let join = |(subtree, all): (&BTreeSet<NodeId>, Vec<Term>)| {
            if inside(subtree) { or(all) } else { and(all) }
        };
        Ok(self.subtrees.iter().zip(found).map(join).collect())
    }

    /// Factors of the rows whose sum is a positive constant; `None`: there are none.
    fn factors(&self, rows: &[Row]) -> Result<Option<Vec<BigInt>>, Failure> {
        let lambda = |i: usize| var(Var::indexed("%factor", i as u32 + 1, Sort::Int));
        let mut columns: BTreeMap<Term, Vec<Term>> = BTreeMap::new();
        let mut constants = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            for (term, factor) in row.sum.terms() {
                columns.entry(*term).or_default().push(mul([int(factor.clone()), lambda(i)]));
            }
            constants.push(mul([int(row.sum.constant().clone()), lambda(i)]));
        }
        let mut solver = self.z3.solver();
        solver.set_limits(self.options.limits);
        solver.assert(ge(add(constants), int(1)));
        for column in columns.into_values() {
            solver.assert(eq(add(column), int(0)));
        }
        for most in FACTORS {
            solver.push();
            for (i, row) in rows.iter().enumerate() {
                solver.assert(le(int(if row.is_equation { -most } else { 0 }), lambda(i)));
                solver.assert(le(lambda(i), int(most)));
            }
            let outcome = solver.check();
            let factors: Vec<Term> = (0..rows.len()).map(lambda).collect();
            let values = if outcome == Outcome::Sat { solver.values(&factors) } else { Vec::new() };
            solver.pop();
            match outcome {
                Outcome::Sat => {
                    let values: Option<Vec<BigInt>> =
                        values.into_iter().map(|value| value.and_then(|v| v.as_int().cloned())).collect();
                    return Ok(values);
                }
                Outcome::Unsat => {}
                Outcome::Unknown(Reason::Interrupted) => return Err(Failure::Unknown(Reason::Interrupted)),
                Outcome::Unknown(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// For every subtree, what its rows contribute to the sum.
    fn sums(&self, rows: &[Row], factors: &[BigInt]) -> Vec<Term> {
        let sum = |subtree: &BTreeSet<NodeId>| {
            let mut total = Linear::zero(None);
            let mut is_equation = true;
            for (row, factor) in rows.iter().zip(factors) {
                if subtree.contains(&NodeId(row.node as u32)) && *factor != BigInt::from(0) {
                    total.add_all(&row.sum, factor);
                    is_equation &= row.is_equation;
                }
            }
            // A sum of equations alone is an equation: stronger, and as much cancels.
            let (left, right) = (total.to_term(), int(0));
            if is_equation { eq(left, right) } else { le(left, right) }
        };
        self.subtrees.iter().map(sum).collect()
    }
}

/// The cases of a formula that is a disjunction in some way.
fn cases(part: Term) -> Option<Vec<Term>> {
    if let Op::Or = part.op() {
        return Some(part.args().to_vec());
    }
    let choice = postorder(&[part]).into_iter().find(|t| matches!(t.op(), Op::Ite) && t.sort() == Sort::Int);
    if let Some(choice) = choice {
        let [condition, a, b] = choice.args() else { return None };
        let with = |value: Term| rewrite(part, |t, _| (t == choice).then_some(value));
        return Some(vec![nnf(and([*condition, with(*a)])), nnf(and([not(*condition), with(*b)]))]);
    }
    match part.op() {
        Op::Not => match (part.args()[0].op(), part.args()[0].args()) {
            (Op::Eq, [a, b]) if a.sort() == Sort::Int => Some(vec![lt(*a, *b), lt(*b, *a)]),
            _ => None,
        },
        _ => None,
    }
}

/// A linear literal as a row; others say nothing here.
fn inequality(node: usize, part: Term) -> Option<Row> {
    let (negated, atom) = match part.op() {
        Op::Not => (true, part.args()[0]),
        _ => (false, part),
    };
    let [a, b] = atom.args() else { return None };
    if a.sort() != Sort::Int {
        return None;
    }
    let one = BigInt::from(1);
    match (atom.op(), negated) {
        (Op::Le, false) | (Op::Eq, false) => {
            let mut sum = Linear::of(*a);
            sum.add(*b, &-one);
            Some(Row { node, sum, is_equation: matches!(atom.op(), Op::Eq) })
        }
        (Op::Le, true) => {
            let mut sum = Linear::of(*b);
            sum.add(*a, &-&one);
            sum.add_constant(&one);
            Some(Row { node, sum, is_equation: false })
        }
        _ => None,
    }
}

/// Adds what quotients and remainders by constants are, where they occur.
fn with_remainders(rows: &mut Vec<Row>) -> Vec<Row> {
    let mut seen: BTreeSet<(usize, Term, Term)> = BTreeSet::new();
    let mut more = Vec::new();
    for row in rows.iter() {
        for term in row.sum.terms().keys() {
            if let (Op::Div | Op::Mod, [x, divisor]) = (term.op(), term.args())
                && divisor.as_int().is_some_and(|d| *d > BigInt::from(0))
                && seen.insert((row.node, *x, *divisor))
            {
                let quotient = Term::raw(Op::Div, vec![*x, *divisor]);
                let remainder = Term::raw(Op::Mod, vec![*x, *divisor]);
                let facts = [
                    eq(*x, add([mul([*divisor, quotient]), remainder])),
                    le(int(0), remainder),
                    lt(remainder, *divisor),
                ];
                more.extend(facts.into_iter().filter_map(|fact| inequality(row.node, fact)));
            }
        }
    }
    rows.extend(more);
    rows.clone()
}
