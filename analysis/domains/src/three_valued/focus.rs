//! Focus: a formula that an operation asks about gets a definite value in each of several structures, which stand for what the one stood for. A summary
//! that a pointer leads into is split: the individual that it leads to, and the others. Law: no concrete structure is lost, none is added.

use super::{
    class::{Field, Unary, Var},
    logic::Kleene,
    structure::{Content, Structure},
};

/// What must be definite before an operation can be done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Focus {
    /// Where the pointer field of the individual leads.
    Field(usize, Field),
    /// A unary predicate at the individual.
    Unary(usize, Unary),
    /// Where the variable leads.
    Variable(Var),
}

/// The cases. `None`: the individual may be several, and nothing can be said of one of them.
pub fn focus(structure: &Structure, on: Focus) -> Option<Vec<Structure>> {
    match on {
        Focus::Field(node, field) => {
            if structure.is_summary(node) {
                return None;
            }
            let targets = structure.successors(field, node);
            let led = |structure: &mut Structure, to: Option<usize>| {
                structure.set_unary(Unary::Wild(field), node, Kleene::False);
                for other in 0..structure.len() {
                    structure.set_field(field, node, other, Kleene::from(Some(other) == to));
                }
            };
            let wild = structure.unary(Unary::Wild(field), node);
            let mut cases = targeted(structure, &targets, wild.is_true(), &led);
            if wild.may_hold() && targets.iter().all(|(_, value)| !value.is_true()) {
                let mut anything = structure.clone();
                led(&mut anything, None);
                anything.set_unary(Unary::Wild(field), node, Kleene::True);
                cases.push(anything);
            }
            Some(cases)
        }
        Focus::Unary(node, predicate) => {
            if structure.is_summary(node) {
                return None;
            }
            if structure.unary(predicate, node).is_definite() {
                return Some(vec![structure.clone()]);
            }
            let known = [Kleene::True, Kleene::False].map(|value| {
                let mut case = structure.clone();
                case.set_unary(predicate, node, value);
                case
            });
            Some(known.into())
        }
        Focus::Variable(var) => {
            if structure.content(var) != Some(Content::Pointer) {
                return Some(vec![structure.clone()]);
            }
            let targets = structure.pointees(var);
            let led = |structure: &mut Structure, to: Option<usize>| {
                for other in 0..structure.len() {
                    structure.set_unary(Unary::Points(var), other, Kleene::from(Some(other) == to));
                }
            };
            Some(targeted(structure, &targets, false, &led))
        }
    }
}

/// A case per target, and one for none. `led` says in a structure which target it is.
fn targeted(
    structure: &Structure,
    targets: &[(usize, Kleene)],
    is_excluded: bool,
    led: &dyn Fn(&mut Structure, Option<usize>),
) -> Vec<Structure> {
    if is_excluded {
        return Vec::new();
    }
    let certain: Vec<usize> =
        targets.iter().filter(|(_, value)| value.is_true()).map(|(node, _)| *node).collect();
    let mut cases = Vec::new();
    match certain[..] {
        // It is that one, so it is one.
        [to] => {
            let mut case = structure.clone();
            case.set_summary(to, false);
            led(&mut case, Some(to));
            cases.push(case);
        }
        [] => {
            let mut none = structure.clone();
            led(&mut none, None);
            cases.push(none);
            for (to, _) in targets {
                let mut whole = structure.clone();
                whole.set_summary(*to, false);
                led(&mut whole, Some(*to));
                cases.push(whole);
                if structure.is_summary(*to) {
                    let mut split = structure.clone();
                    let one = split.duplicate(*to);
                    split.set_summary(one, false);
                    led(&mut split, Some(one));
                    cases.push(split);
                }
            }
        }
        // It cannot lead to two.
        _ => {}
    }
    cases
}
