//! Which objects of a program get terms, and how: as scalar cells, as arrays of elements, or not at all. Decided once per program from
//! all accesses, so that every formula speaks of the same cells.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Argument, Base, Callee, Expr, Function, Loc, LocalId, Lvalue, Object, Op, Scalar, Step,
    dataflow::Liveness,
};
use proofline_program_analysis::{Environment, allocated_once};

use crate::encoding::Encoding;

/// How an object is represented.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Representation {
    /// Scalars at constant offsets, not overlapping.
    Cells(BTreeMap<u64, Scalar>),
    /// Elements of so many bytes, each with scalars at these offsets.
    #[expect(missing_docs, reason = "named by meaning")]
    Elements { stride: u64, scalars: BTreeMap<u64, Scalar> },
    /// An array of bytes, and perhaps one of the pointers that begin at them. Only over bit vectors.
    #[expect(missing_docs, reason = "named by meaning")]
    Bytes { pointers: bool },
    /// Not represented: reads give anything, writes are forgotten.
    Opaque,
}

/// Bytes of the addresses that a heap object may have: all allocations of one site lie in one region, apart from everything else.
/// Formulas' addresses have 64 bits whatever the program's have, so that a region is never too small.
pub(crate) const REGION: u64 = 1 << 40;
/// Where the regions begin, and how many there may be.
const REGIONS: (u64, u64) = (1 << 44, 1000);

/// The memory layout that the formulas of one program share: how values become terms, the representation of every object, and an address
/// for each (of heap objects: of the region that all allocations of their site lie in).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryLayout {
    encoding: Encoding,
    objects: BTreeMap<Object, Representation>,
    addresses: BTreeMap<Object, u64>,
    /// Heap objects that begin where their region does.
    placed: BTreeSet<Object>,
}

/// What an access looks like from the start of its object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AccessShape {
    /// Constant part.
    pub(crate) offset: i128,
    /// Strides of the indices that are not constant.
    pub(crate) strides: Vec<u64>,
    /// For an access through a pointer: bytes of what the pointer is used as pointing to.
    pub(crate) pointee: Option<u64>,
}

impl MemoryLayout {
    /// The layout that fits every access of the program, values being mathematical integers.
    pub fn new(environment: &Environment) -> MemoryLayout {
        MemoryLayout::with_encoding(environment, Encoding::Integers)
    }

    /// The layout that fits every access of the program.
    pub fn with_encoding(environment: &Environment, encoding: Encoding) -> MemoryLayout {
        let mut survey = Survey {
            environment,
            encoding,
            cells: BTreeMap::new(),
            strides: BTreeMap::new(),
            opaque: BTreeSet::new(),
            raw: BTreeSet::new(),
            copied: BTreeSet::new(),
        };
        for function in environment.program().functions.values() {
            survey.function(function);
        }
        survey.finish()
    }

    /// Objects that each execution allocates once at most begin where their region does: formulas about one entry, whose blocks nothing else uses, are
    /// simpler so.
    #[must_use]
    pub fn placing_once(mut self, environment: &Environment) -> MemoryLayout {
        self.placed = allocated_once(environment);
        self
    }

    /// Whether a heap object begins where its region does.
    pub(crate) fn is_placed(&self, object: Object) -> bool {
        self.placed.contains(&object)
    }

    /// How values become terms.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How an object is represented.
    pub fn representation(&self, object: Object) -> &Representation {
        self.objects.get(&object).unwrap_or(&Representation::Opaque)
    }

    /// Every represented object.
    pub fn objects(&self) -> impl Iterator<Item = (Object, &Representation)> {
        self.objects.iter().map(|(object, representation)| (*object, representation))
    }

    /// The address of an object: fixed and apart from all others. What formulas say of addresses in different objects does not depend on it
    /// ([`crate::pointers`]), so the choice does not matter.
    pub fn address(&self, object: Object) -> Option<u64> {
        self.addresses.get(&object).copied()
    }
}

