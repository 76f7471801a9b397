//! The variables of monitors (`verifier::monitors`), which no text and no code outside names.

/// Their names begin so, and so do those of locals that say what a monitor tells people.
pub const MONITOR: &str = "#monitor";
