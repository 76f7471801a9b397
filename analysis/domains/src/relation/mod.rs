//! Relations between numbers: bounds of differences of integer locals (and of globals that only their names lead to, where that is
//! asked for), and of how far pointers are into their objects against how large these
//! are, to where they hold a 0, and to how many of their units have values. That is what decides `i < n` against `malloc(n)`, `while (*s)` against
//! `s[n - 1] = 0`, and `a[i]` against a loop that has read `n` numbers. Meant to run beside intervals, which it asks for ranges; it excludes what neither
//! excludes alone. Joined where control flow meets, widened at loop heads and at entries of recursive blocks.

mod allocations;
mod calls;
mod cells;
mod filled;
mod form;
mod handed;
mod lengths;
mod numbers;
mod paths;
mod places;
mod state;
mod table;
mod terminator;
mod transfer;
mod units;
mod variable;
mod zone;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use proofline_cfa::{
    Base, Constant, Entry, Expr, Function, Loc, LocalId, Lvalue, Name, Object, Program, Scalar, Type,
    dataflow::Liveness, lvalue_text, scalar_of, visit,
};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, Budget, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
    Merge, NoFacts, Path, Reduced, Refine, Refinement, Unknown,
};
use proofline_program_analysis::Environment;

use self::{form::View, transfer::Step};
pub use self::{
    state::{Null, Pointer, Relations},
    units::Units,
    variable::{Cell, Tag, Var},
    zone::{Dim, Zone},
};

/// Entries of a recursive block that are unrolled before they are widened.
const UNROLLINGS: u32 = 2;

/// What is computed once per function.
struct Body {
    liveness: Liveness,
    written: BTreeSet<LocalId>,
    /// What numbers are computed of that library functions give, from there to where conditions say what they mean: no edge names it there.
    computed: BTreeSet<(Loc, LocalId)>,
    named: Vec<cells::Named>,
    paths: Vec<paths::AccessPath>,
}

/// Relations of one program.
pub struct RelationAnalysis {
    env: Arc<Environment>,
    entry: Entry,
    bodies: BTreeMap<Name, OnceLock<Body>>,
    globals: BTreeSet<Name>,
}

impl RelationAnalysis {
    /// The analysis of `env`'s program.
    pub fn new(env: Arc<Environment>, entry: Entry) -> RelationAnalysis {
        let bodies = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        RelationAnalysis { env, entry, bodies, globals: BTreeSet::new() }
    }

    /// The same, for numbers in objects with static storage, too, as far as nobody has their address.
    #[must_use]
    pub fn with_globals(self) -> RelationAnalysis {
        RelationAnalysis { globals: named_only(self.env.program()), ..self }
    }

    fn body(&self, function: &Function) -> Option<&Body> {
        let cell = self.bodies.get(&function.name)?;
        Some(cell.get_or_init(|| Body {
            liveness: Liveness::new(function),
            written: calls::written(function),
            computed: lengths::computed(function),
            named: cells::named_pointers(function),
            paths: paths::access_paths(&self.env, function),
        }))
    }

    /// The function's access path with this number.
    pub fn access_path(&self, function: &Function, nth: u16) -> Option<&Lvalue> {
        Some(&self.body(function)?.paths.get(usize::from(nth))?.lvalue)
    }

