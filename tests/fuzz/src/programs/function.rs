//! Random functions. A function calls only earlier ones, or itself with a smaller first argument.

use super::{
    generate::Writer,
    scope::{Entry, Kind},
    types::Int,
};

/// A function that can be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Kind>,
    pub(crate) result: Int,
    /// Statements one call executes, at most.
    pub(crate) cost: usize,
    /// Its first argument bounds the depth of its recursion.
    pub(crate) is_recursive: bool,
}

/// More executed statements than this no program has.
pub(crate) const COST: usize = 4000;

impl Writer<'_> {
    /// A function of type `int (int, unsigned)`.
    pub(crate) fn handler(&mut self) {
        let name = self.name("handle");
        let (a, b) = (self.name("a"), self.name("b"));
        let parameters = vec![(a, Kind::Scalar(Int::Int)), (b, Kind::Scalar(Int::Uint))];
        self.define(&name, &parameters, Int::Int, false);
        self.handlers.push(name);
    }

    /// A table of handlers and a variable that holds one.
    pub(crate) fn handler_objects(&mut self) {
        let Some(first) = self.handlers.first().cloned() else { return };
        let count = self.handlers.len();
        let all = self.handlers.join(", ");
        self.say(format!("static int (*const table[{count}])(int, unsigned) = {{ {all} }};"));
        self.say(format!("static int (*chosen)(int, unsigned) = {first};"));
        self.bind("chosen".into(), Kind::Handler, true);
    }

    /// Any function.
    pub(crate) fn function(&mut self) {
        let name = self.name("f");
        let is_recursive = self.random.percent(35);
        let mut parameters = Vec::new();
        if is_recursive {
            parameters.push((self.name("n"), Kind::Scalar(Int::Int)));
        }
        for _ in 0..1 + self.random.below(3) {
            let kind = match self.random.below(6) {
                0 => Kind::Pointer { to: self.random.one(Int::ALL), maybe_null: false },
                1 if !self.records.is_empty() => {
                    let record = self.random.below(self.records.len());
                    if self.random.percent(50) { Kind::Record(record) } else { Kind::RecordPointer(record) }
                }
                2 => Kind::ArrayPointer(self.random.one([Int::Int, Int::Uchar, Int::Long]), 2),
                _ => Kind::Scalar(self.random.one(Int::ALL)),
            };
            parameters.push((self.name("p"), kind));
        }
        let result = self.random.one(Int::ALL);
        self.define(&name, &parameters, result, is_recursive);
    }

    fn define(&mut self, name: &str, parameters: &[(String, Kind)], result: Int, is_recursive: bool) {
        let shown: Vec<String> = parameters.iter().map(|(name, kind)| self.declare(kind, name)).collect();
        self.say(format!("static {} {name}({})", result.name(), shown.join(", ")));
        self.say("{");
        self.depth += 1;
        let before = self.scope.len();
        self.cost = 1;
        self.result = Some(result);
        for (i, (name, kind)) in parameters.iter().enumerate() {
            // What bounds the recursion stays as it is.
            self.bind(name.clone(), kind.clone(), !(is_recursive && i == 0));
        }
        if is_recursive {
            let bound = parameters[0].0.clone();
            let value = self.expression(1).to(result);
            self.say(format!("if ({bound} <= 0)"));
            self.say(format!("    return {value};"));
            self.locals(1);
            let to = self.name("r");
            self.say(format!("{} {to} = 0;", result.name()));
            self.bind(to.clone(), Kind::Scalar(result), true);
            let count = 1 + self.random.below(3);
            self.statements(count);
            let mut arguments = vec![format!("{bound} - 1")];
            for (_, kind) in &parameters[1..] {
                match self.argument(kind) {
                    Some(argument) => arguments.push(argument),
                    None => arguments.clear(),
                }
            }
            if arguments.len() == parameters.len() {
                self.say(format!("{to} = {name}({});", arguments.join(", ")));
            }
            self.observe(to, result);
            self.cost *= 6;
        } else {
            let count = self.random.below(3);
            self.locals(count);
            let count = 1 + self.random.below(4);
            self.statements(count);
        }
        let value = self.expression(2).to(result);
        self.say(format!("return {value};"));
        self.scope.truncate(before);
        self.depth -= 1;
        self.say("}");
        let parameters = parameters.iter().map(|(_, kind)| kind.clone()).collect();
        let cost = self.cost;
        self.functions.push(Signature { name: name.to_owned(), parameters, result, cost, is_recursive });
    }

    /// How a kind of thing is declared.
    pub(crate) fn declare(&self, kind: &Kind, name: &str) -> String {
        match kind {
            Kind::Scalar(ty) => format!("{} {name}", ty.name()),
            Kind::Volatile(ty) => format!("volatile {} {name}", ty.name()),
            Kind::Array(ty, length) => format!("{} {name}[{length}]", ty.name()),
            Kind::Record(record) => format!("{} {name}", self.records[*record].name),
            Kind::Records(record, length) => format!("{} {name}[{length}]", self.records[*record].name),
            Kind::Pointer { to, .. } | Kind::ArrayPointer(to, _) => format!("{} *{name}", to.name()),
            Kind::RecordPointer(record) => format!("{} *{name}", self.records[*record].name),
            Kind::Handler => format!("int (*{name})(int, unsigned)"),
        }
    }

    /// An argument for a parameter; `None` if nothing in scope fits.
    pub(crate) fn argument(&mut self, kind: &Kind) -> Option<String> {
        match *kind {
            Kind::Scalar(ty) | Kind::Volatile(ty) => Some(self.expression(2).to(ty)),
            Kind::Pointer { to, .. } => self.address(to, usize::MAX),
            Kind::ArrayPointer(ty, length) => self.array_address(ty, length, usize::MAX),
            Kind::Record(record) => self.record_value(record),
            Kind::RecordPointer(record) => self.record_address(record, usize::MAX),
            Kind::Handler => self.handlers.first().cloned(),
            Kind::Array(..) | Kind::Records(..) => None,
        }
    }

    /// The address of something of a type that lives at least as long as a block of that depth.
    pub(crate) fn address(&mut self, to: Int, depth: usize) -> Option<String> {
        let candidates: Vec<Entry> =
            self.scope.iter().filter(|entry| entry.writable && entry.depth <= depth).cloned().collect();
        for _ in 0..20 {
            let entry = self.random.pick(&candidates)?.clone();
            if let Kind::Pointer { to: ty, maybe_null: false } = entry.kind
                && ty == to
                && entry.depth <= depth
                && depth == usize::MAX
            {
                return Some(entry.name);
            }
            // Places behind pointers may live shorter than the pointer's own block.
            let is_own =
                matches!(entry.kind, Kind::Scalar(_) | Kind::Array(..) | Kind::Record(_) | Kind::Records(..));
            if let Some(place) = self.place_in(&entry, true)
                && place.ty == to
                && place.addressable
                && is_own
            {
                return Some(format!("&{}", place.text));
            }
        }
        None
    }

    pub(crate) fn array_address(&mut self, ty: Int, length: usize, depth: usize) -> Option<String> {
        let names: Vec<String> = self
            .scope
            .iter()
            .filter(|e| e.writable && e.depth <= depth)
            .filter(|e| matches!(e.kind, Kind::Array(t, n) if t == ty && n >= length))
            .map(|e| e.name.clone())
            .collect();
        self.random.pick(&names).cloned()
    }

    pub(crate) fn record_address(&mut self, record: usize, depth: usize) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in self.scope.iter().filter(|e| e.writable && e.depth <= depth) {
            match entry.kind {
                Kind::Record(r) if r == record => names.push(format!("&{}", entry.name)),
                Kind::Records(r, length) if r == record => {
                    names.push(format!("&{}[{}]", entry.name, length - 1));
                }
                Kind::RecordPointer(r) if r == record && depth == usize::MAX => {
                    names.push(entry.name.clone())
                }
                _ => {}
            }
        }
        self.random.pick(&names).cloned()
    }

    pub(crate) fn record_value(&mut self, record: usize) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in &self.scope {
            match entry.kind {
                Kind::Record(r) if r == record => names.push(entry.name.clone()),
                Kind::Records(r, _) if r == record => names.push(format!("{}[0]", entry.name)),
                Kind::RecordPointer(r) if r == record => names.push(format!("*{}", entry.name)),
                _ => {}
            }
        }
        self.random.pick(&names).cloned()
    }

    /// `main`: inputs, statements, and a look at what is left.
    pub(crate) fn main(&mut self) {
        self.say("int main(void)");
        self.say("{");
        self.depth = 1;
        self.cost = 1;
        self.result = None;
        for number in 0..1 + self.random.below(4) {
            let ty = self.random.one(Int::ALL);
            let name = self.name("in");
            self.say(format!("{} {name} = {}();", ty.name(), ty.input()));
            if let Some((low, high)) = self.narrow(number, ty) {
                let (low, high) = (ty.constant(low), ty.constant(high));
                self.say(format!("if ({name} < {low} || {name} > {high}) return 0;"));
            }
            self.bind(name, Kind::Scalar(ty), true);
        }
        let count = 1 + self.random.below(4);
        self.locals(count);
        let count = 4 + self.random.below(6);
        self.statements(count);
        for entry in self.scope.clone() {
            if let Some(place) = self.place_in(&entry, false)
                && place.is_steady
                && self.random.percent(60)
            {
                self.observe(place.text, place.ty);
            }
        }
        self.say("return 0;");
        self.depth = 0;
        self.say("}");
    }

    /// A small range for an input, or none. Most of the runs keep to it. Some engines prove things of few values only.
    fn narrow(&mut self, number: usize, ty: Int) -> Option<(i128, i128)> {
        if ty == Int::Bool || !self.narrowing.percent(60) {
            return None;
        }
        let size = self.narrowing.below(8) as i128;
        let value = self.vectors.first().and_then(|vector| vector.get(number)).copied().unwrap_or(0);
        let low = ty.wrap(i128::from(value)) - self.narrowing.below(4) as i128;
        let high = low + size.max(3);
        if ty.wrap(low) != low || ty.wrap(high) != high {
            return None;
        }
        for vector in &mut self.vectors {
            if self.narrowing.percent(80)
                && let Some(value) = vector.get_mut(number)
            {
                // Wrapped by the conversion to the type, as the program does.
                *value = (low + self.narrowing.below((high - low) as usize + 1) as i128) as i64;
            }
        }
        Some((low, high))
    }
}
