//! What a model can say. Pure data; arguments count from 0.

use proofline_hir::Name;

/// What a call of a function does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    pub(super) effects: Vec<Effect>,
    pub(super) result: Option<Outcome>,
    /// Changes nothing.
    pub(super) pure: bool,
    /// Does not set `errno`.
    pub(super) quiet: bool,
    /// What it does is determined by the program's state, just not said exactly here.
    pub(super) computed: bool,
    /// Does not return.
    pub(super) noreturn: bool,
    /// The call stays for a later pass.
    pub(super) keep: bool,
    /// Reaching it makes a verdict unknown, unless this argument is a constant.
    pub(super) unsupported: Option<(Name, Option<usize>)>,
    /// A program that may call it gets no verdict.
    pub(super) unsupported_program: Option<(Name, Option<usize>)>,
}

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Bytes behind the pointer get any value.
    Writes(usize, Size),
    /// The one object that the pointer points to, by its type.
    WritesObject(usize),
    /// Every variable argument that is a pointer is written behind; with the format that says how.
    WritesRest { format: usize, first: usize },
    /// `%n` in this format writes behind variable arguments.
    Format { format: usize, first: usize },
    /// To, from, how much.
    Copies(usize, usize, Size),
    /// Where, with what, how much.
    Fills(usize, Factor, Size),
    /// `free`
    Frees(usize),
    /// `*a` (if `a` is not null) gets an address inside the object that `b` points into.
    Points(usize, usize),
    /// Goes on only if the argument is not zero.
    Assumes(usize),
    /// Calls the function pointer any number of times.
    Calls(usize, Vec<Passed>),
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

/// A factor of a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    /// A number.
    Number(i128),
    /// An argument's value.
    Argument(usize),
}

/// A bound of a result; some depend on the data model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    Number(i128),
    LongMax,
    LongMin,
    PtrdiffMax,
    SizeMax,
}

/// The tables behind `ctype.h`, of the C locale, in glibc's format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Table {
    Classes,
    Lower,
    Upper,
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
    /// An argument.
    Argument { argument: usize, or_null: bool },
    /// An address inside the object that the argument points into.
    Into { argument: usize, or_null: bool },
    /// A new object.
    Fresh { size: Size, on_heap: bool, zeroed: bool, may_fail: bool },
    /// What `realloc` does: pointer, size.
    Reallocated { pointer: usize, size: Size, may_fail: bool },
    /// The address of `errno`.
    Errno,
    /// Any address but null.
    NotNull,
    /// The absolute value of an argument.
    Absolute(usize),
    /// The length of a string; known for literals.
    Length(usize),
    /// The address of the pointer to one of the tables behind `ctype.h`.
    Table(Table),
    /// An entry of such a table: table, argument, mask (if it is not all of the entry).
    Entry(Table, usize, Option<i128>),
}

impl Model {
    /// Whether the model says something about the value of the argument.
    pub(super) fn mentions(&self, at: usize) -> bool {
        let in_size = |size: &Size| match size {
            Size::Any => false,
            Size::Product(factors) => factors.contains(&Factor::Argument(at)),
        };
        self.effects.iter().any(|effect| match effect {
            Effect::Writes(a, size) => *a == at || in_size(size),
            Effect::WritesObject(a) | Effect::Frees(a) | Effect::Assumes(a) => *a == at,
            Effect::WritesRest { format, first } | Effect::Format { format, first } => {
                *format == at || *first <= at
            }
            Effect::Copies(a, b, size) => *a == at || *b == at || in_size(size),
            Effect::Fills(a, b, size) => *a == at || *b == Factor::Argument(at) || in_size(size),
            Effect::Points(a, b) => *a == at || *b == at,
            Effect::Calls(function, passed) => {
                *function == at
                    || passed.contains(&Passed::Argument(at))
                    || passed.contains(&Passed::Into(at))
            }
            Effect::Clobbers => true,
        }) || match &self.result {
            None
            | Some(
                Outcome::Any
                | Outcome::Input
                | Outcome::Range(..)
                | Outcome::Errno
                | Outcome::NotNull
                | Outcome::Table(_),
            ) => false,
            Some(
                Outcome::Argument { argument, .. }
                | Outcome::Into { argument, .. }
                | Outcome::Absolute(argument)
                | Outcome::Length(argument)
                | Outcome::Entry(_, argument, _),
            ) => *argument == at,
            Some(Outcome::Fresh { size, .. }) => in_size(size),
            Some(Outcome::Reallocated { pointer, size, .. }) => *pointer == at || in_size(size),
        }
    }

    /// How many arguments a call must have for the model to make sense.
    pub(super) fn arity(&self) -> usize {
        let size = |size: &Size| match size {
            Size::Any => 0,
            Size::Product(factors) => {
                factors.iter().map(|f| if let Factor::Argument(n) = f { n + 1 } else { 0 }).max().unwrap_or(0)
            }
        };
        let effects = self.effects.iter().map(|effect| match effect {
            Effect::Writes(a, s) => (a + 1).max(size(s)),
            Effect::WritesObject(a) | Effect::Frees(a) | Effect::Assumes(a) => a + 1,
            Effect::WritesRest { format, .. } | Effect::Format { format, .. } => format + 1,
            Effect::Copies(a, b, s) => (a + 1).max(b + 1).max(size(s)),
            Effect::Fills(a, b, s) => {
                let byte = if let Factor::Argument(b) = b { b + 1 } else { 0 };
                (a + 1).max(byte).max(size(s))
            }
            Effect::Points(a, b) => (a + 1).max(b + 1),
            Effect::Calls(f, passed) => {
                let passed = passed.iter().map(|p| match p {
                    Passed::Argument(a) | Passed::Into(a) => a + 1,
                    Passed::Any => 0,
                });
                passed.max().unwrap_or(0).max(f + 1)
            }
            Effect::Clobbers => 0,
        });
        let result = match &self.result {
            None
            | Some(
                Outcome::Any
                | Outcome::Input
                | Outcome::Range(..)
                | Outcome::Errno
                | Outcome::NotNull
                | Outcome::Table(_),
            ) => 0,
            Some(
                Outcome::Argument { argument, .. }
                | Outcome::Into { argument, .. }
                | Outcome::Absolute(argument)
                | Outcome::Length(argument)
                | Outcome::Entry(_, argument, _),
            ) => argument + 1,
            Some(Outcome::Fresh { size: s, .. }) => size(s),
            Some(Outcome::Reallocated { pointer, size: s, .. }) => (pointer + 1).max(size(s)),
        };
        effects.max().unwrap_or(0).max(result)
    }
}
