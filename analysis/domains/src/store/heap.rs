//! What is known of the objects that allocation sites allocate: how many there are, how large they are, whether they may have been freed.
//! Knows no values and no operations.
//!
//! **Lives.** A pointer whose value is known to lead to a heap object leads to one that was allocated by this site and not freed, unless the
//! site [may dangle](Site::dangles): where an object is certainly freed, every known pointer to it becomes unknown ([`retire`]).

use std::sync::Arc;

use proofline_cfa::{LocalId, Object};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::store::{
    region::{Content, Region},
    state::State,
    value::AbstractValue,
    view::Target,
};

/// How often an allocation site has allocated what is still there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Count {
    /// Never.
    Zero,
    /// At most once: the site names one object.
    One,
    /// Any number of times.
    Many,
}

/// Bounds of the sizes, in bytes, of the objects that known pointers lead to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Sizes {
    /// No known pointer leads to any.
    None,
    /// At least, and at most.
    Between(u64, u64),
}

/// What is known of a site.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    /// How many objects.
    pub count: Count,
    /// How large they are.
    pub sizes: Sizes,
    /// Known pointers may lead to one that was freed.
    pub dangles: bool,
    /// One of its objects was freed since the block was entered.
    pub freed: bool,
    /// Pointers, each of which leads to the site's one object if that is alive. Then so is the heap object that the pointer is in.
    pub guards: SmallVec<[Guard; 2]>,
}

/// A pointer that says whether there is an object: in a local of the innermost frame, in each object of that name, or in a site's one object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Guard {
    /// What it is in.
    pub of: Target,
    /// So many bits from the start.
    pub at: i64,
}

impl Guard {
    /// The pointer that a local is.
    pub fn local(id: LocalId) -> Guard {
        Guard { of: Target::Local(id), at: 0 }
    }

    /// Whether some of these bits are its own.
    fn overlaps(self, of: Target, from: i64, to: i64) -> bool {
        self.of == of && self.at < to && from < self.at.saturating_add(POINTER)
    }
}

/// No pointer has more bits.
const POINTER: i64 = 64;

/// What a reduced state says of the heap objects that are not in its scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Elsewhere {
    /// There is none.
    Nothing,
    /// To each of them something refers that the block does not change: a local of a caller, an object that is not in its scope, either.
    Kept,
    /// No claim.
    Any,
}

/// What is known of all sites.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Heap {
    /// Count of the sites that are not listed: none, or any.
    pub others: Count,
    /// Of the objects that the state does not speak of, where somebody asks ([`Environment::asks_what_is_left`]).
    ///
    /// [`Environment::asks_what_is_left`]: proofline_program_analysis::Environment::asks_what_is_left
    pub elsewhere: Elsewhere,
    /// There may be objects that were allocated before the run began. They have no name here: a site speaks of those that the run itself
    /// allocates, no known pointer leads to an older one, and a pointer whose value is not known may lead to memory without a name
    /// wherever points-to says that it leads to a site (recency abstraction [BR06], at the entry).
    pub older: bool,
    /// Bytes that need not have a value may have been copied to where it is not kept which bytes have one: objects with static storage, memory
    /// without a name.
    pub copied: bool,
    /// Sorted.
    pub sites: Arc<Vec<(Object, Site)>>,
}

impl Sizes {
    /// Of objects of either.
    pub fn join(self, other: Sizes) -> Sizes {
        match (self, other) {
            (Sizes::None, sizes) | (sizes, Sizes::None) => sizes,
            (Sizes::Between(a, b), Sizes::Between(c, d)) => Sizes::Between(a.min(c), b.max(d)),
        }
    }

    /// Whether all of these are among those.
    pub fn leq(self, upper: Sizes) -> bool {
        self.join(upper) == upper
    }
}

impl Site {
    /// A site with so many objects, of which no pointer is known.
    pub fn new(count: Count) -> Site {
        Site { count, sizes: Sizes::None, dangles: false, freed: false, guards: SmallVec::new() }
    }

    /// What holds of it besides what locals say.
    fn leq(&self, upper: &Site) -> bool {
        self.count <= upper.count
            && self.sizes.leq(upper.sizes)
            && self.dangles <= upper.dangles
            && self.freed <= upper.freed
    }

    fn join(&self, other: &Site) -> Site {
        Site {
            count: self.count.max(other.count),
            sizes: self.sizes.join(other.sizes),
            dangles: self.dangles || other.dangles,
            freed: self.freed || other.freed,
            guards: SmallVec::new(),
        }
    }
}

impl Heap {
    /// All sites have this count; of what is elsewhere there is no claim.
    pub fn all(others: Count) -> Heap {
        let is_any = others != Count::Zero;
        Heap { others, elsewhere: Elsewhere::Any, older: is_any, copied: is_any, sites: Arc::default() }
    }

