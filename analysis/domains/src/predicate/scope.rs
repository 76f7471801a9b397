//! What formulas about one function speak of: a variable per register and per memory cell in its reach, and a ghost `x₀` for each
//! of its value at entry. Knows names and sorts; must not know states.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Function, Loc, LocalId, Name, Object, Scalar,
    visit::{self, Mention},
};
use proofline_program_analysis::Environment;
use proofline_smt::{Term, Var, build as t};

use proofline_encoding::{FunctionEncoder, Key, MemoryLayout, memory_keys};

/// The vocabulary of a function.
#[derive(Debug)]
pub(super) struct Scope {
    /// The function.
    pub(super) function: Name,
    /// Registers that may still be read, by location.
    pub(super) live: Vec<BTreeSet<LocalId>>,
    /// Cells in reach of the function and of what it calls.
    pub(super) memory: Vec<Key>,
    /// Those of them that may change.
    pub(super) written: BTreeSet<Key>,
    /// What has a value at entry: parameters and memory.
    pub(super) inputs: Vec<Key>,
    /// Where the result is.
    pub(super) result: Option<Key>,
    /// The present value of each key. What never changes has its ghost.
    current: BTreeMap<Key, Var>,
    /// The value at entry of each input.
    ghosts: BTreeMap<Key, Var>,
    formats: BTreeMap<Var, Scalar>,
    heads: Vec<bool>,
    exit: Loc,
}

/// Ends the name of a ghost.
pub(super) const GHOST: char = '₀';

impl Scope {
    pub(super) fn new(environment: &Environment, layout: &MemoryLayout, function: &Function) -> Scope {
        let encoder = FunctionEncoder { environment, layout, function, wrapv: false };
        let name = function.name;
        let memory = memory_keys(environment, layout, name);
        let writes = environment.writes(name);
        let written = memory
            .iter()
            .copied()
            .filter(|key| object_of(*key).is_some_and(|o| writes.contains(&o)))
            .collect();
        let structure = environment.structure(name);
        let heads = (0..function.locations).map(|l| structure.is_loop_head(Loc(l))).collect();
        let register = |id: &LocalId| encoder.is_register(*id);
        let parameters = function.parameters.iter().copied().filter(register).map(|id| Key::Local(0, id));
        let inputs: Vec<Key> = parameters.chain(memory.iter().copied()).collect();
        let result = function.result.filter(|id| register(id)).map(|id| Key::Local(0, id));
        let mut scope = Scope {
            function: name,
            live: encoder.live_registers(),
            memory,
            written,
            inputs,
            result,
            current: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            formats: BTreeMap::new(),
            heads,
            exit: function.exit,
        };
        let assigned = assigned_registers(function);
        let registers = (0..function.locals.len() as u32).map(LocalId).filter(|id| encoder.is_register(*id));
        let keys: Vec<Key> =
            registers.map(|id| Key::Local(0, id)).chain(scope.memory.iter().copied()).collect();
        for key in keys {
            let spelling = spelling(function, key);
            let format = match key {
                Key::Local(_, id) => {
                    proofline_cfa::scalar_of(function.local(id).ty, environment.program().data_model)
                }
                Key::Cell(_, _, scalar) => Some(scalar),
                Key::Elements(..) => None,
            };
            let ghost = Var::new(&format!("{spelling}{GHOST}"), key.sort());
            let changes = match key {
                Key::Local(_, id) => assigned.contains(&id),
                Key::Cell(..) | Key::Elements(..) => scope.written.contains(&key),
            };
            let is_input = scope.inputs.contains(&key);
            let current = if is_input && !changes { ghost } else { Var::new(&spelling, key.sort()) };
            if is_input {
                scope.ghosts.insert(key, ghost);
                scope.formats.extend(format.map(|format| (ghost, format)));
            }
            scope.current.insert(key, current);
            scope.formats.extend(format.map(|format| (current, format)));
        }
        scope
    }

    /// The variable of a key's present value.
    pub(super) fn current(&self, key: Key) -> Option<Var> {
        self.current.get(&key).copied()
    }

    /// The variable of an input's value at entry.
    pub(super) fn ghost(&self, key: Key) -> Option<Var> {
        self.ghosts.get(&key).copied()
    }

