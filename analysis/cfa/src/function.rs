//! The control-flow automaton of one function: `A = (L, l₀, G)`. Owned, comparable, position-free; see [`crate::map`]
//! for the text. [`crate::verify`] lists what always holds of one.

use proofline_hir::{FunctionAttributes, Linkage, Name, Type, index};

use crate::{
    expr::{Expr, LocalId, Lvalue, Site},
    library_result::LibraryResult,
};

index! {
    /// A location.
    pub Loc "l",
    /// An edge.
    pub EdgeId "e",
    /// An obligation of a function.
    pub ObligationId "o",
}

/// One function's automaton.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Function {
    /// Unique in the program (internal ones are `file.c:name` when two units are linked and the name is not unique).
    pub name: Name,
    /// C type.
    pub ty: Type,
    /// Its linkage: which files see it.
    pub linkage: Linkage,
    /// What its declaration says.
    pub attributes: FunctionAttributes,
    /// Locals: the return slot first if there is one, then the parameters, then the rest.
    pub locals: Vec<Local>,
    /// Parameters in order.
    pub parameters: Vec<LocalId>,
    /// Where the result is put before the exit.
    pub result: Option<LocalId>,
    /// `...`
    pub variadic: bool,
    /// Number of locations.
    pub locations: u32,
    /// l₀
    pub entry: Loc,
    /// Where control returns to the caller. Has no outgoing edges.
    pub exit: Loc,
    /// G, ordered by creation.
    pub edges: Vec<Edge>,
    /// Obligations; each owns one error location.
    pub obligations: Vec<Obligation>,
    /// Named labels of the text (`ERROR:` can be a property).
    pub labels: Vec<(Name, Loc)>,
    /// What the automaton does not say exactly; each entry is over-approximated where it stands.
    pub approximations: Vec<Approximation>,
    /// Operands that C evaluates in any order; the automaton has them from left to right.
    pub operands: Vec<Operands>,
    /// What some of its unknown values really are: the interpreter computes them.
    pub library_results: Vec<LibraryResult>,
    /// What cannot be over-approximated: reaching the location makes a verdict unknown.
    pub unsupported: Vec<(Loc, Name)>,
}

/// A local object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Local {
    /// C name; unique within the function (a shadowing one is `x#1`, temporaries are `$0`, the return slot is `return`).
    pub name: Name,
    /// C type.
    pub ty: Type,
    /// Its role.
    pub role: Role,
    /// Whether its address is taken anywhere: if not, only edges that name it change it.
    pub address_taken: bool,
    /// Size in bytes; 0 for a variable length.
    pub size: u64,
}

/// What a local is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Role {
    /// Holds the result at the exit.
    Result,
    /// Parameter.
    Parameter,
    /// The programmer's.
    Variable,
    /// The address of the programmer's array of variable length, which ends where this local does.
    VariableArray,
    /// Made by lowering; assigned before every use.
    Temporary,
    /// Says whether another local has been initialised (`x?`).
    Shadow,
}

/// One edge.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// Source.
    pub from: Loc,
    /// Target.
    pub to: Loc,
    /// What happens.
    pub op: Op,
    /// Where in the text.
    pub site: Site,
}

/// What an edge does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Nothing.
    Skip,
    /// Goes on only where the scalar is not zero.
    Assume(Expr),
    /// Scalar assignment; the value has the lvalue's format (a bit-field keeps the low bits).
    Assign(Lvalue, Expr),
    /// Aggregate assignment between lvalues of one type (C: they are the same object or do not overlap).
    Copy(Lvalue, Lvalue),
    /// The lvalue (scalar or aggregate) gets any value of its type. Pointers: null, any object whose address has escaped, or memory unknown to the program.
    Havoc(Lvalue, Cause),
    /// Everything reachable from the values, and every global and escaped object, may have changed.
    Clobber(Vec<Expr>, Cause),
    /// Call; the effect on everything but `dst` is the callee's.
    Call(Call),
    /// `dst` points to a fresh object.
    Allocate(Allocation),
    /// Ends the life of a heap object (`free(NULL)` does nothing).
    Free(Expr),
    /// `memcpy`/`memmove` of `size` bytes: destination, source, size.
    CopyBytes(Expr, Expr, Expr),
    /// `memset`: destination, byte value (an int, low 8 bits), size.
    FillBytes(Expr, Expr, Expr),
    /// Each of the `size` bytes from the pointer on may have changed to anything (pointers among them: as for `Havoc`); a bound, not a
    /// must. Pointer, size (of `size_t`), cause. What library functions do to a buffer: `fgets`, `snprintf`.
    HavocBytes(Expr, Expr, Cause),
    /// A local starts its life; its value is indeterminate (any).
    Begin(LocalId),
    /// A local's life ends.
    End(LocalId),
}

