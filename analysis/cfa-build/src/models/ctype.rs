//! The tables behind glibc's `ctype.h`: 384 entries for -128..=255, reached through a pointer to entry 0. They are those of the C locale,
//! in which every program begins. Where a variable says that another one is set, entries that differ between locales have any value, at each
//! look another one.

use std::sync::Arc;

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    types::{ArrayLength, IntKind, Qualifiers},
};

use super::{
    Library,
    apply::{Pass, external_name},
    arguments::value,
    effect::{Outcome, Table},
    emit::Emitter,
    format,
};
use crate::lower::fold;
use proofline_cfa::{
    Argument, Base, BinaryOp, Cause, CompareOp, Constant, Expr, Global, InitialValue, IntType, LOCALE,
    Lvalue, Op, Program, Quantity, Scalar, Step, visit,
};

/// Entries below 0.
const BEFORE: i128 = 128;
/// Entries.
const LENGTH: u64 = 384;

/// Whether the program looks at characters, or for the point in numbers, and may set a locale: it names a function that does, or code that is not here runs.
pub(super) fn locale_may_change(program: &Program, library: &Library) -> bool {
    let (mut looks, mut changes) = (false, false);
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        changes |= matches!(edge.op, Op::Clobber(..));
        if let Some(name) = external_name(program, &edge.op) {
            match library.model(&name) {
                None => changes = true,
                Some(model) => {
                    changes |= model.changes_locale;
                    let reads_number = matches!(model.exactly, Some((Quantity::FloatIn, _)));
                    looks |= reads_number
                        || model.prints.is_some()
                        || matches!(model.result, Some(Outcome::Table(_) | Outcome::Entry(..)));
                }
            }
        }
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Function(name) = expr
                && !program.functions.contains_key(name)
            {
                changes |= library.model(name).is_none_or(|model| model.changes_locale);
            }
        });
    }
    looks && changes
}

/// The variable that says it. Programs begin with the locale of C; code that is not here may set another one.
pub(super) fn locale() -> Global {
    let (name, ty, linkage) = (Name::new(LOCALE), Type::int(), Linkage::External);
    Global {
        name,
        ty,
        linkage,
        size: 4,
        defined: true,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}

impl Pass<'_, '_> {
    /// `setlocale`: with null it only asks, with `C` it goes back.
    pub(super) fn set_locale(&mut self, arguments: &[Argument], cause: Cause) {
        if !self.locale_may_change {
            return;
        }
        let locale = variable();
        let wanted = value(arguments, 1);
        if matches!(wanted, Some(Expr::Null)) {
            return;
        }
        match wanted.and_then(|wanted| format::literal(self.program, &wanted)).as_deref() {
            Some(b"C" | b"POSIX") => {
                let first = Op::Assign(locale, Expr::int(0));
                self.emitter.either(cause, |e| e.emit(first), |_| {});
            }
            _ => self.emitter.havoc(locale, cause),
        }
    }

    /// What a function of `ctype.h` says about a character.
    pub(super) fn character(
        &mut self,
        table: Table,
        character: Expr,
        mask: Option<i128>,
        dst: Lvalue,
        ty: IntType,
        cause: Cause,
    ) {
        let is_zero = is_zero(table, &character, &dst, ty);
        self.entry_of(table, character, mask, dst, ty, cause);
        if let Some(is_zero) = is_zero {
            self.emitter.emit(Op::Assume(is_zero));
        }
    }

    fn entry_of(
        &mut self,
        table: Table,
        character: Expr,
        mask: Option<i128>,
        dst: Lvalue,
        ty: IntType,
        cause: Cause,
    ) {
        let is_fixed = !self.locale_may_change || mask.is_some_and(|mask| IN_ALL_LOCALES.contains(&mask));
        let mut index = self.index(character.clone());
        if !is_fixed {
            // It is computed once, so that there are as many obligations as where no locale is set: they have the same numbers then.
            let once = self.emitter.temporary(Type::new(TypeKind::Int(IntKind::Long)));
            let value = fold::cast(Scalar::Int(self.emitter.types.ptrdiff_t()), index, self.emitter.site);
            self.emitter.emit(Op::Assign(once.clone(), value));
            index = Expr::Load(once);
        }
        let entry = self.entry(table, index, mask);
        let entry = fold::cast(Scalar::Int(ty), entry, self.emitter.site);
        if is_fixed {
            return self.emitter.emit(Op::Assign(dst, entry));
        }
        // The table is read once, for the same reason.
        let read = self.emitter.temporary(self.emitter.types.of_scalar(Scalar::Int(ty)));
        self.emitter.emit(Op::Assign(read.clone(), entry));
        let known = Op::Assign(dst.clone(), Expr::Load(read));
        let is_common = table.is_common(&character);
        let as_known = known.clone();
        let unknown = |emitter: &mut Emitter<'_>| match mask {
            Some(mask) => {
                let number = |number| Op::Assign(dst.clone(), Expr::Int(ty.wrap(number), ty));
                let (no, yes) = (number(0), number(mask));
                emitter.either(cause, |e| e.emit(no), |e| e.emit(yes));
            }
            None => {
                emitter.havoc(dst.clone(), cause);
                emitter.assume_range(&Expr::Load(dst), -BEFORE, 255);
            }
        };
        let of_locale = |emitter: &mut Emitter<'_>| {
            emitter.if_else(Expr::Load(variable()), unknown, |e| e.emit(as_known));
        };
        self.emitter.if_all(is_common, |emitter| emitter.emit(known), of_locale);
    }

    /// Entries that differ between locales get any value if the locale is not that of C.
    pub(super) fn forget_locale(&mut self, table: Table, cause: Cause) {
        if !self.locale_may_change {
            return;
        }
        let size_t = self.emitter.types.size_t();
        let bytes = table.entry().1.bytes();
        let mut forgotten = Vec::new();
        for (first, count) in table.of_locale() {
            let place = self.place(table, Expr::Int(first + BEFORE, self.emitter.types.ptrdiff_t()));
            let size = Expr::Int(i128::from(count * bytes), size_t);
            forgotten.push(Op::HavocBytes(Expr::Address(place), size, cause));
        }
        self.emitter.only_if(Expr::Load(variable()), |emitter| {
            forgotten.into_iter().for_each(|op| emitter.emit_as_it_is(op));
        });
    }

    /// Where a table speaks of a character.
    fn index(&self, character: Expr) -> Expr {
        let (site, wide) = (self.emitter.site, self.emitter.types.ptrdiff_t());
        let character = fold::cast(Scalar::Int(wide), character, site);
        fold::binary(BinaryOp::Add, character, Expr::Int(BEFORE, wide), site)
    }

    /// What the table says there.
    fn entry(&mut self, table: Table, index: Expr, mask: Option<i128>) -> Expr {
        let site = self.emitter.site;
        let entry = Expr::Load(self.place(table, index));
        let entry = fold::cast(Scalar::Int(IntType::INT), entry, site);
        match mask {
            Some(mask) => fold::binary(BinaryOp::BitAnd, entry, Expr::int(mask), site),
            None => entry,
        }
    }

    /// An entry. (Characters out of range are undefined behaviour of another kind than an index.)
    fn place(&self, table: Table, index: Expr) -> Lvalue {
        let (element, format) = table.entry();
        let site = self.emitter.site;
        let step = Step::Index { index: Arc::new(index), stride: format.bytes(), length: None, site };
        Lvalue {
            base: Base::Global(table.object()),
            path: vec![step],
            ty: element,
            scalar: Some(Scalar::Int(format)),
            bits: None,
            size: format.bytes(),
        }
    }
}

