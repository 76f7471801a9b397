//! Initialisers: designators, brace elision, strings, completion of array lengths. The result is flat: a path and a
//! value per scalar. Must not know where the initialised object lives.

use tree_sitter::Node;

use super::{Lowerer, children, field, overwrite::Target};
use crate::{
    Name,
    body::{ExprId, InitStep, Initializer},
    types::{ArrayLength, Type, TypeKind},
};

/// One designator, or one step of an anonymous member that leads to a designated one.
#[derive(Clone, Copy, Debug)]
enum Designator {
    Member(Name),
    Field(u32),
    Element(u64),
    Range(u64, u64),
}

const EXCESS: &str = "more initialisers than the object has parts";

/// The items between two braces, and how far they are used up.
struct Items<'u> {
    nodes: Vec<Node<'u>>,
    at: usize,
    /// The designators of the current item are applied already.
    designated: bool,
}

impl<'u> Items<'u> {
    fn current(&self) -> Option<Node<'u>> {
        self.nodes.get(self.at).copied()
    }

    /// The current item's value without its designators.
    fn value(&self) -> Option<Node<'u>> {
        let node = self.current()?;
        if node.kind() == "initializer_pair" { field(node, "value") } else { Some(node) }
    }

    fn consume(&mut self) {
        self.at += 1;
        self.designated = false;
    }
}

impl<'u> Lowerer<'u> {
    /// The initialiser `node` of an object of type `ty`, flattened, and the type with the array length that it gives.
    pub(crate) fn initializer(&mut self, node: Node<'u>, ty: Type) -> (Initializer, Type) {
        let mut entries = Vec::new();
        let mut path = Vec::new();
        let mut target = Target { path: &mut path, entries: &mut entries, went_back: false };
        let length = self.initialize_whole(node, ty, &mut target);
        if target.went_back {
            self.own_values(node, &mut entries);
        }
        let completed = match (ty.kind(), length) {
            (TypeKind::Array(element, ArrayLength::Unknown), Some(length)) => {
                Type::new(TypeKind::Array(*element, ArrayLength::Fixed(length))).qualified(ty.qualifiers())
            }
            _ => ty,
        };
        (Initializer { entries }, completed)
    }

    /// Initialises all of one (sub)object from one item; the number of elements if it is an array.
    fn initialize_whole(&mut self, node: Node<'u>, ty: Type, target: &mut Target<'_>) -> Option<u64> {
        self.deeper(node, |l| {
            if let Some(length) = l.string_initializer(node, ty, target) {
                return Some(length);
            }
            if node.kind() == "initializer_list" {
                target.forget();
                return l.braced(node, ty, target);
            }
            if let (TypeKind::Array(..), Some(list)) = (ty.kind(), literal_list(node)) {
                // GNU: `int a[] = (int[]){1, 2}`.
                return l.initialize_whole(list, ty, target);
            }
            l.single_value(node, ty, target);
            None
        })
        .flatten()
    }

    fn braced(&mut self, list: Node<'u>, ty: Type, target: &mut Target<'_>) -> Option<u64> {
        let mut items = Items { nodes: children(list), at: 0, designated: false };
        if !is_aggregate(ty) {
            if let Some(value) = items.value() {
                self.initialize_whole(value, ty, target);
            }
            return None;
        }
        if let [only] = items.nodes[..]
            && let Some(length) = self.string_initializer(only, ty, target)
        {
            return Some(length);
        }
        let length = self.fill(&mut items, ty, target, true, &[]);
        if let Some(excess) = items.current() {
            self.error(excess, EXCESS);
        }
        Some(length)
    }

    fn single_value(&mut self, node: Node<'u>, ty: Type, target: &mut Target<'_>) {
        let value = self.value(node);
        self.push_value(node, value, ty, target);
    }

    fn push_value(&mut self, node: Node<'u>, value: ExprId, ty: Type, target: &mut Target<'_>) {
        let from = self.type_of(value);
        let value = match (ty.kind(), from.kind()) {
            (TypeKind::Record(a), TypeKind::Record(b)) if a == b => value,
            (TypeKind::Vector(..), TypeKind::Vector(..)) => value,
            (_, TypeKind::Error) | (TypeKind::Error, _) => value,
            (TypeKind::Record(_) | TypeKind::Array(..), _) => {
                self.error(node, "the initialiser does not fit the type of the object");
                return;
            }
            _ => self.convert(value, ty.unqualified()),
        };
        target.push(value);
    }

