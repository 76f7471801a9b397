//! Pictures of memory: where the objects of a [`Scene`] are to be drawn, and the same in words. Both know which pointers lead on (`next`,
//! `left`) and which lead back (`prev`, `parent`), by their names. Knows no colours and no format.

mod layout;
mod told;

use proofline_verifier::scene::{Content, ObjectKind, Scene, SceneCell, SceneObject};

pub use layout::{Arrow, Drawing, DrawnCell, DrawnObject, draw};
pub use told::told;

/// What links that lead back are called, in small letters.
const BACK: [&str; 9] = ["prev", "previous", "pprev", "back", "blink", "parent", "up", "owner", "father"];

/// Whether the pointer in a cell leads back, to where one comes from.
fn leads_back(cell: &SceneCell) -> bool {
    let name = cell.name.rsplit(['.', ']']).next().unwrap_or_default().to_ascii_lowercase();
    BACK.contains(&name.trim_start_matches("p_").trim_end_matches("_ptr"))
}

/// The object that a cell leads to.
fn target(cell: &SceneCell) -> Option<usize> {
    match &cell.content {
        Content::Pointer(target) => target.object,
        Content::Text(_) | Content::Null | Content::Uninitialised | Content::Open => None,
    }
}

/// The objects that one leads on to, in order.
fn onward(scene: &Scene, at: usize) -> impl Iterator<Item = usize> {
    let cells = scene.objects.get(at).map_or(&[][..], |object| &object.cells);
    cells.iter().filter(|cell| !leads_back(cell)).filter_map(target)
}

/// Whether it is nothing but one value: it is told and drawn in one line.
fn is_one_value(object: &SceneObject) -> bool {
    let has_one = matches!(object.cells.as_slice(), [cell] if cell.name.is_empty());
    matches!(object.kind, ObjectKind::Variable | ObjectKind::Named) && has_one
}

/// All objects, those first from which most others are reached; of equals, variables, and then the one that comes first.
fn starts(scene: &Scene) -> Vec<usize> {
    let reach = |from: usize| {
        let mut seen = vec![false; scene.objects.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if let Some(known) = seen.get_mut(at)
                && !*known
            {
                *known = true;
                open.extend(onward(scene, at));
            }
        }
        seen.iter().filter(|is| **is).count()
    };
    let mut all: Vec<(usize, usize)> = (0..scene.objects.len()).map(|at| (reach(at), at)).collect();
    all.sort_by_key(|(reach, at)| (std::cmp::Reverse(*reach), *at));
    all.into_iter().map(|(_, at)| at).collect()
}

/// What a cell holds, in words; of a pointer that has an arrow, nothing.
fn shown(cell: &SceneCell, has_arrow: bool) -> String {
    match &cell.content {
        Content::Text(text) => text.clone(),
        Content::Null => "NULL".to_owned(),
        Content::Pointer(_) if has_arrow => String::new(),
        Content::Pointer(target) => format!("→ {}", target.text),
        Content::Uninitialised => "no value".to_owned(),
        Content::Open => "any value".to_owned(),
    }
}

/// `16 bytes`
fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// `… 12 more cells`
fn more(count: usize, one: &str) -> String {
    format!("… {count} more {one}{}", if count == 1 { "" } else { "s" })
}
