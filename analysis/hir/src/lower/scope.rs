//! Scopes: what an ordinary name or a tag means at this place. Knows nothing of trees.

use std::collections::BTreeMap;

use super::{Lowerer, dependence::FileScope};
use crate::{
    Name,
    body::LocalId,
    types::{IntKind, Type, TypeKind},
};

/// What an ordinary name means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entity {
    /// A type.
    Typedef(Type),
    /// A local of the current body.
    Local(LocalId),
    /// A local of an enclosing function, seen from a GNU nested function: not modelled.
    Captured(Name, Type),
    /// An object with static storage, by its unique name in the module; its type is in [`Lowerer::global_type`].
    Global(Name),
    /// A function, by its unique name in the module; its type is in [`Lowerer::function_type`].
    Function(Name),
    /// An enumeration constant: value and type.
    EnumConstant(i128, Type),
}

/// A tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tag {
    /// `struct`: its unique tag in the records.
    Struct(Name),
    /// `union`
    Union(Name),
    /// `enum` and the kind it is compatible with.
    Enum(Name, IntKind),
}

/// One scope.
#[derive(Default, Debug)]
pub(crate) struct Scope {
    pub(crate) names: BTreeMap<Name, Entity>,
    pub(crate) tags: BTreeMap<Name, Tag>,
    /// Alignments that `aligned` gave to typedefs.
    pub(crate) aligns: BTreeMap<Name, u64>,
    /// 0 at file scope, 1 in a function, 2 in a function nested in it, ….
    pub(crate) level: u32,
}

impl Lowerer<'_> {
    /// Opens a scope.
    pub(crate) fn push_scope(&mut self) {
        let level = self.level();
        self.scopes.push(Scope { level, ..Scope::default() });
    }

    /// Closes the innermost scope; the file's stays.
    pub(crate) fn pop_scope(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    /// 0 at file scope, 1 in a function, more in nested functions.
    pub(crate) fn level(&self) -> u32 {
        if self.function.is_some() { self.outer_bodies.len() as u32 + 1 } else { 0 }
    }

    /// What an ordinary name means here.
    pub(crate) fn lookup(&self, name: &str) -> Option<Entity> {
        let name = Name::new(name);
        self.scopes.iter().enumerate().rev().find_map(|(depth, scope)| {
            let entity = *scope.names.get(&name)?;
            if depth == 0 {
                self.dependences.uses(FileScope::Ordinary(name));
            }
            Some(match entity {
                Entity::Local(id) if scope.level < self.level() => {
                    let body = self.outer_bodies.get(scope.level as usize - 1);
                    let ty = body.and_then(|b| b.body.locals.get(id.index())).map(|l| l.ty);
                    Entity::Captured(name, ty.unwrap_or_else(|| Type::new(TypeKind::Error)))
                }
                other => other,
            })
        })
    }

    /// What a tag means here.
    pub(crate) fn lookup_tag(&self, tag: Name) -> Option<Tag> {
        self.scopes.iter().enumerate().rev().find_map(|(depth, scope)| {
            let found = *scope.tags.get(&tag)?;
            if depth == 0 {
                self.dependences.uses(FileScope::Tag(tag));
            }
            Some(found)
        })
    }

    /// The alignment that a typedef gives its type, if it says so itself.
    pub(crate) fn typedef_align(&self, name: &str) -> Option<u64> {
        let name = Name::new(name);
        let scope = self.scopes.iter().rev().find(|scope| scope.names.contains_key(&name))?;
        scope.aligns.get(&name).copied()
    }

    /// Gives a name a meaning in the innermost scope.
    pub(crate) fn bind(&mut self, name: Name, entity: Entity) {
        if self.scopes.len() == 1 {
            self.dependences.declares(FileScope::Ordinary(name));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.aligns.remove(&name);
            scope.names.insert(name, entity);
        }
    }

    /// Gives a tag a meaning in the innermost scope.
    pub(crate) fn bind_tag(&mut self, name: Name, tag: Tag) {
        if self.scopes.len() == 1 {
            self.dependences.declares(FileScope::Tag(name));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.tags.insert(name, tag);
        }
    }
}
