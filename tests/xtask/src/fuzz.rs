//! Long random testing. The programs that do it depend on Z3, so they are other processes.

use std::path::Path;

use anyhow::Result;

/// Arguments are handed on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// For the program; `--help` after `--` tells.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds and runs `fuzz-programs`, `fuzz-front-end` or `corpus`.
pub(crate) fn run(root: &Path, program: &str, arguments: &Arguments) -> Result<()> {
    let mut line = vec!["run", "--quiet", "--release", "--package", "proofline-fuzz", "--bin", program, "--"];
    line.extend(arguments.rest.iter().map(String::as_str));
    crate::z3::fetch(root)?;
    crate::run(root, "cargo", &line)
}
