//! Random declarations and statements. Loops end, jumps do not pass declarations, and calls stand alone, so that the order in which
//! operands are evaluated does not matter.

use super::{
    function::{COST, Signature},
    generate::Writer,
    scope::{Entry, Kind, Place},
    types::Int,
};

impl Writer<'_> {
    /// Declarations of locals, all with values.
    pub(crate) fn locals(&mut self, count: usize) {
        for _ in 0..count {
            self.local();
        }
    }

    fn local(&mut self) {
        if self.manner.is_open && self.random.percent(35) {
            return self.open_local();
        }
        match self.random.below(11) {
            0..=2 => {
                let ty = self.random.one(Int::ALL);
                let value = self.expression(2).to(ty);
                let name = self.name("v");
                self.say(format!("{} {name} = {value};", ty.name()));
                self.bind(name, Kind::Scalar(ty), true);
            }
            3 => {
                let (declaration, kind, name) = self.array("v");
                self.say(format!("{declaration};"));
                self.bind(name, kind, true);
            }
            4 | 5 if !self.records.is_empty() => self.record_local(),
            6 | 7 => {
                let to = self.random.one(Int::ALL);
                if let Some(address) = self.address(to, self.depth) {
                    let name = self.name("q");
                    self.say(format!("{} *{name} = {address};", to.name()));
                    self.bind(name, Kind::Pointer { to, maybe_null: false }, true);
                }
            }
            8 => {
                let to = self.random.one([Int::Int, Int::Uchar, Int::Long]);
                if let Some(address) = self.address(to, self.depth) {
                    let condition = self.condition(1);
                    let name = self.name("z");
                    self.say(format!("{} *{name} = {condition} ? {address} : 0;", to.name()));
                    self.bind(name, Kind::Pointer { to, maybe_null: true }, true);
                }
            }
            9 => {
                let ty = self.random.one(Int::ALL);
                let value = self.number(ty);
                let name = self.name("keep");
                self.say(format!("static {} {name} = {};", ty.name(), ty.constant(value)));
                self.bind(name, Kind::Scalar(ty), true);
            }
            _ => {
                let name = self.name("word");
                self.say(format!("char {name}[6] = \"word\";"));
                self.bind(name, Kind::Array(Int::Schar, 6), true);
            }
        }
    }

    fn record_local(&mut self) {
        let record = self.random.below(self.records.len());
        let type_name = self.records[record].name.clone();
        let name = self.name("s");
        match self.random.below(5) {
            0 => {
                // Two records, cleared.
                self.say(format!("{type_name} {name}[2];"));
                self.say(format!("memset({name}, 0, sizeof {name});"));
                self.bind(name, Kind::Records(record, 2), true);
            }
            1 if let Some(address) = self.record_address(record, self.depth) => {
                self.say(format!("{type_name} *{name} = {address};"));
                self.bind(name, Kind::RecordPointer(record), true);
            }
            2 if let Some(value) = self.record_value(record) => {
                self.say(format!("{type_name} {name} = {value};"));
                self.bind(name, Kind::Record(record), true);
            }
            _ => {
                let byte = self.random.below(3);
                self.say(format!("{type_name} {name};"));
                self.say(format!("memset(&{name}, {byte}, sizeof {name});"));
                self.bind(name, Kind::Record(record), true);
            }
        }
    }

    /// Statements one after the other.
    pub(crate) fn statements(&mut self, count: usize) {
        for _ in 0..count {
            self.statement();
            if self.random.percent(30)
                && let Some(place) = self.place(false)
                && place.is_steady
            {
                self.observe(place.text, place.ty);
            }
        }
    }

    fn statement(&mut self) {
        self.cost += self.weight;
        if self.manner.is_open && self.weight <= 40 && self.random.percent(20) {
            return self.open_piece();
        }
        let may_nest = self.depth < 4 && self.weight <= 40;
        match self.random.below(22) {
            0..=4 => self.assignment(),
            5 => self.update(),
            6 | 7 => self.call(),
            8 if !self.handlers.is_empty() => self.indirect_call(),
            9 => self.retarget(),
            10 => self.copy(),
            11 | 12 if may_nest => self.branch(),
            13 | 14 if may_nest => self.counted_loop(),
            15 if may_nest => self.fuelled_loop(),
            16 if may_nest => self.switch(),
            17 if may_nest => self.jump(),
            18 => self.leave(),
            20 | 21 if self.weight <= 40 => self.special(),
            _ => self.assignment(),
        }
    }

    fn assign(&mut self, place: &Place, value: String) {
        self.say(format!("{} = {value};", place.text));
    }

    fn assignment(&mut self) {
        let Some(place) = self.place(true) else { return };
        let value = self.expression(3);
        // With or without a cast, the conversion is the same.
        let value = if self.random.percent(50) { value.text } else { value.to(place.ty) };
        self.assign(&place, value);
    }

    fn update(&mut self) {
        let Some(place) = self.place(true) else { return };
        let value = self.expression(2);
        let narrow = place.ty.bits() < 32 && place.ty != Int::Bool && place.width.is_none();
        match self.random.below(4) {
            0 if narrow || !place.ty.is_signed() && place.ty != Int::Bool => {
                let op = self.random.one(["++", "--"]);
                if self.random.percent(50) {
                    self.say(format!("({}){op};", place.text));
                } else {
                    self.say(format!("{op}{};", place.text));
                }
            }
            1 if place.ty.bits() >= 32 && !place.ty.is_signed() && place.width.is_none() => {
                let op = self.random.one(["+=", "-=", "*="]);
                let value = value.to(place.ty);
                self.say(format!("{} {op} {value};", place.text));
            }
            2 if narrow && value.is_small => self.say(format!("{} += {};", place.text, value.text)),
            _ => {
                let op = self.random.one(["&=", "|=", "^="]);
                self.say(format!("{} {op} {};", place.text, value.text));
            }
        }
    }

    fn call(&mut self) {
        let affordable: Vec<Signature> =
            self.functions.iter().filter(|f| self.cost + f.cost * self.weight < COST).cloned().collect();
        let Some(function) = self.random.pick(&affordable).cloned() else { return };
        let mut arguments = Vec::new();
        for (i, parameter) in function.parameters.iter().enumerate() {
            let argument = if i == 0 && function.is_recursive {
                let leaf = self.leaf();
                Some(format!("(int)((unsigned)({}) % 6u)", leaf.text))
            } else {
                self.argument(parameter)
            };
            let Some(argument) = argument else { return };
            arguments.push(argument);
        }
        self.cost += function.cost * self.weight;
        let call = format!("{}({})", function.name, arguments.join(", "));
        self.receive(&call);
    }

    /// Stores a call's result somewhere, or nowhere. The place's own operands do not depend on the call.
    pub(crate) fn receive(&mut self, call: &str) {
        match self.place(true) {
            Some(place) if place.is_steady && !place.text.contains('*') && !place.text.contains("->") => {
                self.assign(&place, call.to_owned());
            }
            _ => self.say(format!("{call};")),
        }
    }

    fn indirect_call(&mut self) {
        let most = self.functions.iter().filter(|f| self.handlers.contains(&f.name)).map(|f| f.cost).max();
        let most = most.unwrap_or(0) * self.weight;
        if self.cost + most >= COST || self.scope.iter().all(|entry| entry.kind != Kind::Handler) {
            return;
        }
        self.cost += most;
        let (a, b) = (self.expression(2).to(Int::Int), self.expression(2).to(Int::Uint));
        let count = self.handlers.len();
        let callee = if self.random.percent(50) {
            let leaf = self.leaf();
            format!("table[(unsigned)({}) % {count}u]", leaf.text)
        } else {
            "chosen".to_owned()
        };
        self.receive(&format!("{callee}({a}, {b})"));
    }

    /// Points a pointer at something else.
    fn retarget(&mut self) {
        let pointers: Vec<Entry> = self
            .scope
            .iter()
            .filter(|e| {
                matches!(
                    e.kind,
                    Kind::Pointer { .. } | Kind::RecordPointer(_) | Kind::ArrayPointer(..) | Kind::Handler
                )
            })
            .cloned()
            .collect();
        let Some(pointer) = self.random.pick(&pointers).cloned() else { return };
        let value = match pointer.kind {
            Kind::Pointer { maybe_null: true, .. } if self.random.percent(40) => Some("0".to_owned()),
            Kind::Pointer { to, .. } => self.address(to, pointer.depth),
            Kind::RecordPointer(record) => self.record_address(record, pointer.depth),
            Kind::ArrayPointer(ty, length) => self.array_address(ty, length, pointer.depth),
            Kind::Handler => self.random.pick(&self.handlers).cloned(),
            Kind::Scalar(_) | Kind::Volatile(_) | Kind::Array(..) | Kind::Record(_) | Kind::Records(..) => {
                None
            }
        };
        let Some(value) = value else { return };
        if self.random.percent(30) {
            let condition = self.condition(1);
            self.say(format!("{} = {condition} ? {value} : {};", pointer.name, pointer.name));
        } else {
            self.say(format!("{} = {value};", pointer.name));
        }
    }

    /// Copies a record, or bytes.
    fn copy(&mut self) {
        if self.records.is_empty() {
            return self.assignment();
        }
        let record = self.random.below(self.records.len());
        let Some(to) = self.record_address(record, usize::MAX) else { return self.assignment() };
        let Some(from) = self.record_value(record) else { return };
        if self.random.percent(40)
            && format!("&{from}") != to
            && !from.starts_with('*')
            && to.starts_with('&')
        {
            self.say(format!("memcpy({to}, &{from}, sizeof({from}));"));
        } else {
            self.say(format!("*({to}) = {from};"));
        }
    }

    /// A block: locals and statements that see the names outside.
    fn block(&mut self, count: usize) {
        self.depth += 1;
        let before = self.scope.len();
        if self.random.percent(30) {
            self.locals(1);
        }
        self.statements(count);
        self.scope.truncate(before);
        self.depth -= 1;
    }

    fn branch(&mut self) {
        let condition = self.condition(2);
        let condition = match self.place(true) {
            // An effect inside of the condition, ordered by `&&` or `||`.
            Some(place) if self.random.percent(20) && place.is_steady && place.width.is_none() => {
                let value = self.expression(1).to(place.ty);
                let op = self.random.one(["&&", "||"]);
                format!("{condition} {op} ({} = {value}, {} > 0)", place.text, place.text)
            }
            _ => condition,
        };
        self.say(format!("if ({condition}) {{"));
        let count = 1 + self.random.below(2);
        self.block(count);
        if self.random.percent(50) {
            self.say("} else {");
            let count = 1 + self.random.below(2);
            self.block(count);
        }
        self.say("}");
    }

    fn counted_loop(&mut self) {
        let counter = self.name("i");
        let bound = 1 + self.random.below(6);
        let limit = if self.random.percent(60) {
            bound.to_string()
        } else {
            let leaf = self.leaf();
            format!("(int)((unsigned)({}) % {}u)", leaf.text, bound + 1)
        };
        self.say(format!("for (int {counter} = 0; {counter} < {limit}; {counter}++) {{"));
        let before = self.scope.len();
        self.depth += 1;
        self.bind(counter.clone(), Kind::Scalar(Int::Int), false);
        self.depth -= 1;
        self.counters.push((counter, bound));
        self.repeated(bound);
        self.counters.pop();
        self.scope.truncate(before);
        self.say("}");
    }

    fn repeated(&mut self, times: usize) {
        let weight = self.weight;
        self.weight *= times;
        self.loops += 1;
        let count = 1 + self.random.below(3);
        self.block(count);
        self.loops -= 1;
        self.weight = weight;
    }

    fn fuelled_loop(&mut self) {
        let fuel = self.name("w");
        let leaf = self.leaf();
        self.say(format!("unsigned {fuel} = (unsigned)({}) % 6u;", leaf.text));
        if self.random.percent(50) {
            let also =
                if self.random.percent(50) { format!(" && {}", self.condition(1)) } else { String::new() };
            self.say(format!("while ({fuel} > 0{also}) {{"));
            self.say(format!("    {fuel}--;"));
            self.repeated(6);
            self.say("}");
        } else {
            self.say("do {");
            self.say(format!("    {fuel}++;"));
            self.repeated(8);
            self.say(format!("}} while ({fuel} < 8);"));
        }
    }

    fn switch(&mut self) {
        let leaf = self.leaf();
        self.say(format!("switch ({} & 7) {{", leaf.text));
        let loops = std::mem::take(&mut self.loops);
        let mut label = 0;
        for _ in 0..1 + self.random.below(3) {
            label += 1 + self.random.below(2);
            if self.random.percent(25) {
                self.say(format!("case {label}:"));
                label += 1;
            }
            self.say(format!("case {label}: {{"));
            self.block(1);
            self.say("}");
            if self.random.percent(75) {
                self.say("    break;");
            }
        }
        if self.random.percent(60) {
            self.say("default: {");
            self.block(1);
            self.say("}");
        }
        self.loops = loops;
        self.say("}");
    }

    /// A jump over statements, or back a few times.
    fn jump(&mut self) {
        let label = self.name("label");
        if self.random.percent(50) {
            let condition = self.condition(1);
            self.say(format!("if ({condition})"));
            self.say(format!("    goto {label};"));
            self.say("{");
            self.block(1);
            self.say("}");
            self.say(format!("{label}: ;"));
        } else {
            let count = self.name("w");
            self.say(format!("unsigned {count} = 0;"));
            self.say(format!("{label}: {count}++;"));
            self.say("{");
            // A loop as any other, but `break` and `continue` do not belong to it.
            let loops = std::mem::take(&mut self.loops);
            let weight = self.weight;
            self.weight *= 4;
            self.block(1);
            self.weight = weight;
            self.loops = loops;
            self.say("}");
            let condition = self.condition(1);
            self.say(format!("if ({count} < 4u && {condition})"));
            self.say(format!("    goto {label};"));
        }
    }

    fn leave(&mut self) {
        let condition = self.condition(2);
        if self.loops > 0 {
            let how = self.random.one(["break", "continue"]);
            self.say(format!("if ({condition})"));
            self.say(format!("    {how};"));
        } else if let Some(result) = self.result
            && self.random.percent(40)
        {
            let value = self.expression(1).to(result);
            self.say(format!("if ({condition})"));
            self.say(format!("    return {value};"));
        }
    }
}
