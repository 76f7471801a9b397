//! Where the objects of a scene are drawn, in pixels: a list from left to right in one row, what branches off in rows below, variables at the
//! left of what they lead to, or above it if it already has its place. Arrows are paths as SVG writes them.

use std::collections::{BTreeMap, BTreeSet};

use proofline_verifier::scene::{Content, ObjectKind, Scene, SceneObject};

use super::{bytes, is_one_value, more, onward, shown, starts, target};

/// Ten characters, a line, the room in an object at either side, and between objects.
const TEN_CHARACTERS: i32 = 73;
const LINE: i32 = 18;
const PADDING: i32 = 8;
const BETWEEN_COLUMNS: i32 = 52;
const BETWEEN_ROWS: i32 = 24;
const MARGIN: i32 = 34;
/// Longer texts are cut.
const MOST_CHARACTERS: usize = 34;

/// A picture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drawing {
    /// In pixels.
    pub width: i32,
    /// In pixels.
    pub height: i32,
    /// Boxes.
    pub objects: Vec<DrawnObject>,
    /// What leads where.
    pub arrows: Vec<Arrow>,
    /// `… 12 more objects`, if there are more.
    pub more: Option<String>,
}

/// A box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawnObject {
    /// Left.
    pub x: i32,
    /// Top.
    pub y: i32,
    /// In pixels.
    pub width: i32,
    /// In pixels.
    pub height: i32,
    /// Its first line; of a variable, the only one.
    pub title: String,
    /// `variable`, `named`, `heap`, `outside`, `freed`, `ended`
    pub kind: &'static str,
    /// Lines below the title; of a variable, what stands behind it.
    pub cells: Vec<DrawnCell>,
}

/// A line of a box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawnCell {
    /// At the left.
    pub name: String,
    /// At the right.
    pub value: String,
    /// `text`, `null`, `pointer`, `uninitialised`, `open`, `more`
    pub kind: &'static str,
    /// The step changed it.
    pub is_new: bool,
    /// Top, from the top of the picture.
    pub y: i32,
}

/// An arrow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// As SVG writes it.
    pub path: String,
    /// The step put the pointer there.
    pub is_new: bool,
    /// What it leads to has ended.
    pub is_dangling: bool,
}

/// Lays a scene out.
pub fn draw(scene: &Scene) -> Drawing {
    let places = Places::of(scene);
    let mut objects: Vec<DrawnObject> = scene.objects.iter().map(measured).collect();
    places.apply(&mut objects);
    let mut arrows = Vec::new();
    for (from, object) in scene.objects.iter().enumerate() {
        for (line, cell) in object.cells.iter().enumerate() {
            let (Some(to), Content::Pointer(pointer)) = (target(cell), &cell.content) else { continue };
            let Some(end) = scene.objects.get(to) else { continue };
            let aim =
                end.cells.iter().position(|cell| pointer.offset > 0 && cell.offset == pointer.offset as u64);
            let path = places.path(&objects, (from, line), (to, aim));
            let is_dangling = matches!(end.kind, ObjectKind::Freed | ObjectKind::Ended);
            arrows.push(Arrow { path, is_new: cell.is_new, is_dangling });
        }
    }
    let right = objects.iter().map(|object| object.x + object.width).max().unwrap_or(0);
    let bottom = objects.iter().map(|object| object.y + object.height).max().unwrap_or(0);
    let more = (scene.more > 0).then(|| more(scene.more, "object"));
    Drawing { width: right + MARGIN, height: bottom + MARGIN, objects, arrows, more }
}

fn width(text: &str) -> i32 {
    (text.chars().count() as i32 * TEN_CHARACTERS + 9) / 10
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MOST_CHARACTERS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST_CHARACTERS - 1).collect();
    format!("{head}…")
}

/// A box with its lines, at no place yet.
fn measured(object: &SceneObject) -> DrawnObject {
    let (kind, note) = match object.kind {
        ObjectKind::Variable => ("variable", ""),
        ObjectKind::Named => ("named", ""),
        ObjectKind::Heap => ("heap", ""),
        ObjectKind::Outside => ("outside", ""),
        ObjectKind::Freed => ("freed", ", freed"),
        ObjectKind::Ended => ("ended", ", its life is over"),
    };
    let size = object.size.filter(|_| object.kind != ObjectKind::Named).map(bytes);
    let size = size.map(|size| format!(" · {size}")).unwrap_or_default();
    let title = format!("{}{size}{note}", cut(&object.name));
    let mut cells: Vec<DrawnCell> = Vec::new();
    for cell in &object.cells {
        let kind = match &cell.content {
            Content::Text(_) => "text",
            Content::Null => "null",
            Content::Pointer(_) => "pointer",
            Content::Uninitialised => "uninitialised",
            Content::Open => "open",
        };
        let value = match (&cell.content, target(cell)) {
            (Content::Pointer(_), Some(_)) => "•".to_owned(),
            _ => cut(&shown(cell, false)),
        };
        cells.push(DrawnCell { name: cut(&cell.name), value, kind, is_new: cell.is_new, y: 0 });
    }
    if object.more > 0 {
        let (name, value) = (more(object.more, "cell"), String::new());
        cells.push(DrawnCell { name, value, kind: "more", is_new: false, y: 0 });
    }
    let is_variable = is_one_value(object);
    let line = |cell: &DrawnCell| match (cell.name.is_empty(), cell.value.is_empty()) {
        (true, _) | (_, true) => width(&cell.name) + width(&cell.value),
        (false, false) => width(&cell.name) + width(&cell.value) + 2 * PADDING,
    };
    let widest = cells.iter().map(line).max().unwrap_or(0);
    let (inner, lines) = match is_variable {
        true => (width(&title) + PADDING + widest, 1),
        false => (width(&title).max(widest), 1 + cells.len() as i32),
    };
    let (width, height) = (inner + 2 * PADDING, lines * LINE + 4);
    DrawnObject { x: 0, y: 0, width, height, title, kind, cells }
}

