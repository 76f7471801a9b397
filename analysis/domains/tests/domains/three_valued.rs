//! The laws of three-valued structures, against concrete heaps: Kleene's logic, canonical abstraction, the embedding theorem, and that focus, coerce and
//! every operation lose no concrete heap.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{IntType, LocalId, Scalar};
use proofline_domains::three_valued::{
    canonical::{abstracted, embeds, merged},
    class::{Field, ShapeClass, Unary, Var},
    coerce::coerce,
    focus::{Focus, focus},
    formula::Formula,
    generators::Library,
    logic::Kleene,
    operation::{Operation, post, settled},
    structure::{Content, Structure},
};
use proptest::{collection::vec, prelude::*};

const SIZE: u64 = 24;
const NEXT: Field = Field { offset: 0, bytes: 8, scalar: Scalar::Pointer };
const PREV: Field = Field { offset: 8, bytes: 8, scalar: Scalar::Pointer };
const DATA: Field = Field { offset: 16, bytes: 4, scalar: Scalar::Int(IntType::INT) };

fn var(number: usize) -> Var {
    Var::Local(0, LocalId(number as u32))
}

/// Classes for lists of one link, of two, and for trees.
fn class(which: usize) -> ShapeClass {
    let mut class = ShapeClass::default();
    let library = Library::standard();
    let known = match which % 4 {
        0 => library.generate("singly", &[NEXT], &mut class),
        1 => library.generate("doubly", &[NEXT, PREV], &mut class),
        2 => library.generate("tree", &[NEXT, PREV], &mut class),
        _ => library.generate("nested", &[NEXT, PREV, NEXT], &mut class),
    };
    assert!(known);
    class.pointers.insert(PREV);
    class.tracking.assertions.insert(DATA, BTreeSet::from([0, 1]));
    class
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pointer {
    Null,
    To(usize),
    Any,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Object {
    freed: bool,
    next: Pointer,
    prev: Pointer,
    data: i128,
    given: bool,
}

/// A heap as C has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Heap {
    vars: Vec<Option<Pointer>>,
    objects: Vec<Object>,
}

impl Heap {
    fn pointer(&mut self, object: usize, field: Field) -> &mut Pointer {
        let object = &mut self.objects[object];
        if field == NEXT { &mut object.next } else { &mut object.prev }
    }

    /// The two-valued structure: core predicates as they are, the others by their definitions.
    fn structure(&self, class: &ShapeClass) -> Structure {
        let mut structure = Structure::new();
        for object in &self.objects {
            let node = structure.add(SIZE);
            structure.set_unary(Unary::Freed, node, object.freed.into());
            let field = |structure: &mut Structure, field, pointer| {
                structure.set_unary(
                    Unary::Wild(field),
                    node,
                    (object.freed || pointer == Pointer::Any).into(),
                );
            };
            field(&mut structure, NEXT, object.next);
            field(&mut structure, PREV, object.prev);
            if !object.freed {
                structure.set_unary(Unary::Given(DATA), node, object.given.into());
                for value in [0, 1] {
                    structure.set_unary(Unary::Equals(DATA, value), node, (object.data == value).into());
                }
            }
        }
        for (node, object) in self.objects.iter().enumerate().filter(|(_, object)| !object.freed) {
            for (field, pointer) in [(NEXT, object.next), (PREV, object.prev)] {
                if let Pointer::To(to) = pointer {
                    structure.set_field(field, node, to, Kleene::True);
                }
            }
        }
        for (number, value) in self.vars.iter().enumerate() {
            match value {
                None | Some(Pointer::Any) => structure.set_content(var(number), None),
                Some(Pointer::Null) => structure.set_content(var(number), Some(Content::Pointer)),
                Some(Pointer::To(node)) => {
                    structure.set_content(var(number), Some(Content::Pointer));
                    structure.set_unary(Unary::Points(var(number)), *node, Kleene::True);
                }
            }
        }
        define(&mut structure, class, self.vars.len());
        structure
    }

    /// `None`: undefined.
    fn run(&self, operation: Operation) -> Option<Heap> {
        let mut heap = self.clone();
        let number = |var: Var| match var {
            Var::Local(_, id) => id.index(),
            Var::Global(_) => 0,
        };
        let value = |var: Var| self.vars[number(var)].unwrap_or(Pointer::Any);
        let object = |var: Var| match value(var) {
            Pointer::To(node) if !self.objects[node].freed => Some(node),
            Pointer::To(_) | Pointer::Null | Pointer::Any => None,
        };
        match operation {
            Operation::Null(var) => heap.vars[number(var)] = Some(Pointer::Null),
            Operation::Forget(var) => heap.vars[number(var)] = Some(Pointer::Any),
            Operation::Copy(to, from) => heap.vars[number(to)] = Some(value(from)),
            Operation::Load(to, from, field) => {
                let from = object(from)?;
                heap.vars[number(to)] = Some(*heap.pointer(from, field));
            }
            Operation::Store(to, field, from) => {
                let value = from.map_or(Pointer::Null, value);
                *heap.pointer(object(to)?, field) = value;
            }
            Operation::Allocate(to, _, is_zeroed) => {
                let start = if is_zeroed { Pointer::Null } else { Pointer::Any };
                let data = if is_zeroed { 0 } else { 7 };
                heap.objects.push(Object { freed: false, next: start, prev: start, data, given: is_zeroed });
                heap.vars[number(to)] = Some(Pointer::To(self.objects.len()));
            }
            Operation::Free(var) if value(var) == Pointer::Null => {}
            Operation::Free(var) => heap.objects[object(var)?].freed = true,
            Operation::Number(to, _, value) => {
                let to = object(to)?;
                (heap.objects[to].data, heap.objects[to].given) = (value.unwrap_or(5), true);
            }
        }
        Some(heap)
    }
}

fn define(structure: &mut Structure, class: &ShapeClass, vars: usize) {
    let mut predicates = Vec::new();
    for (links, _) in class.each_links() {
        predicates.extend([Unary::Shared(links), Unary::Cycle(links)]);
        predicates.extend((0..vars).map(|number| Unary::Reach(var(number), links)));
    }
    predicates.extend(class.cancels.iter().map(|(there, back)| Unary::Cancel(*there, *back)));
    for predicate in predicates {
        let definition = class.definition(predicate).expect("an instrumentation predicate");
        let values =
            (0..structure.len()).map(|node| definition.value(structure, &BTreeMap::from([(0, node)])));
        let row = values.collect();
        structure.set_row(predicate, row);
    }
}

/// The structures that say what a concrete heap is: some of the garbage, with all that it leads to, may be gone. `None`: there is too much of it.
fn descriptions(heap: &Heap, class: &ShapeClass) -> Option<Vec<Structure>> {
    let structure = heap.structure(class);
    let mut reached = BTreeSet::new();
    let successors =
        |node: usize| [NEXT, PREV].into_iter().flat_map(move |field| structure_successors(heap, node, field));
    let mut open: Vec<usize> = heap.vars.iter().filter_map(|value| pointed(*value)).collect();
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(successors(node));
        }
    }
    let garbage: Vec<usize> = (0..heap.objects.len()).filter(|node| !reached.contains(node)).collect();
    if garbage.len() > 7 {
        return None;
    }
    let mut all = Vec::new();
    for chosen in 0u32..1 << garbage.len() {
        let is_kept = |node: usize| match garbage.iter().position(|other| *other == node) {
            Some(at) => chosen >> at & 1 == 1,
            None => true,
        };
        let is_closed = |node: &usize| !is_kept(*node) || successors(*node).all(is_kept);
        if garbage.iter().all(is_closed) {
            let mut kept = structure.clone();
            kept.lost = garbage.iter().any(|node| !is_kept(*node) && !heap.objects[*node].freed);
            kept.retain(is_kept);
            define(&mut kept, class, heap.vars.len());
            all.push(kept);
        }
    }
    Some(all)
}

