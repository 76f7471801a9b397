//! What people choose about the meaning of programs, in the words of the command line, of `proofline.toml` and of editors' settings.

use proofline_ide::check::{Allocation, VolatileReads};
use serde::{Deserialize, Serialize};

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
