//! The predicates on memory in a running program: lives, sizes and bounds of objects.

use proofline_cfa::{Cause, Expr, IntType, MemoryPredicate, Scalar, Site, eval::Value};

use super::{
    code::FunctionCode,
    machine::{Machine, Step, stuck},
    memory::{Area, Extent, Provenance},
    oracle::Oracle,
    place::{Place, refused},
};

impl<'c, O: Oracle> Machine<'c, O> {
    /// Whether the predicate holds now.
    pub(super) fn memory_predicate(
        &mut self,
        code: &'c FunctionCode,
        predicate: MemoryPredicate,
        pointer: &Expr,
        size: &Expr,
    ) -> Step<bool> {
        match predicate {
            MemoryPredicate::NothingLost => {
                let Value::Int(frames) = self.eval(code, size)? else { return stuck("a float as a size") };
                return self.is_nothing_lost(frames as usize);
            }
            MemoryPredicate::NothingLeft => return self.is_nothing_left(),
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::InBounds
            | MemoryPredicate::Freeable
            | MemoryPredicate::Initialised
            | MemoryPredicate::Terminated => {}
        }
        let Some(address) = self.pointer_in_slot(code, pointer)? else {
            // So far from its object: it is alive where the pointer was made, and has no such bytes.
            return Ok(matches!(predicate, MemoryPredicate::NotFreed | MemoryPredicate::NotEnded));
        };
        let Value::Int(size) = self.eval(code, size)? else { return stuck("a float as a size") };
        let provenance = self.memory.provenance(address);
        let is_made_up = self.is_made_up(address);
        if is_made_up && predicate == MemoryPredicate::Initialised {
            return Ok(true);
        }
        let holds = match predicate {
            MemoryPredicate::NotFreed => provenance != Provenance::Ended(Area::Heap),
            MemoryPredicate::NotEnded => provenance != Provenance::Ended(Area::Stack),
            MemoryPredicate::InBounds => size == 0 || self.is_inside(provenance, address, size),
            MemoryPredicate::Freeable => address == 0 || self.memory.is_freeable(address),
            MemoryPredicate::Initialised => self.is_initialised(provenance, address, size)?,
            MemoryPredicate::Terminated => self.is_terminated(code, provenance, address, size)?,
            MemoryPredicate::NothingLost | MemoryPredicate::NothingLeft => true,
        };
        if is_made_up && !holds {
            return stuck("how large an object of the callers is, they know");
        }
        Ok(holds)
    }

    /// The address; `None` if it is far away from the object that it was made from.
    fn pointer_in_slot(&mut self, code: &'c FunctionCode, pointer: &Expr) -> Step<Option<u64>> {
        if let Expr::Address(lvalue) = pointer {
            return match self.place_in_slot(code, lvalue)? {
                Some(Place::Memory(address)) => Ok(Some(address)),
                Some(Place::Register(_)) => stuck("the address of a register"),
                None => Ok(None),
            };
        }
        match self.eval(code, pointer)? {
            Value::Int(address) => Ok(Some(address as u64)),
            Value::Float(_) => stuck("a float is followed as a pointer"),
        }
    }

    fn is_inside(&self, provenance: Provenance, address: u64, size: i128) -> bool {
        let Provenance::Live(Extent { base, size: whole, .. }) = provenance else { return false };
        address >= base && i128::from(address - base) + size <= i128::from(whole)
    }

    fn is_initialised(&mut self, provenance: Provenance, address: u64, size: i128) -> Step<bool> {
        if !self.is_inside(provenance, address, size) {
            return Ok(true);
        }
        for at in address..address + size as u64 {
            let is_known = self.memory.read_bits(at, 1, 0xff).or_else(refused)?.is_some();
            // Bytes that are not modelled, and bytes of the program's arguments, have a value that is not known yet.
            let has_value = is_known
                || self.memory.is_unmodelled(at, 1).or_else(refused)?
                || self.memory.is_given(at)
                || self.why_unknown(at) != Cause::Indeterminate;
            if !has_value {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks for the byte 0; bytes without a value get one, as at any other read.
    fn is_terminated(
        &mut self,
        code: &FunctionCode,
        provenance: Provenance,
        address: u64,
        most: i128,
    ) -> Step<bool> {
        let Provenance::Live(Extent { base, size, .. }) = provenance else { return Ok(false) };
        if address < base {
            return Ok(false);
        }
        // An argument of the program is a string, whatever its bytes will be.
        if self.why_unknown(address) != Cause::Indeterminate {
            return Ok(true);
        }
        let end = base + size;
        let asked = if most == 0 { end } else { end.min(address.saturating_add(most as u64)) };
        for at in address..asked {
            let known = self.memory.read_bits(at, 1, 0xff).or_else(refused)?;
            let byte = match known {
                Some(byte) => byte as u8,
                None => match self.ask_byte(code, at)? {
                    Some(byte) => byte,
                    None => self.any_byte(code, at)?,
                },
            };
            if byte == 0 {
                return Ok(true);
            }
        }
        Ok(most != 0 && address.saturating_add(most as u64) <= end)
    }

    fn any_byte(&mut self, code: &FunctionCode, at: u64) -> Step<u8> {
        let byte = Scalar::Int(IntType { bits: 8, signed: false });
        let cause = self.why_unknown(at);
        let Value::Int(value) = self.ask(code, Site(0), cause, byte) else {
            return stuck("a byte that is no number");
        };
        self.memory.write(at, 1, value as u128).or_else(refused)?;
        Ok(value as u8)
    }
}
