//! What the tests of the query graph share: sessions over texts, and programs that change at random.

use std::path::{Path, PathBuf};

use proofline_db::{Database, Work};
use proofline_verifier::{
    Name,
    load::Options,
    portfolio::{self, Control, Request, Round},
    property::Property,
    report::Report,
    verdict::Verdict,
};

/// A question that is answered fast.
pub(crate) fn question() -> Request {
    let engines = ["concrete", "intervals"].map(str::to_owned).to_vec();
    Request {
        property: Property::Everything,
        engines,
        steps: 4_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

/// A database with these texts; those that end in `.c` are the program's.
pub(crate) fn database(texts: &[(PathBuf, String)]) -> Database {
    let mut db = Database::new(units(texts), Options::default());
    for (path, text) in texts {
        db.set_text(path, text);
    }
    db
}

/// The C files among texts.
pub(crate) fn units(texts: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let is_unit = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "c");
    texts.iter().map(|(path, _)| path).filter(is_unit).cloned().collect()
}

/// Asks without a way to stop it.
pub(crate) fn check(db: &Database, question: &Request) -> Report {
    portfolio::check(db, question, &[], &Control::default()).expect("nobody stops it")
}

/// The entries that engines worked on since the last call, sorted.
pub(crate) fn verified(db: &Database) -> Vec<Name> {
    let verified = |work: Work| if let Work::Verified(name) = work { Some(name) } else { None };
    let mut names: Vec<Name> = db.take_work().into_iter().filter_map(verified).collect();
    names.sort();
    names
}

/// What a user sees of a report, as lines.
pub(crate) fn told(report: &Report) -> Vec<String> {
    let mut out: Vec<String> = vec![format!("{:?} {:?}", report.entries, report.rests_on)];
    for ((function, id), verdict) in &report.verdicts {
        out.push(match verdict {
            Verdict::Proved(engine) => format!("{function} {id:?} proved by {engine}"),
            Verdict::Unknown(why) => format!("{function} {id:?} {why}"),
            Verdict::Violated(at) => {
                let finding = &report.findings[*at];
                let place = |p: &proofline_verifier::sources::Position| {
                    format!("{}:{}:{}", Path::new(&*p.path).display(), p.line, p.column)
                };
                let steps: Vec<String> = finding
                    .steps
                    .iter()
                    .map(|step| format!("{:?} {}", step.position.as_ref().map(place), step.text))
                    .collect();
                let position = finding.position.as_ref().map(place);
                format!("{function} {id:?} {} at {position:?} {:?} {steps:?}", finding.title, finding.values)
            }
        });
    }
    out
}

/// A small deterministic generator (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }
}

/// A program of two units and a header, in parts that change one at a time.
#[derive(Clone)]
pub(crate) struct Sketch {
    functions: Vec<Body>,
    limit: u64,
    has_main: bool,
    comments: u64,
}

#[derive(Clone)]
struct Body {
    kind: u64,
    constant: u64,
    callee: Option<usize>,
    is_static: bool,
    blank: u64,
}

impl Sketch {
    /// Some program.
    pub(crate) fn new(random: &mut Random) -> Sketch {
        let count = 3 + random.below(4) as usize;
        let functions = (0..count).map(|i| Sketch::body(random, i)).collect();
        Sketch { functions, limit: 1 + random.below(6), has_main: random.below(3) == 0, comments: 0 }
    }

    fn body(random: &mut Random, index: usize) -> Body {
        let callee = (index > 0 && random.below(3) > 0).then(|| random.below(index as u64) as usize);
        Body {
            kind: random.below(7),
            constant: random.below(5),
            callee,
            is_static: random.below(3) == 0,
            blank: 0,
        }
    }

    /// Changes one thing.
    pub(crate) fn edit(&mut self, random: &mut Random) {
        let at = random.below(self.functions.len() as u64) as usize;
        match random.below(9) {
            0 => self.comments += 1,
            1 => self.functions[at].blank += 1,
            2 => self.limit = 1 + random.below(6),
            3 => self.has_main = !self.has_main,
            4 => self.functions[at].is_static = !self.functions[at].is_static,
            5 => self.functions[at] = Sketch::body(random, at),
            6 => {
                let index = self.functions.len();
                self.functions.push(Sketch::body(random, index));
            }
            7 if self.functions.len() > 2 => {
                self.functions.pop();
            }
            _ => self.functions[at].constant = random.below(5),
        }
    }

    /// Its files. Even functions are in the one unit, odd ones in the other.
    pub(crate) fn texts(&self) -> Vec<(PathBuf, String)> {
        let mut header = format!("#define LIMIT {}\nstruct pair {{ int a; int b; }};\n", self.limit);
        let mut units = ["#include \"s.h\"\n".to_owned(), "#include \"s.h\"\n".to_owned()];
        for _ in 0..self.comments {
            header.push_str("/* more to say */\n");
            units[0].insert_str(0, "// a line\n");
        }
        for (i, body) in self.functions.iter().enumerate() {
            // A static function is called within its unit only.
            let callee = body.callee.filter(|c| !self.functions[*c].is_static || c % 2 == i % 2);
            let call = callee.map_or_else(|| "x".to_owned(), |c| format!("f{c}(x)"));
            let k = body.constant;
            let text = match body.kind {
                0 => format!("if (x > LIMIT) return {k}; return {call} / (x - {k});"),
                1 => {
                    format!("int a[LIMIT + 1]; a[0] = x; if (x >= 0 && x < {k}) return a[x]; return {call};")
                }
                2 => format!("counter{0} = counter{0} % 10 + {k}; return {call} % 100 + counter{0};", i % 2),
                3 => format!(
                    "struct pair p = {{ {k}, LIMIT }}; int *q = &p.b; if (x == {k}) q = 0; return *q;"
                ),
                4 => format!(
                    "int s = 0; for (int i = 0; i < LIMIT; i++) s += {k}; __assert(s <= 30); return s;"
                ),
                5 => format!("hook{} = {}; return {call};", i % 2, if k == 0 { "0" } else { "&shared" }),
                _ => format!("if (hook{0}) return *hook{0} + {k}; return {call};", i % 2),
            };
            let text = text.replace("__assert(s <= 30)", "if (s > 30) reach_error()");
            let linkage = if body.is_static { "static " } else { "" };
            let blank = "\n ".repeat(body.blank as usize);
            header.push_str(&if body.is_static { String::new() } else { format!("int f{i}(int x);\n") });
            units[i % 2].push_str(&format!("{linkage}int f{i}(int x) {{{blank} {text} }}\n"));
        }
        if self.has_main {
            let last = self.functions.len() - 1;
            if !self.functions[last].is_static {
                units[0].push_str(&format!(
                    "extern int input(void);\nint main(void) {{ return f{last}(input()); }}\n"
                ));
            }
        }
        header.push_str("void reach_error(void);\nextern int shared;\n");
        for (i, unit) in units.iter_mut().enumerate() {
            let globals = format!("static int counter{i}; static int *hook{i};\n");
            *unit = unit.replacen("\"s.h\"\n", &format!("\"s.h\"\n{globals}"), 1);
        }
        units[1].push_str("int shared = 3;\n");
        let [a, b] = units;
        vec![("/db/a.c".into(), a), ("/db/b.c".into(), b), ("/db/s.h".into(), header)]
    }
}
