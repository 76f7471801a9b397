//! The place where a team shares what was verified, as the user names it. A project's own files cannot name it: whoever opens a folder must not
//! be connected to a server because of what lies there.

use std::sync::Arc;

use anyhow::Result;
use proofline_ide::check::{Fetched, TeamPlace};
use proofline_team_store::TeamStore;

/// Names it where no option does.
const VARIABLE: &str = "PROOFLINE_STORE";

/// A team's store, as the query graph knows it.
pub(crate) struct Place(TeamStore);

impl Place {
    /// What failed last, if nothing has succeeded since.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.trouble()
    }
}

impl TeamPlace for Place {
    fn fetch(&self, name: String, then: Fetched) {
        self.0.fetch(name, then);
    }

    fn put(&self, name: String, bytes: Vec<u8>) {
        self.0.put(name, bytes);
    }

    fn finish(&self) {
        self.0.finish();
    }
}

/// The place that somebody names, or that the environment does.
///
/// # Errors
/// If it is none.
pub(crate) fn named(place: Option<&str>) -> Result<Option<Arc<Place>>> {
    let from_outside = || std::env::var(VARIABLE).ok();
    let Some(text) = place.map(str::to_owned).or_else(from_outside).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    Ok(Some(Arc::new(Place(TeamStore::open(&text)?))))
}
