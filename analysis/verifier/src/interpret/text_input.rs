//! Text that came from outside and that nobody has looked at yet: its characters are asked for when they matter, and a number that is
//! made of them is asked for as a whole, because no search finds ten digits one by one.

use proofline_cfa::{Base, CompareOp, Edge, Expr, IntType, LocalId, Lvalue, Op, Scalar, Site, eval::Value};

use super::{
    code::{FunctionCode, Home},
    library_result::{Bytes, End, number},
    machine::{Machine, Step},
    memory::Provenance,
    oracle::Oracle,
    place::refused,
};

/// Longer texts are not made equal.
const LONGEST_COMPARED: u64 = 64;
/// More digits are not written.
const LONGEST: u64 = 32;

impl<'c, O: Oracle> Machine<'c, O> {
    /// A byte that came from outside and that nobody looked at before; `None` if it is none.
    pub(super) fn ask_byte(&mut self, code: &FunctionCode, address: u64) -> Step<Option<u8>> {
        if !self.is_argument(address) && !self.memory.is_open(address) {
            return Ok(None);
        }
        let cause = self.why_unknown(address);
        let byte = Scalar::Int(IntType { bits: 8, signed: false });
        let Value::Int(byte) = self.ask(code, Site(0), cause, byte) else { return Ok(None) };
        self.memory.choose(address, 1, byte as u128).or_else(refused)?;
        self.note_argument(address, 1)?;
        Ok(Some(byte as u8))
    }

    /// Text from outside that nobody looked at before becomes the digits of a number of this type, which is asked for; the text's number. `None` if
    /// somebody did, or if it has no end.
    pub(super) fn ask_number(
        &mut self,
        code: &FunctionCode,
        address: u64,
        ty: IntType,
        site: Site,
    ) -> Step<Option<i128>> {
        if self.is_argument(address) {
            return self.ask_argument(code, address, ty, site);
        }
        let Some(room) = self.room_for_digits(address)? else { return Ok(None) };
        let cause = self.why_unknown(address);
        let Value::Int(asked) = self.ask(code, site, cause, Scalar::Int(ty)) else {
            return Ok(None);
        };
        let mut digits = asked.to_string().into_bytes();
        digits.truncate(room as usize);
        for (byte, at) in digits.iter().chain([&0]).zip(address..) {
            self.memory.choose(at, 1, u128::from(*byte)).or_else(refused)?;
        }
        Ok(number(&digits))
    }

    /// Where a text is compared with one from outside that nobody looked at before: whether they are equal is asked as a whole, for bytes that were chosen one by
    /// one hardly ever are.
    pub(super) fn ask_whether_equal(
        &mut self,
        code: &FunctionCode,
        left: Bytes,
        right: u64,
        end: End,
        site: Site,
    ) -> Step<()> {
        for (known, open) in [(right, left.from), (left.from, right)] {
            let Some(text) = self.known_text(Bytes { from: known, ..left }, end) else { continue };
            if text.is_empty() || !(0..text.len() as u64).all(|at| self.is_unseen(open.wrapping_add(at))) {
                continue;
            }
            let cause = self.why_unknown(open);
            if self.ask(code, site, cause, Scalar::Int(IntType::INT)) != Value::Int(0) {
                return Ok(());
            }
            for (byte, at) in text.iter().zip(open..) {
                self.memory.choose(at, 1, u128::from(*byte)).or_else(refused)?;
            }
            return self.note_argument(open, text.len() as u64);
        }
        Ok(())
    }

    /// The bytes that would be compared, if all of them are known and they are few.
    fn known_text(&mut self, bytes: Bytes, end: End) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for at in 0..bytes.most.min(LONGEST_COMPARED + 1) {
            let byte = self.memory.read_bits(bytes.from.wrapping_add(at), 1, 0xff).ok()?? as u8;
            text.push(byte);
            if end == End::AtZero && byte == 0 {
                break;
            }
        }
        (text.len() as u64 <= LONGEST_COMPARED).then_some(text)
    }

    /// Whether a byte came from outside, and nobody looked at it.
    fn is_unseen(&mut self, address: u64) -> bool {
        let is_from_outside = self.is_argument(address) || self.memory.is_open(address);
        is_from_outside && matches!(self.memory.read_bits(address, 1, 0xff), Ok(None))
    }

    /// How many digits fit before the end of the text.
    fn room_for_digits(&mut self, address: u64) -> Step<Option<u64>> {
        let mut length = 0;
        while length <= LONGEST && self.memory.is_open(address + length) {
            length += 1;
        }
        let end = match self.memory.provenance(address + length) {
            Provenance::Live(_) if self.is_inside_object(address + length) => {
                self.memory.read_bits(address + length, 1, 0xff).or_else(refused)?
            }
            _ => None,
        };
        if end != Some(0) {
            return Ok(None);
        }
        Ok(Some(length).filter(|length| *length > 0))
    }

    fn is_inside_object(&self, address: u64) -> bool {
        self.memory.object_at(address).is_some_and(|(_, base, size)| address >= base && address - base < size)
    }

    /// The largest number that the assumptions behind the edge allow its destination to have.
    pub(super) fn most_behind(&mut self, code: &'c FunctionCode, edge: &Edge, dst: &Lvalue) -> Option<i128> {
        let (mut at, mut most) = (edge.to, None);
        while let [next] = code.successors[at.index()][..] {
            let edge = code.function.edge(next);
            let Op::Assume(Expr::Compare(op, left, right)) = &edge.op else { break };
            if matches!(&**left, Expr::Load(place) if place == dst) {
                most = match (op, self.settled(right)) {
                    (CompareOp::Le, Some(bound)) => Some(bound),
                    (CompareOp::Lt, Some(bound)) => Some(bound - 1),
                    _ => most,
                };
            }
            at = edge.to;
        }
        most
    }

    /// The value of an expression that needs no input.
    fn settled(&self, value: &Expr) -> Option<i128> {
        match value {
            Expr::Int(value, _) => Some(*value),
            Expr::Cast(Scalar::Int(ty), inner, _) => self.settled(inner).map(|value| ty.wrap(value)),
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) if path.is_empty() => {
                match self.frame().locals[id.index()] {
                    Some(Value::Int(value)) if self.is_register(*id) => Some(value),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn is_register(&self, id: LocalId) -> bool {
        let code = &self.code.functions[self.frame().function as usize];
        matches!(code.home(id), Home::Register)
    }
}
