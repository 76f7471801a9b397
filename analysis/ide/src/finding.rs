//! What fails, in the words and positions of an editor.

use std::sync::Arc;

use proofline_verifier::{
    EntryKind, blame::Blame, counterexample::Counterexample, finding as verifier, scene::Scene,
    sources::Position,
};

use crate::{picture::told, place::Place, program::Program, words::negation};

/// Whose fault a failure is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Nature {
    /// It happens: in an execution from `main`, or whatever the arguments are.
    Manifest,
    /// It happens for some arguments: the function asks something of its callers.
    Latent,
}

/// Kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the verifier's")]
pub enum StepKind {
    Input,
    Assign,
    Branch,
    Call,
    Return,
    Failure,
}

impl StepKind {
    /// Its name in protocols.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::Input => "input",
            StepKind::Assign => "assign",
            StepKind::Branch => "branch",
            StepKind::Call => "call",
            StepKind::Return => "return",
            StepKind::Failure => "failure",
        }
    }
}

/// A step of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// From 1.
    pub number: u32,
    /// Open calls above the entry.
    pub depth: u32,
    /// What kind.
    pub kind: StepKind,
    /// What happens.
    pub text: String,
    /// In which function.
    pub function: String,
    /// Where.
    pub place: Option<Place>,
    /// Variables that got a value here.
    pub values: Vec<(String, String)>,
    /// They are no locals of the function.
    pub is_global: bool,
    /// Of a call: the parameters with their values.
    pub arguments: Vec<(String, String)>,
    /// Memory behind the step, where there is something to see.
    pub scene: Option<Arc<Scene>>,
}

/// A violation, explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Finds it again in the same text.
    pub id: String,
    /// The check's code.
    pub check: &'static str,
    /// Whose fault.
    pub nature: Nature,
    /// Where the execution starts.
    pub entry: String,
    /// Where it fails.
    pub function: String,
    /// One sentence: what fails.
    pub title: String,
    /// Values at the failure of what matters.
    pub values: Vec<(String, String)>,
    /// What to do about it.
    pub help: &'static str,
    /// Where.
    pub place: Option<Place>,
    /// Values that came from outside, in order.
    pub inputs: Vec<(String, String)>,
    /// The path.
    pub steps: Vec<Step>,
    /// What callers of the entry must make true so that it cannot happen, in C over its parameters and globals, where C can say it.
    pub condition: Option<String>,
    /// When it happens, in the same words and those of results of unknown functions.
    pub fails_when: Option<String>,
    /// A function that nothing is known of, on whose result or effect it hangs, so that callers alone cannot prevent it.
    pub unknown: Option<String>,
    /// The condition speaks of variables of the file alone, so that not callers but its functions must see to it.
    pub is_of_file: bool,
    /// How to get there again.
    pub(crate) counterexample: Counterexample,
}

impl Finding {
    /// With what a failure from such an entry means.
    pub(crate) fn new(finding: &verifier::Finding) -> Finding {
        let counterexample = &finding.counterexample;
        let obligation = counterexample.obligation.index();
        let nature = match (counterexample.entry.kind, &finding.blame) {
            (EntryKind::Program, _) | (EntryKind::Library, Blame::Manifest) => Nature::Manifest,
            (EntryKind::Library, Blame::Latent(_)) => Nature::Latent,
        };
        let (condition, fails_when, unknown) = match &finding.blame {
            Blame::Latent(asked) if nature == Nature::Latent => {
                let unknown = asked.unknown.map(|name| name.to_string());
                (asked.requires.clone(), asked.fails_when.clone(), unknown)
            }
            Blame::Latent(_) | Blame::Manifest => (None, None, None),
        };
        let steps = steps(&finding.steps);
        let is_input = |step: &&Step| step.kind == StepKind::Input;
        let inputs = steps.iter().filter(is_input).flat_map(|step| step.values.clone()).collect();
        let is_of_file = matches!(&finding.blame, Blame::Latent(asked) if asked.is_of_file);
        Finding {
            condition,
            is_of_file,
            fails_when,
            unknown,
            counterexample: counterexample.clone(),
            id: format!("{}:{}:{obligation}", counterexample.entry.name, finding.function),
            check: finding.check.code(),
            nature,
            entry: counterexample.entry.name.to_string(),
            function: finding.function.to_string(),
            title: finding.title.clone(),
            values: finding.values.clone(),
            help: finding.help,
            place: finding.position.as_ref().map(|position: &Position| Place::of(position)),
            inputs,
            steps,
        }
    }

