//! The structure that executions start with.

use std::sync::Arc;

use proofline_cfa::{Constant, Entry, Global, Object};
use proofline_hir::Name;

use super::{
    class::Var,
    program::Context,
    step::{Step, Value, is_scalar},
    structure::Structure,
    transfer::{is_record, named},
    update,
};

/// Variables with their initial values; `None`: nothing is known.
pub(super) fn entry(context: &Context, entry: Entry) -> Option<(Arc<[Name]>, Structure)> {
    let env = &context.env;
    let program = env.program();
    let frames: Arc<[Name]> = Arc::new([entry.name]);
    let function = env.function(entry.name)?;
    let early: Vec<Name> =
        program.functions.values().filter(|f| f.attributes.runs_outside_main).map(|f| f.name).collect();
    let keeps = |global: &Global| {
        let is_changed = early.iter().any(|name| {
            let writes = env.writes(*name);
            writes.contains(&Object::Global(global.name)) || writes.contains(&Object::External)
        });
        !is_changed && global.keeps_initial(entry)
    };
    // Constructors may have allocated something.
    let mut structure = Structure::new();
    structure.lost = !early.is_empty();
    let mut step = Step { context, function, frames: &frames, structure };
    let records = program.globals.values().filter(|global| is_record(global.ty) && global.size > 0);
    for global in records.clone() {
        named(&mut step.structure, context, Var::Global(global.name), global.size, keeps(global));
    }
    for global in program.globals.values().filter(|global| keeps(global)) {
        let var = Var::Global(global.name);
        match step.scalar_of(var) {
            Some(_) => {
                let initial = global.init.first();
                let value = match initial {
                    None => Value::Int(0),
                    Some(initial) if initial.offset == 0 && initial.bits.is_none() => {
                        constant(&step, &initial.value)
                    }
                    Some(_) => Value::Any,
                };
                step.assign(var, value);
            }
            None => {
                let Some(node) = step.structure.pointee(var) else { continue };
                for initial in &global.init {
                    let bytes = match initial.bits {
                        Some(bits) => u64::from(bits.first + bits.width).div_ceil(8),
                        None => step.bytes(initial.scalar),
                    };
                    let value = constant(&step, &initial.value);
                    let written = initial.bits.is_none().then_some((initial.scalar, value));
                    step.write(node, initial.offset.into(), bytes, written).ok()?;
                }
            }
        }
    }
    for id in &function.parameters {
        let (var, local) = (Var::Local(0, *id), function.local(*id));
        if !is_scalar(function, *id) && is_record(local.ty) && local.size > 0 {
            named(&mut step.structure, context, var, local.size, false);
        }
    }
    update::collect(&mut step.structure, &context.class);
    Some((frames.clone(), super::operation::settled(&step.structure, &context.class)?))
}

fn constant(step: &Step<'_>, constant: &Constant) -> Value {
    match constant {
        Constant::Int(value) => Value::Int(*value),
        Constant::Address(name, offset) => {
            let var = Var::Global(*name);
            match (step.scalar_of(var), step.structure.pointee(var)) {
                (Some(_), _) if *offset == 0 => Value::Address(var),
                (None, Some(node)) => Value::Node(node, (*offset).into()),
                _ => Value::Any,
            }
        }
        Constant::Function(name) => Value::Function(*name),
        Constant::Float(_) | Constant::Unknown => Value::Any,
    }
}
