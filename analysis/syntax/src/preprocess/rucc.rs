//! The preprocessor in this process, on `rucc-pp`. The only file that knows that crate's tokens.

mod convert;
mod options;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rucc_base::Interner;
use rucc_diag::{SourceBytes, SourceMap};
use rucc_pp::{Context, Preprocessor as Phase4};

use super::main_file::{Decoded, decode, read_main};
use super::{CcPreprocessor, Preprocessor};
use crate::error::SyntaxError;
use crate::flags::{DataModel, Edition, Flags};
use crate::fs::FileSystem;
use crate::interrupt::{self, Interrupt, Interrupted};
use crate::limits::{MAX_FILE_BYTES, MAX_INCLUDES, MAX_OPENED_AGAIN, MAX_UNIT_BYTES, PREPROCESSOR_STACK};
use crate::token::Preprocessed;

/// Preprocesses in this process: unsaved buffers, exact positions, no compiler needed.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuccPreprocessor;

impl Preprocessor for RuccPreprocessor {
    fn preprocess(&self, main: &Path, fs: &dyn FileSystem, flags: &Flags) -> Preprocessed {
        let text = match read_main(main, fs) {
            Ok(text) => text,
            Err(error) => return refused(main, flags, error),
        };
        // The `#if` parser of rucc-pp recurses, so it gets a stack that no text overflows.
        let interrupt = Interrupt::current();
        let work = || interrupt::within(interrupt.clone(), || run(main, &text, fs, flags));
        let run = || catch_unwind(AssertUnwindSafe(work));
        let outcome = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("preprocess".into())
                .stack_size(PREPROCESSOR_STACK)
                .spawn_scoped(scope, run);
            thread.map(|thread| thread.join())
        });
        match outcome {
            Ok(Ok(Ok(done))) => done,
            Ok(Ok(Err(panic)) | Err(panic)) if panic.is::<Interrupted>() => resume_unwind(panic),
            Ok(Ok(Err(_)) | Err(_)) => crashed(main, fs, flags),
            Err(error) => {
                let message = format!("no thread for the preprocessor: {error}");
                refused(main, flags, SyntaxError::error(message, None))
            }
        }
    }
}

/// What to do after a panic in rucc-pp: ask the C compiler, and say so.
fn crashed(main: &Path, fs: &dyn FileSystem, flags: &Flags) -> Preprocessed {
    let mut out = CcPreprocessor::default().preprocess(main, fs, flags);
    let message = "internal error in the preprocessor; the C compiler's was used instead";
    let warning = SyntaxError::warning(message, None).with_help("please report this with the file");
    out.errors.insert(0, warning);
    out
}

fn refused(main: &Path, flags: &Flags, error: SyntaxError) -> Preprocessed {
    let c23 = flags.standard.edition >= Edition::C23;
    let mut out = Preprocessed { errors: vec![error], c23, ..Preprocessed::default() };
    out.files.add(main.to_owned(), "".into(), None, false);
    out
}

/// Our file system as rucc's, with the bytes made text on the way.
struct Files<'a> {
    fs: &'a dyn FileSystem,
    ilp32: bool,
    opened: AtomicUsize,
    bytes: AtomicUsize,
    /// How often each was opened, by name.
    again: Mutex<BTreeMap<PathBuf, usize>>,
    /// A limit was reached.
    too_much: AtomicBool,
    /// The bytes of files that are not all text, by name.
    raw: Mutex<BTreeMap<PathBuf, Arc<[u8]>>>,
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

#[derive(Clone)]
struct Shared(Arc<str>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Files<'_> {
    fn keep_raw(&self, path: &Path, bytes: Arc<[u8]>) {
        self.raw.lock().insert(path.to_owned(), bytes);
    }
}

