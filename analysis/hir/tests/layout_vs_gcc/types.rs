//! Random C types and the facts that are asked about them.

use proofline_syntax::DataModel;

use crate::random::Random;

/// A generated C text: declarations, integer constant expressions, and objects with initialisers.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) declarations: String,
    /// Expressions of integer type.
    pub(crate) facts: Vec<String>,
    /// Type, initialiser.
    pub(crate) objects: Vec<(String, String)>,
}

/// A type that members can have.
#[derive(Clone)]
struct Usable {
    name: String,
    /// Numbers it takes to fill it in a list without braces; `None`: it is not put into lists.
    leaves: Option<u64>,
    /// Widest bit-field of this type.
    widest: Option<u64>,
    /// Not in arrays: its size may be no multiple of its alignment.
    no_array: bool,
    /// An upper bound of its size with padding.
    bytes: u64,
}

pub(crate) struct Types<'r> {
    pub(crate) random: &'r mut Random,
    program: Program,
    usable: Vec<Usable>,
    model: DataModel,
    next: u32,
    /// Upper bound of the size of the record being made.
    bytes: u64,
}

/// Objects are made of types no larger than this.
pub(crate) const LARGEST: u64 = 4096;

const INTEGERS: [(&str, u64); 14] = [
    ("char", 8),
    ("signed char", 8),
    ("unsigned char", 8),
    ("short", 16),
    ("unsigned short", 16),
    ("int", 32),
    ("unsigned", 32),
    ("int", 32),
    ("unsigned int", 32),
    ("long", 0),
    ("unsigned long", 0),
    ("long long", 64),
    ("unsigned long long", 64),
    ("_Bool", 1),
];

const OTHERS: [&str; 14] = [
    "float",
    "double",
    "long double",
    "_Complex float",
    "double _Complex",
    "_Complex long double",
    "void *",
    "int (*)(int)",
    "__float128",
    "__builtin_va_list",
    "_Atomic int",
    "_Atomic long long",
    "v4si",
    "v2si",
];

