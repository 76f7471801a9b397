//! `va_arg`: there must be an argument left, of its type (C11 7.16.1.1p2). Callers leave how many variable arguments there are, of which kinds, and the values of
//! the first ones, in variables that no program can name (`call_coercion` writes them before each call); a function that reads its own lists
//! keeps them, and counts, in locals of its own. Where a list comes from elsewhere or goes elsewhere, the obligation can be neither proved nor violated, and the value is
//! any. Must not know callers.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    body::{BinaryOp, Body, ExprId, ExprKind, LocalId as BodyLocal, Stmt},
    types::IntKind,
};

use super::{build::Lowering, call::direct_name, fold};
use crate::call_coercion::INCOMPATIBLE_CALL;
use proofline_cfa::{
    Base, Cause, CompareOp, Expr, FloatType, Function, Global, IntType, Lvalue, Op, Scalar, Site, Types,
};

/// How many variable arguments the latest call of a function with `...` had.
const COUNT: &str = "#va_count";
/// Of which kind all of them are; 0 if they are not of one.
const KIND: &str = "#va_kind";
/// The kinds of the first ones, four bits each.
const KINDS: &str = "#va_kinds";

/// More arguments have no kinds that are known.
const MOST_KINDS: usize = 16;

/// The values of so many arguments are known.
const MOST_VALUES: usize = 8;

/// The kinds whose values are known, with the names of the variables that have them.
const VALUES: [(u64, Scalar, &str); 4] = [
    (1, Scalar::Int(IntType { bits: 32, signed: true }), "#va_int"),
    (2, Scalar::Int(IntType { bits: 64, signed: true }), "#va_long"),
    (4, Scalar::Pointer, "#va_pointer"),
    (7, Scalar::Float(FloatType::F64), "#va_double"),
];

/// What the hidden variables are.
const NUMBER: IntType = IntType { bits: 64, signed: false };

/// What the texts of the obligations begin with.
pub const VA_ARG: &str = "va_arg";

/// The lists that a function reads itself.
#[derive(Default)]
pub(crate) struct Lists {
    positions: BTreeMap<BodyLocal, Position>,
    /// Those of which it reads two arguments in one expression: which is the first one, C leaves open.
    unordered: BTreeSet<BodyLocal>,
    given: Option<Given>,
}

/// Where a list is: whether it is between `va_start` and `va_end`, how many arguments come, and of which kinds.
#[derive(Clone)]
struct Position {
    is_open: Lvalue,
    left: Lvalue,
    kinds: Lvalue,
}

/// What callers have left, as it was where the function began.
#[derive(Clone)]
struct Given {
    count: Lvalue,
    kind: Lvalue,
    kinds: Lvalue,
    /// Of the first ones, by kind.
    values: BTreeMap<u64, Vec<Lvalue>>,
}

