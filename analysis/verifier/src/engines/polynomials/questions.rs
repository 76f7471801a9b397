//! What a proof rests on, as formulas over the integers for another solver ([`second_eye`]): on each path, what is supposed where it begins gives each thing that is
//! supposed where it ends, and contradicts the path where that is an error. So the algebra is looked at again; that the paths are those of the program is not.
//! Paths on which something is a power are left out: formulas do not say that.

use proofline_smt::{Sort, Term, Var, build as t, second_eye};

use super::{
    Search,
    candidates::{divides_at, equation_at, polynomial_at},
    divisibility::{Divides, Remainder},
    facts::{Division, Facts},
    ideal::{Equation, Ring},
    paths::Target,
    polynomial::{Polynomial, Symbol},
};

impl Search<'_> {
    /// Shows every question to the other solver.
    pub(super) fn show_questions(&self) {
        second_eye::certifying(|| {
            if !second_eye::is_kept() {
                return;
            }
            for (at, path) in self.paths.paths.iter().enumerate() {
                let facts = self.facts(at);
                if !facts.powers.is_empty() || !facts.exponentials.is_empty() {
                    continue;
                }
                let known = formula(&facts);
                let Target::Cut(cut, values) = &path.to else {
                    second_eye::rests_on(known);
                    continue;
                };
                let wanted = &self.candidates[*cut];
                let equations = wanted.equations.iter().map(|one| Some(is_zero(&equation_at(one, values)?)));
                let at_most = wanted.at_most.iter().map(|one| Some(at_most_0(&polynomial_at(one, values)?)));
                let divides = wanted.divides.iter().map(|one| Some(is_multiple(&divides_at(one, values)?)));
                for goal in equations.chain(at_most).chain(divides) {
                    // What does not speak of the values at the end holds if there is no such end.
                    let goal = goal.unwrap_or_else(|| t::bool(false));
                    second_eye::rests_on(t::and([known, t::not(goal)]));
                }
            }
        });
    }
}

fn formula(facts: &Facts) -> Term {
    let bounds = (0..).map(Symbol).zip(&facts.bounds).flat_map(|(symbol, (low, high))| {
        let value = variable(symbol);
        [t::le(t::int(low.clone()), value), t::le(value, t::int(high.clone()))]
    });
    let equations = facts.equations.iter().map(is_zero);
    let different = facts.different.iter().map(|one| t::not(is_zero(one)));
    let at_most = facts.at_most.iter().map(at_most_0);
    let divisions = facts.divisions.iter().flat_map(|division| {
        let Division { dividend, divisor, quotient, remainder } = division;
        let (dividend, divisor) = (number(dividend), t::int(divisor.clone()));
        let is_quotient = t::eq(variable(*quotient), t::c_div(dividend, divisor));
        [is_quotient, t::eq(variable(*remainder), t::c_rem(dividend, divisor))]
    });
    let divides = facts.divides.iter().map(is_multiple);
    let remainders = facts.remainders.iter().map(|Remainder { of, remainder }| {
        t::implies(is_multiple(of), t::eq(variable(*remainder), t::int(0)))
    });
    t::and(
        bounds
            .chain(equations)
            .chain(different)
            .chain(at_most)
            .chain(divisions)
            .chain(divides)
            .chain(remainders),
    )
}

fn variable(symbol: Symbol) -> Term {
    t::var(Var::indexed("x", symbol.0 + 1, Sort::Int))
}

fn number(polynomial: &Polynomial) -> Term {
    t::add(polynomial.terms().map(|(monomial, coefficient)| {
        let powers = monomial.powers().iter();
        let factors = powers.flat_map(|(symbol, exponent)| (0..*exponent).map(|_| variable(*symbol)));
        t::mul([t::int(coefficient.clone())].into_iter().chain(factors))
    }))
}

fn is_zero(equation: &Equation) -> Term {
    let value = number(&equation.polynomial);
    match equation.ring {
        Ring::Integers | Ring::Quotient => t::eq(value, t::int(0)),
        Ring::Modulo(bits) => {
            let modulus = num_bigint::BigInt::from(1) << bits;
            t::eq(t::modulo(value, t::int(modulus)), t::int(0))
        }
    }
}

fn at_most_0(polynomial: &Polynomial) -> Term {
    t::le(number(polynomial), t::int(0))
}

/// Nothing but 0 is a multiple of 0.
fn is_multiple(one: &Divides) -> Term {
    let (divisor, dividend, zero) = (number(&one.divisor), number(&one.dividend), t::int(0));
    t::ite(t::eq(divisor, zero), t::eq(dividend, zero), t::eq(t::modulo(dividend, divisor), zero))
}
