//! Blocks: the parts of a program whose effect is summarised, and what of them `reduce` may look at. Knows no analysis.

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Expr, Function, Loc, LocalId, Lvalue, Name, Object, Op,
    visit::{self, Mention},
};
use serde::{Deserialize, Serialize};

use crate::{
    arg::{ContextId, ProgramPoint},
    cpa::{BlockContext, BlockId},
};

/// Which parts of a program are summarised. Neither: calls are inlined, and recursion unrolls until the budget ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Blocks {
    /// Function bodies with everything they call.
    pub functions: bool,
    /// Loops that are entered at their head only.
    pub loops: bool,
}

impl Blocks {
    /// Function blocks: interprocedural BAM.
    pub const FUNCTIONS: Blocks = Blocks { functions: true, loops: false };
    /// Loop blocks only.
    pub const LOOPS: Blocks = Blocks { functions: false, loops: true };
    /// Both.
    pub const ALL: Blocks = Blocks { functions: true, loops: true };
    /// No blocks: inlining.
    pub const NONE: Blocks = Blocks { functions: false, loops: false };
}

/// A block with what `reduce` wants to know of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// Which.
    pub id: BlockId,
    /// The function it lies in.
    pub function: Name,
    /// Where it is entered.
    pub entry: Loc,
    objects: BTreeSet<Object>,
    locals: Option<BTreeSet<LocalId>>,
    body: Option<BTreeSet<Loc>>,
}

impl Block {
    /// The body of a function with everything it calls.
    pub(crate) fn of_function(function: &Function, objects: BTreeSet<Object>) -> Block {
        Block {
            id: BlockId::Function(function.name),
            function: function.name,
            entry: function.entry,
            objects,
            locals: None,
            body: None,
        }
    }

    /// A loop. The whole function's objects are more than the loop's, which is sound.
    pub(crate) fn of_loop(
        function: &Function,
        head: Loc,
        body: &BTreeSet<Loc>,
        objects: BTreeSet<Object>,
    ) -> Block {
        Block {
            id: BlockId::Loop(function.name, head),
            function: function.name,
            entry: head,
            objects,
            locals: Some(mentioned_locals(function, body)),
            body: Some(body.clone()),
        }
    }

    /// As the analysis sees it.
    pub fn context<'a>(&'a self, function: &'a Function) -> BlockContext<'a> {
        BlockContext { id: &self.id, function, objects: Some(&self.objects), locals: self.locals.as_ref() }
    }

    /// Whether control that arrives here, with no inlined call open, has left the block.
    pub fn is_exit(&self, function: &Function, point: ProgramPoint) -> bool {
        point.context == ContextId::ROOT
            && match &self.body {
                None => point.loc == function.exit,
                Some(body) => !body.contains(&point.loc),
            }
    }
}

/// Locals that the edges leaving a set of locations mention.
fn mentioned_locals(function: &Function, body: &BTreeSet<Loc>) -> BTreeSet<LocalId> {
    let mut locals = BTreeSet::new();
    for edge in function.edges.iter().filter(|e| body.contains(&e.from)) {
        op_locals(&edge.op, &mut locals);
    }
    locals
}

fn op_locals(op: &Op, out: &mut BTreeSet<LocalId>) {
    if let Op::Begin(local) | Op::End(local) = op {
        out.insert(*local);
    }
    visit::mentions(op, &mut |mention| match mention {
        Mention::Value(value) => expr_locals(value, out),
        Mention::Read(place) | Mention::Write(place) => {
            out.extend(local_of(place));
            visit::parts_of_place(place, &mut |part| expr_locals(part, out));
        }
    });
}

fn expr_locals(expr: &Expr, out: &mut BTreeSet<LocalId>) {
    visit::walk(expr, &mut |part| match part {
        Expr::Load(place) | Expr::Address(place) => out.extend(local_of(place)),
        Expr::Int(..)
        | Expr::Float(..)
        | Expr::Null
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => {}
    });
}

fn local_of(place: &Lvalue) -> Option<LocalId> {
    match place.base {
        Base::Local(local) => Some(local),
        Base::Global(_) | Base::Deref(..) => None,
    }
}
