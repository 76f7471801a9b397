//! Our [`Flags`] in the terms of `rucc-pp`: search path, target, predefined macros.

use std::path::Path;

use rucc_pp::{Predef, Timestamp};
use rucc_session::{OptLevel, Preinclude, SearchPath, Std};
use rucc_target::{Arch, Choices, Env, Isa, Os, TargetInfo, Triple};

use crate::flags::{DataModel, Edition, Flags};
use crate::fs::FileSystem;
use crate::preprocess::system::system_headers;

/// The directories to search, in GCC's order.
pub(super) fn search_path(flags: &Flags) -> SearchPath {
    let mut search = SearchPath::new();
    flags.quote_dirs.iter().for_each(|dir| search.push_quote(dir));
    flags.include_dirs.iter().for_each(|dir| search.push_bracket(dir));
    flags.system_dirs.iter().for_each(|dir| search.push_system(dir));
    if !flags.no_standard_dirs {
        system_headers().dirs.iter().for_each(|dir| search.push_system(dir));
    }
    flags.after_dirs.iter().for_each(|dir| search.push_after(dir));
    search.remove_duplicates();
    search
}

/// The machine that the program is for.
pub(super) fn target(flags: &Flags) -> TargetInfo {
    let arch = match flags.data_model {
        DataModel::Lp64 => Arch::X86_64,
        DataModel::Ilp32 => Arch::X86,
    };
    let mut target = TargetInfo::for_tuple(Triple::new(arch, Os::Linux, Env::Gnu).tuple());
    target.char_is_signed = !flags.unsigned_char;
    target
}

/// The predefined macros, those of the command line included.
pub(super) fn predef(flags: &Flags) -> Predef {
    let mut predef = Predef::new();
    predef.std = match flags.standard.edition {
        Edition::C89 => Std::C89,
        Edition::C99 => Std::C99,
        Edition::C11 => Std::C11,
        Edition::C17 => Std::C17,
        Edition::C23 => Std::C23,
    };
    predef.gnu_extensions = flags.standard.gnu;
    (predef.gnuc.major, predef.gnuc.minor, predef.gnuc.patch) = gcc_version();
    // A verdict must not depend on the clock.
    predef.timestamp = Timestamp::from_unix(0);
    predef.opt_level = if flags.optimize { OptLevel::O2 } else { OptLevel::O0 };
    predef.hosted = !flags.freestanding;
    predef.isa = instruction_set(flags);
    for (name, body) in &flags.defines {
        predef.undefines.retain(|undefined| undefined != name);
        match body {
            Some(body) => predef.defines.push(format!("{name}={body}")),
            None => {
                predef.defines.retain(|define| macro_name(define) != name);
                predef.undefines.push(name.clone());
            }
        }
    }
    if flags.pthread {
        predef.defines.push("_REENTRANT=1".to_owned());
    }
    predef
}

/// The GCC that the system headers on this machine were written for.
pub(super) fn gcc_version() -> (u32, u32, u32) {
    match system_headers().gcc_major {
        Some(12) | None => (12, 2, 0),
        Some(major) => (major, 0, 0),
    }
}

fn macro_name(define: &str) -> &str {
    define.split(['=', '(']).next().unwrap_or("")
}

fn instruction_set(flags: &Flags) -> Isa {
    let mut base = match flags.data_model {
        DataModel::Lp64 => Isa::baseline(),
        DataModel::Ilp32 => Isa::of(&[]),
    };
    let mut choices = Choices::new();
    for flag in &flags.machine {
        if let Some(processor) = flag.strip_prefix("-march=") {
            base = Isa::level(processor).unwrap_or(base);
        } else if let Some(feature) = flag.strip_prefix("-m") {
            // What is no extension does not change a macro that programs ask for.
            let _unknown = choices.read(feature);
        }
    }
    choices.over(base)
}

/// A header of our own; no directory can be called so.
pub(super) const GCC_MACROS: &str = "/<proofline>/gcc.h";
/// Its text.
pub(super) const GCC_MACROS_TEXT: &str = include_str!("gcc.h");

/// What is read before the main file: corrections, glibc's macros, `-imacros` and `-include`.
pub(super) fn preincludes(flags: &Flags, fs: &dyn FileSystem) -> Vec<Preinclude> {
    let macros = |path: &Path| Preinclude { name: path.to_string_lossy().into_owned(), macros_only: true };
    let mut all = vec![macros(Path::new(GCC_MACROS))];
    if !flags.no_standard_dirs && !flags.freestanding {
        let predef = system_headers().dirs.iter().map(|dir| dir.join("stdc-predef.h"));
        all.extend(predef.into_iter().find(|path| fs.read(path).is_ok()).map(|path| macros(&path)));
    }
    all.extend(flags.macro_files.iter().map(|path| macros(path)));
    all.extend(flags.includes.iter().map(|path| Preinclude { macros_only: false, ..macros(path) }));
    all
}
