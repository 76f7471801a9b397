//! Strings that library functions copy: how long they are, where they go, and that they do not lie where they are written to.

use std::sync::Arc;

use proofline_cfa::{
    Argument, Base, BinaryOp, Cause, CompareOp, Expr, IntType, Lvalue, MemoryPredicate, Name, Op, Program,
    Quantity, Scalar, Site, Step, Type,
};
use proofline_hir::{TypeKind, types::IntKind};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Characters, Factor, Inside, Size},
    emit::Emitter,
    format,
};
use crate::lower::fold;

/// No string has more characters: no processor has addresses for them.
const LONGEST: i128 = 1 << 55;

/// A string that is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Put {
    pub(super) to: usize,
    pub(super) from: usize,
    /// Behind the string that is there, not at its start.
    pub(super) is_behind: bool,
    /// At most so many characters.
    pub(super) within: Option<Size>,
    pub(super) end: End,
    pub(super) characters: Characters,
}

/// What comes behind the characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A character 0.
    Zero,
    /// As many characters 0 as make it up to the whole number.
    Padded,
    /// A character 0, which counts.
    Cut,
}

/// A length that the call at hand has asked for: of which string, within how many characters.
pub(super) type KnownLength = (Expr, Option<Expr>, Characters, Expr);

impl Characters {
    /// Bytes of one.
    pub(super) fn bytes(self) -> i128 {
        match self {
            Characters::Bytes => 1,
            Characters::Wide => 4,
        }
    }

    /// What says that a string of them ends.
    pub(super) fn terminated(self) -> MemoryPredicate {
        match self {
            Characters::Bytes => MemoryPredicate::Terminated,
            Characters::Wide => MemoryPredicate::WideTerminated,
        }
    }

    /// How many characters a literal has before its end; `None` if the address is not that of one.
    pub(super) fn literal(self, program: &Program, string: &Expr) -> Option<i128> {
        let length = match self {
            Characters::Bytes => format::literal(program, string)?.len(),
            Characters::Wide => format::wide_literal(program, string)?.len(),
        };
        Some(length as i128)
    }
}

impl Emitter<'_> {
    /// The pointer gets an address [inside](Self::inside_of) something. In a string that is not before the place where the search began, and, if a
    /// string is there, not behind its end.
    pub(super) fn put_inside(&mut self, dst: Lvalue, address: Expr, inside: Inside) {
        if let (Inside::String, Expr::Address(Lvalue { path, .. })) = (inside, &address)
            && let Some(Step::Index { index, .. }) = path.last()
        {
            let index = Expr::clone(index);
            self.assume_range(&index, 0, LONGEST.min(self.types.ptrdiff_t().max()));
        }
        let size = Arc::new(Expr::Int(0, self.types.size_t()));
        let ends =
            |pointer: Expr| Expr::Memory(MemoryPredicate::Terminated, Arc::new(pointer), Arc::clone(&size));
        let searched = match &address {
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => Some(Expr::clone(pointer)),
            _ => None,
        };
        let assign = Op::Assign(dst.clone(), address);
        let found = match self.finds_character() {
            true => behind(&Expr::Load(dst), Expr::Int(1, self.types.size_t()), self.site),
            false => Expr::Load(dst),
        };
        match searched.filter(|_| inside == Inside::String) {
            // Whoever does not ask whether it is one loses no runs in which it is none.
            Some(string) => self.if_else(
                ends(string.clone()),
                |emitter| {
                    emitter.goes_no_further(&string, &assign);
                    emitter.emit(assign.clone());
                    emitter.emit(Op::Assume(ends(found)));
                },
                |emitter| emitter.emit(assign.clone()),
            ),
            None => self.emit(assign),
        }
    }
}

