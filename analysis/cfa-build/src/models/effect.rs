//! What a model can say. Pure data; arguments count from 0.

use proofline_hir::Name;

use proofline_cfa::{Program, Quantity};

use super::{needs::Need, strings::Put, tokens::Tokens};

/// What a call of a function does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// What becomes a string where the call does not fail.
    pub(super) terminates: Option<Termination>,
    /// What gets a value where the call has not failed.
    pub(super) given: Vec<Given>,
    /// What `scanf` does.
    pub(super) scans: Option<Scan>,
    /// What `sprintf` does.
    pub(super) prints: Option<Print>,
    pub(super) needs: Vec<Need>,
    pub(super) effects: Vec<Effect>,
    pub(super) result: Option<Outcome>,
    /// What the number that the effects or the result leave open really is: of the bytes copied if that is not said, else the offset that
    /// is returned, else the result.
    pub(super) exactly: Option<(Quantity, Vec<usize>)>,
    /// Changes nothing.
    pub(super) pure: bool,
    /// Does not set `errno`.
    pub(super) quiet: bool,
    /// The classes of characters may be others afterwards.
    pub(super) changes_locale: bool,
    /// What it does is determined by the program's state, just not said exactly here.
    pub(super) computed: bool,
    /// Does not return.
    pub(super) noreturn: bool,
    /// The program ends there as it does where `main` returns.
    pub(super) ends: bool,
    /// The call stays for a later pass.
    pub(super) keep: bool,
    /// It is no function but an object of the library, which other files do not put addresses into.
    pub(super) object: bool,
    /// Reaching it makes a verdict unknown, unless this argument is a constant.
    pub(super) unsupported: Option<(Name, Option<usize>)>,
    /// A program that may call it gets no verdict.
    pub(super) unsupported_program: Option<(Name, Option<usize>)>,
}

impl Model {
    /// Whether the program ends at a call as it does where `main` returns.
    pub fn ends_program(&self) -> bool {
        self.ends
    }

    /// The argument behind which a string or a line is written.
    pub(super) fn string(&self) -> Option<usize> {
        let put = self.effects.iter().find_map(|effect| match effect {
            Effect::Puts(put) => Some(put.to),
            _ => None,
        });
        let printed = || self.prints.as_ref().map(|print| print.to);
        put.or_else(printed).or_else(|| self.terminates.as_ref().map(|ending| ending.to))
    }

    /// Whether it releases memory.
    pub(super) fn frees(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Frees(_)))
    }

    /// Whether a call can be a mistake, or something that no verdict covers. (A function that only computes its result, such as `sin`, demands nothing.)
    pub(super) fn demands(&self) -> bool {
        let is_free =
            self.needs.is_empty() && self.effects.is_empty() && self.scans.is_none() && self.prints.is_none();
        let is_silent = self.unsupported.is_none() && self.unsupported_program.is_none();
        !(is_free && is_silent) || self.keep || self.noreturn || self.allocates()
    }

    /// Whether the result is the address of a new object.
    pub fn allocates(&self) -> bool {
        matches!(
            self.result,
            Some(Outcome::Fresh { .. } | Outcome::Copy { .. } | Outcome::Reallocated { .. })
        )
    }
}

/// What strings are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Characters {
    /// `char`
    #[default]
    Bytes,
    /// `wchar_t`
    Wide,
}

/// Where the call does not fail, characters go to memory, and one that is 0 behind them; together at most so many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Termination {
    /// Behind which argument.
    pub(super) to: usize,
    /// So many characters.
    pub(super) within: Size,
    pub(super) characters: Characters,
    /// A character comes before the end, if there is room for one.
    pub(super) is_line: bool,
    pub(super) done: Done,
}

/// Where a call has done what is said of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Done {
    /// Where it has not failed: where it does not return null, or, of wide characters, a negative number.
    #[default]
    NotFailed,
    /// Where it returns a positive number.
    Positive,
    /// Where it returns 0.
    Zero,
}

