//! Some random programs with fixed seeds: the interpreter and quick engines against the compiled program. Thousands more:
//! `cargo xtask fuzz-programs --seeds A..B`.

use proofline_fuzz::programs::{Compiler, Compilers, Engines, Manner, examine, generate};

/// Even seeds: no undefined behaviour; odd ones: some.
#[test]
fn what_is_said_about_random_programs_is_what_they_do() {
    let compiler = Compiler::new(Compilers::Gcc).expect("gcc");
    let engines = Engines {
        names: ["concrete", "intervals", "intervals-bam-loops", "value-bam", "bounded"]
            .map(str::to_owned)
            .into(),
        steps: 1_500,
        limit: None,
    };
    let mut proved = 0;
    for seed in 0..30 {
        let program = generate(seed, Manner { is_risky: seed % 2 == 1, ..Manner::default() });
        let outcome = examine(&program, seed, &compiler, &engines).expect("runs");
        if let Some(fault) = outcome.faults.first() {
            let text = outcome.texts.last().map_or("", String::as_str);
            panic!("seed {seed}: {fault}\n{text}");
        }
        proved += outcome.counts.values().map(|[proved, ..]| proved).sum::<usize>();
    }
    assert!(proved > 100, "only {proved} obligations are proved: the programs say nothing");
}
