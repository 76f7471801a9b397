//! The pass that puts monitors into a program, before models take the place of calls. A function with a body is watched where it begins and where it
//! returns, whoever calls it; one without a body where it is called, through a pointer, too.
//!
//! **Law.** How many obligations a function gets, and in which order, hangs on the function and on which of its callees have bodies, not on the rest of
//! the program: an obligation has the same number in every slice. So a call through a pointer has one for all that monitors forbid of functions with so
//! many arguments, wherever it leads.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, Callee, CompareOp, Entry, Expr, Function, Loc, LocalId, Lvalue, Name, Op, Program,
    Scalar, Site, Types, expr_text, lvalue_text, visit,
};
use proofline_cfa_build::models;

use super::{
    Event, Monitors,
    automaton::{Here, Reserved, happens, reserve},
    builder::Builder,
    instances::{Creator, Watched, arguments, own_result, parameters, result_type},
    occurrences::{Happening, fixed, looked_at, matched, plain_name},
};

/// Puts the monitors into the program. `is_library`: executions start in the middle of one.
pub fn weave(program: &mut Program, monitors: &Monitors, is_library: bool) {
    if monitors.is_empty() {
        return;
    }
    let all: Vec<Watched<'_>> =
        monitors.iter().map(|monitor| Watched::new(program, monitor, is_library)).collect();
    let pointed = addressed(program);
    let mut changed = Vec::new();
    let mut unsupported = Vec::new();
    for function in program.functions.values() {
        let mut pass =
            Pass { program, all: &all, pointed: &pointed, unsupported: Vec::new(), named: BTreeMap::new() };
        changed.extend(pass.function(function).map(Arc::new));
        unsupported.extend(pass.unsupported);
    }
    for function in changed {
        program.functions.insert(function.name, function);
    }
    for global in all.into_iter().flat_map(|watched| watched.globals) {
        program.globals.insert(global.name, Arc::new(global));
    }
    program.unsupported.extend(unsupported);
    program.unsupported.sort_unstable();
    program.unsupported.dedup();
}

/// Functions without bodies whose addresses are taken.
fn addressed(program: &Program) -> BTreeSet<Name> {
    let mut out = BTreeSet::new();
    let is_outside = |name: &Name| !program.functions.contains_key(name);
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Function(name) = part {
                out.extend(Some(*name).filter(is_outside));
            }
        });
    }
    for global in program.globals.values() {
        for initial in &global.init {
            if let proofline_cfa::Constant::Function(name) = initial.value {
                out.extend(Some(name).filter(is_outside));
            }
        }
        out.extend(global.hidden.iter().copied().filter(|name| program.externals.contains_key(name)));
    }
    out
}

struct Pass<'p> {
    program: &'p Program,
    all: &'p [Watched<'p>],
    pointed: &'p BTreeSet<Name>,
    unsupported: Vec<(Name, Name)>,
    /// What temporaries are called in the text.
    named: BTreeMap<LocalId, String>,
}