/// What is written where a call succeeds: where its result is a positive number (or 0, if that is said), or not null.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given {
    /// Behind which argument.
    pub(super) pointer: usize,
    /// So many bytes; the one object that the pointer points to, by its type, if that is not said.
    pub(super) size: Size,
    /// Members of that object with their ranges.
    pub(super) ranges: Vec<MemberRange>,
    /// So many for each that the result counts.
    pub(super) is_counted: bool,
    /// Its result is 0 where it succeeds.
    pub(super) where_zero: bool,
}

/// A format of `scanf`, and where what it converts goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scan {
    pub(super) format: usize,
    /// The first of the variable arguments.
    pub(super) first: usize,
    /// The string that is read, if it is one.
    pub(super) string: Option<usize>,
}

/// A format of `printf` that goes to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Print {
    pub(super) to: usize,
    pub(super) room: Room,
    pub(super) format: usize,
    /// The first of the variable arguments; `None` if they are in a list that is not known.
    pub(super) first: Option<usize>,
}

/// How much room there is for what is printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// As much as it needs.
    Enough,
    /// So many bytes at most, the end included.
    Within(Size),
    /// A new object, whose address goes to what the argument points to. That may fail.
    New { may_fail: bool },
}

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Bytes behind the pointer get any value.
    Writes(usize, Size),
    /// The same, but not all of that changes.
    Changes(usize, Size),
    /// The same, or they stay as they are: what has no value may have none afterwards.
    MayWrite(usize, Size),
    /// So many characters at the end of the string behind the pointer, if it has them, get other values.
    ChangesEnd { string: usize, count: i128 },
    /// The one object that the pointer points to, by its type.
    WritesObject(usize),
    /// What the variable arguments from this one on point to, by their types.
    WritesVariable(usize),
    /// The records that the library keeps under this name.
    WritesRecord(Name),
    /// An object of the library, where the program declares it.
    WritesGlobal(Name),
    /// `%n` in this format writes behind variable arguments.
    Format { format: usize, first: usize },
    /// To, from, how much.
    Copies(usize, usize, Size),
    /// A string goes to where one begins or ends.
    Puts(Put),
    /// Where, with what, how much.
    Fills(usize, Factor, Size, Characters),
    /// `free`
    Frees(usize),
    /// `*a` (if `a` is not null) gets an address inside the object, or the string, that `b` points into.
    Points(usize, usize, Inside),
    /// Goes on only if the argument is not zero.
    Assumes(usize),
    /// Calls the function pointer any number of times; before each call so many bytes behind an argument may be written.
    Calls(usize, Vec<Passed>, Option<(usize, Size)>),
    /// Everything reachable from the arguments, globals and escaped objects may change.
    Clobbers,
}

/// What a callback gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passed {
    /// An argument as it is.
    Argument(usize),
    /// An address inside the object that the argument points into.
    Into(usize),
    /// The address of some element of an array.
    Element(Element),
    /// Anything.
    Any,
}

/// A number of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// Not known.
    Any,
    /// A product.
    Product(Vec<Factor>),
}

impl Size {
    /// The size, if no argument has a say in it.
    pub(super) fn number(&self, program: &Program) -> Option<i128> {
        let Size::Product(factors) = self else { return None };
        factors.iter().try_fold(1_i128, |product, factor| match factor {
            Factor::Number(number) => product.checked_mul(*number),
            Factor::Long => product.checked_mul(i128::from(program.size_type().bits / 8)),
            Factor::Argument(_) => None,
        })
    }
}

/// A factor of a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    /// A number.
    Number(i128),
    /// An argument's value.
    Argument(usize),
    /// The bytes of a `long`.
    Long,
}

/// A bound of a result; some depend on the data model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    Number(i128),
    LongMax,
    LongMin,
    PtrdiffMax,
    SizeMax,
    /// An argument, unless another one may have these bits.
    Argument(usize, Option<(usize, i128)>),
    /// Less than an argument, or 0.
    Below(usize),
    /// The number of conversions that a format of `scanf` assigns.
    Conversions(usize),
}

