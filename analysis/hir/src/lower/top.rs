//! The translation unit: items in order, function definitions. The entry of the pass.

use proofline_syntax::{
    Flags, Unit,
    interrupt::{self, Interrupt},
    marks,
};
use tree_sitter::Node;

use super::{
    BodyBuilder, FunctionContext, Lowered, Lowerer, Scope, children,
    declarator::Dimension,
    field, objects,
    old_style::{Definition, OldStyle},
    specifiers::Storage,
};
use crate::{
    Dialect, Name,
    body::{Stmt, StmtId},
    types::TypeKind,
};

/// Stack of the thread that lowers: enough for the deepest tree that is not refused.
const STACK: usize = 256 << 20;

const UNSIGNED_CHAR: &str = "`-funsigned-char` is not supported: plain `char` is signed here";

/// Lowers a translation unit. The flags give the data model and what else decides layouts. Never fails: what was not understood is in the errors, and reaching it in a body is a
/// [`Stmt::Unsupported`].
pub fn lower(unit: &Unit, flags: &Flags) -> Lowered {
    let interrupt = Interrupt::current();
    let work = || interrupt::within(interrupt.clone(), || lower_here(unit, flags));
    std::thread::scope(|scope| {
        match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No memory for a thread: this stack must do.
            Err(_) => work(),
        }
    })
}

fn lower_here(unit: &Unit, flags: &Flags) -> Lowered {
    let mut lowerer = Lowerer::new(unit, flags);
    if flags.unsigned_char {
        lowerer.error(unit.root(), UNSIGNED_CHAR);
    }
    let root = unit.root();
    let items = children(root);
    let mut at = 0;
    while let Some(&item) = items.get(at) {
        interrupt::poll();
        at += lowerer.watched_item(item, |l| {
            l.torn_definition(&items[at..]).unwrap_or_else(|| {
                l.item(item);
                1
            })
        });
        if flags.unsigned_char {
            lowerer.dependences.damages(UNSIGNED_CHAR);
        }
    }
    lowerer.resolve_aliases();
    lowerer.mark_dependent_functions();
    let errors = std::mem::take(&mut lowerer.errors);
    let objects = std::mem::take(&mut lowerer.objects);
    let (mut module, map) = objects.finish(lowerer);
    module.dialect = Dialect::of(unit, flags);
    Lowered { module, map, errors }
}

