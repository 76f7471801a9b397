//! What of a file depends on text that was not understood. Every item of the file says which names it declares and which names of the
//! file it uses. Names that an item with an error declares are *damaged*, and so are those of items that use damaged names. A function
//! whose text has such an error or uses a damaged name begins with [`Stmt::Unsupported`]: nothing is said of executions that run it.
//! (Errors in statements are marked where they stand.) Must not know what an error is about.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_syntax::{Severity, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::Node;

use super::{Lowerer, objects::Objects};
use crate::{
    Name,
    body::{Stmt, StmtId},
};

/// A name with the scope of the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum FileScope {
    /// Of a type, an object, a function or an enumeration constant.
    Ordinary(Name),
    /// Of a `struct`, `union` or `enum`.
    Tag(Name),
}

/// An item of the file.
#[derive(Default)]
struct Item {
    declares: Vec<FileScope>,
    uses: FxHashSet<FileScope>,
    /// Functions that it defines, nested ones included.
    functions: Vec<Name>,
    /// What is wrong with it, outside of the bodies of functions.
    damage: Option<Name>,
}

/// The items so far.
#[derive(Default)]
pub(crate) struct Dependences {
    items: RefCell<Vec<Item>>,
    /// Names in text that is no item at all: it may have defined any of them.
    lost: BTreeSet<Name>,
    /// Names of objects and functions that mean something else than their items say, and why.
    spoiled: BTreeMap<Name, Name>,
    /// Functions that have the body of another one: the other one, and they.
    copies: Vec<(Name, Name)>,
}

impl Dependences {
    /// An item begins.
    pub(crate) fn begin(&self) {
        self.items.borrow_mut().push(Item::default());
    }

    fn with_last(&self, f: impl FnOnce(&mut Item)) {
        if let Some(item) = self.items.borrow_mut().last_mut() {
            f(item);
        }
    }

    /// The item at hand uses a name.
    pub(crate) fn uses(&self, name: FileScope) {
        self.with_last(|item| {
            item.uses.insert(name);
        });
    }

    /// The item at hand declares a name.
    pub(crate) fn declares(&self, name: FileScope) {
        self.with_last(|item| item.declares.push(name));
    }

    /// The item at hand defines a function.
    pub(crate) fn defines(&self, function: Name) {
        self.with_last(|item| item.functions.push(function));
    }

    /// Something is wrong with the item at hand.
    pub(crate) fn damages(&self, what: &str) {
        self.with_last(|item| {
            item.damage.get_or_insert_with(|| Name::new(what));
        });
    }

    /// A name means something else than its items say.
    pub(crate) fn spoils(&mut self, name: Name, why: &str) {
        self.spoiled.entry(name).or_insert_with(|| Name::new(why));
    }

    /// A function has the body of another one.
    pub(crate) fn copies(&mut self, from: Name, to: Name) {
        self.copies.push((from, to));
    }

    /// The functions that depend on what was not understood, and why.
    fn affected(&self, objects: &Objects) -> BTreeMap<Name, Name> {
        let items = self.items.borrow();
        let has_body = |name: Name| objects.function(name).is_some_and(|function| function.body.is_some());
        let is_defined =
            |name: Name| has_body(name) || objects.global(name).is_some_and(|global| global.defined);
        let lost = self.lost.iter().filter(|name| !is_defined(**name));
        let lost = lost.map(|name| (*name, reason(*name)));
        let spoiled = self.spoiled.iter().map(|(name, why)| (*name, *why));
        let mut damaged: FxHashMap<FileScope, Name> =
            lost.chain(spoiled).map(|(name, why)| (FileScope::Ordinary(name), why)).collect();
        let mut why: Vec<Option<Name>> = items.iter().map(|item| item.damage).collect();
        if damaged.is_empty() && why.iter().all(Option::is_none) {
            return BTreeMap::new();
        }
        loop {
            let before = damaged.len();
            for (item, why) in items.iter().zip(&mut why) {
                if why.is_none() {
                    *why = item.uses.iter().filter_map(|used| damaged.get(used).copied()).min();
                }
                let Some(why) = *why else { continue };
                for name in &item.declares {
                    // Who calls a function that is here comes to its own mark.
                    if !matches!(name, FileScope::Ordinary(name) if has_body(*name)) {
                        damaged.entry(*name).or_insert(why);
                    }
                }
            }
            if damaged.len() == before {
                break;
            }
        }
        let marked = items.iter().zip(why).filter_map(|(item, why)| Some((item, why?)));
        let mut affected: BTreeMap<Name, Name> =
            marked.flat_map(|(item, why)| item.functions.iter().map(move |name| (*name, why))).collect();
        for (from, to) in &self.copies {
            if let Some(why) = affected.get(from).copied() {
                affected.insert(*to, why);
            }
        }
        affected
    }
}

fn reason(lost: Name) -> Name {
    Name::new(&format!("the text that may define `{lost}` was not understood"))
}

impl<'u> Lowerer<'u> {
    /// Reads an item of the file with `f` and keeps what was wrong with it.
    pub(crate) fn watched_item<R>(&mut self, node: Node<'u>, f: impl FnOnce(&mut Self) -> R) -> R {
        self.dependences.begin();
        let before = self.errors.len();
        let result = f(self);
        if let Some(error) = self.errors[before..].iter().find(|error| error.function.is_none()) {
            self.dependences.damages(&error.message);
        }
        let is_function = node.kind() == "function_definition";
        if self.unit.is_damaged(node) && !is_function || self.has_text_error(node) {
            self.dependences.damages("a part that is not understood");
        }
        result
    }

    /// Whether the text of an item lacks something that its tree does not show: what a macro was to expand to, or, if the error is nowhere,
    /// anything.
    fn has_text_error(&self, node: Node<'u>) -> bool {
        let mut errors =
            self.unit.errors().iter().filter(|error| error.severity == Severity::Error).peekable();
        if errors.peek().is_none() {
            return false;
        }
        let item = self.span(node);
        let is_inside = |span: Span| span.file == item.file && (item.start..item.end).contains(&span.start);
        errors.any(|error| error.span.is_none_or(is_inside))
    }

    /// The text of a node is no item: what it may have defined is not known.
    pub(crate) fn lose(&mut self, node: Node<'u>) {
        let mut cursor = node.walk();
        loop {
            if matches!(cursor.node().kind(), "identifier" | "field_identifier" | "type_identifier") {
                let name = Name::new(self.text(cursor.node()));
                self.dependences.lost.insert(name);
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Marks the functions that depend on what was not understood.
    pub(crate) fn mark_dependent_functions(&mut self) {
        for (function, why) in self.dependences.affected(&self.objects) {
            self.objects.refuse(function, why);
        }
    }
}

impl Objects {
    /// Puts a mark in front of a function's body.
    fn refuse(&mut self, name: Name, why: Name) {
        let Some((body, map, span)) = self.body_mut(name) else { return };
        let (body, map) = (Arc::make_mut(body), Arc::make_mut(map));
        let Some(root) = body.root else { return };
        let mark = StmtId(body.stmts.len() as u32);
        body.stmts.extend([Stmt::Unsupported(why), Stmt::Block(vec![mark, root])]);
        map.stmts.extend([span, span]);
        body.root = Some(StmtId(mark.0 + 1));
    }
}
