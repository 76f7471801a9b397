//! What objects hold: cells per granule, ranges over them, loads, stores and copies as constraints. Must not know how
//! constraints are solved.

use super::{
    object::{Address, AddressId, EXTERNAL, Move, NodeId, ObjectId, Thing, left},
    solver::{Copying, Event, Place, Solver, Use, Watch, Watcher},
};

/// A copy between more pairs of places than this does not keep them apart.
const PAIRS_PER_COPY: usize = 1024;

/// Copies of at most this many bytes keep members apart even where the places are not single, larger ones to other offsets
/// in so many bytes.
const SMALL_COPY: i64 = 512;

/// Whether many bytes are copied to where some of them are copied from.
fn is_moved_on(from: Address, to: Address) -> bool {
    let size = from.end.saturating_sub(from.start);
    size > SMALL_COPY && to.offset < from.end && from.start < to.offset.saturating_add(size)
}

/// A cell that is not yet connected with what watches its object.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewCell {
    object: ObjectId,
    granule: i64,
    cell: NodeId,
    /// So many watchers there were.
    watchers: usize,
}

impl Solver {
    fn cell(&mut self, object: ObjectId, granule: i64) -> NodeId {
        if let Some(cell) = self.state(object).cells.get(&granule) {
            return *cell;
        }
        let cell = self.node();
        self.objects[object.index()].cells.insert(granule, cell);
        let watchers = self.state(object).watchers.len();
        // (Not at once: one cell may make the next one, through many objects.)
        self.new_cells.push(NewCell { object, granule, cell, watchers });
        cell
    }

    /// Connects the new cells with what watched their objects when they were made.
    pub(super) fn connect_cells(&mut self) {
        while let Some(NewCell { object, granule, cell, watchers }) = self.new_cells.pop() {
            for index in 0..watchers {
                let watcher = self.state(object).watchers[index];
                self.apply(object, watcher, granule, cell);
            }
        }
    }

    fn watch(&mut self, object: ObjectId, watcher: Watcher) {
        let cells: Vec<(i64, NodeId)> =
            self.state(object).cells.iter().map(|(g, cell)| (*g, *cell)).collect();
        for (granule, cell) in cells {
            self.apply(object, watcher, granule, cell);
        }
        // What goes in at granules that nothing names comes out there.
        for index in 0..self.state(object).watchers.len() {
            let other = self.state(object).watchers[index];
            if self.state(object).shape.overlap(watcher.at, watcher.size, other.at, other.size) {
                self.pass(watcher, other);
                self.pass(other, watcher);
            }
        }
        self.objects[object.index()].watchers.push(watcher);
    }

    fn pass(&mut self, from: Watcher, to: Watcher) {
        let Watch::In(from) = from.what else { return };
        match to.what {
            Watch::In(_) => {}
            Watch::Out(node) => self.flow(from, node),
            Watch::Copy(target) => self.write_span(target, Some(to.at.end - to.at.start), from),
        }
    }

    fn apply(&mut self, object: ObjectId, watcher: Watcher, granule: i64, cell: NodeId) {
        let width = self.width;
        if !self.state(object).shape.touches(watcher.at, watcher.size, granule, width) {
            return;
        }
        match watcher.what {
            Watch::In(node) => self.flow(node, cell),
            Watch::Out(node) => self.flow(cell, node),
            // What moves within one object, to where more is moved from: otherwise each granule would make the next one.
            Watch::Copy(to) if to.object == object && is_moved_on(watcher.at, to) => {
                self.write_span(to, Some(watcher.at.end - watcher.at.start), cell);
            }
            Watch::Copy(to) => {
                // The part of the granule that is copied.
                let (start, end) = (watcher.at.start, watcher.at.end);
                let low = (granule * width).max(start);
                let high = ((granule + 1) * width).min(end);
                let mut path = vec![Move::Bytes(low - start)];
                for (first, last, period) in self.state(object).shape.arrays_in(low, high) {
                    let last = last.min(end);
                    if first <= low && period % width == 0 {
                        // The granule stands for those of all elements in the copied range.
                        let count = (last - first + period - 1) / period;
                        path.push(Move::Index { stride: period, length: Some(count), constant: None });
                    } else {
                        // It stands for all bytes of the array.
                        let first = first.max(start);
                        let mut path = path.clone();
                        path.push(Move::Bytes(first - low));
                        let to = self.follow(to, &path);
                        self.write_span(to, Some(last - first), cell);
                    }
                }
                let size = end.saturating_sub(start);
                let at = self.follow(to, &path);
                // Objects of which each is copied to the other one, moved on, would make granules without end.
                if size > SMALL_COPY && to.offset != start && at.offset >= SMALL_COPY {
                    self.write_span(at, Some(high - low), cell);
                    return;
                }
                for node in self.written(at, (high - low).max(1)) {
                    self.flow(cell, node);
                }
            }
        }
    }

