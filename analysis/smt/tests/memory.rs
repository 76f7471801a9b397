//! The memory limit concerns the whole process, so this test has one of its own.

use proofline_smt::{Limits, Outcome, Reason, Solver, Sort, Z3, build as t, limit_memory};

#[test]
fn running_out_of_memory_is_said_and_the_session_goes_on() {
    let z3 = Z3::new().expect("the shipped library");
    limit_memory(60);
    let [x, y] = ["x", "y"].map(|name| t::named(name, Sort::BitVec(512)));
    let square = t::eq(t::bvmul(x, t::bvmul(y, x)), t::bvudiv(t::bvmul(y, y), t::bvadd(x, t::bv(3, 512))));
    let outcome = z3.check(t::and([square, t::bvult(t::bv(1, 512), x)]), Limits::resource(400_000_000));
    assert_eq!(outcome, Outcome::Unknown(Reason::Memory));
    limit_memory(0);
    let mut solver = z3.solver();
    solver.assert(t::lt(t::named("i", Sort::Int), t::int(0)));
    assert_eq!(solver.check(), Outcome::Sat);
}
