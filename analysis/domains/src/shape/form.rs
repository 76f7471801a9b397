//! What a pointer leads to, said of the whole structure: an acyclic list of at least two objects, a tree, freed memory. Read off the graph, by
//! the members of the record that point to such records; joined, it is what all states of a place have in common.
//!
//! Law: in every concrete state that the graph describes, what the form says holds. Nodes of the graph are different objects, and a segment's objects
//! are in a row: so a walk along a link that meets no node twice and ends with null is an acyclic list.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Expr, Function, Name};

use super::{
    ShapeAnalysis, eval,
    heap::{Heap, Shapes},
    region::{Branches, Region, Segment},
    value::{End, Node, Pointer, Value},
};

/// What a pointer leads to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// It may be null; the rest is about the case that it is not.
    pub may_be_null: bool,
    /// It may be something else than null.
    pub may_lead: bool,
    /// It leads to an object that was freed, if not null.
    pub is_freed: bool,
    /// Lists that begin there, by the member that links their objects.
    pub lists: BTreeMap<u64, List>,
    /// Trees whose root is there, by the members that link their objects.
    pub trees: BTreeMap<(u64, u64), Tree>,
}

/// A list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct List {
    /// So many objects at least.
    pub least: u32,
    /// And at most; `None`: any number.
    pub most: Option<u32>,
    /// The last object leads to the first; otherwise its link is null.
    pub is_cyclic: bool,
    /// Members by which each object but the first leads to the one before it.
    pub back: BTreeSet<u64>,
}

/// A tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tree {
    /// So many objects at least.
    pub least: u32,
    /// And at most; `None`: any number.
    pub most: Option<u32>,
}

impl Form {
    /// What is known where either holds; `None`: nothing.
    pub fn join(&self, other: &Form) -> Option<Form> {
        let may_be_null = self.may_be_null || other.may_be_null;
        let (one, two) = match (self.may_lead, other.may_lead) {
            (_, false) => return Some(Form { may_be_null, ..self.clone() }),
            (false, true) => return Some(Form { may_be_null, ..other.clone() }),
            (true, true) => (self, other),
        };
        let lists =
            one.lists.iter().filter_map(|(next, list)| Some((*next, list.join(two.lists.get(next)?)?)));
        let trees = one.trees.iter().filter_map(|(links, tree)| {
            let other = two.trees.get(links)?;
            Some((*links, Tree { least: tree.least.min(other.least), most: most(tree.most, other.most) }))
        });
        let joined = Form {
            may_be_null,
            may_lead: true,
            is_freed: one.is_freed && two.is_freed,
            lists: lists.collect(),
            trees: trees.collect(),
        };
        joined.says_something().then_some(joined)
    }

    /// What is known where both hold.
    pub fn and(&self, other: &Form) -> Form {
        let mut lists = self.lists.clone();
        for (next, list) in &other.lists {
            let known = lists.entry(*next).or_insert_with(|| list.clone());
            known.least = known.least.max(list.least);
            known.most = known.most.into_iter().chain(list.most).min();
            known.back.extend(&list.back);
        }
        let mut trees = self.trees.clone();
        for (links, tree) in &other.trees {
            let known = trees.entry(*links).or_insert_with(|| tree.clone());
            known.least = known.least.max(tree.least);
            known.most = known.most.into_iter().chain(tree.most).min();
        }
        Form {
            may_be_null: self.may_be_null && other.may_be_null,
            may_lead: self.may_lead && other.may_lead,
            is_freed: self.is_freed || other.is_freed,
            lists,
            trees,
        }
    }

    /// Whether it is a structure of any size.
    pub fn is_unbounded(&self) -> bool {
        let lists = self.lists.values().any(|list| list.most.is_none());
        lists || self.trees.values().any(|tree| tree.most.is_none())
    }

    fn says_something(&self) -> bool {
        !self.may_lead || self.is_freed || !self.lists.is_empty() || !self.trees.is_empty()
    }
}

impl List {
    fn join(&self, other: &List) -> Option<List> {
        (self.is_cyclic == other.is_cyclic).then(|| List {
            least: self.least.min(other.least),
            most: most(self.most, other.most),
            is_cyclic: self.is_cyclic,
            back: self.back.intersection(&other.back).copied().collect(),
        })
    }
}

fn most(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    Some(a?.max(b?))
}

/// A pointer to look at: how it is read, and where in the record that it points to pointers to such records are.
pub struct Asked {
    /// The pointer.
    pub pointer: Expr,
    /// The members' places.
    pub links: Vec<u64>,
}

impl ShapeAnalysis {
    /// The members of a record that point to such records.
    pub fn links(&self, record: Name) -> Vec<u64> {
        let Some(record) = self.program.env.program().records.get(&record) else { return Vec::new() };
        if record.is_union {
            return Vec::new();
        }
        let is_own = |field: &&proofline_hir::types::Field| {
            field.bits.is_none()
                && field.ty.pointee().is_some_and(
                    |ty| matches!(ty.kind(), proofline_hir::TypeKind::Record(tag) if *tag == record.tag),
                )
        };
        record.fields.iter().filter(is_own).map(|field| field.offset).collect()
    }

    /// What the pointers lead to, in a function's state.
    pub fn forms(&self, state: &Shapes, function: &Function, asked: &[Asked]) -> Vec<Option<Form>> {
        let Shapes::Known(heap) = state else { return asked.iter().map(|_| None).collect() };
        let mut step = eval::Step { program: &self.program, function, heap: heap.clone() };
        let mut form = |asked: &Asked| {
            let value = step.eval(&asked.pointer).ok()?;
            Walk { heap: &step.heap, width: self.program.pointer_bytes() }.form(&value, &asked.links)
        };
        asked.iter().map(&mut form).collect()
    }
}