/// The tables behind `ctype.h`, in glibc's format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Table {
    Classes,
    Lower,
    Upper,
}

/// Whether a result may be null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OrNull {
    Never,
    Perhaps,
    /// Not where the number that the argument points to is between these.
    Unless {
        argument: usize,
        low: i128,
        high: i128,
    },
}

impl OrNull {
    fn uses(self, see: &mut dyn FnMut(usize, Use)) {
        if let OrNull::Unless { argument, .. } = self {
            see(argument, Use::Pointer);
        }
    }
}

/// What a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Anything of its type.
    Any,
    /// A nondeterministic input of the program.
    Input,
    /// A number.
    Range(Bound, Bound),
    /// An argument, or something else.
    Argument { argument: usize, instead: Instead },
    /// An address inside the object, or the string, that the argument points into.
    Into { argument: usize, inside: Inside, or_null: bool },
    /// A string that the library keeps.
    Text { or_null: OrNull },
    /// The address of a record of the type that the result points to, which the library keeps: under this name there are two, and one of them is
    /// written anew. Its members are any values; those that point to characters point to strings, if it says so.
    /// Members that are numbers may have ranges. With an argument the two are parts of the object that it points to, and end with it.
    Record { of: Name, has_texts: bool, ranges: Vec<MemberRange>, part_of: Option<usize>, or_null: OrNull },
    /// A new object.
    Fresh { size: Size, on_heap: bool, zeroed: bool, may_fail: bool },
    /// A new object on the heap with a copy of a string, at most so many characters.
    Copy { string: usize, within: Option<Size>, characters: Characters, may_fail: bool },
    /// What `strtok_r` and `strsep` do.
    Token(Tokens),
    /// What `posix_memalign` does: 0, and `*place` is the address of a new object; or the number of an error.
    FreshAt { place: usize, size: Size, may_fail: bool },
    /// What `realloc` does: pointer, size.
    Reallocated { pointer: usize, size: Size, may_fail: bool },
    /// The address of `errno`.
    Errno,
    /// Any address but null.
    NotNull,
    /// The absolute value of an argument.
    Absolute(usize),
    /// The address of some element of an array.
    Element { element: Element, or_null: bool },
    /// The length of a string; known for literals.
    Length(usize),
    /// The address of the pointer to one of the tables behind `ctype.h`.
    Table(Table),
    /// An entry of such a table: table, argument, mask (if it is not all of the entry).
    Entry(Table, usize, Option<i128>),
    /// The argument with its bytes in the opposite order, as an unsigned number of so many bits.
    Swapped(usize, u8),
    /// 0, and then the object behind the argument has any value with these members in ranges; or -1, and it stays as it is.
    Filled { argument: usize, ranges: Vec<MemberRange>, fails: Fails },
    /// -1, or the positive length of a line; `*object` is null or a heap object, and becomes one with the line in it, of `*size` bytes.
    Line { object: usize, size: usize, may_fail: bool },
    /// What `getopt` returns.
    Option(Options),
}

/// When an object is not filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fails {
    /// In some runs.
    Sometimes,
    /// In no run.
    Never,
    /// In no run where this argument is a constant of the range, else in some.
    NeverFor { argument: usize, low: i128, high: i128 },
}

/// An element of an array: where the array is, how many elements it has, and how large they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Element {
    pub(super) array: usize,
    pub(super) count: usize,
    pub(super) size: usize,
}

impl Element {
    fn uses(&self, see: &mut dyn FnMut(usize, Use)) {
        see(self.array, Use::Pointer);
        see(self.count, Use::Number);
        see(self.size, Use::Number);
    }
}

/// Where an address inside something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inside {
    /// Anywhere in the object.
    Object,
    /// In the string: at or before its end.
    String,
}

