//! What the user chose that changes answers.

use std::time::{Duration, Instant};

use proofline_verifier::{load::Options, property::Property};

/// Settings of the analysis. Whatever does not change an answer belongs to the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Which checks.
    pub property: Property,
    /// Flags, and whether signed overflow wraps.
    pub options: Options,
    /// Engines by name; empty: the portfolio.
    pub engines: Vec<String>,
    /// Every function is checked from all arguments, even if there is a `main`.
    pub library: bool,
    /// Ends each question, whatever is left of its steps; no limit unless somebody wants one.
    pub time_limit: Option<Duration>,
}

impl Settings {
    /// When a question that begins now ends at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.time_limit.map(|limit| Instant::now() + limit)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            property: Property::Everything,
            options: Options::default(),
            engines: Vec::new(),
            library: false,
            time_limit: None,
        }
    }
}