    /// `when low = 1, high = 2147483647`, or nothing.
    pub fn when(&self) -> Option<String> {
        let values = if self.values.is_empty() { &self.inputs } else { &self.values };
        if values.is_empty() {
            return None;
        }
        let shown: Vec<String> =
            values.iter().take(4).map(|(name, value)| format!("{name} = {value}")).collect();
        let more = if values.len() > 4 { ", …" } else { "" };
        Some(format!("when {}{more}", shown.join(", ")))
    }

    /// What callers of the entry must see to, if it is their matter.
    pub fn needs(&self) -> Option<String> {
        match (self.nature, &self.condition, &self.fails_when) {
            (Nature::Manifest, ..) => None,
            (Nature::Latent, Some(condition), _) => Some(condition.clone()),
            (Nature::Latent, None, Some(when)) => {
                Some(match when.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
                    Some(one) if !one.contains('`') => negation(one),
                    Some(_) | None if when.contains(" and ") => format!("not ({when})"),
                    Some(_) | None => format!("not {when}"),
                })
            }
            (Nature::Latent, None, None) => None,
        }
    }

    /// One sentence with the values.
    pub fn message(&self) -> String {
        let when = self.when().map(|when| format!(" {when}")).unwrap_or_default();
        match (self.nature, &self.condition, &self.unknown) {
            (Nature::Manifest, ..) => format!("{}{when}", self.title),
            (Nature::Latent, Some(condition), _) if self.is_of_file => {
                let before = format!("before `{}` is called", self.entry);
                format!("functions of this file must see to {condition} {before}: {} otherwise", self.title)
            }
            (Nature::Latent, Some(condition), _) => {
                format!("callers of `{}` must see to {condition}: {} otherwise", self.entry, self.title)
            }
            (Nature::Latent, None, Some(unknown)) => match &self.fails_when {
                Some(fails_when) => format!("possible when {fails_when}: {}", self.title),
                None => format!("possible for something that `{unknown}` may do: {}{when}", self.title),
            },
            (Nature::Latent, None, None) => {
                format!("possible for some callers of `{}`: {}{when}", self.entry, self.title)
            }
        }
    }

    /// The path as plain text, for editors without anything better.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = format!("{} [{}]\n", self.message(), self.check);
        for step in &self.steps {
            let indent = "  ".repeat(step.depth.min(12) as usize);
            let _ = write!(out, "{:>3}. {indent}{}", step.number, step.text);
            if let Some(place) = &step.place {
                let name = place.path.file_name().unwrap_or_default().to_string_lossy();
                let _ = write!(
                    out,
                    "   ({name}:{}:{})",
                    place.range.start.line + 1,
                    place.range.start.column + 1
                );
            }
            out.push('\n');
        }
        if let Some(scene) = self.steps.last().and_then(|step| step.scene.as_ref()) {
            out.push_str("memory there:\n");
            for line in told(scene) {
                let _ = writeln!(out, "     {line}");
            }
        }
        let _ = writeln!(out, "help: {}", self.help);
        out
    }
}

/// Every step of the path, in order; the finding itself leaves out the middle of long ones.
pub fn whole_path(program: &Program, finding: &Finding) -> Option<Vec<Step>> {
    let path = verifier::path(&program.asked()?, program.sources()?, &finding.counterexample)?;
    Some(steps(&path))
}

fn steps(steps: &[verifier::TraceStep]) -> Vec<Step> {
    let step = |(step, number): (&verifier::TraceStep, u32)| Step {
        number,
        depth: step.depth,
        kind: kind(step.kind),
        text: step.text.clone(),
        function: step.function.to_string(),
        place: step.position.as_ref().map(Place::of),
        values: step.change.iter().cloned().collect(),
        is_global: step.is_global,
        arguments: step.arguments.clone(),
        scene: step.scene.clone(),
    };
    steps.iter().zip(1..).map(step).collect()
}

fn kind(kind: verifier::StepKind) -> StepKind {
    match kind {
        verifier::StepKind::Input => StepKind::Input,
        verifier::StepKind::Assign => StepKind::Assign,
        verifier::StepKind::Branch => StepKind::Branch,
        verifier::StepKind::Call => StepKind::Call,
        verifier::StepKind::Return => StepKind::Return,
        verifier::StepKind::Failure => StepKind::Failure,
    }
}
