//! Trees of any size: a *tree* is a segment whose objects have two links, each of which leads to another one of its objects or is null; an *open*
//! tree is one in which one link, the hole, leads out of it, to where somebody works below. (A path in separation logic's words: a context.)
//! Objects may have a third link, to the parent. Folding closes what nobody leads into; materialising the root, or the object above the
//! hole, splits a tree into that object, the trees below, and the open rest. Law: each describes at least what was described before.
//!
//! What the hole holds stands in a cell behind the last byte of the object, where no access gets.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::Name;
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    heap::{At, Heap},
    join::{self, Join},
    region::{Branches, Life, Region, Segment},
    segment::{copy, put},
    value::{End, Node, Pointer, Value},
};

/// The members of a record that point to such records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Links {
    tag: Name,
    size: u64,
    fields: Vec<u64>,
}

impl Links {
    /// Of the program's records, those that can be parts of trees.
    pub(super) fn of(env: &Environment) -> Vec<Links> {
        let records = env.program().records.values().filter(|record| !record.is_union);
        let links = records.map(|record| {
            let is_own =
                |kind: Option<&TypeKind>| matches!(kind, Some(TypeKind::Record(tag)) if *tag == record.tag);
            let own = record.fields.iter().filter(|field| field.bits.is_none());
            let own = own.filter(|field| is_own(field.ty.pointee().as_ref().map(|ty| ty.kind())));
            Links { tag: record.tag, size: record.size, fields: own.map(|field| field.offset).collect() }
        });
        links.filter(|links| matches!(links.fields.len(), 2 | 3)).collect()
    }

    /// Whether an object may be one of a tree.
    fn fits(&self, region: &Region) -> bool {
        region.exact_size() == Some(self.size) && region.record.is_none_or(|record| record == self.tag)
    }

    /// Whether a link there, of such an object, may be one of a tree.
    pub(super) fn has(&self, region: &Region, at: u64) -> bool {
        self.fits(region) && self.fields.contains(&at)
    }

    fn forms(&self) -> Vec<Form> {
        let form = |next, other, back| Form { next, other, back, hole: self.size };
        match self.fields[..] {
            [next, other] => vec![form(next, other, None)],
            [a, b, c] => vec![form(a, b, Some(c)), form(a, c, Some(b)), form(b, c, Some(a))],
            _ => Vec::new(),
        }
    }
}

/// Where the links are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form {
    next: u64,
    other: u64,
    back: Option<u64>,
    hole: u64,
}

impl Form {
    fn of(segment: Segment, branches: Branches, region: &Region) -> Option<Form> {
        let hole = region.exact_size()?;
        Some(Form { next: segment.next, other: branches.other, back: segment.back.map(|(at, _)| at), hole })
    }

    fn segment(self, is_open: bool) -> Segment {
        let branches = Some(Branches { other: self.other, is_open });
        Segment { next: self.next, next_to: 0, back: self.back.map(|at| (at, 0)), least: 1, branches }
    }

    fn links(self) -> Vec<u64> {
        [self.next, self.other, self.hole].into_iter().chain(self.back).collect()
    }
}

/// Folds two or more objects of a tree; `None` if there is nothing to fold.
pub(super) fn once(heap: &Heap, lossy: bool, kinds: &[Links], pointer_bytes: u64) -> Option<Heap> {
    heap.allocated().find_map(|(id, region)| {
        let kinds = kinds.iter().filter(|kind| kind.fits(region));
        let mut forms = kinds.flat_map(|kind| kind.forms().into_iter().map(move |form| (kind, form)));
        forms.find_map(|(links, form)| {
            let mut part = Part { heap, links, form, pointer_bytes, parents: BTreeMap::new(), below: None };
            part.fold(id, lossy)
        })
    })
}

/// What an object or an open tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Object,
    Closed,
    Open,
}

/// What is folded into one: a root and what is below it.
struct Part<'h> {
    heap: &'h Heap,
    links: &'h Links,
    form: Form,
    pointer_bytes: u64,
    /// The others, each with the node above it and where the link is.
    parents: BTreeMap<u32, (u32, u64)>,
    /// What the hole of the result holds, and the node that has the hole.
    below: Option<(u32, Value)>,
}