impl<'u> Lowerer<'u> {
    fn new(unit: &'u Unit, flags: &Flags) -> Lowerer<'u> {
        Lowerer {
            unit,
            model: flags.data_model,
            short_enums: flags.short_enums,
            pack_struct: flags.pack_struct.map(u64::from),
            records: Default::default(),
            enumerations: Default::default(),
            errors: Vec::new(),
            scopes: vec![Scope::default()],
            body: BodyBuilder::default(),
            outer_bodies: Vec::new(),
            function: None,
            objects: objects::Objects::default(),
            static_owner: None,
            in_parameters: false,
            aliases: Vec::new(),
            asm_labels: Vec::new(),
            weak: Default::default(),
            dependences: Default::default(),
            used_tags: Default::default(),
            open_records: Vec::new(),
            poisoned: false,
            substitute: None,
            depth: 0,
        }
    }

    /// One item of the file.
    fn item(&mut self, node: Node<'u>) {
        if self.unit.is_too_deep(node) {
            self.error(node, "nested too deeply: this item is left out");
            self.lose(node);
            return;
        }
        match node.kind() {
            "comment" => {}
            "expression_statement" => self.file_expression(node),
            "ERROR" => {
                self.error(node, "this is not C");
                self.lose(node);
            }
            _ => {
                if self.unit.root().is_error() {
                    // Torn apart: what this is a part of is not known.
                    self.lose(node);
                }
                self.declaration(node);
            }
        }
        self.body = BodyBuilder::default();
    }

    /// An expression at file scope: a stray `;`, a static assertion, assembly.
    fn file_expression(&mut self, node: Node<'u>) {
        let Some(inner) = node.named_child(0) else { return };
        match inner.kind() {
            "gnu_asm_expression" => self.objects.has_assembly = true,
            "call_expression"
                if field(inner, "function").is_some_and(|f| self.text(f) == marks::STATIC_ASSERT) =>
            {
                self.static_assert(inner);
            }
            _ => self.error(node, "an expression outside of functions"),
        }
    }

    /// `_Static_assert(e, "text")`: reports it if it is false.
    pub(crate) fn static_assert(&mut self, call: Node<'u>) {
        let condition = field(call, "arguments").and_then(|a| a.named_child(0));
        let Some(condition) = condition else { return };
        match self.const_int(condition) {
            Some(0) => self.error(call, "this static assertion is false"),
            Some(_) => {}
            None => self.error(condition, "a static assertion needs an integer constant"),
        }
    }

    /// A function definition; inside a function a GNU nested one.
    pub(crate) fn function_definition(&mut self, node: Node<'u>) -> Vec<StmtId> {
        let (Some(declarator), Some(body)) = (field(node, "declarator"), field(node, "body")) else {
            self.error(node, "this function definition is incomplete");
            return Vec::new();
        };
        let old_style =
            children(node).into_iter().filter(|c| c.kind() == "declaration").map(OldStyle::whole).collect();
        self.define(Definition { node, declarator, old_style, body })
    }

    /// Lowers a definition.
    pub(super) fn define(&mut self, definition: Definition<'u>) -> Vec<StmtId> {
        let Definition { node, declarator, old_style, body } = definition;
        let errors_before = self.errors.len();
        let mut specifiers = self.specifiers(node, None);
        let own = self.attached_to_declarator(declarator);
        specifiers.attributes.merge(own);
        let base = self.retyped(node, specifiers.ty, &specifiers.attributes);
        let declared = self.declarator(Some(declarator), base);
        let (Some((name, at)), TypeKind::Function(signature)) = (declared.name, declared.ty.kind()) else {
            self.error(declarator, "this is not the declarator of a function");
            return Vec::new();
        };
        let (parameters, tags, ty) = self.definition_parameters(node, &declared, &old_style, signature);
        let is_nested = self.function.is_some();
        if is_nested {
            specifiers.storage = Storage::Auto;
        }
        let unique = self.declare_function(&specifiers, name, ty, at);
        let saved_body = std::mem::take(&mut self.body);
        if is_nested {
            self.outer_bodies.push(saved_body);
        }
        // The type that the function has in the end.
        let known =
            self.function_type(unique).filter(|known| objects::fits_definition(*known, ty, parameters.len()));
        let result = match known.unwrap_or(ty).kind() {
            TypeKind::Function(known) => known.result,
            _ => signature.result,
        };
        let saved = self.function.replace(FunctionContext::new(unique, result, [node, body]));
        let saved_owner = self.static_owner.take();
        self.push_scope();
        if let Some(scope) = self.scopes.last_mut() {
            scope.tags = tags;
        }
        let ids = self.declare_parameters(&parameters);
        self.dependences.defines(unique);
        if let Some(error) = self.errors.get(errors_before) {
            self.dependences.damages(&error.message);
        }
        let mut before = Vec::new();
        for (id, parameter) in ids.iter().zip(&parameters) {
            if parameter.rows.iter().any(|row| matches!(row, Dimension::Later(_))) {
                let rows = self.keep_rows(&parameter.rows, parameter.node, &mut before);
                self.body.body.locals[id.index()].rows = rows.unwrap_or_default();
            }
        }
        let mut root = self.function_body(body);
        if !before.is_empty() {
            before.push(root);
            root = self.new_stmt(Stmt::Block(before), body);
        }
        for error in self.errors.iter_mut().skip(errors_before) {
            error.function.get_or_insert(unique);
        }
        if self.unit.is_damaged(node) || self.unit.is_damaged(body) {
            let reason = self.new_stmt(Stmt::Unsupported(Name::new("a part that is not understood")), node);
            root = self.new_stmt(Stmt::Block(vec![reason, root]), body);
        }
        self.body.body.root = Some(root);
        self.pop_scope();
        self.static_owner = saved_owner;
        let context = std::mem::replace(&mut self.function, saved);
        let outside = if is_nested { self.outer_bodies.pop() } else { None };
        let finished = std::mem::replace(&mut self.body, outside.unwrap_or_default());
        let (span, whole) = (self.span(at), self.span(node).to(self.span(body)));
        if !self.objects.define(unique, ty, ids, finished, span, whole) {
            self.error(at, format!("`{name}` is defined twice"));
        }
        self.captured(node, context)
    }

    /// A nested function that uses locals around it may change them behind the analysis' back: its definition is a
    /// statement that is not supported.
    fn captured(&mut self, node: Node<'u>, context: Option<FunctionContext<'u>>) -> Vec<StmtId> {
        let Some(first) = context.as_ref().and_then(|c| c.captured.first()) else { return Vec::new() };
        if self.function.is_none() {
            return Vec::new();
        }
        let reason =
            Name::new(&format!("a nested function uses the local {first} of the function around it"));
        vec![self.new_stmt(Stmt::Unsupported(reason), node)]
    }
}
