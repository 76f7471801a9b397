//! From the events of a run to the steps people read: names as written, temporaries left out, long stretches shortened.

mod rows;

use proofline_cfa::{
    Base, Callee, Cause, EdgeId, Entry, Expr, Function, LocalId, Lvalue, MONITOR, MemoryPredicate, Name,
    Obligation, Op, Program, Role, Scalar, Site, Type, Types, VARIABLE_ARGUMENTS, command_line, eval::Value,
    lvalue_text, visit,
};
use proofline_hir::TypeKind;
use rustc_hash::FxHashMap;

use crate::{
    checks::{Check, Failure},
    finding::{ObjectChange, StepKind, TraceStep, is_theirs, mentioned},
    interpret::{Event, MadeUp, Moment, Passed, Run, Skipped, Trace},
    objects::Objects,
    picture,
    subject::Subject,
    wording::{Spot, Wordings},
};

/// More steps than this are shortened in the middle.
const MOST: usize = 60;

/// So many strings of `argv` are shown.
const MOST_STRINGS: usize = 8;

/// Whether the pointers that an entry gets are those of the command line.
fn has_strings(program: &Program, entry: Name) -> bool {
    entry == Entry::main().name && program.globals.contains_key(&Name::new(command_line::ARGV))
}

/// A told trace.
pub(crate) struct Told {
    pub(crate) steps: Vec<TraceStep<Spot>>,
    /// Values at the failure of what its condition mentions.
    pub(crate) values: Vec<(String, String)>,
}

/// Tells a trace.
pub(crate) fn tell(
    subject: &Subject,
    words: &Wordings,
    run: &Run,
    entry: Name,
    trace: &Trace,
    obligation: &Obligation,
    at: &Function,
) -> Told {
    let mut teller = Teller {
        subject,
        words,
        objects: Objects::new(subject.program(), &trace.objects),
        steps: Vec::new(),
        values: FxHashMap::default(),
        open: Vec::new(),
        moment: Some(Moment::default()),
    };
    teller.arguments(run, entry);
    let mut made_up = trace.made_up.iter().peekable();
    let mut skipped = trace.skipped.iter().peekable();
    let mut objects = 0;
    for (at, event) in (trace.dropped..).zip(&trace.events) {
        while let Some(skipped) = skipped.next_if(|skipped| skipped.before <= at) {
            teller.skipped(skipped);
        }
        while let Some(made) = made_up.next_if(|made| made.before <= at) {
            objects += 1;
            teller.moment = Some(Moment { events: made.before, made_up: objects });
            teller.made_up(made, event);
        }
        teller.moment = Some(Moment { events: at + 1, made_up: objects });
        teller.event(event);
    }
    let depth = trace.events.last().map_or(0, |event| event.depth);
    let values = teller.values_at_failure(run, obligation, at, depth);
    let position = words.spot(at.name, obligation.site);
    let source = words.text(at.name, obligation.site);
    let picture = match is_about_memory(obligation, at) {
        true if trace.is_null => Some("the pointer is NULL".to_owned()),
        true => trace.touched.as_ref().and_then(|touched| {
            let picture = picture::draw(touched, teller.objects)?;
            let made = teller.made(&teller.objects.name(&touched.object));
            let is_lost = touched.predicate == MemoryPredicate::NothingLost;
            Some(made.filter(|_| is_lost).map_or(picture.clone(), |call| format!("{picture}, from {call}")))
        }),
        false => None,
    };
    teller.steps.push(TraceStep {
        position,
        function: at.name,
        depth: depth.saturating_sub(1),
        kind: StepKind::Failure,
        text: failure_text(obligation, &source, picture),
        change: None,
        is_global: false,
        arguments: Vec::new(),
        object: None,
        scene: None,
        moment: None,
        left_out: 0,
    });
    Told { steps: teller.steps, values }
}

