//! The analysis task: a program with the error locations that count, and what the algorithms ask about its functions again and again:
//! positions in reverse postorder, loop blocks, what a block may touch, which locations are targets. Derived from the environment
//! alone; knows no analysis.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::{CheckId, EdgeId, Function, Loc, Name, Object, ObligationId, Structure};
use proofline_program_analysis::{Callees, Environment};
use rustc_hash::FxHashMap;

use crate::{
    Question, Unknown,
    bam::{Block, Blocks},
    cpa::{BlockId, LocationContext},
};

/// What the algorithms ask about a function again and again.
pub(crate) struct FunctionInfo<'p> {
    pub(crate) function: &'p Function,
    pub(crate) whole: Arc<Block>,
    pub(crate) loops: BTreeMap<Loc, Arc<Block>>,
    pub(crate) targets: BTreeMap<Loc, ObligationId>,
    pub(crate) unsupported: BTreeMap<Loc, Name>,
    heads: BTreeSet<Loc>,
    recursive_returns: BTreeSet<Loc>,
    structure: &'p Structure,
}

impl<'p> FunctionInfo<'p> {
    /// Position of a location in reverse postorder.
    pub(crate) fn position(&self, loc: Loc) -> u32 {
        self.structure.position(loc).unwrap_or(u32::MAX)
    }

    /// Edges leaving a location.
    pub(crate) fn successors(&self, loc: Loc) -> &'p [EdgeId] {
        self.structure.successors(loc)
    }

    /// A location as `adjust` sees it. Widening is due at loop heads and, so that summaries of recursive functions cannot grow
    /// for ever, at what a recursive call returns to.
    pub(crate) fn location(&self, loc: Loc) -> LocationContext<'_> {
        let is_loop_head = self.heads.contains(&loc) || self.recursive_returns.contains(&loc);
        LocationContext { function: self.function, loc, is_loop_head }
    }
}

/// A program with the question that is asked about it, and what was found out about its functions.
pub(crate) struct AnalysisTask<'p> {
    pub(crate) env: &'p Environment,
    pub(crate) blocks: Blocks,
    pub(crate) selected: BTreeSet<CheckId>,
    /// Of the selected checks only these obligations, if set.
    pub(crate) only: Option<BTreeSet<(Name, ObligationId)>>,
    functions: RefCell<FxHashMap<Name, Rc<FunctionInfo<'p>>>>,
}

impl<'p> AnalysisTask<'p> {
    pub(crate) fn new(question: &Question<'p>) -> AnalysisTask<'p> {
        AnalysisTask {
            env: question.env,
            blocks: question.config.blocks,
            selected: question.checks.clone(),
            only: question.only.clone(),
            functions: RefCell::default(),
        }
    }

    /// About a function; an error if it has no body.
    pub(crate) fn info(&self, name: Name) -> Result<Rc<FunctionInfo<'p>>, Unknown> {
        if let Some(info) = self.functions.borrow().get(&name) {
            return Ok(info.clone());
        }
        let function = self
            .env
            .function(name)
            .ok_or_else(|| Unknown::Unsupported(format!("function {name} has no body")))?;
        let info = Rc::new(self.make_info(function));
        self.functions.borrow_mut().insert(name, info.clone());
        Ok(info)
    }

    pub(crate) fn block(&self, id: &BlockId) -> Result<Arc<Block>, Unknown> {
        match id {
            BlockId::Function(f) => Ok(self.info(*f)?.whole.clone()),
            BlockId::Loop(f, head) => self
                .info(*f)?
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

    fn make_info(&self, function: &'p Function) -> FunctionInfo<'p> {
        let name = function.name;
        let structure = self.env.structure(name);
        let objects: BTreeSet<Object> = self.env.reads(name).union(self.env.writes(name)).copied().collect();
        let heads = (0..function.locations).map(Loc).filter(|&l| structure.is_loop_head(l)).collect();
        let mut loops = BTreeMap::new();
        if self.blocks.loops {
            for l in structure.loops() {
                if !l.irreducible && (function.entry == l.head || !l.body.contains(&function.entry)) {
                    let block = Block::of_loop(function, l.head, &l.body, objects.clone());
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
        let selected = |(i, o): (usize, &proofline_cfa::Obligation)| {
            let id = ObligationId(i as u32);
            let wanted = self.only.as_ref().is_none_or(|only| only.contains(&(name, id)));
            (wanted && self.selected.contains(&o.check)).then_some((o.error, id))
        };
        FunctionInfo {
            function,
            whole: Arc::new(Block::of_function(function, objects)),
            loops,
            targets: function.obligations.iter().enumerate().filter_map(selected).collect(),
            unsupported: function.unsupported.iter().copied().collect(),
            heads,
            recursive_returns,
            structure,
        }
    }
}
