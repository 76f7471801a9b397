//! The limits that keep hostile or generated text from eating the machine. All are errors with a
//! message, never a crash.

/// Largest file that is read, in bytes. (The largest amalgamation known, sqlite3.c, has 9 MB.)
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Most files that are opened for one translation unit: headers that include each other without a
/// guard are exponentially many.
pub const MAX_INCLUDES: usize = 10_000;

/// Most times that one of them is opened: a file that includes itself twice would be read without end.
pub const MAX_OPENED_AGAIN: usize = 1_000;

/// Most bytes that are read for one translation unit.
pub const MAX_UNIT_BYTES: usize = 512 << 20;

/// Most messages of the preprocessor that are kept.
pub const MAX_ERRORS: usize = 1_000;

/// Most tokens a translation unit may have after macro expansion.
pub const MAX_TOKENS: usize = 30_000_000;

/// Deepest nesting of brackets that is passed on to the parser; the rest of the item is dropped.
pub const MAX_BRACKETS: u32 = 600;

/// Deepest tree below a top-level item that a recursive reader is asked to walk.
/// Deeper items are listed by [`crate::Unit::too_deep`].
pub const MAX_DEPTH: u32 = 2_000;

/// Longest chain of operators, of commas or of `else if` in a top-level item. Readers follow chains in loops, so they do not count
/// as depth; generated code has long ones.
pub const MAX_CHAIN: u32 = 100_000;

/// Stack of the thread on which the preprocessor runs (its `#if` parser recurses), in bytes.
pub const PREPROCESSOR_STACK: usize = 256 << 20;
