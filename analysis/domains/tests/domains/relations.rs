//! Relations: zones keep every valuation that satisfies what was asked of them, the operators obey the laws, and every state of a concrete run is in
//! the abstract ones along its path, arguments and results included.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Base, Entry, Expr, Function, IntType, LocalId, Lvalue, Name, Object, Op, Scalar, eval, scalar_of,
};
use proofline_cpa::{Adjusted, CallContext, Cpa, EdgeContext, LocationContext, NoFacts};
use proofline_domains::{
    IntervalAnalysis, RelationAnalysis,
    relation::{Cell, Dim, Null, Relations, Tag, Var, Zone},
};
use proofline_program_analysis::Environment;
use proptest::{collection::vec, prelude::*};

use crate::{
    common::{environment, explore, explore_some, intervals, local},
    concrete::{Did, Instance, Machine},
    driver::laws,
    generate,
    relation_programs::{arrays, globals, matrices, paths, structures},
};

const NUMBERS: u32 = 5;

fn dim(at: u32) -> Dim {
    Dim::Value(Var::Local(LocalId(at)), IntType { bits: 16, signed: true })
}

/// What is asked of a zone: differences and bounds that this valuation satisfies, more or less tightly.
fn zone_of(valuation: &[i128], asked: &[(u32, u32, i128)]) -> Zone {
    let mut zone = Zone::default();
    for (x, y, loose) in asked {
        let (x, y) = (x % NUMBERS, y % NUMBERS);
        let (a, b) = (valuation[x as usize], valuation[y as usize]);
        let holds = if x == y {
            zone.bound(dim(x), a - loose, a + loose)
        } else {
            zone.constrain(dim(x), dim(y), a - b + loose)
        };
        assert!(holds, "{valuation:?} satisfies it");
    }
    zone
}

fn holds(zone: &Zone, valuation: &[i128]) -> bool {
    let of = |dim: Dim| valuation[dim.local().expect("a local").index()];
    zone.differences().all(|(x, y, most)| of(x) - of(y) <= most)
        && zone.all_bounds().all(|(x, (low, high))| low <= of(x) && of(x) <= high)
}

fn valuation() -> impl Strategy<Value = Vec<i128>> {
    vec(-30i128..30, NUMBERS as usize)
}

fn asked() -> impl Strategy<Value = Vec<(u32, u32, i128)>> {
    vec((0..NUMBERS, 0..NUMBERS, 0i128..6), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn zones_are_upper_bounds(a in valuation(), b in valuation(), of_a in asked(), of_b in asked()) {
        let (one, two) = (zone_of(&a, &of_a), zone_of(&b, &of_b));
        prop_assert!(holds(&one, &a) && holds(&two, &b));
        prop_assert!(one.leq(&one));
        for upper in [one.join(&two), one.widen(&two)] {
            prop_assert!(one.leq(&upper) && two.leq(&upper), "{one:?}\n{two:?}\n{upper:?}");
            prop_assert!(holds(&upper, &a) && holds(&upper, &b));
        }
        if one.leq(&two) {
            prop_assert!(holds(&two, &a));
        }
        for x in 0..NUMBERS {
            for y in 0..NUMBERS {
                prop_assert!(a[x as usize] - a[y as usize] <= one.distance(dim(x), dim(y)));
            }
        }
    }

    #[test]
    fn what_follows_from_two_differences_is_known(x in -9i128..9, y in -9i128..9) {
        let mut zone = Zone::default();
        prop_assert!(zone.constrain(dim(0), dim(1), x) && zone.constrain(dim(1), dim(2), y));
        prop_assert_eq!(zone.distance(dim(0), dim(2)), x + y);
        prop_assert_eq!(zone.constrain(dim(2), dim(0), -x - y - 1), false);
    }

    #[test]
    fn widening_ends(start in asked(), a in valuation(), more in vec((valuation(), asked()), 40)) {
        let mut zone = zone_of(&a, &start);
        let mut changes = 0;
        for (valuation, asked) in &more {
            let next = zone.widen(&zone.join(&zone_of(valuation, asked)));
            changes += usize::from(next != zone);
            zone = next;
        }
        prop_assert!(changes <= 30, "{changes} steps: {zone:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn relations_obey_the_laws(choices in vec(any::<u8>(), 0..80)) {
        let code = generate::program(&choices);
        let env = environment(&code);
        // Beside intervals, which bound recursion.
        let analysis = (intervals(&env), relations(&env));
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), ((), ()), 100_000, |_, _| false);
        laws(&analysis, &env, &explored, &[], &code);
    }

    #[test]
    fn relations_of_members_obey_the_laws(choices in vec(any::<u8>(), 0..60)) {
        let code = structures(&choices);
        let env = environment(&code);
        let analysis = (intervals(&env), relations(&env));
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), ((), ()), 20_000, |_, _| false);
        laws(&analysis, &env, &explored, &[], &code);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_are_followed(choices in vec(any::<u8>(), 0..120), seed in any::<u64>()) {
        let code = generate::program(&choices);
        follow(&code, seed);
    }

    #[test]
    fn runs_of_loops_over_arrays_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&arrays(&choices), seed);
    }

    #[test]
    fn runs_that_change_structures_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&structures(&choices), seed);
    }

    #[test]
    fn runs_that_change_globals_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&globals(&choices), seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_over_matrices_are_followed(choices in vec(any::<u8>(), 0..100), seed in any::<u64>()) {
        follow(&matrices(&choices), seed);
    }

    #[test]
    fn runs_along_paths_are_followed(choices in vec(any::<u8>(), 0..160), seed in any::<u64>()) {
        follow(&paths(&choices), seed);
    }
}

