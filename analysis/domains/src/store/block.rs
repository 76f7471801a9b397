//! Reducing a state to what a block can see, and putting the rest back. Law: see [`proofline_cpa::BlockCpa`].
//!
//! Dropped: the frames of callers, the locals that a loop does not mention, the objects that the block neither reads nor writes. Kept
//! though points-to may not list them: what belongs to functions the block can run, because their entries and allocations
//! reset it.
//!
//! Allocation counts of a reduced state speak of the sites in the block's scope only. For others they say `others`, which is no
//! claim: nothing in the block asks for them but to see whether they are exactly `One`. Whether something refers to the objects of others,
//! [`Elsewhere`](super::heap::Elsewhere) says.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{LocalId, Name, Object};
use proofline_cpa::{BlockContext, BlockId};

use crate::store::{
    arithmetic::Arithmetic,
    heap::{Guard, Heap, Site},
    left, mentions,
    model::Model,
    state::{Below, Frame, Memory, State},
    view::Target,
};

/// Which objects a block may touch.
pub struct Scope<'b> {
    objects: Option<&'b BTreeSet<Object>>,
    functions: Arc<BTreeSet<Name>>,
}

impl Scope<'_> {
    /// The scope of a block.
    pub fn of<'b, A: Arithmetic>(model: &Model<A>, block: BlockContext<'b>) -> Scope<'b> {
        Scope { objects: block.objects, functions: model.reachable(block.function.name) }
    }

    /// Whether the block may touch the object.
    pub fn contains(&self, object: Object) -> bool {
        let Some(objects) = self.objects else { return true };
        objects.contains(&object)
            || match object {
                Object::Local(function, _) | Object::Heap(function, _) => self.functions.contains(&function),
                Object::Global(_) | Object::External => false,
            }
    }

    /// Whether the block may run the function.
    pub fn runs(&self, function: Name) -> bool {
        self.functions.contains(&function)
    }
}

/// `reduce`
pub fn reduce<A: Arithmetic>(
    model: &Model<A>,
    entry: &State<A::Value>,
    block: BlockContext<'_>,
) -> State<A::Value> {
    let scope = Scope::of(model, block);
    let elsewhere = left::elsewhere(model, entry, &|known| match known {
        Target::Local(id) => is_seen(block, id),
        Target::Object(object) => scope.contains(object),
    });
    let mut state = entry.clone();
    state.conclude(&|fact| !is_seen(block, fact.by));
    state.conclude_guarded(&|known| !is_seen(block, known.by));
    state.unguard(&|known| match known.target {
        Target::Local(id) => !is_seen(block, id),
        Target::Object(object) => !scope.contains(object),
    });
    state.unfill(&|fact| match fact.target {
        Target::Local(id) => !is_seen(block, id),
        Target::Object(object) => !scope.contains(object),
    });
    state.below = Below::nothing();
    let frame = Arc::make_mut(&mut state.frame);
    frame.called_at = None;
    match block.id {
        BlockId::Function(_) => {}
        BlockId::Loop(..) => {
            if let Some(locals) = block.locals {
                frame.locals.retain(|(id, _)| locals.contains(id));
                frame.definitions.retain(|(id, expr)| locals.contains(id) && reads_only(expr, locals));
            }
        }
    }
    state.memory.retain(|object| scope.contains(object));
    let mut heap = Heap {
        elsewhere,
        older: state.heap.older,
        copied: state.heap.copied,
        ..Heap::all(state.heap.others)
    };
    for (object, site) in state.heap.sites.iter().filter(|(object, site)| is_site_seen(&scope, *object, site))
    {
        let mut guards = site.guards.clone();
        guards.retain(|guard| is_guard_seen(block, &scope, *guard));
        heap.set(*object, Site { freed: false, guards, ..site.clone() });
    }
    state.heap = heap;
    state
}

/// Whether a block sees a site, or a pointer in memory that says whether it has an object.
fn is_site_seen(scope: &Scope<'_>, object: Object, site: &Site) -> bool {
    let is_seen = |guard: &Guard| matches!(guard.of, Target::Object(of) if scope.contains(of));
    scope.contains(object) || site.guards.iter().any(is_seen)
}

fn is_guard_seen(block: BlockContext<'_>, scope: &Scope<'_>, guard: Guard) -> bool {
    match guard.of {
        Target::Local(id) => is_seen(block, id),
        Target::Object(object) => scope.contains(object),
    }
}

