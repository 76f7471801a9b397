//! The arguments of `main` in a running program: an array of pointers, and strings whose bytes are inputs, asked for when they are first
//! looked at; so are those of strings that library functions keep. Must not know what the automaton assumes of them.

use proofline_cfa::{
    Cause, Entry, Function, IntType, Name, Object, Scalar, Site,
    command_line::{ARGV, ENVP},
    eval::Value,
};

use super::{
    code::FunctionCode,
    machine::{Machine, Step, stuck},
    memory::Area,
    oracle::Oracle,
    place::refused,
};

/// A run is given at most so many arguments.
const MOST: i128 = 1 << 7;
/// Bytes of each, with the end.
const SIZE: u64 = 64;

/// Bytes of the longest number of `int`, with the end.
const LONGEST_NUMBER: u64 = 22;

/// The strings of a run that the program does not name.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Where the arrays are.
    argv: Option<u64>,
    envp: Option<u64>,
    /// In the order of their addresses.
    strings: Vec<Argument>,
}

/// One string.
#[derive(Debug)]
struct Argument {
    base: u64,
    /// What its bytes are: an argument of the program's, or text of a library function's.
    cause: Cause,
    /// The bytes that were looked at, as they were given.
    given: Vec<Option<u8>>,
}

impl Arguments {
    /// Where one of the arrays is.
    pub(super) fn array(&self, name: Name) -> Option<u64> {
        match name.as_str() {
            ARGV => self.argv,
            ENVP => self.envp,
            _ => None,
        }
    }

    fn string_at(&mut self, address: u64) -> Option<&mut Argument> {
        let next = self.strings.partition_point(|string| string.base <= address);
        let string = self.strings.get_mut(next.checked_sub(1)?)?;
        (address < string.base + SIZE).then_some(string)
    }

    /// The arguments of the program; what nobody looked at is as short as it can be.
    pub(super) fn texts(&self) -> Vec<Vec<u8>> {
        let own = self.strings.iter().filter(|string| matches!(string.cause, Cause::Input(_)));
        own.map(Argument::text).collect()
    }
}

impl Argument {
    fn text(&self) -> Vec<u8> {
        let end = self.given.iter().position(|byte| *byte == Some(0));
        let given = &self.given[..end.unwrap_or(self.given.len())];
        let length = match end {
            Some(end) => end,
            None => given.iter().rposition(Option::is_some).map_or(0, |last| last + 1),
        };
        given[..length].iter().map(|byte| byte.unwrap_or(b'a')).collect()
    }
}

/// Whether an object is made when a run begins.
pub(super) fn is_array(name: Name) -> bool {
    matches!(name.as_str(), ARGV | ENVP)
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// Makes what the parameters of `main` point to. With a negative count there is nothing: the run ends at once.
    pub(super) fn make_arguments(&mut self, entry: Entry, function: &Function, values: &[Value]) -> Step<()> {
        let has = |name: &str| self.code.program.globals.contains_key(&Name::new(name));
        if entry.is_library() || function.parameters.len() < 2 || !has(ARGV) {
            return Ok(());
        }
        let Some(&Value::Int(count @ 0..)) = values.first() else { return Ok(()) };
        if count > MOST {
            return stuck("more arguments of the program than a run is given");
        }
        let has_environment = has(ENVP);
        self.arguments.argv = Some(self.make_array(ARGV, count as u64)?);
        if has_environment {
            self.arguments.envp = Some(self.make_array(ENVP, 0)?);
        }
        Ok(())
    }

    /// An array of so many strings and a null pointer.
    fn make_array(&mut self, name: &str, count: u64) -> Step<u64> {
        let width = u64::from(self.semantics.pointer_bits / 8);
        // Systems give every program two pointers at least.
        let array =
            self.allocate(Area::Static, (count.max(1) + 1) * width, Object::Global(Name::new(name)))?;
        for at in 0..count {
            let base = self.make_string(Cause::Input(Name::new(ARGV)))?;
            self.memory.write(array + at * width, width, u128::from(base)).or_else(refused)?;
        }
        for at in count..count.max(1) + 1 {
            self.memory.write(array + at * width, width, 0).or_else(refused)?;
        }
        Ok(array)
    }

    /// A string that nobody has looked at; where it is.
    fn make_string(&mut self, cause: Cause) -> Step<u64> {
        let base = self.allocate(Area::Static, SIZE, Object::External)?;
        self.memory.forget(base, SIZE).or_else(refused)?;
        self.memory.write(base + SIZE - 1, 1, 0).or_else(refused)?;
        let string = Argument { base, cause, given: vec![None; SIZE as usize] };
        let at = self.arguments.strings.partition_point(|other| other.base < base);
        self.arguments.strings.insert(at, string);
        Ok(base)
    }

    /// The address of a string of the library's. That it is a new one is one thing that may be.
    pub(super) fn library_string(&mut self, by: Name) -> Step<Value> {
        if self.arguments.strings.len() as i128 > MOST {
            return stuck("more strings of library functions than a run is given");
        }
        self.make_string(Cause::Text(by)).map(|base| Value::Int(i128::from(base)))
    }

    /// Whether the byte is one of an argument of the program, or of a string of the library's.
    pub(super) fn is_argument(&mut self, address: u64) -> bool {
        self.arguments.string_at(address).is_some()
    }

    /// Why bytes that were never written have any value: they are an argument's, or nothing gave them one.
    pub(super) fn why_unknown(&mut self, address: u64) -> Cause {
        match self.arguments.string_at(address) {
            Some(string) => string.cause,
            None => Cause::Indeterminate,
        }
    }

    /// Writes down what an argument was found to have here.
    pub(super) fn note_argument(&mut self, address: u64, size: u64) -> Step<()> {
        let strings = &self.arguments.strings;
        let (Some(first), Some(last)) = (strings.first(), strings.last()) else { return Ok(()) };
        let (begin, end) = (address.max(first.base), (address + size).min(last.base + SIZE));
        for at in begin..end {
            if self.arguments.string_at(at).is_none() {
                continue;
            }
            let byte = self.memory.read_bits(at, 1, 0xff).or_else(refused)?;
            if let Some(string) = self.arguments.string_at(at) {
                let given = &mut string.given[(at - string.base) as usize];
                *given = given.or(byte.map(|byte| byte as u8));
            }
        }
        Ok(())
    }

    /// An argument that nobody looked at before becomes the digits of a number, which is asked for.
    pub(super) fn ask_argument(
        &mut self,
        code: &FunctionCode,
        address: u64,
        ty: IntType,
        site: Site,
    ) -> Step<Option<i128>> {
        let is_new = self
            .arguments
            .string_at(address)
            .is_some_and(|string| string.base == address && string.given.iter().all(Option::is_none));
        for at in address..address + LONGEST_NUMBER {
            if !is_new || self.memory.read_bits(at, 1, 0xff).or_else(refused)?.is_some() {
                return Ok(None);
            }
        }
        let cause = self.why_unknown(address);
        let Value::Int(number) = self.ask(code, site, cause, Scalar::Int(ty)) else {
            return Ok(None);
        };
        let digits = number.to_string();
        for (byte, at) in digits.bytes().chain([0]).zip(address..) {
            self.memory.choose(at, 1, u128::from(byte)).or_else(refused)?;
        }
        self.note_argument(address, digits.len() as u64 + 1)?;
        Ok(Some(number))
    }
}