/// The constant and variable parts of a path.
pub(crate) fn shape(environment: &Environment, lvalue: &Lvalue) -> AccessShape {
    let mut shape = AccessShape { offset: 0, strides: Vec::new(), pointee: None };
    for step in &lvalue.path {
        match step {
            Step::Field { offset, .. } => shape.offset += i128::from(*offset),
            Step::Index { index, stride, .. } => match **index {
                Expr::Int(value, _) => {
                    shape.offset = shape.offset.saturating_add(value.saturating_mul(i128::from(*stride)))
                }
                _ => shape.strides.push(*stride),
            },
        }
    }
    if let Base::Deref(..) = lvalue.base {
        shape.pointee = Some(match lvalue.path.first() {
            Some(Step::Field { record, .. }) => {
                environment.program().records.get(record).map_or(0, |r| r.size)
            }
            Some(Step::Index { stride, .. }) => *stride,
            None => lvalue.size,
        });
    }
    shape
}

/// The objects an lvalue may lie in.
pub(crate) fn objects(environment: &Environment, function: &Function, lvalue: &Lvalue) -> BTreeSet<Object> {
    match &lvalue.base {
        Base::Local(id) => [Object::Local(function.name, *id)].into(),
        Base::Global(name) => [Object::Global(*name)].into(),
        Base::Deref(pointer, _) => environment.targets(function.name, pointer).objects.clone(),
    }
}

/// Whether a local is a register: a scalar that only its function names.
pub(crate) fn is_register(function: &Function, id: LocalId) -> bool {
    let local = function.local(id);
    local.ty.is_scalar() && !local.address_taken
}

/// Live registers per location: what a formula at that location needs to speak of.
pub(crate) fn live_registers(function: &Function) -> Vec<BTreeSet<LocalId>> {
    let live = Liveness::new(function);
    let at = |loc| live.live(Loc(loc)).filter(|id| is_register(function, *id)).collect();
    (0..function.locations).map(at).collect()
}

struct Survey<'e> {
    environment: &'e Environment,
    encoding: Encoding,
    cells: BTreeMap<Object, BTreeSet<(i128, Scalar)>>,
    strides: BTreeMap<Object, BTreeSet<u64>>,
    opaque: BTreeSet<Object>,
    /// Accessed as bytes, or by the bits of a byte.
    raw: BTreeSet<Object>,
    /// Copied as a range of bytes.
    copied: BTreeSet<Object>,
}