    fn listed(&self, site: Object) -> Option<&Site> {
        let at = self.sites.binary_search_by_key(&site, |(site, _)| *site).ok()?;
        Some(&self.sites[at].1)
    }

    /// What is known of a site.
    pub fn site(&self, site: Object) -> Site {
        self.listed(site).cloned().unwrap_or_else(|| Site::new(self.others))
    }

    /// Count of a site.
    pub fn count(&self, site: Object) -> Count {
        self.listed(site).map_or(self.others, |site| site.count)
    }

    /// Sets what is known of a site.
    pub fn set(&mut self, object: Object, site: Site) {
        let is_other = site == Site::new(self.others);
        if self.listed(object).map_or(is_other, |known| *known == site) {
            return;
        }
        let sites = Arc::make_mut(&mut self.sites);
        match sites.binary_search_by_key(&object, |(object, _)| *object) {
            Ok(at) if is_other => {
                sites.remove(at);
            }
            Ok(at) => sites[at].1 = site,
            Err(at) => sites.insert(at, (object, site)),
        }
    }

    /// Changes what is known of a site.
    pub fn change(&mut self, object: Object, change: impl FnOnce(&mut Site)) {
        let mut site = self.site(object);
        change(&mut site);
        self.set(object, site);
    }

    /// Changes what is known of every listed site.
    pub fn change_all(&mut self, mut change: impl FnMut(Object, &mut Site)) {
        let changed = self.sites.iter().map(|(object, site)| {
            let mut site = site.clone();
            change(*object, &mut site);
            (*object, site)
        });
        let changed: Vec<(Object, Site)> = changed.collect();
        for (object, site) in changed {
            self.set(object, site);
        }
    }

    /// These bits say nothing of any site any more.
    pub fn forget_guard(&mut self, of: Target, from: i64, to: i64) {
        self.forget_guards(|guard| guard.overlaps(of, from, to));
    }

    /// Such pointers say nothing of any site any more.
    pub fn forget_guards(&mut self, is_lost: impl Fn(Guard) -> bool) {
        if self.sites.iter().any(|(_, site)| site.guards.iter().any(|guard| is_lost(*guard))) {
            self.change_all(|_, site| site.guards.retain(|guard| !is_lost(*guard)));
        }
    }

    /// The pointer is null: where it says so, there is no object, and none that only a pointer in that one leads to.
    pub fn learn_null(&mut self, id: Guard) {
        let is_gone = |guard: &Guard, gone: &[Object]| {
            *guard == id || matches!(guard.of, Target::Object(of) if gone.contains(&of))
        };
        let mut gone: Vec<Object> = Vec::new();
        loop {
            let more = self.sites.iter().filter(|(object, site)| {
                !gone.contains(object) && site.guards.iter().any(|guard| is_gone(guard, &gone))
            });
            let more: Vec<Object> = more.map(|(object, _)| *object).collect();
            if more.is_empty() {
                break;
            }
            gone.extend(more);
        }
        for object in gone {
            self.change(object, |site| {
                site.count = Count::Zero;
                site.guards.clear();
            });
        }
    }

    /// The pointer leads to the site's one object if that is alive.
    pub fn add_guard(&mut self, object: Object, id: Guard) {
        self.change(object, |site| {
            if !site.guards.contains(&id) {
                site.guards.push(id);
                site.guards.sort_unstable();
            }
        });
    }

    /// The new pointer leads to what the old one leads to.
    pub fn copy_guard(&mut self, from: Guard, to: Guard) {
        if from != to && self.sites.iter().any(|(_, site)| site.guards.contains(&from)) {
            self.change_all(|_, site| {
                if site.guards.contains(&from) && !site.guards.contains(&to) {
                    site.guards.push(to);
                    site.guards.sort_unstable();
                }
            });
        }
    }

    /// Whether the order holds besides what locals say.
    fn leq(&self, upper: &Heap) -> bool {
        let is_more = |own: bool, upper: bool| own && !upper;
        if self.elsewhere > upper.elsewhere
            || is_more(self.older, upper.older)
            || is_more(self.copied, upper.copied)
        {
            return false;
        }
        if Arc::ptr_eq(&self.sites, &upper.sites) && self.others == upper.others {
            return true;
        }
        self.others <= upper.others
            && self.sites.iter().all(|(object, site)| site.leq(&upper.site(*object)))
            && upper.sites.iter().all(|(object, site)| self.site(*object).leq(site))
    }

