//! What the compiler was told: include paths, macros, dialect, data model. Plain values.

mod args;
mod changes;
mod database;
mod links;

use std::path::PathBuf;

pub use args::{FlagError, FlagWarning};
pub use changes::{Change, Concerns, changes_floats};
pub use database::{
    DATABASES, FlagsOrigin, FoundFlags, ProgramFiles, database_files, database_programs, flags_for,
};

/// Sizes of the basic types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DataModel {
    /// `int` 32, `long` and pointers 64 bits (x86-64 Linux).
    #[default]
    Lp64,
    /// `int`, `long` and pointers 32 bits (i386 Linux, `-m32`).
    Ilp32,
}

/// The year of the C standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edition {
    /// ANSI C.
    C89,
    /// C99.
    C99,
    /// C11.
    C11,
    /// C17: C11 with its defects mended.
    C17,
    /// C23.
    C23,
}

/// A dialect: an edition with or without GNU extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Standard {
    /// The edition.
    pub edition: Edition,
    /// Whether it is `gnuXX` rather than `cXX`.
    pub gnu: bool,
}

impl Standard {
    /// What GCC 8 to 14 take when nothing is said.
    pub const GNU17: Standard = Standard { edition: Edition::C17, gnu: true };

    /// Reads the value of `-std=`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Standard> {
        use rucc_session::Std;
        let (std, gnu) = Std::from_flag(name)?;
        let edition = match std {
            Std::C89 => Edition::C89,
            Std::C99 => Edition::C99,
            Std::C11 => Edition::C11,
            Std::C17 => Edition::C17,
            Std::C23 | Std::C2y => Edition::C23,
        };
        Some(Standard { edition, gnu })
    }

    /// The value of `-std=`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.edition, self.gnu) {
            (Edition::C89, false) => "c89",
            (Edition::C89, true) => "gnu89",
            (Edition::C99, false) => "c99",
            (Edition::C99, true) => "gnu99",
            (Edition::C11, false) => "c11",
            (Edition::C11, true) => "gnu11",
            (Edition::C17, false) => "c17",
            (Edition::C17, true) => "gnu17",
            (Edition::C23, false) => "c2x",
            (Edition::C23, true) => "gnu2x",
        }
    }
}

impl Default for Standard {
    fn default() -> Self {
        Self::GNU17
    }
}

/// The flags that decide what a file means.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Flags {
    /// `-I`, in order.
    pub include_dirs: Vec<PathBuf>,
    /// `-iquote`, in order.
    pub quote_dirs: Vec<PathBuf>,
    /// `-isystem`, in order.
    pub system_dirs: Vec<PathBuf>,
    /// `-idirafter`, in order.
    pub after_dirs: Vec<PathBuf>,
    /// `-nostdinc`: do not search the directories of the machine.
    pub no_standard_dirs: bool,
    /// `-D` and `-U` in order: `(name, Some(body))` defines, `(name, None)` undefines. The name of
    /// a macro with parameters has them in it, as in `("MAX(a,b)", …)`. `-DX` has the body `1`.
    pub defines: Vec<(String, Option<String>)>,
    /// `-include`, in order; read before the first line of the file.
    pub includes: Vec<PathBuf>,
    /// `-imacros`, in order; read before `includes`, only their macros are kept.
    pub macro_files: Vec<PathBuf>,
    /// `-std=`.
    pub standard: Standard,
    /// `-m32`, `-m64`.
    pub data_model: DataModel,
    /// `-O1` and above: defines `__OPTIMIZE__`.
    pub optimize: bool,
    /// `-ffreestanding`: `__STDC_HOSTED__` is 0.
    pub freestanding: bool,
    /// `-funsigned-char`: plain `char` is unsigned.
    pub unsigned_char: bool,
    /// `-fwrapv`: signed overflow wraps.
    pub wrapv: bool,
    /// `-fshort-enums`: an enum is as small as its values allow.
    pub short_enums: bool,
    /// `-fpack-struct`: every struct is packed to this many bytes.
    pub pack_struct: Option<u8>,
    /// `-march=…`, `-msse4.2`, …: what only changes the predefined macros of the instruction set.
    pub machine: Vec<String>,
    /// `-pthread`: defines `_REENTRANT`.
    pub pthread: bool,
    /// `-mfpmath=sse`: floating arithmetic has the precision of its type, with `-m32`, too.
    pub sse: bool,
    /// `-ffp-contract=`: whether a product and a sum may be rounded at once.
    pub contracts: Option<bool>,
    /// Flags that change what is not modelled.
    pub changes: Vec<Change>,
}
