//! Shape-class generators: a small language in which a library says which instrumentation predicates a kind of structure needs [CPA10] §5.3, and in
//! which users say which kind the objects of a record make. Without a word from users the names of members are a guess.
//! Knows records, no automata.
//!
//! A library has lines `kind(a, b) = walk(a b) cancel(a, b)`; an annotation has lines `record: kind(member, member) …`, where a member of another
//! record is `record.member`.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Program, Scalar, scalar_of};
use proofline_hir::{Type, TypeKind, types::Record};

use super::class::{Field, ShapeClass};

/// Singly and doubly linked, cyclic and nested lists, trees, and trees with parents.
pub const LIBRARY: &str = include_str!("library.txt");

/// One thing that a kind of structure asks for, of members that are numbers of the kind's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Walk(Vec<usize>),
    Cancel(usize, usize),
}

/// The kinds of structures.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Library(BTreeMap<String, (usize, Vec<Part>)>);

/// That a record's objects make a kind of structure, by these members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Annotation {
    /// The tag of the record.
    pub record: String,
    /// The kind.
    pub kind: String,
    /// Members, of this record or of another that is named.
    pub members: Vec<String>,
}

/// Splits `name(argument) name(argument)`.
fn uses(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('(')?;
        let (arguments, behind) = behind.split_once(')')?;
        found.push((name.trim(), arguments));
        rest = behind.trim();
    }
    Some(found)
}

/// Words between commas or blanks.
fn words(text: &str) -> Vec<&str> {
    text.split([',', ' ']).filter(|word| !word.is_empty()).collect()
}

impl Library {
    /// Reads one; lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// With the line that is not understood.
    pub fn parse(text: &str) -> Result<Library, String> {
        let mut kinds = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (kind, parameters, parts) = kind(line).ok_or_else(|| line.to_owned())?;
            kinds.insert(kind, (parameters, parts));
        }
        Ok(Library(kinds))
    }

    /// The one that is built in.
    pub fn standard() -> Library {
        Library::parse(LIBRARY).unwrap_or_default()
    }

    /// The kinds of structures that it knows.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds what the kind asks for of these fields. `false`: the kind or its number of members is another one.
    pub fn generate(&self, kind: &str, fields: &[Field], class: &mut ShapeClass) -> bool {
        let Some((_, parts)) = self.0.get(kind).filter(|(count, _)| *count == fields.len()) else {
            return false;
        };
        class.pointers.extend(fields);
        for part in parts {
            match part {
                Part::Walk(along) => {
                    let along: BTreeSet<Field> = along.iter().map(|number| fields[*number]).collect();
                    if !class.links.contains(&along) {
                        class.links.push(along);
                    }
                }
                Part::Cancel(there, back) => {
                    class.cancels.insert((fields[*there], fields[*back]));
                }
            }
        }
        true
    }
}

fn kind(line: &str) -> Option<(String, usize, Vec<Part>)> {
    let (head, body) = line.split_once('=')?;
    let [(kind, parameters)] = uses(head)?[..] else { return None };
    let parameters = words(parameters);
    let number = |word: &&str| parameters.iter().position(|parameter| parameter == word);
    let mut parts = Vec::new();
    for (name, arguments) in uses(body)? {
        let numbers: Vec<usize> = words(arguments).iter().map(number).collect::<Option<_>>()?;
        parts.push(match (name, &numbers[..]) {
            ("walk", [_, ..]) => Part::Walk(numbers),
            ("cancel", [there, back]) => Part::Cancel(*there, *back),
            _ => return None,
        });
    }
    Some((kind.to_owned(), parameters.len(), parts))
}

/// Reads annotations.
///
/// # Errors
/// With the line that is not understood.
pub fn annotations(text: &str) -> Result<Vec<Annotation>, String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let read = line.split_once(':').and_then(|(record, kinds)| Some((record, uses(kinds)?)));
        let (record, kinds) = read.ok_or_else(|| line.to_owned())?;
        found.extend(kinds.into_iter().map(|(kind, members)| Annotation {
            record: record.trim().to_owned(),
            kind: kind.to_owned(),
            members: words(members).into_iter().map(str::to_owned).collect(),
        }));
    }
    Ok(found)
}

