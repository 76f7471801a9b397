//! Predicate analysis as engines, by blocks and encoding, alone or together with values or intervals.

use proofline_cpa::{
    BlockCpa, Checker, Config, Outcome, Product, Refine, Strengthening, Unknown, Variant, bam::MemoryStore,
};
use proofline_domains::{
    IntervalAnalysis, PredicateAnalysis, PredicateOptions, ValueAnalysis, ValueOptions,
    predicate::{AbstractionKind, Blk, Witness},
};
use proofline_smt::interpolate::{Method, Strategy};
use serde::Deserialize;

use super::{Answer, Decision, Engine, Question, configuration::BlocksName, witness};
use crate::pass::{certified, reachability};

/// What `configurations.yml` says of one.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Settings {
    blocks: BlocksName,
    abstracts_at: BlkName,
    #[serde(default)]
    shape: ShapeName,
    /// Predicates over values at entry are tracked at the entry, too.
    #[serde(default)]
    contexts: bool,
    /// `x = 5` as two inequalities.
    #[serde(default)]
    split: bool,
    /// Together with explicit values; a variable that takes more values than this at one place is left to the predicates.
    values: Option<u32>,
    /// Of these, all are tracked from the start, instead of those that refinement asks for.
    #[serde(default)]
    explicit: bool,
    /// Together with intervals, combined in one of the ways that [CPA10] §3.3 compares; predicates are the key.
    intervals: Option<VariantName>,
    /// After so many paths to a mistake that no run confirms it gives up.
    #[serde(default = "super::configuration::usual_unconfirmed")]
    unconfirmed: u32,
    /// The graph is forgotten at a refinement, instead of being cut.
    #[serde(default)]
    restart: bool,
    /// How interpolants are looked for, in this order; empty: as [`PredicateOptions::new`] says.
    #[serde(default)]
    interpolants: Vec<(Strategy, Method)>,
    /// No more steps than these.
    #[serde(default)]
    steps: Option<u64>,
}

macro_rules! names {
    ($(#[$doc:meta] $name:ident = $of:ident { $($variant:ident),* } $(default $default:ident)?;)*) => {$(
        #[$doc]
        #[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
        #[serde(rename_all = "kebab-case")]
        pub(super) enum $name { $($variant),* }
        impl From<$name> for $of {
            fn from(name: $name) -> $of {
                match name { $($name::$variant => $of::$variant),* }
            }
        }
        $(impl Default for $name {
            fn default() -> $name { $name::$default }
        })?
    )*};
}
names! {
    /// Where states are abstracted.
    BlkName = Blk { Edges, Loops, Functions };
    /// How.
    ShapeName = AbstractionKind { Boolean, Cartesian } default Boolean;
}

/// Ways to combine; see [`Variant`].
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VariantName {
    A,
    B,
    C,
    D,
    E,
    F,
}

impl From<VariantName> for Variant {
    fn from(name: VariantName) -> Variant {
        match name {
            VariantName::A => Variant::A,
            VariantName::B => Variant::B,
            VariantName::C => Variant::C,
            VariantName::D => Variant::D,
            VariantName::E => Variant::E,
            VariantName::F => Variant::F,
        }
    }
}

impl Settings {
    /// What is summarised.
    pub(super) fn blocks(&self) -> proofline_cpa::bam::Blocks {
        self.blocks.blocks()
    }

