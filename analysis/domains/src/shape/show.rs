//! A graph as text: `l: list of 1+ {0: 1, 8: next}`.

use proofline_cfa::{Function, Scalar, register};
use proofline_program_analysis::Environment;

use super::{
    heap::{Heap, Shapes},
    region::{Branches, Life, Region, Rest},
    value::{End, Node, Pointer, Value},
};

pub(super) fn line(env: &Environment, state: &Shapes) -> String {
    let heap = match state {
        Shapes::Known(heap) => heap,
        Shapes::Unknown(_) => return "anything".to_owned(),
    };
    let shown = Show { env, heap };
    let mut parts = Vec::new();
    for (depth, frame) in heap.frames.iter().enumerate() {
        for (id, held) in &frame.registers {
            let name = shown.local(depth as u32, id.index());
            parts.push(format!("{name} = {}", shown.value(held)));
        }
    }
    for (node, region) in &heap.nodes {
        parts.push(format!("{}: {}", shown.node(*node), shown.region(region)));
    }
    if heap.lost {
        parts.push("something may be lost".to_owned());
    }
    parts.join("; ")
}

/// A value; of a pointer, what it leads to, too.
pub(super) fn value(env: &Environment, heap: &Heap, value: &Value, scalar: Scalar) -> String {
    let shown = Show { env, heap };
    match value {
        value if value.is_zero() && scalar == Scalar::Pointer => "null".to_owned(),
        Value::Pointer(pointer) => match heap.node(pointer.to) {
            Some(region) => format!("{} {}", shown.pointer(pointer), shown.region(region)),
            None => shown.pointer(pointer),
        },
        _ => shown.value(value),
    }
}

struct Show<'h> {
    env: &'h Environment,
    heap: &'h Heap,
}

impl Show<'_> {
    fn function(&self, depth: u32) -> Option<&Function> {
        self.env.function(self.heap.frames.get(depth as usize)?.function)
    }

    fn local(&self, depth: u32, index: usize) -> String {
        let known = self.function(depth).and_then(|function| {
            let local = function.locals.get(index)?;
            let is_inner = depth as usize + 1 == self.heap.frames.len();
            Some(if is_inner { local.name.to_string() } else { format!("{}.{}", function.name, local.name) })
        });
        known.unwrap_or_else(|| format!("%{index}"))
    }

    fn node(&self, node: Node) -> String {
        match node {
            Node::Global(name) => name.to_string(),
            Node::Local(depth, id) => self.local(depth, id.index()),
            Node::Heap(id) => format!("h{id}"),
        }
    }

    fn pointer(&self, pointer: &Pointer) -> String {
        let end = match pointer.end {
            _ if self.heap.node(pointer.to).is_none_or(|region| region.segment.is_none()) => "",
            End::First => "",
            End::Last => ".last",
            End::Each => ".itself",
        };
        let offset = match pointer.offset() {
            Some(0) => String::new(),
            Some(offset) => format!("+{offset}"),
            None => format!("+[{}, {}]", pointer.low, pointer.high),
        };
        format!("{}{end}{offset}", register::address_text(&self.node(pointer.to)))
    }

    fn value(&self, value: &Value) -> String {
        let number = |ranges: &crate::interval::Ranges| match ranges.as_single() {
            Some(value) => value.to_string(),
            None => ranges.to_string(),
        };
        match value {
            Value::Uninit => "no value".to_owned(),
            Value::Any => "any".to_owned(),
            Value::Number(ranges) => number(ranges),
            Value::Symbol(name) => {
                let ranges = self.heap.numbers.get(name).map(number).unwrap_or_default();
                format!("n{name} in {ranges}")
            }
            Value::Pointer(pointer) => self.pointer(pointer),
            Value::Function(name) => name.to_string(),
            Value::Freed => "freed".to_owned(),
            Value::Ended => "ended".to_owned(),
            Value::Choice(all) => all.iter().map(|value| self.value(value)).collect::<Vec<_>>().join(" or "),
        }
    }

    fn region(&self, region: &Region) -> String {
        let kind = match (region.segment, region.life) {
            (Some(segment), _) => {
                let back = segment.back.map(|(at, _)| format!(", back@{at}")).unwrap_or_default();
                match segment.branches {
                    Some(Branches { other, is_open }) => {
                        let open = if is_open { "open " } else { "" };
                        format!("{open}tree of {}+ by @{}, @{other}{back} ", segment.least, segment.next)
                    }
                    None => format!("list of {}+ by next@{}{back} ", segment.least, segment.next),
                }
            }
            (None, Life::Heap | Life::Variable) => String::new(),
            (None, Life::Frame(_)) => "alloca ".to_owned(),
        };
        let owner = region.owner.map(|owner| format!("of each of h{owner}: ")).unwrap_or_default();
        let cells = region.cells.iter().map(|(at, cell)| format!("{at}: {}", self.value(&cell.value)));
        let rest = match region.rest {
            Rest::Zero => Some("else 0".to_owned()),
            Rest::Any => Some("else any".to_owned()),
            Rest::Uninit => None,
        };
        let ended = region.ended.map(|from| format!("a string from {from} on"));
        format!("{owner}{kind}{{{}}}", cells.chain(rest).chain(ended).collect::<Vec<_>>().join(", "))
    }
}
