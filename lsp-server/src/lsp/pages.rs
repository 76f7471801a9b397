//! The page of each check, put where an editor can open it.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock};

use proofline_ide::Check;
use tower_lsp_server::ls_types::Uri;

/// Where a check's page is, if there is one and it could be written.
pub(super) fn link(check: &str) -> Option<Uri> {
    static WRITTEN: OnceLock<BTreeMap<&'static str, Uri>> = OnceLock::new();
    WRITTEN.get_or_init(write).get(check).cloned()
}

/// Writes the pages into the cache folder. What cannot be written has no link.
fn write() -> BTreeMap<&'static str, Uri> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let Some(folder) = cache.map(|cache| cache.join("proofline").join("checks")) else {
        return BTreeMap::new();
    };
    if std::fs::create_dir_all(&folder).is_err() {
        return BTreeMap::new();
    }
    let write = |check: &&'static Check| {
        let path = folder.join(format!("{}.md", check.code()));
        if std::fs::read_to_string(&path).ok().as_deref() != Some(check.page()) {
            std::fs::write(&path, check.page()).ok()?;
        }
        Some((check.code(), Uri::from_file_path(&path)?))
    };
    Check::ALL.iter().filter_map(write).collect()
}
