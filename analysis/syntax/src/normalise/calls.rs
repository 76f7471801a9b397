//! Built-in functions that take types, and the parts of complex numbers.

use super::Normaliser;
use super::brackets::{Bracket, Role};
use super::words::Word;

impl Normaliser<'_> {
    /// A call in which the arguments of the bit set `types` are types: each becomes `sizeof(T)`.
    pub(super) fn typed_call(&mut self, callee: &str, types: u8) {
        self.copy_as(callee);
        if self.peek(0) == Some(Word::OpenParen) {
            self.open(Bracket { type_arguments: types, ..Bracket::new(Role::TypedCall) });
        }
    }

    /// `__real__ z` becomes `*(struct __proofline_real *)&z`, which is an lvalue as it is in GNU C.
    pub(super) fn complex_part(&mut self, part: &str) {
        let origin = self.at;
        self.insert(origin, &["*", "(", "struct", part, "*", ")", "&"]);
        self.at += 1;
    }
}
