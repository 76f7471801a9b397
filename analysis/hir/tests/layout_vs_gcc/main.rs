//! Layouts, constants and initialisers against gcc, for x86-64 and i386: random types and constant expressions become
//! the data of an object file of gcc and the constants of a module of ours. Needs gcc (with `-m32` code generation; no
//! 32-bit libraries) and its binutils.

mod bytes;
mod expressions;
mod random;
mod types;

use std::{path::Path, process::Command};

use proofline_hir::{Module, lower};
use proofline_syntax::{DataModel, Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, parse};
use random::Random;
use types::{Program, Types};

/// Bytes kept for each object.
const BLOCK: usize = types::LARGEST as usize;

fn program(seed: u64, model: DataModel, count: usize) -> Program {
    let mut random = Random::new(seed);
    let mut types = Types::new(&mut random, model);
    assert_eq!(types.model(), model);
    for _ in 0..count {
        types.add();
    }
    for _ in 0..count {
        let depth = 1 + types.random.below(3) as u32;
        let expression = expressions::expression(types.random, depth);
        types.ask(expression);
    }
    types.finish()
}

/// The text: facts as one array, each object at the start of a block of its own.
fn text(program: &Program) -> String {
    let mut text = format!("{}{}", expressions::PRELUDE, program.declarations);
    text.push_str("unsigned long long facts[] __attribute__((section(\".facts\"))) = {\n");
    for fact in &program.facts {
        text.push_str(&format!("  {fact},\n"));
    }
    text.push_str("};\n");
    for (index, (ty, init)) in program.objects.iter().enumerate() {
        text.push_str(&format!(
            "union {{ __typeof__({ty}) object; unsigned char bytes[{BLOCK}]; }} o{index} \
             __attribute__((section(\".objects\"), aligned({BLOCK}))) = {{ .object = {init} }};\n"
        ));
    }
    text
}

/// The contents of a section of the object file that gcc makes.
fn section(directory: &Path, object: &Path, name: &str) -> Vec<u8> {
    let out = directory.join(format!("section{name}"));
    let status = Command::new("objcopy")
        .args(["-O", "binary", "--only-section", name, "--set-section-flags", &format!("{name}=alloc,load")])
        .args([object, &out])
        .status()
        .expect("objcopy starts");
    assert!(status.success(), "objcopy failed");
    std::fs::read(&out).expect("the section was written")
}

fn gcc(directory: &Path, source: &Path, model: DataModel) -> std::path::PathBuf {
    let object = directory.join("object.o");
    let machine = if model == DataModel::Lp64 { "-m64" } else { "-m32" };
    let output = Command::new("gcc")
        .args(["-std=gnu17", "-w", "-c", "-fno-toplevel-reorder", "-fno-common", machine, "-o"])
        .args([&object, source])
        .output()
        .expect("gcc starts");
    assert!(output.status.success(), "gcc refused the text: {}", String::from_utf8_lossy(&output.stderr));
    object
}

fn ours(text: &str, model: DataModel) -> Module {
    let flags = Flags { data_model: model, ..Flags::default() };
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &flags));
    assert!(!unit.has_errors(), "syntax: {:?}", unit.errors());
    let lowered = lower(&unit, &flags);
    let shown: Vec<String> = lowered
        .errors
        .iter()
        .take(10)
        .map(|e| {
            let (line, _) = unit.files().line_col(e.span.file, e.span.start);
            format!("{}: {}", e.message, text.lines().nth(line as usize).unwrap_or(""))
        })
        .collect();
    assert!(shown.is_empty(), "errors: {shown:#?}");
    lowered.module
}

/// Compares one program; the differences.
fn compare(program: &Program, name: &str, model: DataModel) -> Vec<String> {
    let text = text(program);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("t.c");
    std::fs::write(&source, &text).expect("the source was written");
    let object = gcc(directory.path(), &source, model);
    let module = ours(&text, model);
    let mut differences = Vec::new();

    let facts = section(directory.path(), &object, ".facts");
    let global = module.globals.iter().find(|g| g.name.as_str() == "facts").expect("the facts");
    let (init, body) = (global.init.as_ref().expect("values"), global.init_body.as_ref().expect("a body"));
    assert_eq!(init.entries.len(), program.facts.len());
    assert_eq!(facts.len(), program.facts.len() * 8);
    for (index, (fact, entry)) in program.facts.iter().zip(&init.entries).enumerate() {
        let theirs = u64::from_le_bytes(facts[index * 8..index * 8 + 8].try_into().expect("8 bytes"));
        let own = bytes::value(&module, body, entry.value).map(|v| v as u64);
        if own != Some(theirs) {
            differences.push(format!("{fact}: gcc {theirs}, here {own:?}"));
        }
    }

    let objects = section(directory.path(), &object, ".objects");
    assert_eq!(objects.len(), program.objects.len() * BLOCK);
    for (index, (ty, init)) in program.objects.iter().enumerate() {
        let name = format!("o{index}");
        let global = module.globals.iter().find(|g| g.name.as_str() == name).expect("the object");
        let theirs = &objects[index * BLOCK..(index + 1) * BLOCK];
        let mut own = vec![0; BLOCK];
        if let Err(reason) = bytes::write(&module, global, &mut own) {
            differences.push(format!("{ty} = {init}: {reason}"));
        } else if let Some(at) = (0..BLOCK).find(|&at| own[at] != theirs[at]) {
            differences.push(format!("{ty} = {init}: byte {at}: gcc {:#x}, here {:#x}", theirs[at], own[at]));
        }
    }
    if !differences.is_empty() {
        let kept = std::env::temp_dir().join(format!("layout-{name}.c"));
        std::fs::write(&kept, &text).expect("the text was kept");
        differences.push(format!("the text is in {}", kept.display()));
    }
    differences
}

