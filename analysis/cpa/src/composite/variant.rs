//! How a composite merges, stops and strengthens: the configurations that [CPA10] §3.3 compares, as data.

/// When the states of a composite are merged. Left is the component that acts as the key (predicates, say), right the one
/// that is joined (functions, say).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum MergeRule {
    /// Merge-agree: each component by its own operator; kept only if the result covers the new state in both.
    Agree,
    /// Never.
    Never,
    /// Join right where left is equal.
    JoinRightWhereLeftIsEqual,
    /// Join right wherever the location is the same; left stays what it was.
    JoinRight,
    /// Join both wherever the location is the same.
    JoinBoth,
}

/// When a state of a composite is covered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum StopRule {
    /// One reached state covers both components at once.
    Separate,
    /// Right may be covered by the join of reached ones whose left covers left, as far as the join is exact
    /// ([`crate::Domain::exact_join`]): any other would cover what none of them stands for.
    JoinRight,
}

/// Whose successors are sharpened by what the other component knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Strengthening {
    /// Components run side by side.
    Off,
    /// Right by left.
    Right,
    /// Each by the other.
    Both,
}

/// The operators of a composite that its components do not determine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Variant {
    /// Merge.
    pub merge: MergeRule,
    /// Stop.
    pub stop: StopRule,
    /// Transfer.
    pub strengthening: Strengthening,
}

impl Variant {
    /// What a tuple of analyses does.
    pub const DEFAULT: Variant =
        Variant { merge: MergeRule::Agree, stop: StopRule::Separate, strengthening: Strengthening::Both };
    /// Joins right where location and left agree.
    pub const A: Variant = Variant {
        merge: MergeRule::JoinRightWhereLeftIsEqual,
        stop: StopRule::Separate,
        strengthening: Strengthening::Off,
    };
    /// Never joins.
    pub const B: Variant =
        Variant { merge: MergeRule::Never, stop: StopRule::Separate, strengthening: Strengthening::Off };
    /// Never joins; right is strengthened by left.
    pub const C: Variant =
        Variant { merge: MergeRule::Never, stop: StopRule::Separate, strengthening: Strengthening::Right };
    /// Never joins; right is covered by a join.
    pub const D: Variant =
        Variant { merge: MergeRule::Never, stop: StopRule::JoinRight, strengthening: Strengthening::Off };
    /// Joins right where the location agrees.
    pub const E: Variant =
        Variant { merge: MergeRule::JoinRight, stop: StopRule::JoinRight, strengthening: Strengthening::Off };
    /// Joins both where the location agrees.
    pub const F: Variant =
        Variant { merge: MergeRule::JoinBoth, stop: StopRule::JoinRight, strengthening: Strengthening::Off };

    /// The configurations of the thesis with their letters.
    pub const THESIS: [(char, Variant); 6] = [
        ('A', Variant::A),
        ('B', Variant::B),
        ('C', Variant::C),
        ('D', Variant::D),
        ('E', Variant::E),
        ('F', Variant::F),
    ];
}

impl Default for Variant {
    fn default() -> Variant {
        Variant::DEFAULT
    }
}
