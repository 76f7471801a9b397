//! Terms that are kept for other processes, in the form in which workers get them.

use super::bytes::{Input, Output};
use super::terms::{Known, Sent};
use crate::term::Term;

/// Before each node, and after the last one.
const NODE: u8 = 1;
const END: u8 = 0;

/// These terms, with nodes that they share written once.
pub fn terms_to_bytes(terms: &[Term]) -> Vec<u8> {
    let (mut sent, mut out) = (Sent::default(), Output::default());
    terms.iter().for_each(|term| sent.define(&mut out, NODE, *term));
    out.byte(END);
    out.count(terms.len());
    terms.iter().for_each(|term| sent.term(&mut out, *term));
    out.0
}

/// What [`terms_to_bytes`] has written. `None` if the bytes are anything else: they may come from anywhere, and are not believed to be well sorted.
pub fn terms_from_bytes(bytes: &[u8]) -> Option<Vec<Term>> {
    let (mut known, mut from) = (Known::default(), Input(bytes));
    while from.byte()? == NODE {
        known.define(&mut from)?;
    }
    let terms = from.many(|from| known.term(from))?;
    from.0.is_empty().then_some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sort, Var, build as t};

    #[test]
    fn terms_come_back_and_garbage_does_not() {
        let (x, y) = (t::var(Var::new("x", Sort::Int)), t::var(Var::new("y", Sort::Int)));
        let sum = t::add([x, y]);
        let terms = [t::le(sum, t::int(4)), t::eq(sum, x), t::int(-3)];
        let bytes = terms_to_bytes(&terms);
        assert_eq!(terms_from_bytes(&bytes), Some(terms.to_vec()));
        // Each byte another one, or the rest missing: never a panic, and what is read is well sorted.
        for at in 0..bytes.len() {
            assert_eq!(terms_from_bytes(&bytes[..at]), None, "the first {at} bytes");
            for new in 0..=u8::MAX {
                let mut damaged = bytes.clone();
                damaged[at] = new;
                terms_from_bytes(&damaged);
            }
        }
    }
}