/// Why a value is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Cause {
    /// A nondeterministic input, by the function that gave it (`__VERIFIER_nondet_int`).
    Input(Name),
    /// Result or effect of a function without a body or model.
    External(Name),
    /// Effect of such a function that ends no object's life, as somebody has assumed.
    Keeping(Name),
    /// What such a function decides on the way: whether it calls back, what it passes on, which of several results it gives.
    Within(Name),
    /// Not modelled; see the function's approximations.
    Unmodelled(Name),
    /// The address of a string of the library's, or of the rest of one, by the function that gave it: see [`texts`](crate::texts).
    Text(Name),
    /// A read of a `volatile` object that something else than the program may change; the edge before has read it.
    Volatile,
    /// An object without a value: if it lives in memory, the predicate `initialised` is false of its bytes.
    Indeterminate,
}

impl Cause {
    /// Of what is decided on the way to a result or effect that has this cause.
    pub fn within(self) -> Cause {
        match self {
            Cause::External(name) | Cause::Keeping(name) => Cause::Within(name),
            Cause::Input(_)
            | Cause::Within(_)
            | Cause::Unmodelled(_)
            | Cause::Text(_)
            | Cause::Volatile
            | Cause::Indeterminate => self,
        }
    }

    /// Of what is described less exactly than it is: a violation that depends on it is not certain.
    #[must_use]
    pub fn guess(self) -> Cause {
        match self {
            Cause::External(name) => Cause::Unmodelled(name),
            cause => cause,
        }
    }
}

/// A call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// Where the result goes (scalar or aggregate), if it is wanted.
    pub dst: Option<Lvalue>,
    /// Whom.
    pub callee: Callee,
    /// Arguments, converted to the parameters' types.
    pub arguments: Vec<Argument>,
}

/// Whom a call calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// By name.
    Direct(Name),
    /// Through a pointer to a function of this type.
    Indirect(Expr, Type),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    /// A scalar value.
    Value(Expr),
    /// A record passed by value: the object it is copied from.
    Aggregate(Lvalue),
}

/// An allocation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Allocation {
    /// Gets the pointer.
    pub dst: Lvalue,
    /// Bytes, of `size_t`.
    pub size: Expr,
    /// Names the allocation site within the function.
    pub site: Site,
    /// Heap, or the frame (`alloca`, variable length arrays).
    pub on_heap: bool,
    /// `calloc`
    pub zeroed: bool,
    /// The result may be null.
    pub may_fail: bool,
}

/// A condition that must hold; `assume(¬condition)` leads to its error location, `assume(condition)` goes on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Obligation {
    /// What is checked.
    pub check: CheckId,
    /// Entered exactly by the edges on which it fails. No outgoing edges.
    pub error: Loc,
    /// Where it is reported.
    pub site: Site,
    /// What must hold, for people: `b != 0`, `i < 10`.
    pub text: Name,
}

impl Op {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&Call> {
        if let Op::Call(call) = self { Some(call) } else { None }
    }
}

/// Names a kind of obligation, as users write it: `division-by-zero`. What it means, the checks know (`verifier::checks`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct CheckId(Name);

impl CheckId {
    /// The check with this code.
    pub fn new(code: &str) -> CheckId {
        CheckId(Name::new(code))
    }

    /// Its code.
    pub fn code(self) -> &'static str {
        self.0.as_str()
    }
}

/// Operands of one expression whose order C leaves open, where it may matter: one of them calls a function or writes memory, another one does, too,
/// or reads memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operands {
    /// Where each operand begins, and where the last one ends. What an operand reads without edges of its own is read behind that.
    pub bounds: Vec<Loc>,
}

/// Something said less exactly than C says it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Approximation {
    /// What: `inline assembly`, `floating point`, `call of getenv`.
    pub what: Name,
    /// Where.
    pub site: Site,
}

impl Function {
    /// Whether the pointer is to an object that the model of a library function has allocated for its own use.
    pub fn is_laid_aside(&self, pointer: &Expr) -> bool {
        let Expr::Load(place) = pointer else { return false };
        let is_its_own = |allocation: &Allocation| allocation.site.is_beside() && allocation.dst == *place;
        self.edges.iter().any(|edge| matches!(&edge.op, Op::Allocate(allocation) if is_its_own(allocation)))
    }
    /// The edge.
    pub fn edge(&self, id: EdgeId) -> &Edge {
        &self.edges[id.index()]
    }
    /// The local.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }
    /// The obligation whose error location this is. Where it is asked often, `Structure::obligation_at` knows without searching.
    pub fn obligation_at(&self, loc: Loc) -> Option<ObligationId> {
        self.obligations.iter().position(|o| o.error == loc).map(|i| ObligationId(i as u32))
    }
    /// All edges with their ids.
    pub fn edge_ids(&self) -> impl Iterator<Item = (EdgeId, &Edge)> {
        self.edges.iter().enumerate().map(|(i, e)| (EdgeId(i as u32), e))
    }
    /// Outgoing edges per location, in order of creation. Compute once, keep beside.
    pub fn successors(&self) -> Vec<Vec<EdgeId>> {
        let mut out = vec![Vec::new(); self.locations as usize];
        for (id, edge) in self.edge_ids() {
            out[edge.from.index()].push(id);
        }
        out
    }
}
