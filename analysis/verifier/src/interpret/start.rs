//! How a run begins: globals with their initial bytes, the entry function with its inputs.

use std::sync::Arc;

use proofline_cfa::{
    Cause, Constant, Entry, Function, Global, Name, Object, Program, Scalar, Site, eval::Value,
};
use proofline_hir::TypeKind;
use rustc_hash::FxHashMap;

use super::{
    arguments::is_array,
    code::{FunctionIndex, Home, Initial},
    machine::{Machine, Step, stuck},
    memory::Area,
    oracle::Oracle,
    place::refused,
};

/// Functions have addresses below every object.
pub(super) fn function_address(index: FunctionIndex) -> i128 {
    0x1000 + 16 * i128::from(index)
}

/// Functions in the order of their addresses: those with a body, then those that are declared only.
pub(super) fn addressed(program: &Program) -> impl Iterator<Item = Name> + '_ {
    let others = program.externals.keys().filter(|name| !program.functions.contains_key(name));
    program.functions.keys().chain(others).copied()
}

/// The function at an address.
pub(crate) fn function_at(program: &Program, address: i128) -> Option<Name> {
    let number = usize::try_from(address - function_address(0)).ok().filter(|from| from % 16 == 0)? / 16;
    addressed(program).nth(number)
}

/// Whether it is a variable of the library that leads to a standard stream. The slice says that it is not null (`program_analysis::nonnull`).
fn is_stream(global: &Global) -> bool {
    let is_pointer = matches!(global.ty.kind(), TypeKind::Pointer(_)) && global.size > 0;
    let names = ["stdin", "stdout", "stderr", "__stdinp", "__stdoutp", "__stderrp"];
    is_pointer && !global.defined && names.contains(&global.name.as_str())
}

impl<'c, O: Oracle> Machine<'c, O> {
    pub(super) fn start(&mut self, entry: Entry) -> Step<()> {
        let code = self.code;
        self.is_library = entry.is_library();
        let initial = &code.initial[usize::from(entry.is_library())];
        if let Some(initial) = initial.get() {
            self.memory = initial.memory.clone();
            self.globals = initial.globals.clone();
        } else {
            self.globals = Arc::new(self.statics(entry)?);
            // Another thread's is the same.
            let _ = initial.set(Initial { memory: self.memory.clone(), globals: self.globals.clone() });
        }
        if self.trace.is_some() {
            self.memory.remember_ended();
        }
        // Another function of the library may have closed a stream, or put another one in its place.
        if entry.is_library() && code.program.globals.values().any(|global| is_stream(global)) {
            self.is_determined = false;
        }
        let Some(&index) = code.by_name.get(&entry.name) else {
            return stuck(format!("{entry} has no body"));
        };
        let function = code.functions[index as usize].function.clone();
        let arguments = self.parameters(index, &function)?;
        self.make_arguments(entry, &function, &arguments)?;
        self.enter(index, &arguments, None, None)
    }

    /// Makes the objects with static storage; where they are.
    fn statics(&mut self, entry: Entry) -> Step<FxHashMap<Name, u64>> {
        let code = self.code;
        let mut globals = FxHashMap::default();
        for (name, global) in code.program.globals.iter().filter(|(name, _)| !is_array(**name)) {
            let base = self.allocate(Area::Static, global.size, Object::Global(*name))?;
            globals.insert(*name, base);
            let keeps_initial = global.keeps_initial(entry);
            if global.size > 0 {
                let begun = match keeps_initial {
                    true => self.memory.fill(base, global.size, 0),
                    false => self.memory.forget(base, global.size),
                };
                begun.or_else(refused)?;
            }
        }
        // The library has opened the standard streams.
        for (name, global) in code.program.globals.iter().filter(|(_, global)| is_stream(global)) {
            let types =
                proofline_cfa::Types { records: &code.program.records, model: code.program.data_model };
            let size = global.ty.pointee().and_then(|stream| types.size(stream)).unwrap_or(1).max(1);
            let stream = self.allocate(Area::Static, size, Object::External)?;
            self.memory.forget(stream, size).or_else(refused)?;
            self.memory.write(globals[name], global.size, u128::from(stream)).or_else(refused)?;
        }
        for (name, global) in &code.program.globals {
            if global.keeps_initial(entry) {
                let base = globals[name];
                for value in &global.init {
                    self.initialise(&globals, base, value)?;
                }
            }
        }
        Ok(globals)
    }

    fn initialise(
        &mut self,
        globals: &FxHashMap<Name, u64>,
        base: u64,
        initial: &proofline_cfa::InitialValue,
    ) -> Step<()> {
        let address = base + initial.offset;
        let size = super::place::value_bytes(&self.code.program, initial.scalar);
        let value = match &initial.value {
            Constant::Int(value) => *value as u128,
            Constant::Float(value) => value.to_bits(),
            Constant::Address(name, offset) => match globals.get(name) {
                Some(&target) => i128::from(target).wrapping_add(i128::from(*offset)) as u128,
                None => return self.memory.forget_unmodelled(address, size).or_else(refused),
            },
            Constant::Function(name) => match self.code.address_of(*name) {
                Some(address) => address as u128,
                None => return self.memory.forget_unmodelled(address, size).or_else(refused),
            },
            Constant::Unknown => return self.memory.forget_unmodelled(address, size).or_else(refused),
        };
        match initial.bits {
            None => {
                self.memory.write(address, size, value).or_else(refused)?;
                self.keep_address(address, size, initial.scalar, value)
            }
            Some(bits) => {
                let (size, mask) = super::place::field(bits);
                self.memory.write_bits(address, size, mask, value << bits.first).or_else(refused)
            }
        }
    }

    /// The entry function's arguments are inputs: records come from a fresh object with unknown bytes.
    fn parameters(&mut self, index: FunctionIndex, function: &Function) -> Step<Vec<Value>> {
        let code = &self.code.functions[index as usize];
        let mut values = Vec::new();
        for &parameter in &function.parameters {
            let local = function.local(parameter);
            let input = Cause::Input(local.name);
            let value = match (
                code.home(parameter),
                proofline_cfa::scalar_of(local.ty, self.code.program.data_model),
            ) {
                (_, Some(Scalar::Pointer)) if self.may_be_made_up(local.ty) => {
                    self.ask_pointer(code, input, local.ty)?
                }
                (_, Some(scalar)) => self.ask(code, Site(0), input, scalar),
                (Home::Memory(size), None) => {
                    let base = self.allocate(Area::Static, size, Object::External)?;
                    self.memory.forget(base, size).or_else(refused)?;
                    Value::Int(i128::from(base))
                }
                (Home::Register, None) => return stuck("a record in a register"),
            };
            values.push(value);
        }
        Ok(values)
    }
}
