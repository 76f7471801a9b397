//! The objects behind the parameters of `main`. Only `main` has their addresses; the interpreter makes them when a run begins.

/// The array of `argc + 1` pointers that `argv` points to.
pub const ARGV: &str = "#argv";
/// The array of pointers that `envp` points to; the last one is null.
pub const ENVP: &str = "#envp";