fn pointed(value: Option<Pointer>) -> Option<usize> {
    if let Some(Pointer::To(node)) = value { Some(node) } else { None }
}

fn structure_successors(heap: &Heap, node: usize, field: Field) -> Option<usize> {
    let object = &heap.objects[node];
    let pointer = if field == NEXT { object.next } else { object.prev };
    if object.freed { None } else { pointed(Some(pointer)) }
}

/// Searches for a map by which the first is embedded in the second.
fn is_embedded(lower: &Structure, upper: &Structure) -> bool {
    fn search(lower: &Structure, upper: &Structure, map: &mut Vec<usize>) -> bool {
        let node = map.len();
        if node == lower.len() {
            return embeds(lower, upper, map);
        }
        let fits = |image: usize| {
            let mut rows = lower.unary_rows().chain(upper.unary_rows());
            let counts = |predicate: Unary| match predicate {
                Unary::Points(var) | Unary::Reach(var, _) => upper.content(var).is_some(),
                _ => true,
            };
            rows.all(|(predicate, _)| {
                !counts(predicate) || lower.unary(predicate, node).is_below(upper.unary(predicate, image))
            }) && (upper.is_summary(image) || !map.contains(&image))
        };
        let images: Vec<usize> = (0..upper.len()).filter(|image| fits(*image)).collect();
        images.into_iter().any(|image| {
            map.push(image);
            let found = search(lower, upper, map);
            map.pop();
            found
        })
    }
    search(lower, upper, &mut Vec::new())
}