/// Whether it is a variable of the verifier in which callers leave their arguments.
fn is_left_to_callee(place: &Lvalue) -> bool {
    matches!(place.base, Base::Global(name) if name.starts_with(VARIABLE_ARGUMENTS))
}

/// Whether it is a condition on memory that fails.
fn is_about_memory(obligation: &Obligation, at: &Function) -> bool {
    at.edges.iter().any(|edge| match &edge.op {
        Op::Assume(condition) if edge.to == obligation.error => {
            let mut is_memory = false;
            visit::walk(condition, &mut |part| is_memory |= matches!(part, Expr::Memory(..)));
            is_memory
        }
        _ => false,
    })
}

/// What fails, in the program's words where it can be said so, and what the object is like.
fn failure_text(obligation: &Obligation, source: &str, picture: Option<String>) -> String {
    let failure = Failure { condition: &obligation.text, source: (!source.is_empty()).then_some(source) };
    let text = Check::of(obligation.check).map_or_else(String::new, |check| check.last_step(&failure));
    match picture {
        Some(picture) => format!("{text} ({picture})"),
        None => text,
    }
}

struct Teller<'l> {
    subject: &'l Subject,
    words: &'l Wordings<'l>,
    objects: Objects<'l>,
    steps: Vec<TraceStep<Spot>>,
    /// Last value by (depth, or 0 for globals; text).
    values: FxHashMap<(u32, String), String>,
    /// Calls that have been entered and not left.
    open: Vec<(Name, EdgeId)>,
    /// Behind what is told now.
    moment: Option<Moment>,
}

