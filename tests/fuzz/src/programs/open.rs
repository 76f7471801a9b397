//! Pieces of program whose values C leaves open, or code that is not here: variables without a value, volatile objects, wide
//! bit-fields, functions and objects of another file, the C library. A compiled run shows one of the behaviours that are allowed,
//! so what it does may not be said to be impossible.

use super::{
    generate::Writer,
    scope::{Entry, Kind},
    types::Int,
};
use crate::Random;

/// What a program leaves open. Where everything is open nothing can be proved, so most leave one thing open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    Everything,
    /// Variables and memory without a value.
    Values,
    /// Volatile objects and wide bit-fields.
    Objects,
    /// The C library.
    Library,
    /// Functions and objects of another file.
    Outside,
}

impl Theme {
    pub(crate) fn of(seed: u64) -> Theme {
        Random::new(seed ^ 0x0be4).one([
            Theme::Everything,
            Theme::Values,
            Theme::Values,
            Theme::Objects,
            Theme::Library,
            Theme::Outside,
        ])
    }
    fn has(self, other: Theme) -> bool {
        self == other || self == Theme::Everything
    }
}

/// Types every pattern of bits of which is a value.
const FREE: [Int; 8] =
    [Int::Schar, Int::Uchar, Int::Short, Int::Ushort, Int::Int, Int::Uint, Int::Long, Int::Ulong];

/// What open programs begin with: the other file's functions and objects.
const OUTSIDE: &str = "\
extern void outside_take(int *p);
extern void outside_poke(void);
extern int outside_value(void);
extern int outside_call(int (*f)(int, unsigned), int n);
extern void outside_back(void);
extern int *outside_give(void);
extern int *outside_pointer;
extern int outside_number;
extern int visible, *reach_pointer, (*reach_function)(int, unsigned);
int visible = 3;";

/// The other file. It keeps to what C allows it: it changes what it can name, what was handed to it, and what it can reach from there.
pub(crate) const OTHER_FILE: &str = "\
extern int visible, *reach_pointer, (*reach_function)(int, unsigned);
int *outside_pointer = &visible;
int outside_number = 5;
static int *kept, turn, nested;
void outside_take(int *p) { kept = p; }
void outside_poke(void)
{
    turn++;
    if (kept && turn % 2) *kept = turn;
    if (turn % 3 == 0) visible ^= turn;
    if (reach_pointer && turn % 4 == 1) *reach_pointer = turn;
    if (turn % 5 == 2) outside_number = visible & 15;
}
int outside_value(void) { return turn * 7 % 11 - 3; }
int outside_call(int (*f)(int, unsigned), int n)
{
    int result = 0;
    if (nested++ < 2) result = f(n, turn++);
    nested--;
    return result;
}
void outside_back(void) { if (reach_function) outside_call(reach_function, turn); }
int *outside_give(void) { return kept ? kept : &visible; }
";

