//! Equalities that hold however often a loop or a recursion went round: what the abstractions of one place along a path have in common
//! [Karr 1976]. Candidates for predicates, found by linear algebra alone; nothing rests on them.

use std::collections::BTreeMap;

use proofline_smt::{Op, Sort, Term, Var, build as t, logic::conjuncts, term::free_vars};

/// More equations than this are not looked at together.
const ROWS: usize = 120;
/// Equations with larger numbers fit the points of one path; they are no law of the program.
const LARGE: i128 = 2;

/// A linear form: coefficients by unknown; `None` is the constant.
type Row = BTreeMap<Option<Term>, i128>;

/// Equations in echelon form: each one's leading unknown occurs in no other. Over the rationals, with whole coefficients.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Equations(Vec<Row>);

impl Equations {
    /// The equations among the conjuncts of a formula that are linear.
    pub(super) fn of(formula: Term) -> Equations {
        let mut all = Equations::default();
        for part in conjuncts(formula) {
            if let (Op::Eq, [a, b]) = (part.op(), part.args())
                && a.sort() == Sort::Int
            {
                let mut row = Row::new();
                if add(&mut row, *a, 1).is_some() && add(&mut row, *b, -1).is_some() {
                    all.0.push(row);
                }
            }
        }
        all
    }

