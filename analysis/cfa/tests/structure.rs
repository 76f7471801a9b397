//! Loops, order and dominators of automata given by their edges.

use proofline_cfa::{
    Function, Loc, Structure,
    text::{Surroundings, parse_function},
};
use proofline_syntax::DataModel;
use proptest::prelude::*;

fn function(locations: u32, edges: &[(u32, u32)]) -> Function {
    let mut text = format!("fn f: void() {{\n  locations {locations} entry l0 exit l{}\n", locations - 1);
    for (from, to) in edges {
        text += &format!("  l{from} -> l{to}: skip\n");
    }
    parse_function(&(text + "}"), Surroundings::bare(DataModel::Lp64)).expect("reads")
}

/// Head, body, parent, irreducible.
fn loops(structure: &Structure) -> Vec<(u32, Vec<u32>, Option<usize>, bool)> {
    let show = |found: &proofline_cfa::Loop| {
        (found.head.0, found.body.iter().map(|loc| loc.0).collect(), found.parent, found.irreducible)
    };
    structure.loops().iter().map(show).collect()
}

#[test]
fn nested_loops_know_their_parents_and_exits() {
    let f = function(6, &[(0, 1), (1, 2), (2, 3), (3, 2), (3, 4), (4, 1), (1, 5)]);
    let structure = Structure::of(&f);
    assert_eq!(loops(&structure), [(1, vec![1, 2, 3, 4], None, false), (2, vec![2, 3], Some(0), false)]);
    let exits: Vec<Vec<u32>> =
        structure.loops().iter().map(|l| l.exits.iter().map(|e| e.0).collect()).collect();
    assert_eq!(exits, [vec![6], vec![4]]);
    assert_eq!(structure.innermost_loop(Loc(4)), Some(0));
    assert_eq!(structure.innermost_loop(Loc(5)), None);
    let order: Vec<u32> = structure.reverse_postorder().iter().map(|loc| loc.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5], "the loop before what follows it");
    assert_eq!(structure.immediate_dominator(Loc(5)), Some(Loc(1)));
    assert!(structure.is_dominated(Loc(4), Loc(2)) && !structure.is_dominated(Loc(5), Loc(2)));
}

#[test]
fn a_loop_with_two_entries_is_irreducible() {
    let structure = Structure::of(&function(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3)]));
    let [(_, body, None, true)] = &loops(&structure)[..] else { panic!("{:?}", loops(&structure)) };
    assert_eq!(*body, [1, 2]);
    assert_eq!(structure.immediate_dominator(Loc(2)), Some(Loc(0)));
}

#[test]
fn a_location_may_be_its_own_loop_and_unreachable_ones_have_none() {
    let structure = Structure::of(&function(4, &[(0, 1), (1, 1), (1, 3), (2, 2)]));
    assert_eq!(loops(&structure), [(1, vec![1], None, false)]);
    assert!(!structure.is_reachable(Loc(2)));
    assert_eq!(structure.reverse_postorder().len(), 3);
}

/// Whether the locations reachable from the entry have a cycle that avoids every head.
fn has_cycle_without_head(f: &Function, structure: &Structure) -> bool {
    let count = f.locations as usize;
    let mut reach = vec![vec![false; count]; count];
    let inner = |loc: Loc| structure.is_reachable(loc) && !structure.is_loop_head(loc);
    for edge in f.edges.iter().filter(|e| inner(e.from) && inner(e.to)) {
        reach[edge.from.index()][edge.to.index()] = true;
    }
    for k in 0..count {
        for i in 0..count {
            for j in 0..count {
                reach[i][j] |= reach[i][k] && reach[k][j];
            }
        }
    }
    (0..count).any(|i| reach[i][i])
}

proptest! {
    #[test]
    fn every_cycle_has_a_head_and_loops_nest(edges in proptest::collection::vec((0u32..8, 0u32..8), 1..20)) {
        let f = function(9, &edges);
        let structure = Structure::of(&f);
        prop_assert!(!has_cycle_without_head(&f, &structure));
        for (index, a) in structure.loops().iter().enumerate() {
            prop_assert!(a.parent.is_none_or(|p| p < index && a.body.is_subset(&structure.loops()[p].body)));
            for b in &structure.loops()[..index] {
                prop_assert!(a.body.is_subset(&b.body) || a.body.is_disjoint(&b.body), "{:?} {:?}", a, b);
            }
            let entered = f.edges.iter().any(|e| {
                structure.is_reachable(e.from) && !a.body.contains(&e.from) && a.body.contains(&e.to) && e.to != a.head
            });
            prop_assert_eq!(entered, a.irreducible);
        }
        // A dominator is on every path: without it the location is out of reach.
        for &loc in structure.reverse_postorder() {
            for &by in structure.reverse_postorder() {
                let mut seen = [false; 9];
                let mut open = vec![Loc(0)];
                while let Some(at) = open.pop() {
                    if at != by && !std::mem::replace(&mut seen[at.index()], true) {
                        open.extend(f.edges.iter().filter(|e| e.from == at).map(|e| e.to));
                    }
                }
                prop_assert_eq!(structure.is_dominated(loc, by), !seen[loc.index()], "{:?} by {:?}", loc, by);
            }
        }
    }
}
