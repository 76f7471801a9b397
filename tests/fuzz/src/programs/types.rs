//! The integer types of the generated programs, LP64.

/// An integer type, named as in C.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[expect(clippy::enum_variant_names, reason = "C's `int`")]
pub enum Int {
    Bool,
    Schar,
    Uchar,
    Short,
    Ushort,
    Int,
    Uint,
    Long,
    Ulong,
}

impl Int {
    pub(crate) const ALL: [Int; 9] = [
        Int::Bool,
        Int::Schar,
        Int::Uchar,
        Int::Short,
        Int::Ushort,
        Int::Int,
        Int::Uint,
        Int::Long,
        Int::Ulong,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Int::Bool => "_Bool",
            Int::Schar => "signed char",
            Int::Uchar => "unsigned char",
            Int::Short => "short",
            Int::Ushort => "unsigned short",
            Int::Int => "int",
            Int::Uint => "unsigned",
            Int::Long => "long",
            Int::Ulong => "unsigned long",
        }
    }
    /// The function that gives an input of it.
    pub(crate) fn input(self) -> &'static str {
        match self {
            Int::Bool => "__VERIFIER_nondet_bool",
            Int::Schar => "__VERIFIER_nondet_schar",
            Int::Uchar => "__VERIFIER_nondet_uchar",
            Int::Short => "__VERIFIER_nondet_short",
            Int::Ushort => "__VERIFIER_nondet_ushort",
            Int::Int => "__VERIFIER_nondet_int",
            Int::Uint => "__VERIFIER_nondet_uint",
            Int::Long => "__VERIFIER_nondet_long",
            Int::Ulong => "__VERIFIER_nondet_ulong",
        }
    }
    pub(crate) fn bits(self) -> u32 {
        match self {
            Int::Bool => 1,
            Int::Schar | Int::Uchar => 8,
            Int::Short | Int::Ushort => 16,
            Int::Int | Int::Uint => 32,
            Int::Long | Int::Ulong => 64,
        }
    }
    pub(crate) fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Int::Schar | Int::Short | Int::Int | Int::Long)
    }
    /// After integer promotion.
    pub(crate) fn promoted(self) -> Int {
        if self.bits() < 32 { Int::Int } else { self }
    }
    /// After the usual arithmetic conversions.
    pub(crate) fn common(self, other: Int) -> Int {
        let (a, b) = (self.promoted(), other.promoted());
        if a.bits() != b.bits() {
            if a.bits() > b.bits() { a } else { b }
        } else if a.is_signed() {
            b
        } else {
            a
        }
    }
    /// The same width without sign.
    pub(crate) fn unsigned(self) -> Int {
        match self {
            Int::Int => Int::Uint,
            Int::Long => Int::Ulong,
            Int::Bool | Int::Schar | Int::Uchar | Int::Short | Int::Ushort | Int::Uint | Int::Ulong => self,
        }
    }
    /// A value of a promoted type as a C constant of this type.
    pub(crate) fn constant(self, value: i128) -> String {
        let (suffix, least) = match self.promoted() {
            Int::Uint => ("u", None),
            Int::Ulong => ("ul", None),
            Int::Long => ("l", Some(i128::from(i64::MIN))),
            _ => ("", Some(i128::from(i32::MIN))),
        };
        if Some(value) == least {
            return format!("({}{suffix} - 1)", value + 1);
        }
        if value < 0 { format!("({value}{suffix})") } else { format!("{value}{suffix}") }
    }
    /// The value that a conversion to this type gives.
    pub(crate) fn wrap(self, value: i128) -> i128 {
        if self == Int::Bool {
            return i128::from(value != 0);
        }
        let size = 1i128 << self.bits();
        let low = value.rem_euclid(size);
        if self.is_signed() && low >= size / 2 { low - size } else { low }
    }
}