impl Lowering<'_> {
    /// Before the body: keeps what the caller has left.
    pub(crate) fn begin_lists(&mut self) {
        let lists = own_lists(self.body);
        if !self.function.variadic || lists.is_empty() {
            return;
        }
        self.lists.unordered = unordered(self.body);
        let site = self.end_site();
        let mut keep = |name| {
            let kept = self.scalar_temporary(Scalar::Int(NUMBER));
            self.emit(Op::Assign(kept.clone(), Expr::Load(hidden(name))), site);
            kept
        };
        let (count, kind, kinds) = (keep(COUNT), keep(KIND), keep(KINDS));
        let read = self.kinds_read();
        let mut values: BTreeMap<u64, Vec<Lvalue>> = BTreeMap::new();
        for (kind, scalar, name) in VALUES.into_iter().filter(|(kind, ..)| read.contains(kind)) {
            for at in 0..MOST_VALUES {
                let hidden = value_variable(name, at, scalar, self.types);
                let kept = self.scalar_temporary(scalar);
                self.emit(Op::Assign(kept.clone(), Expr::Load(hidden.clone())), site);
                // What nobody else leads to any more is lost.
                if scalar == Scalar::Pointer {
                    self.emit(Op::Assign(hidden, Expr::Null), site);
                }
                values.entry(kind).or_default().push(kept);
            }
        }
        let given = Given { count, kind, kinds, values };
        for list in lists {
            let mut zero = || {
                let variable = self.scalar_temporary(Scalar::Int(NUMBER));
                self.emit(Op::Assign(variable.clone(), number(0)), site);
                variable
            };
            let position = Position { is_open: zero(), left: zero(), kinds: zero() };
            self.lists.positions.insert(list, position);
        }
        self.lists.given = Some(given);
    }

    /// `va_start`, `va_end`, `va_copy`, with the addresses of lists.
    pub(crate) fn move_list(&mut self, name: &str, arguments: &[ExprId], site: Site) {
        let position = |at: usize| {
            let list = list_of(self.body, *arguments.get(at)?)?;
            self.lists.positions.get(&list).cloned()
        };
        let (Some(list), Some(given)) = (position(0), self.lists.given.clone()) else { return };
        let (is_open, left, kinds) = match (name, position(1)) {
            ("va_end", _) => return self.emit(Op::Assign(list.is_open, number(0)), site),
            ("va_copy", Some(other)) => {
                (Expr::Load(other.is_open), Expr::Load(other.left), Expr::Load(other.kinds))
            }
            _ => (number(1), Expr::Load(given.count), Expr::Load(given.kinds)),
        };
        self.emit(Op::Assign(list.is_open, is_open), site);
        self.emit(Op::Assign(list.left, left), site);
        self.emit(Op::Assign(list.kinds, kinds), site);
    }

    /// The kinds of arguments that the body reads.
    fn kinds_read(&self) -> BTreeSet<u64> {
        let is_known = |list: ExprId| match self.body.expr(list).kind {
            ExprKind::Local(list) => !self.lists.unordered.contains(&list),
            _ => false,
        };
        let exprs = self.body.exprs.iter();
        let read = exprs.filter(|expr| matches!(expr.kind, ExprKind::VaArg(list) if is_known(list)));
        read.filter_map(|expr| kind_of_type(self.types.scalar(expr.ty))).collect()
    }

    /// The next argument; the list goes on behind it.
    pub(crate) fn next_argument(&mut self, list: ExprId, ty: Type, site: Site) -> Lvalue {
        self.demand_argument(list, ty, site);
        let position = match self.body.expr(list).kind {
            ExprKind::Local(list) if !self.lists.unordered.contains(&list) => {
                self.lists.positions.get(&list).cloned()
            }
            _ => None,
        };
        let scalar = self.types.scalar(ty);
        let values = || {
            let given = self.lists.given.as_ref()?;
            Some((given.values.get(&kind_of_type(scalar)?)?.clone(), given.count.clone()))
        };
        let (Some(position), Some((values, count)), Some(scalar)) = (position, values(), scalar) else {
            return self.unmodelled(ty, "variable argument", site);
        };
        let behind = fold::binary(BinaryOp::Sub, Expr::Load(count), Expr::Load(position.left), site);
        let behind = self.save(behind, site);
        let (result, join) = (self.temporary(ty), self.location());
        for (at, value) in (1..).zip(values) {
            let (here, next) = (self.location(), self.location());
            let is_it = fold::compare(CompareOp::Eq, behind.clone(), number(at));
            self.connect(Op::Assume(is_it.clone()), here, site);
            self.connect(Op::Assume(is_it.negated()), next, site);
            self.at = here;
            let value = fold::cast(scalar, Expr::Load(value), site);
            self.connect(Op::Assign(result.clone(), value), join, site);
            self.at = next;
        }
        self.havoc_unmodelled(result.clone(), "a variable argument behind the eighth", site);
        self.connect(Op::Skip, join, site);
        self.at = join;
        result
    }

    /// The next argument is there, and is of the type; the list goes on behind it.
    pub(crate) fn demand_argument(&mut self, list: ExprId, ty: Type, site: Site) {
        let kind = kind_of_type(self.types.scalar(ty));
        let position = match self.body.expr(list).kind {
            ExprKind::Local(list) => self.lists.positions.get(&list).cloned(),
            _ => None,
        };
        let Some(kind) = kind else {
            let never = Expr::int(0);
            return self.demand(
                INCOMPATIBLE_CALL,
                never,
                "va_arg names a type that arguments are promoted to",
                site,
            );
        };
        let (Some(Position { is_open, left, kinds }), Some(given)) = (position, self.lists.given.clone())
        else {
            return self.demand_somehow("a list of variable arguments", site);
        };
        let is_open = fold::compare(CompareOp::Ne, Expr::Load(is_open), number(0));
        self.demand(INCOMPATIBLE_CALL, is_open, "va_arg comes between va_start and va_end", site);
        let is_left = fold::compare(CompareOp::Ne, Expr::Load(left.clone()), number(0));
        self.demand(INCOMPATIBLE_CALL, is_left, "va_arg has an argument left", site);
        // All of one kind, or this one of the kind.
        let join = self.location();
        let is_uniform = fold::compare(CompareOp::Eq, Expr::Load(given.kind), number(kind));
        self.connect(Op::Assume(is_uniform.clone()), join, site);
        self.emit(Op::Assume(is_uniform.negated()), site);
        let own = fold::binary(BinaryOp::BitAnd, Expr::Load(kinds.clone()), number(15), site);
        let own = self.save(own, site);
        let (far, near) = (self.location(), self.location());
        let is_known = fold::compare(CompareOp::Ne, own.clone(), number(0));
        self.connect(Op::Assume(is_known.negated()), far, site);
        self.connect(Op::Assume(is_known), near, site);
        self.at = far;
        self.demand_somehow("a variable argument behind many others", site);
        self.connect(Op::Skip, join, site);
        self.at = near;
        let fits = fold::compare(CompareOp::Eq, own, number(kind));
        let text =
            format!("va_arg finds an argument that was passed as {}", proofline_hir::print::type_text(ty));
        self.demand(INCOMPATIBLE_CALL, fits, &text, site);
        self.connect(Op::Skip, join, site);
        self.at = join;
        let fewer = fold::binary(BinaryOp::Sub, Expr::Load(left.clone()), number(1), site);
        self.emit(Op::Assign(left, fewer), site);
        let behind = fold::binary(BinaryOp::Shr, Expr::Load(kinds.clone()), number(4), site);
        self.emit(Op::Assign(kinds, behind), site);
    }
}

