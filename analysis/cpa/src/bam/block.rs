//! What the drivers ask about the program again and again: positions in reverse postorder, loop blocks, what a block may
//! touch, which locations are targets. Derived from the environment alone; knows no analysis.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::{
    Base, CheckId, EdgeId, Expr, Function, Loc, LocalId, Lvalue, Name, Object, ObligationId, Op, Structure,
    visit::{self, Mention},
};
use proofline_program_analysis::{Callees, Environment};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    Unknown,
    arg::{ContextId, Spot},
    cpa::{BlockContext, BlockId, Place},
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
    /// As the analysis sees it.
    pub fn context<'a>(&'a self, function: &'a Function) -> BlockContext<'a> {
        BlockContext { id: &self.id, function, objects: Some(&self.objects), locals: self.locals.as_ref() }
    }

    /// Whether control that arrives here, with no inlined call open, has left the block.
    pub fn is_exit(&self, function: &Function, spot: Spot) -> bool {
        spot.context == ContextId::ROOT
            && match &self.body {
                None => spot.loc == function.exit,
                Some(body) => !body.contains(&spot.loc),
            }
    }
}

/// One function, as the drivers need it.
pub(crate) struct Shape<'p> {
    pub(crate) function: &'p Function,
    pub(crate) whole: Arc<Block>,
    pub(crate) loops: BTreeMap<Loc, Arc<Block>>,
    pub(crate) targets: BTreeMap<Loc, ObligationId>,
    pub(crate) unsupported: BTreeMap<Loc, Name>,
    heads: BTreeSet<Loc>,
    recursive_returns: BTreeSet<Loc>,
    structure: &'p Structure,
}

impl<'p> Shape<'p> {
    /// Position of a location in reverse postorder.
    pub(crate) fn position(&self, loc: Loc) -> u32 {
        self.structure.position(loc).unwrap_or(u32::MAX)
    }

    /// Edges leaving a location.
    pub(crate) fn successors(&self, loc: Loc) -> &'p [EdgeId] {
        self.structure.successors(loc)
    }

    /// A place as `adjust` sees it. Widening is due at loop heads and, so that summaries of recursive functions cannot grow
    /// for ever, at what a recursive call returns to.
    pub(crate) fn place(&self, loc: Loc) -> Place<'_> {
        let is_loop_head = self.heads.contains(&loc) || self.recursive_returns.contains(&loc);
        Place { function: self.function, loc, is_loop_head }
    }
}

/// A program with the question that is asked about it.
pub(crate) struct Scene<'p> {
    pub(crate) env: &'p Environment,
    pub(crate) blocks: Blocks,
    pub(crate) selected: BTreeSet<CheckId>,
    /// Of the selected checks only these obligations, if set.
    pub(crate) only: Option<BTreeSet<(Name, ObligationId)>>,
    shapes: RefCell<FxHashMap<Name, Rc<Shape<'p>>>>,
}

impl<'p> Scene<'p> {
    pub(crate) fn new(env: &'p Environment, blocks: Blocks, selected: &BTreeSet<CheckId>) -> Scene<'p> {
        Scene { env, blocks, selected: selected.clone(), only: None, shapes: RefCell::default() }
    }

    /// The function's shape; an error if it has no body.
    pub(crate) fn shape(&self, name: Name) -> Result<Rc<Shape<'p>>, Unknown> {
        if let Some(shape) = self.shapes.borrow().get(&name) {
            return Ok(shape.clone());
        }
        let function = self
            .env
            .function(name)
            .ok_or_else(|| Unknown::Unsupported(format!("function {name} has no body")))?;
        let shape = Rc::new(self.make_shape(function));
        self.shapes.borrow_mut().insert(name, shape.clone());
        Ok(shape)
    }

    pub(crate) fn block(&self, id: &BlockId) -> Result<Arc<Block>, Unknown> {
        match id {
            BlockId::Function(f) => Ok(self.shape(*f)?.whole.clone()),
            BlockId::Loop(f, head) => self
                .shape(*f)?
                .loops
                .get(head)
                .cloned()
                .ok_or_else(|| Unknown::InternalError(format!("no loop block at {f}:{head}"))),
        }
    }

    /// Whom a call edge may call, as the call graph knows it.
    pub(crate) fn callees(&self, caller: Name, edge: EdgeId) -> Callees {
        let unknown = || Callees { functions: Vec::new(), may_be_external: true };
        self.env.call_graph().call(caller, edge).cloned().unwrap_or_else(unknown)
    }

    /// Whether a call from a block of `from` to a block of `to` stays within one recursive component. What is computed
    /// inside depends on the open entries of that component and must not leave it before it is stable.
    pub(crate) fn same_component(&self, from: Name, to: Name) -> bool {
        let graph = self.env.call_graph();
        graph.is_recursive(to)
            && graph.component_of(from).is_some()
            && graph.component_of(from) == graph.component_of(to)
    }

    fn make_shape(&self, function: &'p Function) -> Shape<'p> {
        let name = function.name;
        let structure = self.env.structure(name);
        let objects: BTreeSet<Object> = self.env.reads(name).union(self.env.writes(name)).copied().collect();
        let heads = (0..function.locations).map(Loc).filter(|&l| structure.is_loop_head(l)).collect();
        let mut loops = BTreeMap::new();
        if self.blocks.loops {
            for l in structure.loops() {
                if !l.irreducible && (function.entry == l.head || !l.body.contains(&function.entry)) {
                    let block = Block {
                        id: BlockId::Loop(name, l.head),
                        function: name,
                        entry: l.head,
                        // The whole function's objects: more than the loop's is sound.
                        objects: objects.clone(),
                        locals: Some(mentioned_locals(function, &l.body)),
                        body: Some(l.body.clone()),
                    };
                    loops.insert(l.head, Arc::new(block));
                }
            }
        }
        let graph = self.env.call_graph();
        let recursive_returns = graph
            .calls(name)
            .filter(|(_, callees)| {
                self.blocks.functions
                    && callees.functions.iter().any(|&callee| self.same_component(name, callee))
            })
            .map(|(edge, _)| function.edge(edge).to)
            .collect();
        let whole = Block {
            id: BlockId::Function(name),
            function: name,
            entry: function.entry,
            objects,
            locals: None,
            body: None,
        };
        let selected = |(i, o): (usize, &proofline_cfa::Obligation)| {
            let id = ObligationId(i as u32);
            let wanted = self.only.as_ref().is_none_or(|only| only.contains(&(name, id)));
            (wanted && self.selected.contains(&o.check)).then_some((o.error, id))
        };
        Shape {
            function,
            whole: Arc::new(whole),
            loops,
            targets: function.obligations.iter().enumerate().filter_map(selected).collect(),
            unsupported: function.unsupported.iter().copied().collect(),
            heads,
            recursive_returns,
            structure,
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
        | Expr::PointerDifference(..) => {}
    });
}

fn local_of(place: &Lvalue) -> Option<LocalId> {
    match place.base {
        Base::Local(local) => Some(local),
        Base::Global(_) | Base::Deref(..) => None,
    }
}
