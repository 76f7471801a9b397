//! What `%n` in formats of `printf` writes behind arguments. Formats that are not literals may have one for each of them.

use proofline_cfa::{Argument, Cause, Expr, MemoryPredicate, Op};

use super::{
    apply::Pass,
    arguments::{pointer, pointers_from},
    format::{self, Directive},
    needs::{is_variable, memory},
};

impl Pass<'_, '_> {
    /// The numbers that a literal format says are stored: there must be room for each.
    pub(super) fn count_written(
        &mut self,
        arguments: &[Argument],
        format: usize,
        first: usize,
        cause: Cause,
    ) {
        let directives = pointer(arguments, format)
            .and_then(|format| format::directives(self.program, &format, false))
            .unwrap_or_default();
        let mut at = first;
        for directive in directives {
            let Directive::Conversion(specification) = directive else { continue };
            at += specification.taken();
            let of = specification.argument.map_or(at, |number| first + number - 1);
            at += 1;
            if specification.letter != b'n' {
                continue;
            }
            let Some(to) = pointer(arguments, of) else { continue };
            let bytes = self.scanned_bytes(&specification.length, b'n');
            let size = Expr::Int(bytes, self.emitter.types.size_t());
            if !is_variable(&to, &size) {
                self.emitter.demand(memory(MemoryPredicate::InBounds, &to, size.clone()));
            }
            self.emitter.emit(Op::HavocBytes(to, size, cause.guess()));
        }
    }

    /// What such numbers may change where the format is not known. Most formats have none, so nothing is asked.
    pub(super) fn may_count_written(&mut self, arguments: &[Argument], first: usize, cause: Cause) {
        self.emitter.approximate("format that is not a literal");
        let size = Expr::Int(8, self.emitter.types.size_t());
        for to in pointers_from(arguments, first) {
            let op = Op::HavocBytes(to.clone(), size.clone(), cause.guess());
            self.emitter.if_not_null(&to, |emitter| emitter.emit_as_it_is(op));
        }
    }
}
