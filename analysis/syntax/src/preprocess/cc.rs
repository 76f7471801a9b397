//! The preprocessor of the installed C compiler: oracle for the one in this process, and fallback.
//!
//! Positions are those of the line markers, refined by looking for the token in its line; what came
//! out of a macro has the position of the line. Unsaved text of the main file is used, unsaved headers
//! are not: the compiler reads them from the disk.

mod command;
mod markers;

use std::path::Path;

use super::Preprocessor;
use super::main_file::read_main;
use crate::error::SyntaxError;
use crate::flags::{Edition, Flags};
use crate::fs::FileSystem;
use crate::token::Preprocessed;

/// Preprocesses with `cc -E`.
#[derive(Debug, Clone)]
pub struct CcPreprocessor {
    /// The program to run.
    pub program: String,
}

impl Default for CcPreprocessor {
    fn default() -> Self {
        Self { program: "cc".to_owned() }
    }
}

impl Preprocessor for CcPreprocessor {
    fn preprocess(&self, main: &Path, fs: &dyn FileSystem, flags: &Flags) -> Preprocessed {
        let mut reader = markers::Reader::new(fs, flags);
        let text = match read_main(main, fs) {
            Ok(decoded) => decoded.text,
            Err(error) => {
                reader.add_main(main, "".into());
                reader.out.errors.push(error);
                return reader.finish();
            }
        };
        reader.add_main(main, text.clone());
        let unsaved = fs.is_unsaved(main).then_some(&*text);
        match command::run(&self.program, main, unsaved, flags) {
            Ok(output) => reader.read(&output.text, &output.messages),
            Err(message) => reader.out.errors.push(SyntaxError::error(message, None)),
        }
        reader.out.c23 = flags.standard.edition >= Edition::C23;
        reader.finish()
    }
}
