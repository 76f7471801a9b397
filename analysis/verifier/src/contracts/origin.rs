//! Where pointers of a function come from: which parameter, or which kind of load, each of its locals was made from, and how far a pointer expression is
//! from there. Flow-insensitive: a local with several origins has none. Knows no contracts but which parameters have one.

use std::{cell::OnceCell, collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, Call, Expr, Function, Loc, LocalId, Lvalue, Op, Program, Scalar, Step, Type,
    visit::{self, Mention},
};
use proofline_hir::TypeKind;
pub(super) use proofline_program_analysis::fresh::whole_pointer;

use super::{Member, opaque::Opaque, record_invariants::Rooms};

/// What a pointer was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The pointer that the caller passed as this parameter.
    Parameter(usize),
    /// A pointer that was read from a structure, by what it points to; or that a function gives which got structures, and found it there.
    Loaded(Type),
    /// The start of an object that the function allocates, of a size that differs from run to run. Of which one, its numbers know.
    Allocated,
    /// Null, or the start of a room. How many elements are there, its numbers know.
    Room,
}

/// A pointer seen from its origin.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The pointer that the steps start at.
    pub(super) root: Expr,
    /// The local that it is the value of.
    pub(super) local: Option<LocalId>,
    /// What the root was made from.
    pub(super) origin: Origin,
    /// Steps from the root, in bytes.
    pub(super) offset: Offset,
}

/// A distance in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Offset {
    /// What is known of it.
    pub(super) bytes: i128,
    /// Indices with the bytes of an element.
    pub(super) terms: Vec<(Arc<Expr>, u64)>,
}

impl Offset {
    /// None at all.
    pub(super) fn is_zero(&self) -> bool {
        self.bytes == 0 && self.terms.is_empty()
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Field { offset, .. } => self.bytes += i128::from(*offset),
            Step::Index { index, stride, .. } => match &**index {
                Expr::Int(value, _) => self.bytes += value * i128::from(*stride),
                _ => self.terms.push((index.clone(), *stride)),
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// Not assigned as far as was seen.
    Nothing,
    Only(Origin),
    Anything,
}

/// The pointer that a function gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Given {
    /// Of an argument nothing was seen yet.
    Open,
    /// Null, or one to this, which it was given, or found in structures that it was given.
    Found(Type),
    Anything,
}

/// What a call gives.
pub(super) type Results<'r> = dyn Fn(&Origins<'_>, &Call) -> Given + 'r;

/// Structures that a function is given.
#[derive(Clone, Default, Debug)]
pub(super) struct Structures {
    /// Parameters that lead to them.
    pub(super) parameters: BTreeSet<usize>,
    /// If some are trees: members that lead to what belongs to their node. Of other members nothing is known then.
    pub(super) owned: Option<BTreeSet<Member>>,
}

/// The origins of a function's locals.
pub(super) struct Origins<'f> {
    function: &'f Function,
    program: &'f Program,
    /// What is given, all that can be read from it included.
    structures: Structures,
    rooms: Rooms,
    /// Whether what is read from structures now is what callers put there.
    is_theirs: bool,
    /// What incomplete types are taken for.
    opaque: OnceCell<Opaque>,
    of: Vec<Known>,
    /// Locals that may be null.
    nullable: Vec<bool>,
    written: Vec<bool>,
}

