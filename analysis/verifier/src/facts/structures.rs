//! Lists and trees in words: `l` is NULL or an acyclic list of at least 1 object, linked by `next`.

use proofline_cfa::{Program, Type};
use proofline_domains::shape::{Form, List, Tree};
use proofline_hir::TypeKind;

/// What a pointer of this type leads to, as a clause about it; `None` if there is nothing worth saying.
pub fn structure(program: &Program, name: &str, ty: Type, form: &Form) -> Option<String> {
    let TypeKind::Record(tag) = ty.pointee()?.kind() else { return None };
    let record = program.records.get(tag)?;
    let member = |at: u64| {
        let is_there =
            |field: &&proofline_hir::types::Field| field.offset == at && field.ty.pointee().is_some();
        record.fields.iter().find(is_there).map(|field| field.name.to_string())
    };
    text(name, form, &member)
}

/// The same. `member`: what the member at a place is called.
fn text(name: &str, form: &Form, member: &dyn Fn(u64) -> Option<String>) -> Option<String> {
    if !form.may_lead {
        return None;
    }
    let or_null = if form.may_be_null { "NULL or " } else { "" };
    if form.is_freed {
        return Some(match form.may_be_null {
            true => format!("`{name}` is NULL or leads to freed memory"),
            false => format!("`{name}` leads to freed memory"),
        });
    }
    let longest = |most: Option<u32>| most.unwrap_or(u32::MAX);
    let list = form
        .lists
        .iter()
        .max_by_key(|(next, list)| (longest(list.most), !list.back.is_empty(), std::cmp::Reverse(**next)));
    let tree = form.trees.iter().max_by_key(|(_, tree)| longest(tree.most));
    let is_tree = match (list, tree) {
        (Some((_, list)), Some((_, tree))) => longest(tree.most) > longest(list.most),
        (list, tree) => list.is_none() && tree.is_some(),
    };
    if is_tree {
        let ((left, right), tree) = tree?;
        let links = format!("`{}` and `{}`", member(*left)?, member(*right)?);
        let count = count_of_tree(tree)?;
        return Some(format!("`{name}` is {or_null}the root of a tree of {count}, linked by {links}"));
    }
    let (next, list) = list?;
    // Of one object alone any link that is null says the same.
    if longest(list.most) <= 1 && form.lists.len() > 1 {
        return None;
    }
    let back = list.back.first().filter(|_| longest(list.most) > 1).and_then(|back| member(*back));
    let kind = match (list.is_cyclic, &back) {
        (false, None) => "an acyclic list",
        (false, Some(_)) => "an acyclic doubly linked list",
        (true, None) => "a cyclic list",
        (true, Some(_)) => "a cyclic doubly linked list",
    };
    let links = match back {
        Some(back) => format!("`{}` and `{back}`", member(*next)?),
        None => format!("`{}`", member(*next)?),
    };
    Some(format!("`{name}` is {or_null}{kind} of {}, linked by {links}", count_of_list(list)))
}

fn count_of_list(list: &List) -> String {
    count(list.least, list.most)
}

fn count_of_tree(tree: &Tree) -> Option<String> {
    (tree.most != Some(1)).then(|| count(tree.least, tree.most))
}

/// `at least 1 object`, `3 objects`, `1 to 3 objects`
fn count(least: u32, most: Option<u32>) -> String {
    let objects = |count: u32| if count == 1 { "object" } else { "objects" };
    match most {
        None => format!("at least {least} {}", objects(least)),
        Some(most) if most == least => format!("{most} {}", objects(most)),
        Some(most) => format!("{least} to {most} objects"),
    }
}
