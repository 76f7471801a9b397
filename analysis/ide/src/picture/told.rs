//! A scene in words, for where no picture can be: an object a line, lists from the first object to the last, trees as an outline.

use proofline_cfa::register;
use proofline_verifier::scene::{Content, ObjectKind, Scene};

use super::{bytes, is_one_value, leads_back, more, shown, starts, target};

/// More lines are not told.
const MOST_LINES: usize = 40;

/// The lines.
pub fn told(scene: &Scene) -> Vec<String> {
    let mut teller = Teller { scene, is_told: vec![false; scene.objects.len()], lines: Vec::new() };
    for at in starts(scene) {
        if !teller.is_told[at] && is_one_value(&scene.objects[at]) {
            teller.variable(at);
        }
    }
    for at in starts(scene) {
        if !teller.is_told[at] {
            let name = teller.name(at);
            teller.object(&format!("{name}:"), at, (0, false));
        }
    }
    let Teller { mut lines, .. } = teller;
    let cut = lines.len().saturating_sub(MOST_LINES);
    if cut > 0 {
        lines.truncate(MOST_LINES);
        lines.push(more(cut, "line"));
    }
    if scene.more > 0 {
        lines.push(more(scene.more, "object"));
    }
    lines
}

struct Teller<'s> {
    scene: &'s Scene,
    is_told: Vec<bool>,
    lines: Vec<String>,
}

impl Teller<'_> {
    /// `p → heap object 1 {…}`, or its value.
    fn variable(&mut self, at: usize) {
        self.is_told[at] = true;
        let object = &self.scene.objects[at];
        let Some(cell) = object.cells.first() else { return };
        match target(cell) {
            Some(to) => self.link(&object.name, &cell.content, to, (0, false)),
            None => self.lines.push(value(&object.name, &cell.content, &shown(cell, false))),
        }
    }

    /// What a pointer leads to; what was told is only named. `depth`: how far to the right, and whether a list goes on.
    fn link(&mut self, name: &str, content: &Content, to: usize, depth: (usize, bool)) {
        let indent = "  ".repeat(depth.0);
        let offset = match content {
            Content::Pointer(target) if target.offset != 0 => format!(" + {}", target.offset),
            _ => String::new(),
        };
        let lead = format!("{indent}{name} → {}{offset}", self.name(to));
        let object = &self.scene.objects[to];
        if self.is_told[to] || object.kind == ObjectKind::Freed || object.kind == ObjectKind::Ended {
            self.is_told[to] = true;
            self.lines.push(lead);
        } else {
            self.object(&lead, to, depth);
        }
    }

    /// An object behind what leads there, and then the objects that it leads on to.
    fn object(&mut self, lead: &str, at: usize, (depth, goes_on): (usize, bool)) {
        self.is_told[at] = true;
        let object = &self.scene.objects[at];
        let (mut parts, mut links) = (Vec::new(), Vec::new());
        for cell in &object.cells {
            match target(cell) {
                Some(to) if !leads_back(cell) => links.push((cell, to)),
                Some(to) => parts.push(format!("{} → {}", cell.name, self.name(to))),
                None if cell.name.is_empty() => parts.push(shown(cell, false)),
                None => parts.push(value(&cell.name, &cell.content, &shown(cell, false))),
            }
        }
        if object.more > 0 {
            parts.push(more(object.more, "cell"));
        }
        let body = if parts.is_empty() { String::new() } else { format!(" {{{}}}", parts.join(", ")) };
        self.lines.push(format!("{lead}{body}"));
        // A list goes down the page; what branches goes to the right, too.
        let is_list = links.len() == 1;
        let inner = if is_list && goes_on { depth } else { depth + 1 };
        for (cell, to) in links {
            let name = if cell.name.is_empty() { object.name.clone() } else { cell.name.clone() };
            self.link(&name, &cell.content, to, (inner, is_list));
        }
    }

    fn name(&self, at: usize) -> String {
        let object = &self.scene.objects[at];
        match (object.kind, object.size) {
            (ObjectKind::Freed, Some(size)) => format!("{} ({}, freed)", object.name, bytes(size)),
            (ObjectKind::Ended, _) => format!("{} (its life is over)", object.name),
            (ObjectKind::Heap, Some(size)) if !self.is_told[at] => {
                format!("{} ({})", object.name, bytes(size))
            }
            (ObjectKind::Named, _) => register::address_text(&object.name),
            (ObjectKind::Variable | ObjectKind::Heap | ObjectKind::Outside | ObjectKind::Freed, _) => {
                object.name.clone()
            }
        }
    }
}

/// `p = NULL`, `q → heap object 9`, `r has no value`
fn value(name: &str, content: &Content, shown: &str) -> String {
    match content {
        Content::Pointer(_) => format!("{name} {shown}"),
        Content::Uninitialised => format!("{name} has {shown}"),
        Content::Text(_) | Content::Null | Content::Open => format!("{name} = {shown}"),
    }
}