impl Lowering<'_> {
    /// What can be neither proved nor violated, because nothing is known of `what`.
    fn demand_somehow(&mut self, what: &'static str, site: Site) {
        let unknown = Expr::Load(self.unmodelled(Type::int(), what, site));
        let fits = fold::compare(CompareOp::Ne, unknown, Expr::int(0));
        self.demand(INCOMPATIBLE_CALL, fits, "va_arg finds an argument of its type", site);
    }
}

/// Variables of the function that are lists and go nowhere else than to `va_start` and its kin.
fn own_lists(body: &Body) -> BTreeSet<BodyLocal> {
    let mut lists = BTreeSet::new();
    let mut fine: BTreeSet<ExprId> = BTreeSet::new();
    let mut copies = Vec::new();
    for expr in &body.exprs {
        match &expr.kind {
            ExprKind::VaArg(list) => {
                if let ExprKind::Local(local) = body.expr(*list).kind {
                    lists.insert(local);
                }
                fine.insert(*list);
            }
            ExprKind::Call { callee, arguments } => {
                let name = direct_name(body, *callee);
                let name = name.as_ref().and_then(|name| name.strip_prefix("__builtin_va_"));
                if !matches!(name, Some("start" | "end" | "copy")) {
                    continue;
                }
                for argument in arguments {
                    if let ExprKind::AddressOf(list) | ExprKind::Decay(list) = body.expr(*argument).kind {
                        fine.insert(list);
                    }
                }
                if name == Some("copy") {
                    copies.push((arguments.first().copied(), arguments.get(1).copied()));
                }
            }
            _ => {}
        }
    }
    for (at, expr) in body.exprs.iter().enumerate() {
        if let ExprKind::Local(local) = expr.kind
            && !fine.contains(&ExprId(at as u32))
        {
            lists.remove(&local);
        }
    }
    lists.retain(|list| matches!(body.local(*list).ty.kind(), TypeKind::VaList));
    // Which list a copied one was.
    let of = |argument: Option<ExprId>| list_of(body, argument?);
    loop {
        let is_lost = |list: &BodyLocal| {
            copies.iter().any(|(to, from)| {
                of(*to) == Some(*list) && of(*from).is_none_or(|from| !lists.contains(&from))
            })
        };
        let lost: Vec<BodyLocal> = lists.iter().copied().filter(is_lost).collect();
        if lost.is_empty() {
            return lists;
        }
        lists.retain(|list| !lost.contains(list));
    }
}

/// The variable whose address it is.
fn list_of(body: &Body, argument: ExprId) -> Option<BodyLocal> {
    let (ExprKind::AddressOf(list) | ExprKind::Decay(list)) = body.expr(argument).kind else { return None };
    match body.expr(list).kind {
        ExprKind::Local(local) => Some(local),
        _ => None,
    }
}

