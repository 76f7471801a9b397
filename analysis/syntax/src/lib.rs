//! From C text to a syntax tree with exact positions: flags, preprocessing, normalising, parsing.
//!
//! Knows tokens and grammar, never types, scopes or meaning. See `analysis/ARCHITECTURE.md`.

pub mod ast;
mod error;
mod flags;
pub mod fs;
pub mod interrupt;
pub mod limits;
pub mod marks;
mod normalise;
mod preprocess;
mod source;
mod token;
mod unit;

pub use error::{Severity, SyntaxError};
pub use flags::{
    Change, Concerns, DATABASES, DataModel, Edition, FlagError, FlagWarning, Flags, FlagsOrigin, FoundFlags,
    ProgramFiles, Standard, changes_floats, database_files, database_programs, flags_for,
};
pub use fs::{FileSystem, NoFs, OverlayFs, RealFs, shown};
pub use normalise::AttributeStyle;
pub use preprocess::{CcPreprocessor, Preprocessor, RuccPreprocessor};
pub use source::{FileId, SourceFiles, Span};
pub use token::{Pragma, Preprocessed, TextId, Texts, Token, TokenKind};
pub use unit::{Attribute, Place, Unit, parse, parse_after};
