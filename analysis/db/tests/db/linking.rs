//! Linking part by part: after every edit of units that clash in every way C allows, the whole program, every slice and every position are
//! those of units that are linked afresh, all at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use proofline_cfa::{Function, Global, Name, Program, Type, text};
use proofline_cfa_build::{link, lower, models};
use proofline_db::{Database, Work};
use proofline_hir::{Linkage, Record};
use proofline_program_analysis::{Mentions, SliceSource, slice};
use proofline_syntax::DataModel;
use proofline_verifier::{
    Entry,
    checks::{self, Conventions},
    load::{self, Options, Preparation},
    module_invariants,
    monitors::Monitors,
    portfolio::Control,
};

use crate::common::{Random, database};

/// Programs of the everyday test; `PROOFLINE_SESSIONS` asks for more.
const PROGRAMS: u64 = 25;
/// Edits of each.
const EDITS: u64 = 12;

/// One unit: what it says of names that others use, too.
#[derive(Clone)]
struct Sketch {
    record: u64,
    objects: [u64; 3],
    functions: [u64; 4],
    bodies: [u64; 4],
    blank: u64,
}

impl Sketch {
    fn new(random: &mut Random) -> Sketch {
        let mut some = || random.below(1 << 20);
        let (objects, functions) = ([some(), some(), some()], [some(), some(), some(), some()]);
        Sketch { record: some(), objects, functions, bodies: [some(), some(), some(), some()], blank: 0 }
    }

    fn edit(&mut self, random: &mut Random) {
        let value = random.below(1 << 20);
        let at = random.below(4) as usize;
        match random.below(6) {
            0 => self.record = value,
            1 => self.objects[at % 3] = value,
            2 => self.functions[at] = value,
            3 | 4 => self.bodies[at] = value,
            _ => self.blank += 1,
        }
    }

    fn text(&self, number: usize) -> String {
        let mut out = "\n".repeat(self.blank as usize);
        let member = ["int a;", "char b; int a;", "struct t *a;"][(self.record % 3) as usize];
        out.push_str(&format!("struct s {{ {member} }}; struct t {{ struct s *p; int n; }};\n"));
        // What may be used in this unit.
        let mut values = vec!["x".to_owned(), "\"text\"[x]".to_owned(), "one(x)".to_owned()];
        out.push_str("static inline int one(int x) { static int calls; return ++calls + x; }\n");
        for (i, kind) in self.objects.iter().enumerate() {
            let ty = ["int", "long", "const int"][(kind / 8 % 3) as usize];
            let k = kind / 64 % 3;
            out.push_str(&match kind % 6 {
                0 => continue,
                1 => format!("extern {ty} n{i};\n"),
                2 => format!("{ty} n{i};\n"),
                3 => format!("{ty} n{i} = {k};\n"),
                4 => format!("static {ty} n{i} = {k};\n"),
                _ => format!("static {ty} n{i};\n"),
            });
            values.push(format!("n{i}"));
            values.push(format!("*&n{i}"));
        }
        for (i, kind) in self.functions.iter().enumerate() {
            let arguments = ["x", "x, 2", "2.5", "&n"][(kind / 64 % 4) as usize];
            if matches!(kind % 7, 1..=6) {
                out.push_str(&match kind % 7 {
                    1 => format!("int f{i}();\n"),
                    2 => format!("int f{i}(int x);\n"),
                    _ => continue,
                });
                let arguments = if kind % 7 == 1 { arguments } else { "x" };
                values.push(format!("f{i}({})", arguments.replace("&n", "(void *)0")));
            }
        }
        for (i, kind) in self.functions.iter().enumerate() {
            let linkage = match kind % 7 {
                3 | 4 => "",
                5 => "static ",
                6 if i == 3 => "__attribute__((constructor)) static ",
                6 => "inline ",
                _ => continue,
            };
            let head = match (kind % 7, kind / 8 % 5) {
                (6, _) if i == 3 => format!("void f{i}(void) {{ int x = 1;"),
                (_, 0) => format!("long f{i}(char x, unsigned y) {{"),
                (_, 1) => format!("int f{i}(struct s *q) {{ int x = q != 0;"),
                (_, 2) => format!("struct t f{i}(int x) {{ struct t out = {{ 0, x }};"),
                _ => format!("int f{i}(int x) {{"),
            };
            let body = self.bodies[i];
            let value = |n: u64| &values[((body / 7u64.pow(n as u32)) % values.len() as u64) as usize];
            let sum = format!("{} / ({} + {})", value(0), value(1), value(2));
            let end = match head.split(' ').next() {
                Some("void") => format!("x = {sum};"),
                Some("struct") => format!("out.n = {sum}; return out;"),
                _ => format!("return {sum};"),
            };
            out.push_str(&format!("{linkage}{head} {end} }}\n"));
        }
        if number == 0 && self.record.is_multiple_of(2) {
            out.push_str(&format!("int main(void) {{ int x = 4; return {}; }}\n", values[values.len() - 1]));
        }
        out
    }
}

