//! From files to tokens: the [`Preprocessor`] trait and its two implementations, which must agree.

mod cc;
mod main_file;
mod rucc;
mod system;

use std::path::Path;

pub use cc::CcPreprocessor;
pub use rucc::RuccPreprocessor;

use crate::flags::Flags;
use crate::fs::FileSystem;
use crate::token::Preprocessed;

/// Translation phases 1 to 4.
pub trait Preprocessor: Send + Sync {
    /// Preprocesses `main` and everything it includes. Never fails: what could not be read or
    /// understood is an error in the result and the rest is still there.
    fn preprocess(&self, main: &Path, fs: &dyn FileSystem, flags: &Flags) -> Preprocessed;
}

/// What to do about a header that is not found.
const HEADER_HELP: &str =
    "add its directory with -I, or with a compile_commands.json or compile_flags.txt above the file";
