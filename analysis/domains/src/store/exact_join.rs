//! Unions of two states that are states themselves: those of states that differ in one scalar.

use std::sync::Arc;

use proofline_cfa::{Object, Scalar};

use crate::store::{
    region::{Cell, Content, Region},
    state::State,
    value::AbstractValue,
};

/// The union of two values, where it is a value.
type Union<'u, V> = dyn Fn(Scalar, &V, &V) -> Option<V> + 'u;

impl<V: AbstractValue> State<V> {
    /// The state that stands for exactly what either stands for, if they differ in one local or one scalar of a global only and `union`
    /// knows the union of its values.
    pub fn exact_join(&self, other: &State<V>, union: &Union<'_, V>) -> Option<State<V>> {
        let (a, b) = (&*self.frame, &*other.frame);
        let same = self.below == other.below
            && self.heap == other.heap
            && (a.function, a.called_at) == (b.function, b.called_at)
            && (&a.definitions, &a.filled, &a.guarded) == (&b.definitions, &b.filled, &b.guarded);
        if !same {
            return None;
        }
        let mut joined = self.clone();
        match (the_other(&a.locals, &b.locals)?, the_other(self.memory.objects(), other.memory.objects())?) {
            (None, None) => {}
            (Some((id, mine, theirs)), None) => {
                Arc::make_mut(&mut joined.frame).set_local(id, joined_regions(mine, theirs, union)?);
            }
            // Objects of other kinds may be several at once, of which each has one of the values.
            (None, Some((object @ Object::Global(_), mine, theirs))) => {
                joined.memory.set(object, joined_regions(mine, theirs, union)?);
            }
            (None | Some(_), Some(_)) => return None,
        }
        Some(joined)
    }
}

/// A key with two regions that differ.
type Differing<'a, K, V> = Option<(K, &'a Region<V>, &'a Region<V>)>;

/// Where two lists differ, if that is at most at one key, which both have.
fn the_other<'a, K: Copy + PartialEq, V: AbstractValue>(
    a: &'a [(K, Arc<Region<V>>)],
    b: &'a [(K, Arc<Region<V>>)],
) -> Option<Differing<'a, K, V>> {
    if a.len() != b.len() {
        return None;
    }
    let mut found = None;
    for ((key, mine), (other, theirs)) in a.iter().zip(b) {
        if key != other {
            return None;
        }
        if !Arc::ptr_eq(mine, theirs) && mine != theirs && found.replace((*key, &**mine, &**theirs)).is_some()
        {
            return None;
        }
    }
    Some(found)
}

/// The same for regions: they differ in one cell, which is one scalar.
fn joined_regions<V: AbstractValue>(a: &Region<V>, b: &Region<V>, union: &Union<'_, V>) -> Option<Region<V>> {
    let (mine, theirs) = (a.cells(), b.cells());
    if a.ends() != b.ends() || a.tracks() != b.tracks() || mine.len() != theirs.len() {
        return None;
    }
    let mut differing = mine.iter().zip(theirs).filter(|(mine, theirs)| mine != theirs);
    let ((mine, theirs), None) = (differing.next()?, differing.next()) else { return None };
    if (mine.start, mine.len) != (theirs.start, theirs.len) {
        return None;
    }
    let content = match (&mine.content, &theirs.content) {
        (Content::Each(scalar, item, x), Content::Each(other, _, y))
            if scalar == other && *item == mine.len =>
        {
            Content::Each(*scalar, *item, union(*scalar, x, y)?)
        }
        (Content::Zero, Content::Each(scalar, item, known))
        | (Content::Each(scalar, item, known), Content::Zero)
            if *item == mine.len =>
        {
            Content::Each(*scalar, *item, union(*scalar, &V::zero(*scalar), known)?)
        }
        (
            Content::Zero | Content::Any | Content::Each(..),
            Content::Zero | Content::Any | Content::Each(..),
        ) => {
            return None;
        }
    };
    let mut joined = a.clone();
    joined.replace(mine.start, mine.end(), [Cell { content, ..mine.clone() }]);
    joined.set_ends(a.ends());
    Some(joined)
}