    pub(crate) fn follow(&self, from: Address, path: &[Move]) -> Address {
        if self.has_contents(from.object) {
            self.state(from.object).shape.follow(from, path, self.width)
        } else {
            from
        }
    }

    /// Flows into or out of every granule that an access of `size` bytes at an address with a step may touch.
    fn span_node(&mut self, at: Address, size: i64, incoming: bool) -> NodeId {
        let at = self.state(at.object).shape.canonical(at, self.width);
        let table = if incoming { &self.spans_in } else { &self.spans_out };
        if let Some(node) = table.get(&(at, size)) {
            return *node;
        }
        let node = self.node();
        if incoming {
            self.spans_in.insert((at, size), node);
        } else {
            self.spans_out.insert((at, size), node);
        }
        let what = if incoming { Watch::In(node) } else { Watch::Out(node) };
        self.watch(at.object, Watcher { at, size, what });
        node
    }

    /// The nodes whose union is what reading `size` bytes at the address gives.
    pub(super) fn read(&mut self, at: Address, size: i64) -> Vec<NodeId> {
        if at.object == EXTERNAL {
            return vec![self.outside];
        }
        if !self.has_contents(at.object) {
            return Vec::new();
        }
        if at.step != 0 {
            return vec![self.span_node(at, size, false)];
        }
        let granules = self.state(at.object).shape.granules(at.offset, size, self.width);
        granules.into_iter().map(|granule| self.cell(at.object, granule)).collect()
    }

    /// The nodes that what is written to `size` bytes at the address flows to.
    pub(super) fn written(&mut self, at: Address, size: i64) -> Vec<NodeId> {
        if at.object == EXTERNAL {
            return vec![self.escape];
        }
        if !self.has_contents(at.object) || self.state(at.object).constant {
            return Vec::new();
        }
        self.initialised(at, size)
    }

    /// The same for constant objects, too.
    pub(crate) fn initialised(&mut self, at: Address, size: i64) -> Vec<NodeId> {
        if at.step != 0 {
            return vec![self.span_node(at, size, true)];
        }
        let granules = self.state(at.object).shape.granules(at.offset, size, self.width);
        granules.into_iter().map(|granule| self.cell(at.object, granule)).collect()
    }

    /// What all bytes of the address and the following may hold.
    pub(crate) fn read_span(&mut self, at: Address, size: Option<i64>) -> NodeId {
        if at.object == EXTERNAL || !self.has_contents(at.object) {
            return self.outside;
        }
        self.span_node(at.span(size), 1, false)
    }

    /// Any of the bytes of the address and the following may get what is in `from`.
    pub(crate) fn write_span(&mut self, at: Address, size: Option<i64>, from: NodeId) {
        if at.object == EXTERNAL {
            self.flow(from, self.escape);
        } else if self.has_contents(at.object) && !self.state(at.object).constant {
            let span = self.span_node(at.span(size), 1, true);
            self.flow(from, span);
        }
    }

    pub(crate) fn load(&mut self, place: &Place, size: i64) -> NodeId {
        match place {
            Place::At(at) => {
                let nodes = self.read(*at, size);
                if let [node] = nodes[..] {
                    return node;
                }
                let to = self.node();
                for node in nodes {
                    self.flow(node, to);
                }
                to
            }
            Place::Via(pointer, path) => {
                let to = self.node();
                self.attach(*pointer, Use::Load { path: path.clone(), size, to });
                to
            }
        }
    }

    pub(crate) fn store(&mut self, place: &Place, size: i64, from: NodeId) {
        match place {
            Place::At(at) => {
                for node in self.written(*at, size) {
                    self.flow(from, node);
                }
            }
            Place::Via(pointer, path) => self.attach(*pointer, Use::Store { path: path.clone(), size, from }),
        }
    }

