//! Shared by the tests: parsing a text that is only in memory, and finding nodes.

use std::path::Path;

use proofline_syntax::{
    Flags, NoFs, OverlayFs, Preprocessor, RealFs, RuccPreprocessor, Severity, Unit, parse,
};
use tree_sitter::Node;

/// The unit of a text without any header.
pub(crate) fn unit(text: &str) -> Unit {
    unit_with(text, &[])
}

/// The same with flags.
pub(crate) fn unit_with(text: &str, args: &[&str]) -> Unit {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &flags(args)))
}

/// The unit of a text with the headers of this machine.
pub(crate) fn hosted(text: &str) -> Unit {
    let mut fs = OverlayFs::new(RealFs);
    fs.insert("/nowhere/t.c", text.as_bytes());
    parse(RuccPreprocessor.preprocess(Path::new("/nowhere/t.c"), &fs, &flags(&[])))
}

pub(crate) fn flags(args: &[&str]) -> Flags {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Flags::from_args(&args, Path::new("/")).expect("usable flags").0
}

/// The messages of the errors, warnings left out.
pub(crate) fn errors(unit: &Unit) -> Vec<&str> {
    let errors = unit.errors().iter().filter(|error| error.severity == Severity::Error);
    errors.map(|error| error.message.as_str()).collect()
}

/// The normalised text with every run of blanks as one.
pub(crate) fn normalised(unit: &Unit) -> String {
    unit.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All nodes in the order of the text.
pub(crate) fn nodes(unit: &Unit) -> Vec<Node<'_>> {
    let mut all = Vec::new();
    let mut pending = vec![unit.root()];
    while let Some(node) = pending.pop() {
        all.push(node);
        let mut cursor = node.walk();
        let from = pending.len();
        pending.extend(node.children(&mut cursor));
        pending[from..].reverse();
    }
    all
}

/// The first node of a kind with this normalised text.
pub(crate) fn find<'a>(unit: &'a Unit, kind: &str, text: &str) -> Node<'a> {
    nodes(unit)
        .into_iter()
        .find(|node| node.kind() == kind && unit.node_text(*node) == text)
        .unwrap_or_else(|| panic!("no {kind} `{text}` in {}", unit.root().to_sexp()))
}
