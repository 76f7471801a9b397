//! Random loops with fixed seeds: skipping iterations changes nothing. Thousands more: `cargo xtask fuzz-programs --loops --seeds A..B`.

use proofline_fuzz::programs::{compare_compiled, compare_skipping, generate_loops};

#[test]
fn runs_that_skip_iterations_end_as_runs_that_take_each_step() {
    let (mut compared, mut with_skips) = (0, 0);
    for seed in 0..100 {
        let text = generate_loops(seed);
        match compare_skipping(&text) {
            Ok(found) => {
                compared += usize::from(found.is_compared);
                with_skips += usize::from(found.is_compared && found.skipped > 0);
            }
            Err(difference) => panic!("seed {seed}: {difference}\n{text}"),
        }
    }
    assert!(
        compared > 30 && with_skips > 10,
        "{compared} compared, {with_skips} with skips: they say nothing"
    );
}

#[test]
fn machine_code_does_what_the_interpreter_does() {
    let mut with_code = 0;
    for seed in 0..100 {
        let text = generate_loops(seed);
        match compare_compiled(&text) {
            Ok(steps) => with_code += usize::from(steps > 100),
            Err(difference) => panic!("seed {seed}: {difference}\n{text}"),
        }
    }
    assert!(with_code > 50, "{with_code} with machine code: they say nothing");
}