/// [`LOCALE`]
fn variable() -> Lvalue {
    let scalar = Some(Scalar::Int(IntType::INT));
    let base = Base::Global(Name::new(LOCALE));
    Lvalue { base, path: Vec::new(), ty: Type::int(), scalar, bits: None, size: 4 }
}

/// Classes that hold the same characters in every locale: digits and hexadecimal digits.
const IN_ALL_LOCALES: [i128; 2] = [2048, 4096];

impl Table {
    /// First character and number of the entries that differ between locales. (`EOF` is no character.)
    fn of_locale(self) -> Vec<(i128, u64)> {
        let mut of_locale = vec![(-BEFORE, 127), (128, 128)];
        of_locale.extend(self.special().map(|letter| (i128::from(letter), 1)));
        of_locale
    }

    /// Turkish has an I without a dot and one with a dot.
    fn special(self) -> Option<u8> {
        match self {
            Table::Classes => None,
            Table::Lower => Some(b'I'),
            Table::Upper => Some(b'i'),
        }
    }

    /// Conditions under which all locales agree about a character: it is one of ASCII.
    fn is_common(self, character: &Expr) -> Vec<Expr> {
        let ty = character.int_type().unwrap_or(IntType::INT);
        let number = |number| Expr::Int(number, ty);
        let mut conditions = vec![fold::compare(CompareOp::Ge, character.clone(), number(0))];
        if ty.contains(127) {
            conditions.push(fold::compare(CompareOp::Le, character.clone(), number(127)));
        }
        let special = self.special().map(i128::from);
        conditions
            .extend(special.map(|letter| fold::compare(CompareOp::Ne, character.clone(), number(letter))));
        conditions
    }

    /// Type of an entry.
    pub(super) fn entry(self) -> (Type, IntType) {
        match self {
            Table::Classes => {
                (Type::new(TypeKind::Int(IntKind::UShort)), IntType { bits: 16, signed: false })
            }
            Table::Lower | Table::Upper => (Type::int(), IntType::INT),
        }
    }