    /// A string literal (perhaps in parentheses) for a character array: the array's length. `None`: it is no such case.
    fn string_initializer(&mut self, node: Node<'u>, ty: Type, target: &mut Target<'_>) -> Option<u64> {
        let TypeKind::Array(element, length) = ty.kind() else { return None };
        let is_character =
            matches!(element.kind(), TypeKind::Int(_) | TypeKind::Bool) && element.int_kind().is_some();
        let literal = unparenthesized(node);
        if !is_character || !matches!(literal.kind(), "string_literal" | "concatenated_string") {
            return None;
        }
        let value = self.expr(literal);
        let TypeKind::Array(of, ArrayLength::Fixed(own)) = self.type_of(value).kind() else { return None };
        let (of, own) = (*of, *own);
        if self.layout().size_of(of) != self.layout().size_of(*element) {
            self.error(node, "a string of another character type than the array");
        }
        target.push(value);
        Some(match length {
            // What does not fit is cut off, as in gcc.
            ArrayLength::Fixed(fixed) => *fixed,
            ArrayLength::Unknown | ArrayLength::Variable => own,
        })
    }

    /// Fills an aggregate from the items, as far as it takes them. Not `braced`: it stops when it is full or when a
    /// designator comes that belongs to the list around it. `first` are designators of the current item that are not yet
    /// applied. Returns one past the last element that was named.
    fn fill(
        &mut self,
        items: &mut Items<'u>,
        ty: Type,
        target: &mut Target<'_>,
        braced: bool,
        first: &[Designator],
    ) -> u64 {
        let count = self.part_count(ty);
        let mut next = 0u64;
        let mut length = 0u64;
        let mut chain: Vec<Designator> = first.to_vec();
        while let Some(item) = items.current() {
            let started_at = items.at;
            if chain.is_empty() && item.kind() == "initializer_pair" && !items.designated {
                if !braced {
                    break;
                }
                chain = self.designators(item);
                items.designated = true;
                if chain.is_empty() {
                    items.consume();
                    continue;
                }
            }
            let (step, part, after, rest) = match chain.split_first() {
                Some((designator, rest)) => match self.designated_part(item, ty, *designator) {
                    Some((step, part, after, mut inner)) => {
                        inner.extend_from_slice(rest);
                        (step, part, after, inner)
                    }
                    None => {
                        items.consume();
                        chain.clear();
                        continue;
                    }
                },
                None => match self.subobject(ty, next).filter(|_| next < count) {
                    Some((step, part)) => (step, part, next + 1, Vec::new()),
                    None => break,
                },
            };
            chain = Vec::new();
            let is_union = self.is_union(ty);
            let index = match step {
                InitStep::Field(index) => u64::from(index),
                InitStep::Element(first) | InitStep::Range(first, _) => first,
            };
            target.went_back |= index < length || (is_union && length > 0);
            if is_union && target.went_back {
                self.forget_other_members(ty, step, target);
            }
            target.path.push(step);
            if rest.is_empty() {
                self.fill_part(items, part, target);
            } else {
                let filled = self.deeper(item, |l| l.fill(items, part, target, false, &rest));
                if filled.is_none() {
                    items.consume();
                }
            }
            target.path.pop();
            next = if is_union { count } else { after };
            length = length.max(after);
            let used_nothing = items.at == started_at;
            if used_nothing && (count == u64::MAX || items.designated) {
                // A part without room, of size 0: only the list around can go on.
                if items.designated {
                    items.consume();
                } else {
                    break;
                }
            }
        }
        length
    }

    /// Initialises one part from the current item, with brace elision if it is an aggregate.
    fn fill_part(&mut self, items: &mut Items<'u>, ty: Type, target: &mut Target<'_>) {
        let Some(node) = items.value() else {
            if let Some(item) = items.current() {
                self.error(item, "an initialiser is missing");
            }
            items.consume();
            return;
        };
        if node.kind() == "initializer_list" || !is_aggregate(ty) {
            items.consume();
            self.initialize_whole(node, ty, target);
            return;
        }
        if self.string_initializer(node, ty, target).is_some() {
            items.consume();
            return;
        }
        if matches!(ty.kind(), TypeKind::Record(_) | TypeKind::Vector(..)) && !is_plain_scalar(node, ty) {
            let checkpoint = self.body.checkpoint();
            let errors = self.errors.len();
            let value = self.value(node);
            if self.fits_whole(ty, self.type_of(value)) {
                items.consume();
                self.push_value(node, value, ty, target);
                return;
            }
            self.body.roll_back(checkpoint);
            self.errors.truncate(errors);
        }
        if self.part_count(ty) == 0 {
            // As in gcc, what stands for an object without parts is dropped.
            self.error(node, EXCESS);
            items.consume();
            return;
        }
        let filled = self.deeper(node, |l| l.fill(items, ty, target, false, &[]));
        if filled.is_none() {
            items.consume();
        }
    }

    fn fits_whole(&self, ty: Type, from: Type) -> bool {
        match (ty.kind(), from.kind()) {
            (TypeKind::Record(a), TypeKind::Record(b)) => a == b,
            (TypeKind::Vector(..), TypeKind::Vector(..)) => true,
            _ => false,
        }
    }

    fn is_union(&self, ty: Type) -> bool {
        matches!(ty.kind(), TypeKind::Record(tag) if self.records.get(tag).is_some_and(|r| r.is_union))
    }

