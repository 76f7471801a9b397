//! States of memory: frames of open calls, objects, allocation counts. All parts are shared between states and copied when
//! they change. Knows no expressions and no operators of values.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use proofline_cfa::{EdgeId, Expr, LocalId, Name, Object};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::store::{filled::Filled, guarded::Guarded, heap::Heap, region::Region, value::AbstractValue};

/// A set of concrete states: the innermost frame, those below, memory objects, allocations.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "V: AbstractValue + Deserialize<'de>"))]
pub struct State<V> {
    /// The innermost frame.
    pub frame: Arc<Frame<V>>,
    /// The frames of the callers, as far as they are known.
    pub below: Below<V>,
    /// Objects that have an address.
    pub memory: Memory<V>,
    /// What allocation sites allocated.
    pub heap: Heap,
}

/// One activation: its locals whose address is not taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame<V> {
    /// Of which function.
    pub function: Name,
    /// The call edge it was entered by, when that is known.
    pub called_at: Option<(Name, EdgeId)>,
    /// Sorted. An absent local is unknown.
    pub locals: Vec<(LocalId, Arc<Region<V>>)>,
    /// Scalar locals that equal an expression in this state, sorted.
    pub definitions: Vec<(LocalId, Arc<Expr>)>,
    /// Elements of arrays that have values, sorted.
    pub filled: Vec<Filled>,
    /// What is known where locals have certain values, sorted.
    pub guarded: Vec<Guarded>,
}

/// The frames below the innermost one.
#[derive(Clone, Debug)]
pub struct Below<V>(Option<Arc<Link<V>>>);

#[derive(Debug)]
struct Link<V> {
    frame: Arc<Frame<V>>,
    below: Below<V>,
    depth: u32,
    /// Of all frames from here down.
    hash: u64,
    /// Of the functions and call sites of all frames from here down.
    calls: u64,
}

/// Known bytes of objects. An absent object is unknown.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Memory<V> {
    objects: Arc<Vec<(Object, Arc<Region<V>>)>>,
}

impl<V: AbstractValue> State<V> {
    /// Digest of the open calls: states with different ones are unrelated.
    pub fn calls(&self) -> u64 {
        self.frame.calls(&self.below)
    }
}

impl<V: AbstractValue> Frame<V> {
    /// A frame about whose locals nothing is known.
    pub fn new(function: Name, called_at: Option<(Name, EdgeId)>) -> Frame<V> {
        Frame {
            function,
            called_at,
            locals: Vec::new(),
            definitions: Vec::new(),
            filled: Vec::new(),
            guarded: Vec::new(),
        }
    }

    /// Digest of the open calls: this one on top of those below.
    fn calls(&self, below: &Below<V>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.function.hash(&mut hasher);
        self.called_at.hash(&mut hasher);
        below.0.as_ref().map_or(0, |link| link.calls).hash(&mut hasher);
        hasher.finish()
    }

    /// What is known of a local.
    pub fn local(&self, id: LocalId) -> Option<&Arc<Region<V>>> {
        let at = self.locals.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.locals[at].1)
    }

    /// Sets what is known of a local.
    pub fn set_local(&mut self, id: LocalId, region: Region<V>) {
        match self.locals.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) if region.is_unknown() => {
                self.locals.remove(at);
            }
            Ok(at) => self.locals[at].1 = Arc::new(region),
            Err(_) if region.is_unknown() => {}
            Err(at) => self.locals.insert(at, (id, Arc::new(region))),
        }
    }

    /// The expression a local equals.
    pub fn definition(&self, id: LocalId) -> Option<&Arc<Expr>> {
        let at = self.definitions.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.definitions[at].1)
    }

    /// Remembers that a local equals an expression.
    pub fn define(&mut self, id: LocalId, expr: Arc<Expr>) {
        match self.definitions.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => self.definitions[at].1 = expr,
            Err(at) => self.definitions.insert(at, (id, expr)),
        }
    }
}

impl<V> Below<V> {
    /// No callers, or unknown ones.
    pub fn nothing() -> Below<V> {
        Below(None)
    }

    /// The topmost frame and the rest.
    pub fn pop(&self) -> Option<(&Arc<Frame<V>>, &Below<V>)> {
        self.0.as_ref().map(|link| (&link.frame, &link.below))
    }