/// Adds what annotations ask for. Those of records or members that the program does not have add nothing.
pub fn annotate(class: &mut ShapeClass, program: &Program, library: &Library, annotations: &[Annotation]) {
    for annotation in annotations {
        let member = |name: &String| {
            let (record, member) = name.split_once('.').unwrap_or((&annotation.record, name));
            let record = program.records.values().find(|other| tag(other) == record)?;
            record
                .fields
                .iter()
                .find(|field| &*field.name == member)
                .and_then(|field| pointer(program, field))
        };
        if let Some(fields) = annotation.members.iter().map(member).collect::<Option<Vec<Field>>>() {
            library.generate(&annotation.kind, &fields, class);
        }
    }
}

/// The record's name as it is written: `s` of `struct s` and of `struct s#f`, `t` of `struct #t`.
fn tag(record: &Record) -> &str {
    let tag = record.tag.as_str();
    let name = tag.split_once(' ').map_or(tag, |(_, name)| name);
    let name = name.strip_prefix('#').unwrap_or(name);
    name.split('#').next().unwrap_or(name)
}

fn pointer(program: &Program, field: &proofline_hir::types::Field) -> Option<Field> {
    let scalar = scalar_of(field.ty, program.data_model)?;
    let bytes = program.scalar_bytes(scalar);
    (scalar == Scalar::Pointer).then_some(Field { offset: field.offset, bytes, scalar })
}

/// The record that a pointer leads to.
fn pointee(program: &Program, ty: Type) -> Option<&Record> {
    match ty.pointee()?.kind() {
        TypeKind::Record(tag) => program.records.get(tag).map(|record| &**record),
        _ => None,
    }
}

fn is_called(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name == *word || word.len() > 2 && name.contains(word))
}

/// What the names and types of members make likely, record by record.
pub fn guess(program: &Program) -> Vec<Annotation> {
    let mut found = Vec::new();
    for record in program.records.values() {
        let own = own_links(program, record);
        let mut add = |kind: &str, members: &[&str]| {
            let members = members.iter().map(|member| (*member).to_owned()).collect();
            found.push(Annotation { record: tag(record).to_owned(), kind: kind.to_owned(), members });
        };
        let is_back = |name: &&str| is_called(name, &["prev", "back", "pred", "blink", "p"]);
        let is_up = |name: &&str| is_called(name, &["parent", "father", "up", "p"]);
        let is_side = |name: &&str| is_called(name, &["left", "right", "child", "son", "l", "r"]);
        match &own[..] {
            [] => {}
            [one] => add("singly", &[one]),
            [a, b] if is_side(a) || is_side(b) => add("tree", &[a, b]),
            [a, b] if is_back(a) && !is_back(b) => add("doubly", &[b, a]),
            [a, b] => add("doubly", &[a, b]),
            [_, _, _] if own.iter().any(is_up) => {
                let up = own.iter().position(&is_up).unwrap_or(2);
                let down: Vec<&str> =
                    own.iter().enumerate().filter(|(at, _)| *at != up).map(|(_, name)| *name).collect();
                add("tree-with-parent", &[down[0], down[1], own[up]]);
            }
            many => many.iter().for_each(|one| add("singly", &[one])),
        }
        for field in &record.fields {
            let Some(inner) = pointee(program, field.ty).filter(|inner| inner.tag != record.tag) else {
                continue;
            };
            let below = own_links(program, inner);
            let (Some(outer), Some(next)) = (own.first(), below.first()) else { continue };
            let next = format!("{}.{next}", tag(inner));
            add("nested", &[outer, &field.name, &next]);
        }
    }
    found
}

/// Members that lead to objects of the same record.
fn own_links<'p>(program: &Program, record: &'p Record) -> Vec<&'p str> {
    let is_own = |field: &&proofline_hir::types::Field| {
        field.bits.is_none() && pointee(program, field.ty).is_some_and(|to| to.tag == record.tag)
    };
    record.fields.iter().filter(is_own).map(|field| &*field.name).collect()
}
