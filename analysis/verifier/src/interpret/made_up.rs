//! Memory that comes into being while a run goes on: what a pointer of the callers of a library's function points to, be it an argument, in an
//! object of the library, or in such memory. Whether there is such memory is a choice of the run, and what it holds is chosen when it is first
//! looked at (lazy initialisation: Khurshid, Pasareanu and Visser, "Generalized Symbolic Execution for Model Checking and Testing", TACAS 2003).
//! How large it is, callers decide: an access that it does not hold says nothing.

use proofline_cfa::{Cause, Constant, Lvalue, Name, Object, Scalar, Site, Type, eval::Value};
use proofline_hir::TypeKind;

use super::{
    code::FunctionCode,
    machine::{Machine, Step, stuck},
    memory::{Area, Provenance},
    oracle::{Choice, Oracle},
    place::refused,
};

/// Bytes that a run may use of an object, if its type does not have more.
const ROOM: u64 = 1 << 10;
/// Larger ones are not made up.
const LARGEST: u64 = 1 << 16;
/// A run is given at most so many.
const MOST: usize = 200;

/// An object that came into being.
#[derive(Clone, PartialEq, Debug)]
pub struct MadeUp {
    /// So many events had happened.
    pub before: u64,
    /// In this function.
    pub function: Name,
    /// Where the pointer to it was found.
    pub at: Lvalue,
}

impl<O: Oracle> Machine<'_, O> {
    /// Whether callers decide what a pointer of this type is that points to such memory. (Functions are not made up.)
    pub(super) fn may_be_made_up(&self, ty: Type) -> bool {
        self.is_library
            && ty.pointee().is_some_and(|pointee| !matches!(pointee.kind(), TypeKind::Function(_)))
    }

    /// Whether callers decide what is in the object at the address until the run writes it.
    pub(super) fn is_callers(&self, address: u64) -> bool {
        let object = self.memory.object_at(address).map(|(object, ..)| object);
        matches!(object, Some(Object::External | Object::Global(_)))
    }

    /// Whether an address belongs to such an object. Where else in memory it may be, only callers know.
    pub(super) fn is_made_up(&self, address: u64) -> bool {
        match self.memory.provenance(address) {
            Provenance::Live(extent) => self.made_up.contains(&extent.base),
            Provenance::Ended(_) | Provenance::Nothing => false,
        }
    }

    /// Whether an address belongs to an object of another file, and no declaration here says how large it is.
    pub(super) fn is_of_unknown_size(&self, address: u64) -> bool {
        let Provenance::Live(extent) = self.memory.provenance(address) else { return false };
        let Object::Global(name) = extent.object else { return false };
        extent.size == 0 && self.code.program.globals.get(&name).is_some_and(|global| !global.defined)
    }

    /// A pointer of the callers: null, or to an object that nothing else points to.
    pub(super) fn ask_pointer(&mut self, code: &FunctionCode, cause: Cause, ty: Type) -> Step<Value> {
        let function = code.function.name;
        let choice = Choice { function, site: Site(0), cause, scalar: Scalar::Pointer, may_be_made_up: true };
        let is_there = self.oracle.choose(&choice) != 0;
        self.inputs.push((choice, i128::from(is_there)));
        if !is_there {
            return Ok(Value::Int(0));
        }
        if self.made_up.len() >= MOST {
            return stuck("more objects of callers than a run is given");
        }
        let types =
            proofline_cfa::Types { records: &self.code.program.records, model: self.code.program.data_model };
        let size = ty.pointee().and_then(|pointee| types.size(pointee)).unwrap_or(1);
        if size > LARGEST {
            return stuck("a larger object of the callers than a run is given");
        }
        // Callers may have got it from the heap, and the function may give it back.
        let base = self.allocate(Area::Heap, size.max(ROOM), Object::External)?;
        self.memory.forget(base, size.max(ROOM)).or_else(refused)?;
        self.made_up.insert(base);
        Ok(Value::Int(i128::from(base)))
    }

    /// The function whose address is in a variable at first, if executions start in the middle of the program: nobody may have changed it.
    pub(super) fn initial_function(&self, address: u64) -> Option<i128> {
        let (object, base, _) = self.memory.object_at(address).filter(|_| self.is_library)?;
        let Object::Global(name) = object else { return None };
        let global = self.code.program.globals.get(&name)?;
        let initial = global.init.iter().find(|initial| base + initial.offset == address)?;
        match initial.value {
            Constant::Function(name) => self.code.address_of(name),
            Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
        }
    }

    /// A pointer that leads to this function, or is null.
    pub(super) fn ask_function(&mut self, code: &FunctionCode, cause: Cause, address: i128) -> Value {
        let function = code.function.name;
        let choice = Choice { function, site: Site(0), cause, scalar: Scalar::Pointer, may_be_made_up: true };
        let is_there = self.oracle.choose(&choice) != 0;
        self.inputs.push((choice, i128::from(is_there)));
        // Nobody says that it may be null.
        self.is_guess |= !is_there;
        Value::Int(if is_there { address } else { 0 })
    }

    /// The same, where it is loaded.
    pub(super) fn load_pointer(&mut self, code: &FunctionCode, cause: Cause, at: &Lvalue) -> Step<Value> {
        let value = self.ask_pointer(code, cause, at.ty)?;
        if value != Value::Int(0)
            && let Some(trace) = &mut self.trace
        {
            let before = trace.dropped + trace.events.len() as u64;
            trace.made_up.push(MadeUp { before, function: code.function.name, at: at.clone() });
            self.watch(None);
        }
        Ok(value)
    }
}
