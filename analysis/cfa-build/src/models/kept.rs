//! Records that the library keeps and gives the address of: `localtime`, `readdir`, `getpwnam`. Each call may write over what an earlier one gave, or
//! give another one, so there are two of each. Those of `readdir` are parts of what `opendir` has given, for they end where `closedir` ends that.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Approximation, Argument, Base, Callee, Cause, CompareOp, Expr, Function, Global, Linkage, Lvalue, Op,
    Step, Type, Types,
};
use proofline_hir::{
    Name, TypeKind,
    types::{ArrayLength, IntKind},
};

use super::{
    Library,
    apply::Pass,
    effect::{MemberRange, OrNull, Outcome},
    emit::Emitter,
};
use crate::lower::fold;

/// Which records, and who gives them.
pub(super) struct Kept<'m> {
    /// Functions with this name share them.
    pub(super) of: Name,
    pub(super) by: Name,
    /// Members that point to characters point to strings.
    pub(super) has_texts: bool,
    /// Members that are numbers of a range.
    pub(super) ranges: &'m [MemberRange],
    /// The object that they are parts of, if they are no objects of their own.
    pub(super) part_of: Option<Expr>,
}

/// So far behind the one the other begins, where they are parts of an object. No such record is larger.
const DISTANCE: i128 = 4096;

impl Pass<'_, '_> {
    /// The pointer gets the address of one of the records, whose members are any values then; or null.
    pub(super) fn kept_record(
        &mut self,
        kept: Kept<'_>,
        or_null: OrNull,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        if kept.has_texts {
            self.rests_on_texts(kept.by);
        }
        let ty = dst.as_ref().and_then(|dst| record(dst, self.emitter.types));
        let records = ty.and_then(|(ty, size)| self.two_records(&kept, ty, size));
        let (Some([first, second]), Some(dst)) = (records, dst.clone()) else {
            // Written they are all the same.
            match &kept.part_of {
                Some(object) => {
                    let size = Expr::Int(2 * DISTANCE, self.emitter.types.size_t());
                    self.emitter.emit(Op::HavocBytes(object.clone(), size, cause));
                }
                None => {
                    for record in self.known_records(kept.of) {
                        self.rewrite(&record, &kept, cause);
                    }
                }
            }
            return dst.into_iter().for_each(|dst| self.emitter.havoc(dst, cause));
        };
        // Any values may be what was there before, too.
        for record in [&first, &second] {
            self.rewrite(record, &kept, cause);
        }
        let either = |emitter: &mut Emitter<'_>| {
            let [one, other] = [first, second].map(|record| Op::Assign(dst.clone(), Expr::Address(record)));
            emitter.either(cause, |emitter| emitter.emit(other), |emitter| emitter.emit(one));
        };
        self.unless_null(or_null, arguments, dst.clone(), cause, either);
    }

    /// The library has room for one text (C11 7.24.6.2, 7.27.3): a later call may write over what this one gives.
    pub(super) fn rests_on_texts(&mut self, by: Name) {
        let what = Name::new(&format!("what `{by}` gives is not written over by a later call"));
        let site = self.emitter.site;
        let known = &mut self.emitter.function.approximations;
        if !known.iter().any(|known| known.what == what) {
            known.push(Approximation { what, site });
        }
    }

    fn two_records(&mut self, kept: &Kept<'_>, ty: Type, size: u64) -> Option<[Lvalue; 2]> {
        if let Some(object) = &kept.part_of {
            let site = self.emitter.site;
            let at = |offset: i128| {
                let index = Arc::new(Expr::Int(offset, self.emitter.types.ptrdiff_t()));
                let step = Step::Index { index, stride: 1, length: None, site };
                let base = Base::Deref(Arc::new(object.clone()), site);
                Lvalue { base, path: vec![step], ty, scalar: None, bits: None, size }
            };
            return Some([at(0), at(DISTANCE)]);
        }
        // Files that mean something else by the type have another record.
        let known = self.kept.get(&Name::new(&format!("#{}", kept.of)));
        if known.is_some_and(|known| known.ty != ty) {
            return None;
        }
        Some(names(kept.of).map(|name| {
            self.kept.entry(name).or_insert_with(|| object(name, ty, size));
            Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar: None, bits: None, size }
        }))
    }

    fn rewrite(&mut self, record: &Lvalue, kept: &Kept<'_>, cause: Cause) {
        self.emitter.emit(Op::Havoc(record.clone(), cause));
        self.emitter.fill_texts(record, kept, cause);
        self.members_in_range(&Expr::Address(record.clone()), kept.ranges);
    }

    /// What earlier calls gave the address of has any values now; of which ranges is not known here.
    pub(super) fn write_records(&mut self, of: Name, cause: Cause) {
        for record in self.known_records(of) {
            self.emitter.havoc(record, cause.guess());
        }
    }

    fn known_records(&self, of: Name) -> Vec<Lvalue> {
        let known = names(of).into_iter().filter_map(|name| self.kept.get(&name));
        known
            .map(|known| {
                let (base, ty, size) = (Base::Global(known.name), known.ty, known.size);
                Lvalue { base, path: Vec::new(), ty, scalar: None, bits: None, size }
            })
            .collect()
    }
}