impl Part<'_> {
    fn region(&self, id: u32) -> Option<&Region> {
        self.heap.node(Node::Heap(id))
    }

    fn kind(&self, id: u32) -> Option<Kind> {
        let region = self.region(id)?;
        if region.life != Life::Heap || region.owner.is_some() || !self.links.fits(region) {
            return None;
        }
        match region.segment {
            None => Some(Kind::Object),
            Some(segment) if segment == self.form.segment(false) => Some(Kind::Closed),
            Some(segment) if segment == self.form.segment(true) => Some(Kind::Open),
            Some(_) => None,
        }
    }

    fn link(&self, id: u32, at: u64) -> Value {
        self.region(id).map_or(Value::Any, |region| region.read(at, self.pointer_bytes))
    }

    /// The node that a link leads to.
    fn target(value: &Value) -> Option<u32> {
        match value {
            Value::Pointer(Pointer { to: Node::Heap(id), end: End::First, low: 0, high: 0 }) => Some(*id),
            _ => None,
        }
    }

    fn fold(&mut self, root: u32, lossy: bool) -> Option<Heap> {
        match self.kind(root)? {
            Kind::Closed => return None,
            Kind::Object => {
                if !self.take_object(root)? {
                    return None;
                }
                if let Some((_, value)) = self.below.clone() {
                    // One link leads to what is not closed: what comes there belongs to the path, if nobody else leads there.
                    self.go_on(root, &value)?;
                }
            }
            Kind::Open => {
                let value = self.link(root, self.form.hole);
                if value.is_zero() {
                    self.below = None;
                } else {
                    self.below = Some((root, value.clone()));
                    self.go_on(root, &value)?;
                }
            }
        }
        let is_alone =
            self.parents.is_empty() && !matches!(self.kind(root), Some(Kind::Open) if self.below.is_none());
        if is_alone {
            return None;
        }
        self.check_references(root)?;
        self.merged(root, lossy)
    }

    /// The trees below an object belong to it; a link that leads elsewhere is what the hole holds. Whether any link leads anywhere.
    fn take_object(&mut self, id: u32) -> Option<bool> {
        let mut leads = false;
        for at in [self.form.next, self.form.other] {
            let value = self.link(id, at);
            if value.is_zero() {
                continue;
            }
            leads = true;
            let child = Self::target(&value)?;
            let is_leaf =
                || [self.form.next, self.form.other].into_iter().all(|at| self.link(child, at).is_zero());
            let is_closed = match self.kind(child) {
                Some(Kind::Closed) => true,
                Some(Kind::Object) => is_leaf(),
                Some(Kind::Open) | None => false,
            };
            if child != id && is_closed && self.is_known_only(child, id, at) {
                self.parents.insert(child, (id, at));
            } else if self.below.is_none() {
                self.below = Some((id, value));
            } else {
                return None;
            }
        }
        Some(leads)
    }

    /// What the hole leads to belongs to the path, too.
    fn go_on(&mut self, from: u32, value: &Value) -> Option<()> {
        let at = match self.kind(from)? {
            Kind::Open => self.form.hole,
            Kind::Object if self.link(from, self.form.next) == *value => self.form.next,
            Kind::Object => self.form.other,
            Kind::Closed => return None,
        };
        let id = Self::target(value).filter(|id| *id != from)?;
        let kind = self.kind(id)?;
        if !self.is_known_only(id, from, at) {
            return None;
        }
        self.parents.insert(id, (from, at));
        match kind {
            Kind::Closed => self.below = None,
            Kind::Open => self.below = Some((id, self.link(id, self.form.hole))),
            Kind::Object => {
                self.below = None;
                self.take_object(id)?;
            }
        }
        Some(())
    }

    /// Whether nothing but this link, and what is below, leads to a node; and whether it knows its parent.
    fn is_known_only(&self, id: u32, parent: u32, at: u64) -> bool {
        let is_back = self.form.back.is_none_or(|back| {
            let end = if self.kind(parent) == Some(Kind::Open) { End::Last } else { End::First };
            let to = Value::Pointer(Pointer { to: Node::Heap(parent), end, low: 0, high: 0 });
            self.link(id, back) == to
        });
        if !is_back {
            return false;
        }
        let own = join::own(self.heap, id, &self.form.links());
        let leads = |value: &Value| value.pointers().any(|pointer| pointer.to == Node::Heap(id));
        self.heap.values().filter(|(_, value)| leads(value)).all(|(place, _)| match place {
            At::Cell(Node::Heap(from), offset) => {
                (from, offset) == (parent, at)
                    || from == id
                    || own.contains(&from)
                    || self.form.back == Some(offset)
            }
            At::Cell(Node::Global(_) | Node::Local(..), _) | At::Register => false,
        })
    }

    /// Whether nothing leads into the middle of what comes into being.
    fn check_references(&self, root: u32) -> Option<()> {
        let links = self.form.links();
        let members: BTreeSet<u32> = self.parents.keys().copied().chain([root]).collect();
        let own: BTreeMap<u32, BTreeSet<u32>> =
            members.iter().map(|id| (*id, join::own(self.heap, *id, &links))).collect();
        let owner = |id: u32| {
            let is_own = |(_, own): &(&u32, &BTreeSet<u32>)| own.contains(&id);
            if members.contains(&id) { Some(id) } else { own.iter().find(is_own).map(|(member, _)| *member) }
        };
        // What the hole leads to knows who is above.
        let below = self.below.as_ref().and_then(|(bottom, value)| Some((*bottom, Self::target(value)?)));
        for (at, value) in self.heap.values() {
            for pointer in value.pointers() {
                let Node::Heap(to) = pointer.to else { continue };
                if !members.contains(&to) {
                    continue;
                }
                let kind = self.kind(to)?;
                let from = match at {
                    At::Cell(Node::Heap(from), offset) => Some((from, offset)),
                    At::Cell(Node::Global(_) | Node::Local(..), _) | At::Register => None,
                };
                if let Some((from, offset)) = from {
                    let is_link = self.parents.get(&to) == Some(&(from, offset));
                    let is_child = self.parents.get(&from).is_some_and(|(parent, _)| *parent == to);
                    let is_back = is_child || below == Some((to, from));
                    if is_link || is_back && self.form.back == Some(offset) {
                        continue;
                    }
                    // What an object says of itself.
                    let is_own_link = from == to && links.contains(&offset);
                    if owner(from) == Some(to) && !is_own_link {
                        if kind != Kind::Object && pointer.end != End::Each {
                            return None;
                        }
                        continue;
                    }
                    if owner(from).is_some() {
                        return None;
                    }
                }
                let is_first = kind == Kind::Object && pointer.end != End::Each || pointer.end == End::First;
                if to != root || !is_first {
                    return None;
                }
            }
        }
        Some(())
    }

    /// One description of all of them.
    fn merged(&self, root: u32, lossy: bool) -> Option<Heap> {
        let links = self.form.links();
        let back = self.form.back.map(|at| (at, self.link(root, at)));
        let bottom = self.below.as_ref().map(|(bottom, _)| *bottom);
        let mut heap = self.heap.clone();
        let mut all = root;
        for id in self.parents.keys().copied() {
            let (first, second) = (heap.node(Node::Heap(all))?.clone(), heap.node(Node::Heap(id))?.clone());
            let own = [join::own(&heap, all, &links), join::own(&heap, id, &links)];
            if own[0].contains(&id) || own[1].contains(&all) {
                return None;
            }
            let (mut result, node, mut region) =
                Join::of(&heap, [all, id], own, lossy, self.pointer_bytes, |join| {
                    join.regions(&first, &second, &links)
                })?;
            region.segment = Some(self.form.segment(false));
            result.nodes.insert(Node::Heap(node), Arc::new(region));
            result.redirect(&|pointer| {
                let end = match pointer.to {
                    Node::Heap(to) if to == id && bottom == Some(id) => End::Last,
                    Node::Heap(to) if to == id => End::First,
                    Node::Heap(to) if to == root => End::First,
                    Node::Heap(to) if to == all && pointer.end != End::Each => pointer.end,
                    Node::Heap(_) | Node::Global(_) | Node::Local(..) => return None,
                };
                Some(Value::Pointer(Pointer { to: Node::Heap(node), end, ..*pointer }))
            });
            (heap, all) = (result, node);
        }
        let region = heap.node_mut(Node::Heap(all))?;
        region.segment = Some(self.form.segment(bottom.is_some()));
        region.cells.remove(&self.form.hole);
        for at in [self.form.next, self.form.other] {
            region.write(at, self.pointer_bytes, Value::null());
        }
        if let Some((at, value)) = back {
            region.write(at, self.pointer_bytes, value);
        }
        if let Some((_, value)) = &self.below {
            region.write(self.form.hole, self.pointer_bytes, value.clone());
        }
        Some(heap)
    }
}

