//! What people see of a violation: what fails, where, for which inputs, and the numbered steps that lead there with the values
//! at each. Plain data; rendering is the front ends' matter.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Expr, Function, LocalId, Name, Obligation, Role, Type};
use proofline_hir::TypeKind;

use crate::{
    blame::{self, Blame},
    checks::{Check, Failure},
    counterexample::Counterexample,
    interpret::{Moment, Run, Seen},
    objects::Objects,
    scene::Scene,
    sources::{Position, Sources},
    steps,
    subject::Subject,
    wording::{Spot, Wordings},
};

/// A violation, explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding<P = Position> {
    /// What was checked.
    pub check: &'static Check,
    /// In which function.
    pub function: Name,
    /// Where.
    pub position: Option<P>,
    /// One sentence: what fails.
    pub title: String,
    /// Values of the variables that matter, at that moment: `low = 1, high = 2147483647`.
    pub values: Vec<(String, String)>,
    /// What to do about it.
    pub help: &'static str,
    /// The path, in order.
    pub steps: Vec<TraceStep<P>>,
    /// Whose fault it is.
    pub blame: Blame,
    /// Every execution of the entry function comes to it, whatever callers do.
    pub is_unconditional: bool,
    /// How to get there again.
    pub counterexample: Counterexample,
}

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep<P = Position> {
    /// Where.
    pub position: Option<P>,
    /// Function it happens in.
    pub function: Name,
    /// Number of open calls above the entry.
    pub depth: u32,
    /// What kind of step.
    pub kind: StepKind,
    /// What happens: `x = 3`, `call inc(x = 3)`, `n > 0 is true`.
    pub text: String,
    /// The variable and its new value, for a step that changes one.
    pub change: Option<(String, String)>,
    /// That variable is no local of the function.
    pub is_global: bool,
    /// Of a call: the parameters with their values.
    pub arguments: Vec<(String, String)>,
    /// What becomes of an object of the heap.
    pub object: Option<ObjectChange>,
    /// Memory behind this step, where there is something to see.
    pub scene: Option<Arc<Scene>>,
    pub(crate) moment: Option<Moment>,
    /// So many steps, or rounds of a loop, are left out here; the step says nothing else.
    pub left_out: usize,
}

/// What a step does to an object of the heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectChange {
    /// It is there from now on.
    Made {
        /// `heap object 1`
        name: String,
        /// In bytes.
        size: u64,
    },
    /// It is freed. A pointer as people read it, which may lead into the middle of the object.
    Freed(String),
}

/// Kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// A value comes from outside.
    Input,
    /// A variable changes.
    Assign,
    /// A branch is taken.
    Branch,
    /// A function is entered.
    Call,
    /// A function is left.
    Return,
    /// The obligation fails.
    Failure,
}

impl<P> TraceStep<P> {
    fn map<Q>(self, place: impl FnOnce(P) -> Option<Q>) -> TraceStep<Q> {
        let TraceStep { position, function, depth, kind, text, change, is_global, .. } = self;
        let TraceStep { arguments, object, scene, moment, left_out, .. } = self;
        TraceStep {
            position: position.and_then(place),
            function,
            depth,
            kind,
            text,
            change,
            is_global,
            arguments,
            object,
            scene,
            moment,
            left_out,
        }
    }
}

impl Finding<Spot> {
    /// The functions in whose texts it has places.
    pub fn functions(&self) -> BTreeSet<Name> {
        let spots = self.steps.iter().map(|step| step.position).chain([self.position]);
        spots.flatten().map(Spot::function).collect()
    }

    /// With its places in this text.
    pub fn placed(self, sources: &Sources) -> Finding {
        let Finding { check, function, position, title, values, help, steps, .. } = self;
        let Finding { blame, is_unconditional, counterexample, .. } = self;
        let place = |spot| sources.spot(spot);
        Finding {
            check,
            function,
            position: position.and_then(place),
            title,
            values,
            help,
            steps: steps.into_iter().map(|step| step.map(place)).collect(),
            blame,
            is_unconditional,
            counterexample,
        }
    }

