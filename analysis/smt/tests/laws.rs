//! Laws of terms, on random ones: constructors keep the meaning, evaluation agrees with Z3, text parses back.

mod random;

use std::collections::BTreeSet;

use proofline_smt::logic::nnf;
use proofline_smt::rewrite::{instantiate, uninstantiate};
use proofline_smt::smtlib::{ParsedScript, Script, parse, parse_script};
use proofline_smt::term::{Assignment, Value, eval, eval_op, free_vars};
use proofline_smt::{Op, Outcome, Solver, Sort, Term, Var, Z3, build as t, simplify};
use proptest::collection::vec;
use proptest::prelude::*;
use random::{Source, Tree, assignment, operators, tree, value};

thread_local! {
    static SESSION: Z3 = Z3::new().expect("the shipped library");
}

/// Whether Z3 finds that `formula` can be false when the variables have these values.
fn can_fail(formula: Term, values: &Assignment) -> Outcome {
    SESSION.with(|z3| {
        let mut solver = z3.solver();
        solver.set_limits(proofline_smt::Limits::resource(3_000_000));
        for (var, value) in &values.vars {
            solver.assert(t::eq(t::var(*var), value.to_term()));
        }
        solver.assert(t::not(formula));
        solver.check()
    })
}

/// So many cases, unless `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    match std::env::var("PROPTEST_CASES") {
        Ok(_) => ProptestConfig::default(),
        Err(_) => ProptestConfig::with_cases(usual),
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..120)
}

fn formula_and_values(bytes: &[u8]) -> (Tree, Assignment) {
    let mut source = Source(bytes);
    let tree = tree(&mut source, Sort::Bool, 6);
    (tree, assignment(&mut source))
}

proptest! {
    #![proptest_config(cases(1500))]

    /// Building is meaning-preserving, and normal forms are fixed points of building.
    #[test]
    fn constructors_keep_the_meaning(bytes in bytes()) {
        let (tree, values) = formula_and_values(&bytes);
        let term = tree.build();
        if let Some(expected) = tree.value(&values) {
            prop_assert_eq!(eval(term, &values), Some(expected), "{}", term);
        }
        prop_assert_eq!(simplify(term), term);
    }

    /// The same on terms of every other sort.
    #[test]
    fn constructors_keep_values(bytes in bytes(), which in 0..4usize) {
        let sort = [Sort::Int, Sort::BitVec(8), Sort::BitVec(32), random::ARRAY_OF_INT()][which];
        let mut source = Source(&bytes);
        let tree = tree(&mut source, sort, 6);
        let values = assignment(&mut source);
        let term = tree.build();
        if let Some(expected) = tree.value(&values) {
            prop_assert_eq!(eval(term, &values), Some(expected), "{}", term);
        }
        prop_assert_eq!(simplify(term), term);
    }

    /// Text parses back to the same term, with its symbols.
    #[test]
    fn text_parses_back(bytes in bytes()) {
        let (tree, _) = formula_and_values(&bytes);
        // Names that are not unique across sorts cannot be told apart in SMT-LIB.
        let term = proofline_smt::rewrite::rename(tree.build(), |v| {
            Var::indexed(&format!("a b%{}:{:?}", v.name, v.sort), 3, v.sort)
        });
        let mut script = Script::new();
        script.assert(term);
        let parsed = parse_script(script.text()).expect("our own text");
        prop_assert_eq!(parsed.assertions.as_slice(), &[term], "{}", script.text());
        let vars: BTreeSet<Var> = parsed.vars.values().copied().collect();
        prop_assert_eq!(vars, free_vars(term));
    }

    /// Negation normal form and SSA indices change nothing.
    #[test]
    fn normal_form_and_renaming_keep_the_meaning(bytes in bytes()) {
        let (tree, values) = formula_and_values(&bytes);
        let term = tree.build();
        if let Some(expected) = eval(term, &values) {
            prop_assert_eq!(eval(nnf(term), &values), Some(expected));
        }
        prop_assert_eq!(uninstantiate(instantiate(term, |v| if v.name.as_str() == "x" { 7 } else { 2 })), term);
    }
}

