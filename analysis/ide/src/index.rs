//! Where names are defined and used, from the typed bodies: what definition, references, highlights, call hierarchy and the hover of a
//! variable need. Knows no verdicts.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use proofline_hir::{
    Linkage,
    body::{Body, BodyMap, ExprKind, Stmt},
    print,
};
use proofline_syntax::{SourceFiles, Span};
use proofline_verifier::load::Source;

use crate::place::{Place, Point, Range};

/// What a name means.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// A function.
    Function(String),
    /// An object with static storage.
    Global(String),
    /// A parameter or variable of a function, by its number there.
    Local(String, u32),
}

/// A name in the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Occurrence {
    /// Where.
    pub place: Place,
    /// What it means.
    pub symbol: Symbol,
    /// The function around it.
    pub inside: Option<String>,
    /// Whether it declares the name.
    pub is_declaration: bool,
}

/// What is known of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// Where it is declared or, if it is, defined.
    pub place: Place,
    /// As C declares it: `int *p`.
    pub text: String,
    /// As it is written.
    pub name: String,
    /// Has a body or an initial value here.
    pub is_defined: bool,
}

/// A macro that is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expansion {
    /// Its name, where it is used.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// What it becomes.
    pub text: String,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// From its first to its last character.
    pub place: Place,
    /// The function around it.
    pub inside: String,
    /// `for`, `while`, `do`.
    pub is_loop: bool,
    /// It stands in a block, and what it computes is computed once when it is entered.
    pub is_plain: bool,
}

/// The names of one file and of what it includes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Index {
    expansions: Vec<Expansion>,
    statements: Vec<Statement>,
    /// Names that are given a value, and the expression that gives it: the initial value, or the whole assignment.
    written: BTreeMap<Place, Place>,
    /// In the order of the text.
    occurrences: Vec<Occurrence>,
    declarations: BTreeMap<Symbol, Declaration>,
}

impl Index {
    pub(crate) fn of(source: &Source) -> Index {
        Index::filtered(source, true)
    }

    /// What other files of the program can name.
    pub(crate) fn outer(source: &Source) -> Index {
        Index::filtered(source, false)
    }

    fn filtered(source: &Source, with_inner: bool) -> Index {
        let internal = |linkage| linkage == Linkage::Internal && !with_inner;
        let mut hidden: BTreeSet<Symbol> = BTreeSet::new();
        let mut index = Index::default();
        let mut builder = Builder { files: source.unit.files(), paths: BTreeMap::new(), index: &mut index };
        let (module, map) = (&source.module, &source.map);
        let declared = source.unit.declarations();
        let text_of = |span: &Span, ty, name: &str| {
            let written = declared.get(&(span.file, span.start)).cloned();
            written.unwrap_or_else(|| print::types::declaration_text(ty, name))
        };
        for (function, (span, body_map)) in module.functions.iter().zip(map.functions.iter().zip(&map.bodies))
        {
            let name = function.name.to_string();
            if internal(function.linkage) {
                hidden.insert(Symbol::Function(name.clone()));
            }
            // Of one without a body, tests write a definition.
            let text = match function.body {
                Some(_) => text_of(span, function.ty, &name),
                None => print::types::declaration_text(function.ty, &name),
            };
            builder.declare(
                Symbol::Function(name.clone()),
                *span,
                text,
                &name,
                function.body.is_some(),
                None,
            );
            let (Some(body), Some(body_map)) = (&function.body, body_map) else { continue };
            for (number, (local, span)) in (0..).zip(body.locals.iter().zip(&body_map.locals)) {
                if local.name.starts_with('#') {
                    continue;
                }
                let text = text_of(span, local.ty, &local.name);
                builder.declare(
                    Symbol::Local(name.clone(), number),
                    *span,
                    text,
                    &local.name,
                    true,
                    Some(&name),
                );
            }
            for (expr, span) in body.exprs.iter().zip(&body_map.exprs) {
                if let ExprKind::Assign(target, _)
                | ExprKind::CompoundAssign { target, .. }
                | ExprKind::IncDec { target, .. } = &expr.kind
                    && let Some(target) = body_map.exprs.get(target.index())
                {
                    builder.written(*target, *span);
                }
                let symbol = match &expr.kind {
                    ExprKind::Local(id) => Symbol::Local(name.clone(), id.0),
                    ExprKind::Global(global) => Symbol::Global(global.to_string()),
                    ExprKind::Function(function) => Symbol::Function(function.to_string()),
                    _ => continue,
                };
                builder.occurrence(symbol, *span, Some(&name), false);
            }
            for stmt in &body.stmts {
                if let Stmt::Declare(local, Some(initial)) = stmt
                    && let [entry] = &*initial.entries
                    && entry.path.is_empty()
                    && let Some(name) = body_map.locals.get(local.index())
                    && let Some(value) = body_map.exprs.get(entry.value.index())
                {
                    builder.written(*name, *value);
                }
            }
            builder.statements(&name, body, body_map);
        }
        for (global, span) in module.globals.iter().zip(&map.globals) {
            if internal(global.linkage) {
                hidden.insert(Symbol::Global(global.name.to_string()));
            }
            // A `static` local is `f.x`.
            let written = global.name.rsplit('.').next().unwrap_or(&global.name).to_owned();
            let text = text_of(span, global.ty, &written);
            builder.declare(
                Symbol::Global(global.name.to_string()),
                *span,
                text,
                &written,
                global.defined,
                None,
            );
        }
        for (span, name, text) in source.unit.expansions() {
            let place = builder.place(span);
            builder.index.expansions.push(Expansion { place, name, text });
        }
        if !with_inner {
            let is_hidden = |symbol: &Symbol| matches!(symbol, Symbol::Local(..)) || hidden.contains(symbol);
            index.occurrences.retain(|o| !is_hidden(&o.symbol));
            index.declarations.retain(|symbol, _| !is_hidden(symbol));
            index.statements.clear();
            index.written.clear();
            index.expansions.clear();
        }
        index.occurrences.sort();
        index.occurrences.dedup();
        index
    }