/// The place of each object: its column, and its row. A row has rows of labels above it: (3, -2), (3, -1), (3, 0).
struct Places {
    columns: Vec<i32>,
    rows: Vec<(i32, i32)>,
}

impl Places {
    fn of(scene: &Scene) -> Places {
        let count = scene.objects.len();
        let mut places = Places { columns: vec![0; count], rows: vec![(0, 0); count] };
        let mut is_placed = vec![false; count];
        let mut next_row = 0;
        let mut labels = Vec::new();
        let mut alone = Vec::new();
        for at in starts(scene) {
            if is_placed[at] {
                continue;
            }
            let object = &scene.objects[at];
            let single = onward(scene, at).next();
            match (object.kind, single) {
                (_, Some(to)) if is_one_value(object) && is_placed[to] => labels.push((at, to)),
                (_, None) if is_one_value(object) => alone.push(at),
                (kind, _) => {
                    let column = i32::from(!matches!(kind, ObjectKind::Variable | ObjectKind::Named));
                    let row = next_row;
                    next_row += 1;
                    places.follow(scene, at, (column, row), &mut next_row, &mut is_placed);
                }
            }
        }
        let mut used: BTreeSet<(i32, i32, i32)> = BTreeSet::new();
        for (at, to) in labels {
            let (column, row) = (places.columns[to], places.rows[to].0);
            let mut level = -1;
            while !used.insert((column, row, level)) {
                level -= 1;
            }
            (places.columns[at], places.rows[at]) = (column, (row, level));
        }
        for (number, at) in (0..).zip(alone) {
            (places.columns[at], places.rows[at]) = (number % 4, (next_row + number / 4, 0));
        }
        places
    }

    /// Puts an object there, what it leads on to first at its right, and the others in rows of their own.
    fn follow(
        &mut self,
        scene: &Scene,
        at: usize,
        (column, row): (i32, i32),
        next_row: &mut i32,
        is_placed: &mut [bool],
    ) {
        is_placed[at] = true;
        (self.columns[at], self.rows[at]) = (column, (row, 0));
        let mut own_row = Some(row);
        for to in onward(scene, at) {
            if is_placed[to] {
                continue;
            }
            let row = own_row.take().unwrap_or_else(|| {
                *next_row += 1;
                *next_row - 1
            });
            self.follow(scene, to, (column + 1, row), next_row, is_placed);
        }
    }

    /// Columns are as wide as their widest object, rows as high as their highest.
    fn apply(&self, objects: &mut [DrawnObject]) {
        let mut widths: BTreeMap<i32, i32> = BTreeMap::new();
        let mut heights: BTreeMap<(i32, i32), i32> = BTreeMap::new();
        for ((column, row), object) in self.columns.iter().zip(&self.rows).zip(objects.iter()) {
            let width = widths.entry(*column).or_default();
            *width = (*width).max(object.width);
            let height = heights.entry(*row).or_default();
            *height = (*height).max(object.height);
        }
        let mut lefts = BTreeMap::new();
        let mut x = MARGIN / 2;
        for (column, width) in widths {
            lefts.insert(column, x);
            x += width + BETWEEN_COLUMNS;
        }
        let mut tops = BTreeMap::new();
        let mut y = MARGIN / 2;
        for (row, height) in heights {
            tops.insert(row, y);
            y += height + BETWEEN_ROWS;
        }
        for ((column, row), object) in self.columns.iter().zip(&self.rows).zip(objects.iter_mut()) {
            (object.x, object.y) = (lefts[column], tops[row]);
            let is_line = object.height < 2 * LINE;
            for (line, cell) in (1..).zip(&mut object.cells) {
                cell.y = if is_line { object.y + 2 } else { object.y + 2 + line * LINE };
            }
        }
    }

