//! Where the function calls others and where it is entered: what callees ask for becomes obligations, what is asked of callers is assumed.

use super::*;

impl Maker<'_> {
    /// What a called function asks for.
    pub(super) fn called(&mut self, mut at: Loc, call: &Call) -> Loc {
        let callee = match &call.callee {
            Callee::Direct(name) => *name,
            Callee::Indirect(..) => {
                let mut call = call.clone();
                if let Callee::Indirect(pointer, _) = &mut call.callee {
                    *pointer = self.named.unnamed(pointer);
                }
                let callees = self.env.callees(self.function.name, &call).functions;
                let asks =
                    |name: &Name| self.contracts.get(name).is_some_and(|contract| !contract.is_empty());
                if let Some(name) = callees.iter().find(|name| asks(name)) {
                    let text = format!("`{name}` is called as it asks for");
                    at = self.obliged(at, truth(false), &text, None);
                }
                return at;
            }
        };
        let Some(body) = self.env.function(callee) else { return at };
        let Some(contract) = self.contracts.get(&callee) else { return self.followed(at, body, call) };
        let arguments = obligations::values(call);
        for (parameter, asked) in &contract.pointers {
            let known = || obligations::asked(self.program, body, &arguments, *parameter, asked);
            if contract.is_written && known().is_some() {
                continue;
            }
            let what = text::asked(self.program, body, *parameter, asked);
            let what = format!("`{callee}` is called with {what}");
            match arguments
                .get(*parameter)
                .copied()
                .flatten()
                .filter(|value| value.scalar() == Scalar::Pointer)
            {
                Some(value) => at = self.passed(at, body, &arguments, value, asked, (*parameter, &what)),
                None => at = self.obliged(at, truth(false), &what, None),
            }
        }
        for condition in &contract.conditions {
            let what = format!("`{callee}` is called with `{}`", expr_text(body, condition));
            let condition = obligations::condition(body, &arguments, condition);
            if contract.is_written && condition.is_some() {
                continue;
            }
            at = self.obliged(at, condition.unwrap_or(truth(false)), &what, None);
        }
        for (one, other) in &contract.separated {
            let condition = obligations::apart(&arguments, *one, *other);
            if contract.is_written && condition.is_some() {
                continue;
            }
            let what = format!("`{callee}` is called with {}", text::separated(body, *one, *other));
            let condition = condition.map(|condition| self.translated(&condition, &mut None));
            at = self.obliged(at, condition.unwrap_or(truth(false)), &what, None);
        }
        at
    }

    /// A called function for which no contract was found: that its own places are open is said there. But where it follows a parameter, a guess
    /// does not say that its caller may pass null.
    fn followed(&mut self, mut at: Loc, callee: &Function, call: &Call) -> Loc {
        if self.own.is_written {
            return at;
        }
        for (parameter, value) in obligations::values(call).into_iter().enumerate() {
            let Some(value) = value.filter(|value| value.scalar() == Scalar::Pointer) else { continue };
            let Some(place) = self.origins.place(value) else { continue };
            let Origin::Parameter(about) = place.origin else { continue };
            if asks_of_null(callee, parameter) {
                let name = callee.local(callee.parameters[parameter]).name;
                let what = format!("`{}` is called with `{name}`, not null", callee.name);
                at = self.obliged(at, is_not_null(value), &what, Some(about));
            }
        }
        at
    }

    /// What a called function asks of a pointer that it is given.
    pub(super) fn passed(
        &mut self,
        mut at: Loc,
        callee: &Function,
        arguments: &[Option<&Expr>],
        value: &Expr,
        asked: &Asked,
        (parameter, what): (usize, &str),
    ) -> Loc {
        let about = self.origins.place(value).and_then(|place| match place.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
        });
        if !asked.or_null {
            at = self.obliged(at, is_not_null(value), what, about);
        }
        let pointer = Arc::new(value.clone());
        let nothing = Arc::new(Expr::int(0));
        for predicate in [MemoryPredicate::NotFreed, MemoryPredicate::NotEnded] {
            let known = self.predicate(predicate, value, &nothing).map(|(condition, _)| condition);
            let unknown = || Expr::Memory(predicate, pointer.clone(), nothing.clone());
            at = self.obliged(at, known.unwrap_or_else(unknown), what, about);
        }
        let bytes = |size: Expr| {
            let size_t =
                Expr::Cast(Scalar::Int(self.program.size_type()), Arc::new(size.clone()), Site::NOWHERE);
            let known =
                self.predicate(MemoryPredicate::InBounds, value, &size).map(|(condition, _)| condition);
            known
                .unwrap_or_else(|| Expr::Memory(MemoryPredicate::InBounds, pointer.clone(), Arc::new(size_t)))
        };
        let condition = match &asked.memory {
            Memory::Nothing => truth(true),
            Memory::Bytes(size) => bytes(number(i128::from(*size))),
            Memory::Elements(count, stride) => match at_call(callee, count, arguments) {
                Some(count) => {
                    let is_size = at_most(widened(&count), number(MOST / i128::from((*stride).max(1))));
                    let is_there = and(is_size, bytes(times(widened(&count), *stride)));
                    match count.int_type() {
                        Some(ty) => or(compare(CompareOp::Le, count, Expr::Int(0, ty)), is_there),
                        None => truth(false),
                    }
                }
                None => truth(false),
            },
            Memory::Until(end) => {
                let end = arguments.get(*end).copied().flatten();
                end.and_then(|end| self.range(value, end, callee, parameter, &bytes)).unwrap_or(truth(false))
            }
            Memory::String => {
                let known = self.predicate(MemoryPredicate::Terminated, value, &Expr::int(0));
                let unknown = || Expr::Memory(MemoryPredicate::Terminated, pointer.clone(), nothing.clone());
                known.map_or_else(unknown, |(condition, _)| condition)
            }
            Memory::Structure => truth(self.is_structure(value, callee, parameter)),
            Memory::Allocated => {
                let known = self.predicate(MemoryPredicate::Freeable, value, &Expr::int(0));
                let unknown = || Expr::Memory(MemoryPredicate::Freeable, pointer.clone(), nothing.clone());
                let others = self.not_apart(value, arguments, parameter, true);
                let nothing_below = BTreeSet::new();
                if self.owned.is_apart(self.function, self.at, value, &nothing_below, &others) {
                    known.map_or_else(unknown, |(condition, _)| condition)
                } else {
                    truth(false)
                }
            }
            Memory::Tree(tree) => truth(self.is_tree(value, tree, callee, arguments, parameter)),
        };
        if condition == truth(true) {
            return at;
        }
        let is_null = if asked.or_null { is_null(value) } else { truth(false) };
        self.obliged(at, or(is_null, condition), what, about)
    }

    /// Whether elements reach from one argument up to another: `p` and `p + n`, or two pointers into a range that was passed.
    fn range(
        &self,
        value: &Expr,
        end: &Expr,
        callee: &Function,
        parameter: usize,
        bytes: &dyn Fn(Expr) -> Expr,
    ) -> Option<Expr> {
        let pointee = callee.local(callee.parameters[parameter]).ty.pointee()?.unqualified();
        let stride = types(self.program).size(pointee).filter(|size| *size > 0)?;
        if let (Some(from), Some(to)) = (self.origins.place(value), self.origins.place(end))
            && from.origin == to.origin
            && let (Origin::Parameter(start), Memory::Until(_)) = (from.origin, self.memory(from.origin))
            && self.unit(&from) == Some(stride)
            && !self.origins.may_be_null(&from)
            && !self.origins.may_be_null(&to)
        {
            let (first, last) = (self.elements(&from)?, self.elements(&to)?);
            let reach = bytes::load(self.reaches.get(&start)?.1);
            return Some(and(at_most(first, last.clone()), at_most(last, reach)));
        }
        let count = self.steps(value, end, stride)?;
        let fits = at_most(widened(&count), number(MOST / i128::from(stride)));
        // What is negative is a large number then.
        Some(and(fits, bytes(times(widened(&count), stride))))
    }

    /// By how many elements one pointer is further than another, if it is made from it by an index.
    fn steps(&self, from: &Expr, to: &Expr, stride: u64) -> Option<Expr> {
        let split = |pointer: &Expr| -> Option<(Lvalue, Expr)> {
            let Expr::Address(lvalue) = pointer else { return None };
            let (Step::Index { index, stride: step, .. }, before) = lvalue.path.split_last()? else {
                return None;
            };
            let whole = Lvalue { path: before.to_vec(), ..lvalue.clone() };
            (*step == stride).then(|| (whole, Expr::clone(index)))
        };
        let (place, index) = split(to)?;
        match split(from) {
            Some((start, first)) => {
                let is_one = match (&start.base, &place.base) {
                    (Base::Deref(one, _), Base::Deref(other, _)) => one == other,
                    (one, other) => one == other,
                };
                (is_one && start.path == place.path && matches!(first, Expr::Int(0, _))).then_some(index)
            }
            None => {
                let is_start = match from {
                    Expr::Address(start) => start.base == place.base && start.path == place.path,
                    from => {
                        let leads = |pointer: &Expr| pointer == from && place.path.is_empty();
                        matches!(&place.base, Base::Deref(pointer, _) if leads(pointer))
                    }
                };
                is_start.then_some(index)
            }
        }
    }

    /// Whether an argument leads to a tree that the function holds, of which no other argument is a part.
    fn is_tree(
        &self,
        value: &Expr,
        tree: &Tree,
        callee: &Function,
        arguments: &[Option<&Expr>],
        parameter: usize,
    ) -> bool {
        if owned::is_nothing(value) {
            return true;
        }
        let others = self.not_apart(value, arguments, parameter, tree.is_allocated);
        let wanted = callee.local(callee.parameters[parameter]).ty.pointee().map(Type::unqualified);
        self.owned.is_tree(self.function, self.at, value, wanted, tree, &others)
    }

    /// Other arguments that may lead to what an argument that is given away leads to, unless what the function holds says otherwise.
    fn not_apart<'e>(
        &self,
        value: &Expr,
        arguments: &[Option<&'e Expr>],
        parameter: usize,
        is_allocated: bool,
    ) -> Vec<&'e Expr> {
        let is_held = self.owned.holds(self.function, self.at, value);
        let others = arguments.iter().enumerate().filter(|(at, _)| *at != parameter);
        let others = others.filter_map(|(_, other)| other.filter(|other| other.scalar() == Scalar::Pointer));
        // What else the function was given is apart from its trees and from what it has allocated itself, and that from its trees.
        let is_apart = |other: &&Expr| match self.origins.place(other).map(|place| place.origin) {
            Some(Origin::Parameter(at)) => {
                let is_new =
                    || matches!(self.origins.place(value), Some(place) if place.origin == Origin::Allocated);
                let asked = self.own.pointers.get(&at);
                (is_held || is_new()) && asked.is_some_and(|asked| !owned::is_owned(&asked.memory))
            }
            Some(Origin::Allocated) => is_held,
            Some(Origin::Loaded(_) | Origin::Room) | None => {
                let is_named =
                    matches!(other, Expr::Address(Lvalue { base: Base::Global(_) | Base::Local(_), .. }));
                is_named && is_allocated
            }
        };
        others.filter(|other| !is_apart(other)).collect()
    }

    /// Whether an argument leads to a structure, as the parameter's type says.
    pub(super) fn is_structure(&self, value: &Expr, callee: &Function, parameter: usize) -> bool {
        let Some(place) = self.origins.place(value) else { return *value == Expr::Null };
        let wanted = callee.local(callee.parameters[parameter]).ty.pointee();
        let own = self.origins.pointee(place.origin);
        let is_beside = self.is_beside_trees(&place);
        let is_same = match (wanted, own) {
            (Some(wanted), Some(own)) => wanted.unqualified() == own.unqualified(),
            _ => false,
        };
        is_same
            && place.offset.is_zero()
            && (!self.origins.has_trees() || is_beside)
            && self.origins.opaque().is_clear()
            && (self.structures_stay(self.at) || is_beside)
            && (self.stays.texts(self.named.before(self.at))
                || !own.is_some_and(|ty| text::leads_to_text(self.program, ty)))
            && (self.stays.lives(self.named.before(self.at)) || is_beside)
            && self.memory(place.origin) == Memory::Structure
    }

    /// What a pointer to so many elements says of their number: no object is larger than memory.
    pub(super) fn room(&mut self, at: Loc, (parameter, asked): (usize, Asked)) -> Loc {
        let Memory::Elements(count, stride) = &asked.memory else { return at };
        let (Some(id), Some(ty)) = (self.function.parameters.get(parameter), count.int_type()) else {
            return at;
        };
        let local = self.function.local(*id);
        let pointer = Expr::Load(Lvalue::local(*id, local.ty, Scalar::Pointer, local.size));
        let fits = at_most(widened(count), number(MOST / i128::from((*stride).max(1))));
        let fits =
            if ty.signed { or(compare(CompareOp::Le, count.clone(), Expr::Int(0, ty)), fits) } else { fits };
        let condition = if asked.or_null { or(is_null(&pointer), fits) } else { fits };
        self.assume(at, &condition)
    }

    /// Takes the edges away that are not used any more.
    pub(super) fn bury(&mut self) {
        let mut at = 0;
        let dead = &self.dead;
        self.out.edges.retain(|_| {
            at += 1;
            !dead.contains(&(at - 1))
        });
    }

    /// One more obligation. What it asks for is enough and need not be needed: where it does not hold, executions go on.
    pub(super) fn obliged(&mut self, at: Loc, condition: Expr, what: &str, about: Option<usize>) -> Loc {
        if condition == truth(true) {
            return at;
        }
        let (error, next) = (self.location(), self.location());
        let id = ObligationId(self.out.obligations.len() as u32);
        self.asked(at, &condition, next, error);
        let (check, site) = (precondition::CHECK.id(), Site::NOWHERE);
        self.out.obligations.push(Obligation { check, error, site, text: Name::new(what) });
        self.calls.insert(id);
        if let Some(at) = about {
            self.about.insert(id, at);
        }
        next
    }

    /// Goes on, and where the condition does not hold, to the error as well.
    pub(super) fn asked(&mut self, at: Loc, condition: &Expr, next: Loc, error: Loc) {
        self.push(at, next, Op::Skip);
        self.branch(at, condition, None, Some(error));
    }

    /// What the contract says, where the function is entered.
    pub(super) fn entry(&mut self) {
        let start = self.location();
        let mut at = start;
        for (id, ghost) in self.at_entry.clone() {
            let local = self.function.local(id);
            let Some(scalar) = proofline_cfa::scalar_of(local.ty, self.program.data_model) else { continue };
            let (from, to) = (
                Lvalue::local(id, local.ty, scalar, local.size),
                Lvalue::local(ghost, local.ty, scalar, local.size),
            );
            at = self.then(at, Op::Assign(to, Expr::Load(from)));
        }
        for (end, reach) in self.reaches.clone().into_values() {
            let start =
                self.reaches.iter().find(|(_, known)| **known == (end, reach)).map(|(start, _)| *start);
            let pointee = start.and_then(|start| self.origins.pointee(Origin::Parameter(start)));
            let size = pointee.and_then(|pointee| types(self.program).size(pointee)).unwrap_or(1);
            at = self.then(at, Op::Havoc(bytes::local(reach), Cause::Indeterminate));
            let most = number(MOST / i128::from(size.max(1)));
            at = self.then(at, Op::Assume(at_most(bytes::load(reach), most)));
            let id = self.function.parameters[end];
            let local = self.function.local(id);
            let pointer = Expr::Load(Lvalue::local(id, local.ty, Scalar::Pointer, local.size));
            at = self.then(at, Op::Assume(is_not_null(&pointer)));
        }
        // Numbers of pointers that have no value yet: any.
        let all: Vec<(LocalId, Ghosts)> = self.ghosts.iter().map(|(id, ghosts)| (*id, *ghosts)).collect();
        for (id, ghosts) in all {
            let is_parameter = self.function.parameters.contains(&id);
            if let (true, Some(ghost)) = (is_parameter, ghosts.moved) {
                let end = self.reaches.values().find(|(end, _)| self.function.parameters[*end] == id);
                let start = end.map_or_else(|| number(0), |(_, reach)| bytes::load(*reach));
                at = self.then(at, Op::Assign(bytes::local(ghost), start));
            }
            if let (true, Some(ghost)) = (is_parameter, ghosts.left) {
                at = self.begins_string(at, ghost);
            }
        }
        for (parameter, asked) in self.own.pointers.clone() {
            let Some(id) = self.function.parameters.get(parameter) else { continue };
            let local = self.function.local(*id);
            if !asked.or_null && local.ty.pointee().is_some() {
                let pointer = Expr::Load(Lvalue::local(*id, local.ty, Scalar::Pointer, local.size));
                at = self.then(at, Op::Assume(is_not_null(&pointer)));
            }
        }
        for asked in self.own.pointers.clone() {
            at = self.room(at, asked);
        }
        for condition in self.own.conditions.clone() {
            at = self.assume(at, &condition);
        }
        if !self.own.conditions.is_empty() {
            // "Nobody gets here": where that holds, the conditions contradict each other.
            let (error, next) = (self.location(), self.location());
            self.callers = Some(ObligationId(self.out.obligations.len() as u32));
            self.push(at, error, Op::Assume(truth(true)));
            self.push(at, next, Op::Assume(truth(true)));
            let (check, site) = (precondition::CHECK.id(), Site::NOWHERE);
            let text = Name::new("no caller can keep the contract");
            self.out.obligations.push(Obligation { check, error, site, text });
            at = next;
        }
        let old = self.out.entry;
        self.push(at, old, Op::Skip);
        self.out.entry = start;
    }
}

/// Whether an obligation of the function is that a parameter is not null.
fn asks_of_null(function: &Function, parameter: usize) -> bool {
    let Some(id) = function.parameters.get(parameter) else { return false };
    let is_it = |pointer: &Expr| matches!(pointer, Expr::Load(lvalue) if lvalue.base == Base::Local(*id) && lvalue.path.is_empty());
    let errors: BTreeSet<Loc> = function.obligations.iter().map(|obligation| obligation.error).collect();
    function.edges.iter().filter(|edge| errors.contains(&edge.to)).any(|edge| {
        matches!(&edge.op, Op::Assume(Expr::Compare(CompareOp::Eq, pointer, null)) if **null == Expr::Null && is_it(pointer))
    })
}