struct Walk<'h> {
    heap: &'h Heap,
    width: u64,
}

impl Walk<'_> {
    fn form(&self, value: &Value, links: &[u64]) -> Option<Form> {
        let mut form = Form {
            may_be_null: false,
            may_lead: true,
            is_freed: false,
            lists: BTreeMap::new(),
            trees: BTreeMap::new(),
        };
        match value {
            Value::Freed => form.is_freed = true,
            value if value.is_zero() => (form.may_be_null, form.may_lead) = (true, false),
            Value::Pointer(pointer) => {
                let start = self.end(pointer)?;
                for next in links {
                    form.lists.extend(self.list(start, *next, links).map(|list| (*next, list)));
                }
                for (at, left) in links.iter().enumerate() {
                    for right in links.get(at + 1..).unwrap_or_default() {
                        form.trees
                            .extend(self.tree(start, *left, *right).map(|tree| ((*left, *right), tree)));
                    }
                }
            }
            Value::Uninit
            | Value::Any
            | Value::Number(_)
            | Value::Symbol(_)
            | Value::Function(_)
            | Value::Ended
            | Value::Choice(_) => return None,
        }
        form.says_something().then_some(form)
    }

    /// The node at whose end there is the object whose first byte it points to, and which end that is; of a single object, the first.
    fn end(&self, pointer: &Pointer) -> Option<(Node, End)> {
        let region = self.heap.node(pointer.to)?;
        let is_plain = pointer.offset() == Some(0) && region.owner.is_none() && pointer.end != End::Each;
        let end = if region.segment.is_some() { pointer.end } else { End::First };
        is_plain.then_some((pointer.to, end))
    }

    /// Where a link leads: `Ok(None)` is null, `Err` what cannot be said.
    fn target(&self, value: &Value) -> Result<Option<(Node, End)>, ()> {
        match value {
            value if value.is_zero() => Ok(None),
            Value::Pointer(pointer) => self.end(pointer).map(Some).ok_or(()),
            _ => Err(()),
        }
    }

    /// From one end of each node to its other: segments that are linked in both directions are walked in either.
    fn list(&self, start: (Node, End), link: u64, links: &[u64]) -> Option<List> {
        let mut back: BTreeSet<u64> = links.iter().copied().filter(|at| *at != link).collect();
        let (mut seen, mut least, mut is_any) = (BTreeSet::new(), 0, false);
        let mut at = start;
        let is_cyclic = loop {
            if !seen.insert(at.0) {
                return None;
            }
            let region = self.heap.node(at.0)?;
            match (region.segment, at.1) {
                (None, _) => least += 1,
                (Some(Segment { next, next_to: 0, back: own, least: count, branches: None }), End::First)
                    if next == link =>
                {
                    least += u32::from(count);
                    is_any = true;
                    back.retain(|member| own == Some((*member, 0)));
                }
                (Some(Segment { next, next_to: 0, back: own, least: count, branches: None }), End::Last)
                    if own == Some((link, 0)) =>
                {
                    least += u32::from(count);
                    is_any = true;
                    back.retain(|member| *member == next);
                }
                (Some(_), _) => return None,
            }
            let to = self.target(&region.read(link, self.width)).ok()?;
            let Some(to) = to else { break false };
            back.retain(|member| self.leads_back(to.0, *member, at));
            if to == start {
                break true;
            }
            at = to;
        };
        Some(List { least, most: (!is_any).then_some(least), is_cyclic, back })
    }

    /// Whether the object of a node that is met first leads by the member to the one of another node that was met last, if that was entered at
    /// this end.
    fn leads_back(&self, from: Node, member: u64, (to, entered): (Node, End)) -> bool {
        let Some(region) = self.heap.node(from) else { return false };
        let Value::Pointer(pointer) = region.read(member, self.width) else { return false };
        let left = match (self.heap.node(to).and_then(|before| before.segment), entered) {
            (None, _) => End::First,
            (Some(_), End::First) => End::Last,
            (Some(_), End::Last | End::Each) => End::First,
        };
        self.end(&pointer) == Some((to, left))
    }

    fn tree(&self, root: (Node, End), left: u64, right: u64) -> Option<Tree> {
        let (mut seen, mut least, mut is_any) = (BTreeSet::new(), 0, false);
        let mut open = vec![root];
        while let Some((at, end)) = open.pop() {
            if !seen.insert(at) || end != End::First {
                return None;
            }
            let region = self.heap.node(at)?;
            match region.segment {
                None => {
                    least += 1;
                    for link in [left, right] {
                        open.extend(self.target(&region.read(link, self.width)).ok()?);
                    }
                }
                Some(segment @ Segment { branches: Some(branches), .. })
                    if is_pair(segment.next, branches, left, right) =>
                {
                    least += u32::from(segment.least);
                    is_any = true;
                    if branches.is_open {
                        open.extend(self.target(&self.hole(region)?).ok()?);
                    }
                }
                Some(_) => return None,
            }
        }
        Some(Tree { least, most: (!is_any).then_some(least) })
    }

    /// What the link that leads out of a tree holds.
    fn hole(&self, region: &Region) -> Option<Value> {
        Some(region.read(region.exact_size()?, self.width))
    }
}

fn is_pair(next: u64, branches: Branches, left: u64, right: u64) -> bool {
    (next, branches.other) == (left, right) || (branches.other, next) == (left, right)
}