    /// Whether numbers are no larger than `most` says of each, by name.
    pub(super) fn within_bounds(
        &self,
        most: &dyn Fn(&str, u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        most("values", u64::from(self.values.unwrap_or(0)), 10_000)?;
        most("unconfirmed", u64::from(self.unconfirmed), 10_000)?;
        most("interpolants", self.interpolants.len() as u64, 20)
    }

    /// For the analysis.
    pub(super) fn options(&self, question: &Question<'_>) -> PredicateOptions {
        let Question { subject, entry, targets, budget, .. } = *question;
        let usual = subject.predicate_options(entry);
        let attempts = match self.interpolants.as_slice() {
            [] => usual.attempts.clone(),
            named => named.to_vec(),
        };
        PredicateOptions {
            blk: self.abstracts_at.into(),
            abstraction: self.shape.into(),
            contexts: self.contexts,
            split: self.split,
            attempts,
            targets: Some(targets.set().clone()),
            trial: Some(witness::trial(question)),
            cancel: budget.cancel().clone(),
            deadline: budget.deadline(),
            ..usual
        }
    }
}

/// A configuration of the predicate analysis.
#[derive(Clone, Debug)]
pub struct Predicate {
    name: &'static str,
    settings: Settings,
}

impl Predicate {
    pub(super) fn new(name: &'static str, settings: Settings) -> Predicate {
        Predicate { name, settings }
    }

    fn ask(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let Question { subject, entry, .. } = *question;
        let options = self.settings.options(question);
        let analysis = PredicateAnalysis::new(subject.env().clone(), options)
            .map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))?;
        if let Some(variant) = self.settings.intervals {
            let intervals = IntervalAnalysis::new(subject.env().clone(), subject.interval_options(entry));
            let both = Product::new(analysis, intervals, variant.into());
            return self.run(&both, |witness| witness.left, question);
        }
        let Some(threshold) = self.settings.values else {
            return self.run(&analysis, Some, question);
        };
        // Values first: what they refute they learn from, the rest is for the predicates.
        let options = ValueOptions {
            threshold: Some(threshold),
            track_everything: self.settings.explicit,
            ..subject.value_options(entry)
        };
        let values = ValueAnalysis::new(subject.env().clone(), options);
        let variant = Variant { strengthening: Strengthening::Off, ..Variant::DEFAULT };
        let both = Product::new(values, analysis, variant);
        self.run(&both, |witness| witness.right, question)
    }

    fn run<A: BlockCpa + Refine>(
        &self,
        analysis: &A,
        of_predicates: impl Fn(A::Witness) -> Option<Witness>,
        question: &Question<'_>,
    ) -> Result<Answer, Unknown> {
        let Question { subject, entry, targets, budget, .. } = *question;
        let config = Config {
            blocks: self.settings.blocks.blocks(),
            restart: self.settings.restart,
            certificate: true,
            ..Config::default()
        };
        let run = reachability(subject.env(), entry, config, targets.set().clone());
        let mut checker = Checker::new(analysis, &run, question.handed_on(), MemoryStore::default())?;
        let mut unconfirmed = 0;
        while unconfirmed < self.settings.unconfirmed {
            let outcome = checker.run(budget);
            if outcome != Outcome::Holds {
                question.hand_on(checker.precision());
            }
            match outcome {
                Outcome::Reaches(witness) => {
                    let witness = of_predicates(witness);
                    if let Some(shown) = witness.and_then(|witness| witness::confirm(question, &witness)) {
                        return Ok(Answer::Violated(shown));
                    }
                    // Another path may be a real one. A run that goes on after a path never answers that nothing is reached.
                    unconfirmed += 1;
                }
                Outcome::Holds if unconfirmed == 0 => {
                    return certified(checker, analysis, subject.env(), entry, budget).map(|_| {
                        Answer::Holds(format!("no error location is reachable with {}", self.name))
                    });
                }
                Outcome::Unknown(why) if unconfirmed == 0 || !matches!(why, Unknown::Unconfirmed(_)) => {
                    return Err(why);
                }
                Outcome::Holds | Outcome::Unknown(_) => break,
            }
        }
        Err(Unknown::Unconfirmed("the inputs found for an abstract path do not show it".into()))
    }
}

impl Engine for Predicate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        match self.settings.steps {
            Some(steps) => {
                let budget = question.own_budget(question.budget.left().min(steps));
                self.ask(&Question { budget: &budget, ..*question }).into()
            }
            None => self.ask(question).into(),
        }
    }
}