impl<'f> Origins<'f> {
    /// Of a function some of whose pointer parameters are looked at (`may_be_null`: which are, and whether each may be null). Those in `ends` lead to
    /// what another parameter leads to, and are not null. Where pointers in structures are no longer what callers put there, `are_theirs` says, and what
    /// is called gives, `results`.
    pub(super) fn of(
        program: &'f Program,
        function: &'f Function,
        may_be_null: &[(usize, bool)],
        (structures, rooms): (Structures, Rooms),
        ends: &[(usize, usize)],
        are_theirs: &dyn Fn(Loc) -> bool,
        results: &Results<'_>,
    ) -> Origins<'f> {
        let count = function.locals.len();
        let mut origins = Origins {
            function,
            program,
            structures,
            rooms,
            is_theirs: true,
            opaque: OnceCell::new(),
            of: vec![Known::Nothing; count],
            nullable: vec![false; count],
            written: vec![false; count],
        };
        for (at, or_null) in may_be_null {
            let id = function.parameters[*at];
            origins.of[id.index()] = Known::Only(Origin::Parameter(*at));
            origins.nullable[id.index()] = *or_null;
        }
        for (start, end) in ends {
            origins.of[function.parameters[*end].index()] = Known::Only(Origin::Parameter(*start));
        }
        for id in &function.parameters {
            if origins.of[id.index()] == Known::Nothing {
                origins.of[id.index()] = Known::Anything;
            }
        }
        for (index, local) in function.locals.iter().enumerate() {
            if local.address_taken {
                origins.of[index] = Known::Anything;
            }
        }
        for index in (0..count).filter(|index| origins.rooms.has(LocalId(*index as u32))) {
            (origins.of[index], origins.nullable[index]) = (Known::Only(Origin::Room), true);
        }
        while origins.round(are_theirs, results) {}
        // Which place asks is not said any more.
        origins.is_theirs = function.edges.iter().all(|edge| are_theirs(edge.from));
        origins
    }

    /// Looks at every edge once more. Whether anything is new.
    fn round(&mut self, are_theirs: &dyn Fn(Loc) -> bool, results: &Results<'_>) -> bool {
        let mut changed = false;
        for edge in &self.function.edges {
            self.is_theirs = are_theirs(edge.from);
            if let Op::Assign(dst, value) = &edge.op
                && let Some(id) = whole_pointer(self.function, dst)
            {
                changed |= self.assigned(id, value);
                continue;
            }
            if let Op::Allocate(allocation) = &edge.op
                && let Some(id) = whole_pointer(self.function, &allocation.dst)
                && allocation.on_heap
                && (self.rooms.has(id) || !matches!(allocation.size, Expr::Int(..)))
            {
                let nullable = !std::mem::replace(&mut self.nullable[id.index()], true);
                let origin = if self.rooms.has(id) { Origin::Room } else { Origin::Allocated };
                changed |= self.joins(id, Known::Only(origin)) | self.writes(id) | nullable;
                continue;
            }
            if let Op::Call(call) = &edge.op
                && self.is_theirs
                && let Some(id) = call.dst.as_ref().and_then(|dst| whole_pointer(self.function, dst))
            {
                match results(self, call) {
                    Given::Open => {
                        changed |= self.writes(id);
                        continue;
                    }
                    Given::Found(ty) => {
                        let nullable = !std::mem::replace(&mut self.nullable[id.index()], true);
                        changed |=
                            self.joins(id, Known::Only(Origin::Loaded(ty))) | self.writes(id) | nullable;
                        continue;
                    }
                    Given::Anything => {}
                }
            }
            let mut others = Vec::new();
            visit::mentions(&edge.op, &mut |mention| {
                if let Mention::Write(Lvalue { base: Base::Local(id), .. }) = mention {
                    others.push(*id);
                }
            });
            for id in others {
                changed |= self.joins(id, Known::Anything) | self.writes(id);
            }
        }
        changed
    }

    fn writes(&mut self, id: LocalId) -> bool {
        !std::mem::replace(&mut self.written[id.index()], true)
    }

    fn assigned(&mut self, id: LocalId, value: &Expr) -> bool {
        let written = self.writes(id);
        if is_null(value) {
            return !std::mem::replace(&mut self.nullable[id.index()], true) || written;
        }
        if self.is_open(value) {
            return written;
        }
        let Some(place) = self.place(value) else { return self.joins(id, Known::Anything) || written };
        // A pointer into a structure is not a pointer to one.
        let is_lost = self.is_structure(place.origin) && !place.offset.is_zero();
        let known = if is_lost { Known::Anything } else { Known::Only(place.origin) };
        let may_be_null = self.may_be_null(&place);
        let nullable = may_be_null && !std::mem::replace(&mut self.nullable[id.index()], true);
        self.joins(id, known) || written || nullable
    }

    fn joins(&mut self, id: LocalId, new: Known) -> bool {
        let old = self.of[id.index()];
        let joined = match (old, new) {
            (Known::Nothing, new) => new,
            (old, new) if old == new => old,
            (Known::Only(a), Known::Only(b)) => self.both(a, b),
            _ => Known::Anything,
        };
        self.of[id.index()] = joined;
        joined != old
    }

    /// A pointer that the caller passed, or one that was read from where it leads: both lead to structures.
    fn both(&self, a: Origin, b: Origin) -> Known {
        let (parameter, loaded) = match (a, b) {
            (Origin::Parameter(at), Origin::Loaded(ty)) | (Origin::Loaded(ty), Origin::Parameter(at)) => {
                (at, ty)
            }
            _ => return Known::Anything,
        };
        let pointee = self.pointee(Origin::Parameter(parameter)).map(Type::unqualified);
        if self.structures.parameters.contains(&parameter) && pointee == Some(loaded) {
            Known::Only(Origin::Parameter(parameter))
        } else {
            Known::Anything
        }
    }

    /// Whether the pointer comes from a local of which nothing was seen yet.
    pub(super) fn is_open(&self, value: &Expr) -> bool {
        match value {
            Expr::Load(lvalue) => match whole_pointer(self.function, lvalue) {
                Some(id) => self.of[id.index()] == Known::Nothing,
                None => matches!(&lvalue.base, Base::Deref(pointer, _) if self.is_open(pointer)),
            },
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.is_open(arg),
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => self.is_open(pointer),
            _ => false,
        }
    }

    /// What a local leads to if it is null, or a whole structure, or text that begins there.
    pub(super) fn found(&self, id: LocalId) -> Option<Type> {
        let Known::Only(origin) = self.of[id.index()] else { return None };
        let is_text = || matches!(origin, Origin::Loaded(ty) if is_character(ty)) && !self.walks_text();
        let is_found = self.is_structure(origin) || is_text();
        is_found.then(|| self.pointee(origin).map(Type::unqualified)).flatten()
    }

    /// Whether a local gets a pointer into text, behind its start.
    fn walks_text(&self) -> bool {
        self.function.edges.iter().any(|edge| match &edge.op {
            Op::Assign(dst, value) if whole_pointer(self.function, dst).is_some() => {
                let place = self.place(value);
                place.is_some_and(|place| !self.is_structure(place.origin) && !place.offset.is_zero())
            }
            _ => false,
        })
    }

    /// The rooms of the function.
    pub(super) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Whether a local is ever written.
    pub(super) fn is_written(&self, id: LocalId) -> bool {
        self.written[id.index()]
    }

    /// Whether the root of a place may be null.
    pub(super) fn may_be_null(&self, place: &Place) -> bool {
        place.local.is_none_or(|id| self.nullable[id.index()])
    }

    /// The locals with an origin.
    pub(super) fn locals(&self) -> impl Iterator<Item = (LocalId, Origin)> {
        self.of.iter().enumerate().filter_map(|(index, known)| match known {
            Known::Only(origin) => Some((LocalId(index as u32), *origin)),
            Known::Nothing | Known::Anything => None,
        })
    }

    /// Where a pointer is, seen from its origin, if it has one.
    pub(super) fn place(&self, pointer: &Expr) -> Option<Place> {
        match pointer {
            Expr::Load(lvalue) => {
                if let Some(id) = whole_pointer(self.function, lvalue) {
                    let Known::Only(origin) = self.of[id.index()] else { return None };
                    let (root, offset) = (pointer.clone(), Offset::default());
                    return Some(Place { root, local: Some(id), origin, offset });
                }
                let origin = match self.rooms.member(lvalue) {
                    Some(_) => Origin::Room,
                    None => Origin::Loaded(self.loaded(lvalue)?),
                };
                Some(Place { root: pointer.clone(), local: None, origin, offset: Offset::default() })
            }
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.place(arg),
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), path, .. }) => {
                let mut place = self.place(pointer)?;
                path.iter().for_each(|step| place.offset.step(step));
                Some(place)
            }
            _ => None,
        }
    }

    /// What the pointer that is read there points to, if it is read from a structure.
    fn loaded(&self, lvalue: &Lvalue) -> Option<Type> {
        let Base::Deref(pointer, _) = &lvalue.base else { return None };
        if !self.is_theirs
            || lvalue.scalar != Some(Scalar::Pointer)
            || !lvalue.path.iter().any(|step| matches!(step, Step::Field { .. }))
        {
            return None;
        }
        let place = self.place(pointer)?;
        let is_named = self.is_member(place.origin, &lvalue.path) && place.offset.is_zero();
        let pointee = lvalue.ty.pointee()?.unqualified();
        let is_sized = types(self.program).size(pointee).is_some_and(|size| size > 0);
        let is_function = matches!(pointee.kind(), TypeKind::Function(_) | TypeKind::Void);
        if !is_named || is_function || !self.is_said(&lvalue.path) {
            return None;
        }
        if is_sized { Some(pointee) } else { self.opaque().taken(self.program, pointee) }
    }

    /// Whether something is said of what a member leads to.
    fn is_said(&self, path: &[Step]) -> bool {
        let Some(owned) = &self.structures.owned else { return true };
        let [Step::Field { record, offset, .. }] = path else { return false };
        owned.iter().any(|member| (member.record, member.offset) == (*record, *offset))
    }

    /// Whether some of the structures are trees, of which not everything is said.
    pub(super) fn has_trees(&self) -> bool {
        self.structures.owned.is_some()
    }

    /// Whether a pointer that is put into a member of a structure is null, or leads to what the member's type says: another structure, or a string, whole
    /// ones. (`is_text`: which parameters lead to strings.)
    pub(super) fn keeps_whole(&self, dst: &Lvalue, value: &Expr, is_text: &dyn Fn(usize) -> bool) -> bool {
        let Base::Deref(pointer, _) = &dst.base else { return false };
        let Some(to) = self.place(pointer) else { return false };
        if !self.is_member(to.origin, &dst.path) || !to.offset.is_zero() {
            return false;
        }
        let Some(member) = dst.ty.pointee().map(Type::unqualified) else { return false };
        self.leads_to_whole(value, member) || is_character(member) && self.leads_to_text(value, is_text)
    }

    /// Whether a pointer is null, or leads to a whole structure of this type.
    pub(super) fn leads_to_whole(&self, value: &Expr, pointee: Type) -> bool {
        if is_null(value) {
            return true;
        }
        let Some(from) = self.place(value) else { return false };
        let is_sized = types(self.program).size(pointee).is_some_and(|size| size > 0);
        let is_same = is_sized && self.pointee(from.origin).map(Type::unqualified) == Some(pointee);
        is_same && self.is_structure(from.origin) && from.offset.is_zero()
    }

    /// Whether a pointer is null, or leads to a string.
    pub(super) fn leads_to_text(&self, value: &Expr, is_text: &dyn Fn(usize) -> bool) -> bool {
        let Some(from) = self.place(value) else { return is_null(value) };
        let is_string = match from.origin {
            Origin::Parameter(at) => is_text(at),
            Origin::Loaded(ty) => is_character(ty),
            Origin::Allocated | Origin::Room => false,
        };
        is_string && from.offset.is_zero()
    }

    /// What incomplete types are taken for.
    pub(super) fn opaque(&self) -> &Opaque {
        self.opaque.get_or_init(|| Opaque::of(self.program))
    }

    /// Whether a pointer leads to the start of a structure.
    pub(super) fn is_whole(&self, value: &Expr) -> bool {
        self.place(value).is_some_and(|place| self.is_structure(place.origin) && place.offset.is_zero())
    }

    /// Whether a pointer of this origin must be where it was to be known.
    fn is_structure(&self, origin: Origin) -> bool {
        match origin {
            Origin::Parameter(at) => self.structures.parameters.contains(&at),
            Origin::Loaded(ty) => !is_character(ty),
            Origin::Allocated | Origin::Room => false,
        }
    }

    /// Whether the steps lead to a member of the structure's own type, through no union.
    fn is_member(&self, origin: Origin, path: &[Step]) -> bool {
        let Some(TypeKind::Record(tag)) = self.pointee(origin).map(Type::kind) else { return false };
        let is_plain = path.iter().all(|step| match step {
            Step::Field { record, .. } => {
                types(self.program).record(*record).is_some_and(|record| !record.is_union)
            }
            Step::Index { .. } => true,
        });
        let is_own = matches!(path.first(), Some(Step::Field { record, .. }) if record == tag);
        self.is_structure(origin) && is_own && is_plain
    }

    /// What a pointer of this origin points to, as its type says.
    pub(super) fn pointee(&self, origin: Origin) -> Option<Type> {
        match origin {
            Origin::Parameter(at) => self.function.local(*self.function.parameters.get(at)?).ty.pointee(),
            Origin::Loaded(ty) => Some(ty),
            Origin::Allocated | Origin::Room => None,
        }
    }
}

/// Sizes of the program's types.
pub(super) fn types(program: &Program) -> proofline_cfa::Types<'_> {
    proofline_cfa::Types { records: &program.records, model: program.data_model }
}

/// The type of the elements of an array, of other types itself.
pub(super) fn element(ty: Type) -> Type {
    let mut ty = ty.unqualified();
    while let TypeKind::Array(element, _) = ty.kind() {
        ty = element.unqualified();
    }
    ty
}

/// Characters: what strings are made of.
pub(super) fn is_character(ty: Type) -> bool {
    matches!(proofline_cfa::scalar_of(ty, proofline_syntax::DataModel::Lp64), Some(Scalar::Int(int)) if int.bits == 8)
}

fn is_null(value: &Expr) -> bool {
    match value {
        Expr::Null => true,
        Expr::Cast(Scalar::Pointer, arg, _) => is_null(arg) || matches!(**arg, Expr::Int(0, _)),
        _ => false,
    }
}
