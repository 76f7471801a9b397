//! The objects of a run as people know them: an address becomes the name of what it leads to.

use proofline_cfa::{Object, Program, Scalar, eval::Value, register};

use crate::interpret::{Extent, function_at};

/// The objects of a run.
#[derive(Clone, Copy)]
pub(crate) struct Objects<'r> {
    program: &'r Program,
    /// Sorted by address.
    all: &'r [Extent],
}

impl<'r> Objects<'r> {
    /// Of a run; sorted by address.
    pub(crate) fn new(program: &'r Program, all: &'r [Extent]) -> Objects<'r> {
        Objects { program, all }
    }

    /// The object that an address leads to, or to whose end.
    pub(crate) fn at(self, address: i128) -> Option<&'r Extent> {
        let after = self.all.partition_point(|extent| i128::from(extent.base) <= address);
        let extent = self.all.get(after.checked_sub(1)?)?;
        (address <= i128::from(extent.base) + i128::from(extent.size)).then_some(extent)
    }

    /// What people call it: `x`, `heap object 2`.
    pub(crate) fn name(self, wanted: &Extent) -> String {
        match wanted.object {
            Object::Global(name) => plain(name.as_str()),
            Object::Local(function, id) => {
                let function = self.program.function(function);
                function.map_or_else(String::new, |function| plain(&function.local(id).name))
            }
            Object::External => "an object".to_owned(),
            Object::Heap(..) => {
                let is_heap = |extent: &&Extent| matches!(extent.object, Object::Heap(..));
                let before = self.all.iter().filter(is_heap).take_while(|extent| extent.base < wanted.base);
                format!("heap object {}", before.count() + 1)
            }
        }
    }

    /// A value as people write it.
    pub(crate) fn value_text(self, value: Value, scalar: Scalar) -> String {
        match (value, scalar) {
            (Value::Int(0), Scalar::Pointer) => "NULL".to_owned(),
            (Value::Int(address), Scalar::Pointer) => self.pointer_text(address),
            (Value::Int(value), _) => value.to_string(),
            (Value::Float(value), _) => value.to_string(),
        }
    }

    fn pointer_text(self, address: i128) -> String {
        let Some(extent) = self.at(address) else {
            let function = function_at(self.program, address);
            return function.map_or_else(|| format!("{address:#x}"), |name| name.written().to_owned());
        };
        let name = match extent.object {
            Object::Global(name) if name.contains('"') => self.name(extent),
            Object::Global(_) | Object::Local(..) => register::address_text(&self.name(extent)),
            Object::Heap(..) => self.name(extent),
            Object::External => "memory of the caller".to_owned(),
        };
        match address - i128::from(extent.base) {
            0 => name,
            offset => format!("{name} + {offset} bytes"),
        }
    }
}

/// A literal as it is, another name without what makes it unique.
fn plain(name: &str) -> String {
    // What a monitor provides, it names.
    if let Some(object) = name.strip_prefix(proofline_cfa::MONITOR) {
        return object.trim_start_matches(':').to_owned();
    }
    if name.contains('"') { name.to_owned() } else { name.split('#').next().unwrap_or(name).to_owned() }
}
