//! Calls that `assert` expands to, in the C libraries that are in use.

/// Which argument of such a function is the text of the assertion; the others are where it stands. `None` for every other function.
pub fn asserted_argument(function: &str) -> Option<usize> {
    match function {
        "__assert_fail" | "__assert" | "_assert" => Some(0),
        "__assert_rtn" | "__assert_func" => Some(3),
        _ => None,
    }
}