/// What may be returned in the place of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Instead {
    Nothing,
    Null,
    Any,
    /// A string that the library keeps. Where it is the argument, that becomes a string within so many bytes, if an argument says how many.
    Text {
        within: Option<usize>,
    },
    /// Null; if the argument is null, anything.
    NullOrNew,
}

/// The least and the largest value of a member of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MemberRange {
    pub(super) member: Name,
    pub(super) low: i128,
    pub(super) high: i128,
}

/// How `getopt` is called: count and array of the program's arguments, the letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Options {
    pub(super) count: usize,
    pub(super) array: usize,
    pub(super) letters: usize,
    /// The descriptions of long options, which may give any number.
    pub(super) long: Option<usize>,
}

/// What an argument must be for a model to make sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Pointer,
    Number,
    /// Whatever it is.
    Any,
}

impl Model {
    /// The arguments that the model says something about.
    pub(super) fn uses(&self, see: &mut dyn FnMut(usize, Use)) {
        let factor = |factor: &Factor, see: &mut dyn FnMut(usize, Use)| match factor {
            Factor::Argument(at) => see(*at, Use::Number),
            Factor::Number(_) | Factor::Long => {}
        };
        let in_size = |size: &Size, see: &mut dyn FnMut(usize, Use)| match size {
            Size::Any => {}
            Size::Product(factors) => factors.iter().for_each(|f| factor(f, see)),
        };
        for effect in &self.effects {
            match effect {
                Effect::Writes(to, size) | Effect::Changes(to, size) | Effect::MayWrite(to, size) => {
                    see(*to, Use::Pointer);
                    in_size(size, see);
                }
                Effect::WritesObject(at) | Effect::Frees(at) | Effect::ChangesEnd { string: at, .. } => {
                    see(*at, Use::Pointer)
                }
                Effect::Assumes(at) => see(*at, Use::Any),
                Effect::Format { format, .. } => see(*format, Use::Pointer),
                Effect::Puts(put) => {
                    see(put.to, Use::Pointer);
                    see(put.from, Use::Pointer);
                    put.within.iter().for_each(|size| in_size(size, see));
                }
                Effect::Copies(to, from, size) => {
                    see(*to, Use::Pointer);
                    see(*from, Use::Pointer);
                    in_size(size, see);
                }
                Effect::Fills(to, with, size, _) => {
                    see(*to, Use::Pointer);
                    factor(with, see);
                    in_size(size, see);
                }
                Effect::Points(to, into, _) => {
                    see(*to, Use::Pointer);
                    see(*into, Use::Pointer);
                }
                Effect::Calls(function, passed, changed) => {
                    see(*function, Use::Pointer);
                    if let Some((to, size)) = changed {
                        see(*to, Use::Pointer);
                        in_size(size, see);
                    }
                    for passed in passed {
                        match passed {
                            Passed::Argument(at) => see(*at, Use::Any),
                            Passed::Into(at) => see(*at, Use::Pointer),
                            Passed::Element(element) => element.uses(see),
                            Passed::Any => {}
                        }
                    }
                }
                Effect::WritesVariable(_)
                | Effect::WritesRecord(_)
                | Effect::WritesGlobal(_)
                | Effect::Clobbers => {}
            }
        }
        if let Some(Termination { to, within, .. }) = &self.terminates {
            see(*to, Use::Pointer);
            in_size(within, see);
        }
        for given in &self.given {
            see(given.pointer, Use::Pointer);
            in_size(&given.size, see);
        }
        if let Some(scan) = &self.scans {
            see(scan.format, Use::Pointer);
            scan.string.iter().for_each(|string| see(*string, Use::Pointer));
        }
        if let Some(print) = &self.prints {
            see(print.to, Use::Pointer);
            see(print.format, Use::Pointer);
            match &print.room {
                Room::Within(size) => in_size(size, see),
                Room::Enough | Room::New { .. } => {}
            }
        }
        for need in &self.needs {
            need.uses(see);
            need.size().into_iter().for_each(|size| in_size(size, see));
        }
        for at in self.exactly.iter().flat_map(|(_, arguments)| arguments) {
            see(*at, Use::Any);
        }
        match &self.result {
            None
            | Some(Outcome::Any | Outcome::Input | Outcome::Errno | Outcome::NotNull | Outcome::Table(_)) => {
            }
            Some(Outcome::Text { or_null }) => or_null.uses(see),
            Some(Outcome::Record { part_of, or_null, .. }) => {
                part_of.iter().for_each(|at| see(*at, Use::Pointer));
                or_null.uses(see);
            }
            Some(Outcome::Range(low, high)) => {
                for bound in [low, high] {
                    match bound {
                        Bound::Argument(at, unless) => {
                            see(*at, Use::Number);
                            unless.iter().for_each(|(flags, _)| see(*flags, Use::Number));
                        }
                        Bound::Below(at) => see(*at, Use::Number),
                        Bound::Conversions(format) => see(*format, Use::Pointer),
                        Bound::Number(_)
                        | Bound::LongMax
                        | Bound::LongMin
                        | Bound::PtrdiffMax
                        | Bound::SizeMax => {}
                    }
                }
            }
            Some(Outcome::Swapped(argument, _)) => see(*argument, Use::Number),
            Some(Outcome::Filled { argument, .. }) => see(*argument, Use::Pointer),
            Some(Outcome::Line { object, size, .. }) => {
                see(*object, Use::Pointer);
                see(*size, Use::Pointer);
            }
            Some(Outcome::Token(tokens)) => {
                see(tokens.set, Use::Pointer);
                tokens.string.iter().chain(&tokens.rest).for_each(|at| see(*at, Use::Pointer));
            }
            Some(Outcome::Option(options)) => {
                see(options.count, Use::Number);
                see(options.array, Use::Pointer);
                see(options.letters, Use::Pointer);
                options.long.iter().for_each(|long| see(*long, Use::Pointer));
            }
            Some(Outcome::Argument { argument, instead }) => {
                see(*argument, Use::Any);
                if let Instead::Text { within: Some(within) } = instead {
                    see(*within, Use::Number);
                }
            }
            Some(
                Outcome::Absolute(argument) | Outcome::Length(argument) | Outcome::Entry(_, argument, _),
            ) => see(*argument, Use::Any),
            Some(Outcome::Into { argument, .. }) => see(*argument, Use::Pointer),
            Some(Outcome::Element { element, .. }) => element.uses(see),
            Some(Outcome::Fresh { size, .. }) => in_size(size, see),
            Some(Outcome::FreshAt { place, size, .. }) => {
                see(*place, Use::Pointer);
                in_size(size, see);
            }
            Some(Outcome::Copy { string, within, .. }) => {
                see(*string, Use::Pointer);
                within.iter().for_each(|size| in_size(size, see));
            }
            Some(Outcome::Reallocated { pointer, size, .. }) => {
                see(*pointer, Use::Pointer);
                in_size(size, see);
            }
        }
    }

    /// Whether the model says something about the value of the argument.
    pub(super) fn mentions(&self, at: usize) -> bool {
        let mut found = self.effects.iter().any(|effect| match effect {
            Effect::Format { first, .. } | Effect::WritesVariable(first) => *first <= at,
            Effect::Clobbers => true,
            Effect::Writes(..)
            | Effect::Changes(..)
            | Effect::MayWrite(..)
            | Effect::ChangesEnd { .. }
            | Effect::WritesObject(_)
            | Effect::WritesRecord(_)
            | Effect::WritesGlobal(_)
            | Effect::Copies(..)
            | Effect::Puts(_)
            | Effect::Fills(..)
            | Effect::Frees(_)
            | Effect::Points(..)
            | Effect::Assumes(_)
            | Effect::Calls(..) => false,
        });
        found |= self.scans.is_some_and(|scan| scan.first <= at);
        found |= self.prints.as_ref().and_then(|print| print.first).is_some_and(|first| first <= at);
        self.uses(&mut |used, _| found |= used == at);
        found
    }
}