impl Emitter<'_> {
    /// The address that is assigned is not behind the end of the string, which is so far from its start as the string is long. (What a search finds has
    /// a quantity of its own.)
    fn goes_no_further(&mut self, string: &Expr, assign: &Op) {
        let Op::Assign(_, Expr::Address(Lvalue { path, .. })) = assign else { return };
        let is_search = !matches!(self.exactly, None | Some((Quantity::NumberEnd | Quantity::FloatEnd, _)));
        let Some(Step::Index { index, .. }) = path.last().filter(|_| !is_search) else { return };
        let index = Expr::clone(index);
        let before = self.exactly.replace((Quantity::StringLength, vec![string.clone()]));
        let length = self.any_size(Cause::Unmodelled(Name::new(Quantity::StringLength.name())));
        self.exactly = before;
        let index = fold::cast(length.scalar(), index, self.site);
        self.emit(Op::Assume(fold::compare(CompareOp::Le, index, length)));
    }

    /// Whether what is found is a character that does not end the string, so that the string goes on behind it.
    fn finds_character(&self) -> bool {
        match &self.exactly {
            Some((Quantity::FirstCharacter | Quantity::LastCharacter, arguments)) => {
                let character =
                    arguments.get(1).map(|character| fold::cast(BYTE, character.clone(), self.site));
                matches!(character, Some(Expr::Int(code, _)) if code != 0)
            }
            Some((Quantity::FirstOfSet, _)) => true,
            _ => false,
        }
    }
}

/// A character.
const BYTE: Scalar = Scalar::Int(IntType { bits: 8, signed: true });

impl Pass<'_, '_> {
    /// The length of a string in characters, of `size_t`; at most so much.
    pub(super) fn length_of(&mut self, string: &Expr, within: Option<Expr>, characters: Characters) -> Expr {
        let size_t = self.emitter.types.size_t();
        match (characters.literal(self.program, string), &within) {
            (Some(length), None) => return Expr::Int(length, size_t),
            (Some(length), Some(Expr::Int(most, _))) => return Expr::Int(*most.min(&length), size_t),
            _ => {}
        }
        let known = self
            .lengths
            .iter()
            .find(|(of, most, kind, _)| (of, most, *kind) == (string, &within, characters));
        if let Some((.., length)) = known {
            return length.clone();
        }
        let (quantity, arguments) = match (&within, characters) {
            (Some(most), Characters::Bytes) => (Quantity::BoundedLength, vec![string.clone(), most.clone()]),
            (None, Characters::Bytes) => (Quantity::StringLength, vec![string.clone()]),
            (Some(most), Characters::Wide) => (Quantity::WideBounded, vec![string.clone(), most.clone()]),
            (None, Characters::Wide) => (Quantity::WideLength, vec![string.clone()]),
        };
        let length = self.computed_size(quantity, arguments);
        let most = self.emitter.types.ptrdiff_t().max() / characters.bytes();
        self.emitter.assume_range(&length, 0, most);
        if let Some(most) = &within {
            self.emitter.emit(Op::Assume(fold::compare(CompareOp::Le, length.clone(), most.clone())));
        }
        self.lengths.push((string.clone(), within, characters, length.clone()));
        length
    }

    /// A number of `size_t` that follows from the program's state.
    pub(super) fn computed_size(&mut self, quantity: Quantity, arguments: Vec<Expr>) -> Expr {
        let before = self.emitter.exactly.replace((quantity, arguments));
        let cause = Cause::Unmodelled(Name::new(quantity.name()));
        let number = self.emitter.any_size(cause);
        self.emitter.exactly = before;
        number
    }

    /// So many characters in bytes.
    pub(super) fn bytes_of(&self, characters: Expr, kind: Characters) -> Expr {
        match kind {
            Characters::Bytes => characters,
            Characters::Wide => {
                let width = Expr::Int(kind.bytes(), self.emitter.types.size_t());
                fold::binary(BinaryOp::Mul, characters, width, self.emitter.site)
            }
        }
    }