    /// Number of frames.
    pub fn depth(&self) -> u32 {
        self.0.as_ref().map_or(0, |link| link.depth)
    }

    /// Whether both are the same in memory; then they are equal.
    pub fn is_same(&self, other: &Below<V>) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl<V: AbstractValue> Below<V> {
    /// With one more frame on top.
    pub fn push(&self, frame: Arc<Frame<V>>) -> Below<V> {
        let mut hasher = DefaultHasher::new();
        frame.hash(&mut hasher);
        self.0.as_ref().map_or(0, |link| link.hash).hash(&mut hasher);
        let (hash, calls) = (hasher.finish(), frame.calls(self));
        Below(Some(Arc::new(Link { frame, below: self.clone(), depth: self.depth() + 1, hash, calls })))
    }
}

impl<V: PartialEq> PartialEq for Below<V> {
    fn eq(&self, other: &Below<V>) -> bool {
        let (mut a, mut b) = (self, other);
        loop {
            if a.is_same(b) {
                return true;
            }
            let (Some(left), Some(right)) = (&a.0, &b.0) else { return false };
            if left.depth != right.depth || left.hash != right.hash || left.frame != right.frame {
                return false;
            }
            (a, b) = (&left.below, &right.below);
        }
    }
}
impl<V: Eq> Eq for Below<V> {}
impl<V> Hash for Below<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ref().map_or(0, |link| link.hash).hash(state);
    }
}

/// As the frames, the outermost first.
impl<V: Serialize> Serialize for Below<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frames = Vec::new();
        let mut rest = self;
        while let Some((frame, below)) = rest.pop() {
            frames.push(frame);
            rest = below;
        }
        frames.reverse();
        frames.serialize(serializer)
    }
}
impl<'de, V: AbstractValue + Deserialize<'de>> Deserialize<'de> for Below<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Below<V>, D::Error> {
        let frames = Vec::<Arc<Frame<V>>>::deserialize(deserializer)?;
        Ok(frames.into_iter().fold(Below::nothing(), |below, frame| below.push(frame)))
    }
}

impl<V> Drop for Link<V> {
    /// Stacks get deep: the default would recurse.
    fn drop(&mut self) {
        let mut next = self.below.0.take();
        while let Some(link) = next {
            match Arc::try_unwrap(link) {
                Ok(mut link) => next = link.below.0.take(),
                Err(_) => break,
            }
        }
    }
}

impl<V: AbstractValue> Memory<V> {
    /// From known objects.
    pub fn new(mut objects: Vec<(Object, Arc<Region<V>>)>) -> Memory<V> {
        objects.retain(|(_, region)| !region.is_unknown());
        objects.sort_by_key(|(object, _)| *object);
        Memory { objects: Arc::new(objects) }
    }

    /// What is known, sorted.
    pub fn objects(&self) -> &[(Object, Arc<Region<V>>)] {
        &self.objects
    }

    /// What is known of an object.
    pub fn get(&self, object: Object) -> Option<&Arc<Region<V>>> {
        let at = self.objects.binary_search_by_key(&object, |(object, _)| *object).ok()?;
        Some(&self.objects[at].1)
    }

    /// Sets what is known of an object.
    pub fn set(&mut self, object: Object, region: Region<V>) {
        match self.objects.binary_search_by_key(&object, |(object, _)| *object) {
            Ok(at) if region.is_unknown() => {
                Arc::make_mut(&mut self.objects).remove(at);
            }
            Ok(at) => Arc::make_mut(&mut self.objects)[at].1 = Arc::new(region),
            Err(_) if region.is_unknown() => {}
            Err(at) => Arc::make_mut(&mut self.objects).insert(at, (object, Arc::new(region))),
        }
    }

    /// Forgets an object.
    pub fn forget(&mut self, object: Object) {
        if self.get(object).is_some() {
            self.set(object, Region::unknown());
        }
    }

    /// Keeps the objects for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(Object) -> bool) {
        if self.objects.iter().any(|(object, _)| !keep(*object)) {
            Arc::make_mut(&mut self.objects).retain(|(object, _)| keep(*object));
        }
    }

    /// Whether both are the same in memory.
    pub fn is_same(&self, other: &Memory<V>) -> bool {
        Arc::ptr_eq(&self.objects, &other.objects)
    }
}