/// The cases of a tree when the object at one end of it becomes one of its own.
pub(super) fn materialise(heap: &Heap, id: u32, end: End) -> Option<Vec<Heap>> {
    let region = heap.node(Node::Heap(id))?;
    let segment = region.segment?;
    let branches = segment.branches?;
    let form = Form::of(segment, branches, region)?;
    let mut cases = Vec::new();
    for side in [false, true] {
        if !branches.is_open {
            cases.extend([false, true].map(|other| closed(heap, id, form, [side, other])));
            continue;
        }
        for at in [form.next, form.other] {
            cases.push(last(heap, id, form, at, side));
            cases.push(match end {
                End::First => upper(heap, id, form, at, side),
                End::Last => lower(heap, id, form, at, side),
                End::Each => None,
            });
        }
    }
    cases.into_iter().collect()
}

fn pointer_to(id: u32, end: End) -> Value {
    Value::Pointer(Pointer { to: Node::Heap(id), end, low: 0, high: 0 })
}

/// An object of the tree, with null links.
fn object(heap: &mut Heap, id: u32, form: Form) -> Option<u32> {
    let region = heap.node(Node::Heap(id))?.clone();
    let object = copy(heap, id, &Region { segment: None, ..region })?;
    heap.node_mut(Node::Heap(object))?.cells.remove(&form.hole);
    Some(object)
}

