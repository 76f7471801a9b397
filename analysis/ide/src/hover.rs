//! Hover: a function's summary; a variable's type, its proved values here and its values in counterexamples; a loop's invariant; what a
//! macro becomes; the check that a comment names. Says what is to be shown, in its order; not how it looks.

use proofline_verifier::Check;

use crate::{
    index::Symbol,
    knowledge::Value,
    navigation::occurrence,
    place::{Place, Point, Range},
    results::{FileResults, ShownFinding},
    summary::Summary,
    suppression::suppressed_at,
    text::word_at,
};

/// What is shown of the word at a point.
pub struct Hover {
    /// The word.
    pub range: Range,
    /// Never empty.
    pub contents: Vec<HoverContent>,
}

/// One thing to show.
pub enum HoverContent {
    /// What the check is about.
    Check(&'static Check),
    /// What a macro becomes.
    Expansion {
        /// The macro.
        name: String,
        /// Tokens in its place.
        text: String,
    },
    /// What holds in every round of a loop.
    Loop {
        /// When it holds.
        when: LoopMoment,
        /// `0 <= i <= 10`
        invariants: Vec<String>,
        /// Which lists and trees pointers lead to: clauses in which names are marked as code.
        structures: Vec<String>,
    },
    /// As C declares it: `int *p`.
    Declaration(String),
    /// What is known of a function.
    Summary(Box<Summary>),
    /// What is proved of the variable here.
    Value(Value),
    /// Which list or tree a pointer is proved to lead to: a clause in which names are marked as code.
    Structure(Value),
    /// Values of the variable on the path to a failure.
    OnPath {
        /// The variable.
        name: String,
        /// In the order of the path, each once in a row.
        values: Vec<String>,
        /// What fails.
        title: String,
        /// It was found in an older text.
        is_older: bool,
    },
}

/// When a loop's invariant holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopMoment {
    /// Whenever the condition is about to be evaluated.
    Condition,
    /// Whenever the body begins.
    Body,
}

/// What is to be shown of the word at a point of the current text.
pub fn hover(file: &FileResults, point: Point) -> Option<Hover> {
    if let Some((check, range)) = suppressed_check(file, point) {
        return Some(Hover { range, contents: vec![HoverContent::Check(check)] });
    }
    let (word, range) = word_at(file.text(), point)?;
    let contents = if let Some(expansion) = expansion(file, point, word) {
        vec![expansion]
    } else if let Some(when) = loop_keyword(word) {
        invariants(file, range, when)
    } else {
        of_name(file, point, word, range)
    };
    (!contents.is_empty()).then_some(Hover { range, contents })
}

/// The check that a comment at this point takes back.
fn suppressed_check(file: &FileResults, point: Point) -> Option<(&'static Check, Range)> {
    let (code, range) = suppressed_at(file.text(), point)?;
    Some((Check::from_code(code)?, range))
}

fn expansion(file: &FileResults, point: Point, word: &str) -> Option<HoverContent> {
    let expansion = file.program()?.index().expansion(file.path(), file.before(point)?)?;
    (expansion.name == word)
        .then(|| HoverContent::Expansion { name: expansion.name.clone(), text: expansion.text.clone() })
}

fn loop_keyword(word: &str) -> Option<LoopMoment> {
    match word {
        "for" | "while" => Some(LoopMoment::Condition),
        "do" => Some(LoopMoment::Body),
        _ => None,
    }
}

/// What holds in every round of the loop whose first word this is.
fn invariants(file: &FileResults, range: Range, when: LoopMoment) -> Vec<HoverContent> {
    let place = Place { path: file.path().into(), range };
    let Some(known) = file.knowledge() else { return Vec::new() };
    let numbers = known.loop_at(&place).map(|known| known.invariants.clone()).unwrap_or_default();
    let structures = known.structures_of_loop(&place);
    if numbers.is_empty() && structures.is_empty() {
        return Vec::new();
    }
    vec![HoverContent::Loop { when, invariants: numbers, structures: structures.to_vec() }]
}

/// A function's or a variable's.
fn of_name(file: &FileResults, point: Point, word: &str, range: Range) -> Vec<HoverContent> {
    let summary = |name: &str| file.summary(name).map(|summary| HoverContent::Summary(Box::new(summary)));
    let Some(symbol) = occurrence(file, point).map(|occurrence| &occurrence.symbol) else {
        // What the index does not know (a text with errors) may still be a function's name.
        return summary(word).into_iter().collect();
    };
    let declaration = file.program().and_then(|program| program.index().declaration(symbol));
    let mut out: Vec<HoverContent> =
        declaration.map(|known| HoverContent::Declaration(known.text.clone())).into_iter().collect();
    match symbol {
        Symbol::Function(name) => out.extend(summary(name)),
        Symbol::Local(..) | Symbol::Global(_) => {
            out.extend(value_here(file, range).map(HoverContent::Value));
            out.extend(structure_here(file, range).map(HoverContent::Structure));
            out.extend(file.findings().iter().filter_map(|shown| on_path(shown, word, symbol)));
        }
    }
    out
}

/// What is proved of the variable named here.
fn value_here(file: &FileResults, range: Range) -> Option<Value> {
    let place = Place { path: file.path().into(), range };
    let function = file.function_at(range.start)?;
    file.knowledge()?.value_at(&function.name, &place)
}

/// The list or tree that the pointer named here is proved to lead to.
fn structure_here(file: &FileResults, range: Range) -> Option<Value> {
    let place = Place { path: file.path().into(), range };
    let function = file.function_at(range.start)?;
    file.knowledge()?.structure_at(&function.name, &place)
}

/// The values a variable takes on the path of a finding.
fn on_path(shown: &ShownFinding<'_>, name: &str, symbol: &Symbol) -> Option<HoverContent> {
    let is_here = |function: &str| match symbol {
        Symbol::Local(inside, _) => function == inside,
        Symbol::Function(_) | Symbol::Global(_) => true,
    };
    let mut values: Vec<String> = Vec::new();
    let steps = &shown.finding.steps;
    for (at, step) in steps.iter().enumerate() {
        // Arguments are the callee's, whose first step comes next.
        let callee = steps.get(at + 1).filter(|next| next.depth == step.depth + 1);
        let given = callee.filter(|next| is_here(&next.function)).map(|_| &step.arguments);
        let own = Some(&step.values).filter(|_| is_here(&step.function));
        let pairs = own.into_iter().chain(given).flatten();
        values.extend(pairs.filter(|(n, _)| n == name).map(|(_, value)| value.clone()));
    }
    values.dedup();
    (!values.is_empty()).then(|| HoverContent::OnPath {
        name: name.to_owned(),
        values,
        title: shown.finding.title.clone(),
        is_older: shown.is_older,
    })
}
