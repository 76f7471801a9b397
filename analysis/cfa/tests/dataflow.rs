//! Solutions of dataflow analyses: the least ones, whatever way values flow.

use proofline_cfa::{
    Edge, EdgeId, Function, Loc, LocalId, Name,
    dataflow::{self, Analysis, BitSet, Direction, Dual, GenKill, JoinSemiLattice, Liveness},
    text::{Surroundings, parse_function},
};
use proofline_syntax::DataModel;

fn function(text: &str) -> Function {
    parse_function(text, Surroundings::bare(DataModel::Lp64)).expect("reads")
}

fn set(numbers: &[usize]) -> BitSet {
    let mut set = BitSet::empty(200);
    numbers.iter().for_each(|number| set.insert(*number));
    set
}

#[test]
fn sets_are_joined_by_union_and_their_duals_by_intersection() {
    let (mut a, b) = (set(&[1, 64, 199]), set(&[64, 65]));
    assert!(a.join(&b) && !a.join(&b));
    assert_eq!(a.iter().collect::<Vec<_>>(), [1, 64, 65, 199]);
    let mut meet = Dual(a);
    assert!(meet.join(&Dual(b.clone())) && !meet.join(&Dual(b.clone())));
    assert_eq!(meet, Dual(b.clone()));
    let mut nothing: Option<BitSet> = None;
    assert!(!nothing.join(&None) && nothing.join(&Some(b.clone())) && !nothing.join(&None));
    assert_eq!(nothing, Some(b));
    assert!(!set(&[]).contains(100_000));
}

/// `s` is read in the loop and overwritten after it; `i` is the loop's own.
const LOOP: &str = "fn f: int(int) {
  result return: int
  parameter n: int
  variable i: int
  variable s: int
  locations 6 entry l0 exit l4
  l0 -> l1: %i := 0
  l1 -> l2: assume %i < %n
  l2 -> l1: %i := %i + %s
  l1 -> l3: assume %i >= %n
  l3 -> l4: %return := %i
  l5 -> l5: %return := %n
}";

#[test]
fn a_local_lives_from_a_write_to_its_last_read() {
    let f = function(LOOP);
    let live = Liveness::new(&f);
    let names =
        |loc| live.live(Loc(loc)).map(|id| f.local(id).name.to_string()).collect::<Vec<_>>().join(" ");
    let all: Vec<String> = (0..f.locations).map(names).collect();
    assert_eq!(all, ["n s", "n i s", "n i s", "i", "return", "n"]);
}

#[test]
fn a_life_that_begins_kills() {
    let f = function(
        "fn f: void() {
  variable x: int
  locations 4 entry l0 exit l3
  l0 -> l1: skip
  l1 -> l2: begin %x
  l2 -> l3: assume %x != 0
}",
    );
    let live = Liveness::new(&f);
    assert!(live.is_live(Loc(2), LocalId(0)));
    assert!(!live.is_live(Loc(1), LocalId(0)) && !live.is_live(Loc(0), LocalId(0)));
}

/// Which locations every path to a location has passed, forwards.
struct Passed;

impl Analysis for Passed {
    type Domain = Option<Dual>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Option<Dual> {
        None
    }
    fn boundary(&self) -> Option<Dual> {
        Some(Dual(BitSet::empty(64)))
    }
    fn transfer(&self, _: EdgeId, edge: &Edge, value: &mut Option<Dual>) {
        if let Some(Dual(passed)) = value {
            passed.insert(edge.from.index());
        }
    }
}

#[test]
fn what_every_path_passes_are_the_dominators() {
    let f = function(LOOP);
    assert_eq!(f.name, Name::new("f"));
    let solution = dataflow::solve(&f, &Passed);
    let passed = |loc| solution.at(Loc(loc)).as_ref().map(|Dual(set)| set.iter().collect::<Vec<_>>());
    assert_eq!(passed(1), Some(vec![0]));
    assert_eq!(passed(4), Some(vec![0, 1, 3]));
    assert_eq!(passed(5), None, "nothing gets there");
}

#[test]
fn gens_win_over_kills() {
    let id = LocalId(3);
    let mut live = set(&[3, 4]);
    GenKill { gens: vec![id], kills: vec![id, LocalId(4)] }.apply(&mut live);
    assert_eq!(live.iter().collect::<Vec<_>>(), [3]);
}