impl Writer<'_> {
    /// The outside, before anything else.
    pub(crate) fn open_head(&mut self) {
        self.say(OUTSIDE);
        self.say(super::library::HEAD);
        self.bind("visible".into(), Kind::Scalar(Int::Int), true);
        if self.theme.has(Theme::Outside) {
            self.bind("outside_number".into(), Kind::Scalar(Int::Int), true);
            self.bind("outside_pointer".into(), Kind::Pointer { to: Int::Int, maybe_null: false }, false);
        }
    }

    /// What the outside can reach though the program never hands it over.
    pub(crate) fn open_objects(&mut self) {
        let ints: Vec<String> = self.named(|entry| entry.kind == Kind::Scalar(Int::Int) && entry.depth == 0);
        let target = self.random.pick(&ints).cloned();
        let target = target.map_or("0".to_owned(), |name| format!("&{name}"));
        self.say(format!("int *reach_pointer = {target};"));
        let handler = self.random.pick(&self.handlers).cloned().unwrap_or("0".into());
        self.say(format!("int (*reach_function)(int, unsigned) = {handler};"));
    }

    fn named(&self, is_meant: impl Fn(&Entry) -> bool) -> Vec<String> {
        self.scope.iter().filter(|entry| entry.writable && is_meant(entry)).map(|e| e.name.clone()).collect()
    }

    /// A global that outside code sees, or that may change by itself as far as C knows.
    pub(crate) fn open_global(&mut self) {
        let ty = self.random.one(FREE);
        let name = self.name("open");
        let initial = self.number(ty);
        let initial = ty.constant(initial);
        match self.random.below(4) {
            0 if self.theme.has(Theme::Objects) => {
                self.say(format!("static volatile {} {name} = {initial};", ty.name()));
                self.bind(name, Kind::Volatile(ty), true);
            }
            _ if !self.theme.has(Theme::Objects) => {
                self.say(format!("{} {name} = {initial};", ty.name()));
                self.bind(name, Kind::Scalar(ty), true);
            }
            _ => {
                let ints = self.named(|entry| entry.kind == Kind::Scalar(Int::Int) && entry.depth == 0);
                let Some(target) = self.random.pick(&ints).cloned() else { return };
                let linkage = self.random.one(["", "static "]);
                self.say(format!("{linkage}int *volatile {name} = &{target};"));
                self.bind(name, Kind::Pointer { to: Int::Int, maybe_null: false }, false);
            }
        }
    }

    /// A local without a value, or a volatile one.
    pub(crate) fn open_local(&mut self) {
        let ty = self.random.one(FREE);
        let name = self.name("any");
        let is_volatile = self.theme == Theme::Objects || self.random.percent(20);
        match self.random.below(4) {
            _ if is_volatile && self.theme.has(Theme::Objects) || !self.theme.has(Theme::Values) => {
                let value = self.value(ty);
                let volatile = if self.theme.has(Theme::Objects) { "volatile " } else { "" };
                self.say(format!("{volatile}{} {name} = {value};", ty.name()));
                self.bind(name, Kind::Volatile(ty), true);
            }
            0 | 1 => {
                self.say(format!("{} {name};", ty.name()));
                self.bind(name, Kind::Scalar(ty), true);
            }
            2 => {
                let length = 2 + self.random.below(3);
                self.say(format!("{} {name}[{length}];", ty.name()));
                self.bind(name, Kind::Array(ty, length), true);
            }
            3 if !self.records.is_empty() => {
                let record = self.random.below(self.records.len());
                self.say(format!("{} {name};", self.records[record].name));
                self.bind(name, Kind::Record(record), true);
            }
            _ => {
                self.say(format!("{} {name};", ty.name()));
                self.bind(name, Kind::Scalar(ty), true);
            }
        }
    }

    /// A statement, or a few.
    pub(crate) fn open_piece(&mut self) {
        self.say("{");
        self.depth += 1;
        let choices: &[usize] = match self.theme {
            Theme::Everything => &[0, 1, 2, 3, 4, 4, 5, 5],
            Theme::Values => &[0, 1, 3],
            Theme::Objects => &[2],
            Theme::Library => &[5],
            Theme::Outside => &[4],
        };
        match self.random.pick(choices) {
            Some(0) => self.without_value(),
            Some(1) => self.partly(),
            Some(2) => self.wide_bits(),
            Some(3) => self.memory(),
            Some(4) => self.outside_call(),
            _ => self.library(),
        }
        self.depth -= 1;
        self.say("}");
    }

    /// What has no value is the same at every read, and so are its copies.
    fn without_value(&mut self) {
        let ty = self.random.one(FREE);
        let (x, y, p) = (self.name("x"), self.name("y"), self.name("p"));
        let (condition, value) = (self.condition(1), self.value(ty));
        self.say(format!("{} {x}, {y}, *{p} = &{x};", ty.name()));
        self.say(format!("if ({condition})"));
        self.say(format!("    *{p} = {value};"));
        self.say(format!("{y} = {x};"));
        self.observe(format!("({x} == {y})"), Int::Int);
        self.observe(format!("({x} - *{p} == 0)"), Int::Int);
        self.observe(x, ty);
    }

    /// A union, or a record copied, of which a part was written.
    fn partly(&mut self) {
        let (x, y, g) = (self.name("x"), self.name("y"), self.name("w"));
        let width = 1 + self.random.below(9);
        self.say(format!(
            "union {{ struct {{ unsigned a : {width}, b : 5; signed c : 7; }} f; unsigned w[2]; unsigned char c[8]; }} {x}, {y};"
        ));
        let member = self.random.one(["f.a", "f.b", "f.c", "c[1]", "c[5]", "w[1]"]);
        let value = self.value(Int::Int);
        self.say(format!("{x}.{member} = {value};"));
        if self.random.percent(50) {
            self.say(format!("{y} = {x};"));
        } else {
            self.say(format!("memcpy(&{y}, &{x}, sizeof {y});"));
        }
        let word = self.random.below(2);
        self.say(format!("unsigned {g} = {y}.w[{word}];"));
        self.observe(format!("({y}.{member} == {x}.{member})"), Int::Int);
        self.observe(format!("({g} == {x}.w[{word}])"), Int::Int);
        self.observe(format!("({x}.{member} + 0l)"), Int::Long);
        self.observe(g, Int::Uint);
    }

    /// Bit-fields of every width: what they hold, not what they promote to, which compilers disagree about.
    fn wide_bits(&mut self) {
        let (one, two) = (1 + self.random.below(63), 1 + self.random.below(63));
        let (three, four) = (1 + self.random.below(31), 1 + self.random.below(31));
        let (record, x) = (self.name("struct B"), self.name("b"));
        self.say(format!(
            "{record} {{ unsigned long a : {one}; long b : {two}; int c : {three}; unsigned d : {four}; _Bool e : 1; }} {x};"
        ));
        self.say(format!("memset(&{x}, 0, sizeof {x});"));
        for _ in 0..2 + self.random.below(3) {
            let (member, op) =
                (self.random.one(["a", "b", "c", "d", "e"]), self.random.one(["=", "|=", "^="]));
            let value = self.value(Int::Long);
            self.say(format!("{x}.{member} {op} {value};"));
        }
        for (member, ty) in
            [("a", Int::Ulong), ("b", Int::Long), ("c", Int::Int), ("d", Int::Uint), ("e", Int::Int)]
        {
            self.observe(format!("(({}){x}.{member})", ty.name()), ty);
        }
    }

    /// Heap memory that nobody wrote, and that moves.
    fn memory(&mut self) {
        let ty = self.random.one(FREE);
        let (p, q) = (self.name("heap"), self.name("moved"));
        let value = self.value(ty);
        self.say(format!("{} *{p} = malloc(3 * sizeof *{p});", ty.name()));
        self.say(format!("if ({p}) {{"));
        self.say(format!("    {p}[1] = {value};"));
        self.observe(format!("({p}[0] == {p}[0])"), Int::Int);
        self.say(format!("    {} *{q} = realloc({p}, 5 * sizeof *{p});", ty.name()));
        self.say(format!("    if ({q}) {{"));
        self.observe(format!("{q}[1]"), ty);
        self.say(format!("        free({q});"));
        self.say("    }");
        self.say("}");
    }

    fn outside_call(&mut self) {
        // What the outside keeps has to live as long as the program.
        let depth = usize::from(self.result.is_none());
        self.cost += 40 * self.weight;
        match self.random.below(6) {
            0 | 1 => {
                if let Some(address) = self.address(Int::Int, depth) {
                    self.say(format!("outside_take({address});"));
                }
                self.say("outside_poke();");
            }
            2 => self.say("outside_poke();"),
            3 => self.receive("outside_value()"),
            4 if !self.handlers.is_empty() => {
                let handler = self.random.pick(&self.handlers).cloned().unwrap_or_default();
                let value = self.value(Int::Int);
                self.receive(&format!("outside_call({handler}, {value})"));
                self.say("outside_back();");
            }
            _ => {
                let value = self.value(Int::Int);
                self.say(format!("*outside_give() = {value};"));
            }
        }
        self.observe("visible".into(), Int::Int);
        self.observe("*outside_pointer".into(), Int::Int);
        let ints = self.named(|entry| entry.kind == Kind::Scalar(Int::Int));
        if let Some(name) = self.random.pick(&ints).cloned() {
            self.observe(name, Int::Int);
        }
    }
}