fn relations(env: &Arc<Environment>) -> RelationAnalysis {
    RelationAnalysis::new(env.clone(), Entry::main()).with_globals()
}

/// What an open call was given.
type First = BTreeMap<LocalId, eval::Value>;

/// A state and the run that it describes.
#[derive(Clone, Copy)]
struct Seen<'a> {
    machine: &'a Machine<'a>,
    function: &'a Function,
    state: &'a Relations,
    first: &'a First,
    analysis: &'a RelationAnalysis,
}

impl Seen<'_> {
    /// Where a pointer leads, or where an array is.
    fn address_of(&self, var: Var) -> Option<i128> {
        match var {
            Var::Local(id) if self.function.local(id).ty.pointee().is_none() => {
                let frame = self.machine.frames.last()?;
                Some(self.machine.instances[frame.locals[id.index()]].base)
            }
            Var::Local(id) => value_of(self.machine, self.function, id)?.int(),
            Var::Cell(cell) => self.value(cell, Scalar::Pointer)?.int(),
            Var::Path(nth) => self.at_path(nth)?.int(),
        }
    }

    /// What lies where a path leads.
    fn at_path(&self, nth: u16) -> Option<eval::Value> {
        let place = self.analysis.access_path(self.function, nth)?;
        self.machine.eval(self.machine.frames.len() - 1, &Expr::Load(place.clone())).ok()
    }

    /// What a cell holds.
    fn value(&self, cell: Cell, scalar: Scalar) -> Option<eval::Value> {
        let instance = self.instance(cell.of, 4)?;
        let bytes = (cell.at + cell.size) as usize;
        let is_inside = bytes <= self.machine.instances[instance].bytes.len();
        let (first, bits) = (cell.at as usize * 8, cell.size as usize * 8);
        is_inside.then(|| self.machine.read_bits(instance, first, bits, scalar))
    }

    /// The object that a name stands for, if something tells.
    fn instance(&self, tag: Tag, depth: u32) -> Option<usize> {
        let at = |address: i128| {
            let is_there = |one: &Instance| {
                one.live && one.base <= address && address <= one.base + one.bytes.len() as i128
            };
            self.machine.instances.iter().position(is_there)
        };
        match tag {
            Tag::Named(Object::Local(_, id)) => Some(self.machine.frames.last()?.locals[id.index()]),
            Tag::Named(object) => self.machine.instances.iter().position(|one| one.object == object),
            Tag::Passed(id) => at(self.first.get(&id)?.int()?),
            Tag::Allocated { .. } | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..) => {
                let mut holders = self.state.pointers.iter().filter(|(_, pointer)| pointer.tag == Some(tag));
                holders.find_map(|(var, _)| {
                    let is_known = depth > 0 && var.cell().is_none_or(|cell| cell.of != tag);
                    let address = match (is_known, var) {
                        (false, _) => None,
                        (true, Var::Local(_) | Var::Path(_)) => self.address_of(*var),
                        (true, Var::Cell(cell)) => {
                            let instance = self.instance(cell.of, depth - 1)?;
                            let one = &self.machine.instances[instance];
                            ((cell.at + 8) as usize <= one.bytes.len())
                                .then(|| {
                                    self.machine.read_bits(
                                        instance,
                                        cell.at as usize * 8,
                                        64,
                                        Scalar::Pointer,
                                    )
                                })
                                .and_then(|value| value.int())
                        }
                    };
                    at(address.filter(|address| *address != 0)?)
                })
            }
        }
    }
}

fn value_of(machine: &Machine<'_>, function: &Function, id: LocalId) -> Option<eval::Value> {
    machine.eval(machine.frames.len() - 1, &local(function, &function.local(id).name)).ok()
}

