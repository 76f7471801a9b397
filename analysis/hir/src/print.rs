//! The textual form of the HIR for people: types in C syntax, every conversion visible. Must not know trees.
//!
//! `$x` is the value read from the lvalue `x`; `decay(a)` the pointer an array or function becomes; `(T)e` a
//! conversion, implicit or written (constants are converted already: `(char)3` is a constant of type `char`);
//! `x +={T} e` computes in `T`. Locals whose name is not unique in the body carry their number: `x#3`.

mod expr;
mod stmt;
pub mod types;

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    Function, Global, Linkage, Module, Name, Record, Records,
    body::{Body, ExprId, LocalId},
};

pub use types::{declaration_text, type_text};

/// A whole module: records, globals, functions, in order.
pub fn module(module: &Module) -> String {
    let mut out = String::new();
    for record in module.records.values() {
        out.push_str(&record_text(record));
    }
    for global in &module.globals {
        out.push_str(&global_text(module, global));
    }
    for function in &module.functions {
        out.push_str(&self::function(module, function));
    }
    out
}

/// A record with the place of every member: byte offset, and for bit-fields bit offset and width.
pub fn record_text(record: &Record) -> String {
    let mut out = format!("{} {{ // size {}, align {}\n", record.tag, record.size, record.align);
    for field in &record.fields {
        let _ = match field.bits {
            Some(bits) => writeln!(
                out,
                "    {} : {}; // {}.{}",
                declaration_text(field.ty, &field.name),
                bits.width,
                field.offset,
                bits.first
            ),
            None => writeln!(out, "    {}; // {}", declaration_text(field.ty, &field.name), field.offset),
        };
    }
    out.push_str("};\n");
    out
}

/// A global with its initialiser.
pub fn global_text(module: &Module, global: &Global) -> String {
    let mut out = linkage_text(global.linkage, global.defined).to_owned();
    if global.thread_local {
        out.push_str("_Thread_local ");
    }
    out.push_str(&declaration_text(global.ty, &global.name));
    if let (Some(init), Some(body)) = (&global.init, &global.init_body) {
        let mut printer = Printer::new(body, &module.records);
        out.push_str(" = ");
        out.push_str(&printer.initializer(init, global.ty));
    }
    out.push_str(";\n");
    out
}

/// A function with its body, or its declaration.
pub fn function(module: &Module, function: &Function) -> String {
    let mut out = linkage_text(function.linkage, true).to_owned();
    let attributes = &function.attributes;
    for (set, word) in [
        (attributes.inline, "inline "),
        (attributes.noreturn, "_Noreturn "),
        (attributes.pure, "pure "),
        (attributes.malloc, "malloc "),
        (attributes.runs_outside_main, "constructor "),
    ] {
        if set {
            out.push_str(word);
        }
    }
    let Some(body) = &function.body else {
        out.push_str(&declaration_text(function.ty, &function.name));
        out.push_str(";\n");
        return out;
    };
    let mut printer = Printer::new(body, &module.records);
    let names: Vec<String> = function.parameters.iter().map(|p| printer.local_name(*p)).collect();
    out.push_str(&types::definition_text(function.ty, &function.name, &names));
    out.push(' ');
    match body.root {
        Some(root) => printer.stmt(root, &mut out),
        None => out.push_str("{\n}\n"),
    }
    out
}

/// One expression of a body.
pub fn expr(body: &Body, id: ExprId, records: &Records) -> String {
    Printer::new(body, records).expr(id)
}

fn linkage_text(linkage: Linkage, defined: bool) -> &'static str {
    match (linkage, defined) {
        (Linkage::Internal, _) => "static ",
        (Linkage::External, true) => "",
        (Linkage::External, false) => "extern ",
    }
}

/// Prints one body.
struct Printer<'a> {
    body: &'a Body,
    records: &'a Records,
    /// Names that several locals share.
    repeated: BTreeSet<Name>,
    /// Depth of statements.
    indent: usize,
    /// Depth of the recursion.
    depth: u32,
}

/// Deeper parts are printed as `…`: bounds the stack.
const MAX_DEPTH: u32 = 1000;

impl<'a> Printer<'a> {
    fn new(body: &'a Body, records: &'a Records) -> Printer<'a> {
        let mut seen = BTreeSet::new();
        let repeated = body.locals.iter().map(|l| l.name).filter(|name| !seen.insert(*name)).collect();
        Printer { body, records, repeated, indent: 0, depth: 0 }
    }

    fn local_name(&self, id: LocalId) -> String {
        match self.body.locals.get(id.index()) {
            Some(local) if self.repeated.contains(&local.name) => format!("{}#{}", local.name, id.0),
            Some(local) => local.name.to_string(),
            None => format!("?#{}", id.0),
        }
    }
}
