//! Results of library functions. Analyses treat them as nondeterministic; the interpreter computes them exactly from the memory that
//! the function is given. Data and names only; must not know how memory is kept.

use crate::expr::{Expr, LocalId};

/// The variable that says whether a locale other than that of C is set.
pub const LOCALE: &str = "#locale";

/// What the names of variables begin with in which callers leave their variable arguments.
pub const VARIABLE_ARGUMENTS: &str = "#va_";

/// The object behind `errno`.
pub const ERRNO: &str = "#errno";

/// What the value that a `Havoc` puts into a temporary really is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LibraryResult {
    /// The temporary; nothing else gives it a value.
    pub dst: LocalId,
    /// What is computed.
    pub quantity: Quantity,
    /// Of what, as it is when the `Havoc` is executed.
    pub arguments: Vec<Expr>,
    /// The value is 1 if the quantity does not exist (nothing was found), else 0.
    pub is_absence: bool,
}

impl LibraryResult {
    /// Of [`Quantity::Overlap`] and [`Quantity::Meeting`] the two pointers.
    pub fn two_places(&self) -> Option<(&Expr, &Expr)> {
        match (self.quantity, &self.arguments[..]) {
            (Quantity::Overlap, [one, other, _]) | (Quantity::Meeting, [one, _, other, _]) => {
                Some((one, other))
            }
            _ => None,
        }
    }
}

/// Something that follows from the program's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantity {
    /// `strlen(s)`
    StringLength,
    /// `strnlen(s, n)`
    BoundedLength,
    /// Bytes of a string with its end: `s`.
    StringSize,
    /// Sign of `strcmp(a, b)`.
    StringOrder,
    /// Sign of `strncmp(a, b, n)`.
    BoundedOrder,
    /// Sign of `memcmp(a, b, n)`.
    ByteOrder,
    /// Offset of the first `c` in the string `s`, whose end counts.
    FirstCharacter,
    /// Offset of the last one.
    LastCharacter,
    /// Offset of the first byte `c` among the `n` from `s` on.
    FirstByte,
    /// Offset of the last one.
    LastByte,
    /// Offset of the first character of the string `s` that is in the string `t`.
    FirstOfSet,
    /// Offset of the first occurrence of the string `t` in `s`.
    FirstString,
    /// Length of the start of `s` that has only characters of `t`.
    Span,
    /// Length of the start of `s` that has none.
    ComplementSpan,
    /// `atoi(s)`
    Number,
    /// `strtol(s, …, base)`, or the like for another type: `s`, `base`.
    NumberIn,
    /// How many characters of `s` are that number and what stands before it: `s`, `base`.
    NumberEnd,
    /// What that leaves in `errno`, and 0 where it leaves it as it is: `s`, `base`, a number of the type that the result has to fit into.
    NumberError,
    /// `strtod(s, …)`, or the like for another floating type. No integer.
    FloatIn,
    /// How many characters of `s` are that number and what stands before it.
    FloatEnd,
    /// `inet_addr(s)`
    InternetAddress,
    /// How many of the `n` bytes from `p` on a search for the byte `c` looks at: `p`, `c`, `n`.
    BytesUntil,
    /// What `realloc(p, n)` keeps: the bytes of the heap object that starts at `p`, but at most `n`; 0 of null.
    KeptBytes,
    /// Bits that are 1.
    Ones,
    /// Number of bits that are 1, modulo 2.
    Parity,
    /// Zeros before the highest 1.
    LeadingZeros,
    /// Zeros behind the lowest 1.
    TrailingZeros,
    /// Number of the lowest 1, from 1; 0 if there is none.
    FirstOne,
    /// `wcslen(s)`, in characters of four bytes.
    WideLength,
    /// `wcsnlen(s, n)`
    WideBounded,
    /// 1 if the `n` bytes from `p` on and those from `q` on have one in common, else 0: `p`, `q`, `n`.
    Overlap,
    /// 1 if the `n` bytes from `p` on and the `m` bytes from `q` on have one in common, else 0: `p`, `n`, `q`, `m`.
    Meeting,
    /// How many characters `printf` makes of a number: the number, a [`Conversion`](crate::Conversion).
    PrintedLength,
    /// These characters, from the start of an array on: the same arguments.
    PrintedText,
    /// `sscanf(s, f, …)`: how many conversions get a value, or -1: `s`, `f`.
    ScannedCount,
    /// How many of the arguments behind the format get a value then: the same arguments.
    ScannedItems,
    /// How many characters the conversion with this number takes, counted from 0 as the arguments are: `s`, `f`, the number. A `HavocBytes` of so many bytes
    /// writes these characters.
    ScannedLength,
    /// The number, or the one character, that it gives: the same arguments.
    ScannedNumber,
}

