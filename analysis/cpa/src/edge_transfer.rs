//! The transfer relation along the edges of automata: the successors of one state, with calls inlined. Knows no blocks and nothing of
//! reached sets; what it computes is paid from the budget.

use std::rc::Rc;

use proofline_cfa::{Argument, Call, Callee, Cause, Edge, EdgeId, Expr, Function, Name, Op};

use crate::{
    Budget, Unknown,
    analysis_task::{AnalysisTask, FunctionInfo},
    arg::{ArgEdge, NodeId, ProgramPoint},
    cpa::{CallContext, Cpa, EdgeContext, NoFacts},
    cpa_algorithm::Successor,
    exploration::Exploration,
    statistics::Progress,
};

/// The edges of a program, for one analysis.
pub(crate) struct EdgeTransfer<'r, 'p, A> {
    pub(crate) analysis: &'r A,
    pub(crate) task: &'r AnalysisTask<'p>,
    pub(crate) budget: &'r Budget,
    pub(crate) progress: &'r Progress,
}

/// A state whose successors are computed.
pub(crate) struct Source<'p, A: Cpa> {
    /// The function it is in.
    pub(crate) info: Rc<FunctionInfo<'p>>,
    /// Where.
    pub(crate) point: ProgramPoint,
    /// The state.
    pub(crate) state: A::State,
    /// What it is explored with.
    pub(crate) precision: A::Precision,
}

impl<'p, A: Cpa> EdgeTransfer<'_, 'p, A> {
    /// A node's state.
    pub(crate) fn source(&self, ex: &Exploration<A>, id: NodeId) -> Result<Source<'p, A>, Unknown> {
        let node = ex.arg.node(id);
        let precision = ex.arg.precision(node.precision).clone();
        let info = self.task.info(ex.arg.function(id))?;
        Ok(Source { info, point: node.point, state: node.state.clone(), precision })
    }

    /// Back from an inlined callee; `None` where no inlined callee ends.
    pub(crate) fn returning(
        &self,
        ex: &Exploration<A>,
        source: &Source<'_, A>,
    ) -> Result<Option<Vec<Successor<A::State>>>, Unknown> {
        let function = source.info.function;
        let Some(inlined) = &ex.arg.context(source.point.context).call else { return Ok(None) };
        if source.point.loc != function.exit {
            return Ok(None);
        }
        let caller = self.task.info(ex.arg.context(inlined.caller).function)?;
        let call = call_context(&caller, inlined.edge, function)?;
        let left = self.analysis.leave(&inlined.at_call, &source.state, &source.precision, call);
        self.pay(left.len())?;
        let point = ProgramPoint { context: inlined.caller, loc: call.at.edge.to };
        Ok(Some(reached(ArgEdge::Leave(inlined.edge), point, left)))
    }

    /// Along an edge. Callees with bodies are entered.
    pub(crate) fn along(
        &self,
        ex: &mut Exploration<A>,
        source: &Source<'_, A>,
        id: EdgeId,
    ) -> Result<Vec<Successor<A::State>>, Unknown> {
        let function = source.info.function;
        let edge = function.edge(id);
        let Op::Call(call) = &edge.op else {
            let at = EdgeContext { function, id, edge };
            let next = self.analysis.transfer(&source.state, &source.precision, at, &NoFacts);
            self.pay(next.len())?;
            let point = ProgramPoint { context: source.point.context, loc: edge.to };
            return Ok(reached(ArgEdge::Edge(id), point, next));
        };
        let mut successors = Vec::new();
        let callees = self.task.callees(function.name, id);
        for name in callees.functions {
            let callee = self.task.info(name)?;
            for entered in self.entering(source, id, &callee)? {
                let context = ex.arg.enter_context(source.point.context, id, name, &source.state);
                let point = ProgramPoint { context, loc: callee.function.entry };
                successors.push(Successor { edge: ArgEdge::Enter(id), point, state: entered });
            }
        }
        if callees.may_be_external {
            successors.extend(self.outside(source, id, call)?);
        }
        Ok(successors)
    }

    /// The states at a callee's entry.
    pub(crate) fn entering(
        &self,
        source: &Source<'_, A>,
        edge: EdgeId,
        callee: &FunctionInfo<'_>,
    ) -> Result<Vec<A::State>, Unknown> {
        let context = call_context(&source.info, edge, callee.function)?;
        let entered = self.analysis.enter(&source.state, &source.precision, context);
        self.pay(entered.len())?;
        Ok(entered)
    }

    /// Over a call that may leave the program.
    pub(crate) fn outside(
        &self,
        source: &Source<'_, A>,
        id: EdgeId,
        call: &Call,
    ) -> Result<Vec<Successor<A::State>>, Unknown> {
        let function = source.info.function;
        let edge = function.edge(id);
        let (state, precision) = (&source.state, &source.precision);
        let next = external_call(self.analysis, state, precision, function, (id, edge), call);
        self.pay(next.len())?;
        let point = ProgramPoint { context: source.point.context, loc: edge.to };
        Ok(reached(ArgEdge::Edge(id), point, next))
    }

    /// Accounts for successors.
    pub(crate) fn pay(&self, successors: usize) -> Result<(), Unknown> {
        self.progress.count(|statistics| statistics.successors += successors as u64);
        // Even an edge without successors is work.
        self.budget.spend(successors.max(1) as u64)
    }
}

fn reached<S>(edge: ArgEdge, point: ProgramPoint, states: Vec<S>) -> Vec<Successor<S>> {
    states.into_iter().map(|state| Successor { edge, point, state }).collect()
}

/// The call on an edge, with one callee.
pub(crate) fn call_context<'p>(
    caller: &FunctionInfo<'p>,
    edge: EdgeId,
    callee: &'p Function,
) -> Result<CallContext<'p>, Unknown> {
    let function = caller.function;
    let at = EdgeContext { function, id: edge, edge: function.edge(edge) };
    let call = at.edge.op.call();
    let call =
        call.ok_or_else(|| Unknown::InternalError(format!("{}:{edge} is not a call", function.name)))?;
    Ok(CallContext { at, call, callee })
}

/// A call of a function without a body: whatever is reachable may have changed, the result is any value. (Library models
/// have replaced direct calls before; what is left are calls through pointers that may lead outside.)
pub(crate) fn external_call<A: Cpa>(
    analysis: &A,
    state: &A::State,
    precision: &A::Precision,
    function: &Function,
    (id, edge): (EdgeId, &Edge),
    call: &Call,
) -> Vec<A::State> {
    let values = call.arguments.iter().map(|argument| match argument {
        Argument::Value(value) => value.clone(),
        Argument::Aggregate(lvalue) => Expr::Address(lvalue.clone()),
    });
    let cause = Cause::External(match &call.callee {
        Callee::Direct(name) => *name,
        Callee::Indirect(..) => Name::new("*"),
    });
    let mut states = vec![state.clone()];
    let clobber = Op::Clobber(values.collect(), cause);
    let havoc = call.dst.clone().map(|dst| Op::Havoc(dst, cause));
    for op in [Some(clobber), havoc].into_iter().flatten() {
        let synthetic = Edge { op, ..edge.clone() };
        let at = EdgeContext { function, id, edge: &synthetic };
        states = states.iter().flat_map(|s| analysis.transfer(s, precision, at, &NoFacts)).collect();
    }
    states
}
