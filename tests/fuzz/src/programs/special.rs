//! Short pieces of program about memory and floats, each in a block of its own: the heap, unions, raw copies, pointers to pointers,
//! floating arithmetic, locals that get their value late.

use super::{generate::Writer, types::Int};

/// Every integer type but `_Bool`, whose bytes are not free.
const PLAIN: [Int; 8] =
    [Int::Schar, Int::Uchar, Int::Short, Int::Ushort, Int::Int, Int::Uint, Int::Long, Int::Ulong];

impl Writer<'_> {
    /// One of them.
    pub(crate) fn special(&mut self) {
        self.say("{");
        self.depth += 1;
        match self.random.below(9) {
            7 => self.strings(),
            8 => self.bits(),
            0 => self.floats(),
            1 => self.heap_array(),
            2 => self.heap_list(),
            3 => self.union_bytes(),
            4 => self.raw_copy(),
            5 => self.pointers(),
            _ => self.late(),
        }
        self.depth -= 1;
        self.say("}");
    }

    /// An expression converted to a type.
    pub(crate) fn value(&mut self, ty: Int) -> String {
        self.expression(2).to(ty)
    }

    fn floats(&mut self) {
        let (d, f, e) = (self.name("d"), self.name("f"), self.name("e"));
        let (a, b) = (self.expression(2).text, self.expression(1).text);
        let constant = self.random.one(["0.5", "0.1", "3.0", "-2.25", "1e10", "1.0 / 3.0"]);
        let op = |writer: &mut Self| writer.random.one(["+", "-", "*", "/"]);
        let (one, two, three) = (op(self), op(self), op(self));
        self.say(format!("double {d} = (double)({a}) {one} {constant};"));
        self.say(format!("float {f} = (float){d} {two} (float)({b});"));
        self.say(format!("double {e} = {d} {three} {f};"));
        let compare = self.random.one(["<", "<=", ">", ">=", "==", "!="]);
        self.observe(format!("({d} {compare} {f})"), Int::Int);
        self.observe(format!("({e} == {e})"), Int::Int);
        self.observe(format!("(-1e9 < {e} && {e} < 1e9 ? (int){e} : 7)"), Int::Int);
        self.observe(format!("(0 <= {f} && {f} < 256 ? (unsigned char){f} : (unsigned char)3)"), Int::Int);
        if let Some(place) = self.place(true) {
            self.say(format!("if (-100 < {d} && {d} < 100)"));
            let name = place.ty.name();
            self.say(format!("    {} = ({name})(int){d};", place.text));
        }
    }

    /// Library functions on strings whose characters are computed.
    fn strings(&mut self) {
        let (s, t, p) = (self.name("s"), self.name("t"), self.name("p"));
        let texts = ["", "a", "ab", "ba", "aab", "-17", " 42b", "abab", "b a", "7-a"];
        let (one, two) = (self.random.one(texts), self.random.one(texts));
        self.say(format!("char {s}[12] = \"{one}\", {t}[12] = \"{two}\";"));
        for _ in 0..self.random.below(3) {
            let (array, index) = (self.random.one([&s, &t]).clone(), self.index(4));
            let character = self.expression(2).text;
            self.say(format!("{array}[{index}] = \"ab -17\"[(unsigned)({character}) % 7u];"));
        }
        if self.random.percent(40) {
            self.say(format!("strcpy({s} + strlen({s}), {t});"));
        }
        let sign = |call: String| format!("(({call} > 0) - ({call} < 0))");
        for _ in 0..1 + self.random.below(4) {
            let n = self.random.below(6);
            let c = self.random.one(["'a'", "'b'", "' '", "0", "'7'", "353"]);
            let offset = |call: String| format!("({call} ? (int)({call} - {s}) : -1)");
            let what = match self.random.below(12) {
                0 => format!("(int)strlen({s})"),
                1 => sign(format!("strcmp({s}, {t})")),
                2 => sign(format!("strncmp({s}, {t}, {n})")),
                3 => sign(format!("memcmp({s}, {t}, {n})")),
                4 => offset(format!("strchr({s}, {c})")),
                5 => offset(format!("strrchr({s}, {c})")),
                6 => offset(format!("(char *)memchr({s}, {c}, {n})")),
                7 => offset(format!("strstr({s}, {t})")),
                8 => format!("(int)strspn({s}, {t})"),
                9 => format!("(int)strcspn({s}, {t})"),
                10 => offset(format!("strpbrk({s}, {t})")),
                _ => format!("atoi({s})"),
            };
            self.observe(what, Int::Int);
        }
        self.say(format!("char *{p} = strchr({s}, 0);"));
        self.observe(format!("(int)({p} - {s})"), Int::Int);
    }

    /// Bits of a number, which is not 0 where that would be undefined.
    fn bits(&mut self) {
        let (ty, suffix) = self.random.one([(Int::Uint, ""), (Int::Ulong, "l")]);
        let x = self.name("x");
        let value = self.value(ty);
        self.say(format!("{} {x} = {value};", ty.name()));
        let what = match self.random.below(5) {
            0 => format!("__builtin_popcount{suffix}({x})"),
            1 => format!("__builtin_parity{suffix}({x})"),
            2 => format!("__builtin_clz{suffix}({x} | 1)"),
            3 => format!("__builtin_ctz{suffix}({x} | 64)"),
            _ => format!("__builtin_ffs{suffix}({x})"),
        };
        self.observe(what, Int::Int);
    }

    fn heap_array(&mut self) {
        let ty = self.random.one(PLAIN);
        let (name, other, i) = (self.name("heap"), self.name("at"), self.name("i"));
        let count = 1 + self.random.below(4);
        let call = if self.random.percent(40) {
            format!("calloc({count}, sizeof *{name})")
        } else {
            format!("malloc({count} * sizeof *{name})")
        };
        self.say(format!("{} *{name} = {call};", ty.name()));
        self.say(format!("if ({name}) {{"));
        let value = self.value(ty);
        self.say(format!("    for (unsigned {i} = 0; {i} < {count}u; {i}++)"));
        self.say(format!("        {name}[{i}] = ({})({value} + {i});", ty.name()));
        let (index, value) = (self.index(count), self.value(ty));
        self.say(format!("    {} *{other} = {name} + ({index});", ty.name()));
        self.say(format!("    *{other} = {value};"));
        self.cost += 12 * self.weight;
        self.observe(format!("{name}[0]"), ty);
        self.observe(format!("*{other}"), ty);
        if self.random.percent(70) {
            self.say(format!("    free({name});"));
        }
        self.say("}");
    }

    fn heap_list(&mut self) {
        let ty = self.random.one(PLAIN);
        let (node, head, sum) = (self.name("struct node"), self.name("head"), self.name("sum"));
        let (fresh, i, it) = (self.name("fresh"), self.name("i"), self.name("it"));
        self.say(format!("{node} {{ {} value; {node} *next; }} *{head} = 0;", ty.name()));
        let count = 1 + self.random.below(3);
        let value = self.value(ty);
        self.say(format!("for (unsigned {i} = 0; {i} < {count}u; {i}++) {{"));
        self.say(format!("    {node} *{fresh} = malloc(sizeof *{fresh});"));
        self.say(format!("    if (!{fresh}) break;"));
        self.say(format!("    {fresh}->value = ({})({value} ^ {i});", ty.name()));
        self.say(format!("    {fresh}->next = {head};"));
        self.say(format!("    {head} = {fresh};"));
        self.say("}");
        self.say(format!("unsigned long {sum} = 0;"));
        self.say(format!("for ({node} *{it} = {head}; {it}; {it} = {it}->next)"));
        self.say(format!("    {sum} = 3 * {sum} + (unsigned long){it}->value;"));
        self.cost += 25 * self.weight;
        self.observe(sum, Int::Ulong);
    }

    fn union_bytes(&mut self) {
        let name = self.name("u");
        let (a, b) = (self.random.one(PLAIN), self.random.one(PLAIN));
        let real = self.random.one(["float", "double"]);
        self.say(format!(
            "union {{ {} a; {} b; unsigned char c[8]; {real} r; struct {{ unsigned lo : 11; int hi : 9; }} bits; }} {name};",
            a.name(),
            b.name()
        ));
        self.say(format!("memset(&{name}, 0, sizeof {name});"));
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(5) {
                0 => {
                    let value = self.value(a);
                    self.say(format!("{name}.a = {value};"));
                }
                1 => {
                    let value = self.value(b);
                    self.say(format!("{name}.b = {value};"));
                }
                2 => {
                    let (index, value) = (self.index(8), self.value(Int::Uchar));
                    self.say(format!("{name}.c[{index}] = {value};"));
                }
                3 => {
                    let value = self.value(Int::Int);
                    self.say(format!("{name}.r = ({real})({value}) / 4;"));
                }
                _ => {
                    let value = self.value(Int::Int);
                    self.say(format!("{name}.bits.hi = ({value}) % 200;"));
                }
            }
        }
        let copy = self.name("copy");
        self.say(format!("__typeof__({name}) {copy} = {name};"));
        let index = self.random.below(8);
        match self.random.below(5) {
            0 => self.observe(format!("{copy}.a"), a),
            1 => self.observe(format!("{copy}.b"), b),
            2 => self.observe(format!("{copy}.c[{index}]"), Int::Uchar),
            3 => self.observe(format!("({copy}.r < 1)"), Int::Int),
            _ => self.observe(format!("{copy}.bits.hi"), Int::Int),
        }
    }

    fn raw_copy(&mut self) {
        let ty = self.random.one(PLAIN);
        let (x, y, raw) = (self.name("x"), self.name("y"), self.name("raw"));
        let value = self.value(ty);
        self.say(format!("{} {x} = {value}, {y} = 1;", ty.name()));
        self.say(format!("unsigned char {raw}[sizeof {x}];"));
        self.say(format!("memcpy({raw}, &{x}, sizeof {x});"));
        let (index, value) = (self.random.below(ty.bytes()), self.value(Int::Uchar));
        if self.random.percent(60) {
            self.say(format!("{raw}[{index}] = {value};"));
        }
        let size = if self.random.percent(70) { format!("sizeof {y}") } else { "1".to_owned() };
        self.say(format!("memcpy(&{y}, {raw}, {size});"));
        self.observe(y, ty);
        // With a pointer inside.
        let (a, b) = (self.name("a"), self.name("b"));
        self.say(format!("struct {{ {} *at; int n; }} {a} = {{ &{x}, {index} }}, {b};", ty.name()));
        self.say(format!("memcpy(&{b}, &{a}, sizeof {b});"));
        let value = self.value(ty);
        self.say(format!("*{b}.at = {value};"));
        self.observe(x, ty);
        self.observe(format!("{b}.n"), Int::Int);
    }

    fn pointers(&mut self) {
        let ty = self.random.one(PLAIN);
        let (x, y, p, q) = (self.name("x"), self.name("y"), self.name("p"), self.name("pp"));
        let (one, two, three) = (self.value(ty), self.value(ty), self.value(ty));
        let condition = self.condition(1);
        self.say(format!("{ty} {x} = {one}, {y} = {two}, *{p} = &{x}, **{q} = &{p};", ty = ty.name()));
        self.say(format!("if ({condition})"));
        self.say(format!("    *{q} = &{y};"));
        self.say(format!("**{q} = {three};"));
        self.observe(x, ty);
        self.observe(y.clone(), ty);
        self.observe(format!("({p} == &{y})"), Int::Int);
    }

    fn late(&mut self) {
        let ty = self.random.one(PLAIN);
        let name = self.name("late");
        let (condition, one, two) = (self.condition(2), self.value(ty), self.value(ty));
        self.say(format!("{} {name};", ty.name()));
        self.say(format!("if ({condition})"));
        self.say(format!("    {name} = {one};"));
        self.say("else");
        self.say(format!("    {name} = {two};"));
        self.observe(name, ty);
    }
}