impl Quantity {
    /// With name and number of arguments.
    pub const ALL: [(&'static str, Quantity, usize); 38] = [
        ("string_length", Quantity::StringLength, 1),
        ("bounded_length", Quantity::BoundedLength, 2),
        ("string_size", Quantity::StringSize, 1),
        ("string_order", Quantity::StringOrder, 2),
        ("bounded_order", Quantity::BoundedOrder, 3),
        ("byte_order", Quantity::ByteOrder, 3),
        ("first_character", Quantity::FirstCharacter, 2),
        ("last_character", Quantity::LastCharacter, 2),
        ("first_byte", Quantity::FirstByte, 3),
        ("last_byte", Quantity::LastByte, 3),
        ("first_of_set", Quantity::FirstOfSet, 2),
        ("first_string", Quantity::FirstString, 2),
        ("span", Quantity::Span, 2),
        ("complement_span", Quantity::ComplementSpan, 2),
        ("number", Quantity::Number, 1),
        ("number_in", Quantity::NumberIn, 2),
        ("number_end", Quantity::NumberEnd, 2),
        ("number_error", Quantity::NumberError, 3),
        ("float_in", Quantity::FloatIn, 1),
        ("float_end", Quantity::FloatEnd, 1),
        ("internet_address", Quantity::InternetAddress, 1),
        ("bytes_until", Quantity::BytesUntil, 3),
        ("kept_bytes", Quantity::KeptBytes, 2),
        ("ones", Quantity::Ones, 1),
        ("parity", Quantity::Parity, 1),
        ("leading_zeros", Quantity::LeadingZeros, 1),
        ("trailing_zeros", Quantity::TrailingZeros, 1),
        ("first_one", Quantity::FirstOne, 1),
        ("wide_length", Quantity::WideLength, 1),
        ("wide_bounded", Quantity::WideBounded, 2),
        ("overlap", Quantity::Overlap, 3),
        ("meeting", Quantity::Meeting, 4),
        ("printed_length", Quantity::PrintedLength, 2),
        ("printed_text", Quantity::PrintedText, 2),
        ("scanned_count", Quantity::ScannedCount, 2),
        ("scanned_items", Quantity::ScannedItems, 2),
        ("scanned_length", Quantity::ScannedLength, 3),
        ("scanned_number", Quantity::ScannedNumber, 3),
    ];

    /// How model files and automata as text call it.
    pub fn name(self) -> &'static str {
        Quantity::ALL.iter().find(|(_, quantity, _)| *quantity == self).map_or("", |(name, ..)| name)
    }

    /// The C function that gives it, with the same arguments; `None` where no function does.
    pub fn c_name(self) -> Option<&'static str> {
        Some(match self {
            Quantity::StringLength => "strlen",
            Quantity::BoundedLength => "strnlen",
            Quantity::StringOrder => "strcmp",
            Quantity::BoundedOrder => "strncmp",
            Quantity::ByteOrder => "memcmp",
            Quantity::Span => "strspn",
            Quantity::ComplementSpan => "strcspn",
            Quantity::Number => "atoi",
            Quantity::InternetAddress => "inet_addr",
            Quantity::Ones => "__builtin_popcount",
            Quantity::Parity => "__builtin_parity",
            Quantity::LeadingZeros => "__builtin_clz",
            Quantity::TrailingZeros => "__builtin_ctz",
            Quantity::FirstOne => "ffs",
            Quantity::WideLength => "wcslen",
            Quantity::WideBounded => "wcsnlen",
            Quantity::StringSize
            | Quantity::FirstCharacter
            | Quantity::LastCharacter
            | Quantity::FirstByte
            | Quantity::LastByte
            | Quantity::FirstOfSet
            | Quantity::FirstString
            | Quantity::BytesUntil
            | Quantity::NumberIn
            | Quantity::NumberEnd
            | Quantity::NumberError
            | Quantity::FloatIn
            | Quantity::FloatEnd
            | Quantity::KeptBytes
            | Quantity::Overlap
            | Quantity::Meeting
            | Quantity::PrintedLength
            | Quantity::PrintedText
            | Quantity::ScannedCount
            | Quantity::ScannedItems
            | Quantity::ScannedLength
            | Quantity::ScannedNumber => return None,
        })
    }

    /// The quantity of the name, and how many arguments it has.
    pub fn by_name(name: &str) -> Option<(Quantity, usize)> {
        Quantity::ALL
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|(_, quantity, count)| (*quantity, *count))
    }
}
