//! The checks: each is one value in one file, its code, title, help, rule and page together. What an obligation of an automaton
//! means is found here by its [`CheckId`]; nothing below this crate knows any check.

use proofline_cfa::{CheckId, Expr, Function, LocalId, Lvalue, Name, Op, Site, Type};

mod insert;
mod visit;

pub(crate) use insert::{addresses, go_on};
pub mod monitor;
pub use insert::{Conventions, ends_at_labels, has_error_call, insert, insert_into, insert_with, pass_over};

/// Makes a module of each file and the table of their checks.
macro_rules! checks {
    ($($file:ident,)*) => {
        $(pub mod $file;)*

        impl Check {
            /// Every check, in the order in which their demands on one expression are made.
            pub const ALL: &'static [&'static Check] = &[$(&$file::CHECK,)*];
        }
    };
}

// **To add a check: a file (see `division_by_zero.rs`), and its line here.**
checks! {
    assertion,
    reach_error,
    error_label,
    uninitialised,
    division_by_zero,
    signed_overflow,
    invalid_shift,
    float_to_int,
    null_dereference,
    use_after_free,
    dangling_pointer,
    array_bounds,
    out_of_bounds,
    read_only,
    incompatible_call,
    pointer_arithmetic,
    pointer_comparison,
    invalid_free,
    library_call,
    invalid_stream,
    precondition,
    postcondition,
    memory_leak,
    memory_cleanup,
    unreachable,
    unsequenced,
    invalid_length,
}

/// A kind of obligation. Two are the same if their codes are.
#[derive(Debug)]
pub struct Check {
    /// As users write it: `division-by-zero`.
    code: &'static str,
    /// Numbers of the weaknesses in the Common Weakness Enumeration that it finds.
    cwe: &'static [u16],
    /// One sentence: what fails.
    title: fn(&Failure<'_>) -> String,
    /// The last step of the path, where this check can say it better than with the condition: `` `low + high` overflows ``.
    last_step: Option<fn(&Failure<'_>) -> Option<String>>,
    /// What usually mends it.
    help: &'static str,
    /// The program itself claims it (`assert`, `reach_error`); C's rules demand the others.
    is_claim: bool,
    /// Only a question that names it asks about it: real programs do it.
    is_opt_in: bool,
    /// Where no question asks about it, executions end all the same where it fails. Otherwise they go on: with any value behind a variable
    /// without one; behind an access that is not valid, as if it were.
    ends_executions: bool,
    /// Which obligations there are.
    rule: Rule,
    /// Documentation with right and wrong examples, which are its tests.
    page: &'static str,
}

/// How a check finds its obligations in an automaton.
#[derive(Debug)]
enum Rule {
    /// Looks at each part of each operation and says what must hold before it.
    Parts(fn(&Function, Part<'_>, Site, &mut Vec<Demand>)),
    /// Operations that must not be reached: what must hold, for people.
    Operation(fn(&Op) -> Option<Name>),
    /// Labels that must not be reached, in programs that call no error function.
    Label(fn(&str) -> bool),
    /// Must hold where `main` returns, in programs that allocate.
    AtEnd(fn() -> Expr),
    /// Must hold there, too, and in libraries where a function returns that allocates.
    AtReturn(fn() -> Expr),
    /// Lowering, models of library functions and contracts in the text say where.
    Calls,
}

/// What an obligation that fails says of itself.
#[derive(Debug)]
pub struct Failure<'a> {
    /// What must hold: `i < 10`.
    pub condition: &'a str,
    /// The program's own words at that place, if they are short.
    pub source: Option<&'a str>,
}

impl Failure<'_> {
    /// `what`, and in which words of the program.
    fn named(&self, what: &str) -> String {
        match self.source {
            Some(source) => format!("{what} in `{source}`"),
            None => what.to_owned(),
        }
    }
}

impl PartialEq for Check {
    fn eq(&self, other: &Check) -> bool {
        self.code == other.code
    }
}

impl Eq for Check {}

impl Check {
    /// Its name in automata.
    pub fn id(&self) -> CheckId {
        CheckId::new(self.code)
    }

    /// As users write it: `division-by-zero`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Numbers of the weaknesses in the Common Weakness Enumeration that it finds.
    pub fn cwe(&self) -> &'static [u16] {
        self.cwe
    }

    /// One sentence: what fails.
    pub fn title(&self, failure: &Failure<'_>) -> String {
        (self.title)(failure)
    }

    /// The last step of a path that breaks it.
    pub fn last_step(&self, failure: &Failure<'_>) -> String {
        let own = self.last_step.and_then(|say| say(failure));
        own.unwrap_or_else(|| match failure.condition.contains('`') {
            true => format!("that {} does not hold", failure.condition),
            false => format!("`{}` does not hold", failure.condition),
        })
    }

    /// What usually mends it.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Whether only a question that names it asks about it.
    pub fn is_opt_in(&self) -> bool {
        self.is_opt_in
    }

    /// Whether it looks at parts of expressions and is opt-in: then its obligations are in a program only if somebody asks.
    pub fn is_about_pointers(&self) -> bool {
        self.is_opt_in && matches!(self.rule, Rule::Parts(_))
    }

    /// Whether executions end where it fails, also if no question asks about it.
    pub fn ends_executions(&self) -> bool {
        self.ends_executions
    }

    /// The program itself claims it (`assert`, `reach_error`); C's rules demand the others.
    pub fn is_claim(&self) -> bool {
        self.is_claim
    }

    /// Documentation in Markdown.
    pub fn page(&self) -> &'static str {
        self.page
    }