/// Choices that bytes make.
struct Choices<'c>(&'c [u8]);

impl Choices<'_> {
    fn pick(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % count.max(1)
    }
}

/// Any heap, or one of lists, rings or trees with a change or two.
fn heap(choices: &mut Choices<'_>) -> Heap {
    let count = choices.pick(6);
    let kind = choices.pick(5);
    let any = |choices: &mut Choices<'_>| match choices.pick(count + 2) {
        0 => Pointer::Null,
        1 if choices.pick(3) == 0 => Pointer::Any,
        to if count > 0 => Pointer::To(to % count),
        _ => Pointer::Null,
    };
    let objects = (0..count).map(|node| {
        let after = |node: usize| if node < count { Pointer::To(node) } else { Pointer::Null };
        let before = if node == 0 { Pointer::Null } else { Pointer::To(node - 1) };
        let (mut next, mut prev) = match kind {
            0 => (any(choices), any(choices)),
            1 => (after(node + 1), Pointer::Null),
            2 => (after(node + 1), before),
            3 => (Pointer::To((node + 1) % count), Pointer::To((node + count - 1) % count)),
            _ => (after(2 * node + 1), after(2 * node + 2)),
        };
        let freed = choices.pick(12) == 11;
        match choices.pick(14) {
            12 => next = any(choices),
            13 => prev = any(choices),
            _ => {}
        }
        let data = choices.pick(3) as i128;
        Object { freed, next, prev, data, given: data < 2 }
    });
    let objects = objects.collect();
    let vars = (0..3).map(|_| Some(any(choices))).collect();
    Heap { vars, objects }
}

fn operation(choices: &mut Choices<'_>) -> Operation {
    let mut any = || var(choices.pick(3));
    let (x, y) = (any(), any());
    let field = if choices.pick(3) == 0 { PREV } else { NEXT };
    match choices.pick(14) {
        0 => Operation::Null(x),
        1 => Operation::Copy(x, y),
        2..=5 => Operation::Load(x, y, field),
        6 => Operation::Store(x, field, None),
        7..=9 => Operation::Store(x, field, Some(y)),
        10 => Operation::Allocate(x, SIZE, choices.pick(2) == 0),
        11 => Operation::Free(x),
        12 => Operation::Number(x, DATA, [Some(0), Some(1), None][choices.pick(3)]),
        _ => Operation::Forget(x),
    }
}

/// Merges individuals at random: a structure that the heap is embedded in, but no canonical one.
fn coarser(structure: &Structure, choices: &mut Choices<'_>) -> Structure {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for node in 0..structure.len() {
        let is_pointed = (0..3).any(|number| structure.unary(Unary::Points(var(number)), node).is_true());
        let at = choices.pick(groups.len() + 2);
        match groups.get_mut(at).filter(|_| !is_pointed) {
            Some(group)
                if !(0..3).any(|number| {
                    group.iter().any(|other| structure.unary(Unary::Points(var(number)), *other).is_true())
                }) =>
            {
                group.push(node)
            }
            _ => groups.push(vec![node]),
        }
    }
    merged(structure, &groups)
}

