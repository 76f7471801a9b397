//! Types that memory of another type may be taken for, as the text says: `struct number *n = (struct number *)node;`. What is written through such a pointer
//! may be anything, pointers of another structure included, and a pointer that is read through it leads anywhere. So it is where pointers step
//! along the elements of a member of a structure: behind its last one they lead to other members. Types that the program does not complete are
//! taken for what they are (`opaque`).
//!
//! **Law.** Where the run begins, pointers lead to what their types say, as C's rules of aliasing ask of callers; what earlier runs have left in static
//! pointers may lead anywhere (`writes`). In the functions that are looked at, a pointer to a type that is not here leads to an object of that type.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Argument, Base, Cause, Constant, EdgeId, Expr, Function, Lvalue, Name, Op, Program, Role, Scalar, Step,
    Type, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::{Environment, fresh::Fresh};

use super::{
    opaque::Opaque,
    origin::{element, is_character, types},
    writes::may_be_callers,
};

/// The types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Punned(BTreeSet<Shape>);

/// What a pointer leads to, as the types of what it is read from say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Nothing,
    Only(Type),
    Anything,
}

impl Source {
    fn shape(self) -> Option<Shape> {
        if let Source::Only(ty) = self { Some(Shape::of(ty)) } else { None }
    }
}

impl Punned {
    /// In these functions.
    pub(super) fn of(env: &Environment, fresh: &Fresh, functions: &BTreeSet<Name>) -> Punned {
        let opaque = Opaque::of(env.program());
        let mut maker = Maker { env, fresh, opaque, found: Found::default() };
        maker.constants();
        loop {
            let before = maker.found.clone();
            for body in functions.iter().filter_map(|name| env.function(*name)) {
                for (id, edge) in body.edge_ids() {
                    maker.see(body, id, &edge.op);
                }
            }
            maker.found.join();
            if maker.found == before {
                return maker.found.punned;
            }
        }
    }

    /// Whether what is at a place is of the type that it is read and written as, and of no other.
    pub(super) fn is_typed(&self, program: &Program, body: &Function, place: &Lvalue) -> bool {
        let shape = Shape::of_place(place);
        match &place.base {
            Base::Local(id) if !body.local(*id).address_taken => true,
            Base::Local(_) | Base::Global(_) => !self.0.contains(&shape),
            Base::Deref(pointer, _) => {
                !self.0.contains(&shape)
                    && match self.source(program, body, pointer) {
                        Source::Only(ty) => Shape::of(ty) == shape,
                        Source::Nothing => true,
                        Source::Anything => false,
                    }
            }
        }
    }

    /// What a pointer leads to.
    fn source(&self, program: &Program, body: &Function, pointer: &Expr) -> Source {
        match pointer {
            Expr::Null | Expr::Int(0, _) | Expr::Function(_) => Source::Nothing,
            // A union has several types.
            Expr::Load(lvalue) | Expr::Address(lvalue) if through_union(program, lvalue) => Source::Anything,
            Expr::Load(lvalue) if !self.is_typed(program, body, lvalue) => Source::Anything,
            Expr::Load(lvalue) => source_of(lvalue.ty),
            Expr::Address(lvalue) => Source::Only(element(lvalue.ty)),
            Expr::Cast(Scalar::Pointer, arg, _) => self.source(program, body, arg),
            _ => Source::Anything,
        }
    }
}

/// A type: so many pointers in front of one that is no pointer, whatever arrays are between.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Shape {
    pointers: usize,
    pub(super) last: Type,
}

impl Shape {
    pub(super) fn of(ty: Type) -> Shape {
        let (mut pointers, mut last) = (0, element(ty));
        while let Some(pointee) = last.pointee() {
            (pointers, last) = (pointers + 1, element(pointee));
        }
        Shape { pointers, last }
    }

    /// Of the object that a place is a part of: the record of the first member, or what is there itself.
    pub(super) fn of_place(place: &Lvalue) -> Shape {
        let record = place.path.iter().find_map(|step| match step {
            Step::Field { record, .. } => Some(Type::new(TypeKind::Record(*record))),
            Step::Index { .. } => None,
        });
        Shape::of(record.unwrap_or(place.ty))
    }

    pub(super) fn is_record(self) -> bool {
        self.pointers == 0 && matches!(self.last.kind(), TypeKind::Record(_))
    }

    /// Whether it has, or is, a pointer.
    fn holds_pointers(self) -> bool {
        self.pointers > 0 || self.is_record()
    }

    /// Bytes, or anything.
    fn is_nothing(self) -> bool {
        self.pointers == 0 && (matches!(self.last.kind(), TypeKind::Void) || is_character(self.last))
    }
}

