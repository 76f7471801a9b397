//! Contracts for people: in words, and as the ACSL annotation that the program reads back.

use std::collections::BTreeSet;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Name, Program, Scalar, Type, expr_text};
use proofline_hir::TypeKind;

use super::{
    Asked, Contract, Memory, Tree,
    opaque::Opaque,
    origin::{element, is_character, types},
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
            format!("`{name}` with room for `{}` {what}{null}", count_text(function, count))
        }
        Memory::Until(end) => match function.parameters.get(*end) {
            Some(end) => format!("`{name}` that points to elements up to `{}`", function.local(*end).name),
            None => String::new(),
        },
        Memory::String => format!("`{name}` that is a string{null}"),
        Memory::Allocated => {
            let or = if asked.or_null { "null, or " } else { "" };
            format!("`{name}`: {or}what can be freed, and nothing else that is passed leads to it")
        }
        Memory::Tree(tree) => {
            let or = if asked.or_null { "null, or " } else { "" };
            let what = if tree.is_allocated {
                "an object of its type that can be freed"
            } else {
                "an object of its type"
            };
            let names: Vec<String> = names(tree).iter().map(|name| format!("`{name}`")).collect();
            let lead = if names.len() == 1 { "leads" } else { "lead" };
            let below = match &names[..] {
                [] => String::new(),
                names => format!(
                    "; everything that {} {lead} to can be freed{}, no two pointers lead to the same",
                    names.join(", "),
                    if has_texts(program, tree) { ", characters are strings" } else { "" }
                ),
            };
            let below = format!("{below}, and nothing else that is passed leads into it");
            format!("`{name}`: {or}{what}{below}")
        }
        Memory::Structure => {
            let or = if asked.or_null { "null, or " } else { "" };
            let is_text = local.ty.pointee().is_some_and(|ty| leads_to_text(program, ty));
            let texts = if is_text { ", characters are strings" } else { "" };
            let mut opaque = Opaque::of(program).words().collect::<Vec<_>>().join(", ");
            if !opaque.is_empty() {
                opaque = format!(" ({opaque})");
            }
            format!(
                "`{name}`: {or}an object of its type, and so is everything that pointers in it lead to{texts}{opaque}"
            )
        }
    }
}

/// What is asked of two pointers, in words: `` `s` in another object than `n` ``.
pub(super) fn separated(function: &Function, one: usize, other: usize) -> String {
    let name = |at: usize| function.parameters.get(at).map_or(Name::new("?"), |id| function.local(*id).name);
    format!("`{}` in another object than `{}`", name(one), name(other))
}

/// Whether a member of the tree is a pointer to characters.
fn has_texts(program: &Program, tree: &Tree) -> bool {
    tree.members.iter().any(|member| {
        let record = types(program).record(member.record);
        let mut fields = record.into_iter().flat_map(|record| &record.fields);
        fields.any(|field| field.offset == member.offset && field.ty.pointee().is_some_and(is_character))
    })
}

/// The names of members, each once.
fn names(tree: &Tree) -> BTreeSet<Name> {
    tree.members.iter().map(|member| member.name).collect()
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
        let conditions = self.conditions.iter().map(|condition| match number_of(condition) {
            Some(number) => format!("`{}`, not NaN", expr_text(function, number)),
            None => format!("`{}`", expr_text(function, condition)),
        });
        let hooks = self.hooks.iter().map(|(place, hook)| {
            let null = if hook.or_null { "" } else { ", not null," };
            format!("{}{null} {}", place.text(), hook.like.text())
        });
        let records = self.records.iter().flat_map(|(at, of)| {
            let record = function.parameters.get(*at).map(|id| function.local(*id).name);
            let text = move |fact: &super::Fact| Some(fact.text(record?.as_str()));
            of.asked.iter().filter_map(text)
        });
        let apart = self.separated.iter().map(|(one, other)| separated(function, *one, *other));
        pointers.chain(records).chain(apart).chain(conditions).chain(hooks).collect()
    }

    /// Each demand as a term of ACSL.
    pub fn acsl(&self, program: &Program, function: &Function) -> Vec<String> {
        let pointers = self.pointers.iter().filter_map(|(at, asked)| acsl_of(program, function, *at, asked));
        let conditions = self.conditions.iter().map(|condition| condition_text(function, condition));
        let records = self.records.iter().flat_map(|(at, of)| {
            let record = function.parameters.get(*at).map(|id| function.local(*id).name);
            of.asked.iter().filter_map(move |fact| Some(fact.acsl(record?.as_str())))
        });
        let name = |at: usize| Some(function.local(*function.parameters.get(at)?).name);
        let apart = self.separated.iter();
        let apart =
            apart.filter_map(|(one, other)| Some(format!("\\separated({}, {})", name(*one)?, name(*other)?)));
        pointers.chain(records).chain(apart).chain(conditions).collect()
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
        Memory::Allocated => format!("\\freeable({name})"),
        Memory::Tree(tree) => {
            let predicate = if tree.is_allocated { "owned_structure" } else { "owned_members" };
            let names = names(tree).into_iter().map(|name| format!(", {name}"));
            format!("{predicate}({name}{})", names.collect::<String>())
        }
    };
    Some(if asked.or_null { format!("({name} == \\null || {term})") } else { term })
}

fn count_text(function: &Function, count: &Expr) -> String {
    match count {
        // What is converted is the same number.
        Expr::Cast(Scalar::Int(to), arg, _)
            if arg.int_type().is_some_and(|from| to.contains(from.min()) && to.contains(from.max())) =>
        {
            count_text(function, arg)
        }
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => {
            let factor = |side: &Expr| match side {
                Expr::Cast(..) | Expr::Load(_) | Expr::Int(..) => count_text(function, side),
                _ => format!("({})", count_text(function, side)),
            };
            format!("{} * {}", factor(lhs), factor(rhs))
        }
        _ => expr_text(function, count),
    }
}

/// The floating-point number of which the condition says that it equals itself: it is not NaN.
fn number_of(condition: &Expr) -> Option<&Expr> {
    match condition {
        Expr::Compare(CompareOp::Eq, lhs, rhs) if lhs == rhs && matches!(lhs.scalar(), Scalar::Float(_)) => {
            Some(lhs)
        }
        _ => None,
    }
}

/// A condition as C writes it.
fn condition_text(function: &Function, condition: &Expr) -> String {
    if let Some(number) = number_of(condition) {
        return format!("!\\is_NaN({})", expr_text(function, number));
    }
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

/// Whether strings are what a structure of this type leads to.
pub(super) fn leads_to_text(program: &Program, ty: Type) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![ty];
    while let Some(ty) = open.pop() {
        let ty = element(ty);
        if ty.pointee().is_some_and(is_character) {
            return true;
        }
        if !seen.insert(ty) {
            continue;
        }
        open.extend(ty.pointee());
        if let TypeKind::Record(tag) = ty.kind() {
            open.extend(
                types(program)
                    .record(*tag)
                    .into_iter()
                    .flat_map(|record| &record.fields)
                    .map(|field| field.ty),
            );
        }
    }
    false
}