/// A linked program, part by part.
struct Whole {
    program: Program,
    users: BTreeMap<Name, Arc<BTreeSet<Name>>>,
}

impl Whole {
    fn new(program: Program) -> Whole {
        let mut users: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let functions = program.functions.values().map(|f| (f.name, Mentions::of_function(f)));
        let globals = program.globals.values().map(|global| (global.name, Mentions::of_global(global)));
        for (name, mentions) in functions.chain(globals) {
            for mentioned in mentions.names {
                users.entry(mentioned).or_default().insert(name);
            }
        }
        let users = users.into_iter().map(|(name, users)| (name, Arc::new(users))).collect();
        Whole { program, users }
    }
}

impl SliceSource for Whole {
    fn data_model(&self) -> DataModel {
        self.program.data_model
    }
    fn function(&self, name: Name) -> Option<(Arc<Function>, Arc<Mentions>)> {
        let function = self.program.functions.get(&name)?.clone();
        let mentions = Arc::new(Mentions::of_function(&function));
        Some((function, mentions))
    }
    fn global(&self, name: Name) -> Option<Arc<Global>> {
        self.program.globals.get(&name).cloned()
    }
    fn external(&self, name: Name) -> Option<Type> {
        self.program.externals.get(&name).copied()
    }
    fn record(&self, tag: Name) -> Option<Arc<Record>> {
        self.program.records.get(&tag).cloned()
    }
    fn unsupported(&self, function: Name) -> Vec<Name> {
        let all = self.program.unsupported.iter();
        all.filter(|(of, _)| *of == function).map(|(_, what)| *what).collect()
    }
    fn outside_main(&self) -> Vec<Name> {
        let functions = self.program.functions.values();
        functions.filter(|f| f.attributes.runs_outside_main).map(|f| f.name).collect()
    }
    fn exported(&self) -> Vec<Name> {
        let functions = self.program.functions.values().map(|f| (f.name, f.linkage));
        let all = functions.chain(self.program.globals.values().map(|global| (global.name, global.linkage)));
        let is_literal = |name: &Name| name.as_str().contains('"');
        all.filter(|(name, linkage)| *linkage == Linkage::External && !is_literal(name))
            .map(|(name, _)| name)
            .collect()
    }
    fn users(&self, name: Name) -> Arc<BTreeSet<Name>> {
        self.users.get(&name).cloned().unwrap_or_default()
    }
}

/// The texts linked afresh.
fn fresh(texts: &[(PathBuf, String)]) -> Program {
    let fs = load::overlay(texts);
    let units = texts.iter().map(|(path, _)| {
        let source = load::read(path, &Options::default(), &*fs).expect("the text can be read");
        lower(&source.module, &source.map)
    });
    link::link(units.collect()).0
}

fn is_same(incremental: &Program, fresh: &Program, what: &str) {
    assert_eq!(text::print_program(incremental), text::print_program(fresh), "{what}");
    assert!(incremental == fresh, "{what}");
}