    fn view<'a>(&'a self, state: &'a Relations, function: &'a Function) -> View<'a> {
        let paths = self.body(function).map_or(&[][..], |body| &body.paths);
        View::new(self.env.program(), function, state, &NoFacts, &self.globals, paths)
    }

    fn between<'a>(&'a self, call: CallContext<'a>) -> Option<calls::Between<'a>> {
        let (caller, callee) = (self.body(call.at.function)?, self.body(call.callee)?);
        let (written, named, paths) = (&callee.written, &caller.named, &caller.paths);
        Some(calls::Between { env: &self.env, call, written, globals: &self.globals, named, paths })
    }

    /// What is known of an expression's value beside its range, for people: `<= n - 1, >= lo`.
    pub fn reveal(&self, state: &Relations, function: &Function, expr: &Expr) -> String {
        let view = self.view(state, function);
        let Some(form) = view.form(expr) else { return "unknown".to_owned() };
        let dims: BTreeSet<Dim> = state.zone.differences().flat_map(|(x, y, _)| [x, y]).collect();
        let mut parts = Vec::new();
        let is_listed = |dim: &Dim| form.above.first() != Some(&(*dim, 0)) && !matches!(dim, Dim::Filled(_));
        for dim in dims.into_iter().filter(is_listed) {
            let other = view.number(dim);
            let (over, under) = (view.distance(&form, &other), view.distance(&other, &form));
            if over < form.high.saturating_sub(other.low) {
                parts.push(format!("<= {}", self.plus(state, dim, over)));
            }
            if under < other.high.saturating_sub(form.low) {
                parts.push(format!(">= {}", self.plus(state, dim, -under)));
            }
        }
        if parts.is_empty() { "unrelated".to_owned() } else { parts.join(", ") }
    }

    /// A number with its name, and more.
    fn plus(&self, state: &Relations, dim: Dim, more: i128) -> String {
        let function = self.env.function(state.function);
        let local = |id: LocalId| function.map_or_else(|| id.to_string(), |f| f.local(id).name.to_string());
        let name = |var: Var| match var {
            Var::Local(id) => local(id),
            Var::Cell(cell) => match cell.of {
                Tag::Named(Object::Local(_, id)) => format!("{}@{}", local(id), cell.at),
                Tag::Named(Object::Global(name)) => format!("{name}@{}", cell.at),
                Tag::Named(Object::Heap(..) | Object::External) => format!("?@{}", cell.at),
                Tag::Passed(id) => format!("*{}@{}", local(id), cell.at),
                Tag::Allocated { at, nth, .. } => format!("{at}.{nth}@{}", cell.at),
                Tag::Behind(id, at) => format!("**{}@{at}@{}", local(id), cell.at),
                Tag::Left(global, at) => format!("*{global}@{at}@{}", cell.at),
                Tag::Older(id, edge) => format!("*{}.{edge}@{}", local(id), cell.at),
            },
            Var::Path(nth) => match function.and_then(|f| Some((f, self.access_path(f, nth)?))) {
                Some((function, place)) => lvalue_text(function, place),
                None => format!("path {nth}"),
            },
        };
        let text = match dim {
            Dim::Value(id, _) => name(id),
            Dim::Twice(id, _) => format!("2 * {}", name(id)),
            Dim::Product(a, _, b, _) => format!("{} * {}", name(a), name(b)),
            Dim::Global(name, _) => name.to_string(),
            Dim::First(id, _) => format!("first({})", local(id)),
            Dim::Offset(id) => format!("offset({})", name(id)),
            Dim::FirstOffset(id) => format!("first(offset({}))", local(id)),
            Dim::Size(id) => format!("size({})", name(id)),
            Dim::Zero(id) => format!("zero({})", name(id)),
            Dim::Filled(id) => format!("filled({})", name(id)),
            Dim::From(id) => format!("from({})", name(id)),
            Dim::Stop(id) => format!("stop({})", name(id)),
            Dim::Scratch(at) => format!("#{at}"),
        };
        match more {
            0 => text,
            1.. => format!("{text} + {more}"),
            _ => format!("{text} - {}", -more),
        }
    }

    /// What grew, grows no further than to what always holds: objects have an end.
    fn widened(&self, old: &Relations, new: &Relations) -> Relations {
        let mut widened = old.upper(new, &Zone::widen, &Units::widen);
        let largest = transfer::largest(self.env.program());
        let sizes = widened
            .pointers
            .iter()
            .map(|(id, known)| (Dim::Size(*id), largest / i128::from(known.unit.max(1))));
        let bounded = |(size, most): &(Dim, i128)| {
            let is_known = |state: &Relations| state.zone.bounds(*size).1 <= *most;
            is_known(old) && is_known(new) && !is_known(&widened)
        };
        let sizes: Vec<(Dim, i128)> = sizes.filter(bounded).collect();
        let zone = Arc::make_mut(&mut widened.zone);
        for (size, most) in sizes {
            let is_possible = zone.bound(size, i128::MIN, most);
            debug_assert!(is_possible, "both are no larger");
        }
        widened
    }
}

/// Globals that are numbers, and whose address is taken nowhere.
fn named_only(program: &Program) -> BTreeSet<Name> {
    let is_number =
        |ty: Type| matches!(scalar_of(ty, program.data_model), Some(Scalar::Int(ty)) if ty.bits <= 64);
    let mut names: BTreeSet<Name> = BTreeSet::new();
    names.extend(program.globals.values().filter(|global| is_number(global.ty)).map(|global| global.name));
    for function in program.functions.values() {
        for edge in &function.edges {
            visit::exprs(&edge.op, &mut |expr| {
                if let Expr::Address(lvalue) = expr
                    && let Base::Global(name) = lvalue.base
                {
                    names.remove(&name);
                }
            });
        }
    }
    for global in program.globals.values() {
        for name in &global.hidden {
            names.remove(name);
        }
        for initial in &global.init {
            if let Constant::Address(name, ..) = &initial.value {
                names.remove(name);
            }
        }
    }
    names
}

impl Domain for RelationAnalysis {
    type State = Relations;

    fn leq(&self, lower: &Relations, upper: &Relations) -> bool {
        lower.first_not_implied(upper).is_none()
    }

    /// Asked only of states with the same open calls.
    fn join(&self, a: &Relations, b: &Relations) -> Relations {
        a.upper(b, &Zone::join, &Units::join)
    }

    fn explain_not_leq(&self, lower: &Relations, upper: &Relations) -> String {
        lower.first_not_implied(upper).unwrap_or_default()
    }

    fn show(&self, state: &Relations) -> String {
        let zone = &state.zone;
        let of = |dim: Dim| self.plus(state, dim, 0);
        let bounds = zone.all_bounds().map(|(dim, (low, high))| format!("{} in [{low}, {high}]", of(dim)));
        let differences =
            zone.differences().map(|(x, y, most)| format!("{} <= {}", of(x), self.plus(state, y, most)));
        bounds.chain(differences).collect::<Vec<_>>().join(", ")
    }
}