fn global(machine: &Machine<'_>, name: Name) -> Expr {
    let declared = &machine.env.program().globals[&name];
    let scalar = scalar_of(declared.ty, proofline_syntax::DataModel::Lp64);
    let (path, bits) = (Vec::new(), None);
    Expr::Load(Lvalue { base: Base::Global(name), path, ty: declared.ty, scalar, bits, size: declared.size })
}

/// The numbers of a state in a run: `None` where they may be anything.
fn number(seen: Seen<'_>, dim: Dim) -> Option<i128> {
    let Seen { machine, function, state, first, .. } = seen;
    let place = |var: Var| {
        let pointer = state.pointers.get(&var)?;
        let address = seen.address_of(var)?;
        if address == 0 {
            // An object without units, or numbers that mean nothing.
            return matches!(pointer.null, Null::Always | Null::Empty).then_some((0, 0));
        }
        let inside = |base: i128, size: i128| base <= address && address <= base + size;
        let at = machine.instances.iter().find(|i| i.live && inside(i.base, i.bytes.len() as i128))?;
        let unit = i128::from(pointer.unit);
        Some(((address - at.base).div_euclid(unit), at.bytes.len() as i128 / unit))
    };
    let value = |var: Var, ty: IntType| match var {
        Var::Local(id) => value_of(machine, function, id)?.int(),
        Var::Cell(cell) => seen.value(cell, Scalar::Int(ty))?.int(),
        Var::Path(nth) => seen.at_path(nth)?.int(),
    };
    match dim {
        Dim::Value(var, ty) => value(var, ty),
        Dim::Twice(var, ty) => Some(2 * value(var, ty)?),
        Dim::Product(a, a_ty, b, b_ty) => Some(value(a, a_ty)? * value(b, b_ty)?),
        Dim::Global(name, _) => machine.eval(machine.frames.len() - 1, &global(machine, name)).ok()?.int(),
        Dim::First(id, _) => first.get(&id)?.int(),
        Dim::Offset(var) => place(var).map(|(offset, _)| offset),
        Dim::Size(var) => place(var).map(|(_, size)| size),
        // Of several zeros any one may be meant, and fewer units may be said to have values than have: `is_one_of` looks.
        Dim::Zero(_)
        | Dim::Filled(_)
        | Dim::From(_)
        | Dim::Stop(_)
        | Dim::FirstOffset(_)
        | Dim::Scratch(_) => None,
    }
}

/// The object of a pointer, if it is not null.
fn object_of<'m>(seen: Seen<'m>, var: Var) -> Option<&'m Instance> {
    let address = seen.address_of(var).filter(|address| *address != 0)?;
    let inside = |base: i128, size: i128| base <= address && address <= base + size;
    seen.machine.instances.iter().find(|i| i.live && inside(i.base, i.bytes.len() as i128))
}

/// Where the object of a pointer has units of zeros; `None`: there is no object.
fn zeros(seen: Seen<'_>, var: Var) -> Option<Vec<i128>> {
    let unit = seen.state.pointers[&var].unit as usize;
    let units = object_of(seen, var)?.bytes.chunks_exact(unit).enumerate();
    let zeros = units.filter(|(_, bytes)| bytes.iter().all(|byte| *byte == 0));
    Some(zeros.map(|(at, _)| at as i128).collect())
}

/// How many of the first units of an object may be said to have values.
fn filled(seen: Seen<'_>, var: Var) -> Option<Vec<i128>> {
    let unit = seen.state.pointers[&var].unit as usize;
    let given: Vec<bool> = object_of(seen, var)?.given.iter().map(std::cell::Cell::get).collect();
    let filled = given.chunks_exact(unit).take_while(|unit| unit.iter().all(|given| *given)).count();
    Some((0..=filled as i128).collect())
}

/// Whether one of these values of a number is allowed.
fn is_one_of(seen: Seen<'_>, dim: Dim, values: Option<Vec<i128>>) -> bool {
    let of = |dim: Dim| number(seen, dim);
    values.is_none_or(|values| {
        values.into_iter().any(|value| {
            let (low, high) = seen.state.zone.bounds(dim);
            let mut near = seen.state.zone.differences();
            low <= value
                && value <= high
                && near.all(|(x, y, most)| match (x == dim, y == dim) {
                    (true, false) => of(y).is_none_or(|y| value - y <= most),
                    (false, true) => of(x).is_none_or(|x| x - value <= most),
                    (true, true) | (false, false) => true,
                })
        })
    })
}

