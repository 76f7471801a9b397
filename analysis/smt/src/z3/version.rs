//! Which Z3 may be linked. `z3-sys` freezes the numbers of Z3's enumerations: with a library outside of the matching
//! range, answers are silently wrong (measured: interpolants that were not inductive, without any error).

use std::sync::OnceLock;

use super::ffi;

/// A version of the library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version {
    /// Major, minor, build.
    pub number: [u32; 3],
    /// The library's own words.
    pub text: String,
}

/// The oldest and the newest version whose numbers agree with ours.
pub const COMPATIBLE: ([u32; 3], [u32; 3]) = ([4, 14, 1], [4, 16, 0]);

/// The version we ship.
pub const SHIPPED: [u32; 3] = [4, 15, 4];

/// The library that was found must not be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "Z3 {found} was loaded{place}, but this program was built for Z3 {oldest} to {newest}: with another version its \
     answers could be silently wrong. Put the shipped library (Z3 {shipped}; `cargo xtask z3` fetches it) beside the \
     program or into `.z3/lib`, remove other copies from the loader's path, or build with `--features vendored-z3`."
)]
pub struct LibraryMismatch {
    found: String,
    place: String,
    oldest: String,
    newest: String,
    shipped: String,
}

fn dotted(number: [u32; 3]) -> String {
    number.map(|n| n.to_string()).join(".")
}

/// Checks the library that is linked, once per process.
///
/// # Errors
/// If its version is outside of [`COMPATIBLE`].
pub fn check_library() -> Result<Version, LibraryMismatch> {
    static CHECKED: OnceLock<Result<Version, LibraryMismatch>> = OnceLock::new();
    CHECKED
        .get_or_init(|| {
            let ([major, minor, build, _], text) = ffi::version();
            check_version([major, minor, build], &text, &loaded_from())
        })
        .clone()
}

/// The decision of [`check_library`], for a version and a place given.
///
/// # Errors
/// If the version is outside of [`COMPATIBLE`].
pub fn check_version(number: [u32; 3], text: &str, place: &str) -> Result<Version, LibraryMismatch> {
    let (oldest, newest) = COMPATIBLE;
    if (oldest..=newest).contains(&number) {
        return Ok(Version { number, text: text.to_owned() });
    }
    Err(LibraryMismatch {
        found: dotted(number),
        place: if place.is_empty() { String::new() } else { format!(" from {place}") },
        oldest: dotted(oldest),
        newest: dotted(newest),
        shipped: dotted(SHIPPED),
    })
}

/// The file the library was loaded from, where the system tells.
fn loaded_from() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let path = maps.lines().filter_map(|l| l.split_whitespace().nth(5)).find(|p| p.contains("libz3"));
    path.unwrap_or_default().to_owned()
}