impl Cpa for RelationAnalysis {
    type Precision = ();

    fn name(&self) -> &'static str {
        "relations"
    }

    fn entry(&self) -> (Relations, ()) {
        let mut state = Relations::new(self.entry.name, None, None);
        if !self.entry.is_library() {
            cells::initial(self.env.program(), &self.globals, &mut state);
        }
        (state, ())
    }

    fn transfer(&self, from: &Relations, (): &(), at: EdgeContext<'_>, facts: &dyn Facts) -> Vec<Relations> {
        let Some(body) = self.body(at.function) else { return Vec::new() };
        let (env, globals, named, paths) = (&self.env, &self.globals, &body.named, &body.paths);
        let Ok(from) = Step { env, at, from, facts, globals, named, paths }.with_strings() else {
            return Vec::new();
        };
        Step { env, at, from: &from, facts, globals, named, paths }.run().into_iter().collect()
    }

    fn enter(&self, from: &Relations, (): &(), call: CallContext<'_>) -> Vec<Relations> {
        let Some(between) = self.between(call) else { return Vec::new() };
        calls::enter(&between, from).into_iter().collect()
    }

    fn leave(&self, at_call: &Relations, exit: &Relations, (): &(), call: CallContext<'_>) -> Vec<Relations> {
        let Some(between) = self.between(call) else { return Vec::new() };
        calls::leave(&between, at_call, exit).into_iter().collect()
    }

    fn merge(&self, new: &Relations, reached: &Relations, (): &()) -> Merge<Relations> {
        if reached.has_same_calls(new) { Merge::Into(self.join(reached, new)) } else { Merge::Separate }
    }

    fn partition(&self, state: &Relations) -> u64 {
        state.calls()
    }

    fn adjust(
        &self,
        mut state: Relations,
        (): (),
        here: &[&Relations],
        at: LocationContext<'_>,
    ) -> Adjusted<Relations, ()> {
        state.drop_unreachable();
        let cells = state.cells();
        if let Some(first) = cells.iter().nth(cells::MOST) {
            state.retain_cells(|cell| cell < *first);
        }
        state.keep_few_paths();
        if let Some(body) = self.body(at.function) {
            let is_exit = at.loc == at.function.exit;
            if is_exit {
                state.products_of_cells();
            }
            let is_used = |id: LocalId| {
                // What callers know it by.
                let is_argument = at.function.parameters.contains(&id) && !body.written.contains(&id);
                let is_result = is_exit && at.function.result == Some(id);
                is_argument
                    || is_result
                    || body.liveness.is_live(at.loc, id)
                    || body.computed.contains(&(at.loc, id))
                    || filled::is_array(at.function, id) && at.function.local(id).address_taken
            };
            let factors = state.zone.factors(|var| var.local().is_none_or(is_used));
            let is_kept = |id: LocalId| is_used(id) || factors.contains(&id);
            paths::retain_paths_by(&mut state, &body.paths, &is_kept);
            state.retain_locals(is_kept);
        }
        if at.is_loop_head
            && let Some(old) = here.iter().rev().find(|old| old.has_same_calls(&state))
            && !self.leq(&state, old)
        {
            state = self.widened(old, &state);
        }
        if let Some(zone) = Arc::get_mut(&mut state.zone) {
            zone.settle();
        }
        Adjusted::Continue(state, ())
    }

    fn facts<'a>(&'a self, state: &'a Relations, function: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(RelationFacts { analysis: self, state, function })
    }

    fn join_precision(&self, (): &(), (): &()) {}
}

/// A state that can be asked.
struct RelationFacts<'a> {
    analysis: &'a RelationAnalysis,
    state: &'a Relations,
    function: &'a Function,
}

impl Facts for RelationFacts<'_> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        if self.state.function != self.function.name {
            return None;
        }
        self.analysis.view(self.state, self.function).form(expr).map(|form| (form.low, form.high))
    }
}

impl BlockCpa for RelationAnalysis {
    fn reduce(&self, entry: &Relations, block: BlockContext<'_>) -> Reduced<Relations> {
        Reduced(calls::reduce(entry, block))
    }

    fn expand(
        &self,
        before: &Relations,
        block: BlockContext<'_>,
        exit: &Reduced<Relations>,
    ) -> Option<Relations> {
        Some(calls::expand(before, block, &exit.0))
    }

    fn reduce_precision(&self, (): &(), _: BlockContext<'_>) -> Reduced<()> {
        Reduced(())
    }

    fn widen_entry(
        &self,
        open: &Reduced<Relations>,
        new: &Reduced<Relations>,
        unrollings: u32,
    ) -> Reduced<Relations> {
        if unrollings <= UNROLLINGS {
            return new.clone();
        }
        Reduced(self.widened(&open.0, &new.0))
    }
}

impl Refine for RelationAnalysis {
    type Witness = Path;

    /// There is no precision to refine; whether the path is possible others say.
    fn refine(&self, path: &Path, (): &(), _: &Budget) -> Result<Refinement<()>, Unknown> {
        Ok(Refinement::Feasible(path.clone()))
    }
}