    /// What both say, together.
    pub(super) fn and(mut self, other: &Equations) -> Equations {
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// What follows for the unknowns named by `keep`, under these names. `None`: too large, or contradictory.
    pub(super) fn project(self, keep: &BTreeMap<Term, Var>) -> Option<Equations> {
        if self.0.len() > ROWS {
            return None;
        }
        let rank = |unknown: &Option<Term>| match unknown {
            Some(term) if !keep.contains_key(term) => 0,
            Some(_) => 1,
            None => 2,
        };
        let reduced = reduce(self.0, &rank)?;
        let mut out = Vec::new();
        for row in reduced {
            if row.keys().any(|unknown| rank(unknown) == 0) {
                continue;
            }
            if row.keys().all(Option::is_none) {
                return None;
            }
            let name = |(unknown, factor): (Option<Term>, i128)| {
                let named = unknown.and_then(|term| keep.get(&term)).map(|var| t::var(*var));
                (named, factor)
            };
            let mut named = Row::new();
            for (unknown, factor) in row.into_iter().map(name) {
                *named.entry(unknown).or_default() += factor;
            }
            named.retain(|_, factor| *factor != 0);
            out.push(named);
        }
        Some(Equations(out))
    }

    /// Under the names that a node has for its variables.
    pub(super) fn renamed(&self, names: &BTreeMap<Term, Var>) -> Equations {
        let mut back: BTreeMap<Term, Term> = BTreeMap::new();
        for (instance, name) in names {
            back.entry(t::var(*name)).or_insert(*instance);
        }
        let one = |row: &Row| -> Row {
            row.iter()
                .map(|(unknown, factor)| (unknown.map(|u| *back.get(&u).unwrap_or(&u)), *factor))
                .collect()
        };
        Equations(self.0.iter().map(one).collect())
    }

    /// What holds in both: the rows that are sums of rows of either.
    pub(super) fn join(&self, other: &Equations) -> Option<Equations> {
        // Σ uᵢ·aᵢ = Σ vⱼ·bⱼ: eliminate the unknowns from rows that remember where they come from.
        let mark = |i: usize| Some(t::var(Var::indexed("%row", i as u32 + 1, Sort::Int)));
        let mut rows = Vec::new();
        for (i, row) in self.0.iter().enumerate() {
            let mut row = shifted(row);
            row.insert(mark(i), 1);
            rows.push(row);
        }
        for row in &other.0 {
            rows.push(shifted(row));
        }
        let is_mark = |unknown: &Option<Term>| {
            unknown.and_then(Term::as_var).is_some_and(|var| var.name.as_str() == "%row")
        };
        let rank = |unknown: &Option<Term>| if is_mark(unknown) { 1 } else { 0 };
        let reduced = reduce(rows, &rank)?;
        let mut out = Vec::new();
        for row in reduced {
            if !row.keys().all(is_mark) {
                continue;
            }
            let mut sum = Row::new();
            for (i, own) in self.0.iter().enumerate() {
                let factor = row.get(&mark(i)).copied().unwrap_or(0);
                for (unknown, value) in own {
                    let new = sum.entry(*unknown).or_default();
                    *new = i128::checked_add(*new, factor.checked_mul(*value)?)?;
                }
            }
            sum.retain(|_, factor| *factor != 0);
            if !sum.is_empty() {
                out.push(normalised(sum));
            }
        }
        Some(Equations(out))
    }

    /// As formulas.
    pub(super) fn terms(&self) -> Vec<Term> {
        let side = |row: &Row, positive: bool| {
            t::add(row.iter().filter(|(_, factor)| (**factor > 0) == positive).map(|(unknown, factor)| {
                let factor = t::int(factor.abs());
                unknown.map_or(factor, |unknown| t::mul([factor, unknown]))
            }))
        };
        let small = |row: &&Row| row.values().all(|factor| factor.abs() <= LARGE);
        let equation = |row: &Row| t::eq(side(row, true), side(row, false));
        self.0.iter().filter(small).map(equation).filter(|p| !free_vars(*p).is_empty()).collect()
    }
}

/// The constant becomes an unknown like others.
fn shifted(row: &Row) -> Row {
    let one = Some(t::named("%one", Sort::Int));
    row.iter().map(|(unknown, factor)| (unknown.map_or(one, Some), *factor)).collect()
}

fn add(row: &mut Row, term: Term, factor: i128) -> Option<()> {
    match (term.op(), term.args()) {
        (Op::Int(value), _) => {
            let value = i128::try_from(value).ok()?;
            let constant = row.entry(None).or_default();
            *constant = constant.checked_add(value.checked_mul(factor)?)?;
        }
        (Op::Add, args) => {
            for arg in args {
                add(row, *arg, factor)?;
            }
        }
        (Op::Mul, [a, b]) if a.as_int().is_some() => {
            let value = i128::try_from(a.as_int()?).ok()?;
            add(row, *b, factor.checked_mul(value)?)?;
        }
        (Op::Var(_), _) => {
            let old = row.entry(Some(term)).or_default();
            *old = old.checked_add(factor)?;
        }
        // Anything else is not linear.
        _ => return None,
    }
    row.retain(|_, factor| *factor != 0);
    Some(())
}

/// Divided by the greatest common divisor.
fn normalised(row: Row) -> Row {
    let divisor = row.values().fold(0i128, |a, b| gcd(a, b.abs()));
    if divisor <= 1 {
        row
    } else {
        row.into_iter().map(|(unknown, factor)| (unknown, factor / divisor)).collect()
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Gauss and Jordan: unknowns of low rank are eliminated first. `None` if numbers become too large.
fn reduce(mut rows: Vec<Row>, rank: &dyn Fn(&Option<Term>) -> u32) -> Option<Vec<Row>> {
    let mut done: Vec<Row> = Vec::new();
    while let Some(row) = rows.pop() {
        let Some((lead, _)) = row.iter().min_by_key(|(unknown, _)| (rank(unknown), **unknown)) else {
            continue;
        };
        let (lead, row) = (*lead, normalised(row.clone()));
        if lead.is_none() {
            done.push(row);
            continue;
        }
        for other in rows.iter_mut().chain(done.iter_mut()) {
            let Some(there) = other.get(&lead).copied() else { continue };
            let here = row[&lead];
            let mut new = Row::new();
            for (unknown, factor) in other.iter() {
                new.insert(*unknown, factor.checked_mul(here)?);
            }
            for (unknown, factor) in &row {
                let old = new.entry(*unknown).or_default();
                *old = old.checked_sub(factor.checked_mul(there)?)?;
            }
            new.retain(|_, factor| *factor != 0);
            *other = normalised(new);
        }
        done.push(row);
    }
    done.retain(|row| !row.is_empty());
    done.sort();
    Some(done)
}
