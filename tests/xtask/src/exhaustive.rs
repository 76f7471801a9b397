//! Matches over operations of automata must be exhaustive: a wildcard arm would hide a new operation from a transfer function, a printer
//! or a walker, which may be unsound. Reads sources as syntax; knows no types, so it looks at patterns that name `Op`.

use std::path::Path;

use anyhow::{Context, Result};
use syn::{Arm, ExprMatch, Pat, spanned::Spanned, visit::Visit};

/// The enum whose matches must name every variant.
const OPERATIONS: &str = "Op";

/// Lists each match in a file that mixes variants of operations with a wildcard.
///
/// # Errors
/// If the text is not Rust.
pub(crate) fn check(name: &Path, text: &str, faults: &mut Vec<String>) -> Result<()> {
    let file = syn::parse_file(text).with_context(|| format!("cannot parse {}", name.display()))?;
    let mut finder = Finder { name, faults };
    finder.visit_file(&file);
    Ok(())
}

struct Finder<'f> {
    name: &'f Path,
    faults: &'f mut Vec<String>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        let names_operation = node.arms.iter().any(|arm| is_operation(&arm.pat));
        if let Some(wild) = node.arms.iter().find(|arm| is_wild(arm)).filter(|_| names_operation) {
            let line = wild.pat.span().start().line;
            self.faults.push(format!(
                "{}:{line}: `_` in a match over operations: name the others, so that a new one does not compile",
                self.name.display()
            ));
        }
        syn::visit::visit_expr_match(self, node);
    }
}

fn is_operation(pattern: &Pat) -> bool {
    let path = match pattern {
        Pat::Or(or) => return or.cases.iter().any(is_operation),
        Pat::Reference(inner) => return is_operation(&inner.pat),
        Pat::Paren(inner) => return is_operation(&inner.pat),
        Pat::TupleStruct(pattern) => &pattern.path,
        Pat::Struct(pattern) => &pattern.path,
        Pat::Path(pattern) => &pattern.path,
        _ => return false,
    };
    let segments = &path.segments;
    segments.len() >= 2 && segments[segments.len() - 2].ident == OPERATIONS
}

fn is_wild(arm: &Arm) -> bool {
    matches!(&arm.pat, Pat::Wild(_))
}
