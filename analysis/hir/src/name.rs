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
use rustc_hash::FxHashSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An interned string. `Copy`, cheap to compare; lives as long as the process (a program has few distinct names).
#[derive(Clone, Copy)]
pub struct Name(&'static str);

static TABLE: LazyLock<RwLock<FxHashSet<&'static str>>> = LazyLock::new(Default::default);

impl Name {
    /// Interns `text`.
    pub fn new(text: &str) -> Name {
        if let Some(&known) = TABLE.read().get(text) {
            return Name(known);
        }
        let mut table = TABLE.write();
        if let Some(&known) = table.get(text) {
            return Name(known);
        }
        let leaked: &'static str = Box::leak(text.to_owned().into_boxed_str());
        table.insert(leaked);
        Name(leaked)
    }

    /// The name as it stands in the text: linking puts the file before names that several files use for functions and objects of their own,
    /// as in `list.c:grow`.
    pub fn written(self) -> &'static str {
        self.0.rsplit_once(':').map_or(self.0, |(_, written)| written)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.0
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
        self.0.hash(state);
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        if self == other { Ordering::Equal } else { self.0.cmp(other.0) }
    }
}
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
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
        fmt::Debug::fmt(self.0, f)
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}
impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}