    /// The names of another file of the same program, too.
    pub(crate) fn add(&mut self, other: Index) {
        self.expansions.extend(other.expansions);
        self.statements.extend(other.statements);
        self.written.extend(other.written);
        self.occurrences.extend(other.occurrences);
        self.occurrences.sort();
        self.occurrences.dedup();
        for (symbol, known) in other.declarations {
            match self.declarations.get_mut(&symbol) {
                Some(old) if old.is_defined || !known.is_defined => {}
                Some(_) | None => {
                    self.declarations.insert(symbol, known);
                }
            }
        }
    }

    /// Every name, in the order of the text.
    pub fn all(&self) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter()
    }

    /// Every use of a macro.
    pub fn expansions(&self) -> &[Expansion] {
        &self.expansions
    }

    /// The macro whose name is at a point of a file.
    pub fn expansion(&self, path: &Path, point: Point) -> Option<&Expansion> {
        self.expansions.iter().find(|e| e.place.range.touches(point) && *e.place.path == *path)
    }

    /// The names inside a place, in the order of the text.
    pub fn inside(&self, place: &Place) -> impl Iterator<Item = &Occurrence> {
        let (path, range) = (place.path.clone(), place.range);
        // Comparing paths is what takes time.
        self.occurrences.iter().filter(move |o| {
            range.start <= o.place.range.start && o.place.range.end <= range.end && o.place.path == path
        })
    }

    /// The expression that gives the name at a place its value: an initial value, or the whole assignment. `None` if it is only read, or
    /// if that expression gives the same name a value elsewhere, too.
    pub(crate) fn written(&self, name: &Occurrence) -> Option<&Place> {
        let whole = self.written.get(&name.place)?;
        let others = self.inside(whole).filter(|o| o.symbol == name.symbol && o.place != name.place);
        (!others.into_iter().any(|o| self.written.contains_key(&o.place))).then_some(whole)
    }

    /// Loops, outer ones before inner ones of the same function.
    pub fn loops(&self) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(|statement| statement.is_loop)
    }

    /// The smallest statement around a place.
    pub fn statement(&self, place: &Place) -> Option<&Statement> {
        self.statements
            .iter()
            .filter(|statement| statement.place.holds(place))
            .min_by_key(|statement| statement.place.range.size())
    }

    /// The name at a point of a file.
    pub fn at(&self, path: &Path, point: Point) -> Option<&Occurrence> {
        let here = |o: &&Occurrence| o.place.range.touches(point) && *o.place.path == *path;
        self.occurrences.iter().filter(here).min_by_key(|o| o.place.range.size())
    }

    /// What is known of a symbol.
    pub fn declaration(&self, symbol: &Symbol) -> Option<&Declaration> {
        self.declarations.get(symbol)
    }

    /// Every place with the symbol.
    pub fn occurrences(&self, symbol: &Symbol) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter().filter(move |o| o.symbol == *symbol)
    }

    /// Functions used inside a function, with where.
    pub fn calls(&self, function: &str) -> BTreeMap<String, Vec<Place>> {
        let mut out: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        for o in
            self.occurrences.iter().filter(|o| o.inside.as_deref() == Some(function) && !o.is_declaration)
        {
            if let Symbol::Function(name) = &o.symbol {
                out.entry(name.clone()).or_default().push(o.place.clone());
            }
        }
        out
    }

    /// Functions with bodies, objects with static storage: what can be searched by name.
    pub fn symbols(&self) -> impl Iterator<Item = (&Symbol, &Declaration)> {
        let is_outer = |symbol: &Symbol| !matches!(symbol, Symbol::Local(..));
        self.declarations.iter().filter(move |(symbol, known)| is_outer(symbol) && known.is_defined)
    }

    /// Functions that are used and not defined here.
    pub(crate) fn undefined(&self) -> BTreeSet<String> {
        let used = self.occurrences.iter().filter(|o| !o.is_declaration).map(|o| &o.symbol);
        let missing = |symbol: &Symbol| match symbol {
            Symbol::Function(name) if !self.declarations.get(symbol)?.is_defined => Some(name.clone()),
            Symbol::Function(_) | Symbol::Global(_) | Symbol::Local(..) => None,
        };
        used.filter_map(missing).collect()
    }

    /// Names of the locals of a function.
    pub fn locals(&self, function: &str) -> BTreeSet<String> {
        let of = |(symbol, known): (&Symbol, &Declaration)| match symbol {
            Symbol::Local(inside, _) if inside == function => Some(known.name.clone()),
            Symbol::Local(..) | Symbol::Function(_) | Symbol::Global(_) => None,
        };
        self.declarations.iter().filter_map(of).collect()
    }
}