    /// All of these.
    pub(super) fn ghosts(&self) -> impl Iterator<Item = (&Key, &Var)> {
        self.ghosts.iter()
    }

    /// Formats of the variables that are numbers.
    pub(super) fn formats(&self) -> &BTreeMap<Var, Scalar> {
        &self.formats
    }

    /// Whether a loop begins here.
    pub(super) fn is_head(&self, loc: Loc) -> bool {
        self.heads.get(loc.index()).copied().unwrap_or(false)
    }

    /// Whether the function ends here.
    pub(super) fn is_exit(&self, loc: Loc) -> bool {
        loc == self.exit
    }

    /// What matters at a location: live registers, and memory.
    pub(super) fn keys_at(&self, loc: Loc) -> Vec<Key> {
        let registers = self.live[loc.index()].iter().map(|id| Key::Local(0, *id));
        let known = |key: &Key| self.current.contains_key(key);
        registers.filter(known).chain(self.memory.iter().copied()).collect()
    }

    /// Variables that a predicate at a location may mention.
    pub(super) fn vocabulary_at(&self, loc: Loc) -> BTreeSet<Var> {
        let current = self.keys_at(loc).into_iter().filter_map(|key| self.current(key));
        current.chain(self.ghosts.values().copied()).collect()
    }

    /// Each key at its present value.
    pub(super) fn identity_at(&self, loc: Loc) -> BTreeMap<Key, Term> {
        self.keys_at(loc).into_iter().filter_map(|key| Some((key, t::var(self.current(key)?)))).collect()
    }

    /// Each input at its value at entry.
    pub(super) fn identity_at_entry(&self) -> BTreeMap<Key, Term> {
        self.ghosts.iter().map(|(key, var)| (*key, t::var(*var))).collect()
    }
}

fn assigned_registers(function: &Function) -> BTreeSet<LocalId> {
    let mut out = BTreeSet::new();
    for edge in &function.edges {
        if let proofline_cfa::Op::Begin(id) | proofline_cfa::Op::End(id) = edge.op {
            out.insert(id);
        }
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Write(lvalue) = mention
                && let Base::Local(id) = lvalue.base
            {
                out.insert(id);
            }
        });
    }
    out
}

pub(super) fn object_of(key: Key) -> Option<Object> {
    match key {
        Key::Cell(object, ..) | Key::Elements(object, ..) => Some(object),
        Key::Local(..) => None,
    }
}

/// The name of a key's variable. Registers are qualified by their function, memory begins with `::`: no two keys share one.
fn spelling(function: &Function, key: Key) -> String {
    let object = |object: Object| match object {
        Object::Global(name) => format!("::{name}"),
        Object::Local(of, id) => format!("::{of}.{}", id.0),
        Object::Heap(of, site) => format!("::{of}.heap{}", site.0),
        Object::External => "::".to_owned(),
    };
    match key {
        Key::Local(_, id) => format!("{}::{}", function.name, function.local(id).name),
        Key::Cell(of, 0, _) => object(of),
        Key::Cell(of, offset, _) => format!("{}+{offset}", object(of)),
        Key::Elements(of, _, 0, _) => format!("{}[]", object(of)),
        Key::Elements(of, _, inside, _) => format!("{}[]+{inside}", object(of)),
    }
}

/// A formula for people: without the functions' names, the result as `ret` where no variable is called so.
pub(super) fn readable(environment: &Environment, function: Name, formula: Term) -> String {
    let prefix = format!("{function}::");
    let ret =
        environment.function(function).is_none_or(|f| f.locals.iter().all(|local| &*local.name != "ret"));
    let short = |var: Var| {
        let text = var.name.as_str();
        let text = text.strip_prefix(&prefix).or_else(|| text.strip_prefix("::")).unwrap_or(text);
        let text = if ret && text == "return" { "ret" } else { text };
        Var::indexed(text, var.index, var.sort)
    };
    // A local and a global of one name are kept apart.
    let vars = proofline_smt::term::free_vars(formula);
    let shortened: BTreeSet<Var> = vars.iter().map(|var| short(*var)).collect();
    if shortened.len() < vars.len() {
        return proofline_smt::pretty(formula);
    }
    proofline_smt::pretty(proofline_smt::rewrite::rename(formula, short))
}
