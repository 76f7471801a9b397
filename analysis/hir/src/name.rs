//! Interned names. Equality is a pointer comparison, order is the order of the text, so that nothing that is sorted
//! by name depends on allocation or on threads. Knows nothing of C.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::LazyLock,
};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An interned string. `Copy`, cheap to compare; lives as long as the process (a program has few distinct names).
#[derive(Clone, Copy)]
pub struct Name(&'static Interned);

struct Interned {
    /// The first sixteen bytes, with zeros behind a shorter text: its order is that of the texts where it differs.
    head: u128,
    text: &'static str,
}

static TABLE: LazyLock<RwLock<FxHashMap<&'static str, Name>>> = LazyLock::new(Default::default);

impl Name {
    /// Interns `text`.
    pub fn new(text: &str) -> Name {
        if let Some(&known) = TABLE.read().get(text) {
            return known;
        }
        let mut table = TABLE.write();
        if let Some(&known) = table.get(text) {
            return known;
        }
        let mut head = [0; 16];
        head.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte);
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        let name = Name(Box::leak(Box::new(Interned { head: u128::from_be_bytes(head), text })));
        table.insert(text, name);
        name
    }

    /// The name as it stands in the text: linking puts the file before names that several files use for functions and objects of their own,
    /// as in `list.c:grow`.
    pub fn written(self) -> &'static str {
        self.as_str().rsplit_once(':').map_or(self.as_str(), |(_, written)| written)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        self.0.text
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.0.text
    }
}
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Name {}
impl Hash for Name {
    /// By content, so that a hash (and whatever order is derived from it) is the same in every run.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        self.0.head.cmp(&other.0.head).then_with(|| self.0.text.cmp(other.0.text))
    }
}
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        String::deserialize(deserializer).map(|text| Name::new(&text))
    }
}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.text, f)
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.text)
    }
}
impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}