/// A tree below an object, behind one of its links.
fn hang(heap: &mut Heap, like: &Region, id: u32, object: u32, form: Form, at: u64) -> Option<()> {
    let below = copy(heap, id, &Region { segment: Some(form.segment(false)), ..like.clone() })?;
    let region = heap.node_mut(Node::Heap(below))?;
    region.cells.remove(&form.hole);
    if let Some(back) = form.back {
        put(region, back, pointer_to(object, End::First));
    }
    put(heap.node_mut(Node::Heap(object))?, at, pointer_to(below, End::First));
    Some(())
}

/// Nothing is left of a node.
fn replace(heap: &mut Heap, id: u32, object: u32) {
    heap.redirect(&|pointer| {
        (pointer.to == Node::Heap(id) && pointer.end != End::Each).then_some(Value::Pointer(Pointer {
            to: Node::Heap(object),
            end: End::First,
            ..*pointer
        }))
    });
    let mut gone = vec![id];
    while let Some(id) = gone.pop() {
        heap.nodes.remove(&Node::Heap(id));
        gone.extend(heap.allocated().filter(|(_, region)| region.owner == Some(id)).map(|(owned, _)| owned));
    }
}

/// The root of a closed tree, with these trees below.
fn closed(heap: &Heap, id: u32, form: Form, sides: [bool; 2]) -> Option<Heap> {
    let mut heap = heap.clone();
    let like = heap.node(Node::Heap(id))?.clone();
    let object = object(&mut heap, id, form)?;
    for (at, is_there) in [form.next, form.other].into_iter().zip(sides) {
        if is_there {
            hang(&mut heap, &like, id, object, form, at)?;
        }
    }
    replace(&mut heap, id, object);
    Some(heap)
}

/// The only object on the way to the hole, which is behind one of its links.
fn last(heap: &Heap, id: u32, form: Form, at: u64, side: bool) -> Option<Heap> {
    let mut heap = heap.clone();
    let like = heap.node(Node::Heap(id))?.clone();
    let object = object(&mut heap, id, form)?;
    if side {
        hang(&mut heap, &like, id, object, form, other(form, at))?;
    }
    put(heap.node_mut(Node::Heap(object))?, at, like.cells.get(&form.hole)?.value.clone());
    replace(&mut heap, id, object);
    Some(heap)
}

/// The root, and the open rest behind one of its links.
fn upper(heap: &Heap, id: u32, form: Form, at: u64, side: bool) -> Option<Heap> {
    let mut heap = heap.clone();
    let like = heap.node(Node::Heap(id))?.clone();
    let object = object(&mut heap, id, form)?;
    if side {
        hang(&mut heap, &like, id, object, form, other(form, at))?;
    }
    redirect_end(&mut heap, id, End::First, object);
    put(heap.node_mut(Node::Heap(object))?, at, pointer_to(id, End::First));
    if let Some(back) = form.back {
        put(heap.node_mut(Node::Heap(id))?, back, pointer_to(object, End::First));
    }
    Some(heap)
}

/// The object above the hole, and the open rest above it.
fn lower(heap: &Heap, id: u32, form: Form, at: u64, side: bool) -> Option<Heap> {
    let mut heap = heap.clone();
    let like = heap.node(Node::Heap(id))?.clone();
    let object = object(&mut heap, id, form)?;
    if side {
        hang(&mut heap, &like, id, object, form, other(form, at))?;
    }
    redirect_end(&mut heap, id, End::Last, object);
    put(heap.node_mut(Node::Heap(object))?, at, like.cells.get(&form.hole)?.value.clone());
    if let Some(back) = form.back {
        put(heap.node_mut(Node::Heap(object))?, back, pointer_to(id, End::Last));
    }
    put(heap.node_mut(Node::Heap(id))?, form.hole, pointer_to(object, End::First));
    Some(heap)
}

fn other(form: Form, at: u64) -> u64 {
    if at == form.next { form.other } else { form.next }
}

fn redirect_end(heap: &mut Heap, id: u32, end: End, object: u32) {
    heap.redirect(&|pointer| {
        (pointer.to == Node::Heap(id) && pointer.end == end).then_some(Value::Pointer(Pointer {
            to: Node::Heap(object),
            end: End::First,
            ..*pointer
        }))
    });
}