    /// From a line of an object to another object, or to a line of it.
    fn path(&self, objects: &[DrawnObject], from: (usize, usize), to: (usize, Option<usize>)) -> String {
        let (source, end) = (&objects[from.0], &objects[to.0]);
        let middle = |cell: &DrawnCell| cell.y + LINE / 2;
        let y = source.cells.get(from.1).map_or(source.y, middle);
        let title = end.y + 2 + LINE / 2;
        let aim = to.1.and_then(|line| end.cells.get(line)).map_or(title, middle);
        let (left, right) = (source.x, source.x + source.width);
        let (end_left, end_right) = (end.x, end.x + end.width);
        let (column, end_column) = (self.columns[from.0], self.columns[to.0]);
        if from.0 == to.0 {
            return format!("M{right},{y}C{0},{y} {0},{aim} {right},{aim}", right + 30);
        }
        if column == end_column && self.rows[from.0].1 < 0 && to.1.is_none() {
            let x = source.x + source.width.min(end.width) / 2;
            return format!("M{x},{}L{x},{}", source.y + source.height, end.y);
        }
        if end_left > right {
            let half = (end_left - right) / 2;
            return format!("M{right},{y}C{},{y} {},{aim} {end_left},{aim}", right + half, end_left - half);
        }
        if column == end_column {
            return format!("M{right},{y}C{0},{y} {0},{aim} {end_right},{aim}", right.max(end_right) + 40);
        }
        if column - end_column == 1 {
            let half = ((left - end_right) / 2).max(12);
            return format!("M{left},{y}C{},{y} {},{aim} {end_right},{aim}", left - half, end_right + half);
        }
        // Over what lies between, below it.
        let below = (source.y + source.height).max(end.y + end.height) + BETWEEN_ROWS;
        let x = source.x + source.width / 2;
        let under = end.x + end.width / 2;
        let bottom = source.y + source.height;
        format!("M{x},{bottom}C{x},{below} {under},{below} {under},{}", end.y + end.height)
    }
}

/// Whether every line that leads somewhere has its arrow.
#[cfg(test)]
fn arrows_of(scene: &Scene) -> usize {
    scene.objects.iter().flat_map(|object| &object.cells).filter(|cell| target(cell).is_some()).count()
}

#[cfg(test)]
mod tests {
    use proofline_verifier::scene::{SceneCell, Target};

    use super::*;

    fn pointer(to: usize) -> Content {
        Content::Pointer(Target::new(Some(to), 0, String::new()))
    }

    fn cell(name: &str, content: Content) -> SceneCell {
        SceneCell::new(name, 0, content)
    }

    fn variable(name: &str, to: usize) -> SceneObject {
        SceneObject::new(name, ObjectKind::Variable, None, vec![cell("", pointer(to))])
    }

    fn object(name: &str, cells: Vec<SceneCell>) -> SceneObject {
        SceneObject::new(name, ObjectKind::Heap, Some(24), cells)
    }

    /// A list that is linked in both directions, with a variable at its beginning and one in its middle.
    fn list() -> Scene {
        let mut objects = vec![variable("p", 3), variable("l", 2)];
        for at in 2..6 {
            let next = if at < 5 { pointer(at + 1) } else { Content::Null };
            let back = if at > 2 { pointer(at - 1) } else { Content::Null };
            objects.push(object("o", vec![cell("prev", back), cell("next", next)]));
        }
        Scene { objects, more: 3 }
    }

    fn overlaps(objects: &[DrawnObject]) -> bool {
        let touches = |a: &DrawnObject, b: &DrawnObject| {
            a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
        };
        objects.iter().enumerate().any(|(at, a)| objects[at + 1..].iter().any(|b| touches(a, b)))
    }

    #[test]
    fn a_list_is_a_row() {
        let scene = list();
        let drawing = draw(&scene);
        let row: Vec<&DrawnObject> = drawing.objects[1..].iter().collect();
        assert!(row.windows(2).all(|two| two[0].x + two[0].width < two[1].x && two[0].y == two[1].y));
        // The variable in the middle stands above what it leads to.
        let (p, second) = (&drawing.objects[0], &drawing.objects[3]);
        assert!(p.x == second.x && p.y + p.height < second.y);
        assert!(!overlaps(&drawing.objects));
        assert_eq!(drawing.arrows.len(), arrows_of(&scene));
        assert_eq!(drawing.more.as_deref(), Some("… 3 more objects"));
    }

    #[test]
    fn a_tree_and_a_ring_overlap_nowhere() {
        let node =
            |left: Content, right: Content| object("n", vec![cell("left", left), cell("right", right)]);
        let mut objects = vec![variable("root", 1)];
        for at in 1..8 {
            let child = |to: usize| if to < 8 { pointer(to) } else { Content::Null };
            objects.push(node(child(2 * at), child(2 * at + 1)));
        }
        objects.push(variable("ring", 9));
        for at in 9..12 {
            objects.push(object("r", vec![cell("next", pointer(if at < 11 { at + 1 } else { 9 }))]));
        }
        let scene = Scene { objects, more: 0 };
        let drawing = draw(&scene);
        assert!(!overlaps(&drawing.objects));
        assert_eq!(drawing.arrows.len(), arrows_of(&scene));
        assert!(drawing.objects.iter().all(|object| object.x + object.width <= drawing.width));
    }
}