impl<'r> Types<'r> {
    pub(crate) fn new(random: &'r mut Random, model: DataModel) -> Types<'r> {
        let mut usable = Vec::new();
        for (name, bits) in INTEGERS {
            let bits = match (bits, model) {
                (0, DataModel::Lp64) => 64,
                (0, DataModel::Ilp32) => 32,
                (bits, _) => bits,
            };
            usable.push(Usable {
                name: name.to_owned(),
                leaves: Some(1),
                widest: Some(bits),
                no_array: false,
                bytes: 16,
            });
        }
        for name in OTHERS {
            // On i386 a record around an atomic `long long` is aligned to 8 or 4 depending on whether any type inside
            // has an alignment of its own, however small, which our records do not remember.
            if name == "_Atomic long long" && model == DataModel::Ilp32 {
                continue;
            }
            usable.push(Usable {
                name: name.to_owned(),
                leaves: None,
                widest: None,
                no_array: false,
                bytes: 64,
            });
        }
        if model == DataModel::Lp64 {
            let name = "__int128".to_owned();
            usable.push(Usable { name, leaves: None, widest: Some(128), no_array: false, bytes: 32 });
        }
        let mut program = Program::default();
        program.declarations.push_str(
            "typedef int v4si __attribute__((vector_size(16)));\ntypedef int v2si __attribute__((vector_size(8)));\n",
        );
        Types { random, program, usable, model, next: 0, bytes: 0 }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// Adds a type, with its facts.
    pub(crate) fn add(&mut self) {
        match self.random.below(10) {
            0 => self.enumeration(),
            1 => self.aligned_typedef(),
            _ => self.record(),
        }
    }

    pub(crate) fn finish(self) -> Program {
        self.program
    }

    fn ask_size(&mut self, name: &str) {
        self.program.facts.push(format!("sizeof({name})"));
        self.program.facts.push(format!("_Alignof({name})"));
        self.program.facts.push(format!("__alignof__({name})"));
    }

    fn enumeration(&mut self) {
        let tag = self.fresh("e");
        let mut constants = Vec::new();
        let mut text = String::new();
        let wide = self.random.once_in(3);
        for _ in 0..1 + self.random.below(6) {
            let name = self.fresh("c");
            let value = match self.random.below(6) {
                0 => Some(format!("-{}", self.random.below(200))),
                1 => Some(format!("{}", self.random.below(70_000))),
                2 if wide => Some(format!("0x{:x}", self.random.bits() >> (1 + self.random.below(40)))),
                3 if wide => Some(format!("-0x{:x}LL", self.random.bits() >> (2 + self.random.below(40)))),
                4 => constants.last().map(|last| format!("{last} + 3")),
                _ => None,
            };
            text.push_str(&name);
            if let Some(value) = value {
                text.push_str(&format!(" = {value}"));
            }
            text.push_str(", ");
            constants.push(name);
        }
        let packed = if self.random.once_in(4) { "__attribute__((packed))" } else { "" };
        self.program.declarations.push_str(&format!("enum {packed} {tag} {{ {text} }};\n"));
        let name = format!("enum {tag}");
        self.ask_size(&name);
        self.program.facts.push(format!("({name})-1 < 0"));
        for constant in &constants {
            self.program.facts.push(constant.clone());
            self.program.facts.push(format!("sizeof({constant})"));
        }
        let widest = (!wide && packed.is_empty()).then_some(32);
        self.usable.push(Usable { name, leaves: None, widest, no_array: false, bytes: 16 });
    }

    fn aligned_typedef(&mut self) {
        let name = self.fresh("t");
        let of = self.random.below(self.usable.len() as u64) as usize;
        let of = self.usable[of].clone();
        if of.no_array || of.name.contains("(*)") || of.name.contains("va_list") {
            return self.record();
        }
        let align = 1u64 << self.random.below(6);
        self.program
            .declarations
            .push_str(&format!("typedef {} {name} __attribute__((aligned({align})));\n", of.name));
        self.program.facts.push(format!("sizeof({name})"));
        self.usable.push(Usable {
            name,
            leaves: of.leaves,
            widest: None,
            no_array: true,
            bytes: of.bytes + align,
        });
    }

    fn record(&mut self) {
        let tag = self.fresh("s");
        let keyword = if self.random.once_in(4) { "union" } else { "struct" };
        let pack = self.random.once_in(6).then(|| 1u64 << self.random.below(5));
        let mut fields = Vec::new();
        let mut bits = Vec::new();
        let mut leaves = Some(0);
        self.bytes = 128;
        let body = self.members(keyword, 0, &mut fields, &mut bits, &mut leaves);
        let bytes = self.bytes;
        let mut before = String::new();
        let mut after = String::new();
        if self.random.once_in(6) {
            before.push_str("__attribute__((packed)) ");
        }
        if self.random.once_in(6) {
            after = format!(" __attribute__((aligned({})))", 1u64 << self.random.below(7));
        }
        let is_flexible = keyword == "struct" && !fields.is_empty() && self.random.once_in(12);
        let tail = if is_flexible { "int flexible[];" } else { "" };
        if let Some(pack) = pack {
            self.program.declarations.push_str(&format!("\n#pragma pack(push, {pack})\n"));
        }
        self.program.declarations.push_str(&format!("{keyword} {before}{tag} {{ {body}{tail} }}{after};\n"));
        if pack.is_some() {
            self.program.declarations.push_str("\n#pragma pack(pop)\n");
        }
        let name = format!("{keyword} {tag}");
        self.ask_size(&name);
        if is_flexible {
            fields.push("flexible".to_owned());
        }
        for field in fields {
            self.program.facts.push(format!("__builtin_offsetof({name}, {field})"));
        }
        if bytes > LARGEST {
            // Such a one is asked for facts only.
            return;
        }
        for field in bits {
            self.program.objects.push((name.clone(), format!("{{ .{field} = -1 }}")));
        }
        if let Some(leaves) = leaves.filter(|&n| n > 0 && !is_flexible) {
            let count = 1 + self.random.below(leaves.min(40));
            let list: Vec<String> = (0..count).map(|_| self.number()).collect();
            self.program.objects.push((name.clone(), format!("{{ {} }}", list.join(", "))));
        }
        if !is_flexible {
            self.usable.push(Usable { name, leaves, widest: None, no_array: false, bytes });
        }
    }

    fn number(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("-{}", self.random.below(1000)),
            1 => format!("0x{:x}", self.random.bits()),
            2 => format!("'\\x{:x}'", self.random.below(256)),
            _ => format!("{}", self.random.below(300)),
        }
    }

    /// Members of a record. `fields` gets the names that have an offset, `bits` those of bit-fields, `leaves` the numbers
    /// that fill it.
    fn members(
        &mut self,
        keyword: &str,
        depth: u32,
        fields: &mut Vec<String>,
        bits: &mut Vec<String>,
        leaves: &mut Option<u64>,
    ) -> String {
        let mut text = String::new();
        let mut first = true;
        for _ in 0..self.random.below(8) {
            let mut own = Some(0);
            let choice = self.random.below(10);
            let is_bits = choice < 4;
            match choice {
                0..4 => text.push_str(&self.bit_fields(bits, &mut own)),
                4 if depth < 2 => {
                    let inner = if self.random.once_in(2) { "union" } else { "struct" };
                    let inside = self.members(inner, depth + 1, fields, bits, &mut own);
                    let packed = if self.random.once_in(5) { "__attribute__((packed))" } else { "" };
                    text.push_str(&format!("{inner} {packed} {{ {inside} }}; "));
                    if own == Some(0) {
                        // A record without named parts swallows a number: gcc warns of that, we refuse it.
                        own = None;
                    }
                }
                _ => text.push_str(&self.member(fields, &mut own)),
            }
            let is_counted = keyword == "struct" || first;
            // Of a list of bit-fields a union counts the first.
            if is_bits && keyword == "union" {
                own = own.map(|n| n.min(1));
            }
            match (is_counted, own) {
                (true, Some(n)) => *leaves = leaves.map(|sum| sum + n),
                (true, None) => *leaves = None,
                (false, _) => {}
            }
            first = first && own == Some(0);
        }
        text
    }

    fn bit_fields(&mut self, bits: &mut Vec<String>, leaves: &mut Option<u64>) -> String {
        let candidates: Vec<usize> =
            (0..self.usable.len()).filter(|&i| self.usable[i].widest.is_some()).collect();
        let of = self.usable[*self.random.pick(&candidates)].clone();
        let widest = of.widest.unwrap_or(1);
        let mut declarators = Vec::new();
        let mut count = 0;
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(8) {
                0 => declarators.push(" : 0".to_owned()),
                1 => declarators.push(format!(" : {}", 1 + self.random.below(widest))),
                choice => {
                    let name = self.fresh("b");
                    let width = if self.random.once_in(3) { widest } else { 1 + self.random.below(widest) };
                    let attribute = match choice {
                        2 => " __attribute__((packed))",
                        3 if self.random.once_in(3) => " __attribute__((aligned(4)))",
                        _ => "",
                    };
                    declarators.push(format!("{name} : {width}{attribute}"));
                    self.bytes += 32;
                    bits.push(name);
                    count += 1;
                }
            }
        }
        // Numbers for 128 bits or enums are left to the explicit initialisers.
        *leaves = if of.leaves.is_some() || count == 0 { Some(count) } else { None };
        format!("{} {}; ", of.name, declarators.join(", "))
    }