    /// Copies the string.
    pub(super) fn put_string(&mut self, put: &Put, arguments: &[Argument], cause: Cause) {
        let (Some(to), Some(from)) = (pointer(arguments, put.to), pointer(arguments, put.from)) else {
            return;
        };
        let size_t = self.emitter.types.size_t();
        let (site, one) = (self.emitter.site, Expr::Int(1, size_t));
        let within = put.within.as_ref().map(|size| self.size(size, arguments, cause));
        // What is cut has no more room than there is behind the string that is there.
        let counted = within.clone().filter(|_| put.end == End::Cut);
        let before = match put.is_behind {
            true => self.length_of(&to, counted.clone(), put.characters),
            false => Expr::Int(0, size_t),
        };
        let within = match counted {
            Some(all) if put.is_behind => Some(fold::binary(BinaryOp::Sub, all, before.clone(), site)),
            _ => within,
        };
        let place = behind(&to, self.bytes_of(before, put.characters), site);
        match (put.end, within) {
            (End::Padded, Some(within)) => {
                let length = self.length_of(&from, Some(within.clone()), put.characters);
                let bytes = self.bytes_of(length.clone(), put.characters);
                self.copy_bytes(&place, &from, bytes.clone());
                let rest = fold::binary(BinaryOp::Sub, within, length, site);
                let rest = self.bytes_of(rest, put.characters);
                if !matches!(rest, Expr::Int(0, _)) {
                    self.emitter.emit(Op::FillBytes(behind(&place, bytes, site), Expr::int(0), rest));
                }
            }
            (End::Cut, Some(within)) => {
                let is_room = fold::compare(CompareOp::Ne, within.clone(), within.zero());
                let most = fold::binary(BinaryOp::Sub, within, one, site);
                match is_room {
                    Expr::Int(0, _) => {}
                    Expr::Int(..) => self.put_whole(&place, &from, Some(most), put.characters),
                    is_room => {
                        let (start, join) = (self.emitter.at, self.emitter.location());
                        self.emitter.connect(Op::Assume(is_room.negated()), join);
                        self.emitter.at = start;
                        self.emitter.emit(Op::Assume(is_room));
                        let known = self.lengths.len();
                        self.put_whole(&place, &from, Some(most), put.characters);
                        self.lengths.truncate(known);
                        self.emitter.connect(Op::Skip, join);
                        self.emitter.at = join;
                    }
                }
            }
            (End::Zero | End::Padded | End::Cut, within) => {
                self.put_whole(&place, &from, within, put.characters);
            }
        }
    }

    /// Copies characters, and a 0 behind them.
    pub(super) fn put_whole(&mut self, to: &Expr, from: &Expr, within: Option<Expr>, characters: Characters) {
        let length = self.length_of(from, within, characters);
        let bytes = self.bytes_of(length, characters);
        self.copy_bytes(to, from, bytes.clone());
        let width = Expr::Int(characters.bytes(), self.emitter.types.size_t());
        let end = behind(to, bytes, self.emitter.site);
        self.emitter.emit(Op::FillBytes(end, Expr::int(0), width));
    }

    /// `wmemset`: one character is copied, then as many as there are, until so many bytes are reached.
    pub(super) fn fill_wide(
        &mut self,
        to: usize,
        character: Factor,
        size: &Size,
        arguments: &[Argument],
        cause: Cause,
    ) {
        let character = match character {
            Factor::Number(number) => Some(Expr::int(number)),
            Factor::Long => Some(self.emitter.bytes_of_long()),
            Factor::Argument(at) => value(arguments, at),
        };
        let (Some(to), Some(character)) = (pointer(arguments, to), character) else { return };
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let size = self.size(size, arguments, cause);
        match (&character, &size) {
            (_, Expr::Int(0, _)) => {}
            (Expr::Int(0, _), _) => self.emitter.emit(Op::FillBytes(to, Expr::int(0), size)),
            (_, Expr::Int(bytes, _)) => {
                let first = self.emitter.temporary(Type::int());
                let character = fold::cast(Scalar::Int(IntType::INT), character, site);
                self.emitter.emit(Op::Assign(first.clone(), character));
                let number = |bytes: i128| Expr::Int(bytes, size_t);
                self.copy_bytes(&to, &Expr::Address(first), number(4.min(*bytes)));
                let mut done = 4;
                while done < *bytes {
                    let more = done.min(bytes - done);
                    self.copy_bytes(&behind(&to, number(done), site), &to, number(more));
                    done += more;
                }
            }
            _ => {
                let cause = Cause::Unmodelled(Name::new("wmemset"));
                self.emitter.emit(Op::HavocBytes(to, size, cause));
            }
        }
    }

    /// Copies bytes, if there are any.
    pub(super) fn copy_bytes(&mut self, to: &Expr, from: &Expr, size: Expr) {
        if !matches!(size, Expr::Int(0, _)) {
            self.emitter.emit(Op::CopyBytes(to.clone(), from.clone(), size));
        }
    }

