//! Decides an SMT-LIB script: `replay FILE [RESOURCE]`.
use proofline_smt::{Limits, Solver, Z3, smtlib::parse_script};
fn main() {
    let mut args = std::env::args().skip(1);
    let text = std::fs::read_to_string(args.next().expect("a file")).expect("readable");
    let script = parse_script(&text).expect("SMT-LIB");
    let z3 = Z3::new().expect("library");
    let mut solver = z3.solver();
    solver.set_limits(Limits { resource: args.next().map(|n| n.parse().expect("a number")), millis: None });
    if args.next().is_some() {
        solver.push();
    }
    for f in script.assertions {
        solver.assert(f);
    }
    println!("{:?}", solver.check());
}
