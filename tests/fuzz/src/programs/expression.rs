//! Random expressions without side effects. Unless the program is to be risky, none has undefined behaviour.

use super::{
    generate::Writer,
    scope::{Entry, Kind, Place},
    types::Int,
};

/// An expression with its static type.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) text: String,
    pub(crate) ty: Int,
    /// Its absolute value is at most 2^15.
    pub(crate) is_small: bool,
}

impl Typed {
    fn of(text: String, ty: Int) -> Typed {
        Typed { text, ty, is_small: ty.bits() <= 15 }
    }
    /// Converted, if it is not of that type.
    pub(crate) fn to(self, ty: Int) -> String {
        if self.ty == ty { self.text } else { format!("({})({})", ty.name(), self.text) }
    }
}

impl Writer<'_> {
    /// An expression of any type.
    pub(crate) fn expression(&mut self, depth: usize) -> Typed {
        if depth == 0 || self.random.percent(20) {
            return self.leaf();
        }
        match self.random.below(14) {
            0..=4 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                self.arithmetic(a, b)
            }
            5 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let op = self.random.one(["&", "|", "^"]);
                let ty = a.ty.common(b.ty);
                Typed::of(format!("({} {op} {})", a.text, b.text), ty)
            }
            6 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                self.shift(a, b)
            }
            7 | 8 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                self.division(a, b)
            }
            9 => {
                let text = self.condition(depth - 1);
                Typed { text: format!("({text})"), ty: Int::Int, is_small: true }
            }
            10 => {
                let c = self.condition(depth - 1);
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let ty = a.ty.common(b.ty);
                Typed {
                    text: format!("({c} ? {} : {})", a.text, b.text),
                    ty,
                    is_small: a.is_small && b.is_small,
                }
            }
            11 => {
                let ty = self.random.one(Int::ALL);
                let inner = self.expression(depth - 1);
                Typed::of(format!("({})({})", ty.name(), inner.text), ty)
            }
            12 => {
                let inner = self.expression(depth - 1);
                let ty = inner.ty.promoted();
                match self.random.below(3) {
                    0 => Typed::of(format!("(~({}))", inner.text), ty),
                    1 if inner.is_small || !ty.is_signed() || self.is_risk() => {
                        Typed { text: format!("(-({}))", inner.text), ty, is_small: inner.is_small }
                    }
                    _ => Typed { text: format!("(!({}))", inner.text), ty: Int::Int, is_small: true },
                }
            }
            _ => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                Typed { text: format!("(({}), {})", a.text, b.text), ty: b.ty.promoted(), ..b }
            }
        }
    }

    /// Something of type `int` with the meaning of a condition.
    pub(crate) fn condition(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 3 } else { 6 }) {
            0..=2 => {
                let (a, b) =
                    (self.expression(depth.saturating_sub(1)), self.expression(depth.saturating_sub(1)));
                let op = self.random.one(["<", "<=", ">", ">=", "==", "!="]);
                if self.random.percent(40) {
                    let constant = self.constant(a.ty.promoted());
                    return format!("({} {op} {constant})", a.text);
                }
                format!("({} {op} {})", a.text, b.text)
            }
            3 => format!("({} && {})", self.condition(depth - 1), self.condition(depth - 1)),
            4 => format!("({} || {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => {
                let pointers: Vec<&Entry> =
                    self.scope.iter().filter(|entry| matches!(entry.kind, Kind::Pointer { .. })).collect();
                if let Some(pointer) = self.random.pick(&pointers) {
                    let name = pointer.name.clone();
                    return format!("({name} != 0)");
                }
                format!("(!{})", self.condition(depth - 1))
            }
        }
    }

    /// A place or a constant.
    pub(crate) fn leaf(&mut self) -> Typed {
        if self.random.percent(65)
            && let Some(place) = self.place(false)
        {
            // A narrow bit-field promotes to int, whatever its type.
            let ty = if place.width.is_some() { Int::Int } else { place.ty };
            let is_small = place.ty.bits() <= 15 || place.width.is_some_and(|width| width <= 15);
            return Typed { text: place.text, ty, is_small };
        }
        if self.random.percent(5) {
            let index = self.index(4);
            return Typed { text: format!("\"abc\"[{index}]"), ty: Int::Schar, is_small: true };
        }
        let ty = self.random.one([Int::Int, Int::Int, Int::Int, Int::Uint, Int::Long, Int::Ulong]);
        let value = self.number(ty);
        Typed { text: ty.constant(value), ty, is_small: value.unsigned_abs() < 1 << 15 }
    }

    /// A constant of a promoted type.
    pub(crate) fn constant(&mut self, ty: Int) -> String {
        let value = self.number(ty);
        ty.constant(value)
    }

    /// A value of a type: mostly small, sometimes at a limit.
    pub(crate) fn number(&mut self, ty: Int) -> i128 {
        let value = if self.random.percent(70) {
            self.random.below(21) as i128 - 5
        } else {
            self.random.one([
                64,
                100,
                127,
                128,
                255,
                256,
                1000,
                32767,
                32768,
                65535,
                i128::from(i32::MAX),
                i128::from(i32::MIN),
                i128::from(u32::MAX),
                i128::from(i64::MAX),
                i128::from(i64::MIN),
                -1,
            ])
        };
        ty.wrap(value)
    }

    fn arithmetic(&mut self, a: Typed, b: Typed) -> Typed {
        let ty = a.ty.common(b.ty);
        let op = self.random.one(["+", "-", "*"]);
        let plain = format!("({} {op} {})", a.text, b.text);
        if !ty.is_signed() || a.is_small && b.is_small || self.is_risk() {
            return Typed::of(plain, ty);
        }
        if self.random.percent(50) {
            let thousand = ty.constant(1000);
            return Typed::of(format!("((({}) % {thousand}) {op} (({}) % {thousand}))", a.text, b.text), ty);
        }
        let unsigned = ty.unsigned().name();
        Typed::of(format!("({})(({unsigned})({}) {op} ({unsigned})({}))", ty.name(), a.text, b.text), ty)
    }

    fn division(&mut self, a: Typed, b: Typed) -> Typed {
        let ty = a.ty.common(b.ty);
        let op = self.random.one(["/", "%"]);
        if self.is_risk() {
            return Typed::of(format!("({} {op} {})", a.text, b.text), ty);
        }
        match self.random.below(3) {
            0 => {
                let divisor = 1 + self.random.below(12) as i128;
                let ty = a.ty.promoted();
                let is_small = a.is_small || op == "%";
                Typed { text: format!("({} {op} {})", a.text, ty.constant(divisor)), ty, is_small }
            }
            1 => {
                // The divisor is between 1 and 16.
                Typed::of(format!("({} {op} ((({}) & 15) + 1))", a.text, b.text), ty)
            }
            _ => Typed::of(
                format!(
                    "((({ty})({b}) > 0) ? ({ty})({a}) {op} ({ty})({b}) : ({ty})({a}))",
                    ty = ty.name(),
                    a = a.text,
                    b = b.text
                ),
                ty,
            ),
        }
    }

    fn shift(&mut self, a: Typed, b: Typed) -> Typed {
        let ty = a.ty.promoted();
        let width = ty.bits();
        if self.is_risk() {
            return Typed::of(format!("({} >> {})", a.text, b.text), ty);
        }
        let amount = format!("(({}) & {})", b.text, width - 1);
        if self.random.percent(50) {
            return Typed { text: format!("({} >> {amount})", a.text), ty, is_small: a.is_small };
        }
        // Compilers define what signed numbers become, too.
        if self.random.percent(50) {
            return Typed::of(format!("({} << {amount})", a.text), ty);
        }
        let unsigned = ty.unsigned();
        Typed::of(format!("(({})({}) << {amount})", unsigned.name(), a.text), unsigned)
    }

    /// An index below a length.
    pub(crate) fn index(&mut self, length: usize) -> String {
        if self.random.percent(50) {
            return self.random.below(length).to_string();
        }
        let counters: Vec<String> = self
            .counters
            .iter()
            .filter(|(_, bound)| *bound <= length)
            .map(|(name, _)| name.clone())
            .collect();
        if let Some(counter) = self.random.pick(&counters)
            && self.random.percent(70)
        {
            return counter.clone();
        }
        let leaf = self.leaf();
        format!("(unsigned)({}) % {length}u", leaf.text)
    }

    /// The same for an array whose length is known; in a risky program maybe anything.
    fn array_index(&mut self, length: usize) -> String {
        if self.is_risk()
            && let Some(place) = self.steady_place()
        {
            return place.text;
        }
        self.index(length)
    }

    fn steady_place(&mut self) -> Option<Place> {
        let names: Vec<(String, Int)> = self
            .scope
            .iter()
            .filter_map(|entry| match entry.kind {
                Kind::Scalar(ty) => Some((entry.name.clone(), ty)),
                _ => None,
            })
            .collect();
        let (text, ty) = self.random.pick(&names)?.clone();
        Some(Place { text, ty, width: None, addressable: true, is_steady: true })
    }

    /// An lvalue of scalar type, one that may be written if asked.
    pub(crate) fn place(&mut self, to_write: bool) -> Option<Place> {
        for _ in 0..4 {
            let entry = self.random.pick(&self.scope)?.clone();
            if let Some(place) = self.place_in(&entry, to_write) {
                return Some(place);
            }
        }
        None
    }

    pub(crate) fn place_in(&mut self, entry: &Entry, to_write: bool) -> Option<Place> {
        if to_write && !entry.writable {
            return None;
        }
        let name = entry.name.clone();
        let steady = |text: String, ty| Place { text, ty, width: None, addressable: true, is_steady: true };
        Some(match entry.kind {
            Kind::Scalar(ty) if self.random.percent(6) && ty != Int::Bool && entry.writable => {
                let byte = self.random.below(ty.bytes());
                Place {
                    addressable: false,
                    ..steady(format!("((unsigned char *)&{name})[{byte}]"), Int::Uchar)
                }
            }
            Kind::Scalar(ty) => Place { addressable: entry.writable, ..steady(name, ty) },
            Kind::Volatile(ty) => Place { addressable: false, ..steady(name, ty) },
            Kind::Array(ty, length) | Kind::ArrayPointer(ty, length) => {
                let index = match entry.kind {
                    Kind::Array(..) => self.array_index(length),
                    _ => self.index(length),
                };
                let is_steady = index.parse::<usize>().is_ok();
                Place { is_steady, addressable: entry.writable, ..steady(format!("{name}[{index}]"), ty) }
            }
            Kind::Record(record) => self.field(&name, ".", record),
            Kind::RecordPointer(record) => self.field(&name, "->", record),
            Kind::Records(record, length) => {
                let index = self.index(length);
                let is_steady = index.parse::<usize>().is_ok();
                let place = self.field(&format!("{name}[{index}]"), ".", record);
                Place { is_steady: place.is_steady && is_steady, ..place }
            }
            Kind::Pointer { to, maybe_null } => {
                if maybe_null && !self.is_risk() {
                    // Guarded by its own condition: only for reading.
                    if to_write {
                        return None;
                    }
                    let fallback = self.number(to.promoted());
                    let text = format!("({name} ? *{name} : {})", to.promoted().constant(to.wrap(fallback)));
                    return Some(Place { addressable: false, ..steady(text, to.promoted()) });
                }
                Place { is_steady: !maybe_null, ..steady(format!("*{name}"), to) }
            }
            Kind::Handler => return None,
        })
    }

    fn field(&mut self, base: &str, access: &str, record: usize) -> Place {
        let record = &self.records[record];
        let field = record.fields[self.random.below(record.fields.len())].clone();
        let text = format!("{base}{access}{}", field.name);
        let place = Place {
            text,
            ty: field.ty,
            width: field.width,
            addressable: field.width.is_none(),
            is_steady: true,
        };
        match field.length {
            None => place,
            Some(length) => {
                let index = self.index(length);
                let is_steady = index.parse::<usize>().is_ok();
                Place { text: format!("{}[{index}]", place.text), is_steady, ..place }
            }
        }
    }

    /// Whether to leave this operation without a guard.
    pub(crate) fn is_risk(&mut self) -> bool {
        self.manner.is_risky && self.random.percent(15)
    }
}