fn number(value: u64) -> Expr {
    Expr::Int(i128::from(value), NUMBER)
}

fn hidden(name: &str) -> Lvalue {
    let (base, ty) = (Base::Global(Name::new(name)), Type::new(TypeKind::Int(IntKind::ULongLong)));
    Lvalue { base, path: Vec::new(), ty, scalar: Some(Scalar::Int(NUMBER)), bits: None, size: 8 }
}

/// What is read by `va_arg`; `None` if no argument is passed so.
fn kind_of_type(scalar: Option<Scalar>) -> Option<u64> {
    match scalar {
        None => Some(OF_RECORDS),
        Some(Scalar::Int(ty)) if ty.bits < 32 => None,
        Some(Scalar::Float(FloatType::F32)) => None,
        scalar => Some(kind(scalar)),
    }
}

/// The kind that a record is asked for as: it is passed as none.
const OF_RECORDS: u64 = 10;

/// What is told apart of arguments; 0 where nothing is known.
fn kind(scalar: Option<Scalar>) -> u64 {
    match scalar {
        Some(Scalar::Int(ty)) if ty.bits <= 32 => 1,
        Some(Scalar::Int(ty)) if ty.bits <= 64 => 2,
        Some(Scalar::Int(_)) => 3,
        Some(Scalar::Pointer) => 4,
        Some(Scalar::Float(FloatType::F16)) => 5,
        Some(Scalar::Float(FloatType::F32)) => 6,
        Some(Scalar::Float(FloatType::F64)) => 7,
        Some(Scalar::Float(FloatType::F80)) => 8,
        Some(Scalar::Float(FloatType::F128)) => 9,
        // Of which record it is, nothing tells.
        None => 0,
    }
}

/// The lists of which one expression reads more than one argument.
fn unordered(body: &Body) -> BTreeSet<BodyLocal> {
    let mut parents: BTreeMap<ExprId, ExprId> = BTreeMap::new();
    for (at, expr) in body.exprs.iter().enumerate() {
        parents.extend(expr.kind.operands().into_iter().map(|operand| (operand, ExprId(at as u32))));
    }
    // The entries of an initialiser have no order either.
    for stmt in &body.stmts {
        if let Stmt::Declare(_, Some(initialiser)) = stmt
            && let [first, others @ ..] = &initialiser.entries[..]
        {
            parents.extend(others.iter().map(|entry| (entry.value, first.value)));
        }
    }
    // What stands in statements within an expression is not told from the rest.
    let is_plain = !body.exprs.iter().any(|expr| matches!(expr.kind, ExprKind::StatementExpression(_)));
    let whole = |mut at: ExprId| {
        while let Some(parent) = parents.get(&at) {
            at = *parent;
        }
        is_plain.then_some(at)
    };
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    for (at, expr) in body.exprs.iter().enumerate() {
        if let ExprKind::VaArg(list) = expr.kind
            && let ExprKind::Local(list) = body.expr(list).kind
            && !seen.insert((list, whole(ExprId(at as u32))))
        {
            found.insert(list);
        }
    }
    found
}

/// The variable that has the value of an argument, counted from 0.
fn value_variable(name: &str, at: usize, scalar: Scalar, types: Types<'_>) -> Lvalue {
    let ty = types.of_scalar(scalar);
    let name = Name::new(&format!("{name}_{at}"));
    let size = types.size(ty).unwrap_or(0);
    Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar: Some(scalar), bits: None, size }
}

/// The hidden variables that one of the functions looks at.
pub(super) fn globals(functions: &[std::sync::Arc<Function>], types: Types<'_>) -> Vec<(Linkage, Global)> {
    let global = |name: Name, ty: Type, size: u64| Global {
        name,
        ty,
        linkage: Linkage::External,
        size,
        defined: true,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    };
    if !functions.iter().any(|function| counts(function)) {
        return Vec::new();
    }
    let number = |name: &str| global(Name::new(name), Type::new(TypeKind::Int(IntKind::ULongLong)), 8);
    let mut all: Vec<Global> = [COUNT, KIND, KINDS].map(number).into();
    let read: BTreeSet<u64> = functions.iter().flat_map(|function| kinds_kept(function)).collect();
    for (_, scalar, name) in VALUES.into_iter().filter(|(kind, ..)| read.contains(kind)) {
        for at in 0..MOST_VALUES {
            let variable = value_variable(name, at, scalar, types);
            let Base::Global(name) = variable.base else { continue };
            all.push(global(name, variable.ty, variable.size));
        }
    }
    all.into_iter().map(|global| (Linkage::External, global)).collect()
}

