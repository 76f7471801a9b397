//! Contracts for people: in words, and as the ACSL annotation that the program reads back.

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, expr_text};

use super::{Asked, Contract, Memory, origin::is_character};

/// What is asked of a pointer, in words: `` `d` with room for `size` bytes ``.
pub(super) fn asked(function: &Function, parameter: usize, asked: &Asked) -> String {
    let Some(id) = function.parameters.get(parameter) else { return String::new() };
    let local = function.local(*id);
    let name = &local.name;
    let null = if asked.or_null { " or null" } else { "" };
    match &asked.memory {
        Memory::Nothing if asked.or_null => format!("any `{name}`"),
        Memory::Nothing => format!("`{name}`, not null"),
        Memory::Bytes(bytes) => match whole(function, parameter, *bytes) {
            Some(text) => format!("`{name}` that points to {text}{null}"),
            None => format!("`{name}` with {bytes} bytes{null}"),
        },
        Memory::Elements(count, stride) => {
            let what = if *stride == 1 { "bytes" } else { "elements" };
            format!("`{name}` with room for `{}` {what}{null}", expr_text(function, count))
        }
        Memory::String => format!("`{name}` that is a string{null}"),
        Memory::Structure => {
            let or = if asked.or_null { "null, or " } else { "" };
            format!("`{name}`: {or}an object of its type, and so is everything that pointers in it lead to")
        }
    }
}

/// What so many bytes are, of the pointer's type.
fn whole(function: &Function, parameter: usize, bytes: u64) -> Option<&'static str> {
    let ty = function.local(function.parameters[parameter]).ty.pointee()?;
    if is_character(ty) && bytes == 1 {
        return Some("a byte");
    }
    let is_whole =
        element_bytes(ty) == Some(bytes) || matches!(ty.kind(), proofline_hir::TypeKind::Record(_));
    is_whole.then_some("an object of its type")
}

impl Contract {
    /// Each demand in words.
    pub fn words(&self, function: &Function) -> Vec<String> {
        let pointers = self.pointers.iter().map(|(at, of)| asked(function, *at, of));
        let conditions =
            self.conditions.iter().map(|condition| format!("`{}`", expr_text(function, condition)));
        pointers.chain(conditions).collect()
    }

    /// Each demand as a term of ACSL.
    pub fn acsl(&self, function: &Function) -> Vec<String> {
        let pointers = self.pointers.iter().filter_map(|(at, asked)| acsl_of(function, *at, asked));
        let conditions = self.conditions.iter().map(|condition| condition_text(function, condition));
        pointers.chain(conditions).collect()
    }

    /// The annotation that says it.
    pub fn annotation(&self, function: &Function) -> String {
        format!("/*@ requires {}; */", self.acsl(function).join(" && "))
    }
}

fn acsl_of(function: &Function, parameter: usize, asked: &Asked) -> Option<String> {
    let local = function.local(*function.parameters.get(parameter)?);
    let name = &local.name;
    let term = match &asked.memory {
        Memory::Nothing if asked.or_null => return None,
        Memory::Nothing => return Some(format!("{name} != \\null")),
        Memory::Bytes(bytes) => {
            let is_whole = whole(function, parameter, *bytes).is_some();
            if is_whole {
                format!("\\valid({name})")
            } else {
                format!("\\valid((char *){name} + (0 .. {}))", bytes - 1)
            }
        }
        Memory::Elements(count, stride) => {
            let pointee = local.ty.pointee()?;
            let is_own = element_bytes(pointee) == Some(*stride);
            let cast = if is_own { "" } else { "(char *)" };
            format!("\\valid({cast}{name} + (0 .. {} - 1))", count_text(function, count))
        }
        Memory::String => format!("valid_read_string({name})"),
        Memory::Structure => format!("valid_structure({name})"),
    };
    Some(if asked.or_null { format!("({name} == \\null || {term})") } else { term })
}

fn element_bytes(ty: proofline_cfa::Type) -> Option<u64> {
    match proofline_cfa::scalar_of(ty, proofline_syntax::DataModel::Lp64)? {
        proofline_cfa::Scalar::Int(ty) => Some(ty.bytes()),
        proofline_cfa::Scalar::Pointer => Some(8),
        proofline_cfa::Scalar::Float(_) => None,
    }
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