impl Pass<'_> {
    /// The function with its monitors; `None` if they have nothing to do there.
    fn function(&mut self, function: &Arc<Function>) -> Option<Function> {
        if !self.concerns(function) {
            return None;
        }
        let types = Types { records: &self.program.records, model: self.program.data_model };
        let mut builder = Builder::new(Function::clone(function), types);
        for at in 0..function.edges.len() {
            self.edge(&mut builder, at);
        }
        for (label, loc) in &function.labels {
            self.label(&mut builder, label.as_str(), *loc);
        }
        self.begin_and_end(&mut builder, function);
        Some(builder.function)
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        let transitions = self.all.iter().flat_map(|watched| &watched.monitor.transitions);
        transitions.flat_map(|transition| &transition.events)
    }

    fn is_watched(&self, name: &str) -> bool {
        self.events()
            .any(|event| matches!(event, Event::Call(call) if call.names.iter().any(|other| other == name)))
    }

    /// Whether monitors have anything to do in a function.
    fn concerns(&self, function: &Function) -> bool {
        let has_end = self.events().any(|event| *event == Event::End);
        let is_set = |name: Name| {
            self.events().any(|event| matches!(event, Event::Set(other, _) if other == name.as_str()))
        };
        let by_edge = |op: &Op| {
            let mut found = false;
            if let Op::Call(call) = op {
                found |= match &call.callee {
                    Callee::Direct(name) if self.program.functions.contains_key(name) => false,
                    Callee::Direct(name) => {
                        self.is_watched(plain_name(name.as_str())) || has_end && ends(*name)
                    }
                    Callee::Indirect(..) => true,
                };
            }
            visit::mentions(op, &mut |mention| {
                if let visit::Mention::Write(Lvalue { base: Base::Global(name), .. }) = mention {
                    found |= is_set(*name);
                }
            });
            visit::exprs(op, &mut |part| {
                if let Expr::Address(Lvalue { base: Base::Global(name), .. }) = part {
                    found |= is_set(*name);
                }
            });
            found
        };
        let labels = |label: &str| {
            self.events()
                .any(|event| matches!(event, Event::Label(other) if label.split('#').next() == Some(other)))
        };
        self.is_watched(function.name.as_str())
            || has_end && function.name == Entry::main().name
            || function.edges.iter().any(|edge| by_edge(&edge.op))
            || function.labels.iter().any(|(label, _)| labels(label.as_str()))
    }

    fn edge(&mut self, builder: &mut Builder<'_>, at: usize) {
        let edge = builder.function.edges[at].clone();
        builder.site = edge.site;
        match &edge.op {
            Op::Call(call) => match &call.callee {
                Callee::Direct(name) if self.program.functions.contains_key(name) => {}
                Callee::Direct(name) => {
                    if ends(*name) {
                        self.before(builder, at);
                        self.tell(builder, &Happening::End, None, None, None);
                        self.go_on(builder, at);
                    }
                    self.call(builder, at, *name, None);
                }
                Callee::Indirect(pointer, _) => {
                    let pointer = pointer.clone();
                    let mut reserved = Reserved::new();
                    let arguments = arguments(call);
                    for watched in self.all {
                        let text = |function: &Function, key: &Expr| self.text(function, key);
                        reserve(builder, watched, &arguments, &text, &mut reserved);
                    }
                    for name in self.pointed {
                        if self.is_watched(plain_name(name.as_str())) {
                            self.call(builder, at, *name, Some((&pointer, &reserved)));
                        }
                    }
                }
            },
            Op::Assign(Lvalue { base: Base::Global(name), path, .. }, value) if path.is_empty() => {
                self.before(builder, at);
                self.tell(builder, &Happening::Set { name: name.as_str(), value }, None, None, None);
                self.go_on(builder, at);
            }
            Op::Assign(..)
            | Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
        self.other_writes(builder, &edge.op);
    }

    /// A monitored variable that changes otherwise than by an assignment is not understood.
    fn other_writes(&mut self, builder: &Builder<'_>, op: &Op) {
        let is_set = |name: Name| {
            self.events().any(|event| matches!(event, Event::Set(other, _) if other == name.as_str()))
        };
        let mut doubtful = BTreeSet::new();
        if !matches!(op, Op::Assign(Lvalue { path, .. }, _) if path.is_empty()) {
            visit::mentions(op, &mut |mention| {
                if let visit::Mention::Write(Lvalue { base: Base::Global(name), .. }) = mention {
                    doubtful.extend(Some(*name).filter(|name| is_set(*name)));
                }
            });
        }
        visit::exprs(op, &mut |part| {
            if let Expr::Address(Lvalue { base: Base::Global(name), .. }) = part {
                doubtful.extend(Some(*name).filter(|name| is_set(*name)));
            }
        });
        for name in doubtful {
            let what =
                format!("`{name}`, which a monitor watches, changes in a way that no assignment to it shows");
            self.unsupported.push((builder.function.name, Name::new(&what)));
        }
    }

    /// A call of a function without a body, or through a pointer that may be its address.
    fn call(
        &mut self,
        builder: &mut Builder<'_>,
        at: usize,
        name: Name,
        through: Option<(&Expr, &Reserved)>,
    ) {
        let plain = plain_name(name.as_str());
        let Op::Call(mut call) = builder.function.edges[at].op.clone() else { return };
        let count = call.arguments.len();
        let looks: Vec<_> =
            self.all.iter().filter_map(|watched| looked_at(watched.monitor, plain, count)).collect();
        if looks.is_empty() {
            return;
        }
        let is_after = looks.iter().any(|(_, _, is_after)| *is_after);
        let used: BTreeSet<usize> =
            looks.iter().flat_map(|(arguments, ..)| arguments.iter().copied()).collect();
        self.before(builder, at);
        let reserved = through.map(|(_, reserved)| reserved);
        let pointer = through.map(|(pointer, _)| self.saved(builder, pointer, None));
        for argument in used {
            let written = call.dst.as_ref().filter(|_| is_after);
            if let Some(Argument::Value(value)) = call.arguments.get_mut(argument) {
                *value = self.saved(builder, value, written);
            }
        }
        if let (Callee::Indirect(callee, _), Some(pointer)) = (&mut call.callee, &pointer) {
            *callee = pointer.clone();
        }
        let arguments = arguments(&call);
        let is_it = pointer
            .map(|pointer| Expr::Compare(CompareOp::Eq, Arc::new(pointer), Arc::new(Expr::Function(name))));
        let happening = Happening::Call { name: plain, arguments: &arguments, result: None, is_after: false };
        self.where_it_is(builder, is_it.as_ref(), |pass, builder| {
            pass.tell(builder, &happening, None, None, reserved);
        });
        self.go_on(builder, at);
        if !is_after {
            builder.function.edges[at].op = Op::Call(call);
            return;
        }
        let ty = result_type(self.program, &call, name);
        let scalar = ty.and_then(|ty| proofline_cfa::scalar_of(ty, self.program.data_model));
        let wants_result = looks.iter().any(|(_, is_result, _)| *is_result);
        let (dst, result) = match scalar.filter(|_| wants_result) {
            Some(scalar) => {
                let bits = call.dst.as_ref().and_then(|dst| dst.bits);
                // What goes to a bit-field is no key.
                let result = builder.temporary(scalar);
                let text = call.dst.as_ref().map(|dst| lvalue_text(&builder.function, dst));
                self.name(
                    &result,
                    text.filter(|text| !text.starts_with('$')).unwrap_or_else(|| "its result".to_owned()),
                );
                let result = (bits.is_none()).then_some(result);
                match result {
                    Some(result) => (call.dst.replace(result.clone()), Some(result)),
                    None => (None, None),
                }
            }
            None => (None, None),
        };
        builder.function.edges[at].op = Op::Call(call);
        let to = builder.function.edges[at].to;
        builder.at = builder.location();
        builder.function.edges[at].to = builder.at;
        let value = result.clone().map(Expr::Load);
        let happening =
            Happening::Call { name: plain, arguments: &arguments, result: value.as_ref(), is_after: true };
        let creator = Creator { function: builder.function.name, edge: Some(at) };
        self.where_it_is(builder, is_it.as_ref(), |pass, builder| {
            pass.tell(builder, &happening, Some(creator), result.as_ref(), reserved);
        });
        if let (Some(dst), Some(value)) = (dst, value) {
            builder.emit_here(Op::Assign(dst, value));
        }
        builder.connect(Op::Skip, to);
    }

    /// Does it where the condition holds, or always.
    fn where_it_is(
        &mut self,
        builder: &mut Builder<'_>,
        is_it: Option<&Expr>,
        then: impl FnOnce(&mut Self, &mut Builder<'_>),
    ) {
        let Some(is_it) = is_it else { return then(self, builder) };
        let join = builder.location();
        builder.test(is_it, join);
        then(self, builder);
        builder.connect(Op::Skip, join);
        builder.at = join;
    }

    fn name(&mut self, temporary: &Lvalue, text: String) {
        if let Base::Local(id) = temporary.base {
            self.named.insert(id, text);
        }
    }

    /// The value, in a temporary if computing it again could give another one, or fail again.
    fn saved(&mut self, builder: &mut Builder<'_>, value: &Expr, written: Option<&Lvalue>) -> Expr {
        let stays = match value {
            Expr::Int(..) | Expr::Null | Expr::Function(_) | Expr::Float(_) => true,
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) => {
                let is_written =
                    matches!(written, Some(Lvalue { base: Base::Local(other), .. }) if other == id);
                path.is_empty() && !builder.function.local(*id).address_taken && !is_written
            }
            value => fixed(value),
        };
        if stays {
            return value.clone();
        }
        let temporary = builder.temporary(value.scalar());
        self.name(&temporary, self.text(&builder.function, value));
        builder.emit_here(Op::Assign(temporary.clone(), value.clone()));
        Expr::Load(temporary)
    }

    /// As people read it.
    fn text(&self, function: &Function, value: &Expr) -> String {
        if let Expr::Load(Lvalue { base: Base::Local(id), .. }) = value
            && let Some(text) = self.named.get(id)
        {
            return text.clone();
        }
        expr_text(function, value)
    }

    /// The chain stands in front of an edge.
    fn before(&mut self, builder: &mut Builder<'_>, at: usize) {
        let from = builder.function.edges[at].from;
        builder.at = from;
        builder.emit(Op::Skip);
    }

    fn go_on(&mut self, builder: &mut Builder<'_>, at: usize) {
        builder.function.edges[at].from = builder.at;
    }

    fn label(&mut self, builder: &mut Builder<'_>, label: &str, loc: Loc) {
        let happening = Happening::Label(label);
        if self.all.iter().all(|watched| matched(watched.monitor, &happening).is_empty()) {
            return;
        }
        // In front of the location: what the label means to checks, comes behind it.
        let before = builder.location();
        if let Some(edge) = builder.function.edges.iter().find(|edge| edge.from == loc) {
            builder.site = edge.site;
        }
        for edge in builder.function.edges.iter_mut().filter(|edge| edge.to == loc) {
            edge.to = before;
        }
        if builder.function.entry == loc {
            builder.function.entry = before;
        }
        builder.at = before;
        self.tell(builder, &happening, None, None, None);
        builder.connect(Op::Skip, loc);
    }

    fn begin_and_end(&mut self, builder: &mut Builder<'_>, function: &Function) {
        let name = function.name.as_str();
        let is_main = function.name == Entry::main().name;
        if self.is_watched(name) {
            let mut arguments = parameters(self.program, function);
            let start = builder.location();
            let entry = builder.function.entry;
            let first =
                builder.function.edges.iter().find(|edge| edge.from == entry && edge.site != Site::NOWHERE);
            let first =
                first.or_else(|| builder.function.edges.iter().find(|edge| edge.site != Site::NOWHERE));
            builder.site = first.map_or(Site::NOWHERE, |edge| edge.site);
            builder.function.entry = start;
            builder.at = start;
            // Parameters may change before it returns.
            for argument in arguments.iter_mut().flatten() {
                let temporary = builder.temporary(argument.scalar());
                self.name(&temporary, expr_text(&builder.function, argument));
                builder.emit(Op::Assign(temporary.clone(), argument.clone()));
                *argument = Expr::Load(temporary);
            }
            let happening = Happening::Call { name, arguments: &arguments, result: None, is_after: false };
            self.tell(builder, &happening, None, None, None);
            builder.connect(Op::Skip, entry);
            let result = own_result(self.program, function);
            if let Some(Expr::Load(result)) = &result {
                self.name(result, "its result".to_owned());
            }
            let happening =
                Happening::Call { name, arguments: &arguments, result: result.as_ref(), is_after: true };
            let creator = Creator { function: function.name, edge: None };
            self.at_exit(builder, function, |pass, builder| {
                pass.tell(builder, &happening, Some(creator), None, None);
            });
        }
        if is_main && self.events().any(|event| *event == Event::End) {
            self.at_exit(builder, function, |pass, builder| {
                pass.tell(builder, &Happening::End, None, None, None);
            });
        }
    }

    /// Where a function returns: before each edge that leads there.
    fn at_exit(
        &mut self,
        builder: &mut Builder<'_>,
        function: &Function,
        mut what: impl FnMut(&mut Self, &mut Builder<'_>),
    ) {
        for at in 0..builder.function.edges.len() {
            if builder.function.edges[at].to != function.exit {
                continue;
            }
            builder.site = builder.function.edges[at].site;
            if builder.site == Site::NOWHERE
                && let Some(edge) =
                    builder.function.edges.iter().rev().find(|edge| edge.site != Site::NOWHERE)
            {
                builder.site = edge.site;
            }
            builder.at = builder.location();
            builder.function.edges[at].to = builder.at;
            what(self, builder);
            builder.connect(Op::Skip, function.exit);
        }
    }

    /// What monitors do there.
    fn tell(
        &mut self,
        builder: &mut Builder<'_>,
        happening: &Happening<'_>,
        creator: Option<Creator>,
        result: Option<&Lvalue>,
        reserved: Option<&Reserved>,
    ) {
        for watched in self.all {
            let found = matched(watched.monitor, happening);
            let text = |function: &Function, key: &Expr| self.text(function, key);
            happens(builder, watched, &found, &Here { creator, result, reserved, text: &text });
        }
    }
}

/// Whether a call of it ends the program as the end of `main` does.
fn ends(name: Name) -> bool {
    models::standard().model(name.as_str()).is_some_and(|model| model.ends_program())
}

/// Whether two formats can be compared, perhaps after a conversion.
pub(super) fn converted(value: &Expr, to: Scalar) -> Option<Expr> {
    match (value.scalar(), to) {
        (from, to) if from == to => Some(value.clone()),
        (Scalar::Int(_), Scalar::Int(_)) => Some(Expr::Cast(to, Arc::new(value.clone()), Site::NOWHERE)),
        (Scalar::Int(_) | Scalar::Pointer | Scalar::Float(_), _) => None,
    }
}