proptest! {
    #![proptest_config(cases(600))]

    /// Every operator means to us what it means to Z3.
    #[test]
    fn operators_mean_what_they_mean_to_z3(bytes in bytes(), which in 0..7usize, choice in any::<u8>()) {
        let sorts = [
            Sort::Bool, Sort::Int, Sort::BitVec(8), Sort::BitVec(32), random::ARRAY_OF_INT(), Sort::Bool, Sort::BitVec(8),
        ];
        let all = operators(sorts[which]);
        let (op, args) = &all[usize::from(choice) % all.len()];
        let mut source = Source(&bytes);
        let vars: Vec<Var> = args.iter().enumerate().map(|(i, s)| Var::new(&format!("v{i}"), *s)).collect();
        let values: Vec<Value> = args.iter().map(|s| value(&mut source, *s)).collect();
        if let Some(expected) = eval_op(op, &values.iter().collect::<Vec<_>>()) {
            let applied = t::apply(op, &vars.iter().map(|v| t::var(*v)).collect::<Vec<_>>());
            let assignment = Assignment { vars: vars.into_iter().zip(values).collect(), ..Assignment::default() };
            let claim = t::eq(applied, expected.to_term());
            prop_assert_eq!(can_fail(claim, &assignment), Outcome::Unsat, "{} under {:?}", claim, assignment);
        }
    }

    /// Whole formulas too, after construction and through translation.
    #[test]
    fn formulas_mean_what_they_mean_to_z3(bytes in bytes()) {
        let (tree, values) = formula_and_values(&bytes);
        let term = tree.build();
        if let Some(Value::Bool(expected)) = tree.value(&values) {
            let claim = t::iff(term, t::bool(expected));
            prop_assert_eq!(can_fail(claim, &values), Outcome::Unsat, "{}", term);
        }
    }

    /// What Z3 gives back means what we gave it.
    #[test]
    fn terms_come_back_from_z3(bytes in bytes()) {
        let (tree, values) = formula_and_values(&bytes);
        let back = SESSION.with(|z3| z3.round_trip(tree.build())).expect("every operator comes back");
        if let Some(expected) = tree.value(&values) {
            prop_assert_eq!(eval(back, &values), Some(expected), "{}", back);
        }
    }

    /// A model that Z3 gives satisfies the formula by our evaluation.
    #[test]
    fn models_satisfy(bytes in bytes()) {
        let (tree, _) = formula_and_values(&bytes);
        let term = tree.build();
        let model = SESSION.with(|z3| {
            let mut solver = z3.solver();
            solver.set_limits(proofline_smt::Limits::resource(20_000));
            solver.assert(term);
            (solver.check() == Outcome::Sat).then(|| solver.assignment(&free_vars(term)))
        });
        if let Some(assignment) = model {
            let result = eval(term, &assignment);
            prop_assert!(result != Some(Value::Bool(false)), "{} under {:?}", term, assignment);
        }
    }
}

#[test]
fn deep_and_shared_terms_cost_their_graph() {
    // 20,000 levels, each used twice: 2^20000 as a tree.
    let f = proofline_smt::term::Func::new("f", &[Sort::Int, Sort::Int], Sort::Int);
    let mut term = t::named("x", Sort::Int);
    for _ in 0..20_000 {
        term = t::call(f, &[term, term]);
    }
    let formula = t::eq(term, t::int(0));
    assert_eq!(instantiate(formula, |_| 1), instantiate(uninstantiate(instantiate(formula, |_| 1)), |_| 1));
    let mut script = Script::new();
    script.assert(formula);
    assert_eq!(parse_script(script.text()).expect("our own text").assertions, [formula]);
    SESSION.with(|z3| {
        let mut solver = z3.solver();
        solver.assert(formula);
        assert_eq!(solver.check(), Outcome::Sat);
    });
}

