//! Flags as compilers read them, from the command line and from the files of a project.

use std::path::{Path, PathBuf};

use proofline_syntax::{
    DataModel, FlagError, Flags, FlagsOrigin, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, Standard,
    flags_for,
};

fn read(args: &[&str]) -> Result<(Flags, Vec<String>), FlagError> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (flags, warnings) = Flags::from_args(&args, Path::new("/w"))?;
    Ok((flags, warnings.into_iter().map(|warning| warning.flag).collect()))
}

#[test]
fn a_typical_command_line_is_read_without_a_word() {
    let (flags, warnings) = read(&[
        "-Iinc",
        "-I",
        "/abs",
        "-iquote",
        "q",
        "-isystemsys",
        "-idirafter",
        "late",
        "-DA",
        "-D",
        "B=1 + 2",
        "-DF(x)=x",
        "-UA",
        "-include",
        "config.h",
        "-std=gnu11",
        "-m32",
        "-O2",
        "-g3",
        "-Wall",
        "-Wextra",
        "-fPIC",
        "-fno-strict-aliasing",
        "-c",
        "-o",
        "x.o",
        "-MD",
        "-MF",
        "x.d",
        "-pthread",
        "-fwrapv",
        "-funsigned-char",
        "x.c",
        "-lm",
        "-msse4.2",
        "--sysroot=/",
        "-pipe",
    ])
    .expect("usable");
    assert_eq!(warnings, [""; 0]);
    assert_eq!(flags.include_dirs, [PathBuf::from("/w/inc"), "/abs".into()]);
    assert_eq!((flags.quote_dirs, flags.system_dirs), (vec!["/w/q".into()], vec!["/w/sys".into()]));
    let defines: Vec<_> = flags.defines.iter().map(|(name, body)| (name.as_str(), body.as_deref())).collect();
    assert_eq!(defines, [("A", Some("1")), ("B", Some("1 + 2")), ("F(x)", Some("x")), ("A", None)]);
    assert_eq!(flags.includes, [PathBuf::from("/w/config.h")]);
    assert_eq!(flags.standard, Standard::parse("gnu11").expect("a standard"));
    assert_eq!(flags.data_model, DataModel::Ilp32);
    assert!(flags.optimize && flags.wrapv && flags.unsigned_char && flags.pthread);
}

#[test]
fn what_is_not_understood_is_a_warning_or_an_error() {
    assert_eq!(
        read(&["-zap", "-fms-extensions", "@more", "-unknown-flag"]).expect("usable").1,
        ["-zap", "-fms-extensions", "@more", "-unknown-flag"]
    );
    assert_eq!(read(&["-I"]), Err(FlagError::MissingValue("-I".into())));
    assert_eq!(read(&["-std=c++17"]), Err(FlagError::UnknownStandard("c++17".into())));
    assert_eq!(read(&["-D=3"]), Err(FlagError::NotAMacro("=3".into())));
    assert_eq!(read(&["-DA\n#include \"x\""]), Err(FlagError::NotAMacro("A\n#include \"x\"".into())));
    assert_eq!(read(&["-x", "c++"]), Err(FlagError::NotC("c++".into())));
}

#[test]
fn a_compilation_database_above_the_file_is_found() {
    let mut fs = OverlayFs::new(NoFs);
    let database = r#"[
        {"directory": "/p/build", "file": "../src/a.c", "command": "cc -I../inc -DNAME=\"a b\" -c ../src/a.c"},
        {"directory": "/p", "file": "src/b.c", "arguments": ["gcc", "-m32", "-DB", "src/b.c"]}
    ]"#;
    fs.insert("/p/compile_commands.json", database.as_bytes());
    fs.insert("/p/sub/compile_flags.txt", &b"-DTEXT\n\n-Ihere\n"[..]);
    let a = flags_for(Path::new("/p/src/a.c"), &fs);
    assert_eq!(a.origin, FlagsOrigin::Database("/p/compile_commands.json".into()));
    assert_eq!(a.flags.include_dirs, [PathBuf::from("/p/inc")]);
    assert_eq!(a.flags.defines, [("NAME".to_owned(), Some("a b".to_owned()))]);
    assert_eq!(flags_for(Path::new("/p/src/b.c"), &fs).flags.data_model, DataModel::Ilp32);
    // A header goes with the C files beside it, a file that no database lists has the defaults.
    assert_eq!(flags_for(Path::new("/p/src/x.h"), &fs).flags, a.flags);
    assert_eq!(flags_for(Path::new("/p/other.c"), &fs).origin, FlagsOrigin::Default);
    let text = flags_for(Path::new("/p/sub/deep/c.c"), &fs);
    assert_eq!(text.origin, FlagsOrigin::FlagsFile("/p/sub/compile_flags.txt".into()));
    assert_eq!(text.flags.include_dirs, [PathBuf::from("/p/sub/here")]);
}

#[test]
fn a_broken_database_costs_a_warning_and_nothing_else() {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/p/compile_commands.json", &b"[{]"[..]);
    let found = flags_for(Path::new("/p/a.c"), &fs);
    assert_eq!((found.flags, found.origin), (Flags::default(), FlagsOrigin::Default));
    assert!(found.warnings[0].starts_with("/p/compile_commands.json: "), "{:?}", found.warnings);
}

#[test]
fn flags_reach_the_text() {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/p/a.c", &b"#include <x.h>\nint a = A, c = C; /**/\n#ifdef B\nint b;\n#endif\n#ifdef __LP64__\nint wide;\n#endif\n"[..]);
    fs.insert("/p/inc/x.h", &b"int x = X;\n"[..]);
    fs.insert("/p/config.h", &b"#define X 9\nint config;\n"[..]);
    fs.insert("/p/macros.h", &b"#define C 5\nint lost;\n"[..]);
    let args: Vec<String> =
        ["-Iinc", "-DA=3", "-DB", "-UB", "-include", "config.h", "-imacros", "macros.h", "-m32"]
            .iter()
            .map(|arg| (*arg).to_owned())
            .collect();
    let (flags, _) = Flags::from_args(&args, Path::new("/p")).expect("usable");
    let pre = RuccPreprocessor.preprocess(Path::new("/p/a.c"), &fs, &flags);
    let text: Vec<_> = pre.tokens.iter().map(|token| pre.text(token)).collect();
    assert_eq!(text.join(" "), "int config ; int x = 9 ; int a = 3 , c = 5 ;");
    assert_eq!(pre.errors, []);
    let headers = ["/p/macros.h", "/p/config.h", "/p/inc/x.h"].map(PathBuf::from);
    assert!(headers.iter().all(|header| pre.dependencies.contains(header)), "{:?}", pre.dependencies);
}
