//! The two preprocessors agree token for token, on the headers of this machine and on every flag.

use std::path::Path;
use std::process::Command;

use proofline_syntax::{
    CcPreprocessor, Flags, NoFs, OverlayFs, Preprocessed, Preprocessor, RealFs, RuccPreprocessor,
};

const HEADERS: &str = "assert complex ctype errno fenv float inttypes iso646 limits locale math pthread \
    setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath \
    threads time uchar unistd wchar wctype immintrin sys/types sys/stat sys/socket sys/mman sys/time \
    netinet/in arpa/inet netdb fcntl poll dirent regex sched semaphore dlfcn termios glob";

fn flags(args: &[&str]) -> Flags {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Flags::from_args(&args, Path::new("/")).expect("usable flags").0
}

fn spelled(pre: &Preprocessed) -> Vec<&str> {
    pre.tokens.iter().map(|token| pre.text(token)).collect()
}

/// Both token sequences of a text, or a panic at the first difference.
fn agree(text: &str, args: &[&str]) -> usize {
    let mut fs = OverlayFs::new(RealFs);
    fs.insert("/nowhere/main.c", text.as_bytes());
    let flags = flags(args);
    let main = Path::new("/nowhere/main.c");
    let ours = RuccPreprocessor.preprocess(main, &fs, &flags);
    let theirs = CcPreprocessor::default().preprocess(main, &fs, &flags);
    assert_eq!(ours.errors, [], "{args:?}: {text}");
    let (ours, theirs) = (spelled(&ours), spelled(&theirs));
    for (at, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        let context = &theirs[at.saturating_sub(10)..(at + 5).min(theirs.len())];
        assert_eq!(our, their, "{args:?}: token {at} in {context:?}");
    }
    assert_eq!(ours.len(), theirs.len(), "{args:?}: {text}");
    ours.len()
}

#[test]
fn system_headers_give_the_same_tokens() {
    let text: String = HEADERS.split_whitespace().map(|name| format!("#include <{name}.h>\n")).collect();
    assert!(agree(&text, &["-std=gnu17"]) > 100_000);
    assert!(agree(&text, &["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-mavx2"]) > 100_000);
    agree("#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n", &["-std=c99"]);
}

/// The names of the object-like macros that the compiler starts with, one on a line.
fn predefined(args: &[&str]) -> String {
    let cc = Command::new("cc").args(args).args(["-dM", "-E", "-x", "c", "/dev/null"]).output();
    let out = String::from_utf8(cc.expect("a C compiler").stdout).expect("text");
    let names = out.lines().filter_map(|line| line.strip_prefix("#define ")?.split(' ').next());
    // The only one that names the compiler itself.
    names
        .filter(|name| !name.contains('(') && *name != "__VERSION__")
        .map(|name| format!("{name}\n"))
        .collect()
}

#[test]
fn predefined_macros_of_both_data_models_are_those_of_gcc() {
    for args in [
        &["-std=gnu17"][..],
        &["-std=c11", "-m32"],
        &["-std=gnu99", "-m32", "-O2", "-DX=3", "-DNDEBUG", "-UX", "-DY"],
        &["-std=gnu89", "-funsigned-char", "-ffreestanding", "-mavx2", "-pthread"],
        &["-std=c99"],
        &["-std=gnu17", "-DX=1", "-UX", "-DX=2", "-DY(a)=a+1"],
    ] {
        // Those of the other model must be undefined here, too.
        let names = predefined(args) + &predefined(&["-m32"]) + &predefined(&["-mavx2"]) + "X\nY\n";
        assert!(names.lines().count() > 300, "{args:?}: {names}");
        agree(&names, args);
    }
}

#[test]
fn the_compiler_reads_unsaved_text_and_its_messages_are_kept() {
    let mut fs = OverlayFs::new(RealFs);
    fs.insert("/nowhere/main.c", &b"int a;\n#warning careful\n#include \"none.h\"\nint b;\n"[..]);
    let pre = CcPreprocessor::default().preprocess(Path::new("/nowhere/main.c"), &fs, &Flags::default());
    let messages: Vec<_> = pre.errors.iter().map(|error| error.message.as_str()).collect();
    assert!(messages.iter().any(|text| text.contains("careful")), "{messages:?}");
    assert!(messages.iter().any(|text| text.starts_with("none.h")), "{messages:?}");
    let missing = pre.errors.iter().find(|error| error.help.is_some()).expect("help on the missing header");
    assert_eq!(missing.span.map(|span| pre.files.line_col(span.file, span.start).0), Some(2));
    let first = pre.tokens[1];
    assert_eq!(pre.files.span_text(first.spelling), "a");
}

#[test]
fn a_compiler_that_is_not_there_is_an_error() {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", &b"int a;"[..]);
    let cc = CcPreprocessor { program: "no-such-compiler".to_owned() };
    let pre = cc.preprocess(Path::new("/t.c"), &fs, &Flags::default());
    assert!(pre.errors[0].message.contains("no-such-compiler"));
}
