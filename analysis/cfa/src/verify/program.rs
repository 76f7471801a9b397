//! Programs: sentence 7.

use proofline_hir::{Name, TypeKind};

use super::{Defect, Flaw, Part, verify_function};
use crate::{
    expr::{Base, Expr},
    function::{Argument, Call, Callee, Function, Op},
    program::{Constant, Global, Program},
    visit,
};

/// Everything wrong with a program and its automata.
pub fn verify_program(program: &Program) -> Vec<Defect> {
    let mut defects = Vec::new();
    for (name, global) in &program.globals {
        let mut report = |flaw, detail| {
            defects.push(Defect { of: *name, part: Part::Whole, flaw, detail });
        };
        if global.name != *name {
            report(Flaw::Name, format!("is called {}", global.name));
        }
        initial(program, global, &mut report);
    }
    for (name, function) in &program.functions {
        defects.extend(verify_function(function, program.data_model, &program.records, None));
        let mut report = |part, flaw, detail| defects.push(Defect { of: *name, part, flaw, detail });
        if function.name != *name {
            report(Part::Whole, Flaw::Name, format!("is called {}", function.name));
        }
        for (id, edge) in function.edge_ids() {
            let mut report = |flaw, detail| report(Part::Edge(id), flaw, detail);
            names(program, &edge.op, &mut report);
            if let Op::Call(call) = &edge.op {
                arguments(program, call, &mut report);
            }
        }
    }
    defects
}

fn is_function(program: &Program, name: Name) -> bool {
    program.functions.contains_key(&name) || program.externals.contains_key(&name)
}

fn initial(program: &Program, global: &Global, report: &mut dyn FnMut(Flaw, String)) {
    // Bits that are taken, in order.
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for name in &global.hidden {
        if !program.globals.contains_key(name) && !is_function(program, *name) {
            report(Flaw::Name, format!("object or function {name}"));
        }
    }
    for initial in &global.init {
        let bytes = initial.bits.map_or(program.scalar_bytes(initial.scalar), |bits| {
            (u64::from(bits.first) + u64::from(bits.width)).div_ceil(8)
        });
        if initial.offset.saturating_add(bytes) > global.size {
            report(Flaw::Initial, format!("{bytes} bytes at {} of {}", initial.offset, global.size));
        }
        let first = initial.offset.saturating_mul(8) + initial.bits.map_or(0, |bits| u64::from(bits.first));
        taken.push((first, first + initial.bits.map_or(bytes * 8, |bits| u64::from(bits.width))));
        match &initial.value {
            Constant::Int(_) | Constant::Float(_) | Constant::Unknown => {}
            Constant::Address(name, _) => {
                if !program.globals.contains_key(name) {
                    report(Flaw::Name, format!("object {name}"));
                }
            }
            Constant::Function(name) => {
                if !is_function(program, *name) {
                    report(Flaw::Name, format!("function {name}"));
                }
            }
        }
    }
    taken.sort_unstable();
    for pair in taken.windows(2) {
        if let [(_, end), (next, _)] = pair
            && end > next
        {
            report(Flaw::Initial, format!("two values share bit {next}"));
        }
    }
}

fn names(program: &Program, op: &Op, report: &mut dyn FnMut(Flaw, String)) {
    let global = |base: &Base| {
        if let Base::Global(name) = base {
            Some(*name).filter(|name| !program.globals.contains_key(name))
        } else {
            None
        }
    };
    let mut unknown: Vec<String> = Vec::new();
    visit::exprs(op, &mut |expr| match expr {
        Expr::Function(name) if !is_function(program, *name) => unknown.push(format!("function {name}")),
        Expr::Load(lvalue) | Expr::Address(lvalue) => {
            unknown.extend(global(&lvalue.base).map(|name| format!("object {name}")));
        }
        Expr::Function(_)
        | Expr::Int(..)
        | Expr::Float(..)
        | Expr::Null
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Cast(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => {}
    });
    visit::mentions(op, &mut |mention| {
        if let visit::Mention::Read(lvalue) | visit::Mention::Write(lvalue) = mention {
            unknown.extend(global(&lvalue.base).map(|name| format!("object {name}")));
        }
    });
    for detail in unknown {
        report(Flaw::Name, detail);
    }
}

/// A direct call against the definition. An old-style definition takes what it is given.
fn arguments(program: &Program, call: &Call, report: &mut dyn FnMut(Flaw, String)) {
    let Callee::Direct(name) = call.callee else { return };
    let Some(callee) = program.functions.get(&name) else {
        if !is_function(program, name) {
            report(Flaw::Name, format!("function {name}"));
        }
        return;
    };
    let TypeKind::Function(signature) = callee.ty.kind() else { return };
    if signature.unprototyped {
        return;
    }
    let (given, taken) = (call.arguments.len(), callee.parameters.len());
    if given < taken || (given > taken && !callee.variadic) {
        report(Flaw::Call, format!("{given} arguments for the {taken} of {name}"));
    }
    let scalar = |function: &Function, id: crate::LocalId| {
        let types = crate::Types { records: &program.records, model: program.data_model };
        types.scalar(function.local(id).ty)
    };
    for (argument, id) in call.arguments.iter().zip(&callee.parameters) {
        let given = match argument {
            Argument::Value(value) => Some(value.scalar()),
            Argument::Aggregate(_) => None,
        };
        let taken = scalar(callee, *id);
        if given != taken {
            report(Flaw::Call, format!("{given:?} for {taken:?}, {} of {name}", callee.local(*id).name));
        }
    }
    if let (Some(dst), Some(result)) = (&call.dst, callee.result) {
        let given = scalar(callee, result);
        if dst.scalar != given {
            report(Flaw::Call, format!("{:?} gets the {given:?} of {name}", dst.scalar));
        }
    }
}
