//! Initialisers of locals: zero what no entry names, then the entries in order. Small objects get one edge per scalar,
//! large ones are filled at once.

use std::sync::Arc;

use proofline_hir::{
    Name, Type, TypeKind,
    body::{ExprId, ExprKind, InitStep, Initializer, LocalId as BodyLocal},
    types::ArrayLength,
};

use super::{build::Lowering, early, effects::Effect, expr::int_constant, fold};
use proofline_cfa::{Base, Expr, Float, Lvalue, Op, Scalar, Site, Step, types::array};

/// So many scalars are set to zero one by one, more are filled at once.
const MAX_ZEROES: usize = 64;
/// So many characters are stored one by one, more are copied.
const MAX_CHARACTERS: usize = 16;
/// So many elements of one range designator are set one by one.
const MAX_RANGE: u64 = 4096;

/// Bits `start..end` of an object, sorted, merged.
type Covered = Vec<(u64, u64)>;

/// What the entries are set to.
fn values_of(init: &Initializer) -> Vec<ExprId> {
    init.entries.iter().map(|entry| entry.value).collect()
}

impl Lowering<'_> {
    /// `(T){…}`: fresh each time. Its entries may read what it holds from the last time.
    pub(crate) fn compound_literal(&mut self, local: BodyLocal, init: &Initializer, id: ExprId) {
        let site = self.site(id);
        let object = self.whole(self.locals[local.index()]);
        if init.entries.len() == 1 && init.entries[0].path.is_empty() {
            // One value: it is complete before the object begins.
            let value = self.entry_value(init.entries[0].value, Evaluated::BeforeOthers);
            self.begin(local, site);
            if early::is_returned(self.body, local, init) {
                self.returned.push(local);
            }
            self.store_entry(object, value, site);
            return;
        }
        let mut bounds = self.begin_operands(&values_of(init));
        let mut values: Vec<Entry> = Vec::with_capacity(init.entries.len());
        for entry in &init.entries {
            values.push(self.entry_value(entry.value, Evaluated::BeforeOthers));
            bounds.end_operand(self.at);
        }
        self.end_operands(bounds);
        self.begin(local, site);
        self.zero_rest(&object, init, site);
        for (entry, value) in init.entries.iter().zip(values) {
            self.store_at(&object, &entry.path, value, site);
        }
    }

    /// Initialises an object that has just begun.
    pub(crate) fn initialise(&mut self, object: Lvalue, init: &Initializer, site: Site) {
        let is_whole_local = matches!(object.base, Base::Local(_)) && object.path.is_empty();
        if let [entry] = &init.entries[..]
            && entry.path.is_empty()
            && is_whole_local
            && !self.is_string(entry.value)
        {
            return self.put(entry.value, Some(&object));
        }
        self.zero_rest(&object, init, site);
        let mut bounds = self.begin_operands(&values_of(init));
        for entry in &init.entries {
            let value = self.entry_value(entry.value, Evaluated::WhenStored);
            self.store_at(&object, &entry.path, value, site);
            bounds.end_operand(self.at);
        }
        self.end_operands(bounds);
    }

    fn is_string(&self, value: ExprId) -> bool {
        matches!(self.body.expr(value).kind, ExprKind::StringLiteral(_))
    }

    /// Evaluates an entry.
    fn entry_value(&mut self, value: ExprId, when: Evaluated) -> Entry {
        let expr = self.body.expr(value);
        let site = self.site(value);
        let any = Effect { memory: true, edges: true, ..Effect::default() };
        if let ExprKind::StringLiteral(name) = expr.kind {
            return Entry::String(name, value);
        }
        if self.types.scalar(expr.ty).is_some() {
            let scalar = self.value(value);
            return Entry::Scalar(
                match when {
                    Evaluated::BeforeOthers => self.settle(scalar, Some(&any), site),
                    Evaluated::WhenStored => scalar,
                },
                site,
            );
        }
        let object = self.aggregate(value);
        if when == Evaluated::BeforeOthers && !matches!(object.base, Base::Local(_)) {
            let temporary = self.temporary(object.ty);
            self.copy(temporary.clone(), object, site);
            return Entry::Aggregate(temporary, site);
        }
        Entry::Aggregate(object, site)
    }

    fn store_at(&mut self, object: &Lvalue, path: &[InitStep], mut value: Entry, site: Site) {
        let mut places = Vec::new();
        if !self.parts(object.clone(), path, site, &mut places) {
            let what = "long range in an initialiser";
            self.havoc_unmodelled(object.clone(), what, site);
            return;
        }
        if places.len() > 1
            && let Entry::Scalar(scalar, at) = value
        {
            let kept =
                if matches!(scalar, Expr::Int(..) | Expr::Null) { scalar } else { self.save(scalar, at) };
            value = Entry::Scalar(kept, at);
        }
        for place in places {
            self.store_entry(place, value.clone(), site);
        }
    }

    fn store_entry(&mut self, place: Lvalue, value: Entry, site: Site) {
        match value {
            Entry::Scalar(value, at) => match place.scalar {
                Some(scalar) => {
                    let value = fold::cast(scalar, value, at);
                    self.emit(Op::Assign(place, value), at);
                }
                None => self.havoc_unmodelled(place, "scalar initialiser of an aggregate", site),
            },
            Entry::Aggregate(from, at) => self.copy(place, from, at),
            Entry::String(name, id) => self.store_string(place, name, id),
        }
    }

    fn store_string(&mut self, place: Lvalue, name: Name, id: ExprId) {
        let site = self.site(id);
        let elements = self.context.strings.get(&name).map(|literal| literal.elements.as_slice());
        let (Some((element, Some(length))), Some(elements)) = (array(place.ty), elements) else {
            return self.havoc_unmodelled(place, "string of unknown length", site);
        };
        let literal = self.place(Base::Global(name), self.body.expr(id).ty);
        let is_exact = elements.len() as u64 == length;
        if elements.len() > MAX_CHARACTERS && is_exact {
            let literal = Lvalue { ty: place.ty, ..literal };
            return self.emit(Op::Copy(place, literal), site);
        }
        let stride = self.types.size(element).unwrap_or(1);
        let count = elements.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        if count > 4 * MAX_CHARACTERS {
            let size = Expr::Int((count as u64 * stride).into(), self.types.size_t());
            return self.emit(Op::CopyBytes(fold::address(place), Expr::Address(literal), size), site);
        }
        let Some(scalar) = self.types.scalar(element) else { return };
        for (at, value) in elements[..count].iter().enumerate() {
            let index = Expr::Int(at as i128, self.types.ptrdiff_t());
            let part = self.indexed(place.clone(), index, element, Some(length), site);
            self.emit(Op::Assign(part, int_constant(i128::from(*value), scalar, site)), site);
        }
    }

    /// The parts that a path designates; false if there are too many.
    fn parts(&mut self, object: Lvalue, path: &[InitStep], site: Site, out: &mut Vec<Lvalue>) -> bool {
        let Some((step, rest)) = path.split_first() else {
            out.push(object);
            return true;
        };
        let (first, last) = match *step {
            InitStep::Field(field) => {
                let member = self.member(object, field, None);
                return self.parts(member, rest, site, out);
            }
            InitStep::Element(at) => (at, at),
            InitStep::Range(first, last) => (first, last),
        };
        let Some((element, length)) = array(object.ty).or_else(|| vector(object.ty)) else { return false };
        if last.saturating_sub(first) >= MAX_RANGE {
            return false;
        }
        (first..=last).all(|at| {
            let index = Expr::Int(i128::from(at), self.types.ptrdiff_t());
            let part = self.indexed(object.clone(), index, element, length, site);
            self.parts(part, rest, site, out)
        })
    }

    /// Zero in everything that no entry sets whole.
    fn zero_rest(&mut self, object: &Lvalue, init: &Initializer, site: Site) {
        let mut covered = Vec::new();
        for entry in &init.entries {
            self.covered(object, &entry.path, entry.value, site, &mut covered);
        }
        let covered = merged(covered);
        let mut zeroes = Vec::new();
        if self.zeroes(object.clone(), bits_before(object), &covered, site, &mut zeroes).is_some() {
            for place in zeroes {
                let Some(scalar) = place.scalar else { continue };
                let zero = match scalar {
                    Scalar::Int(ty) => Expr::Int(0, ty),
                    Scalar::Float(ty) => Expr::Float(Float::zero(ty)),
                    Scalar::Pointer => Expr::Null,
                };
                self.emit(Op::Assign(place, zero), site);
            }
        } else if object.size > 0 {
            let size = Expr::Int(object.size.into(), self.types.size_t());
            self.emit(Op::FillBytes(fold::address(object.clone()), Expr::int(0), size), site);
        }
    }

    /// Adds the bits that an entry sets.
    fn covered(&mut self, object: &Lvalue, path: &[InitStep], value: ExprId, site: Site, out: &mut Covered) {
        let mut places = Vec::new();
        if !self.parts(object.clone(), path, site, &mut places) {
            return;
        }
        let string = match self.body.expr(value).kind {
            ExprKind::StringLiteral(name) => self.context.strings.get(&name),
            _ => None,
        };
        for place in places {
            let start = bits_before(&place);
            let size = match (place.bits, string, array(place.ty)) {
                (Some(bits), _, _) => u64::from(bits.width),
                (None, Some(literal), Some((element, _))) => {
                    let stride = self.types.size(element).unwrap_or(1);
                    (literal.elements.len() as u64 * stride).min(place.size) * 8
                }
                (None, _, _) => place.size * 8,
            };
            let start = start + place.bits.map_or(0, |bits| u64::from(bits.first));
            out.push((start, start + size));
        }
    }

    /// Scalars of the object that are not covered; `None`: too many, or not all of it is scalars.
    fn zeroes(
        &mut self,
        object: Lvalue,
        start: u64,
        covered: &Covered,
        site: Site,
        out: &mut Vec<Lvalue>,
    ) -> Option<()> {
        let (start, size) = match object.bits {
            Some(bits) => (start + u64::from(bits.first), u64::from(bits.width)),
            None => (start, object.size * 8),
        };
        if is_covered(covered, start, start + size) {
            return Some(());
        }
        if object.scalar.is_some() {
            if out.len() >= MAX_ZEROES {
                return None;
            }
            out.push(object);
            return Some(());
        }
        match object.ty.kind() {
            TypeKind::Array(element, ArrayLength::Fixed(length)) => {
                let stride = self.types.size(*element)?;
                for at in 0..*length {
                    let index = Expr::Int(i128::from(at), self.types.ptrdiff_t());
                    let part = self.indexed(object.clone(), index, *element, Some(*length), site);
                    self.zeroes(part, start + at * stride * 8, covered, site, out)?;
                }
                Some(())
            }
            // A flexible array member has no elements here.
            TypeKind::Array(_, ArrayLength::Unknown) => Some(()),
            TypeKind::Record(tag) => {
                let record = self.types.record(*tag)?;
                let fields: Vec<u32> = if record.is_union {
                    vec![self.covering_member(*tag)?]
                } else {
                    (0..record.fields.len() as u32).collect()
                };
                for field in fields {
                    let offset = record.fields[field as usize].offset;
                    let part = self.member(object.clone(), field, None);
                    self.zeroes(part, start + offset * 8, covered, site, out)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// A member of a union whose scalars are all of its bytes.
    fn covering_member(&self, tag: Name) -> Option<u32> {
        let union = self.types.record(tag)?;
        let position = union.fields.iter().position(|field| {
            field.bits.is_none()
                && self.types.size(field.ty) == Some(union.size)
                && self.dense_size(field.ty) == Some(union.size)
        })?;
        u32::try_from(position).ok()
    }

    /// Bytes of all scalars, `None` if some part is not made of scalars.
    fn dense_size(&self, ty: Type) -> Option<u64> {
        if self.types.scalar(ty).is_some() {
            return self.types.size(ty);
        }
        match ty.kind() {
            TypeKind::Array(element, ArrayLength::Fixed(length)) => Some(self.dense_size(*element)? * length),
            TypeKind::Record(tag) => {
                let record = self.types.record(*tag)?;
                if record.is_union {
                    self.covering_member(*tag)?;
                    return Some(record.size);
                }
                record
                    .fields
                    .iter()
                    .map(|f| if f.bits.is_some() { None } else { self.dense_size(f.ty) })
                    .sum()
            }
            _ => None,
        }
    }
}

/// When the value of an initialiser's entry is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluated {
    /// Before anything else is written: it must survive any write.
    BeforeOthers,
    /// Right before it is stored.
    WhenStored,
}

/// An evaluated entry.
#[derive(Clone)]
enum Entry {
    Scalar(Expr, Site),
    Aggregate(Lvalue, Site),
    String(Name, ExprId),
}

/// Bits from the start of the base; indices are constant here.
fn bits_before(place: &Lvalue) -> u64 {
    let bytes: u64 = place
        .path
        .iter()
        .map(|step| match step {
            Step::Field { offset, .. } => *offset,
            Step::Index { index, stride, .. } => match Arc::as_ref(index) {
                Expr::Int(at, _) => u64::try_from(*at).unwrap_or(0) * stride,
                _ => 0,
            },
        })
        .sum();
    bytes * 8
}

fn merged(mut parts: Covered) -> Covered {
    parts.sort_unstable();
    let mut out: Covered = Vec::new();
    for (start, end) in parts {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

fn is_covered(covered: &Covered, start: u64, end: u64) -> bool {
    let at = covered.partition_point(|(from, _)| *from <= start);
    at > 0 && covered[at - 1].1 >= end
}

fn vector(ty: Type) -> Option<(Type, Option<u64>)> {
    match ty.kind() {
        TypeKind::Vector(element, length) => Some((*element, Some(u64::from(*length)))),
        _ => None,
    }
}