    fn member(&mut self, fields: &mut Vec<String>, leaves: &mut Option<u64>) -> String {
        let of = self.random.below(self.usable.len() as u64) as usize;
        let of = self.usable[of].clone();
        let name = self.fresh("f");
        fields.push(name.clone());
        let mut declarator = name;
        let mut times = 1;
        if !of.no_array && self.random.once_in(4) {
            for _ in 0..1 + self.random.below(2) {
                let length = if self.random.once_in(9) { 0 } else { 1 + self.random.below(4) };
                declarator = format!("{declarator}[{length}]");
                times *= length;
            }
        }
        *leaves = if times == 0 { None } else { of.leaves.map(|n| n * times) };
        if of.leaves == Some(0) {
            *leaves = None;
        }
        self.bytes += (of.bytes + 32) * times;
        let declaration = match of.name.split_once("(*)") {
            Some((result, rest)) => format!("{result} (*{declarator}){rest}"),
            None => format!("{} {declarator}", of.name),
        };
        let attribute = match self.random.below(12) {
            0 => " __attribute__((packed))".to_owned(),
            1 => format!(" __attribute__((aligned({})))", 1u64 << self.random.below(6)),
            2 => format!(" __attribute__((packed, aligned({})))", 1u64 << self.random.below(3)),
            _ => String::new(),
        };
        format!("{declaration}{attribute}; ")
    }

    /// The model that the types are for.
    pub(crate) fn model(&self) -> DataModel {
        self.model
    }

    /// Asks for the value of an integer constant expression.
    pub(crate) fn ask(&mut self, expression: String) {
        self.program.facts.push(expression);
    }
}
