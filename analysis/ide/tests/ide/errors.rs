//! Of a text that was not understood nothing is shown as proved.

use proofline_ide::State;

use crate::common::Session;

fn state(session: &Session, function: &str) -> State {
    session.file.function(function).expect("it is decided").state
}

#[test]
fn after_a_syntax_error_nothing_is_proved() {
    let session = Session::verified(
        "a.c",
        "int g(void) { return 1 +; }\nint none(void) { return 0; }\nint main(void) { int a[1] = {3}; return a[0] + none(); }\n",
    );
    assert_eq!(state(&session, "main"), State::Unknown);
    assert_eq!(state(&session, "none"), State::Unknown, "though nothing can fail in it");
}

#[test]
fn an_error_in_one_function_concerns_those_who_reach_it() {
    let session = Session::verified(
        "a.c",
        "int bad(void) { return undeclared; }\nint calls(void) { int a[1] = {3}; return a[0] + bad(); }\n\
         int other(void) { int a[1] = {3}; return a[0]; }\n",
    );
    assert_eq!(state(&session, "calls"), State::Unknown);
    assert_eq!(state(&session, "other"), State::Proved);
}