    /// How many parts a list fills in order: a union has one.
    fn part_count(&self, ty: Type) -> u64 {
        match ty.kind() {
            TypeKind::Array(_, ArrayLength::Fixed(n)) => *n,
            TypeKind::Array(..) => u64::MAX,
            TypeKind::Vector(_, n) => u64::from(*n),
            TypeKind::Record(tag) => self.records.get(tag).map_or(0, |r| {
                let fields = r.fields.len() as u64;
                if r.is_union { fields.min(1) } else { fields }
            }),
            _ => 1,
        }
    }

    fn subobject(&self, ty: Type, index: u64) -> Option<(InitStep, Type)> {
        match ty.kind() {
            TypeKind::Array(element, _) | TypeKind::Vector(element, _) => {
                Some((InitStep::Element(index), *element))
            }
            TypeKind::Record(tag) => {
                let index = u32::try_from(index).ok()?;
                let field = self.records.get(tag)?.fields.get(index as usize)?;
                Some((InitStep::Field(index), field.ty))
            }
            _ => None,
        }
    }

    /// The part that a designator names, the index after it, and further steps if it lies in an anonymous member.
    fn designated_part(
        &mut self,
        at: Node<'u>,
        ty: Type,
        designator: Designator,
    ) -> Option<(InitStep, Type, u64, Vec<Designator>)> {
        let count = self.part_count(ty);
        let found = match (designator, ty.kind()) {
            (Designator::Member(name), TypeKind::Record(tag)) => {
                let path = self.layout().field_path(*tag, name);
                path.and_then(|path| {
                    let (first, rest) = path.split_first()?;
                    let (step, part) = self.subobject(ty, u64::from(*first))?;
                    let rest = rest.iter().map(|&f| Designator::Field(f)).collect();
                    Some((step, part, u64::from(*first) + 1, rest))
                })
            }
            (Designator::Field(index), TypeKind::Record(_)) => self
                .subobject(ty, u64::from(index))
                .map(|(step, part)| (step, part, u64::from(index) + 1, Vec::new())),
            (Designator::Element(index), TypeKind::Array(..) | TypeKind::Vector(..)) if index < count => {
                self.subobject(ty, index).map(|(step, part)| (step, part, index + 1, Vec::new()))
            }
            (Designator::Range(first, last), TypeKind::Array(element, _))
                if first <= last && last < count =>
            {
                Some((InitStep::Range(first, last), *element, last + 1, Vec::new()))
            }
            _ => None,
        };
        if found.is_none() && *ty.kind() != TypeKind::Error {
            let what = match designator {
                Designator::Member(name) => format!("the object has no member `{name}`"),
                Designator::Field(_) => "the object has no such member".to_owned(),
                Designator::Element(index) => format!("the object has no element {index}"),
                Designator::Range(first, last) => format!("the object has no elements {first} to {last}"),
            };
            self.error(at, what);
        }
        found
    }

    /// The designators of an `initializer_pair`.
    fn designators(&mut self, pair: Node<'u>) -> Vec<Designator> {
        let mut chain = Vec::new();
        let value = field(pair, "value");
        for child in children(pair) {
            if Some(child) == value {
                break;
            }
            let designator = match child.kind() {
                "field_designator" => {
                    child.named_child(0).map(|n| Designator::Member(Name::new(self.text(n))))
                }
                "field_identifier" | "identifier" => Some(Designator::Member(Name::new(self.text(child)))),
                "subscript_designator" => {
                    child.named_child(0).and_then(|n| self.index(n)).map(Designator::Element)
                }
                "subscript_range_designator" => {
                    let first = field(child, "start").and_then(|n| self.index(n));
                    let last = field(child, "end").and_then(|n| self.index(n));
                    first.zip(last).map(|(first, last)| Designator::Range(first, last))
                }
                _ => None,
            };
            match designator {
                Some(designator) => chain.push(designator),
                None => {
                    self.error(child, format!("cannot read the designator `{}`", self.text(child)));
                    return Vec::new();
                }
            }
        }
        chain
    }

    fn index(&mut self, node: Node<'u>) -> Option<u64> {
        let value = self.const_int(node);
        value.and_then(|v| u64::try_from(v).ok())
    }
}

fn is_aggregate(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Array(..) | TypeKind::Record(_) | TypeKind::Vector(..))
}

fn unparenthesized(node: Node<'_>) -> Node<'_> {
    let mut node = node;
    while node.kind() == "parenthesized_expression" && node.named_child_count() == 1 {
        match node.named_child(0) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// The list of a compound literal.
fn literal_list(node: Node<'_>) -> Option<Node<'_>> {
    let node = unparenthesized(node);
    (node.kind() == "compound_literal_expression").then(|| field(node, "value")).flatten()
}

/// Whether an expression is a scalar by its looks, so that its type need not be asked.
fn is_plain_scalar(node: Node<'_>, target: Type) -> bool {
    match node.kind() {
        "number_literal"
        | "char_literal"
        | "string_literal"
        | "concatenated_string"
        | "sizeof_expression" => true,
        "binary_expression" | "unary_expression" => !matches!(target.kind(), TypeKind::Vector(..)),
        _ => false,
    }
}