impl Teller<'_> {
    /// The arguments that the entry was called with: the first questions of the run.
    fn arguments(&mut self, run: &Run, entry: Name) {
        let Some(function) = self.subject.program().function(entry).cloned() else { return };
        let mut inputs = run.inputs.iter();
        for &parameter in &function.parameters {
            let local = function.local(parameter);
            let Some(scalar) = proofline_cfa::scalar_of(local.ty, self.subject.program().data_model) else {
                continue;
            };
            let Some((question, answer)) = inputs.next() else { return };
            if question.function != entry || question.cause != Cause::Input(local.name) {
                return;
            }
            let shown = match scalar {
                Scalar::Int(ty) => self.shown(entry, local.ty, Value::Int(ty.wrap(*answer)), scalar),
                Scalar::Pointer if has_strings(self.subject.program(), entry) => {
                    self.strings(run, entry, parameter);
                    continue;
                }
                Scalar::Pointer if question.may_be_made_up && *answer != 0 => {
                    let name = local.name.to_string();
                    let text = format!("`{name}` points to {} (argument)", self.new_object(local.ty));
                    self.input(Some(Spot::Local(entry, parameter)), entry, 0, text);
                    continue;
                }
                Scalar::Pointer => self.objects.value_text(Value::Int(*answer), scalar),
                Scalar::Float(_) => format!("{:?}", f64::from_bits(*answer as u64)),
            };
            self.argument(entry, parameter, local.name.to_string(), shown);
        }
    }

    /// A value as the function's text would call it: `OPEN (1)` of an enumeration.
    fn shown(&self, function: Name, ty: Type, value: Value, scalar: Scalar) -> String {
        let text = self.objects.value_text(value, scalar);
        let named = value.int().and_then(|number| self.words.enumerator(function, ty, number));
        named.map_or_else(|| text.clone(), |name| format!("{name} ({text})"))
    }

    /// What a pointer of the callers points to.
    fn new_object(&self, pointer: Type) -> String {
        let program = self.subject.program();
        let types = Types { records: &program.records, model: program.data_model };
        match pointer
            .pointee()
            .filter(|pointee| *pointee.kind() != TypeKind::Void)
            .and_then(|pointee| types.size(pointee))
        {
            Some(1) => "a new object of at least 1 byte".to_owned(),
            Some(size) => format!("a new object of at least {size} bytes"),
            None => "a new object".to_owned(),
        }
    }

    fn made_up(&mut self, made: &MadeUp, event: &Event) {
        let Some(function) = self.subject.program().function(made.function).cloned() else { return };
        let name = lvalue_text(&function, &made.at);
        let text = format!("`{name}` points to {}", self.new_object(made.at.ty));
        let site = (event.function == made.function).then(|| function.edge(event.edge).site);
        let position = site.and_then(|site| self.words.spot(made.function, site));
        self.input(position, made.function, event.depth.saturating_sub(1), text);
    }

    /// A stretch that nobody wants to read.
    fn skipped(&mut self, skipped: &Skipped) {
        let Some(function) = self.subject.program().function(skipped.function).cloned() else { return };
        let edge = function.edges.iter().find(|edge| edge.from == skipped.at);
        let (text, left_out) = match skipped.passed {
            Passed::Iterations(count) => (format!("… the loop goes round {count} more times …"), count),
            Passed::Steps(count) => {
                (format!("… {count} steps are taken at the machine's speed …"), u128::from(count))
            }
        };
        self.steps.push(TraceStep {
            position: edge.and_then(|edge| self.words.spot(function.name, edge.site)),
            function: function.name,
            depth: skipped.depth.saturating_sub(1),
            kind: StepKind::Branch,
            text,
            change: None,
            is_global: false,
            arguments: Vec::new(),
            object: None,
            scene: None,
            moment: None,
            left_out: usize::try_from(left_out).unwrap_or(usize::MAX),
        });
    }

    fn input(&mut self, position: Option<Spot>, function: Name, depth: u32, text: String) {
        self.steps.push(TraceStep {
            position: position.or(Some(Spot::Definition(function))),
            function,
            depth,
            kind: StepKind::Input,
            text,
            change: None,
            is_global: false,
            arguments: Vec::new(),
            object: None,
            scene: None,
            moment: self.moment,
            left_out: 0,
        });
    }

    fn argument(&mut self, entry: Name, parameter: LocalId, name: String, shown: String) {
        // The entry's own depth is 1.
        self.values.insert((1, name.clone()), shown.clone());
        self.steps.push(TraceStep {
            position: Some(Spot::Local(entry, parameter)),
            function: entry,
            depth: 0,
            kind: StepKind::Input,
            text: format!("`{name} = {shown}` (argument)"),
            change: Some((name, shown)),
            is_global: false,
            arguments: Vec::new(),
            object: None,
            scene: None,
            moment: self.moment,
            left_out: 0,
        });
    }

    /// What `argv` holds: the first strings, and the null pointer behind the last one.
    fn strings(&mut self, run: &Run, entry: Name, parameter: LocalId) {
        let Some(function) = self.subject.program().function(entry).cloned() else { return };
        if function.parameters.get(1) != Some(&parameter) {
            return;
        }
        let name = function.local(parameter).name;
        for (at, text) in run.arguments.iter().take(MOST_STRINGS).enumerate() {
            let shown = format!("\"{}\"", text.escape_ascii());
            self.argument(entry, parameter, format!("{name}[{at}]"), shown);
        }
        self.values.insert((1, format!("{name}[{}]", run.arguments.len())), "NULL".to_owned());
    }

    fn event(&mut self, event: &Event) {
        let Some(function) = self.subject.program().function(event.function).cloned() else { return };
        let edge = function.edge(event.edge);
        match &edge.op {
            // What holds without being written in the text.
            _ if edge.site == Site::NOWHERE => {}
            Op::Call(call) => {
                if self.open.last() == Some(&(event.function, event.edge))
                    && event.depth as usize == self.open_depth()
                {
                    self.open.pop();
                    if let (Some(dst), Some(value)) = (&call.dst, event.value) {
                        self.assigned(&function, event, dst, value, StepKind::Return);
                    }
                    return;
                }
                self.open.push((event.function, event.edge));
                self.called(&function, event, &call.callee);
            }
            Op::Assume(condition) => {
                // What a library function decides for itself, its result says, once.
                let text = self.branch_text(&function, event, condition);
                let is_said = |text: &String| {
                    let is_of_result =
                        reads_only(condition, &|id| function.local(id).role == Role::Temporary);
                    is_of_result && self.steps.last().is_some_and(|last| last.text == *text)
                };
                let is_choice = reads_only(condition, &|id| is_choice(&function, id));
                if let Some(text) = text.filter(|text| !is_choice && !is_said(text)) {
                    self.push(&function, event, StepKind::Branch, text, None);
                }
            }
            Op::Assign(dst, _) => {
                if let Some(value) = event.value {
                    self.assigned(&function, event, dst, value, StepKind::Assign);
                }
            }
            Op::Havoc(dst, cause) => {
                if let Some(value) = event.value {
                    let kind = if matches!(cause, Cause::Indeterminate) {
                        StepKind::Assign
                    } else {
                        StepKind::Input
                    };
                    self.assigned(&function, event, dst, value, kind);
                }
            }
            Op::Allocate(allocation) => {
                // What `realloc` lays aside nobody sees, but where there is no memory for it.
                let is_seen = |address: i128| address == 0 || !allocation.site.is_beside();
                if let Some((Value::Int(address), scalar)) = event.value
                    && is_seen(address)
                {
                    let value = (Value::Int(address), scalar);
                    self.allocated(&function, event, address);
                    self.assigned(&function, event, &allocation.dst, value, StepKind::Assign);
                }
            }
            Op::Free(pointer) => {
                if let Some((value, scalar)) = event.value
                    && !function.is_laid_aside(pointer)
                {
                    let freed = self.objects.value_text(value, scalar);
                    self.push(&function, event, StepKind::Assign, format!("{freed} is freed here"), None);
                    self.changes(ObjectChange::Freed(freed));
                }
            }
            Op::Skip
            | Op::Copy(..)
            | Op::Clobber(..)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_) => {}
            Op::End(id) => {
                let name = function.local(*id).name;
                if let Some(message) = name.strip_prefix(MONITOR) {
                    self.push(&function, event, StepKind::Assign, message.trim_start().to_owned(), None);
                }
            }
        }
    }

    fn allocated(&mut self, function: &Function, event: &Event, address: i128) {
        let source = self.words.text(function.name, function.edge(event.edge).site);
        let call = if source.is_empty() { "the allocation".to_owned() } else { format!("`{source}`") };
        match self.objects.at(address) {
            _ if address == 0 => {
                let text = format!("{call} fails and returns NULL");
                self.push(function, event, StepKind::Input, text, None);
            }
            Some(extent) => {
                let (name, size) = (self.objects.name(extent), extent.size);
                let text = format!("{call} gives {name} of {size} bytes");
                self.push(function, event, StepKind::Assign, text, None);
                self.changes(ObjectChange::Made { name, size });
            }
            None => {}
        }
    }

    /// The call that has made an object.
    fn made(&self, wanted: &str) -> Option<&str> {
        let step =
            self.steps.iter().rev().find(
                |step| matches!(&step.object, Some(ObjectChange::Made { name, .. }) if name == wanted),
            )?;
        step.text.split_once(" gives ").map(|(call, _)| call)
    }

    /// The last step does this to an object.
    fn changes(&mut self, object: ObjectChange) {
        if let Some(step) = self.steps.last_mut() {
            step.object = Some(object);
        }
    }

    /// The depth an event of the caller of the innermost open call has.
    fn open_depth(&self) -> usize {
        self.open.len()
    }

    fn called(&mut self, function: &Function, event: &Event, callee: &Callee) {
        let name = match callee {
            Callee::Direct(name) => *name,
            Callee::Indirect(..) => Name::new("(a pointer)"),
        };
        let mut shown = Vec::new();
        let mut arguments = Vec::new();
        let target = self.subject.program().function(name).cloned();
        for (i, argument) in event.arguments.iter().enumerate() {
            let parameter = target.as_ref().and_then(|t| t.parameters.get(i).map(|&p| t.local(p)));
            let value = match (*argument, parameter) {
                (Some((value, scalar)), Some(parameter)) => self.shown(name, parameter.ty, value, scalar),
                (Some((value, scalar)), None) => self.objects.value_text(value, scalar),
                (None, _) => "…".to_owned(),
            };
            if let Some(parameter) = parameter.map(|parameter| parameter.name) {
                self.values.insert((event.depth + 1, parameter.to_string()), value.clone());
                shown.push(format!("{parameter} = {value}"));
                arguments.push((parameter.to_string(), value));
            } else {
                shown.push(value);
            }
        }
        let text = format!("call `{name}({})`", shown.join(", "));
        self.push(function, event, StepKind::Call, text, None);
        if let Some(step) = self.steps.last_mut() {
            step.arguments = arguments;
        }
    }

    fn assigned(
        &mut self,
        function: &Function,
        event: &Event,
        dst: &Lvalue,
        value: (Value, Scalar),
        kind: StepKind,
    ) {
        if is_left_to_callee(dst) {
            return;
        }
        let shown = self.shown(function.name, dst.ty, value.0, value.1);
        let name = lvalue_text(function, dst);
        let depth = if matches!(dst.base, Base::Local(_)) { event.depth } else { 0 };
        self.values.insert((depth, name.clone()), shown.clone());
        if let Base::Local(id) = dst.base
            && !is_theirs(function, id)
        {
            return;
        }
        let text = match kind {
            StepKind::Input => format!("`{name} = {shown}` (input)"),
            _ => format!("`{name} = {shown}`"),
        };
        let position = self.words.spot(function.name, function.edge(event.edge).site);
        let (depth, moment, words) = (event.depth.saturating_sub(1), self.moment, self.words);
        let is_here =
            |last: &TraceStep<Spot>| last.depth == depth && words.is_same_place(last.position, position);
        if let Some(last) = self.steps.last_mut()
            && is_here(last)
            && rows::extend(last, (&name, &shown), moment)
        {
            return;
        }
        self.push(function, event, kind, text, Some((name, shown)));
        if let Some(step) = self.steps.last_mut() {
            step.is_global = !matches!(dst.base, Base::Local(_));
        }
    }

    fn branch_text(
        &self,
        function: &Function,
        event: &Event,
        condition: &proofline_cfa::Expr,
    ) -> Option<String> {
        let edge = function.edge(event.edge);
        // Obligations that hold are no news.
        let structure = self.subject.env().structure(function.name);
        let siblings = structure.successors(edge.from);
        let is_asked = |id: &EdgeId| structure.obligation_at(function.edge(*id).to).is_some();
        if siblings.len() < 2 || siblings.iter().any(is_asked) || is_within(function, edge.site) {
            return None;
        }
        self.words.spot(function.name, edge.site)?;
        let text = self.words.text(function.name, edge.site);
        // The first of the two edges is the one on which the condition as written is true.
        let is_true = siblings.first() == Some(&event.edge);
        if text.is_empty() {
            return Some(format!("`{}`", proofline_cfa::expr_text(function, condition)));
        }
        if self.words.is_case(function.name, edge.site) {
            let taken = if is_true { "taken" } else { "not taken" };
            return Some(format!("`case {text}` is {taken}"));
        }
        Some(format!("`{text}` is {is_true}"))
    }

    fn push(
        &mut self,
        function: &Function,
        event: &Event,
        kind: StepKind,
        text: String,
        change: Option<(String, String)>,
    ) {
        let site = function.edge(event.edge).site;
        self.steps.push(TraceStep {
            position: self.words.spot(function.name, site),
            function: function.name,
            depth: event.depth.saturating_sub(1),
            kind,
            text,
            change,
            is_global: false,
            arguments: Vec::new(),
            object: None,
            scene: None,
            moment: self.moment,
            left_out: 0,
        });
    }

    fn values_at_failure(
        &self,
        run: &Run,
        obligation: &Obligation,
        at: &Function,
        depth: u32,
    ) -> Vec<(String, String)> {
        let mut lvalues = Vec::new();
        for edge in at.edges.iter().filter(|edge| edge.to == obligation.error) {
            if let Op::Assume(condition) = &edge.op {
                mentioned(condition, &mut lvalues);
            }
        }
        let mut out = Vec::new();
        for lvalue in &lvalues {
            let is_local = matches!(lvalue.base, Base::Local(_));
            if let Base::Local(id) = lvalue.base
                && !is_theirs(at, id)
            {
                continue;
            }
            let name = lvalue_text(at, lvalue);
            let Some(told) = self.values.get(&(if is_local { depth } else { 0 }, name.clone())) else {
                continue;
            };
            // Others may have written there since, by another name.
            let now = run.seen.values.iter().find(|(known, ..)| known == lvalue);
            let value = match now {
                // The strings of the command line are told as what they say.
                Some((_, _, Scalar::Pointer)) if told.starts_with('"') => told.clone(),
                Some((_, value, scalar)) => self.shown(at.name, lvalue.ty, *value, *scalar),
                None if run.seen.last.is_none() || is_register(at, lvalue) => told.clone(),
                None => continue,
            };
            out.push((name, value));
        }
        out
    }
}