    /// Name of the object with the entries.
    pub(super) fn object(self) -> Name {
        Name::new(match self {
            Table::Classes => "#ctype_b",
            Table::Lower => "#ctype_tolower",
            Table::Upper => "#ctype_toupper",
        })
    }

    /// Name of the pointer to the entry of 0.
    pub(super) fn pointer(self) -> Name {
        Name::new(&format!("{}_pointer", self.object()))
    }

    /// Type of the entries' object.
    pub(super) fn ty(self) -> Type {
        let element = self.entry().0.qualified(Qualifiers { is_const: true, ..Qualifiers::default() });
        Type::new(TypeKind::Array(element, ArrayLength::Fixed(LENGTH)))
    }

    /// Bytes of the entries' object.
    pub(super) fn size(self) -> u64 {
        LENGTH * self.entry().1.bytes()
    }

    /// The object with the entries, and the pointer into it.
    pub(super) fn globals(self, pointer_bytes: u64, may_change: bool) -> [Global; 2] {
        let (element, ty) = self.entry();
        let bytes = ty.bytes();
        let init = (0..LENGTH)
            .map(|at| (at, self.value(i128::from(at) - BEFORE)))
            .filter(|(_, value)| *value != 0)
            .map(|(at, value)| InitialValue {
                offset: at * bytes,
                scalar: Scalar::Int(ty),
                bits: None,
                value: Constant::Int(value),
            })
            .collect();
        let entries = Global {
            name: self.object(),
            ty: self.ty(),
            size: self.size(),
            linkage: Linkage::Internal,
            defined: true,
            constant: !may_change,
            init,
            hidden: Vec::new(),
        };
        let into = Constant::Address(self.object(), (BEFORE as u64 * bytes) as i64);
        let pointer = Global {
            name: self.pointer(),
            ty: element.qualified(Qualifiers { is_const: true, ..Qualifiers::default() }).pointer_to(),
            size: pointer_bytes,
            linkage: Linkage::Internal,
            defined: true,
            constant: true,
            init: vec![InitialValue { offset: 0, scalar: Scalar::Pointer, bits: None, value: into }],
            hidden: Vec::new(),
        };
        [entries, pointer]
    }

    /// Entry of a character. Negative ones (but `EOF`) stand for the upper half of `unsigned char`, which has no classes.
    fn value(self, character: i128) -> i128 {
        let byte = match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => byte,
            // Not ASCII: maps to itself as the table says, `(unsigned char)c` below 0 but for EOF.
            Ok(byte) => return if self == Table::Classes { 0 } else { i128::from(byte) },
            Err(_) if self == Table::Classes => return 0,
            Err(_) if character == -1 => return -1,
            Err(_) => return character + 256,
        };
        match self {
            Table::Lower => i128::from(byte.to_ascii_lowercase()),
            Table::Upper => i128::from(byte.to_ascii_uppercase()),
            Table::Classes => classes(byte),
        }
    }
}

/// What ends a string is no letter in any locale, and no letter becomes it. (The table says so, too, but not in a few words.)
fn is_zero(table: Table, character: &Expr, dst: &Lvalue, ty: IntType) -> Option<Expr> {
    let Base::Local(result) = dst.base else { return None };
    let mut is_other = dst.path.is_empty() && ty.bits >= 8 && dst.bits.is_none();
    visit::reads_of_expr(character, &mut |lvalue| {
        is_other &= matches!(lvalue.base, Base::Local(id) if id != result);
    });
    let given = character.int_type()?;
    match table {
        Table::Lower | Table::Upper if is_other => {}
        Table::Lower | Table::Upper | Table::Classes => return None,
    }
    let is_zero = |value: Expr, ty: IntType| {
        Arc::new(Expr::Compare(CompareOp::Eq, Arc::new(value), Arc::new(Expr::Int(0, ty))))
    };
    let (given, got) = (is_zero(character.clone(), given), is_zero(Expr::Load(dst.clone()), ty));
    Some(Expr::Compare(CompareOp::Eq, given, got))
}

/// glibc's bits on a little endian machine: `_ISbit(n)` is `(1 << n) << 8` for n < 8, else `(1 << n) >> 8`.
fn classes(byte: u8) -> i128 {
    let members = [
        byte.is_ascii_uppercase(),
        byte.is_ascii_lowercase(),
        byte.is_ascii_alphabetic(),
        byte.is_ascii_digit(),
        byte.is_ascii_hexdigit(),
        matches!(byte, b' ' | 9..=13),
        byte.is_ascii_graphic() || byte == b' ',
        byte.is_ascii_graphic(),
        matches!(byte, b' ' | b'\t'),
        byte.is_ascii_control(),
        byte.is_ascii_punctuation(),
        byte.is_ascii_alphanumeric(),
    ];
    let bit = |n: usize| if n < 8 { (1 << n) << 8 } else { (1 << n) >> 8 };
    members.iter().enumerate().filter(|(_, is_member)| **is_member).map(|(n, _)| bit(n)).sum()
}
