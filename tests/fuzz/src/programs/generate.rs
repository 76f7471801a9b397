//! From a seed to a program: record types, globals, functions, `main`, inputs.

use super::{
    function::Signature,
    heap::heap,
    open::Theme,
    program::{Line, Manner, Program, Vector},
    scope::{Entry, Field, Kind, Record},
    types::Int,
};
use crate::Random;

/// Inputs on which a program is run.
const VECTORS: usize = 6;

/// Writes a program.
pub(crate) struct Writer<'r> {
    pub(crate) random: &'r mut Random,
    pub(crate) narrowing: &'r mut Random,
    /// Inputs on which it will be run.
    pub(crate) vectors: Vec<Vector>,
    pub(crate) manner: Manner,
    /// What it leaves open, if it does.
    pub(crate) theme: Theme,
    pub(crate) records: Vec<Record>,
    pub(crate) functions: Vec<Signature>,
    /// Functions of type `int (int, unsigned)`.
    pub(crate) handlers: Vec<String>,
    /// What can be named here.
    pub(crate) scope: Vec<Entry>,
    /// Loop counters in scope with the bound they stay below.
    pub(crate) counters: Vec<(String, usize)>,
    pub(crate) depth: usize,
    /// How often the statement being written is executed for each execution of its function, at most.
    pub(crate) weight: usize,
    /// Statements executed by the function being written, at most.
    pub(crate) cost: usize,
    /// The type of the function being written.
    pub(crate) result: Option<Int>,
    pub(crate) loops: usize,
    pub(crate) lines: Vec<Line>,
    names: usize,
    places: usize,
}

/// A program. The same seed and manner give the same program.
pub fn generate(seed: u64, manner: Manner) -> Program {
    if manner.is_heap {
        return heap(seed, manner);
    }
    let mut random = Random::new(seed);
    let vectors = (0..VECTORS).map(|_| vector(&mut random)).collect();
    // Of its own, so that it does not change what else is written.
    let mut narrowing = Random::new(seed ^ 0x5a5a);
    let mut writer = Writer {
        random: &mut random,
        narrowing: &mut narrowing,
        vectors,
        manner,
        theme: Theme::of(seed),
        records: Vec::new(),
        functions: Vec::new(),
        handlers: Vec::new(),
        scope: Vec::new(),
        counters: Vec::new(),
        depth: 0,
        weight: 1,
        cost: 0,
        result: None,
        loops: 0,
        lines: Vec::new(),
        names: 0,
        places: 0,
    };
    writer.program();
    Program { lines: writer.lines, vectors: writer.vectors, manner }
}

/// Random inputs.
pub(crate) fn vector(random: &mut Random) -> Vector {
    (0..12)
        .map(|_| {
            if random.percent(60) {
                random.below(24) as i64 - 6
            } else {
                random.one([
                    100,
                    127,
                    128,
                    -128,
                    255,
                    256,
                    32767,
                    -32768,
                    65535,
                    1000,
                    i64::from(i32::MAX),
                    i64::from(i32::MIN),
                    i64::from(u32::MAX),
                    i64::MAX,
                    i64::MIN,
                ])
            }
        })
        .collect()
}