/// Whether the function looks at what its callers leave.
pub(crate) fn counts(function: &Function) -> bool {
    keeps(function, &|name| [COUNT, KIND, KINDS].contains(&name))
}

/// The kinds of the arguments whose values it looks at.
pub(crate) fn kinds_kept(function: &Function) -> BTreeSet<u64> {
    let is_kept = |of: &str| keeps(function, &|name| name.starts_with(of));
    VALUES.into_iter().filter(|(.., name)| is_kept(name)).map(|(kind, ..)| kind).collect()
}

/// Whether the function keeps one of these hidden variables where it begins.
fn keeps(function: &Function, is_it: &dyn Fn(&str) -> bool) -> bool {
    let is_left = |lvalue: &Lvalue| matches!(lvalue.base, Base::Global(name) if is_it(name.as_str()));
    // What is read and not used may have been left out.
    let takes = |op: &Op| {
        let Op::Assign(to, value) = op else { return false };
        matches!(value, Expr::Load(from) if is_left(from)) || *value == Expr::Null && is_left(to)
    };
    function.variadic && function.edges.iter().any(|edge| takes(&edge.op))
}

/// A variable that only is there where some function of the program looks at what its callers leave.
pub(crate) fn count_variable() -> Name {
    Name::new(COUNT)
}

/// The kinds whose values some function of the program looks at; `is_there` knows its variables.
pub(crate) fn kinds_of_program(is_there: &dyn Fn(Name) -> bool) -> BTreeSet<u64> {
    let is_read = |name: &str| is_there(Name::new(&format!("{name}_0")));
    VALUES.into_iter().filter(|(.., name)| is_read(name)).map(|(kind, ..)| kind).collect()
}

/// What the caller leaves before a call with these variable arguments.
pub(crate) fn left(variable: &[Option<Scalar>]) -> [Op; 3] {
    let first = variable.first().map_or(0, |scalar| kind(*scalar));
    let is_uniform = variable.iter().all(|scalar| kind(*scalar) == first);
    let kinds = variable.iter().take(MOST_KINDS).rev().fold(0, |kinds, scalar| kinds << 4 | kind(*scalar));
    let values = [(COUNT, variable.len() as u64), (KIND, if is_uniform { first } else { 0 }), (KINDS, kinds)];
    values.map(|(name, value)| Op::Assign(hidden(name), number(value)))
}

/// Where the caller leaves the value of an argument of this kind, if a function that it calls may look at it: the variable, and what it has. Where nobody knows
/// whether the callee takes it (`is_open`), no variable leads to what a pointer does.
pub(crate) fn left_value(
    at: usize,
    value: &Expr,
    read: &BTreeSet<u64>,
    types: Types<'_>,
    site: Site,
    is_open: bool,
) -> Option<Op> {
    let (_, scalar, name) =
        of_kind(value.scalar()).filter(|(kind, ..)| at < MOST_VALUES && read.contains(kind))?;
    let variable = value_variable(name, at, scalar, types);
    Some(if is_open && scalar == Scalar::Pointer {
        Op::Havoc(variable, Cause::Unmodelled(Name::new("variable argument")))
    } else {
        Op::Assign(variable, fold::cast(scalar, value.clone(), site))
    })
}

fn of_kind(scalar: Scalar) -> Option<(u64, Scalar, &'static str)> {
    let kind = kind(Some(scalar));
    VALUES.into_iter().find(|(of, ..)| *of == kind)
}

/// Where it is not known what a caller leaves, in variables of these kinds, too.
pub(crate) fn left_unknown(read: &BTreeSet<u64>, types: Types<'_>) -> Vec<Op> {
    let mut all: Vec<Lvalue> = [COUNT, KIND, KINDS].map(hidden).into();
    for (_, scalar, name) in VALUES.into_iter().filter(|(kind, ..)| read.contains(kind)) {
        all.extend((0..MOST_VALUES).map(|at| value_variable(name, at, scalar, types)));
    }
    all.into_iter().map(|variable| Op::Havoc(variable, Cause::Indeterminate)).collect()
}
