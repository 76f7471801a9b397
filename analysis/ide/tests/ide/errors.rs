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

#[test]
fn what_the_start_of_a_program_runs_without_being_called_is_not_understood() {
    for section in ["\".init_array\"", "\".fini_array.00100\"", "\".init_\" \"array\"", "\".ctors\""] {
        let text = format!(
            "static int g; static void f(void) {{ g = 1; }}\n\
             static void (*p)(void) __attribute__((__section__({section}), used)) = f;\n\
             int main(void) {{ int a[1] = {{3}}; return a[g]; }}\n"
        );
        assert_eq!(state(&Session::verified("a.c", &text), "main"), State::Unknown, "{section}");
    }
    let text = "__attribute__((section(\".data.mine\"))) static int g;\n\
                int main(void) { int a[1] = {3}; return a[g]; }\n";
    assert_eq!(state(&Session::verified("a.c", text), "main"), State::Proved);
}