impl Writer<'_> {
    /// A fresh name.
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        let indent = "    ".repeat(self.depth);
        self.lines.push(Line::Text(format!("{indent}{}", text.as_ref())));
    }

    /// Lets a value be looked at here.
    pub(crate) fn observe(&mut self, expression: String, ty: Int) {
        self.cost += self.weight;
        self.places += 1;
        self.lines.push(Line::Observe { id: self.places - 1, expression, ty });
    }

    fn program(&mut self) {
        if self.manner.is_open {
            self.open_head();
        }
        for _ in 0..self.random.below(3) {
            self.record();
        }
        for _ in 0..2 + self.random.below(4) {
            self.global();
        }
        for _ in 0..1 + self.random.below(3) {
            self.handler();
        }
        self.handler_objects();
        if self.manner.is_open {
            self.open_objects();
        }
        for _ in 0..1 + self.random.below(3) {
            self.function();
        }
        self.main();
    }

    fn record(&mut self) {
        let is_union = self.random.percent(35);
        let name = self.name(if is_union { "union U" } else { "struct S" });
        let mut fields = Vec::new();
        for i in 0..2 + self.random.below(3) {
            let ty = loop {
                let ty = self.random.one(Int::ALL);
                if ty != Int::Bool {
                    break ty;
                }
            };
            let length = self.random.percent(25).then(|| 2 + self.random.below(3));
            let is_bits = !is_union && length.is_none() && self.random.percent(20);
            let (ty, width) = if is_bits {
                (self.random.one([Int::Int, Int::Uint]), Some(1 + self.random.below(15) as u32))
            } else {
                (ty, None)
            };
            fields.push(Field { name: format!("m{i}"), ty, length, width });
        }
        let text: Vec<String> = fields
            .iter()
            .map(|field| {
                let length = field.length.map(|n| format!("[{n}]")).unwrap_or_default();
                let width = field.width.map(|n| format!(" : {n}")).unwrap_or_default();
                format!("{} {}{length}{width};", field.ty.name(), field.name)
            })
            .collect();
        self.say(format!("{name} {{ {} }};", text.join(" ")));
        self.records.push(Record { name, is_union, fields });
    }

    fn global(&mut self) {
        if self.manner.is_open && self.random.percent(35) {
            return self.open_global();
        }
        match self.random.below(8) {
            0..=2 => {
                let ty = self.random.one(Int::ALL);
                let name = self.name("g");
                let initial = self.number(ty);
                let initial = if self.random.percent(70) {
                    format!(" = {}", ty.constant(initial))
                } else {
                    String::new()
                };
                self.say(format!("static {} {name}{initial};", ty.name()));
                self.bind(name, Kind::Scalar(ty), true);
            }
            3 | 4 => {
                let (declaration, kind, name) = self.array("g");
                self.say(format!("static {declaration};"));
                self.bind(name, kind, true);
            }
            5 => {
                let name = self.name("text");
                let text = self.random.one(["abcdef", "hello", "x\\n\\0y", "Proof"]);
                let length = text.replace('\\', "").len() + 1;
                self.say(format!("static const char {name}[] = \"{text}\";"));
                self.bind(name, Kind::Array(Int::Schar, length), false);
            }
            6 if !self.records.is_empty() => {
                let record = self.random.below(self.records.len());
                let name = self.name("g");
                let first = self.number(Int::Schar);
                let initial =
                    if self.random.percent(50) { format!(" = {{ {first} }}") } else { String::new() };
                let first = self.records[record].fields.first().and_then(|field| field.length);
                // A first member that is an array has its own braces.
                let initial = if first.is_some() {
                    initial.replace("{ ", "{ { ").replace(" }", " } }")
                } else {
                    initial
                };
                self.say(format!("static {} {name}{initial};", self.records[record].name));
                self.bind(name, Kind::Record(record), true);
            }
            _ => {
                let targets: Vec<Entry> =
                    self.scope.iter().filter(|e| matches!(e.kind, Kind::Scalar(_))).cloned().collect();
                let Some(target) = self.random.pick(&targets).cloned() else { return };
                let Kind::Scalar(to) = target.kind else { return };
                let name = self.name("gp");
                self.say(format!("static {} *{name} = &{};", to.name(), target.name));
                self.bind(name, Kind::Pointer { to, maybe_null: false }, true);
            }
        }
    }

    /// The declaration of an array.
    pub(crate) fn array(&mut self, prefix: &str) -> (String, Kind, String) {
        let ty = self.random.one(Int::ALL);
        let length = 2 + self.random.below(5);
        let name = self.name(prefix);
        let count = 1 + self.random.below(length);
        let values: Vec<String> = (0..count)
            .map(|_| {
                let value = self.number(ty);
                ty.constant(value)
            })
            .collect();
        let declaration = format!("{} {name}[{length}] = {{ {} }}", ty.name(), values.join(", "));
        (declaration, Kind::Array(ty, length), name)
    }

    pub(crate) fn bind(&mut self, name: String, kind: Kind, writable: bool) {
        self.scope.push(Entry { name, kind, writable, depth: self.depth });
    }
}
