//! Calls: a frame is put on, and taken off with all that lived in it.

use proofline_cfa::{Callee, LocalId};
use proofline_cpa::CallContext;
use proofline_hir::Name;

use super::{
    class::Var,
    operation::Stop,
    program::Context,
    step::{Result, Step, Value, is_scalar},
    structure::{Content, Structure},
    transfer::{is_record, named, split},
    update,
};

/// The local that holds a result while its place is looked for.
const RESULT: LocalId = LocalId(u32::MAX);

/// From the call's source to the callee's entry.
pub(super) fn enter(
    context: &Context,
    frames: &[Name],
    from: &Structure,
    call: CallContext<'_>,
) -> Option<Vec<Structure>> {
    split(context, call.at.function, frames, from, &|step| step.enter(call))
}

/// From the callee's exit to the call's target. `frames` are those of the callee.
pub(super) fn leave(
    context: &Context,
    frames: &[Name],
    exit: &Structure,
    call: CallContext<'_>,
) -> Option<Vec<Structure>> {
    split(context, call.at.function, frames, exit, &|step| step.leave(call))
}

impl Step<'_> {
    fn enter(mut self, call: CallContext<'_>) -> Result<Vec<Structure>> {
        if let Callee::Indirect(pointer, _) = &call.call.callee {
            match self.eval(pointer)? {
                Value::Function(name) if name == call.callee.name => {}
                Value::Function(_) | Value::Int(0) | Value::Node(..) | Value::Address(_) | Value::Outside => {
                    return Ok(Vec::new());
                }
                Value::Any | Value::Int(_) => {}
            }
        }
        let arguments: Vec<Option<Value>> =
            call.call.arguments.iter().map(|argument| self.argument(argument)).collect::<Result<_>>()?;
        let frames: Vec<Name> = self.frames.iter().copied().chain([call.callee.name]).collect();
        let mut inner = Step {
            context: self.context,
            function: call.callee,
            frames: &frames,
            structure: std::mem::take(&mut self.structure),
        };
        let depth = inner.depth();
        let mut arguments = arguments.into_iter();
        for id in &call.callee.parameters {
            let var = Var::Local(depth, *id);
            match arguments.next().flatten() {
                Some(value) if is_scalar(call.callee, *id) => inner.assign(var, value),
                _ => {
                    update::forget(&mut inner.structure, var);
                    let local = call.callee.local(*id);
                    if is_record(local.ty) && local.size > 0 {
                        named(&mut inner.structure, self.context, var, local.size, false);
                    }
                }
            }
        }
        Ok(vec![inner.structure])
    }

    fn leave(mut self, call: CallContext<'_>) -> Result<Vec<Structure>> {
        let depth = self.depth();
        let caller = depth.checked_sub(1).ok_or(Stop::Unknown)?;
        let slot = Var::Local(caller, RESULT);
        let class = &self.context.class;
        if let Some(id) = call.callee.result {
            let result = Var::Local(depth, id);
            let content = self.structure.content(result).filter(|_| is_scalar(call.callee, id));
            match (content, self.structure.pointee(result)) {
                (Some(Content::Pointer), Some(node)) => update::point(&mut self.structure, class, slot, node),
                (Some(Content::Pointer), None) if !self.structure.pointees(result).is_empty() => {
                    update::forget(&mut self.structure, slot);
                }
                _ => update::set_content(&mut self.structure, slot, content),
            }
        }
        let gone: Vec<Var> = self
            .structure
            .contents()
            .keys()
            .copied()
            .filter(|var| matches!(var, Var::Local(of, _) if *of == depth))
            .collect();
        for var in gone {
            self.end(var)?;
        }
        // Locals of which nothing was known may have been pointed to, too.
        for (holder, content) in self.structure.contents().clone() {
            let may_lead_there = match content {
                Content::Address(Var::Local(of, _)) => of == depth,
                Content::Outside => true,
                Content::Address(Var::Global(_)) | Content::Pointer | Content::Int(_) => false,
            };
            if may_lead_there {
                update::forget(&mut self.structure, holder);
            }
        }
        let frames = &self.frames[..self.frames.len() - 1];
        let mut outer =
            Step { context: self.context, function: call.at.function, frames, structure: self.structure };
        if let Some(dst) = &call.call.dst {
            let value = match dst.scalar {
                Some(_) => outer.variable_value(slot)?,
                None => Value::Any,
            };
            outer.store(dst, value)?;
        }
        update::forget(&mut outer.structure, slot);
        Ok(vec![outer.structure])
    }
}
