//! Tables of long options: which of them never change, and what their rows say. Knows no calls but those of `getopt_long` and its kin.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Linkage, Name};

use super::{
    Library,
    apply::Pass,
    arguments::pointer,
    effect::{Options, Outcome},
};
use proofline_cfa::{
    Argument, Base, Callee, Constant, Expr, Function, Lvalue, Op, Program, Step,
    visit::{self, Mention},
};

/// What the description of a long option says.
pub(super) struct LongOption {
    /// It always has one: `required_argument`.
    pub(super) has_argument: bool,
    /// What its member `val` is.
    pub(super) value: i128,
    /// That goes to a variable, and the call returns 0.
    pub(super) has_variable: bool,
}

impl LongOption {
    /// What the call returns where it is found by its long name.
    pub(super) fn result(&self) -> i128 {
        if self.has_variable { 0 } else { self.value }
    }
}

/// Objects that nothing but their file sees, and whose address goes nowhere but to `getopt_long`, as the table that it reads: they keep their initial values,
/// declared `const` or not.
pub(super) fn unchanged(
    program: &Program,
    functions: &BTreeMap<Name, Arc<Function>>,
    library: &Library,
) -> BTreeSet<Name> {
    let mut tables = BTreeSet::new();
    let calls = || functions.values().flat_map(|function| &function.edges);
    for edge in calls() {
        let table = table_of(&edge.op, functions, library).and_then(|(at, call)| pointer(call, at));
        tables.extend(table.as_ref().and_then(object));
    }
    tables.retain(|name| {
        program.globals.get(name).is_some_and(|global| {
            global.linkage == Linkage::Internal && global.defined && !global.ty.qualifiers().is_volatile
        })
    });
    if tables.is_empty() {
        return tables;
    }
    for global in program.globals.values() {
        for value in &global.init {
            if let Constant::Address(name, _) = &value.value {
                tables.remove(name);
            }
        }
    }
    for edge in calls() {
        let read = table_of(&edge.op, functions, library).map(|(at, _)| at);
        for name in changed(&edge.op, read) {
            tables.remove(&name);
        }
    }
    tables
}

/// Which argument of the call is such a table, and all of them.
fn table_of<'o>(
    op: &'o Op,
    functions: &BTreeMap<Name, Arc<Function>>,
    library: &Library,
) -> Option<(usize, &'o [Argument])> {
    let call = op.call()?;
    let Callee::Direct(name) = &call.callee else { return None };
    match library.model(name).filter(|_| !functions.contains_key(name))?.result {
        Some(Outcome::Option(Options { long: Some(at), .. })) => Some((at, &call.arguments)),
        _ => None,
    }
}

/// Objects that the operation writes, or whose address it uses otherwise than as this argument.
fn changed(op: &Op, read: Option<usize>) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    let is_read = |value: &Expr| {
        let argument = read.and_then(|at| op.call()?.arguments.get(at));
        matches!(argument, Some(Argument::Value(argument)) if std::ptr::eq(argument, value))
    };
    visit::mentions(op, &mut |mention| match mention {
        Mention::Value(value) if is_read(value) && object(value).is_some() => {}
        Mention::Value(value) => visit::walk(value, &mut |part| found.extend(addressed(part))),
        Mention::Read(place) => {
            visit::parts_of_place(place, &mut |part| {
                visit::walk(part, &mut |part| found.extend(addressed(part)))
            });
        }
        Mention::Write(place) => {
            if let Base::Global(name) = place.base {
                found.insert(name);
            }
            visit::parts_of_place(place, &mut |part| {
                visit::walk(part, &mut |part| found.extend(addressed(part)))
            });
        }
    });
    found
}

fn addressed(part: &Expr) -> Option<Name> {
    match part {
        Expr::Address(Lvalue { base: Base::Global(name), .. }) => Some(*name),
        _ => None,
    }
}

/// The object whose address it is, without any index that something else would have to be read for.
fn object(pointer: &Expr) -> Option<Name> {
    let Expr::Address(Lvalue { base: Base::Global(name), path, .. }) = pointer else { return None };
    let is_start =
        |step: &Step| matches!(step, Step::Index { index, .. } if matches!(**index, Expr::Int(0, _)));
    path.iter().all(is_start).then_some(*name)
}

impl Pass<'_, '_> {
    /// What the rows of a table say, up to the last one, which has no name; `None` if they may change, or are not known.
    pub(super) fn descriptions(&self, table: &Expr) -> Option<Vec<LongOption>> {
        let row = self.member_of_some(table, Name::new("val"))?;
        let offset = |member: &str| {
            let place = self.member_of_some(table, Name::new(member))?.place;
            match place.path.last()? {
                Step::Field { offset, .. } => Some(*offset),
                Step::Index { .. } => None,
            }
        };
        let (name, has_argument) = (offset("name")?, offset("has_arg")?);
        let (flag, value) = (offset("flag")?, offset("val")?);
        let last = self.elements(table, &row)?;
        let global = self.program.globals.get(&object(table)?).filter(|global| global.defined)?;
        if !global.constant && !self.unchanged.contains(&global.name) {
            return None;
        }
        let at = |offset: u64| global.init.iter().find(|one| one.offset == offset).map(|one| &one.value);
        let number = |offset: u64| match at(offset) {
            // What is not listed is 0.
            None => Some(0),
            Some(Constant::Int(number)) => Some(*number),
            Some(_) => None,
        };
        let is_null = |offset: u64| match at(offset) {
            None | Some(Constant::Int(0)) => Some(true),
            Some(Constant::Address(..)) => Some(false),
            Some(_) => None,
        };
        let mut found = Vec::new();
        for row in (0..=u64::try_from(last).ok()?).map(|at| at * row.stride) {
            if is_null(row + name)? {
                return Some(found);
            }
            found.push(LongOption {
                has_argument: number(row + has_argument)? == 1,
                value: number(row + value)?,
                has_variable: !is_null(row + flag)?,
            });
        }
        // Reading goes on behind the table.
        None
    }
}
