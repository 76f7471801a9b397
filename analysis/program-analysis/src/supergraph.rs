//! Where control goes in a whole program: the automata of all functions, with edges from calls to the entries of those that they may call, and from exits back
//! behind the calls. (A function goes back to all its callers.) Must not know what edges do.

use std::{collections::BTreeSet, iter};

use proofline_cfa::{Function, Loc, Op};
use proofline_hir::Name;
use rustc_hash::FxHashMap;

use crate::Environment;

/// A place in a function.
pub type Place = (Name, Loc);

/// See the module.
#[derive(Debug)]
pub struct Supergraph {
    /// The number of each function, and that of its first place.
    functions: FxHashMap<Name, (u32, u32)>,
    /// The function of each place.
    owners: Vec<u32>,
    next: Steps,
    previous: Steps,
}

/// Where each place leads, one behind the other.
#[derive(Debug)]
struct Steps {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

/// Some places of a program.
#[derive(Debug)]
pub struct Places<'g> {
    graph: &'g Supergraph,
    are_in: Vec<bool>,
}

impl Places<'_> {
    /// Whether it is one of them.
    pub fn contains(&self, place: &Place) -> bool {
        self.graph.number(*place).is_some_and(|at| self.are_in[at as usize])
    }
}

impl Supergraph {
    pub(crate) fn of(env: &Environment) -> Supergraph {
        let (mut functions, mut owners) = (FxHashMap::default(), Vec::new());
        for (number, function) in (0..).zip(env.program().functions.values()) {
            functions.insert(function.name, (number, owners.len() as u32));
            owners.extend(iter::repeat_n(number, function.locations as usize));
        }
        let mut pairs = Vec::new();
        for function in env.program().functions.values() {
            let (_, start) = functions[&function.name];
            for (id, edge) in function.edge_ids() {
                let (from, to) = (start + edge.from.0, start + edge.to.0);
                pairs.push((from, to));
                if !matches!(edge.op, Op::Call(_)) {
                    continue;
                }
                let callees = env.call_graph().call(function.name, id);
                for name in callees.into_iter().flat_map(|callees| &callees.functions) {
                    let body: Option<&Function> = env.function(*name);
                    if let (Some(body), Some((_, first))) = (body, functions.get(name)) {
                        pairs.push((from, first + body.entry.0));
                        pairs.push((first + body.exit.0, to));
                    }
                }
            }
        }
        let next = Steps::of(owners.len(), pairs.iter().copied());
        let previous = Steps::of(owners.len(), pairs.iter().map(|(from, to)| (*to, *from)));
        Supergraph { functions, owners, next, previous }
    }

    fn number(&self, (function, loc): Place) -> Option<u32> {
        self.functions.get(&function).map(|(_, start)| start + loc.0)
    }

    /// Where control may be after it was at one of these, which are included, as long as it stays in these functions.
    pub fn after(&self, from: impl IntoIterator<Item = Place>, within: &BTreeSet<Name>) -> Places<'_> {
        self.reached(&self.next, from, within)
    }

    /// Where control may come to one of these from, which are included, as long as it stays in these functions.
    pub fn before(&self, to: impl IntoIterator<Item = Place>, within: &BTreeSet<Name>) -> Places<'_> {
        self.reached(&self.previous, to, within)
    }

    fn reached(
        &self,
        steps: &Steps,
        from: impl IntoIterator<Item = Place>,
        within: &BTreeSet<Name>,
    ) -> Places<'_> {
        let mut is_within = vec![false; self.functions.len()];
        for (number, _) in within.iter().filter_map(|name| self.functions.get(name)) {
            is_within[*number as usize] = true;
        }
        let mut are_in = vec![false; self.owners.len()];
        let mut open: Vec<u32> = from.into_iter().filter_map(|place| self.number(place)).collect();
        open.retain(|at| !std::mem::replace(&mut are_in[*at as usize], true));
        while let Some(at) = open.pop() {
            for next in steps.from(at) {
                let is_open = is_within[self.owners[*next as usize] as usize];
                if is_open && !std::mem::replace(&mut are_in[*next as usize], true) {
                    open.push(*next);
                }
            }
        }
        Places { graph: self, are_in }
    }
}

impl Steps {
    fn of(places: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Steps {
        let mut starts = vec![0; places + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for at in 0..places {
            starts[at + 1] += starts[at];
        }
        let mut ends = starts.clone();
        let mut targets = vec![0; starts[places] as usize];
        for (from, to) in pairs {
            targets[ends[from as usize] as usize] = to;
            ends[from as usize] += 1;
        }
        Steps { starts, targets }
    }

    fn from(&self, at: u32) -> &[u32] {
        &self.targets[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize]
    }
}
