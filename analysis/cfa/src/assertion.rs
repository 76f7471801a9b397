//! Calls that `assert` expands to, in the C libraries that are in use.

/// The functions, with which argument is the text of the assertion; the others are where it stands.
pub const ASSERTING: [(&str, usize); 5] =
    [("__assert_fail", 0), ("__assert", 0), ("_assert", 0), ("__assert_rtn", 3), ("__assert_func", 3)];

/// Which argument of such a function is the text of the assertion. `None` for every other function.
pub fn asserted_argument(function: &str) -> Option<usize> {
    ASSERTING.iter().find(|(name, _)| *name == function).map(|(_, text)| *text)
}
