//! The memory of a running program as machine code sees it.
#![expect(unsafe_code, reason = "machine code gets the addresses of the bytes of objects")]

use proofline_cfa::{LocalId, Object};
use proofline_native::{self as native, FunctionIndex};

use super::super::{
    code::Code,
    memory::{Area, Memory},
};

/// The memory of a run of a program.
pub(super) struct Objects<'m> {
    pub(super) memory: &'m mut Memory,
    pub(super) code: &'m Code,
}

// SAFETY: an object's buffers are as long as the object, are shared with no other memory once they were asked for, and are never resized; nobody copies the
// memory during a run. Slots do not overlap, and each object lies in its own.
unsafe impl native::Objects for Objects<'_> {
    fn object(&mut self, address: u64) -> Option<native::Object> {
        let found = self.memory.buffers(address)?;
        Some(native::Object {
            base: found.base,
            size: found.bytes.len() as u64,
            slot: found.slot,
            bytes: found.bytes.as_mut_ptr(),
            known: found.known.as_mut_ptr(),
        })
    }

    fn allocate(&mut self, function: FunctionIndex, local: LocalId, size: u64) -> Option<u64> {
        let name = self.code.functions[function as usize].function.name;
        self.memory.allocate(Area::Stack, size, Object::Local(name, local)).ok()
    }

    fn is_comparable(&mut self, is_order: bool, one: u64, other: u64) -> bool {
        self.memory.is_comparable(is_order, one, other)
    }

    fn release(&mut self, base: u64) {
        self.memory.release(base);
    }
}
