//! Structures and values for people.

use std::fmt::Write as _;

use proofline_cfa::Expr;

use super::{
    class::{Field, Unary, Var},
    region::ShapeRegion,
    step::{Step, Value},
    structure::{Content, Structure},
};

/// A state on one line.
pub(super) fn line(state: &ShapeRegion) -> String {
    match state {
        ShapeRegion::Unknown(_) => "unknown".to_owned(),
        ShapeRegion::Known(known) => {
            let all: Vec<String> = known.structures.iter().map(|one| structure(one)).collect();
            all.join(" | ")
        }
    }
}

/// The value of an expression.
pub(super) fn value(step: &Step<'_>, expr: &Expr) -> String {
    match step.eval(expr) {
        Ok(Value::Int(0)) if expr.scalar() == proofline_cfa::Scalar::Pointer => "null".to_owned(),
        Ok(Value::Int(number)) => number.to_string(),
        Ok(Value::Node(node, _)) if step.structure.unary(Unary::Freed, node).is_true() => "freed".to_owned(),
        Ok(Value::Node(..)) => "object".to_owned(),
        Ok(Value::Address(var)) => format!("&{}", variable(var)),
        Ok(Value::Function(name)) => name.to_string(),
        Ok(Value::Outside) => "outside".to_owned(),
        Ok(Value::Any) | Err(_) => "unknown".to_owned(),
    }
}

fn variable(var: Var) -> String {
    match var {
        Var::Global(name) => name.to_string(),
        Var::Local(depth, id) => format!("{id}@{depth}"),
    }
}

fn field(field: Field) -> String {
    format!("+{}", field.offset)
}

fn unary(predicate: Unary) -> String {
    match predicate {
        Unary::Points(var) => variable(var),
        Unary::Freed => "freed".to_owned(),
        Unary::Named => "variable".to_owned(),
        Unary::Wild(of) => format!("any{}", field(of)),
        Unary::Given(of) => format!("given{}", field(of)),
        Unary::Equals(of, value) => format!("{}={value}", field(of)),
        Unary::Reach(var, links) => format!("r{}[{}]", links.0, variable(var)),
        Unary::Shared(links) => format!("shared{}", links.0),
        Unary::Cycle(links) => format!("cycle{}", links.0),
        Unary::Cancel(there, back) => format!("{}{}=id", field(there), field(back)),
    }
}

fn structure(structure: &Structure) -> String {
    let mut text = String::from("{");
    for (var, content) in structure.contents() {
        let content = match content {
            Content::Pointer if structure.pointees(*var).is_empty() => "null".to_owned(),
            Content::Pointer => continue,
            Content::Int(value) => value.to_string(),
            Content::Outside => "outside".to_owned(),
            Content::Address(of) => format!("&{}", variable(*of)),
        };
        let _ = write!(text, " {}={content}", variable(*var));
    }
    for node in 0..structure.len() {
        let star = if structure.is_summary(node) { "*" } else { "" };
        let _ = write!(text, "; n{node}{star}:");
        for (predicate, row) in structure.unary_rows() {
            let value = row[node];
            if value.may_hold() {
                let mark = if value.is_true() { "" } else { "?" };
                let _ = write!(text, " {}{mark}", unary(predicate));
            }
        }
        for of in structure.edge_fields() {
            for (to, value) in structure.successors(of, node) {
                let mark = if value.is_true() { "" } else { "?" };
                let _ = write!(text, " {}->n{to}{mark}", field(of));
            }
        }
    }
    if structure.lost {
        text.push_str("; lost");
    }
    text.push_str(" }");
    text
}