struct Builder<'b> {
    files: &'b SourceFiles,
    paths: BTreeMap<u32, Arc<Path>>,
    index: &'b mut Index,
}

impl Builder<'_> {
    fn place(&mut self, span: Span) -> Place {
        let point = |offset| {
            let (line, column) = self.files.line_col(span.file, offset);
            Point { line, column }
        };
        let range = Range { start: point(span.start), end: point(span.end) };
        let files = self.files;
        let path = self.paths.entry(span.file.0).or_insert_with(|| {
            let path = files.path(span.file);
            std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).into()
        });
        Place { path: path.clone(), range }
    }

    fn written(&mut self, name: Span, whole: Span) {
        let (name, whole) = (self.place(name), self.place(whole));
        self.index.written.insert(name, whole);
    }

    fn statements(&mut self, function: &str, body: &Body, map: &BodyMap) {
        let mut in_block: BTreeSet<usize> = BTreeSet::new();
        for stmt in &body.stmts {
            match stmt {
                Stmt::Block(children) => in_block.extend(children.iter().map(|child| child.index())),
                Stmt::Case { body, .. } | Stmt::Default(body) | Stmt::Label(_, body) => {
                    in_block.insert(body.index());
                }
                _ => {}
            }
        }
        for (number, (stmt, span)) in body.stmts.iter().zip(&map.stmts).enumerate() {
            let is_loop = matches!(stmt, Stmt::While { .. } | Stmt::DoWhile { .. } | Stmt::For { .. });
            let is_once = matches!(
                stmt,
                Stmt::Expr(_) | Stmt::Declare(..) | Stmt::Return(_) | Stmt::If { .. } | Stmt::Switch { .. }
            );
            let is_group = matches!(
                stmt,
                Stmt::Block(_) | Stmt::Case { .. } | Stmt::Default(_) | Stmt::Label(..) | Stmt::Empty
            );
            if is_group {
                continue;
            }
            let place = self.place(*span);
            let is_plain = is_once && in_block.contains(&number);
            self.index.statements.push(Statement { place, inside: function.to_owned(), is_loop, is_plain });
        }
    }

    fn occurrence(
        &mut self,
        symbol: Symbol,
        span: Span,
        inside: Option<&str>,
        is_declaration: bool,
    ) -> Place {
        let place = self.place(span);
        let inside = inside.map(str::to_owned);
        self.index.occurrences.push(Occurrence { place: place.clone(), symbol, inside, is_declaration });
        place
    }

    fn declare(
        &mut self,
        symbol: Symbol,
        span: Span,
        text: String,
        name: &str,
        is_defined: bool,
        inside: Option<&str>,
    ) {
        let place = self.occurrence(symbol.clone(), span, inside, true);
        self.index
            .declarations
            .insert(symbol, Declaration { place, text, name: name.to_owned(), is_defined });
    }
}
