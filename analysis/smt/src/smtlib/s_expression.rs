//! S-expressions: the lexical level of SMT-LIB. Knows text, not terms.

use crate::term::{FloatSort, Sort};

/// Why a text is not a term.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}, at byte {at}")]
pub struct ParseError {
    /// What was expected, or what is unknown.
    pub message: String,
    /// Position in the text, in bytes from its start.
    pub at: usize,
}

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A node of the tree, by index.
pub(super) type Node = usize;

enum Kind<'a> {
    Atom(&'a str),
    Quoted(&'a str),
    List(Vec<Node>),
}

/// S-expressions in an arena, so that depth costs no stack.
pub(super) struct Tree<'a> {
    nodes: Vec<(usize, Kind<'a>)>,
    pub(super) roots: Vec<Node>,
}

impl Tree<'_> {
    pub(super) fn error(&self, node: Node, message: &str) -> ParseError {
        ParseError { message: message.into(), at: self.nodes[node].0 }
    }

    /// The text of an atom that is not quoted.
    pub(super) fn atom(&self, node: Node) -> Option<&str> {
        match &self.nodes[node].1 {
            Kind::Atom(text) => Some(text),
            Kind::Quoted(_) | Kind::List(_) => None,
        }
    }

    pub(super) fn list(&self, node: Node) -> Option<&[Node]> {
        match &self.nodes[node].1 {
            Kind::List(items) => Some(items),
            Kind::Atom(_) | Kind::Quoted(_) => None,
        }
    }

    /// The name an atom spells, quoted or not.
    pub(super) fn symbol(&self, node: Node) -> Result<String> {
        match &self.nodes[node].1 {
            Kind::Atom(text) | Kind::Quoted(text) => Ok((*text).to_owned()),
            Kind::List(_) => Err(self.error(node, "a symbol was expected")),
        }
    }

    pub(super) fn number(&self, node: Node) -> Result<u32> {
        let digits = self.atom(node).and_then(|t| t.parse().ok());
        digits.ok_or_else(|| self.error(node, "a small number was expected"))
    }

    /// A sort. Array sorts nest no deeper than programs do, so this recurses.
    pub(super) fn sort(&self, node: Node) -> Result<Sort> {
        let fail = || self.error(node, "unknown sort");
        match self.atom(node) {
            Some("Bool") => return Ok(Sort::Bool),
            Some("Int") => return Ok(Sort::Int),
            Some("Float32") => return Ok(Sort::Float(FloatSort::F32)),
            Some("Float64") => return Ok(Sort::Float(FloatSort::F64)),
            Some(_) => return Err(fail()),
            None => {}
        }
        match self.list(node).ok_or_else(fail)? {
            [array, index, element] if self.atom(*array) == Some("Array") => {
                Ok(Sort::array(self.sort(*index)?, self.sort(*element)?))
            }
            [_, name, width] if self.atom(*name) == Some("BitVec") => match self.number(*width)? {
                0 => Err(fail()),
                width => Ok(Sort::BitVec(width)),
            },
            [_, name, exponent, significand] if self.atom(*name) == Some("FloatingPoint") => {
                let (exponent, significand) = (self.number(*exponent)?, self.number(*significand)?);
                let sort = FloatSort { exponent, significand };
                if exponent < 2 || significand < 2 { Err(fail()) } else { Ok(Sort::Float(sort)) }
            }
            _ => Err(fail()),
        }
    }
}

/// Reads S-expressions.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    pub(super) fn read_all(mut self) -> Result<Tree<'a>> {
        let mut tree = Tree { nodes: Vec::new(), roots: Vec::new() };
        let mut open: Vec<(usize, Vec<Node>)> = Vec::new();
        loop {
            self.skip_blank();
            let at = self.at;
            let kind = match self.text.as_bytes().get(at) {
                None => break,
                Some(b'(') => {
                    self.at += 1;
                    open.push((at, Vec::new()));
                    continue;
                }
                Some(b')') => {
                    self.at += 1;
                    let (start, items) =
                        open.pop().ok_or(ParseError { message: "`)` without `(`".into(), at })?;
                    tree.nodes.push((start, Kind::List(items)));
                    let node = tree.nodes.len() - 1;
                    open.last_mut().map_or(&mut tree.roots, |(_, items)| items).push(node);
                    continue;
                }
                Some(quote @ (b'|' | b'"')) => {
                    let end = self.text[at + 1..].find(char::from(*quote));
                    let end = end.ok_or(ParseError { message: "unclosed quote".into(), at })? + at + 1;
                    self.at = end + 1;
                    Kind::Quoted(&self.text[at + 1..end])
                }
                Some(_) => {
                    let rest = &self.text[at..];
                    let stop = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';' | '|' | '"');
                    self.at += rest.find(stop).unwrap_or(rest.len());
                    Kind::Atom(&self.text[at..self.at])
                }
            };
            tree.nodes.push((at, kind));
            let node = tree.nodes.len() - 1;
            open.last_mut().map_or(&mut tree.roots, |(_, items)| items).push(node);
        }
        match open.last() {
            Some((at, _)) => Err(ParseError { message: "`(` is not closed".into(), at: *at }),
            None => Ok(tree),
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with(';') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }
}
