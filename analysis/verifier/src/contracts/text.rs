//! Contracts for people: in words, and as the ACSL annotation that the program reads back.

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Program, expr_text};

use super::{
    Asked, Contract, Memory,
    opaque::Opaque,
    origin::{is_character, types},
};

/// What is asked of a pointer, in words: `` `d` with room for `size` bytes ``.
pub(super) fn asked(program: &Program, function: &Function, parameter: usize, asked: &Asked) -> String {
    let Some(id) = function.parameters.get(parameter) else { return String::new() };
    let local = function.local(*id);
    let name = &local.name;
    let null = if asked.or_null { " or null" } else { "" };
    match &asked.memory {
        Memory::Nothing if asked.or_null => format!("any `{name}`"),
        Memory::Nothing => format!("`{name}`, not null"),
        Memory::Bytes(bytes) => match whole(program, function, parameter, *bytes) {
            Some(text) => format!("`{name}` that points to {text}{null}"),
            None => format!("`{name}` with {bytes} bytes{null}"),
        },
        Memory::Elements(count, stride) => {
            let what = if *stride == 1 { "bytes" } else { "elements" };
            format!("`{name}` with room for `{}` {what}{null}", expr_text(function, count))
        }
        Memory::Until(end) => match function.parameters.get(*end) {
            Some(end) => format!("`{name}` that points to elements up to `{}`", function.local(*end).name),
            None => String::new(),
        },
        Memory::String => format!("`{name}` that is a string{null}"),
        Memory::Structure => {
            let or = if asked.or_null { "null, or " } else { "" };
            let mut opaque = Opaque::of(program).words().collect::<Vec<_>>().join(", ");
            if !opaque.is_empty() {
                opaque = format!(" ({opaque})");
            }
            format!(
                "`{name}`: {or}an object of its type, and so is everything that pointers in it lead to{opaque}"
            )
        }
    }
}

/// What so many bytes are, of the pointer's type.
fn whole(program: &Program, function: &Function, parameter: usize, bytes: u64) -> Option<&'static str> {
    let ty = function.local(function.parameters[parameter]).ty.pointee()?;
    if is_character(ty) && bytes == 1 {
        return Some("a byte");
    }
    (types(program).size(ty) == Some(bytes)).then_some("an object of its type")
}

impl Contract {
    /// Each demand in words.
    pub fn words(&self, program: &Program, function: &Function) -> Vec<String> {
        let pointers = self.pointers.iter().map(|(at, of)| asked(program, function, *at, of));
        let conditions =
            self.conditions.iter().map(|condition| format!("`{}`", expr_text(function, condition)));
        let hooks = self.hooks.iter().map(|(place, hook)| {
            let null = if hook.or_null { "" } else { ", not null," };
            format!("{}{null} {}", place.text(), hook.like.text())
        });
        pointers.chain(conditions).chain(hooks).collect()
    }

    /// Each demand as a term of ACSL.
    pub fn acsl(&self, program: &Program, function: &Function) -> Vec<String> {
        let pointers = self.pointers.iter().filter_map(|(at, asked)| acsl_of(program, function, *at, asked));
        let conditions = self.conditions.iter().map(|condition| condition_text(function, condition));
        pointers.chain(conditions).collect()
    }
}

fn acsl_of(program: &Program, function: &Function, parameter: usize, asked: &Asked) -> Option<String> {
    let local = function.local(*function.parameters.get(parameter)?);
    let name = &local.name;
    let term = match &asked.memory {
        Memory::Nothing if asked.or_null => return None,
        Memory::Nothing => return Some(format!("{name} != \\null")),
        Memory::Bytes(bytes) => {
            let is_whole = whole(program, function, parameter, *bytes).is_some();
            if is_whole {
                format!("\\valid({name})")
            } else {
                format!("\\valid((char *){name} + (0 .. {}))", bytes - 1)
            }
        }
        Memory::Elements(count, stride) => {
            let pointee = local.ty.pointee()?;
            let is_own = types(program).size(pointee) == Some(*stride);
            let cast = if is_own { "" } else { "(char *)" };
            format!("\\valid({cast}{name} + (0 .. {} - 1))", count_text(function, count))
        }
        Memory::Until(end) => {
            let end = function.local(*function.parameters.get(*end)?).name;
            format!("\\valid({name} + (0 .. {end} - {name} - 1))")
        }
        Memory::String => format!("valid_read_string({name})"),
        Memory::Structure => format!("valid_structure({name})"),
    };
    Some(if asked.or_null { format!("({name} == \\null || {term})") } else { term })
}

fn count_text(function: &Function, count: &Expr) -> String {
    match count {
        Expr::Cast(_, arg, _) => count_text(function, arg),
        _ => expr_text(function, count),
    }
}

/// A condition as C writes it.
fn condition_text(function: &Function, condition: &Expr) -> String {
    match condition {
        Expr::Compare(op, lhs, rhs) => {
            let op = match op {
                CompareOp::Eq => "==",
                CompareOp::Ne => "!=",
                CompareOp::Lt => "<",
                CompareOp::Le => "<=",
                CompareOp::Gt => ">",
                CompareOp::Ge => ">=",
            };
            let null = |expr: &Expr| {
                if *expr == Expr::Null { "\\null".to_owned() } else { count_text(function, expr) }
            };
            format!("{} {op} {}", null(lhs), null(rhs))
        }
        Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => {
            format!("({} && {})", condition_text(function, lhs), condition_text(function, rhs))
        }
        Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => {
            format!("({} || {})", condition_text(function, lhs), condition_text(function, rhs))
        }
        _ => expr_text(function, condition),
    }
}
