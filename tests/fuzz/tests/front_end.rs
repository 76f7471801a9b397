//! A short run of the front end's fuzzing, the same on every machine.

use std::path::Path;

use proofline_fuzz::front_end::{corpus, flags, input, read};

#[test]
fn broken_text_is_read_without_a_panic_and_what_comes_out_of_c_is_well_formed() {
    let work = || {
        let corpus = corpus(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        assert!(corpus.len() > 50, "the corpus has {} texts", corpus.len());
        for number in 0..250 {
            if let Err(fault) = read(&input(&corpus, number), &flags(number)) {
                panic!("input {number}: {fault}");
            }
        }
    };
    // Deeply nested text needs a deep stack.
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