/// What is found in the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Found {
    punned: Punned,
    /// Records of the run's own that pointers to something without a type lead to.
    lost: BTreeSet<Shape>,
    /// What memory without a type is taken for.
    gained: BTreeSet<Shape>,
    /// Bytes come into memory without a type from elsewhere.
    is_copied: bool,
    /// What memory that was allocated is taken for, by the function and the variable that leads there; all that have a name in the text together.
    taken: BTreeMap<(Name, Option<Name>), BTreeSet<Shape>>,
    /// What pointers into structures lead to.
    inner: BTreeSet<Shape>,
    /// What pointers step along.
    stepped: BTreeSet<Shape>,
}

impl Found {
    /// One object may be taken for two types, and what pointers step along may lie behind an array.
    fn join(&mut self) {
        let Found { punned: Punned(punned), lost, gained, is_copied, taken, inner, stepped } = self;
        let is_other = |one: &Shape, all: &BTreeSet<Shape>| all.iter().any(|other| other != one);
        punned.extend(lost.iter().copied().filter(|shape| *is_copied || is_other(shape, gained)));
        punned.extend(gained.iter().copied().filter(|shape| is_other(shape, lost)));
        punned.extend(taken.values().filter(|shapes| shapes.len() > 1).flatten().copied());
        punned.extend(inner.intersection(stepped).copied());
    }
}

struct Maker<'e> {
    env: &'e Environment,
    fresh: &'e Fresh,
    opaque: Opaque,
    found: Found,
}

impl Maker<'_> {
    /// Constant pointers that begin with the address of an object of another type.
    fn constants(&mut self) {
        let program = self.env.program();
        for global in program.globals.values().filter(|global| global.constant) {
            let mut shapes = BTreeSet::new();
            pointees(program, global.ty, &mut shapes);
            let leads = global.init.iter().filter_map(|initial| match &initial.value {
                Constant::Address(target, _) => program.globals.get(target),
                Constant::Int(_) | Constant::Float(_) | Constant::Function(_) | Constant::Unknown => None,
            });
            let is_other = |target: Shape| target.holds_pointers() && !shapes.contains(&target);
            let mut targets = leads.map(|target| Shape::of(target.ty));
            if targets.any(is_other) {
                self.found.punned.0.extend(shapes);
            }
        }
    }

    fn see(&mut self, body: &Function, id: EdgeId, op: &Op) {
        visit::mentions(op, &mut |mention| {
            if let visit::Mention::Read(place) | visit::Mention::Write(place) = mention {
                self.steps(place);
            }
        });
        visit::exprs(op, &mut |part| {
            if let Expr::Load(place) | Expr::Address(place) = part {
                self.steps(place);
            }
        });
        match op {
            Op::Assign(dst, value) => self.passes(body, dst.ty, value),
            Op::Call(call) => {
                let env = self.env;
                let callees = env.call_graph().call(body.name, id).into_iter().flat_map(|to| &to.functions);
                for callee in callees.filter_map(|name| env.function(*name)) {
                    for (id, argument) in callee.parameters.iter().zip(&call.arguments) {
                        if let Argument::Value(value) = argument {
                            self.passes(body, callee.local(*id).ty, value);
                        }
                    }
                    let to = call.dst.as_ref().and_then(|dst| dst.ty.pointee());
                    if let (Some(to), Some(id)) = (to, callee.result) {
                        self.is_taken(Shape::of(to), source_of(callee.local(id).ty));
                    }
                }
            }
            // What code outside gives is of any type; what has no value is not used.
            Op::Havoc(dst, cause) if !matches!(cause, Cause::Indeterminate) => {
                if let Some(to) = dst.ty.pointee() {
                    self.is_taken(Shape::of(to), Source::Anything);
                }
            }
            Op::CopyBytes(to, from, _) => {
                let from = self.source(body, from);
                self.is_filled(body, to, from);
            }
            Op::HavocBytes(to, ..) => self.is_filled(body, to, Source::Anything),
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::FillBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }

    fn source(&self, body: &Function, pointer: &Expr) -> Source {
        self.found.punned.source(self.env.program(), body, pointer)
    }

    /// A place that is other elements away from where a pointer leads.
    fn steps(&mut self, place: &Lvalue) {
        let Base::Deref(pointer, _) = &place.base else { return };
        let is_step =
            |step: &Step| matches!(step, Step::Index { index, .. } if !matches!(**index, Expr::Int(0, _)));
        if place.path.first().is_some_and(is_step) {
            let shape = Shape::of_place(place);
            self.found.stepped.insert(shape);
            if inner(pointer).is_some() {
                self.found.inner.insert(shape);
            }
        }
    }

    /// Whether the run may have made what a pointer leads to. (Where a pointer is put into memory of callers, all that is known of theirs ends.)
    fn is_own(&self, body: &Function, value: &Expr) -> bool {
        let targets = self.env.targets(body.name, value);
        let mut objects = targets.objects.iter();
        self.fresh.is_fresh(body, value) || objects.any(|object| !may_be_callers(self.env, *object))
    }

    /// A pointer of this type gets a value.
    fn passes(&mut self, body: &Function, to: Type, value: &Expr) {
        let Some(to) = to.pointee().map(Shape::of) else { return };
        self.found.inner.extend(inner(value));
        let from = self.source(body, value);
        if let Some(from) = from.shape().filter(|from| from.holds_pointers() && !self.is_same(to, *from))
            && (from.pointers > 0 || self.is_own(body, value))
        {
            let is_lost = to.pointers == 0 && matches!(to.last.kind(), TypeKind::Void);
            let into = if is_lost { &mut self.found.lost } else { &mut self.found.punned.0 };
            into.insert(from);
        }
        let has_no_type = from == Source::Anything || from.shape().is_some_and(Shape::is_nothing);
        if !self.fresh.is_fresh(body, value) || !has_no_type {
            self.is_taken(to, from);
        } else if !to.is_nothing() {
            // What was just allocated has the type that it is taken for first.
            self.found.gained.insert(to);
            self.found.taken.entry((body.name, variable(body, value))).or_default().insert(to);
        }
    }

    /// A pointer that leads there by its type leads where another one led.
    fn is_taken(&mut self, to: Shape, from: Source) {
        if to.is_nothing() {
            return;
        }
        let is_other = match from {
            Source::Nothing => false,
            Source::Only(from) => {
                let from = Shape::of(from);
                !self.is_same(to, from) || from != to && self.found.punned.0.contains(&from)
            }
            Source::Anything => true,
        };
        if is_other {
            self.found.punned.0.insert(to);
            if from.shape().is_none_or(Shape::is_nothing) {
                self.found.gained.insert(to);
            }
        }
    }

    /// Whether two types are one, a type that the program does not complete and what it takes that for included.
    fn is_same(&self, to: Shape, from: Shape) -> bool {
        let taken = |ty: Type| self.opaque.taken(self.env.program(), ty);
        let is_one =
            to.last == from.last || taken(to.last) == Some(from.last) || taken(from.last) == Some(to.last);
        to.pointers == from.pointers && is_one
    }

    /// Bytes come there.
    fn is_filled(&mut self, body: &Function, to: &Expr, from: Source) {
        match self.source(body, to).shape() {
            Some(to) if !to.is_nothing() => {
                if to.holds_pointers() && from.shape() != Some(to) {
                    self.found.punned.0.insert(to);
                }
            }
            Some(_) | None => self.found.is_copied = true,
        }
    }
}

