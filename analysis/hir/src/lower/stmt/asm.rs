//! Inline assembly: what goes in, what comes out, whether memory may change. The template is not read, except that an
//! empty one does nothing.

use tree_sitter::Node;

use super::super::{Lowerer, children, field};
use crate::body::{ExprId, ExprKind, Stmt, StmtId};

impl<'u> Lowerer<'u> {
    pub(super) fn asm(&mut self, node: Node<'u>) -> StmtId {
        let template = field(node, "assembly_code").map_or("", |t| self.text(t));
        let is_empty = template.chars().all(|c| c == '"' || c.is_whitespace());
        let operands = |name: &str| field(node, name).map(children).unwrap_or_default();
        let (mut outputs, mut inputs): (Vec<ExprId>, Vec<ExprId>) = (Vec::new(), Vec::new());
        for operand in operands("output_operands") {
            let (Some(constraint), Some(value)) = (field(operand, "constraint"), field(operand, "value"))
            else {
                continue;
            };
            let place = self.expr(value);
            if !self.is_lvalue(place) {
                self.error(value, "an output of `asm` must be an object");
            }
            outputs.push(place);
            // Read as well; the value of a more complicated place may be anything, evaluating it twice must not be.
            let is_variable = matches!(self.kind_of(place), ExprKind::Local(_) | ExprKind::Global(_));
            if self.text(constraint).contains('+') && is_variable {
                inputs.push(self.value(value));
            }
        }
        for operand in operands("input_operands") {
            if let Some(value) = field(operand, "value") {
                inputs.push(self.value(value));
            }
        }
        let clobbers = operands("clobbers");
        let names_memory = clobbers.iter().any(|c| self.text(*c).contains("memory"));
        // Without operands at all it is a basic `asm`, which says nothing about what it changes.
        let is_basic = field(node, "output_operands").is_none();
        let clobbers_memory = !is_empty && (names_memory || is_basic);
        let labels = operands("goto_labels").into_iter().filter_map(|l| self.label(l)).collect();
        self.new_stmt(Stmt::Asm { outputs, inputs, clobbers_memory, labels }, node)
    }
}
