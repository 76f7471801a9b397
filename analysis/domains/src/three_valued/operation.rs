//! Operations on pointers as focus, update and coerce [CPA10] §2.3.1: what programs do to structures is made of these. Knows no expressions.

use super::{
    canonical::abstracted,
    class::{Field, ShapeClass, Unary, Var},
    coerce::coerce,
    focus::{Focus, focus},
    structure::{Content, Structure},
    update,
};

/// What a pointer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Null.
    Null,
    /// The start of an individual.
    Node(usize),
    /// It may be anything.
    Any,
}

/// An operation on variables and fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// `x = NULL`
    Null(Var),
    /// `x` gets any value.
    Forget(Var),
    /// `x = y`
    Copy(Var, Var),
    /// `x = y->f`
    Load(Var, Var, Field),
    /// `x->f = y`; `None`: `x->f = NULL`.
    Store(Var, Field, Option<Var>),
    /// `x = malloc(size)`, or `calloc`. That it fails is `x = NULL`.
    Allocate(Var, u64, bool),
    /// `free(x)`
    Free(Var),
    /// `x->f = number`, a number that is not known if there is none.
    Number(Var, Field, Option<i128>),
}

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// No execution goes on.
    Impossible,
    /// This must be definite first.
    Needs(Focus),
    /// What happens could be anything.
    Unknown,
}

/// The cases in which it is definite, sharpened. `None`: it is said of several individuals.
pub fn cases(structure: &Structure, class: &ShapeClass, on: Focus) -> Option<Vec<Structure>> {
    let cases = focus(structure, on)?;
    Some(cases.iter().filter_map(|case| coerce(case, class)).collect())
}

/// Sharpens a structure, drops what nothing leads to, and abstracts; `None`: it stands for nothing.
pub fn settled(structure: &Structure, class: &ShapeClass) -> Option<Structure> {
    let mut settled = coerce(structure, class)?;
    update::collect(&mut settled, class);
    Some(abstracted(&settled, class))
}

/// Where a variable leads.
///
/// # Errors
/// If that is not definite.
pub fn target(structure: &Structure, var: Var) -> Result<Target, Stop> {
    match structure.content(var) {
        Some(Content::Pointer) => match structure.pointees(var)[..] {
            [] => Ok(Target::Null),
            [(node, value)] if value.is_true() => Ok(Target::Node(node)),
            _ => Err(Stop::Needs(Focus::Variable(var))),
        },
        Some(Content::Int(_) | Content::Address(_) | Content::Outside) | None => Ok(Target::Any),
    }
}

/// An access of the individual is allowed.
///
/// # Errors
/// If it may be freed.
pub fn alive(structure: &Structure, node: usize) -> Result<(), Stop> {
    match structure.unary(Unary::Freed, node) {
        super::logic::Kleene::False => Ok(()),
        super::logic::Kleene::True => Err(Stop::Impossible),
        super::logic::Kleene::Unknown => Err(Stop::Needs(Focus::Unary(node, Unary::Freed))),
    }
}

/// Where a pointer field leads.
///
/// # Errors
/// If that is not definite.
pub fn load(structure: &Structure, node: usize, field: Field) -> Result<Target, Stop> {
    let wild = structure.unary(Unary::Wild(field), node);
    match structure.successors(field, node)[..] {
        [] if wild.is_false() => Ok(Target::Null),
        [] if wild.is_true() => Ok(Target::Any),
        [(to, value)] if value.is_true() && wild.is_false() && !structure.is_summary(to) => {
            Ok(Target::Node(to))
        }
        _ => Err(Stop::Needs(Focus::Field(node, field))),
    }
}

/// A pointer field gets a value.
///
/// # Errors
/// If its old one is not definite.
pub fn store(
    structure: &mut Structure,
    class: &ShapeClass,
    node: usize,
    field: Field,
    value: Target,
) -> Result<(), Stop> {
    load(structure, node, field)?;
    update::unlink(structure, class, node, field);
    match value {
        Target::Null => {}
        Target::Node(to) => update::link(structure, class, node, field, to),
        Target::Any => update::forget_field(structure, class, node, field),
    }
    Ok(())
}

/// A living object is freed.
///
/// # Errors
/// If one of its fields is not definite.
pub fn free(structure: &mut Structure, class: &ShapeClass, node: usize) -> Result<(), Stop> {
    for field in &class.pointers {
        load(structure, node, *field)?;
    }
    update::free(structure, class, node);
    Ok(())
}

/// All structures after an operation. `None`: it could do anything.
pub fn post(structure: &Structure, class: &ShapeClass, operation: Operation) -> Option<Vec<Structure>> {
    let mut result = Vec::new();
    let mut open = vec![structure.clone()];
    while let Some(mut case) = open.pop() {
        let before = case.clone();
        match apply(&mut case, class, operation) {
            Ok(()) => result.extend(settled(&case, class)),
            Err(Stop::Impossible) => {}
            Err(Stop::Needs(on)) => open.extend(cases(&before, class, on)?),
            Err(Stop::Unknown) => return None,
        }
    }
    Some(result)
}

fn apply(structure: &mut Structure, class: &ShapeClass, operation: Operation) -> Result<(), Stop> {
    let accessed = |structure: &Structure, var: Var| match target(structure, var)? {
        Target::Null => Err(Stop::Impossible),
        Target::Any => Err(Stop::Unknown),
        Target::Node(node) => alive(structure, node).map(|()| node),
    };
    match operation {
        Operation::Null(var) => update::set_content(structure, var, Some(Content::Pointer)),
        Operation::Forget(var) => update::forget(structure, var),
        Operation::Copy(to, from) => {
            let value = target(structure, from)?;
            assign(structure, class, to, value);
        }
        Operation::Load(to, from, field) => {
            let node = accessed(structure, from)?;
            let value = load(structure, node, field)?;
            assign(structure, class, to, value);
        }
        Operation::Store(to, field, from) => {
            let node = accessed(structure, to)?;
            let value = from.map_or(Ok(Target::Null), |from| target(structure, from))?;
            store(structure, class, node, field, value)?;
        }
        Operation::Allocate(to, size, is_zeroed) => {
            let node = update::allocate(structure, class, size, is_zeroed);
            update::point(structure, class, to, node);
        }
        Operation::Free(var) => {
            if target(structure, var)? != Target::Null {
                let node = accessed(structure, var)?;
                free(structure, class, node)?;
            }
        }
        Operation::Number(to, field, value) => {
            let node = accessed(structure, to)?;
            update::set_value(structure, class, node, field, value);
        }
    }
    Ok(())
}

/// A pointer variable gets a value.
pub fn assign(structure: &mut Structure, class: &ShapeClass, var: Var, value: Target) {
    match value {
        _ if class.tracking.ignored.contains(&var) => update::forget(structure, var),
        Target::Null => update::set_content(structure, var, Some(Content::Pointer)),
        Target::Node(node) => update::point(structure, class, var, node),
        Target::Any => update::forget(structure, var),
    }
}
