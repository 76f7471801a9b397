//! Programs about objects, their bounds and their lives: heap blocks, variable arrays, strings, lists, what is kept beyond a scope. Most
//! have one planted error, which some inputs may be needed for. Every error is one that a sanitizer sees: next to an object, not inside of
//! a record and not far away.

mod arrays;
mod examine;
mod records;
mod truth;
mod writer;

pub(crate) use examine::examine_heap;
pub(crate) use writer::heap;

#[cfg(test)]
mod tests {
    use super::heap;
    use crate::programs::Manner;

    #[test]
    fn a_seed_gives_the_same_program() {
        let manner = Manner { is_heap: true, is_risky: true, ..Manner::default() };
        assert_eq!(heap(5, manner), heap(5, manner));
        assert_ne!(heap(5, manner), heap(6, manner));
    }
}