    /// The string has no byte in common with where it is put.
    pub(super) fn demand_put_apart(&mut self, put: &Put, arguments: &[Argument], cause: Cause) {
        let (Some(to), Some(from)) = (pointer(arguments, put.to), pointer(arguments, put.from)) else {
            return;
        };
        let size_t = self.emitter.types.size_t();
        if put.characters.literal(self.program, &from).is_some() || self.are_apart(&to, &from) {
            return;
        }
        let (site, one) = (self.emitter.site, Expr::Int(1, size_t));
        let within = put.within.as_ref().map(|size| self.size(size, arguments, cause));
        let counted = within.clone().filter(|_| put.end == End::Cut);
        let before = match put.is_behind {
            true => self.length_of(&to, counted, put.characters),
            false => Expr::Int(0, size_t),
        };
        // What is written may be longer than what is read, which is where `strncpy` pads.
        let size = match (put.end, within) {
            (End::Padded, Some(within)) => within,
            (End::Zero | End::Padded | End::Cut, within) => {
                let length = self.length_of(&from, within, put.characters);
                fold::binary(BinaryOp::Add, length, one, site)
            }
        };
        let to = behind(&to, self.bytes_of(before, put.characters), site);
        let size = self.bytes_of(size, put.characters);
        self.demand_apart(to, from, size);
    }

    /// So many bytes behind the one and behind the other pointer have none in common.
    pub(super) fn demand_apart(&mut self, to: Expr, from: Expr, size: Expr) {
        self.demand_none_in_common((to, size.clone()), (from, size));
    }

    /// So many bytes behind the one and so many behind the other pointer have none in common.
    pub(super) fn demand_none_in_common(&mut self, (to, size): (Expr, Expr), (from, read): (Expr, Expr)) {
        let is_register = |pointer: &Expr| match pointer {
            Expr::Address(Lvalue { base: Base::Local(id), path, scalar: Some(_), .. }) => {
                path.is_empty() && !self.emitter.function.local(*id).address_taken
            }
            _ => false,
        };
        // Of a variable that only its name reaches no other expression is the address.
        let are_apart = self.are_apart(&to, &from) || to != from && (is_register(&to) || is_register(&from));
        if are_apart || matches!(size, Expr::Int(0, _)) {
            return;
        }
        let overlap = match size == read {
            true => self.computed_size(Quantity::Overlap, vec![to, from, size]),
            false => self.computed_size(Quantity::Meeting, vec![to, size, from, read]),
        };
        self.emitter.assume_range(&overlap, 0, 1);
        let none = fold::compare(CompareOp::Eq, overlap.clone(), overlap.zero());
        self.emitter.demand_that(none, "source and destination do not overlap");
    }

    /// Whether two addresses are of different variables.
    fn are_apart(&self, one: &Expr, other: &Expr) -> bool {
        matches!((self.variable_of(one), self.variable_of(other)), (Some(one), Some(other)) if one != other)
    }

    /// The variable that an address is in.
    fn variable_of(&self, pointer: &Expr) -> Option<Base> {
        match pointer {
            Expr::Address(lvalue) => match &lvalue.base {
                Base::Local(_) | Base::Global(_) => Some(lvalue.base.clone()),
                Base::Deref(inner, _) => self.variable_of(inner),
            },
            Expr::Cast(Scalar::Pointer, inner, _) => self.variable_of(inner),
            Expr::Load(Lvalue { base: Base::Local(id), .. }) => {
                let saved = self.saved.iter().find(|(temporary, _)| temporary == id)?;
                self.variable_of(&saved.1)
            }
            _ => None,
        }
    }
}

/// The address so many bytes behind a pointer.
pub(super) fn behind(pointer: &Expr, bytes: Expr, site: Site) -> Expr {
    if matches!(bytes, Expr::Int(0, _)) {
        return pointer.clone();
    }
    let step = Step::Index { index: Arc::new(bytes), stride: 1, length: None, site };
    let scalar = Some(Scalar::Int(IntType { bits: 8, signed: true }));
    let ty = Type::new(TypeKind::Int(IntKind::Char));
    let base = Base::Deref(Arc::new(pointer.clone()), site);
    Expr::Address(Lvalue { base, path: vec![step], ty, scalar, bits: None, size: 1 })
}
