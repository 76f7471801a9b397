//! The automaton under construction: locations, edges, sites, locals, temporaries. Knows no C construct.

use std::sync::Arc;

use proofline_hir::{
    Name, Type, TypeKind,
    body::{Body, BodyMap, ExprId, LocalId as BodyLocal, StmtId},
};
use proofline_syntax::{FileId, Span};
use rustc_hash::FxHashMap;

use super::{
    Context,
    effects::{self, Effect, Effects, Origin},
    jump::Jumps,
    scope::Scopes,
    sequence::{self, Unsequenced},
    variable_arguments::Lists,
};
use proofline_cfa::{
    Approximation, Base, Cause, CheckId, Edge, Expr, Function, FunctionMap, Loc, Local, LocalId, Lvalue,
    Obligation, Op, Role, Scalar, Site, Step, Types,
    types::{innermost, is_variable},
    visit,
};

/// Lowering of one function.
pub(crate) struct Lowering<'h> {
    pub(crate) context: &'h Context<'h>,
    pub(crate) types: Types<'h>,
    pub(crate) body: &'h Body,
    map: Option<&'h BodyMap>,
    pub(crate) effects: Effects,
    pub(crate) unsequenced: Unsequenced,
    pub(crate) function: Function,
    pub(crate) positions: FunctionMap,
    /// Where the next edge starts.
    pub(crate) at: Loc,
    /// Local of the body to local of the function.
    pub(crate) locals: Vec<LocalId>,
    /// And back.
    origins: Vec<Option<BodyLocal>>,
    expr_sites: Vec<Option<Site>>,
    names: FxHashMap<Name, u32>,
    temporaries: u32,
    pub(crate) scopes: Scopes,
    pub(crate) jumps: Jumps,
    pub(crate) lists: Lists,
    /// Values that were put into objects without a name, for pointers to lead there: they end with the full expression.
    pub(crate) returned: Vec<BodyLocal>,
    /// Where each approximation stands, so that those of dead code can go.
    pub(crate) approximated: Vec<Loc>,
}

impl Origin for Lowering<'_> {
    fn origin(&self, local: LocalId) -> Option<BodyLocal> {
        self.origins.get(local.index()).copied().flatten()
    }
    fn is_taken(&self, local: BodyLocal) -> bool {
        self.effects.taken[local.index()]
    }
}

