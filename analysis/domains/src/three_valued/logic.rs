//! Kleene's three-valued logic: 0, 1/2 (not known) and 1, in the order of truth and in the order of information. Knows no structures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A truth value. The derived order is the one of truth: 0 < 1/2 < 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Kleene {
    /// It does not hold.
    #[default]
    False,
    /// It may hold.
    Unknown,
    /// It holds.
    True,
}

impl Kleene {
    /// All of them.
    pub const ALL: [Kleene; 3] = [Kleene::False, Kleene::Unknown, Kleene::True];

    /// Conjunction: the minimum.
    #[must_use]
    pub fn and(self, other: Kleene) -> Kleene {
        self.min(other)
    }

    /// Disjunction: the maximum.
    #[must_use]
    pub fn or(self, other: Kleene) -> Kleene {
        self.max(other)
    }

    /// Negation.
    #[must_use]
    pub fn negated(self) -> Kleene {
        match self {
            Kleene::False => Kleene::True,
            Kleene::Unknown => Kleene::Unknown,
            Kleene::True => Kleene::False,
        }
    }

    /// `self ⊑ other` in the order of information: `other` says the same, or nothing.
    pub fn is_below(self, other: Kleene) -> bool {
        self == other || other == Kleene::Unknown
    }

    /// The join in the order of information.
    #[must_use]
    pub fn join(self, other: Kleene) -> Kleene {
        if self == other { self } else { Kleene::Unknown }
    }

    /// What two descriptions of one truth say together; `None` if they contradict each other.
    pub fn meet(self, other: Kleene) -> Option<Kleene> {
        match (self, other) {
            (Kleene::Unknown, known) | (known, Kleene::Unknown) => Some(known),
            (a, b) => (a == b).then_some(a),
        }
    }

    /// Whether it certainly holds.
    pub fn is_true(self) -> bool {
        self == Kleene::True
    }

    /// Whether it certainly does not.
    pub fn is_false(self) -> bool {
        self == Kleene::False
    }

    /// Whether it may hold.
    pub fn may_hold(self) -> bool {
        self != Kleene::False
    }

    /// Whether it is 0 or 1.
    pub fn is_definite(self) -> bool {
        self != Kleene::Unknown
    }
}

impl From<bool> for Kleene {
    fn from(truth: bool) -> Kleene {
        if truth { Kleene::True } else { Kleene::False }
    }
}

impl fmt::Display for Kleene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kleene::False => "0",
            Kleene::Unknown => "1/2",
            Kleene::True => "1",
        })
    }
}
