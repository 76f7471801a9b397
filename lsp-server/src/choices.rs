//! What people choose about the meaning of programs, in the words of the command line, of `proofline.toml` and of editors' settings.

use std::{io::Read, path::Path};

use anyhow::{Context, Result, anyhow};
use proofline_ide::{
    check::{Allocation, MOST_BYTES_OF_ENGINES, Monitors, NoMonitor, SHIPPED, VolatileReads, define_engines},
    shown,
};
use serde::{Deserialize, Serialize};

/// More bytes no monitor has.
const MOST_BYTES: u64 = 1 << 20;

/// The monitors with these names, or in these files.
///
/// # Errors
/// What is wrong with the first that is none.
pub(crate) fn monitors(names: &[String]) -> Result<Monitors, NoMonitor> {
    let read = |name: &str| {
        let size = std::fs::metadata(name).map_err(|error| error.to_string())?.len();
        if size > MOST_BYTES {
            return Err(format!("the file is larger than {} MB", MOST_BYTES >> 20));
        }
        std::fs::read_to_string(name).map_err(|error| error.to_string())
    };
    Monitors::named(names, &read)
}

/// Whether a monitor comes with the program: the name, perhaps with functions in parentheses.
pub(crate) fn is_shipped(text: &str) -> bool {
    let name = text.split('(').next().unwrap_or(text).trim();
    SHIPPED.iter().any(|(shipped, _)| *shipped == name)
}

/// The engines of a user's own file, in the order in which they are asked.
///
/// # Errors
/// If it cannot be read, or what is wrong with it and in which line.
pub(crate) fn own_engines(path: &Path) -> Result<Vec<&'static str>> {
    let name = shown(path);
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mut text = String::new();
    // One byte more than may be there says that it is too large, whatever the file says of its size.
    file.take(MOST_BYTES_OF_ENGINES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {name}"))?;
    define_engines(&text).map_err(|error| anyhow!("{name}: {error}"))
}

/// Whether memory can run out.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Allocates {
    /// malloc and its kin may return null.
    #[default]
    MayFail,
    /// They never do.
    NeverFails,
}

impl From<Allocates> for Allocation {
    fn from(choice: Allocates) -> Allocation {
        match choice {
            Allocates::MayFail => Allocation::MayFail,
            Allocates::NeverFails => Allocation::NeverFails,
        }
    }
}

/// What a read of a volatile object gives.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Volatile {
    /// What was written, unless something else than the program may change the object.
    #[default]
    Written,
    /// Any value.
    Any,
}

impl From<Volatile> for VolatileReads {
    fn from(choice: Volatile) -> VolatileReads {
        match choice {
            Volatile::Written => VolatileReads::Written,
            Volatile::Any => VolatileReads::Any,
        }
    }
}
