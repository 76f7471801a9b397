//! Executes one edge on a symbolic state: registers, cells, arrays, and everything else as a fresh value.

use std::collections::BTreeSet;

use proofline_cfa::{Allocation, Base, BitField, Cause, Expr, Function, Lvalue, Name, Object, Op, Scalar};
use proofline_program_analysis::Environment;
use proofline_smt::{Sort, Term, build as t};

use crate::{
    arithmetic::{self, ExprContext, unknown},
    bytes::BYTE,
    encoding::Encoding,
    layout::{self, MemoryLayout, Representation},
    place::{Place, Target},
    pointers::Extent,
    state::{Fresh, Key, State},
};

/// Elements of a zeroed allocation that are written one by one, at most.
const MOST_ZEROS: u64 = 64;

/// Executes edges of one instance of a function on one state.
pub(crate) struct Executor<'x> {
    pub(crate) environment: &'x Environment,
    pub(crate) layout: &'x MemoryLayout,
    pub(crate) fresh: &'x mut Fresh,
    pub(crate) function: &'x Function,
    pub(crate) instance: u32,
    pub(crate) state: State,
    pub(crate) wrapv: bool,
    /// Values of nondeterministic inputs met, in order.
    pub(crate) inputs: Vec<Term>,
}

impl Executor<'_> {
    /// Every operation but calls.
    pub(crate) fn operation(&mut self, op: &Op) {
        match op {
            Op::Skip | Op::End(_) | Op::Free(_) => {}
            Op::Assume(value) => {
                let condition = arithmetic::condition(value, self);
                self.state.assume(condition);
            }
            Op::Assign(dst, value) => {
                let value = arithmetic::value(value, self);
                self.store(dst, value);
            }
            Op::Havoc(dst, cause) => match dst.scalar {
                Some(scalar) => {
                    let value = self.any(scalar, cause);
                    self.store(dst, value);
                }
                None => self.forget(dst),
            },
            Op::Copy(dst, src) => self.copy(dst, src),
            Op::Begin(id) => {
                if layout::is_register(self.function, *id) {
                    let scalar = self.register_format(*id);
                    let variable = self.any_value(scalar);
                    self.state.values.insert(Key::Local(self.instance, *id), variable);
                } else {
                    self.forget_object(Object::Local(self.function.name, *id));
                }
            }
            Op::Clobber(..) => {
                let escaped: Vec<Object> = self.environment.escaped().iter().copied().collect();
                for object in escaped {
                    self.forget_object(object);
                }
                // What the arguments reach has escaped, too: the environment says so.
            }
            Op::Allocate(allocation) => {
                let value = self.allocate(allocation);
                self.store(&allocation.dst, value);
            }
            Op::FillBytes(pointer, byte, size) => {
                let whole = self.whole_object(pointer, size);
                match (whole, byte) {
                    (Some(object), Expr::Int(0, _)) => self.zero(object),
                    _ => self.fill_bytes(pointer, byte, size),
                }
            }
            Op::CopyBytes(to, from, size) => self.copy_bytes(to, from, size),
            Op::HavocBytes(pointer, _, _) => self.forget_behind(pointer),
            // The explorer takes calls apart.
            Op::Call(_) => {}
        }
    }

    pub(crate) fn enc(&self) -> Encoding {
        self.layout.encoding()
    }

    fn register_format(&self, id: proofline_cfa::LocalId) -> Option<Scalar> {
        proofline_cfa::scalar_of(self.function.local(id).ty, self.environment.program().data_model)
    }

    /// Anything of a format; of no format a token.
    pub(crate) fn any_value(&mut self, scalar: Option<Scalar>) -> Term {
        match scalar {
            Some(scalar) => unknown(self, scalar),
            None => self.fresh.variable(Sort::Int),
        }
    }

    /// The address of a fresh object: somewhere in the region of its site. (It may be that of an older object of the site: then less is
    /// known than could be.)
    fn allocate(&mut self, allocation: &Allocation) -> Term {
        let encoding = self.enc();
        let somewhere = unknown(self, Scalar::Pointer);
        self.state.assume(t::not(t::eq(somewhere, encoding.address(0))));
        // An allocation may fail.
        let fails = if allocation.may_fail {
            let fails = self.fresh.variable(Sort::Bool);
            self.inputs.push(t::ite(fails, t::int(1), t::int(0)));
            fails
        } else {
            t::bool(false)
        };
        let other = t::ite(fails, encoding.address(0), somewhere);
        let object = Object::Heap(self.function.name, allocation.site);
        let Some(region) = self.layout.address(object) else { return other };
        // Of bytes only every sixteenth may be the first: what `malloc` promises.
        let stride = match self.layout.representation(object) {
            Representation::Elements { stride, .. } => *stride,
            Representation::Bytes { .. } => 16,
            Representation::Cells(_) | Representation::Opaque => return other,
        };
        let half = layout::REGION / 2;
        let size = arithmetic::value(&allocation.size, self);
        let size = match allocation.size.int_type() {
            Some(ty) => encoding.widen(size, ty),
            None => return other,
        };
        let element = if self.layout.is_placed(object) {
            encoding.address(0)
        } else {
            self.fresh.variable(encoding.sort(Scalar::Pointer))
        };
        self.state.assume(encoding.inside(element, half / stride));
        if allocation.zeroed {
            self.zero_fresh(object, element, stride, size);
        }
        let address = encoding.sum([encoding.address(region), encoding.times(element, stride)]);
        // What is too large for a region is somewhere else.
        let placed = t::ite(encoding.inside(size, half + 1), address, somewhere);
        t::ite(fails, encoding.address(0), placed)
    }

    /// Zeros in the first elements of a fresh object. Of larger ones the contents are any, which zeros are.
    fn zero_fresh(&mut self, object: Object, element: Term, stride: u64, size: Term) {
        let encoding = self.enc();
        let size = size
            .as_int()
            .and_then(|n| u64::try_from(n).ok())
            .or_else(|| size.as_bitvec().and_then(|bits| u64::try_from(bits.unsigned()).ok()));
        let Some(size) = size else { return };
        let keys = self.keys(object);
        for key in keys {
            let Key::Elements(_, step, _, scalar) = key else { continue };
            let first = encoding.times(element, stride / step);
            for i in 0..(size / step).min(MOST_ZEROS) {
                let old = self.current(key);
                let index = encoding.sum([first, encoding.address(i)]);
                self.state.values.insert(key, t::store(old, index, encoding.zero(scalar)));
            }
        }
    }

    fn any(&mut self, scalar: Scalar, cause: &Cause) -> Term {
        let value = unknown(self, scalar);
        if let Cause::Input(_) | Cause::External(_) | Cause::Keeping(_) | Cause::Within(_) | Cause::Volatile =
            cause
        {
            self.inputs.push(value);
        }
        value
    }

    pub(crate) fn current(&mut self, key: Key) -> Term {
        if let Some(&term) = self.state.values.get(&key) {
            return term;
        }
        let variable = self.anything(key);
        self.state.values.insert(key, variable);
        variable
    }

    /// Any contents of a cell or array.
    pub(crate) fn anything(&mut self, key: Key) -> Term {
        let encoding = self.enc();
        let variable = self.fresh.variable(encoding.sort_of(key, |id| self.register_format(id)));
        if let Key::Cell(_, _, scalar) = key {
            self.state.assume(encoding.in_range(variable, scalar));
        }
        variable
    }

    fn read(&mut self, lvalue: &Lvalue, scalar: Scalar) -> Term {
        match self.target(lvalue) {
            Target::Register(key) => {
                if !self.state.values.contains_key(&key) {
                    let value = unknown(self, scalar);
                    self.state.values.insert(key, value);
                }
                self.state.values[&key]
            }
            Target::Objects(places) => self.read_places(&places, scalar, lvalue.bits),
        }
    }

    /// The value at one of some places.
    pub(crate) fn read_places(&mut self, places: &[Place], scalar: Scalar, bits: Option<BitField>) -> Term {
        let encoding = self.enc();
        let mut options = Vec::new();
        for place in places {
            if let Representation::Bytes { .. } = self.layout.representation(place.object) {
                let (condition, value) = self.read_bytes(place, scalar, bits);
                if !condition.is_false() {
                    options.push((condition, value));
                }
                continue;
            }
            if bits.is_some() {
                continue;
            }
            for (key, element, condition) in self.cells(place, scalar) {
                let whole = self.current(key);
                let value = match element {
                    Some(element) => {
                        let value = t::select(whole, element);
                        // Elements are in range because only values in range are ever stored.
                        let range = t::implies(condition, encoding.in_range(value, scalar));
                        self.state.assume(range);
                        value
                    }
                    None => whole,
                };
                options.push((condition, value));
            }
        }
        // The last resort is anything; not needed where one option always applies.
        let mut value = match options.iter().position(|(condition, _)| condition.is_true()) {
            Some(at) => options.swap_remove(at).1,
            None => unknown(self, scalar),
        };
        for (condition, option) in options.into_iter().rev() {
            value = t::ite(condition, option, value);
        }
        value
    }

    /// Writes a scalar.
    pub(crate) fn store(&mut self, lvalue: &Lvalue, value: Term) {
        let Some(scalar) = lvalue.scalar else { return self.forget(lvalue) };
        match self.target(lvalue) {
            Target::Register(key) => {
                self.state.values.insert(key, value);
            }
            Target::Objects(places) => {
                let width = self.environment.program().scalar_bytes(scalar).max(lvalue.size);
                for place in places {
                    self.store_place(&place, scalar, lvalue.bits, value, width);
                }
            }
        }
    }

    /// Writes a scalar at a place that may be meant.
    pub(crate) fn store_place(
        &mut self,
        place: &Place,
        scalar: Scalar,
        bits: Option<BitField>,
        value: Term,
        width: u64,
    ) {
        if let Representation::Bytes { .. } = self.layout.representation(place.object) {
            return self.write_bytes(place, scalar, bits, value);
        }
        let hit = if bits.is_none() { self.write_cell(place, scalar, value) } else { Vec::new() };
        self.stray_write(place, width, &hit);
    }

    /// Writes the cell of this format that a place is; the conditions under which it is one.
    pub(crate) fn write_cell(&mut self, place: &Place, scalar: Scalar, value: Term) -> Vec<Term> {
        let mut hit = Vec::new();
        for (key, element, condition) in self.cells(place, scalar) {
            let old = self.current(key);
            let new = match element {
                Some(element) => t::store(old, element, value),
                None => value,
            };
            self.state.values.insert(key, t::ite(condition, new, old));
            hit.push(condition);
        }
        hit
    }

    /// A write of `width` bytes into an object that hits none of its cells (misaligned, another format) may change those it overlaps.
    pub(crate) fn stray_write(&mut self, place: &Place, width: u64, hit: &[Term]) {
        let (object, encoding) = (place.object, self.enc());
        let Some(size) = self.extent(object) else { return self.forget_object(object) };
        let keys = self.keys(object);
        if keys.is_empty() {
            return;
        }
        let offset = place.offset.whole(encoding);
        let before = |a: Term, b: i128| encoding.before(a, encoding.address(b));
        let inside = t::and([
            encoding.before(encoding.address(-i128::from(width)), offset),
            before(offset, i128::from(size)),
        ]);
        let stray = t::and([inside, t::not(t::or(hit.iter().copied()))]);
        if stray.is_false() {
            return;
        }
        for key in keys {
            let overlaps = match key {
                Key::Cell(_, at, scalar) => {
                    let end = at + self.environment.program().scalar_bytes(scalar);
                    t::and([
                        before(offset, i128::from(end)),
                        encoding.before(encoding.address(i128::from(at) - i128::from(width)), offset),
                    ])
                }
                // How far behind the start of a cell the write begins, a remainder would say: too expensive with bits.
                Key::Elements(..) if encoding.is_bits() => t::bool(true),
                Key::Elements(_, stride, at, scalar) => {
                    let behind = t::modulo(t::sub(offset, t::int(at)), t::int(stride));
                    let bytes = self.environment.program().scalar_bytes(scalar);
                    t::or([
                        t::lt(behind, t::int(bytes)),
                        t::lt(t::int(i128::from(stride) - i128::from(width)), behind),
                    ])
                }
                Key::Local(..) => continue,
            };
            let changes = t::and([stray, overlaps]);
            if changes.is_false() {
                continue;
            }
            let old = self.current(key);
            let any = self.anything(key);
            self.state.values.insert(key, t::ite(changes, any, old));
        }
    }

    pub(crate) fn keys(&self, object: Object) -> Vec<Key> {
        keys_of(self.layout, object)
    }

    /// Any contents.
    pub(crate) fn forget_object(&mut self, object: Object) {
        for key in self.keys(object) {
            let any = self.anything(key);
            self.state.values.insert(key, any);
        }
    }

    fn zero(&mut self, object: Object) {
        let encoding = self.enc();
        for key in self.keys(object) {
            let zero = match key {
                Key::Elements(_, _, _, scalar) => {
                    t::const_array(encoding.array(scalar), encoding.zero(scalar))
                }
                Key::Cell(_, _, scalar) => encoding.zero(scalar),
                Key::Local(..) => continue,
            };
            self.state.values.insert(key, zero);
        }
    }

    /// Any contents of the objects an lvalue may lie in.
    pub(crate) fn forget(&mut self, lvalue: &Lvalue) {
        if let Base::Local(id) = lvalue.base
            && layout::is_register(self.function, id)
        {
            let scalar = self.register_format(id);
            let variable = self.any_value(scalar);
            self.state.values.insert(Key::Local(self.instance, id), variable);
            return;
        }
        for object in layout::objects(self.environment, self.function, lvalue) {
            self.forget_object(object);
        }
    }

    pub(crate) fn forget_behind(&mut self, pointer: &Expr) {
        let objects: BTreeSet<Object> = self.environment.targets(self.function.name, pointer).objects.clone();
        for object in objects {
            self.forget_object(object);
        }
    }

    /// The object, when pointer and size say that all of one object is meant.
    fn whole_object(&self, pointer: &Expr, size: &Expr) -> Option<Object> {
        let mut pointer = pointer;
        while let Expr::Cast(_, arg, _) = pointer {
            pointer = arg;
        }
        let Expr::Address(lvalue) = pointer else { return None };
        let object = match lvalue.base {
            Base::Local(id) => Object::Local(self.function.name, id),
            Base::Global(name) => Object::Global(name),
            Base::Deref(..) => return None,
        };
        let shape = layout::shape(self.environment, lvalue);
        let Expr::Int(size, _) = size else { return None };
        let total = self.environment.object_size(object)?;
        (shape.offset == 0 && shape.strides.is_empty() && i128::from(total) == *size).then_some(object)
    }
}