fn formula(choices: &mut Choices<'_>, depth: u32, bound: u32) -> Formula {
    let some = |choices: &mut Choices<'_>| choices.pick(bound.max(1) as usize) as u32;
    let (v, w) = (some(choices), some(choices));
    let field = if choices.pick(2) == 0 { NEXT } else { PREV };
    match choices.pick(if depth == 0 { 5 } else { 9 }) {
        0 => Formula::Unary(Unary::Points(var(choices.pick(3))), v),
        1 => Formula::Unary([Unary::Freed, Unary::Wild(field), Unary::Equals(DATA, 1)][choices.pick(3)], v),
        2 => Formula::Field(field, v, w),
        3 => Formula::Equal(v, w),
        4 => Formula::Closure([vec![NEXT], vec![PREV], vec![NEXT, PREV]][choices.pick(3)].clone(), v, w),
        5 => formula(choices, depth - 1, bound).negated(),
        6 => formula(choices, depth - 1, bound).and(formula(choices, depth - 1, bound)),
        7 => formula(choices, depth - 1, bound).or(formula(choices, depth - 1, bound)),
        _ => formula(choices, depth - 1, bound + 1).exists(bound),
    }
}

#[test]
fn kleene_logic_obeys_its_laws() {
    for a in Kleene::ALL {
        assert_eq!(a.negated().negated(), a);
        assert!(a.is_below(a) && a.is_below(Kleene::Unknown));
        assert_eq!(a.join(a), a);
        for b in Kleene::ALL {
            assert_eq!(a.and(b), b.and(a));
            assert_eq!(a.and(b).negated(), a.negated().or(b.negated()));
            assert!(a.is_below(a.join(b)) && b.is_below(a.join(b)));
            if let Some(both) = a.meet(b) {
                assert!(both.is_below(a) && both.is_below(b));
            }
            for (c, d) in Kleene::ALL.into_iter().flat_map(|c| Kleene::ALL.map(|d| (c, d))) {
                assert_eq!(a.and(b.or(c)), a.and(b).or(a.and(c)));
                // Operators are monotone in information.
                if a.is_below(c) && b.is_below(d) {
                    assert!(a.and(b).is_below(c.and(d)) && a.or(b).is_below(c.or(d)));
                }
            }
        }
    }
}

