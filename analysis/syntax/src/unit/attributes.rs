//! Which node an attribute belongs to.
//!
//! An attribute was taken out of a gap between two tokens. Its owner is found from the tokens before
//! and behind the gap, as GCC reads them:
//!
//! | where it stood | owner | [`Place`] |
//! |---|---|---|
//! | behind `struct`, `union`, `enum`, or behind the `}` of one | that `…_specifier` | `Tag` |
//! | behind a declarator (its `: width` included), or between `,` and the next one | the outermost declarator node: the `declarator` field of the declaration, or of its `init_declarator` | `Declarator` |
//! | behind a `*` of a declarator | that `pointer_declarator` or `abstract_pointer_declarator` | `Pointer` |
//! | behind an enumerator | the `enumerator` | `Enumerator` |
//! | behind the `:` of a label | the `labeled_statement` | `Label` |
//! | alone before a `;` (`fallthrough`) | the empty `expression_statement` | `Statement` |
//! | anywhere else in a declaration, member, parameter, typedef, type name or function definition | that node; it goes for all its declarators | `Specifiers` |

use tree_sitter::Node;

use super::Unit;
use crate::error::SyntaxError;
use crate::normalise::{AttributeStyle, RawAttribute};
use crate::source::Span;

/// An attribute with what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name without `__` around it and without a prefix such as `gnu::`.
    pub name: String,
    /// The normalised C text of each argument, unevaluated: `8`, `sizeof ( long )`, `"rax"`.
    pub arguments: Vec<String>,
    /// How it is written.
    pub style: AttributeStyle,
    /// Where it is written.
    pub span: Span,
    /// Where it stood.
    pub place: Place,
}

/// Where an attribute stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Among the specifiers of a declaration.
    Specifiers,
    /// At the tag or the closing brace of a struct, union or enum.
    Tag,
    /// Behind a declarator.
    Declarator,
    /// Behind a `*`.
    Pointer,
    /// Behind an enumerator.
    Enumerator,
    /// Behind a label.
    Label,
    /// As a statement of its own.
    Statement,
    /// Nowhere that could be made out.
    Unknown,
}

/// All attributes, by owner.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// Owner as start, end and kind, ascending; then the order of the text.
    by_owner: Vec<(Owner, Attribute)>,
    unplaced: Vec<Attribute>,
}

type Owner = (usize, usize, u16);

fn owner_of(node: Node<'_>) -> Owner {
    (node.start_byte(), node.end_byte(), node.kind_id())
}

/// Attributes that change sizes or meaning, so that losing one would be unsound.
const WEIGHTY: [&str; 8] = [
    "packed",
    "aligned",
    "vector_size",
    "mode",
    "scalar_storage_order",
    "ms_struct",
    "gcc_struct",
    "cleanup",
];

impl Unit {
    /// The attributes of a node, in the order of the text; [`Place`] says which nodes can have some.
    ///
    /// For a declarator, also ask the declaration around it: attributes among the specifiers go for
    /// every declarator of it.
    pub fn attributes(&self, node: Node<'_>) -> impl Iterator<Item = &Attribute> + use<'_> {
        let owner = owner_of(node);
        let all = &self.attributes.by_owner;
        let from = all.partition_point(|(other, _)| *other < owner);
        all[from..].iter().take_while(move |(other, _)| *other == owner).map(|(_, attribute)| attribute)
    }

    /// Attributes that stood where none can stand. None of them changes a layout: such a one is an error.
    #[must_use]
    pub fn unplaced_attributes(&self) -> &[Attribute] {
        &self.attributes.unplaced
    }

    pub(super) fn place_attributes(&mut self, raw: Vec<RawAttribute>) {
        let mut placed = Attributes::default();
        let mut errors = Vec::new();
        let mut damaged = Vec::new();
        {
            let root = self.tree.root_node();
            let mut cursor = root.walk();
            let items: Vec<Node<'_>> = root.children(&mut cursor).collect();
            for RawAttribute { name, arguments, style, span, before } in raw {
                let gap = self.gap(before);
                let found = Finder { items: &items, gap }.owner();
                let place = found.map_or(Place::Unknown, |(_, place)| place);
                let attribute = Attribute { name, arguments, style, span, place };
                match found {
                    Some((node, _)) => placed.by_owner.push((owner_of(node), attribute)),
                    None => {
                        if WEIGHTY.contains(&attribute.name.as_str()) {
                            let message = format!("attribute `{}` belongs to nothing here", attribute.name);
                            errors.push(SyntaxError::error(message, Some(span)));
                            damaged.push(u32::try_from(gap.behind).unwrap_or(u32::MAX));
                        }
                        placed.unplaced.push(attribute);
                    }
                }
            }
        }
        // Stable: attributes of one owner keep their order.
        placed.by_owner.sort_by_key(|(owner, _)| *owner);
        self.attributes = placed;
        self.errors.extend(errors);
        self.damaged.extend(damaged);
    }

    /// The gap before a piece.
    fn gap(&self, before: usize) -> Gap {
        let behind = self.starts.get(before).map_or(self.text.len(), |&start| start as usize);
        let front = before.checked_sub(1).map(|at| self.starts[at] as usize);
        Gap { front, behind }
    }
}

/// The tokens around an attribute: where the one before it and the one behind it start.
#[derive(Debug, Clone, Copy)]
struct Gap {
    front: Option<usize>,
    behind: usize,
}

struct Finder<'a, 'tree> {
    items: &'a [Node<'tree>],
    gap: Gap,
}

