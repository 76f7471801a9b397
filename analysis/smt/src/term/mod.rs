//! Terms: hash-consed, sorted, immutable. A [`Term`] is one pointer; equal terms are the same pointer, on every thread.
//! This module stores terms, walks through them and computes their values. It builds no applications: what a well-formed combination
//! should become is the business of `crate::simplify` and `crate::build`.
//!
//! Nodes are kept in a process-wide table and never freed, so that a term can be held anywhere (states, caches,
//! summaries) without a lifetime. The order of terms depends on their structure alone, never on addresses.

pub mod bitvec;
pub(crate) mod constants;
mod eval;
pub mod float;
mod op;
mod sort;
mod symbol;
mod walk;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use num_bigint::BigInt;
use parking_lot::Mutex;
use rustc_hash::FxHasher;

pub use bitvec::BitVec;
pub(crate) use eval::value_of;
pub use eval::{ArrayValue, Assignment, Interpretation, Value, eval, eval_op};
pub use float::{FloatConst, FloatOp, Rounding};
pub use op::{Op, SortError};
pub use sort::{ArraySort, FloatSort, Sort};
pub use symbol::{Func, Name, Var};
pub use walk::{dag_size, free_functions, free_vars, has_quantifier, postorder};

/// A term. `Copy`, `Send`, `Sync`; equality is a pointer comparison; the order is structural (size, operator,
/// arguments) and the same in every run.
#[derive(Clone, Copy)]
pub struct Term(&'static Node);

struct Node {
    op: Op,
    args: Box<[Term]>,
    sort: Sort,
    hash: u64,
    size: u64,
    binders: u32,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.hash == other.hash && self.args == other.args && self.op == other.op
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

const SHARDS: usize = 64;
type Shard = Mutex<std::collections::HashSet<&'static Node, BuildHasherDefault<FxHasher>>>;
static TABLE: [Shard; SHARDS] =
    [const { Mutex::new(std::collections::HashSet::with_hasher(BuildHasherDefault::new())) }; SHARDS];

impl Term {
    /// The application of `op` to `args`, exactly as given. Use `crate::build` instead: it folds and normalises.
    ///
    /// # Panics
    /// If the application is ill-sorted: that is a mistake of the caller.
    pub(crate) fn raw(op: Op, args: Vec<Term>) -> Term {
        let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
        let sort = match op.sort(&sorts) {
            Ok(sort) => sort,
            Err(error) => panic!("{error}"),
        };
        let mut hasher = FxHasher::default();
        op.hash(&mut hasher);
        for arg in &args {
            hasher.write_u64(arg.0.hash);
        }
        let hash = hasher.finish();
        let size = args.iter().fold(1u64, |n, t| n.saturating_add(t.0.size));
        let below = args.iter().map(|t| t.0.binders).max().unwrap_or(0);
        let binders = match &op {
            Op::Forall(vars) | Op::Exists(vars) => below + u32::try_from(vars.len()).unwrap_or(u32::MAX),
            _ => below,
        };
        let node = Node { op, args: args.into_boxed_slice(), sort, hash, size, binders };
        let shard = &TABLE[(hash >> 58) as usize % SHARDS];
        let mut table = shard.lock();
        if let Some(known) = table.get(&node) {
            return Term(known);
        }
        let leaked: &'static Node = Box::leak(Box::new(node));
        table.insert(leaked);
        Term(leaked)
    }

    /// Its operator.
    #[must_use]
    pub fn op(self) -> &'static Op {
        &self.0.op
    }

    /// Its arguments.
    #[must_use]
    pub fn args(self) -> &'static [Term] {
        &self.0.args
    }

    /// Its sort.
    #[must_use]
    pub fn sort(self) -> Sort {
        self.0.sort
    }

    /// Operators in it when written as a tree (saturating); see [`dag_size`] for the shared size.
    #[must_use]
    pub fn size(self) -> u64 {
        self.0.size
    }

    /// An upper bound of the variables bound along any branch; 0 means quantifier-free.
    pub(crate) fn binders(self) -> u32 {
        self.0.binders
    }

    /// Its variable, if it is one.
    #[must_use]
    pub fn as_var(self) -> Option<Var> {
        match self.op() {
            Op::Var(v) => Some(*v),
            _ => None,
        }
    }

    /// Its truth value, if it is constant.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.op() {
            Op::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Its integer, if it is constant.
    #[must_use]
    pub fn as_int(self) -> Option<&'static BigInt> {
        match self.op() {
            Op::Int(i) => Some(i),
            _ => None,
        }
    }

    /// Its bits, if it is constant.
    #[must_use]
    pub fn as_bitvec(self) -> Option<&'static BitVec> {
        match self.op() {
            Op::BitVec(b) => Some(b),
            _ => None,
        }
    }

    /// Whether it is the constant true.
    #[must_use]
    pub fn is_true(self) -> bool {
        self.as_bool() == Some(true)
    }

    /// Whether it is the constant false.
    #[must_use]
    pub fn is_false(self) -> bool {
        self.as_bool() == Some(false)
    }

    /// Whether it is a number or a truth value.
    #[must_use]
    pub fn is_value(self) -> bool {
        self.op().is_value()
    }

    fn same(self, other: Term) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        self.same(*other)
    }
}

impl Eq for Term {}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl Ord for Term {
    /// Small before large, then by operator, then by arguments. Terms are hash-consed, so the first argument that is
    /// not the same pointer decides: the cost is the depth, not the size.
    fn cmp(&self, other: &Term) -> Ordering {
        let (mut a, mut b) = (*self, *other);
        loop {
            if a.same(b) {
                return Ordering::Equal;
            }
            let shallow = a.0.size.cmp(&b.0.size).then_with(|| a.0.op.cmp(&b.0.op));
            let shallow = shallow.then_with(|| a.0.args.len().cmp(&b.0.args.len()));
            if shallow != Ordering::Equal {
                return shallow;
            }
            match a.0.args.iter().zip(&b.0.args).find(|(x, y)| !x.same(**y)) {
                Some((x, y)) => (a, b) = (*x, *y),
                None => return Ordering::Equal,
            }
        }
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Term) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