impl ExprContext for Executor<'_> {
    fn extents(&self, pointer: &Expr) -> Vec<Extent> {
        let extent = |object: Object| {
            let (start, size) = (self.layout.address(object), self.extent(object).unwrap_or(0));
            Extent { object, start, size, ends: self.environment.ended().contains(&object) }
        };
        match pointer {
            Expr::Cast(_, arg, _) if arg.scalar() == Scalar::Pointer => self.extents(arg),
            Expr::Address(Lvalue { base: Base::Local(id), .. }) => {
                vec![extent(Object::Local(self.function.name, *id))]
            }
            Expr::Address(Lvalue { base: Base::Global(name), .. }) => vec![extent(Object::Global(*name))],
            Expr::Address(Lvalue { base: Base::Deref(inner, _), .. }) => self.extents(inner),
            _ => {
                let targets = self.environment.targets(self.function.name, pointer);
                targets.objects.iter().map(|object| extent(*object)).collect()
            }
        }
    }

    fn load(&mut self, lvalue: &Lvalue) -> Term {
        let scalar = lvalue.scalar.unwrap_or(Scalar::Pointer);
        self.read(lvalue, scalar)
    }

    fn address(&mut self, lvalue: &Lvalue) -> Term {
        let encoding = self.enc();
        match &lvalue.base {
            Base::Deref(pointer, _) => {
                let address = arithmetic::value(pointer, self);
                let inside = self.path(lvalue).whole(encoding);
                encoding.sum([address, inside])
            }
            Base::Local(_) | Base::Global(_) => {
                let object = match lvalue.base {
                    Base::Local(id) => Object::Local(self.function.name, id),
                    Base::Global(name) => Object::Global(name),
                    Base::Deref(..) => Object::External,
                };
                match self.layout.address(object) {
                    Some(address) => {
                        let inside = self.path(lvalue).whole(encoding);
                        encoding.sum([encoding.address(address), inside])
                    }
                    None => self.some_address(),
                }
            }
        }
    }

    fn function(&mut self, name: Name) -> Term {
        let index = self.environment.program().functions.keys().position(|f| *f == name);
        match index {
            // Below every object, apart from each other.
            Some(index) => self.enc().address(0x1000 + 16 * index as u64),
            None => self.some_address(),
        }
    }

    fn fresh(&mut self) -> &mut Fresh {
        self.fresh
    }
    fn assume(&mut self, condition: Term) {
        self.state.assume(condition);
    }
    fn encoding(&self) -> Encoding {
        self.layout.encoding()
    }
    fn wrapv(&self) -> bool {
        self.wrapv
    }
}

impl Executor<'_> {
    /// Any address but null.
    fn some_address(&mut self) -> Term {
        let value = unknown(self, Scalar::Pointer);
        let null = self.enc().address(0);
        self.state.assume(t::not(t::eq(value, null)));
        value
    }
}

/// The keys of an object.
pub(crate) fn keys_of(layout: &MemoryLayout, object: Object) -> Vec<Key> {
    match layout.representation(object) {
        Representation::Opaque => Vec::new(),
        Representation::Cells(cells) => {
            cells.iter().map(|(at, scalar)| Key::Cell(object, *at, *scalar)).collect()
        }
        Representation::Elements { stride, scalars } => {
            scalars.iter().map(|(inside, scalar)| Key::Elements(object, *stride, *inside, *scalar)).collect()
        }
        Representation::Bytes { pointers } => {
            let pointers = pointers.then_some(Key::Elements(object, 1, 0, Scalar::Pointer));
            [Key::Elements(object, 1, 0, BYTE)].into_iter().chain(pointers).collect()
        }
    }
}