impl Survey<'_> {
    fn function(&mut self, function: &Function) {
        for &id in function.parameters.iter().chain(&function.result) {
            let local = function.local(id);
            if !local.ty.is_scalar() {
                let base = Base::Local(id);
                let (ty, size) = (local.ty, local.size);
                self.record(function, &Lvalue { base, path: Vec::new(), ty, scalar: None, bits: None, size });
            }
        }
        for edge in &function.edges {
            match &edge.op {
                Op::Skip | Op::Begin(_) | Op::End(_) => {}
                Op::Assume(value) | Op::Free(value) => self.expr(function, value),
                Op::Assign(dst, value) => {
                    self.access(function, dst);
                    self.expr(function, value);
                }
                Op::Copy(dst, src) => {
                    self.record(function, dst);
                    self.record(function, src);
                }
                Op::Havoc(dst, _) => {
                    if dst.scalar.is_some() {
                        self.access(function, dst);
                    } else {
                        self.inner(function, dst);
                    }
                }
                Op::Clobber(values, _) => values.iter().for_each(|value| self.expr(function, value)),
                Op::Call(call) => {
                    if let Callee::Indirect(pointer, _) = &call.callee {
                        self.expr(function, pointer);
                    }
                    for argument in &call.arguments {
                        match argument {
                            Argument::Value(value) => self.expr(function, value),
                            Argument::Aggregate(src) => self.record(function, src),
                        }
                    }
                    match &call.dst {
                        Some(dst) if dst.scalar.is_some() => self.access(function, dst),
                        Some(dst) => self.record(function, dst),
                        None => {}
                    }
                }
                Op::Allocate(allocation) => {
                    self.access(function, &allocation.dst);
                    self.expr(function, &allocation.size);
                }
                Op::CopyBytes(a, b, c) => {
                    [a, b, c].into_iter().for_each(|value| self.expr(function, value));
                    self.range(function, a);
                    self.range(function, b);
                }
                Op::FillBytes(a, b, c) => {
                    [a, b, c].into_iter().for_each(|value| self.expr(function, value));
                    self.range(function, a);
                }
                Op::HavocBytes(a, b, _) => [a, b].into_iter().for_each(|value| self.expr(function, value)),
            }
        }
    }

    fn expr(&mut self, function: &Function, expr: &Expr) {
        match expr {
            Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => {}
            Expr::Load(lvalue) => self.access(function, lvalue),
            Expr::Address(lvalue) => self.inner(function, lvalue),
            Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => self.expr(function, arg),
            Expr::Binary(_, lhs, rhs, _)
            | Expr::Compare(_, lhs, rhs)
            | Expr::Overflows(_, lhs, rhs)
            | Expr::Memory(_, lhs, rhs)
            | Expr::PointerDifference(lhs, rhs, ..) => {
                self.expr(function, lhs);
                self.expr(function, rhs);
            }
        }
    }

    fn inner(&mut self, function: &Function, lvalue: &Lvalue) {
        if let Base::Deref(pointer, _) = &lvalue.base {
            self.expr(function, pointer);
        }
        for step in &lvalue.path {
            if let Step::Index { index, .. } = step {
                self.expr(function, index);
            }
        }
    }

    /// An aggregate is copied scalar by scalar.
    fn record(&mut self, function: &Function, lvalue: &Lvalue) {
        self.inner(function, lvalue);
        match crate::aggregate::leaves(self.environment.program(), lvalue) {
            Some(leaves) => leaves.iter().for_each(|leaf| self.access(function, leaf)),
            None => self.touched(objects(self.environment, function, lvalue)),
        }
    }

    /// A range of bytes behind a pointer.
    fn range(&mut self, function: &Function, pointer: &Expr) {
        self.touched(self.environment.targets(function.name, pointer).objects.clone());
    }

    /// Objects that must be represented as bytes, unless something says how else.
    fn touched(&mut self, objects: BTreeSet<Object>) {
        if self.encoding.is_bits() {
            for object in objects {
                self.cells.entry(object).or_default();
                self.copied.insert(object);
            }
        }
    }

    fn access(&mut self, function: &Function, lvalue: &Lvalue) {
        self.inner(function, lvalue);
        if let Base::Local(id) = lvalue.base
            && is_register(function, id)
        {
            return;
        }
        let objects = objects(self.environment, function, lvalue);
        let Some(scalar) = lvalue.scalar else {
            return;
        };
        let shape = shape(self.environment, lvalue);
        for object in objects {
            if object == Object::External {
                self.opaque.insert(object);
                continue;
            }
            if lvalue.bits.is_some() {
                self.raw.insert(object);
                self.cells.entry(object).or_default();
                continue;
            }
            self.cells.entry(object).or_default().insert((shape.offset, scalar));
            let strides = self.strides.entry(object).or_default();
            strides.extend(shape.strides.iter().copied());
            if let Some(pointee) = shape.pointee
                && self.environment.object_size(object) != Some(pointee)
            {
                strides.insert(pointee);
            }
        }
    }

    /// Whether every byte of an object belongs to a scalar.
    fn covers(&self, object: Object, representation: &Representation) -> bool {
        let program = self.environment.program();
        let covered =
            |cells: &BTreeMap<u64, Scalar>| cells.values().map(|s| program.scalar_bytes(*s)).sum::<u64>();
        match representation {
            Representation::Cells(cells) => self.environment.object_size(object) == Some(covered(cells)),
            Representation::Elements { stride, scalars } => *stride == covered(scalars),
            Representation::Bytes { .. } => true,
            Representation::Opaque => false,
        }
    }

    fn finish(self) -> MemoryLayout {
        let program = self.environment.program();
        let mut objects = BTreeMap::new();
        for (object, cells) in &self.cells {
            let strides = self.strides.get(object).cloned().unwrap_or_default();
            // The elements of heap objects are told apart by their addresses: one array holds all that a site allocates.
            let apart = self.environment.is_single(*object) || matches!(object, Object::Heap(..));
            let known = apart && !self.opaque.contains(object);
            let typed = known && !cells.is_empty() && !self.raw.contains(object);
            let mut representation = if typed { represent(program, cells, &strides) } else { None };
            if matches!((object, &representation), (Object::Heap(..), Some(Representation::Cells(_)))) {
                representation = None;
            }
            // What typed cells leave out of a copied object would be lost.
            if self.copied.contains(object)
                && !representation.as_ref().is_some_and(|typed| self.covers(*object, typed))
            {
                representation = None;
            }
            if representation.is_none() && known && self.encoding.is_bits() {
                let pointers = cells.is_empty() || cells.iter().any(|(_, scalar)| *scalar == Scalar::Pointer);
                representation = Some(Representation::Bytes { pointers });
            }
            objects.insert(*object, representation.unwrap_or(Representation::Opaque));
        }
        // Far apart, never null, inside 31 bits so that both data models can hold them.
        let mut addresses = BTreeMap::new();
        let mut next = 0x10_0000u64;
        let mut place = |object: Object, size: u64| {
            addresses.entry(object).or_insert_with(|| {
                let address = next;
                next += (size + 64) & !63;
                address
            });
        };
        for name in program.globals.keys() {
            place(Object::Global(*name), self.environment.object_size(Object::Global(*name)).unwrap_or(0));
        }
        for function in program.functions.values() {
            for (i, local) in function.locals.iter().enumerate() {
                if !is_register(function, LocalId(i as u32)) {
                    place(Object::Local(function.name, LocalId(i as u32)), local.size);
                }
            }
        }
        let (first, most) = REGIONS;
        let mut count = 0;
        for (object, representation) in &mut objects {
            let Object::Heap(..) = object else { continue };
            if count < most && *representation != Representation::Opaque {
                addresses.insert(*object, first + count * REGION);
                count += 1;
            } else {
                *representation = Representation::Opaque;
            }
        }
        MemoryLayout { encoding: self.encoding, objects, addresses, placed: BTreeSet::new() }
    }
}