impl<'h> Lowering<'h> {
    pub(crate) fn new(
        context: &'h Context<'h>,
        source: &'h proofline_hir::Function,
        body: &'h Body,
        map: Option<&'h BodyMap>,
    ) -> Lowering<'h> {
        let result = match source.ty.kind() {
            TypeKind::Function(signature) => signature.result,
            _ => Type::int(),
        };
        let variadic = matches!(source.ty.kind(), TypeKind::Function(s) if s.variadic);
        let function = Function {
            name: source.name,
            ty: source.ty,
            linkage: source.linkage,
            attributes: source.attributes.clone(),
            locals: Vec::new(),
            parameters: Vec::new(),
            result: None,
            variadic,
            locations: 2,
            entry: Loc(0),
            exit: Loc(1),
            edges: Vec::new(),
            obligations: Vec::new(),
            labels: Vec::new(),
            approximations: Vec::new(),
            operands: Vec::new(),
            library_results: Vec::new(),
            unsupported: Vec::new(),
        };
        let types = context.types;
        let mut lowering = Lowering {
            context,
            types,
            body,
            map,
            effects: Effects::new(body),
            unsequenced: sequence::unsequenced(body),
            function,
            positions: FunctionMap::default(),
            at: Loc(0),
            locals: Vec::new(),
            origins: Vec::new(),
            expr_sites: vec![None; body.exprs.len()],
            names: FxHashMap::default(),
            temporaries: 0,
            scopes: Scopes::default(),
            jumps: Jumps::default(),
            lists: Lists::default(),
            returned: Vec::new(),
            approximated: Vec::new(),
        };
        if !matches!(result.kind(), TypeKind::Void) {
            let ty = result.unqualified();
            let id = lowering.add_local(Name::new("return"), ty, Role::Result, None, None);
            lowering.function.result = Some(id);
        }
        lowering.add_body_locals(&source.parameters);
        lowering
    }

    /// Parameters come right behind the result, whatever their place in the body.
    fn add_body_locals(&mut self, parameters: &[BodyLocal]) {
        let mut ids = vec![None; self.body.locals.len()];
        let rest = (0..self.body.locals.len() as u32).map(BodyLocal).filter(|id| !parameters.contains(id));
        for (i, local) in parameters.iter().copied().chain(rest).enumerate() {
            let Some(declared) = self.body.locals.get(local.index()) else { continue };
            let span = self.map.and_then(|map| map.locals.get(local.index()).copied());
            let role = match i < parameters.len() {
                true => Role::Parameter,
                false if is_variable(declared.ty) => Role::VariableArray,
                false => Role::Variable,
            };
            // What has a variable length lives in memory of its own; the local holds its address.
            let ty = if is_variable(declared.ty) { innermost(declared.ty).pointer_to() } else { declared.ty };
            let id = self.add_local(declared.name, ty, role, span, Some(local));
            if role == Role::Parameter {
                self.function.parameters.push(id);
            }
            ids[local.index()] = Some(id);
        }
        self.locals = ids.into_iter().map(|id| id.unwrap_or_default()).collect();
    }

    fn add_local(
        &mut self,
        name: Name,
        ty: Type,
        role: Role,
        span: Option<Span>,
        origin: Option<BodyLocal>,
    ) -> LocalId {
        let id = LocalId(self.function.locals.len() as u32);
        let count = self.names.entry(name).or_insert(0);
        let unique = if *count == 0 { name } else { Name::new(&format!("{name}#{count}")) };
        *count += 1;
        let size = self.types.size(ty).unwrap_or(0);
        self.function.locals.push(Local { name: unique, ty, role, address_taken: false, size });
        self.positions.locals.push(span);
        self.origins.push(origin);
        id
    }

    /// A new location without edges.
    pub(crate) fn location(&mut self) -> Loc {
        let loc = Loc(self.function.locations);
        self.function.locations += 1;
        loc
    }

    /// An edge from here to a new location, which becomes here.
    pub(crate) fn emit(&mut self, op: Op, site: Site) {
        let to = self.location();
        self.connect(op, to, site);
        self.at = to;
    }

    /// An edge from here to `to`; here stays.
    pub(crate) fn connect(&mut self, op: Op, to: Loc, site: Site) {
        proofline_syntax::interrupt::poll();
        self.function.edges.push(Edge { from: self.at, to, op, site });
    }

    /// Goes on at `to`; what follows is dead until a location is entered.
    pub(crate) fn jump(&mut self, to: Loc, site: Site) {
        self.connect(Op::Skip, to, site);
        self.at = self.location();
    }

    /// Falls through to `to`, which becomes here.
    pub(crate) fn enter(&mut self, to: Loc, site: Site) {
        self.connect(Op::Skip, to, site);
        self.at = to;
    }

    /// Execution ends here.
    pub(crate) fn halt(&mut self) {
        self.at = self.location();
    }

    pub(crate) fn new_site(&mut self, span: Span) -> Site {
        let site = Site(self.positions.sites.len() as u32);
        self.positions.sites.push(span);
        site
    }

    /// The site of an expression, always the same.
    pub(crate) fn site(&mut self, id: ExprId) -> Site {
        if let Some(site) = self.expr_sites[id.index()] {
            return site;
        }
        let span = self.map.and_then(|map| map.exprs.get(id.index()).copied()).unwrap_or(NOWHERE);
        let site = self.new_site(span);
        self.expr_sites[id.index()] = Some(site);
        site
    }

    /// A site for a statement.
    pub(crate) fn stmt_site(&mut self, id: StmtId) -> Site {
        let span = self.map.and_then(|map| map.stmts.get(id.index()).copied()).unwrap_or(NOWHERE);
        self.new_site(span)
    }

    /// A site for a local's declaration.
    pub(crate) fn local_site(&mut self, local: BodyLocal) -> Site {
        let span = self.map.and_then(|map| map.locals.get(local.index()).copied()).unwrap_or(NOWHERE);
        self.new_site(span)
    }

    /// A site at the closing brace.
    pub(crate) fn end_site(&mut self) -> Site {
        let span = self.map.and_then(|map| map.end).unwrap_or(NOWHERE);
        self.new_site(span)
    }

    /// The whole of a local.
    pub(crate) fn whole(&self, id: LocalId) -> Lvalue {
        let local = &self.function.locals[id.index()];
        let scalar = self.types.scalar(local.ty);
        Lvalue { base: Base::Local(id), path: Vec::new(), ty: local.ty, scalar, bits: None, size: local.size }
    }

    /// A new temporary of the type.
    pub(crate) fn temporary(&mut self, ty: Type) -> Lvalue {
        let name = Name::new(&format!("${}", self.temporaries));
        self.temporaries += 1;
        let ty = ty.unqualified();
        let id = LocalId(self.function.locals.len() as u32);
        let size = self.types.size(ty).unwrap_or(0);
        self.function.locals.push(Local { name, ty, role: Role::Temporary, address_taken: false, size });
        self.positions.locals.push(None);
        self.origins.push(None);
        self.whole(id)
    }

    /// A new temporary for a value of the format.
    pub(crate) fn scalar_temporary(&mut self, scalar: Scalar) -> Lvalue {
        let ty = self.types.of_scalar(scalar);
        self.temporary(ty)
    }

    /// Evaluates the value here, once and for all.
    pub(crate) fn save(&mut self, value: Expr, site: Site) -> Expr {
        let temporary = self.scalar_temporary(value.scalar());
        self.emit(Op::Assign(temporary.clone(), value), site);
        Expr::Load(temporary)
    }

    /// The value as it is before the effect, and checked before it.
    pub(crate) fn settle(&mut self, value: Expr, effect: Option<&Effect>, site: Site) -> Expr {
        let Some(effect) = effect else { return value };
        if effects::disturbs(effect, &value, self) {
            return self.save(value, site);
        }
        if effect.edges && self.reads_variable(&value) {
            // For its check that the variable has a value; without one it is removed again (`simplify_cfg::drop_unread`).
            self.save(value.clone(), site);
        }
        value
    }

    /// Whether the value depends on a local that may have none yet.
    fn reads_variable(&self, value: &Expr) -> bool {
        let mut found = false;
        visit::reads_of_expr(value, &mut |lvalue| {
            found |= matches!(lvalue.base, Base::Local(id) if self.function.local(id).role == Role::Variable);
        });
        found
    }

    /// The place that the lvalue designates before the effect.
    pub(crate) fn settle_place(&mut self, mut lvalue: Lvalue, effect: Option<&Effect>, site: Site) -> Lvalue {
        let Some(effect) = effect else { return lvalue };
        if !effects::place_changed(effect, &lvalue, self) {
            return lvalue;
        }
        if let Base::Deref(pointer, at) = lvalue.base {
            let pointer = self.settle(Arc::unwrap_or_clone(pointer), Some(effect), site);
            lvalue.base = Base::Deref(Arc::new(pointer), at);
        }
        for step in &mut lvalue.path {
            if let Step::Index { index, .. } = step {
                *index = Arc::new(self.settle(Expr::clone(index), Some(effect), site));
            }
        }
        lvalue
    }

    /// An object that keeps the aggregate's value through the effect; it is read before.
    pub(crate) fn settle_aggregate(&mut self, lvalue: Lvalue, effect: Option<&Effect>, site: Site) -> Lvalue {
        let changed = effect.is_some_and(|effect| {
            effects::object_changed(effect, &lvalue, self)
                || effects::place_changed(effect, &lvalue, self)
                || (effect.edges && super::fold::is_partial(&Expr::Load(lvalue.clone())))
        });
        if !changed {
            return lvalue;
        }
        let temporary = self.temporary(lvalue.ty);
        self.copy(temporary.clone(), lvalue, site);
        temporary
    }

    /// Evaluates a value that is not used, when that can go wrong.
    pub(crate) fn discard(&mut self, value: Expr, site: Site) {
        if super::fold::is_partial(&value) {
            self.save(value, site);
        }
    }

    /// Any value of the type, and the reason is counted.
    pub(crate) fn unmodelled(&mut self, ty: Type, what: &str, site: Site) -> Lvalue {
        let temporary = self.temporary(ty);
        self.havoc_unmodelled(temporary.clone(), what, site);
        temporary
    }

    /// Any value, and the reason is counted.
    pub(crate) fn havoc_unmodelled(&mut self, lvalue: Lvalue, what: &str, site: Site) {
        self.approximate(what, site);
        self.emit(Op::Havoc(lvalue, Cause::Unmodelled(Name::new(what))), site);
    }

    /// Counts an approximation here.
    pub(crate) fn approximate(&mut self, what: &str, site: Site) {
        self.function.approximations.push(Approximation { what: Name::new(what), site });
        self.approximated.push(self.at);
    }

    /// Reaching here makes a verdict unknown.
    pub(crate) fn unsupported(&mut self, what: &str, site: Site) {
        self.emit(Op::Skip, site);
        self.function.unsupported.push((self.at, Name::new(what)));
    }

    /// Goes on only where the condition holds; where it does not, the check has found a mistake.
    pub(crate) fn demand(&mut self, check: &'static str, condition: Expr, text: &str, site: Site) {
        let error = self.location();
        self.connect(Op::Assume(condition.negated()), error, site);
        let (check, text) = (CheckId::new(check), Name::new(text));
        self.function.obligations.push(Obligation { check, error, site, text });
        self.emit(Op::Assume(condition), site);
    }

    /// The write of an lvalue, as an effect.
    pub(crate) fn write_effect(&self, lvalue: &Lvalue) -> Effect {
        match lvalue.base {
            Base::Local(id) => match self.origin(id) {
                Some(local) if self.is_taken(local) => Effect { memory: true, ..Effect::write(Some(local)) },
                origin => origin.map_or_else(Effect::default, |local| Effect::write(Some(local))),
            },
            Base::Global(_) | Base::Deref(..) => Effect::write(None),
        }
    }
}

/// The span of what has no position.
pub(crate) const NOWHERE: Span = Span { file: FileId::MAIN, start: 0, end: 0 };