    fn join(&self, other: &Heap) -> Heap {
        let mut result = Heap::all(self.others.max(other.others));
        result.elsewhere = self.elsewhere.max(other.elsewhere);
        result.older = self.older || other.older;
        result.copied = self.copied || other.copied;
        for (object, _) in self.sites.iter().chain(other.sites.iter()) {
            result.set(*object, self.site(*object).join(&other.site(*object)));
        }
        result
    }
}

/// The object that a pointer certainly leads to, if one is known.
fn led_to<V: AbstractValue>(state: &State<V>, guard: Guard) -> Option<Object> {
    let at = guard.at;
    let region: &Region<V> = match guard.of {
        Target::Local(id) => state.frame.local(id)?,
        Target::Object(object) => state.memory.get(object)?,
    };
    let cell = region.cells().iter().find(|cell| cell.start <= at && at < cell.end())?;
    match &cell.content {
        Content::Each(_, item, value) if *item == cell.len && cell.start == at => value.leads_to(),
        Content::Each(..) | Content::Zero | Content::Any => None,
    }
}

impl<V: AbstractValue> State<V> {
    /// `self ⊑ upper`, of the heap.
    pub(super) fn heap_leq(&self, upper: &State<V>) -> bool {
        self.heap.leq(&upper.heap)
            && upper
                .heap
                .sites
                .iter()
                .all(|(object, site)| site.guards.iter().all(|guard| self.is_guard(*guard, *object)))
    }

    /// An upper bound, of the heap.
    pub(super) fn heap_join(&self, other: &State<V>) -> Heap {
        let is_same = Arc::ptr_eq(&self.heap.sites, &other.heap.sites);
        let told = |heap: &Heap| (heap.others, heap.elsewhere, heap.older, heap.copied);
        if is_same && told(&self.heap) == told(&other.heap) {
            return self.heap.clone();
        }
        let mut heap = self.heap.join(&other.heap);
        let counts = heap.clone();
        let is_one = |guard: &Guard| match guard.of {
            Target::Object(of @ Object::Heap(..)) => counts.count(of) == Count::One,
            Target::Object(_) | Target::Local(_) => true,
        };
        heap.change_all(|object, site| {
            if site.count == Count::One {
                let mut guards = self.candidates(object);
                guards.extend(other.candidates(object));
                guards.sort_unstable();
                guards.dedup();
                guards.retain(|guard| {
                    is_one(guard) && self.is_guard(*guard, object) && other.is_guard(*guard, object)
                });
                site.guards = guards;
            }
        });
        heap
    }

    /// Pointers that may say whether there is an object.
    fn candidates(&self, object: Object) -> SmallVec<[Guard; 2]> {
        let mut found = self.heap.site(object).guards;
        let named = |of: &Object| match of {
            Object::Global(_) | Object::Local(..) => true,
            Object::Heap(..) => *of != object && self.heap.count(*of) == Count::One,
            Object::External => false,
        };
        let objects = self.memory.objects().iter().filter(|(object, _)| named(object));
        let objects = objects.map(|(object, region)| (Target::Object(*object), region));
        let locals = self.frame.locals.iter().map(|(id, region)| (Target::Local(*id), region));
        let pointers = locals
            .chain(objects)
            .flat_map(|(of, region)| region.cells().iter().map(move |cell| Guard { of, at: cell.start }));
        let leads_there = |guard: &Guard| led_to(self, *guard) == Some(object);
        found.extend(pointers.filter(leads_there));
        found
    }

    /// Whether a pointer leads to the site's one object if that is alive.
    fn is_guard(&self, id: Guard, object: Object) -> bool {
        let Some(site) = self.heap.listed(object) else { return self.heap.others == Count::Zero };
        match site.count {
            Count::Zero => true,
            Count::One => {
                site.guards.contains(&id)
                    || led_to(self, id) == Some(object) && !site.dangles && self.is_there(id.of)
            }
            Count::Many => false,
        }
    }

    /// Whether what a pointer is in is certainly there: of a heap object, if something that has a name leads to it.
    pub(super) fn is_there(&self, of: Target) -> bool {
        let Target::Object(object @ Object::Heap(..)) = of else { return true };
        let site = self.heap.site(object);
        let leads_there = |region: &Region<V>| {
            region.cells().iter().any(|cell| match &cell.content {
                Content::Each(_, item, value) if *item == cell.len => value.leads_to() == Some(object),
                Content::Each(..) | Content::Zero | Content::Any => false,
            })
        };
        let is_named = |of: &Object| matches!(of, Object::Global(_) | Object::Local(..));
        site.count == Count::One
            && !site.dangles
            && (self.frame.locals.iter().any(|(_, region)| leads_there(region))
                || self.memory.objects().iter().any(|(of, region)| is_named(of) && leads_there(region)))
    }
}