/// What the address of a part of a structure leads to.
fn inner(pointer: &Expr) -> Option<Shape> {
    match pointer {
        Expr::Address(place) => {
            let is_member = place.path.iter().any(|step| matches!(step, Step::Field { .. }));
            is_member.then(|| Shape::of(place.ty))
        }
        Expr::Cast(Scalar::Pointer, arg, _) => inner(arg),
        _ => None,
    }
}

/// The variable that a value is read from, if the text does not name it.
fn variable(body: &Function, value: &Expr) -> Option<Name> {
    match value {
        Expr::Load(Lvalue { base: Base::Local(id), .. }) => {
            let local = body.local(*id);
            (local.role == Role::Temporary).then(|| Name::new(&format!("{}#{}", local.name, id.0)))
        }
        Expr::Cast(Scalar::Pointer, arg, _) => variable(body, arg),
        _ => None,
    }
}

/// What a pointer of this type leads to.
fn source_of(pointer: Type) -> Source {
    pointer.pointee().map_or(Source::Anything, |pointee| Source::Only(element(pointee)))
}

pub(super) fn through_union(program: &Program, place: &Lvalue) -> bool {
    place.path.iter().any(|step| match step {
        Step::Field { record, .. } => types(program).record(*record).is_none_or(|record| record.is_union),
        Step::Index { .. } => false,
    })
}

/// What pointers in an object of this type lead to.
fn pointees(program: &Program, ty: Type, shapes: &mut BTreeSet<Shape>) {
    let ty = element(ty);
    if let Some(pointee) = ty.pointee() {
        shapes.insert(Shape::of(pointee));
    } else if let TypeKind::Record(tag) = ty.kind() {
        // A record holds others by value, so it does not hold itself.
        for field in types(program).record(*tag).into_iter().flat_map(|record| &record.fields) {
            pointees(program, field.ty, shapes);
        }
    }
}
