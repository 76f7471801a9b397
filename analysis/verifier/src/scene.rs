//! Memory at a step of a run, as people draw it: the objects that matter there, what lies in them, and which pointer leads where. Plain data;
//! how it is laid out is the front ends' matter.

use proofline_cfa::{Name, Scalar, eval::Value};
use proofline_hir::Type;

use crate::{interpret::Extent, objects::Objects};

/// So many objects are shown: first what the step and the named pointers lead to.
pub(crate) const MOST_OBJECTS: usize = 20;

/// Objects, by their distance from the variables that lead to them; those that the step mentions come first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scene {
    /// In this order.
    pub objects: Vec<SceneObject>,
    /// So many more can be reached from here.
    pub more: usize,
}

/// A variable, or an object in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SceneObject {
    /// `head`, `heap object 2`
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// In bytes, where that is known and matters.
    pub size: Option<u64>,
    /// What lies in it, in order; nothing of objects that have ended.
    pub cells: Vec<SceneCell>,
    /// So many more cells.
    pub more: usize,
    /// Where it is, if it lies in memory.
    pub(crate) extent: Option<Extent>,
}

/// Kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A variable that lies nowhere in memory: nobody points to it.
    Variable,
    /// A variable in memory.
    Named,
    /// It was allocated.
    Heap,
    /// The caller's, or code's outside.
    Outside,
    /// It was allocated and is freed.
    Freed,
    /// A variable whose life has ended.
    Ended,
}

/// Some bytes of an object that have one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SceneCell {
    /// `next`, `[3].key`; empty where the object is nothing else.
    pub name: String,
    /// Where it begins.
    pub offset: u64,
    /// What is there.
    pub content: Content,
    /// This step put it there.
    pub is_new: bool,
    /// The integer that the text is, with its type, which may have a name for it.
    pub(crate) integer: Option<(i128, Type)>,
}

/// What is in a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// A number, a string, a function's address: something to read.
    Text(String),
    /// The null pointer.
    Null,
    /// A pointer.
    Pointer(Target),
    /// Nothing was ever written there.
    Uninitialised,
    /// It has a value that nobody has looked at yet.
    Open,
}

/// Where a pointer leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Which object of the scene; `None`: it is not shown.
    pub object: Option<usize>,
    /// So many bytes from its beginning.
    pub offset: i64,
    /// As it is said: `heap object 2 + 8 bytes`.
    pub text: String,
    pub(crate) address: i128,
}

impl Scene {
    /// Whether there is something that a list of values does not say.
    pub(crate) fn is_worth_drawing(&self) -> bool {
        self.objects.iter().any(|object| match object.kind {
            ObjectKind::Heap | ObjectKind::Outside | ObjectKind::Freed | ObjectKind::Ended => true,
            ObjectKind::Variable | ObjectKind::Named => object.pointers().any(|to| to.object.is_some()),
        })
    }

    /// Leaves only the first objects, and counts the others.
    pub(crate) fn cut(&mut self) {
        self.more += self.objects.len().saturating_sub(MOST_OBJECTS);
        self.objects.truncate(MOST_OBJECTS);
        for object in &mut self.objects {
            for target in object.pointers_mut() {
                target.object = target.object.filter(|object| *object < MOST_OBJECTS);
            }
        }
    }

    /// Says things as the steps of the run say them; `enumerator` is what the text calls a value of a type.
    pub(crate) fn name(&mut self, objects: Objects<'_>, enumerator: impl Fn(Type, i128) -> Option<Name>) {
        for object in &mut self.objects {
            if let Some(extent) = &object.extent
                && object.kind != ObjectKind::Variable
            {
                object.name = match object.kind {
                    ObjectKind::Outside => "object of the caller".to_owned(),
                    _ => objects.name(extent),
                };
            }
            for cell in &mut object.cells {
                if let (Some((value, ty)), Content::Text(text)) = (cell.integer, &mut cell.content)
                    && let Some(name) = enumerator(ty, value)
                {
                    *text = format!("{name} ({text})");
                }
            }
            for target in object.pointers_mut() {
                target.text = objects.value_text(Value::Int(target.address), Scalar::Pointer);
            }
        }
    }

    /// Marks what is other than in the scene before.
    pub(crate) fn compare(&mut self, before: &Scene) {
        for object in &mut self.objects {
            let before = before.objects.iter().find(|known| known.key() == object.key());
            for cell in &mut object.cells {
                let was = before.and_then(|object| object.cells.iter().find(|old| old.name == cell.name));
                cell.is_new = !was.is_some_and(|was| was.content.is_same(&cell.content));
            }
        }
    }
}

impl Target {
    /// A pointer so many bytes into an object of the scene.
    pub fn new(object: Option<usize>, offset: i64, text: String) -> Target {
        Target { object, offset, text, address: i128::from(offset) }
    }
}

impl SceneCell {
    /// A cell.
    pub fn new(name: &str, offset: u64, content: Content) -> SceneCell {
        SceneCell { name: name.to_owned(), offset, content, is_new: false, integer: None }
    }
}

impl SceneObject {
    /// An object with these cells.
    pub fn new(name: &str, kind: ObjectKind, size: Option<u64>, cells: Vec<SceneCell>) -> SceneObject {
        SceneObject { name: name.to_owned(), kind, size, cells, more: 0, extent: None }
    }

    /// The same for the same object in two scenes of a run.
    fn key(&self) -> (Option<u64>, &str) {
        match &self.extent {
            Some(extent) => (Some(extent.base), ""),
            None => (None, &self.name),
        }
    }

    fn pointers(&self) -> impl Iterator<Item = &Target> {
        self.cells.iter().filter_map(|cell| match &cell.content {
            Content::Pointer(target) => Some(target),
            Content::Text(_) | Content::Null | Content::Uninitialised | Content::Open => None,
        })
    }

    pub(crate) fn pointers_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        self.cells.iter_mut().filter_map(|cell| match &mut cell.content {
            Content::Pointer(target) => Some(target),
            Content::Text(_) | Content::Null | Content::Uninitialised | Content::Open => None,
        })
    }
}

impl Content {
    /// Places in scenes are no part of what a pointer is.
    fn is_same(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::Pointer(a), Content::Pointer(b)) => a.address == b.address,
            _ => self == other,
        }
    }
}