impl rucc_session::FileSystem for Files<'_> {
    fn read(&self, path: &Path) -> io::Result<SourceBytes> {
        interrupt::poll_now();
        if path == Path::new(options::GCC_MACROS) {
            return Ok(SourceBytes::new(options::GCC_MACROS_TEXT));
        }
        let bytes = match self.fs.read(path) {
            Ok(bytes) => bytes,
            // glibc's 32-bit stubs are in a package that few machines have; they hold nothing
            // but `#define __stub_…` lines that only configure scripts look at.
            Err(_) if self.ilp32 && path.ends_with("gnu/stubs-32.h") => Arc::from(&b""[..]),
            Err(error) => return Err(error),
        };
        let opened = self.opened.fetch_add(1, Ordering::Relaxed);
        let total = self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let again = {
            let mut again = self.again.lock();
            let again = again.entry(path.to_owned()).or_default();
            *again += 1;
            *again
        };
        if opened >= MAX_INCLUDES || again > MAX_OPENED_AGAIN || total > MAX_UNIT_BYTES {
            self.too_much.store(true, Ordering::Relaxed);
        }
        if self.too_much.load(Ordering::Relaxed) || bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too much to read"));
        }
        let decoded = decode(&bytes);
        if decoded.replaced > 0 {
            self.keep_raw(path, bytes);
        }
        Ok(SourceBytes::new(Shared(decoded.text)))
    }

    fn identity(&self, path: &Path) -> PathBuf {
        self.fs.identity(path)
    }
}

fn run(main: &Path, text: &Decoded, fs: &dyn FileSystem, flags: &Flags) -> Preprocessed {
    let files = Files {
        fs,
        ilp32: flags.data_model == DataModel::Ilp32,
        opened: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        again: Mutex::default(),
        too_much: AtomicBool::new(false),
        raw: Mutex::default(),
    };
    let search = options::search_path(flags);
    let mut interner = Interner::new();
    let mut sources = SourceMap::new();
    let name = main.to_string_lossy().into_owned();
    let Ok(id) = sources.add(name, Shared(text.text.clone())) else {
        return refused(main, flags, SyntaxError::error("file too large", None));
    };
    let mut cx = Context::new(&mut interner, &mut sources, &files, &search);
    let predef = options::predef(flags);
    cx.lex = rucc_lex::Options::for_dialect(predef.std, predef.gnu_extensions, false);
    let mut phase4 = Phase4::new();
    let mut tokens = Vec::new();
    let preprocessed_already = main.extension().is_some_and(|extension| extension == "i");
    let full = if preprocessed_already {
        Ok(())
    } else {
        phase4
            .predefine(&options::target(flags), &predef, &mut cx)
            .and_then(|()| phase4.preinclude(&options::preincludes(flags, fs), &mut tokens, &mut cx))
    };
    tokens.extend(phase4.run(id, &mut cx));
    let diagnostics = phase4.take_diagnostics();
    let too_much = files.too_much.load(Ordering::Relaxed);
    if too_much {
        // Nothing of it is what was meant.
        tokens.clear();
    }
    interrupt::poll_now();
    let mut out = convert::preprocessed(&tokens, &sources, &interner);
    out.c23 = flags.standard.edition >= Edition::C23;
    let found = phase4.dependencies().iter().map(|found| found.path.clone());
    out.dependencies = found.filter(|path| path != Path::new(options::GCC_MACROS)).collect();
    if too_much {
        let message = format!(
            "more than {MAX_INCLUDES} files, one file more than {MAX_OPENED_AGAIN} times, or more than {} MB are included",
            MAX_UNIT_BYTES >> 20
        );
        let help = "does a file include itself? Nothing of this text was checked";
        out.errors.push(SyntaxError::error(message, None).with_help(help));
    }
    if full.is_err() {
        out.errors.push(SyntaxError::error("more than 4 GB of source text", None));
    }
    if text.replaced > 0 {
        if let Ok(bytes) = fs.read(main) {
            files.keep_raw(main, bytes);
        }
        let message = format!("{} bytes are not UTF-8 text", text.replaced);
        out.errors.push(SyntaxError::warning(message, None));
    }
    convert::restore_bytes(&mut out, &files.raw.lock());
    convert::errors(&diagnostics, &sources, &mut out);
    out
}