/// Whether a block sees a local of the innermost frame.
fn is_seen(block: BlockContext<'_>, id: LocalId) -> bool {
    match (block.id, block.locals) {
        (BlockId::Loop(..), Some(locals)) => locals.contains(&id),
        (BlockId::Loop(..), None) | (BlockId::Function(_), _) => true,
    }
}

fn reads_only(expr: &proofline_cfa::Expr, locals: &BTreeSet<LocalId>) -> bool {
    !mentions::any_read(expr, &mut |lvalue| match lvalue.base {
        proofline_cfa::Base::Local(id) => !locals.contains(&id),
        proofline_cfa::Base::Global(_) | proofline_cfa::Base::Deref(..) => false,
    })
}

/// `expand`
pub fn expand<A: Arithmetic>(
    model: &Model<A>,
    before: &State<A::Value>,
    block: BlockContext<'_>,
    exit: &State<A::Value>,
) -> State<A::Value> {
    let scope = Scope::of(model, block);
    // What the block has freed nothing else leads to any more. The block itself knows which of its pointers lead to a newer object of the site.
    let freed = |object: Object| exit.heap.sites.iter().any(|(site, known)| *site == object && known.freed);
    let mut retired;
    let before = if exit.heap.sites.iter().any(|(_, site)| site.freed) {
        retired = before.clone();
        retired.retire(&freed);
        &retired
    } else {
        before
    };
    let mut frame: Frame<A::Value> = (*exit.frame).clone();
    frame.called_at = before.frame.called_at;
    match (block.id, block.locals) {
        (BlockId::Loop(..), Some(locals)) => {
            for (id, region) in before.frame.locals.iter().filter(|(id, _)| !locals.contains(id)) {
                frame.set_local(*id, (**region).clone());
            }
            for (id, expr) in &before.frame.definitions {
                if !locals.contains(id) && is_untouched(block, expr, locals) {
                    frame.define(*id, expr.clone());
                }
            }
        }
        (BlockId::Loop(..), None) | (BlockId::Function(_), _) => {}
    }
    let kept = exit.memory.objects().iter().filter(|(object, _)| scope.contains(*object));
    let restored = before.memory.objects().iter().filter(|(object, _)| !scope.contains(*object));
    let older = before.heap.older || exit.heap.older;
    let copied = before.heap.copied || exit.heap.copied;
    let mut heap = Heap { elsewhere: before.heap.elsewhere, older, copied, ..Heap::all(exit.heap.others) };
    let listed = exit.heap.sites.iter().chain(before.heap.sites.iter()).map(|(object, _)| *object);
    let seen: BTreeSet<Object> =
        listed.filter(|object| is_site_seen(&scope, *object, &before.heap.site(*object))).collect();
    for object in seen.iter().copied() {
        let (old, new) = (before.heap.site(object), exit.heap.site(object));
        let mut site = Site { freed: new.freed || old.freed, ..new.clone() };
        let is_same = (old.count, old.sizes, old.dangles) == (site.count, site.sizes, site.dangles);
        if !new.freed && is_same {
            let unseen = |guard: &Guard| !is_guard_seen(block, &scope, *guard);
            site.guards.extend(old.guards.iter().copied().filter(unseen));
            site.guards.sort_unstable();
        }
        heap.set(object, site);
    }
    for (object, site) in before.heap.sites.iter().filter(|(object, _)| !seen.contains(object)) {
        let mut site = site.clone();
        // The block may have changed the pointer.
        site.guards.retain(|guard| !is_guard_seen(block, &scope, *guard));
        heap.set(*object, site);
    }
    let (frame, below) = (Arc::new(frame), before.below.clone());
    State { frame, below, memory: Memory::new(kept.chain(restored).cloned().collect()), heap }
}

/// Whether a loop changes nothing that the expression reads.
fn is_untouched(block: BlockContext<'_>, expr: &proofline_cfa::Expr, locals: &BTreeSet<LocalId>) -> bool {
    mentions::memory_reads(block.function, expr).is_empty()
        && !mentions::any_read(expr, &mut |lvalue| match lvalue.base {
            proofline_cfa::Base::Local(id) => locals.contains(&id),
            proofline_cfa::Base::Global(_) | proofline_cfa::Base::Deref(..) => false,
        })
}