    /// Whether an obligation is one of this check's.
    pub fn is(&self, id: CheckId) -> bool {
        id.code() == self.code
    }

    /// The check of an obligation. `None`: no check made it, so its automaton was not prepared here.
    pub fn of(id: CheckId) -> Option<&'static Check> {
        Check::from_code(id.code())
    }

    /// The check with this code.
    pub fn from_code(code: &str) -> Option<&'static Check> {
        Check::ALL.iter().copied().find(|check| check.code == code).or_else(|| monitor::from_code(code))
    }

    /// The names of all checks in automata.
    pub fn ids() -> impl Iterator<Item = CheckId> {
        Check::known().map(Check::id)
    }

    /// Every check, and those of monitors that were read.
    pub fn known() -> impl Iterator<Item = &'static Check> {
        Check::ALL.iter().copied().chain(monitor::all())
    }

    /// Whether a monitor is what asks.
    pub fn is_of_monitor(&self) -> bool {
        monitor::is_one(self.id())
    }
}

/// A condition that must hold before an edge is taken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Demand {
    /// Not zero means that all is well.
    condition: Expr,
    site: Site,
}

/// A part of an operation, as the checks see it; operands come before what uses them.
#[derive(Clone, Copy)]
enum Part<'e> {
    /// An arithmetic or other node of an expression.
    Expr(&'e Expr),
    /// A pointer is followed to read or write, or to call.
    Dereference { pointer: &'e Expr, site: Site },
    /// An object or a part of it is read or written.
    Access { place: &'e Lvalue, site: Site },
    /// The address of a part of an object is formed, and not followed.
    Formed { place: &'e Lvalue, site: Site },
    /// An object is written through a pointer, or a literal is.
    Write { place: &'e Lvalue, pointer: &'e Expr, site: Site },
    /// A function is called through a pointer to a function of this type.
    Call { pointer: &'e Expr, ty: Type, arguments: usize, site: Site },
    /// Memory is given back.
    Free { pointer: &'e Expr },
    /// An element of an array is read or written (`past_end`: only its address is formed, one past the end is fine).
    Element { index: &'e Expr, length: u64, past_end: bool },
    /// A local is read.
    Read(LocalId),
    /// A scalar in memory is read, not only copied as a character.
    Load { place: &'e Lvalue, site: Site },
}