#[test]
fn the_library_has_its_kinds() {
    let library = Library::standard();
    let kinds: Vec<&str> = library.kinds().collect();
    assert_eq!(kinds, ["cyclic", "doubly", "nested", "singly", "tree", "tree-with-parent"]);
    assert!(Library::parse("singly(f) = walk(g)").is_err());
    assert!(!library.generate("doubly", &[NEXT], &mut ShapeClass::default()));
    // More members make a finer class.
    let mut one = ShapeClass::default();
    library.generate("singly", &[NEXT], &mut one);
    let mut two = one.clone();
    library.generate("doubly", &[NEXT, PREV], &mut two);
    assert!(two.refines(&one) && !one.refines(&two));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A heap is embedded in its canonical abstraction, which is its own.
    #[test]
    fn abstraction_embeds(bytes in vec(any::<u8>(), 0..60), which in 0usize..4) {
        let class = class(which);
        let concrete = heap(&mut Choices(&bytes)).structure(&class);
        let once = abstracted(&concrete, &class);
        prop_assert!(concrete.is_two_valued());
        prop_assert!(is_embedded(&concrete, &once));
        prop_assert!(proofline_domains::three_valued::canonical::is_embedded(&concrete, &once, &class));
        prop_assert_eq!(abstracted(&once, &class), once);
    }

    /// The embedding theorem: a formula is known no better in the abstraction.
    #[test]
    fn formulas_are_below_their_value_in_the_abstraction(
        bytes in vec(any::<u8>(), 0..60), more in vec(any::<u8>(), 0..40), which in 0usize..4,
    ) {
        let class = class(which);
        let concrete = heap(&mut Choices(&bytes)).structure(&class);
        let mut choices = Choices(&more);
        let formula = formula(&mut choices, 3, 0).exists(0);
        let exact = formula.value(&concrete, &BTreeMap::new());
        prop_assert!(exact.is_definite());
        for above in [abstracted(&concrete, &class), coarser(&concrete, &mut choices)] {
            prop_assert!(exact.is_below(formula.value(&above, &BTreeMap::new())), "{formula:?}\n{above:?}");
        }
    }

    /// Focus and coerce lose no heap.
    #[test]
    fn focus_and_coerce_keep_heaps(bytes in vec(any::<u8>(), 0..60), more in vec(any::<u8>(), 0..20), which in 0usize..4) {
        let class = class(which);
        let concrete = heap(&mut Choices(&bytes)).structure(&class);
        let mut choices = Choices(&more);
        for above in [concrete.clone(), abstracted(&concrete, &class), coarser(&concrete, &mut choices)] {
            let sharper = coerce(&above, &class);
            prop_assert!(sharper.is_some_and(|sharper| is_embedded(&concrete, &sharper)), "{concrete:?}\n{above:?}");
            for node in 0..above.len() {
                for on in [
                    Focus::Field(node, NEXT), Focus::Field(node, PREV), Focus::Unary(node, Unary::Freed),
                    Focus::Unary(node, Unary::Equals(DATA, 1)), Focus::Variable(var(0)),
                ] {
                    let Some(cases) = focus(&above, on) else { continue };
                    prop_assert!(cases.iter().any(|case| is_embedded(&concrete, case)), "{on:?}");
                    let sharper = cases.iter().filter_map(|case| coerce(case, &class));
                    prop_assert!(sharper.into_iter().any(|case| is_embedded(&concrete, &case)), "{on:?} coerced\n{concrete:?}\n{cases:?}");
                }
            }
        }
    }

    /// What an operation does to a heap is embedded in what it does to the abstraction.
    #[test]
    fn operations_cover_concrete_ones(bytes in vec(any::<u8>(), 0..60), more in vec(any::<u8>(), 0..30), which in 0usize..4) {
        let class = class(which);
        let concrete = heap(&mut Choices(&bytes));
        let mut choices = Choices(&more);
        let structure = concrete.structure(&class);
        for _ in 0..4 {
            let operation = operation(&mut choices);
            let Some(after) = concrete.run(operation) else { continue };
            let Some(after) = descriptions(&after, &class) else { continue };
            for above in [structure.clone(), abstracted(&structure, &class), coarser(&structure, &mut choices)] {
                let Some(posts) = post(&above, &class, operation) else { continue };
                let is_covered = |post: &Structure| after.iter().any(|after| is_embedded(after, post));
                prop_assert!(posts.iter().any(is_covered), "{operation:?}\n{concrete:?}\n{above:?}\n{posts:?}");
            }
        }
    }

    /// Programs, from nothing on.
    #[test]
    fn programs_stay_covered(bytes in vec(any::<u8>(), 0..150), which in 0usize..4) {
        let class = class(which);
        let mut choices = Choices(&bytes);
        let mut concrete = Heap { vars: vec![Some(Pointer::Null); 3], objects: Vec::new() };
        let mut above = BTreeSet::from([settled(&concrete.structure(&class), &class).expect("something")]);
        for step in 0..16 {
            let operation = match operation(&mut choices) {
                Operation::Copy(x, _) if step % 3 == 0 => Operation::Allocate(x, SIZE, true),
                other => other,
            };
            let Some(after) = concrete.run(operation) else { continue };
            let posts: Option<Vec<Vec<Structure>>> = above.iter().map(|one| post(one, &class, operation)).collect();
            let Some(posts) = posts else { break };
            above = posts.into_iter().flatten().collect();
            concrete = after;
            let Some(now) = descriptions(&concrete, &class) else { break };
            let is_covered = |above: &Structure| now.iter().any(|now| is_embedded(now, above));
            prop_assert!(above.iter().any(is_covered), "{operation:?}\n{concrete:?}\n{above:?}");
        }
    }
}