/// Whether the machine's state is one of the abstract state's.
fn is_in(
    analysis: &RelationAnalysis,
    state: &Relations,
    machine: &Machine<'_>,
    first: &First,
) -> Result<(), String> {
    let function = machine.function();
    if state.function != function.name {
        return Err("another function".to_owned());
    }
    let seen = Seen { machine, function, state, first, analysis };
    let of = |dim: Dim| number(seen, dim);
    for (x, y, most) in state.zone.differences() {
        if let (Some(a), Some(b)) = (of(x), of(y))
            && a - b > most
        {
            return Err(format!("{x:?} = {a}, {y:?} = {b}: not {most}"));
        }
    }
    for (x, (low, high)) in state.zone.all_bounds() {
        if let Some(a) = of(x)
            && (a < low || high < a)
        {
            return Err(format!("{x:?} = {a}: not in [{low}, {high}]"));
        }
    }
    for (var, pointer) in state.pointers.iter() {
        let address = seen.address_of(*var);
        if address == Some(0) && pointer.is_there() {
            return Err(format!("{var:?} is null"));
        }
        if address.is_some_and(|address| address != 0) && pointer.null == Null::Always {
            return Err(format!("{var:?} is not null"));
        }
        if pointer.has_zero && !is_one_of(seen, Dim::Zero(*var), zeros(seen, *var)) {
            return Err(format!("no zero where {var:?} leads"));
        }
        if pointer.is_filled && !is_one_of(seen, Dim::Filled(*var), filled(seen, *var)) {
            return Err(format!("units without values where {var:?} leads"));
        }
        if let Some(address) = address.filter(|address| *address != 0) {
            let Some(object) = object_of(seen, *var) else {
                return Err(format!("{var:?} leads to {address:#x}, where nothing is alive"));
            };
            if pointer.on_heap && !matches!(object.object, Object::Heap(..)) {
                return Err(format!("{var:?} does not lead to the heap"));
            }
        }
    }
    are_named(seen)
}

/// Whether what has one name is one object, and what has names that are apart are two.
fn are_named(seen: Seen<'_>) -> Result<(), String> {
    let named: Vec<(Var, Tag, i128)> = seen
        .state
        .pointers
        .iter()
        .filter_map(|(var, pointer)| Some((*var, pointer.tag?, object_of(seen, *var)?.base)))
        .collect();
    for (one, first, base) in &named {
        for (other, second, other_base) in &named {
            if first == second && base != other_base || first.is_apart(*second) && base == other_base {
                return Err(format!("{one:?} is {first:?}, {other:?} is {second:?}"));
            }
        }
    }
    Ok(())
}

fn arguments(machine: &Machine<'_>) -> First {
    let function = machine.function();
    let scalars = function.parameters.iter().filter(|id| {
        let scalar = scalar_of(function.local(**id).ty, proofline_syntax::DataModel::Lp64);
        matches!(scalar, Some(Scalar::Int(_) | Scalar::Pointer))
    });
    scalars.filter_map(|id| Some((*id, value_of(machine, function, *id)?))).collect()
}

/// Follows a concrete run with the operators of intervals and relations together; the state holds at every step.
fn follow(code: &str, seed: u64) {
    let env = environment(code);
    let analysis: (IntervalAnalysis, RelationAnalysis) = (intervals(&env), relations(&env));
    let mut machine = Machine::new(&env, Name::new("main"), seed);
    let mut states = vec![analysis.entry().0];
    let mut calls = Vec::new();
    let mut firsts = vec![First::new()];
    for step in 0..600 {
        let function = machine.function();
        let Ok(did) = machine.step() else { return };
        let edge = |id| {
            let name = match did {
                Did::Edge(_) | Did::Enter(..) => function.name,
                Did::Leave(..) => machine.function().name,
            };
            let function = env.function(name).expect("a body");
            EdgeContext { function, id, edge: function.edge(id) }
        };
        let call = |id, callee| {
            let at = edge(id);
            let Op::Call(call) = &at.edge.op else { panic!("not a call") };
            CallContext { at, call, callee: env.function(callee).expect("a body") }
        };
        let precision = ((), ());
        let before = states.clone();
        let next: Vec<_> = match did {
            Did::Edge(id) => {
                let next = states.iter();
                next.flat_map(|state| analysis.transfer(state, &precision, edge(id), &NoFacts)).collect()
            }
            Did::Enter(id, callee) => {
                calls.push(states[0].clone());
                firsts.push(arguments(&machine));
                states.iter().flat_map(|state| analysis.enter(state, &precision, call(id, callee))).collect()
            }
            Did::Leave(id, callee) => {
                let at_call = calls.pop().expect("a call");
                firsts.pop();
                let next = states.iter();
                next.flat_map(|state| analysis.leave(&at_call, state, &precision, call(id, callee))).collect()
            }
        };
        let (function, loc) = (machine.function(), machine.frames.last().expect("a frame").loc);
        let place = LocationContext { function, loc, is_loop_head: false };
        let first = firsts.last().expect("a frame");
        let mut whys = Vec::new();
        states = next
            .into_iter()
            .filter_map(|state| match analysis.adjust(state, precision, &[], place) {
                Adjusted::Continue(state, _) => Some(state),
                Adjusted::Interrupt => None,
            })
            .filter(|state| {
                is_in(&analysis.1, &state.1, &machine, first).map_err(|why| whys.push(why)).is_ok()
            })
            .collect();
        states.dedup();
        let shown = |state: &Relations| proofline_cpa::Domain::show(&analysis.1, state);
        assert!(
            !states.is_empty(),
            "lost the run after {did:?} at step {step} (seed {seed}): {whys:?}\nbefore: {:?}\n{code}",
            before.iter().map(|state| shown(&state.1)).collect::<Vec<_>>()
        );
    }
}