    pub(crate) fn store_span(&mut self, place: &Place, size: Option<i64>, from: NodeId) {
        match place {
            Place::At(at) => self.write_span(*at, size, from),
            Place::Via(pointer, path) => {
                self.attach(*pointer, Use::StoreSpan { path: path.clone(), size, from });
            }
        }
    }

    /// `size` bytes (`None`: any number) flow from one place to another.
    pub(crate) fn copy(&mut self, to: Place, from: Place, size: Option<i64>) {
        let id = self.copies.len() as u32;
        let ends = [to.clone(), from.clone()];
        self.copies.push(Copying { to, from, size, all: None });
        if let [Place::At(to), Place::At(from)] = ends {
            self.copy_bytes(to, from, size);
        }
        for end in ends {
            if let Place::Via(pointer, _) = end {
                self.attach(pointer, Use::Copy(id));
            }
        }
    }

    fn copy_bytes(&mut self, to: Address, from: Address, size: Option<i64>) {
        if !self.copied.insert((to, from, size)) {
            return;
        }
        let constant = self.has_contents(to.object) && self.state(to.object).constant;
        if constant || (to.object != EXTERNAL && !self.has_contents(to.object)) {
            return;
        }
        if from.object == EXTERNAL || !self.has_contents(from.object) || to.object == EXTERNAL {
            if from.object == EXTERNAL || self.has_contents(from.object) {
                let node = self.read_span(from, size);
                self.write_span(to, size, node);
            }
            return;
        }
        let single = from.step == 0 && to.step == 0;
        if single && !self.state(from.object).shape.wraps(from.offset, size) {
            let at = from.span(size);
            self.watch(from.object, Watcher { at, size: 1, what: Watch::Copy(to) });
            return;
        }
        if let Some(size) = size.filter(|size| *size <= SMALL_COPY) {
            let mut at = 0;
            while at < size {
                let bytes = self.width.min(size - at);
                let source = self.follow(from, &[Move::Bytes(at)]);
                let target = self.follow(to, &[Move::Bytes(at)]);
                let targets = self.written(target, bytes);
                for node in self.read(source, bytes) {
                    for target in &targets {
                        self.flow(node, *target);
                    }
                }
                at += bytes;
            }
            return;
        }
        let node = self.read_span(from, size);
        self.write_span(to, size, node);
    }

    pub(super) fn use_copy(&mut self, copy: u32) {
        let Copying { to, from, size, all } = &self.copies[copy as usize];
        let (size, mut all) = (*size, *all);
        let (targets, sources) = (self.ends(to), self.ends(from));
        if all.is_none() && targets.len() * sources.len() > PAIRS_PER_COPY {
            all = Some(self.node());
            self.copies[copy as usize].all = all;
        }
        match all {
            Some(all) => {
                for from in sources {
                    let node = self.read_span(from, size);
                    self.flow(node, all);
                }
                for to in targets {
                    self.write_span(to, size, all);
                }
            }
            None => {
                for to in &targets {
                    for from in &sources {
                        self.copy_bytes(*to, *from, size);
                    }
                }
            }
        }
    }

    fn ends(&self, place: &Place) -> Vec<Address> {
        match place {
            Place::At(at) => vec![*at],
            Place::Via(pointer, path) => {
                let ids: Vec<u32> = self.set(*pointer).iter().collect();
                let mut ends: Vec<Address> =
                    ids.into_iter().map(|id| self.follow(self.address(AddressId(id)), path)).collect();
                ends.sort_unstable();
                ends.dedup();
                ends
            }
        }
    }

    /// Code outside may have the object's address.
    pub(super) fn escaped(&mut self, object: ObjectId) {
        let state = &mut self.objects[object.index()];
        if std::mem::replace(&mut state.escaped, true) {
            return;
        }
        // That a pointer leads to what earlier runs have left, nothing else says.
        if state.thing != Thing::Memory(left()) {
            for id in &state.addresses {
                self.implied.insert(id.0);
            }
        }
        if let Thing::Function(_) = state.thing {
            self.events.push(Event::EscapedFunction(object));
            return;
        }
        self.shared(object);
    }

    /// Code outside reads and writes all of the object.
    pub(super) fn shared(&mut self, object: ObjectId) {
        let anywhere = Address::anywhere(object);
        let content = self.read_span(anywhere, None);
        self.flow(content, self.escape);
        self.write_span(anywhere, None, self.outside);
    }
}