#[test]
fn bound_variables_are_not_captured() {
    let (x, y) = (Var::new("x", Sort::Int), Var::new("y", Sort::Int));
    let inner = t::exists(&[y], t::eq(t::add([t::var(y), t::var(y)]), t::var(x)));
    // y stands for itself in both, and the bound y is no free y.
    let by_y = proofline_smt::rewrite::substitute(inner, &[(x, t::var(y))].into());
    assert_eq!(free_vars(by_y), [y].into());
    let nested = t::forall(&[x], t::or([inner, t::lt(t::var(x), t::var(y))]));
    let text = nested.to_string();
    let mut script = ParsedScript::default();
    script.vars.insert("y".into(), y);
    assert_eq!(parse(&text, &script).expect(&text), nested);
    SESSION.with(|z3| {
        let mut solver = z3.solver();
        // Every even number, and only those, is twice something: 3 < y makes 3 an exception.
        solver.assert(nested);
        solver.assert(t::eq(t::var(y), t::int(0)));
        assert_eq!(solver.check(), Outcome::Unsat);
    });
    assert_eq!(t::forall(&[x], t::lt(t::var(x), t::int(3))), t::forall(&[y], t::lt(t::var(y), t::int(3))));
}

#[test]
fn atoms_have_one_form() {
    let x = t::named("x", Sort::Int);
    let five = t::int(5);
    assert_eq!(t::lt(x, five), t::le(x, t::int(4)));
    assert_eq!(t::ge(x, five), t::not(t::lt(x, five)));
    assert_eq!(t::lt(t::mul([t::int(2), x]), five), t::le(x, t::int(2)));
    let flag = t::ite(t::lt(x, five), t::int(1), t::int(0));
    assert_eq!(t::ne(flag, t::int(0)), t::lt(x, five));
    let wrapped = |a| t::wrap_unsigned(a, 32);
    assert_eq!(
        wrapped(t::add([wrapped(t::add([x, t::int(1)])), t::int(1)])),
        wrapped(t::add([x, t::int(2)]))
    );
    assert!(t::lt(wrapped(x), t::int(1i64 << 32)).is_true());
    assert!(matches!(t::eq(x, t::named("y", Sort::Int)).op(), Op::Eq));
}

#[test]
fn people_read_infix() {
    let [ret, m, n] = ["ret", "m₀", "n₀"].map(|name| t::named(name, Sort::Int));
    assert_eq!(proofline_smt::pretty(t::eq(ret, t::add([m, n]))), "ret = m₀ + n₀");
    assert_eq!(proofline_smt::pretty(t::le(t::int(0), n)), "n₀ ≥ 0");
    assert_eq!(proofline_smt::pretty(t::and([t::lt(m, n), t::ne(ret, t::int(3))])), "ret ≠ 3 ∧ m₀ < n₀");
}

#[test]
fn foreign_scripts_are_read() {
    let text = "(set-logic QF_BV) (declare-const |a b| (_ BitVec 8)) (declare-fun f (Int) Int)
        (define-fun two () (_ BitVec 8) (_ bv2 8)) ; comment
        (assert (! (bvugt (bvsub |a b| two) #x05) :named n))
        (assert (>= (f (- 3)) 1 0)) (check-sat)";
    let script = parse_script(text).expect("SMT-LIB");
    let a = t::named("a b", Sort::BitVec(8));
    assert_eq!(script.assertions[0], t::bvult(t::bv(5, 8), t::bvsub(a, t::bv(2, 8))));
    assert_eq!(script.assertions.len(), 2);
    assert!(parse_script("(assert (+ 1 true))").is_err());
    assert!(parse_script("(assert (and").is_err());
    // One name, two sorts: refused rather than guessed.
    let twice = t::and([t::lt(t::named("x", Sort::Int), t::int(0)), t::named("x", Sort::Bool)]);
    let mut script = Script::new();
    script.assert(twice);
    assert!(parse_script(script.text()).is_err());
}
