//! Parameters that a function gives back to the heap, or parts of which it does: what it frees, or gives to functions that do, is followed back through its
//! variables, and through members of structures, to what it was given.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Base, Call, Callee, Expr, Function, LocalId, Lvalue, Op, Step, Type};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::super::{
    Contracts, Member, Memory, Tree,
    hooks::{self, Hooks},
    obligations,
    origin::{types, whole_pointer},
    owned::plain,
};

/// What is followed back.
struct Back<'b> {
    function: &'b Function,
    /// Pointers, and whether each is freed itself.
    open: Vec<(&'b Expr, bool)>,
    seen: BTreeSet<(LocalId, bool)>,
    /// By parameter, whether it is freed itself.
    parameters: BTreeMap<usize, bool>,
    members: BTreeSet<Member>,
}

/// What must belong to parameters.
pub(super) fn given_back(
    env: &Environment,
    function: &Function,
    callees: &Contracts,
    hooks: &Hooks,
) -> BTreeMap<usize, Memory> {
    let mut back = Back {
        function,
        open: Vec::new(),
        seen: BTreeSet::new(),
        parameters: BTreeMap::new(),
        members: BTreeSet::new(),
    };
    let freed = hooks::freed(env.program(), function, hooks);
    back.open.extend(freed.values().map(|pointer| (pointer, true)));
    for edge in &function.edges {
        if let Op::Free(pointer) = &edge.op {
            back.open.push((pointer, true));
        } else if let Op::Call(call) = &edge.op {
            back.called(call, callees);
        }
    }
    back.follow();
    loop {
        let known = (back.seen.len(), back.members.len());
        back.stores();
        back.calls_itself();
        back.follow();
        if known == (back.seen.len(), back.members.len()) {
            break;
        }
    }
    let sized = |ty: Type| types(env.program()).size(ty).is_some_and(|size| size > 0);
    let Back { parameters, members, .. } = back;
    let memory = parameters.into_iter().filter_map(|(at, is_allocated)| {
        let pointee = function.local(function.parameters[at]).ty.pointee()?.unqualified();
        let is_record = matches!(pointee.kind(), TypeKind::Record(_)) && sized(pointee);
        let tree = || Memory::Tree(Tree { members: members.clone(), is_allocated });
        let memory = if is_record { Some(tree()) } else { is_allocated.then_some(Memory::Allocated) };
        Some((at, memory?))
    });
    memory.collect()
}

impl<'b> Back<'b> {
    /// What a called function gives back.
    fn called(&mut self, call: &'b Call, callees: &Contracts) {
        let Callee::Direct(name) = call.callee else { return };
        let Some(contract) = callees.get(&name) else { return };
        let arguments = obligations::values(call);
        for (parameter, asked) in &contract.pointers {
            let is_allocated = match &asked.memory {
                Memory::Tree(tree) => {
                    self.members.extend(tree.members.iter().cloned());
                    tree.is_allocated
                }
                Memory::Allocated => true,
                Memory::Nothing
                | Memory::Bytes(_)
                | Memory::Elements(..)
                | Memory::Until(_)
                | Memory::String
                | Memory::Structure => continue,
            };
            let value = arguments.get(*parameter).copied().flatten();
            self.open.extend(value.map(|value| (value, is_allocated)));
        }
    }

    fn follow(&mut self) {
        while let Some((pointer, is_freed)) = self.open.pop() {
            let Expr::Load(lvalue) = plain(pointer) else { continue };
            if let Some(id) = whole_pointer(self.function, lvalue) {
                self.variable(id, is_freed);
            } else if let Some((member, node)) = member(lvalue) {
                self.members.insert(member);
                self.open.push((node, false));
            }
        }
    }

    fn variable(&mut self, id: LocalId, is_freed: bool) {
        if !self.seen.insert((id, is_freed)) {
            return;
        }
        let function = self.function;
        if let Some(at) = function.parameters.iter().position(|parameter| *parameter == id) {
            *self.parameters.entry(at).or_default() |= is_freed;
        }
        self.open.extend(function.edges.iter().filter_map(|edge| match &edge.op {
            Op::Assign(dst, value) if whole_pointer(function, dst) == Some(id) => Some((value, is_freed)),
            _ => None,
        }));
    }

    /// What is put into members that what belongs to their node is read from.
    fn stores(&mut self) {
        let function = self.function;
        for edge in &function.edges {
            if let Op::Assign(dst, value) = &edge.op
                && member(dst).is_some_and(|(member, _)| self.members.contains(&member))
            {
                self.open.push((value, true));
            }
        }
    }

    /// What the function gives to itself.
    fn calls_itself(&mut self) {
        let function = self.function;
        for edge in &function.edges {
            let Op::Call(call) = &edge.op else { continue };
            if call.callee != Callee::Direct(function.name) {
                continue;
            }
            let arguments = obligations::values(call);
            for (at, is_allocated) in &self.parameters {
                let value = arguments.get(*at).copied().flatten();
                self.open.extend(value.map(|value| (value, *is_allocated)));
            }
        }
    }
}

/// The member that a pointer is read from, and the pointer to its node.
fn member(lvalue: &Lvalue) -> Option<(Member, &Expr)> {
    let Base::Deref(node, _) = &lvalue.base else { return None };
    let [Step::Field { record, name, offset }] = &lvalue.path[..] else { return None };
    Some((Member { record: *record, offset: *offset, name: *name }, node))
}