/// 400 types for each data model, from fixed seeds.
#[test]
fn layouts_constants_and_initialisers_are_those_of_gcc() {
    let rounds = std::env::var("LAYOUT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2u64);
    for round in 0..rounds {
        for model in [DataModel::Lp64, DataModel::Ilp32] {
            let program = program(1000 + round, model, 200);
            let differences = compare(&program, &format!("{model:?}-{round}"), model);
            assert!(differences.is_empty(), "{model:?}, seed {}: {differences:#?}", 1000 + round);
        }
    }
}

/// Initialisers that say more than numbers in order.
#[test]
fn designated_initialisers_fill_the_bytes_that_gcc_fills() {
    let declarations = "struct pair { int a, b; }; union either { struct pair p; char c[3]; short s; };
        struct deep { struct { struct pair p[2]; int k; } in[2]; union { short x; struct { char y, z; }; }; char w[4]; };
        struct bits { int a : 3, : 2, b : 5; unsigned c : 9; _Bool d : 1; enum { one, two } e : 4; };";
    let objects = [
        ("struct pair[3]", "{ { 1, 2 }, [0] = { 3 }, [1 ... 2] = { 4, 5 }, [1].b = 6 }"),
        ("struct pair[5]", "{ [0 ... 4] = { 7, 8 }, [2] = { 9 }, [3].a = 1, 2, 3 }"),
        ("struct pair[4]", "{ [1 ... 3].b = 7, [2 ... 3] = { .a = 9 }, [0].b = 1, 4 }"),
        ("union either", "{ .p.a = 1, .c = \"z\" }"),
        ("union either", "{ .c = { 1, 2, 3 }, .p.b = 5 }"),
        ("union either", "{ .p = { 1, 2 }, .p.b = 3 }"),
        ("union either", "{ .s = 4, .p = { .b = 3 }, .s = 7 }"),
        ("struct deep", "{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, \"abcd\" }"),
        ("struct deep", "{ { [1].p[1].b = 1, 2 }, .z = 3, { 4 }, .in[0] = { { { 5 } } } }"),
        ("struct deep", "{ .in[1].p[0].a = 1, 2, 3, .in[1].p[0] = { 4 }, .w = \"xy\", .w[0] = 'q' }"),
        ("struct deep", "{ .x = 0x1234, .w = { 1, 2, [0] = 3 }, .y = 5, .w = \"k\" }"),
        ("struct deep", "{ .w = \"abc\", .w = \"d\", .w[2] = 'e', in: { { .k = 3 } } }"),
        ("struct bits", "{ -1, 15, 511, 2, two }"),
        ("struct bits", "{ .e = 7, .d = 0.5, .c = 1000, .a = 3 }"),
        ("char[2][4]", "{ \"abcdef\", { 'x', [3] = 'y' } }"),
        ("int[2][2][2]", "{ 1, 2, 3, { 4 }, 5, 6 }"),
        ("int[2][2][2]", "{ { { 1 }, 2 }, { 3, 4, { 5 } } }"),
        ("int[2][3]", "{ [1][1] = 1, 2, [0] = { [2] = 3 }, [1][0] = 4 }"),
        ("int", "{ 3 }"),
        ("unsigned char", "{ 300 }"),
        ("double *", "(double *)16"),
    ];
    let program = Program {
        declarations: declarations.to_owned(),
        facts: vec!["sizeof(struct deep)".to_owned()],
        objects: objects.iter().map(|(ty, init)| ((*ty).to_owned(), (*init).to_owned())).collect(),
    };
    for model in [DataModel::Lp64, DataModel::Ilp32] {
        let differences = compare(&program, &format!("written-{model:?}"), model);
        assert!(differences.is_empty(), "{model:?}: {differences:#?}");
    }
}