/// Whole program, slices and positions.
fn compare(db: &Database, texts: &[(PathBuf, String)], log: &str) {
    let program = db.program().expect("nobody edits");
    let sources = db.sources().expect("nobody edits");
    let (subject, expected) = load::load_texts(texts, &Options::default()).expect("the texts can be read");
    is_same(&program, subject.program(), log);
    let whole = Whole::new(fresh(texts));
    let conventions =
        Conventions { ends_at_labels: checks::ends_at_labels(&whole.program), ..Conventions::default() };
    for name in whole.program.functions.keys() {
        assert_eq!(sources.definition(*name), expected.definition(*name), "{name}, {log}");
        assert_eq!(sources.closing(*name), expected.closing(*name), "{name}, {log}");
        let known = db.known(*name, &Control::default()).expect("nobody edits");
        let (Some((environment, _)), _) = known else { continue };
        let is_open = environment.is_open() && !Entry::new(*name).is_library();
        let mut expected = slice(&whole, *name, is_open);
        let (bounds, begins) = db.begins_within(*name).expect("nobody edits");
        module_invariants::assume(&mut expected, *name, &bounds, begins);
        let annotations = |name| sources.annotation(name);
        let how = Preparation {
            conventions,
            monitors: &Monitors::default(),
            annotations: &annotations,
            inserted: load::INSERTED,
            addressed: &|| models::addressed(&whole.program),
        };
        load::prepare(&mut expected, &how, Entry::new(*name).is_library());
        is_same(environment.program(), &expected, &format!("slice of {name}, {log}"));
    }
}

#[test]
fn parts_put_together_are_the_program_linked_afresh() {
    let programs = std::env::var("PROOFLINE_SESSIONS").ok().and_then(|text| text.parse().ok());
    let (mut slices, mut links) = (0, 0);
    for seed in 0..programs.unwrap_or(PROGRAMS) {
        let mut random = Random(seed);
        let mut sketches: Vec<Sketch> = (0..3).map(|_| Sketch::new(&mut random)).collect();
        let texts = |sketches: &[Sketch]| -> Vec<(PathBuf, String)> {
            let text = |(n, sketch): (usize, &Sketch)| (format!("/db/u{n}.c").into(), sketch.text(n));
            sketches.iter().enumerate().map(text).collect()
        };
        let all = texts(&sketches);
        let mut db = database(&all);
        compare(&db, &all, &format!("seed {seed}"));
        db.take_work();
        for edit in 0..EDITS {
            let at = random.below(3) as usize;
            sketches[at].edit(&mut random);
            let all = texts(&sketches);
            db.set_text(&all[at].0, &all[at].1);
            // Sometimes a unit goes, or comes back.
            let mut some = all.clone();
            if random.below(4) == 0 {
                some.remove(random.below(3) as usize);
            }
            db.set_files(some.iter().map(|(path, _)| path.clone()).collect());
            compare(&db, &some, &format!("seed {seed}, edit {edit}, {some:#?}"));
            let work = db.take_work();
            slices += work.iter().filter(|work| matches!(work, Work::Sliced(_))).count();
            links += work.iter().filter(|work| matches!(work, Work::Linked)).count();
        }
    }
    assert!(slices > 0 && links > 0, "{slices} slices and {links} links after edits");
}

#[test]
fn an_edit_of_a_body_resolves_no_name_again() {
    let unit = |number: usize, k: usize| {
        let text = format!(
            "static int n = {k}; static int get(void) {{ return n; }} int f{number}(void) {{ return get() + {k}; }}\n"
        );
        (PathBuf::from(format!("/db/u{number}.c")), text)
    };
    let mut db = database(&[unit(0, 1), unit(1, 2)]);
    compare(&db, &[unit(0, 1), unit(1, 2)], "before");
    db.take_work();
    let (path, text) = unit(0, 5);
    db.set_text(&path, &text);
    compare(&db, &[unit(0, 5), unit(1, 2)], "after");
    let work = db.take_work();
    assert!(!work.contains(&Work::Linked), "{work:?}");
    let sliced = |name: &str| work.contains(&Work::Sliced(Name::new(name)));
    assert!(sliced("f0") && !sliced("f1"), "{work:?}");
}