/// The records that the calls of these functions give.
pub(super) fn of_calls(
    functions: &BTreeMap<Name, Arc<Function>>,
    types: Types<'_>,
    library: &Library,
) -> BTreeMap<Name, Global> {
    let mut found = BTreeMap::new();
    for call in functions.values().flat_map(|function| &function.edges).filter_map(|edge| edge.op.call()) {
        let (Callee::Direct(name), Some(dst)) = (&call.callee, &call.dst) else { continue };
        let model = library.model(name).filter(|_| !functions.contains_key(name));
        let Some(Outcome::Record { of, part_of: None, .. }) = model.and_then(|model| model.result.as_ref())
        else {
            continue;
        };
        let Some((ty, size)) = record(dst, types) else { continue };
        for name in names(*of) {
            found.entry(name).or_insert_with(|| object(name, ty, size));
        }
    }
    found
}

/// The record that a pointer is to, and its size.
fn record(pointer: &Lvalue, types: Types<'_>) -> Option<(Type, u64)> {
    let ty = pointer.ty.pointee().map(Type::unqualified)?;
    let size = types.size(ty).filter(|size| *size > 0 && matches!(ty.kind(), TypeKind::Record(_)))?;
    Some((ty, size))
}

/// What the two records are called.
fn names(of: Name) -> [Name; 2] {
    ["", "'"].map(|mark| Name::new(&format!("#{of}{mark}")))
}

impl Emitter<'_> {
    /// Members of a record that are strings, or point to strings.
    fn fill_texts(&mut self, record: &Lvalue, kept: &Kept<'_>, cause: Cause) {
        let TypeKind::Record(tag) = record.ty.kind() else { return };
        let Some(layout) = self.types.record(*tag).filter(|layout| !layout.is_union) else { return };
        for field in layout.fields.iter().filter(|field| field.bits.is_none()) {
            let mut member = record.clone();
            member.path.push(Step::Field { record: *tag, name: field.name, offset: field.offset });
            (member.ty, member.scalar) = (field.ty, self.types.scalar(field.ty));
            member.size = self.types.size(field.ty).unwrap_or(0);
            match field.ty.kind() {
                TypeKind::Pointer(to) if is_character(*to) && kept.has_texts => {
                    self.emit(Op::Havoc(member, Cause::Text(kept.by)));
                }
                // What such members lead to is not described here.
                TypeKind::Pointer(_) => self.emit(Op::Havoc(member, Cause::Unmodelled(kept.by))),
                TypeKind::Array(of, ArrayLength::Fixed(length)) if is_character(*of) && *length > 0 => {
                    self.end_in(&member, *of, *length, cause);
                }
                _ => {}
            }
        }
    }

    /// A 0 somewhere among the characters of an array.
    fn end_in(&mut self, array: &Lvalue, of: Type, length: u64, cause: Cause) {
        let size_t = self.types.size_t();
        let end = self.any_size(cause);
        let in_array = fold::compare(CompareOp::Lt, end.clone(), Expr::Int(i128::from(length), size_t));
        self.emit(Op::Assume(in_array));
        let mut character = array.clone();
        character.path.push(Step::Index {
            index: Arc::new(end),
            stride: 1,
            length: Some(length),
            site: self.site,
        });
        (character.ty, character.scalar, character.size) = (of, self.types.scalar(of), 1);
        self.emit(Op::FillBytes(Expr::Address(character), Expr::int(0), Expr::Int(1, size_t)));
    }
}

fn is_character(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar))
}

fn object(name: Name, ty: Type, size: u64) -> Global {
    Global {
        name,
        ty,
        size,
        linkage: Linkage::Internal,
        defined: true,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}