    /// Explains a counterexample by running it once more. `None` if it cannot be reproduced, which is a defect.
    pub fn explain(
        subject: &Subject,
        words: &Wordings,
        counterexample: Counterexample,
    ) -> Option<Finding<Spot>> {
        let run = counterexample.watch(subject.code(), &BTreeSet::new())?;
        let function = subject.program().function(counterexample.function)?.clone();
        let obligation = function.obligations.get(counterexample.obligation.index())?.clone();
        let check = Check::of(obligation.check)?;
        let is_library = counterexample.entry.is_library();
        let (blame, is_unconditional) = if is_library {
            blame::judge(subject, words, &run, &obligation)
        } else {
            (Blame::Manifest, false)
        };
        let trace = run.trace.clone().unwrap_or_default();
        let position = words.spot(function.name, obligation.site);
        let entry = counterexample.entry.name;
        let told = steps::tell(subject, words, &run, entry, &trace, &obligation, &function);
        let mut steps = steps::shorten(told.steps);
        scenes(subject, words, &counterexample, &run, &mut steps);
        let snippet = words.text(function.name, obligation.site);
        Some(Finding {
            check,
            function: function.name,
            title: title(check, &obligation, &snippet),
            position,
            values: told.values,
            help: check.help(),
            steps,
            blame,
            is_unconditional,
            counterexample,
        })
    }
}

/// Longer runs are not repeated for the sake of pictures.
const LONGEST_WATCHED: u64 = 1_000_000;

/// Looks at memory behind each of the steps, in the same run once more.
fn scenes(
    subject: &Subject,
    words: &Wordings,
    counterexample: &Counterexample,
    run: &Run,
    steps: &mut [TraceStep<Spot>],
) {
    // Without objects that a variable leads to there is nothing to see.
    let program = subject.program();
    if !program.functions.values().any(|function| function.locals.iter().any(|local| leads(local.ty)))
        && !program.globals.values().any(|global| leads(global.ty))
        || run.steps + run.compiled > LONGEST_WATCHED
    {
        return;
    }
    let moments: BTreeSet<Moment> = steps.iter().filter_map(|step| step.moment).collect();
    let Some(watched) = counterexample.watch(subject.code(), &moments) else { return };
    let Seen { at: mut seen, last, values: _ } = watched.seen;
    let Some(trace) = watched.trace else { return };
    let objects = Objects::new(program, &trace.objects);
    let mut ready: BTreeMap<Moment, Arc<Scene>> = BTreeMap::new();
    let mut before: Option<Arc<Scene>> = None;
    for step in steps {
        let scene = match step.moment {
            _ if step.kind == StepKind::Failure => last.clone(),
            Some(moment) if ready.contains_key(&moment) => {
                step.scene = ready.get(&moment).cloned();
                continue;
            }
            Some(moment) => seen.remove(&moment),
            None => None,
        };
        let Some(mut scene) = scene.filter(Scene::is_worth_drawing) else { continue };
        scene.name(objects, |ty, value| words.enumerator(step.function, ty, value));
        scene.compare(before.as_deref().unwrap_or(&Scene::default()));
        let scene = Arc::new(scene);
        if let Some(moment) = step.moment {
            ready.insert(moment, scene.clone());
        }
        before = Some(scene.clone());
        step.scene = Some(scene);
    }
}

/// Whether values of the type may lead somewhere.
fn leads(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Pointer(_) | TypeKind::Record(_) => true,
        TypeKind::Array(element, _) => leads(*element),
        TypeKind::Void
        | TypeKind::Bool
        | TypeKind::Int(_)
        | TypeKind::Float(_)
        | TypeKind::Complex(_)
        | TypeKind::Function(_)
        | TypeKind::Enum(..)
        | TypeKind::Vector(..)
        | TypeKind::VaList
        | TypeKind::Error => false,
    }
}

/// The whole path of a counterexample, nothing left out.
pub fn path(subject: &Subject, sources: &Sources, counterexample: &Counterexample) -> Option<Vec<TraceStep>> {
    let run = counterexample.replay(subject.code())?;
    let function = subject.program().function(counterexample.function)?;
    let obligation = function.obligations.get(counterexample.obligation.index())?;
    let trace = run.trace.clone().unwrap_or_default();
    let entry = counterexample.entry.name;
    let wording = |function| sources.wording(function);
    let told = steps::tell(subject, &Wordings::new(&wording), &run, entry, &trace, obligation, function);
    Some(told.steps.into_iter().map(|step| step.map(|spot| sources.spot(spot))).collect())
}

/// What fails, in the program's own words where they are short enough.
fn title(check: &Check, obligation: &Obligation, snippet: &str) -> String {
    check.title(&Failure { condition: &obligation.text, source: (!snippet.is_empty()).then_some(snippet) })
}

/// The locals and globals a condition reads, in order.
pub(crate) fn mentioned(expr: &Expr, out: &mut Vec<proofline_cfa::Lvalue>) {
    proofline_cfa::visit::walk(expr, &mut |e| {
        if let Expr::Load(lvalue) = e
            && !out.contains(lvalue)
        {
            out.push(lvalue.clone());
        }
    });
}

/// Whether people know this local by name.
pub(crate) fn is_theirs(function: &Function, id: LocalId) -> bool {
    matches!(function.local(id).role, Role::Parameter | Role::Variable | Role::VariableArray)
}