impl<'tree> Finder<'_, 'tree> {
    fn owner(&self) -> Option<(Node<'tree>, Place)> {
        let front = self.gap.front.map_or(Vec::new(), |at| self.path(at));
        let behind = self.path(self.gap.behind);
        self.of_front(&front, &behind).or_else(|| of_declaration(&front, &behind, self.gap.front))
    }

    /// The nodes around the token that starts at `at`, the token itself last.
    fn path(&self, at: usize) -> Vec<Node<'tree>> {
        let index = self.items.partition_point(|item| item.end_byte() <= at);
        let Some(item) = self.items.get(index).filter(|item| item.start_byte() <= at) else {
            return Vec::new();
        };
        let mut path = vec![*item];
        let mut cursor = item.walk();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() > at {
                break;
            }
            path.push(node);
        }
        path
    }

    /// Owners that the token before the gap gives away.
    fn of_front(&self, front: &[Node<'tree>], behind: &[Node<'tree>]) -> Option<(Node<'tree>, Place)> {
        let token = front.last()?;
        let parent = front.len().checked_sub(2).map(|at| front[at]);
        let grandparent = front.len().checked_sub(3).map(|at| front[at]);
        let kind = |node: Option<Node<'tree>>| node.map_or("", |node| node.kind());
        let is_tagged = |kind| matches!(kind, "struct_specifier" | "union_specifier" | "enum_specifier");
        match (token.kind(), kind(parent)) {
            ("struct" | "union" | "enum", kind) if is_tagged(kind) => return Some((parent?, Place::Tag)),
            ("}", "field_declaration_list" | "enumerator_list") if is_tagged(kind(grandparent)) => {
                return Some((grandparent?, Place::Tag));
            }
            ("*", "pointer_declarator" | "abstract_pointer_declarator") => {
                return Some((parent?, Place::Pointer));
            }
            (_, "type_qualifier") if kind(grandparent).ends_with("pointer_declarator") => {
                return Some((grandparent?, Place::Pointer));
            }
            (":", "labeled_statement") => return Some((parent?, Place::Label)),
            _ => {}
        }
        let next = behind.last()?;
        let statement = behind.len().checked_sub(2).map(|at| behind[at]);
        if next.kind() == ";" && kind(statement) == "expression_statement" {
            return Some((statement?, Place::Statement));
        }
        let enumerator = front.iter().rev().find(|node| node.kind() == "enumerator")?;
        (enumerator.end_byte() <= self.gap.behind).then_some((*enumerator, Place::Enumerator))
    }
}

/// The innermost declaration around the gap, or the declarator in it that the attribute follows.
fn of_declaration<'tree>(
    front: &[Node<'tree>],
    behind: &[Node<'tree>],
    at: Option<usize>,
) -> Option<(Node<'tree>, Place)> {
    let declares = |node: &&Node<'_>| {
        matches!(
            node.kind(),
            "declaration"
                | "field_declaration"
                | "type_definition"
                | "parameter_declaration"
                | "function_definition"
                | "type_descriptor"
        )
    };
    let before = front.last().map_or("", |node| node.kind());
    let inner_front = front.iter().rev().find(declares).copied();
    let inner_behind = behind.iter().rev().find(declares).copied();
    // Behind a token that ends or separates, what follows is meant.
    let starts_anew = matches!(before, "" | ";" | "{" | "}" | "(" | ":" | "else" | "do")
        || (before == "," && inner_behind.is_some_and(|node| node.kind() == "parameter_declaration"));
    let is_new = |node: &Node<'_>| at.is_none_or(|at| node.start_byte() > at);
    let owner = inner_behind.filter(|node| starts_anew && is_new(node)).or(inner_front).or(inner_behind)?;
    let Some(at) = at else { return Some((owner, Place::Specifiers)) };
    let mut cursor = owner.walk();
    let declarators = owner.children_by_field_name("declarator", &mut cursor).map(inner_declarator);
    let declarators: Vec<Node<'tree>> = declarators.collect();
    if before == "," && owner.start_byte() <= at {
        let next = declarators.iter().find(|node| node.start_byte() > at);
        return Some(next.map_or((owner, Place::Specifiers), |node| (*node, Place::Declarator)));
    }
    let last = declarators.iter().rev().find(|node| node.start_byte() <= at);
    Some(last.map_or((owner, Place::Specifiers), |node| (*node, Place::Declarator)))
}

/// The declarator of an `init_declarator`, any other node itself.
fn inner_declarator(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "init_declarator" => node.child_by_field_name("declarator").unwrap_or(node),
        _ => node,
    }
}
