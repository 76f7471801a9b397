//! The predicates on memory in a running program: lives, sizes and bounds of objects.

use std::{collections::BTreeSet, ops::Range};

use proofline_cfa::{Base, Cause, Expr, IntType, MemoryPredicate, Scalar, Site, eval::Value};

use super::{
    code::FunctionCode,
    machine::{Machine, Step, stuck},
    memory::{Area, Extent, Provenance},
    oracle::Oracle,
    place::{Place, refused},
    start,
    trace::Touched,
};

/// What code outside of the program was given pointers to. It may have written there, so those bytes are assumed to have values.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// Starts of objects.
    roots: BTreeSet<u64>,
    /// Where the next objects were going to be when it last ran.
    before: [u64; 3],
}

/// Of a larger object it is not shown which bytes have a value.
const MOST_SHOWN: u64 = 1 << 12;

/// So many characters are looked at for one that is known.
const LONGEST_LOOK: u64 = 1024;

/// Whether a volatile object is accessed: a register of a device, where there is no object of the program.
fn is_volatile(pointer: &Expr) -> bool {
    let accessed = match pointer {
        Expr::Address(place) => Some(place.ty),
        Expr::Load(place) => place.ty.pointee(),
        _ => None,
    };
    accessed.is_some_and(|ty| ty.qualifiers().is_volatile)
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// Code outside runs, with these arguments.
    pub(super) fn run_outside(&mut self, code: &'c FunctionCode, values: &[Expr]) -> Step<()> {
        if !self.code.asks_for_values {
            return Ok(());
        }
        for value in values.iter().filter(|value| value.scalar() == Scalar::Pointer) {
            if let Value::Int(address) = self.eval(code, value)?
                && let Provenance::Live(extent) = self.memory.provenance(address as u64)
            {
                self.outside.roots.insert(extent.base);
            }
        }
        self.outside.before = self.memory.frontier();
        Ok(())
    }

    /// Whether code outside could write to the object when it last ran. What can be reached now is looked at, which may be more.
    fn is_known_outside(&self, extent: Extent) -> bool {
        if extent.base >= self.outside.before[extent.area as usize] {
            return false;
        }
        let statics = self.memory.live().filter(|extent| extent.area == Area::Static);
        let given = self.outside.roots.iter().filter_map(|base| match self.memory.provenance(*base) {
            Provenance::Live(extent) => Some(extent),
            Provenance::Ended(_) | Provenance::Nothing => None,
        });
        self.reachable(statics.chain(given).collect()).contains(&extent.base)
    }

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
                let lost = self.lost(frames as usize)?;
                if let (Some(object), Some(trace)) = (lost, &mut self.trace) {
                    let (address, size, written) = (object.base, 0, None);
                    trace.touched = Some(Touched { predicate, address, size, object, written });
                    trace.is_null = false;
                }
                return Ok(lost.is_none());
            }
            MemoryPredicate::NothingLeft => return self.is_nothing_left(),
            MemoryPredicate::SameObject => return self.is_same_object(code, pointer, size),
            MemoryPredicate::Callable => return self.is_callable(code, pointer, size),
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::InBounds
            | MemoryPredicate::Within
            | MemoryPredicate::Freeable
            | MemoryPredicate::Writable
            | MemoryPredicate::Initialised
            | MemoryPredicate::Terminated
            | MemoryPredicate::WideTerminated => {}
        }
        let Some(address) = self.pointer_in_slot(code, pointer)? else {
            if let Some(trace) = &mut self.trace {
                (trace.touched, trace.is_null) = (None, false);
            }
            // So far from its object: it is alive where the pointer was made, and has no such bytes.
            return Ok(matches!(
                predicate,
                MemoryPredicate::NotFreed | MemoryPredicate::NotEnded | MemoryPredicate::Writable
            ));
        };
        let Value::Int(size) = self.eval(code, size)? else { return stuck("a float as a size") };
        let provenance = self.memory.provenance(address);
        let is_made_up = self.is_made_up(address);
        if is_made_up && predicate == MemoryPredicate::Initialised {
            return Ok(true);
        }
        // Looking for the end of a string gives bytes without a value one.
        let is_string = matches!(predicate, MemoryPredicate::Terminated | MemoryPredicate::WideTerminated);
        let before = match self.trace.is_some() && is_string {
            true => self.touched(predicate, address, size)?,
            false => None,
        };
        let holds = match predicate {
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::InBounds
            | MemoryPredicate::Within
            | MemoryPredicate::Freeable
            | MemoryPredicate::Writable => self.holds_of_object(predicate, provenance, address, size),
            MemoryPredicate::Initialised => {
                let mask = match pointer {
                    Expr::Address(lvalue) => lvalue.bits.map(|bits| super::place::field(bits).1),
                    _ => None,
                };
                self.is_initialised(provenance, address, size, mask.unwrap_or(u128::MAX))?
            }
            MemoryPredicate::Terminated => self.is_terminated(code, provenance, address, size, 1)?,
            MemoryPredicate::WideTerminated => self.is_terminated(code, provenance, address, size, 4)?,
            MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft
            | MemoryPredicate::SameObject
            | MemoryPredicate::Callable => true,
        };
        if is_made_up && !holds {
            return stuck("how large an object of the callers is, they know");
        }
        if !holds && predicate != MemoryPredicate::Freeable && self.is_of_unknown_size(address) {
            return stuck("how large an object of another file is, no declaration says");
        }
        if !holds && provenance == Provenance::Nothing && address != 0 && is_volatile(pointer) {
            return stuck("what lies at an address that is a number, the machine knows");
        }
        if !holds && self.trace.is_some() {
            // The last that is noted is what fails.
            let touched = if is_string { before } else { self.touched(predicate, address, size)? };
            if let Some(trace) = &mut self.trace {
                trace.touched = touched;
                trace.is_null = address == 0;
            }
        }
        Ok(holds)
    }

    /// Whether one of the predicates that ask only which objects live holds; others are not asked for here.
    pub(super) fn holds_of_object(
        &self,
        predicate: MemoryPredicate,
        provenance: Provenance,
        address: u64,
        size: i128,
    ) -> bool {
        match predicate {
            MemoryPredicate::NotFreed => provenance != Provenance::Ended(Area::Heap),
            MemoryPredicate::NotEnded => provenance != Provenance::Ended(Area::Stack),
            MemoryPredicate::InBounds => size == 0 || self.is_inside(provenance, address, size),
            MemoryPredicate::Within => match provenance {
                Provenance::Live(_) => self.is_inside(provenance, address, 0),
                Provenance::Ended(_) => true,
                Provenance::Nothing => address == 0,
            },
            MemoryPredicate::Freeable => address == 0 || self.memory.is_freeable(address),
            MemoryPredicate::Writable => match provenance {
                Provenance::Live(extent) => size == 0 || !self.code.program.is_read_only(extent.object),
                Provenance::Ended(_) | Provenance::Nothing => true,
            },
            MemoryPredicate::Initialised
            | MemoryPredicate::Callable
            | MemoryPredicate::SameObject
            | MemoryPredicate::Terminated
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => false,
        }
    }

    /// Whether what is called through a pointer may be called so.
    fn is_callable(&mut self, code: &'c FunctionCode, pointer: &Expr, arguments: &Expr) -> Step<bool> {
        let (Expr::Address(lvalue), Expr::Int(count, _)) = (pointer, arguments) else { return Ok(true) };
        let Base::Deref(called, _) = &lvalue.base else { return Ok(true) };
        let Value::Int(address) = self.eval(code, called)? else { return Ok(true) };
        let found = self.code.function_at(address).map(|index| &self.code.functions[index as usize]);
        let Some(found) = found else {
            if let Some(name) = start::function_at(&self.code.program, address) {
                return Ok(self.code.program.may_call(name, lvalue.ty, *count as usize) != Some(false));
            }
            // Of an object that the run made up nobody knows what it is.
            let address = address as u64;
            let is_object = !matches!(self.memory.provenance(address), Provenance::Nothing);
            return Ok(!is_object || self.is_made_up(address));
        };
        Ok(self.code.program.may_call(found.function.name, lvalue.ty, *count as usize) != Some(false))
    }

    /// What people want to see of the object.
    fn touched(&mut self, predicate: MemoryPredicate, address: u64, size: i128) -> Step<Option<Touched>> {
        let provenance = self.memory.provenance(address);
        Ok(match provenance {
            Provenance::Live(object) => {
                let is_asked = object.area != Area::Static && object.size <= MOST_SHOWN;
                let written = if is_asked { Some(self.written(provenance, object)?) } else { None };
                Some(Touched { predicate, address, size, object, written })
            }
            Provenance::Ended(_) | Provenance::Nothing => None,
        })
    }

    /// Which bytes of an object have a value.
    fn written(&mut self, provenance: Provenance, object: Extent) -> Step<Vec<(u64, u64)>> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for at in 0..object.size {
            if self.is_initialised(provenance, object.base + at, 1, u128::MAX)? {
                match ranges.last_mut() {
                    Some((_, end)) if *end == at => *end = at + 1,
                    _ => ranges.push((at, at + 1)),
                }
            }
        }
        Ok(ranges)
    }

    /// Whether two pointers lead into one object. Those that callers gave may, whatever they lead to in this run.
    fn is_same_object(&mut self, code: &'c FunctionCode, left: &Expr, right: &Expr) -> Step<bool> {
        let mut at = [0; 2];
        for (at, pointer) in at.iter_mut().zip([left, right]) {
            let Some(address) = self.pointer_in_slot(code, pointer)? else {
                return stuck("a pointer far away from its object is compared");
            };
            *at = address;
        }
        let holds = match at.map(|address| self.memory.provenance(address)) {
            [Provenance::Live(left), Provenance::Live(right)] => left.base == right.base,
            [Provenance::Ended(_), _] | [_, Provenance::Ended(_)] => true,
            [Provenance::Nothing, _] | [_, Provenance::Nothing] => at[0] == at[1],
        };
        if !holds && at.iter().any(|address| self.is_made_up(*address)) {
            return stuck("whether objects of the callers are one, they know");
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

    /// Whether the byte is indeterminate.
    pub(super) fn is_without_value(&mut self, address: u64) -> Step<bool> {
        let provenance = self.memory.provenance(address);
        Ok(!self.is_made_up(address) && !self.is_initialised(provenance, address, 1, u128::MAX)?)
    }

    /// Whether the bytes have values; of the first of them the bits of the mask.
    pub(super) fn is_initialised(
        &mut self,
        provenance: Provenance,
        address: u64,
        size: i128,
        mask: u128,
    ) -> Step<bool> {
        let Provenance::Live(extent) = provenance else { return Ok(true) };
        if extent.area == Area::Static || !self.is_inside(provenance, address, size) {
            return Ok(true);
        }
        for (at, byte) in (address..address + size as u64).zip(0..) {
            let wanted = mask.checked_shr(8 * byte).map_or(0xff, |mask| mask & 0xff);
            let is_known = self.memory.read_bits(at, 1, wanted).or_else(refused)?.is_some();
            // Bytes that are not modelled, and bytes of the program's arguments, have a value that is not known yet.
            let has_value = is_known
                || self.memory.is_unmodelled(at, 1).or_else(refused)?
                || self.memory.is_given(at)
                || self.why_unknown(at) != Cause::Indeterminate;
            if !has_value {
                return Ok(self.is_known_outside(extent));
            }
        }
        Ok(true)
    }

    /// Looks for the character 0 of so many bytes; bytes without a value get one, as at any other read.
    fn is_terminated(
        &mut self,
        code: &FunctionCode,
        provenance: Provenance,
        address: u64,
        most: i128,
        width: u64,
    ) -> Step<bool> {
        let Provenance::Live(Extent { base, size, .. }) = provenance else { return Ok(false) };
        if address < base {
            return Ok(false);
        }
        // An argument of the program is a string, whatever its bytes will be.
        if width == 1 && self.why_unknown(address) != Cause::Indeterminate {
            return Ok(true);
        }
        let end = base + size;
        let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_mul(width);
        let asked = if most == 0 { end } else { end.min(address.saturating_add(most)) };
        self.looks_for_end(address..asked, width)?;
        // A character 0 that is known ends the string, whatever is before it: that is asked for only where it matters. (How large callers' objects
        // are nobody knows; there the first 0 is found in order.)
        let whole = asked.saturating_sub(address) / width;
        let look = if self.is_made_up(address) { 0 } else { whole.min(LONGEST_LOOK) };
        if self.memory.has_zero(address..address + look * width, width as usize) {
            return Ok(true);
        }
        let mut character = address;
        while character.saturating_add(width) <= asked {
            let mut is_zero = true;
            for at in character..character + width {
                let known = self.memory.read_bits(at, 1, 0xff).or_else(refused)?;
                let byte = match known {
                    Some(byte) => byte as u8,
                    None => match self.ask_byte(code, at)? {
                        Some(byte) => byte,
                        None => self.any_byte(code, at)?,
                    },
                };
                if byte != 0 {
                    is_zero = false;
                    break;
                }
            }
            if is_zero {
                return Ok(true);
            }
            character += width;
        }
        Ok(most != 0 && address.saturating_add(most) <= end)
    }

    /// Where a string ends depends on where objects lie if bytes of an address come before its end.
    fn looks_for_end(&mut self, bytes: Range<u64>, width: u64) -> Step<()> {
        let whole = bytes.end.saturating_sub(bytes.start);
        if whole == 0 || !self.memory.has_address(bytes.start, whole).or_else(refused)? {
            return Ok(());
        }
        for at in bytes.clone().step_by(width as usize).take_while(|at| at + width <= bytes.end) {
            self.looks_at(at, width)?;
            if self.memory.has_zero(at..at + width, width as usize) {
                break;
            }
        }
        Ok(())
    }

    fn any_byte(&mut self, code: &FunctionCode, at: u64) -> Step<u8> {
        let byte = Scalar::Int(IntType { bits: 8, signed: false });
        let cause = self.why_unknown(self.memory.home(at, 1));
        let Value::Int(value) = self.ask(code, Site(0), cause, byte) else {
            return stuck("a byte that is no number");
        };
        self.memory.choose(at, 1, value as u128).or_else(refused)?;
        Ok(value as u8)
    }
}
