//! Normalisation of arrays: reads over writes, writes over writes.

use super::Constructors;
use crate::term::{Op, Term};

pub(crate) fn select(make: impl Constructors, array: Term, index: Term) -> Term {
    let mut array = array;
    loop {
        match array.op() {
            Op::ConstArray(_) => return array.args()[0],
            Op::Store => {
                let same = make.eq(array.args()[1], index);
                if same.is_true() {
                    return array.args()[2];
                }
                if !same.is_false() {
                    break;
                }
                array = array.args()[0];
            }
            _ => break,
        }
    }
    Term::raw(Op::Select, vec![array, index])
}

pub(crate) fn store(array: Term, index: Term, element: Term) -> Term {
    let base = match array.op() {
        Op::Store if array.args()[1] == index => array.args()[0],
        _ => array,
    };
    let unchanged = match (element.op(), base.op()) {
        (Op::Select, _) => element.args() == [base, index],
        (_, Op::ConstArray(_)) => base.args()[0] == element,
        _ => false,
    };
    if unchanged { base } else { Term::raw(Op::Store, vec![base, index, element]) }
}