fn represent(
    program: &proofline_cfa::Program,
    cells: &BTreeSet<(i128, Scalar)>,
    strides: &BTreeSet<u64>,
) -> Option<Representation> {
    let Some(&stride) = strides.first() else {
        let mut out = BTreeMap::new();
        for &(offset, scalar) in cells {
            if out.insert(u64::try_from(offset).ok()?, scalar).is_some_and(|other| other != scalar) {
                return None;
            }
        }
        return apart(program, &out, u64::MAX).then_some(Representation::Cells(out));
    };
    if stride == 0 || strides.iter().any(|other| other % stride != 0) {
        return None;
    }
    let mut scalars = BTreeMap::new();
    for &(offset, scalar) in cells {
        let inside = u64::try_from(offset.rem_euclid(i128::from(stride))).ok()?;
        if scalars.insert(inside, scalar).is_some_and(|other| other != scalar) {
            return None;
        }
    }
    apart(program, &scalars, stride).then_some(Representation::Elements { stride, scalars })
}

/// Whether scalars do not overlap and end before `end`.
fn apart(program: &proofline_cfa::Program, scalars: &BTreeMap<u64, Scalar>, end: u64) -> bool {
    let mut free = 0;
    for (&offset, &scalar) in scalars {
        if offset < free {
            return false;
        }
        free = offset + program.scalar_bytes(scalar);
    }
    free <= end
}
