//! Materialisation: an end of a segment becomes an object of its own. A segment of at least one object is that object, or the object and a
//! segment of at least one. Law: the results together describe what the state described.

use super::{
    heap::Heap,
    region::Region,
    tree,
    value::{End, Node, Pointer, Value},
};

/// More cases than this are too many.
const MOST_CASES: usize = 32;

/// The cases; `None` if there are too many or it is no segment.
pub(super) fn materialise(heap: &Heap, id: u32, end: End) -> Option<Vec<Heap>> {
    // Objects get other names.
    let mut without = heap.clone();
    without.lengths.clear();
    let heap = &without;
    let region = heap.node(Node::Heap(id))?;
    let segment = region.segment?;
    let cases = match segment.branches {
        Some(_) => tree::materialise(heap, id, end)?,
        None => {
            let mut cases = vec![longer(heap, id, end)?];
            if segment.least <= 1 {
                cases.push(only(heap, id)?);
            }
            cases
        }
    };
    let mut result = Vec::new();
    for case in cases {
        choose(case, &mut result)?;
    }
    Some(result)
}

/// The segment is one object.
fn only(heap: &Heap, id: u32) -> Option<Heap> {
    let mut heap = heap.clone();
    heap.node_mut(Node::Heap(id))?.segment = None;
    let owned: Vec<Node> = heap
        .allocated()
        .filter(|(_, region)| region.owner == Some(id))
        .map(|(owned, _)| Node::Heap(owned))
        .collect();
    for node in owned {
        heap.node_mut(node)?.owner = None;
    }
    heap.redirect(&|pointer| {
        let is_end = pointer.to == Node::Heap(id) && pointer.end != End::First;
        is_end.then_some(Value::Pointer(Pointer { end: End::First, ..*pointer }))
    });
    Some(heap)
}

/// The object at the end, and a segment of the others.
fn longer(heap: &Heap, id: u32, end: End) -> Option<Heap> {
    let node = Node::Heap(id);
    let mut heap = heap.clone();
    let region = heap.node(node)?.clone();
    let segment = region.segment?;
    let object = copy(&mut heap, id, &Region { segment: None, ..region })?;
    // Everybody's pointers to that end lead to the object from now on.
    heap.redirect(&|pointer| {
        let is_end = pointer.to == node && pointer.end == end;
        is_end.then_some(Value::Pointer(Pointer { to: Node::Heap(object), end: End::First, ..*pointer }))
    });
    let rest = heap.node_mut(node)?;
    rest.segment.as_mut()?.least = (segment.least - 1).max(1);
    let link = |to, end, at: i64| Value::Pointer(Pointer { to, end, low: at, high: at });
    match (end, segment.back) {
        (End::First, back) => {
            if let Some((back, back_to)) = back {
                put(rest, back, link(Node::Heap(object), End::First, back_to));
            }
            let next = link(node, End::First, segment.next_to);
            put(heap.node_mut(Node::Heap(object))?, segment.next, next);
        }
        (End::Last, Some((back, back_to))) => {
            put(rest, segment.next, link(Node::Heap(object), End::First, segment.next_to));
            put(heap.node_mut(Node::Heap(object))?, back, link(node, End::Last, back_to));
        }
        (End::Last | End::Each, _) => return None,
    }
    Some(heap)
}

/// Replaces what a link's cell holds.
pub(super) fn put(region: &mut Region, at: u64, value: Value) {
    if let Some(cell) = region.cells.get_mut(&at) {
        cell.value = value;
    }
}

/// An object of the segment, or another segment like it, as the region says, with all that each object has of its own. Its links are those of
/// the segment.
pub(super) fn copy(heap: &mut Heap, id: u32, region: &Region) -> Option<u32> {
    let is_object = region.segment.is_none();
    let object = heap.add(region.clone());
    let mut copies = vec![(id, object)];
    let mut at = 0;
    while let Some((owner, new_owner)) = copies.get(at).copied() {
        let owned: Vec<(u32, Region)> = heap
            .allocated()
            .filter(|(_, region)| region.owner == Some(owner))
            .map(|(owned, region)| (owned, region.clone()))
            .collect();
        for (owned, region) in owned {
            // What belongs to the object itself belongs to no segment any more.
            let owner = if owner == id && is_object { None } else { Some(new_owner) };
            let copy = heap.add(Region { owner, ..region });
            copies.push((owned, copy));
        }
        at += 1;
    }
    let renamed = |of: Node| match of {
        Node::Heap(old) => copies.iter().find(|(from, _)| *from == old).map(|(_, to)| Node::Heap(*to)),
        Node::Global(_) | Node::Local(..) => None,
    };
    for (_, copy) in &copies {
        for cell in heap.node_mut(Node::Heap(*copy))?.cells.values_mut() {
            cell.value.redirect(&|pointer| {
                let to = renamed(pointer.to)?;
                let own = |end| Some(Value::Pointer(Pointer { to, end, ..*pointer }));
                match pointer.to == Node::Heap(id) {
                    // Its own address; the segment's ends stay what they are.
                    true if pointer.end == End::Each => own(if is_object { End::First } else { End::Each }),
                    true => None,
                    false => own(pointer.end),
                }
            });
        }
    }
    Some(object)
}

/// Makes each choice of single objects.
fn choose(heap: Heap, result: &mut Vec<Heap>) -> Option<()> {
    let of_object = |region: &Region| {
        let open = |(at, cell): (&u64, &super::region::Cell)| match &cell.value {
            Value::Choice(all) => Some((*at, all.clone())),
            _ => None,
        };
        region.cells.iter().find_map(open)
    };
    let found = heap.nodes.iter().find_map(|(node, region)| {
        let is_object = region.owner.is_none() && region.segment.is_none();
        is_object.then(|| of_object(region)).flatten().map(|(at, all)| (*node, at, all))
    });
    let Some((node, at, all)) = found else {
        result.push(heap);
        return (result.len() <= MOST_CASES).then_some(());
    };
    for chosen in &all {
        let mut case = heap.clone();
        put(case.node_mut(node)?, at, chosen.clone());
        // What the others lead to does not exist here.
        let others = all.iter().filter(|other| *other != chosen).flat_map(Value::pointers);
        let absent = case.reach(others.map(|pointer| pointer.to));
        let registers = case.frames.iter().flat_map(|frame| frame.registers.values());
        let variables = case.nodes.keys().filter(|node| !matches!(node, Node::Heap(_))).copied();
        let roots: Vec<Node> =
            registers.flat_map(Value::pointers).map(|pointer| pointer.to).chain(variables).collect();
        let there = case.reach(roots);
        case.nodes.retain(|node, _| !absent.contains(node) || there.contains(node));
        choose(case, result)?;
    }
    Some(())
}