/// What is known of a variable at the label `here`.
fn relation_here(code: &str, variable: &str) -> String {
    let env = environment(code);
    let analysis = (intervals(&env), relations(&env));
    let (explored, _) = explore(&analysis, &env, Name::new("main"), ((), ()), 200_000, |_, _| false);
    let shown = explored.at_label(&env, "here").into_iter().map(|(name, state)| {
        let function = env.function(name).expect("a body");
        analysis.1.reveal(&state.1, function, &local(function, variable))
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_loop_keeps_the_order_of_index_and_length() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), i = 0; while (i < n) { i++; here: ; } return n + i; }";
    assert_eq!(relation_here(code, "i"), "<= n");
}

#[test]
fn globals_are_related_across_calls() {
    let code = "extern int __VERIFIER_nondet_int(void);
        int token, local, other, *p = &other;
        static void pass(void) { token = token + 1; }
        static int get(void) { return token; }
        int main(void) { token = __VERIFIER_nondet_int() & 255; local = token; pass(); other = token; pass(); int x = get(); here: return x; }";
    let known = "<= other@0 + 1, >= other@0 + 1, <= local + 2, >= local + 2, <= token, >= token";
    assert_eq!(relation_here(code, "x"), known);
}

#[test]
fn members_are_related_across_calls() {
    let code = "extern int __VERIFIER_nondet_int(void);
        struct vec { int *items; unsigned len, cap; };
        static int push(struct vec *v) { if (v->len == v->cap) return 0; v->len++; return 1; }
        int main(void) { struct vec v = {0}; v.cap = (unsigned)__VERIFIER_nondet_int();
          while (__VERIFIER_nondet_int() && push(&v)) ; unsigned n = v.len; here: return (int)n; }";
    assert_eq!(relation_here(code, "n"), "<= v@8, >= v@8, <= v@12");
}

#[test]
fn what_another_pointer_may_change_is_forgotten() {
    let code = "extern int __VERIFIER_nondet_int(void);
        struct vec { unsigned len, cap; };
        static void set(struct vec *v, unsigned *p) { unsigned n = v->len; *p = 7; here: v->cap = n; }
        int main(void) { struct vec v = {0}, w = {0}; set(&v, __VERIFIER_nondet_int() ? &v.len : &w.len); return 0; }";
    assert_eq!(relation_here(code, "n"), "unrelated");
}

#[test]
fn what_may_wrap_around_relates_nothing() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), i = n + 1; here: return n + i; }";
    assert_eq!(relation_here(code, "i"), "unrelated");
}

#[test]
fn a_result_is_related_to_arguments() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        static unsigned least(unsigned a, unsigned b) { if (a < b) return a; return b; }
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), m = __VERIFIER_nondet_uint(), i = least(n, m); here: return n + i + m; }";
    assert_eq!(relation_here(code, "i"), "<= n, <= m");
}

#[test]
fn an_element_of_a_matrix_is_before_its_end() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void); void *malloc(unsigned long);
        int main(void) { unsigned n = __VERIFIER_nondet_uint() & 255, w = __VERIFIER_nondet_uint() & 255, i = 0, j = 0;
          char *m = malloc((unsigned long)n * w); if (!m) return 0;
          for (i = 0; i < n; i++) for (j = 0; j < w; j++) { unsigned at = i * w + j; here: m[at] = 1; } return 0; }";
    let known = relation_here(code, "at");
    assert!(known.contains("<= n * w - 1") && known.contains("<= size(m) - 1"), "{known}");
}
