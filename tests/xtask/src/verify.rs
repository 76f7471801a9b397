//! Everything that CI checks, in one command.

use std::path::Path;

use anyhow::Result;

/// Of the property tests. Other seeds: `PROPTEST_RNG_SEED=… cargo test`.
const SEED: u64 = 20_250_601;

/// Runs all checks, the cheapest first.
pub(crate) fn run(root: &Path) -> Result<()> {
    crate::z3::fetch(root)?;
    crate::tidy::run(root)?;
    crate::run(root, "cargo", &["fmt", "--all", "--check"])?;
    crate::run(
        root,
        "cargo",
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"],
    )?;
    // The same random cases on every machine and in every run.
    let seeded = format!("PROPTEST_RNG_SEED={SEED}");
    crate::run(root, "env", &[&seeded, "cargo", "test", "--workspace", "--quiet"])?;
    crate::server::test(root)
}