/// Keeps the beginning and the end of a long path, and every input and call at its open depth.
pub(crate) fn shorten(steps: Vec<TraceStep<Spot>>) -> Vec<TraceStep<Spot>> {
    if steps.len() <= MOST {
        return steps;
    }
    let (head, tail) = (MOST / 3, MOST - MOST / 3);
    let left_out = steps.len() - head - tail;
    let mut out: Vec<TraceStep<Spot>> = steps[..head].to_vec();
    let mut gap = steps[head].clone();
    let rounds = steps[head..steps.len() - tail]
        .iter()
        .fold(0, |rounds: usize, step| rounds.saturating_add(step.left_out));
    gap.text = match rounds {
        0 => format!("… {left_out} more steps …"),
        _ => format!("… {left_out} more steps, and {rounds} steps or rounds of loops that are not told …"),
    };
    gap.change = None;
    gap.object = None;
    gap.moment = None;
    gap.arguments = Vec::new();
    gap.left_out = left_out;
    out.push(gap);
    out.extend(steps[steps.len() - tail..].iter().cloned());
    out
}

/// Whether something stands there that decides for itself: what a library function does, what a check asks. What a program tests has a place of its own.
fn is_within(function: &Function, site: Site) -> bool {
    let does = |op: &Op| match op {
        Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => true,
        Op::Skip
        | Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Call(_)
        | Op::Begin(_)
        | Op::End(_) => false,
    };
    function.obligations.iter().any(|obligation| obligation.site == site)
        || function.edges.iter().any(|edge| edge.site == site && does(&edge.op))
}

/// Whether nothing but its name leads there.
fn is_register(function: &Function, lvalue: &Lvalue) -> bool {
    matches!(lvalue.base, Base::Local(id) if !function.local(id).address_taken && lvalue.path.is_empty())
}

/// Whether a condition reads something, and nothing but such locals.
fn reads_only(condition: &Expr, is_such: &dyn Fn(LocalId) -> bool) -> bool {
    let (mut reads, mut only) = (false, true);
    visit::reads_of_expr(condition, &mut |lvalue| {
        reads = true;
        only &= matches!(lvalue.base, Base::Local(id) if lvalue.path.is_empty() && is_such(id));
    });
    reads && only
}

/// Whether a local is what a function without a body decides on the way.
fn is_choice(function: &Function, id: LocalId) -> bool {
    function.edges.iter().any(|edge| {
        matches!(&edge.op, Op::Havoc(Lvalue { base: Base::Local(local), .. }, Cause::Within(_)) if *local == id)
    })
}
