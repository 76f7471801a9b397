//! Declarations in a file or a block: typedefs, objects, functions, and what each becomes. Must not know how types or
//! initialisers are read.

use tree_sitter::Node;

use super::{
    BodyBuilder, Entity, Lowerer, children,
    declarator::{Declared, Dimension},
    field,
    specifiers::{Specifiers, Storage},
};
use crate::{
    Global, Linkage, Name,
    body::{ExprId, ExprKind, InitEntry, Initializer, Local, Stmt, StmtId},
    types::{ArrayLength, Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    /// A declaration at file or block scope. In a block: the statements that bring its locals to life.
    pub(crate) fn declaration(&mut self, node: Node<'u>) -> Vec<StmtId> {
        self.deeper(node, |l| l.declaration_inner(node)).unwrap_or_default()
    }

    fn declaration_inner(&mut self, node: Node<'u>) -> Vec<StmtId> {
        match node.kind() {
            // Labels are of the function anyway; theirs is the statement's business.
            "declaration" if field(node, "type").is_some_and(|t| self.text(t) == "__label__") => Vec::new(),
            "declaration" => match self.misread_product(node) {
                Some(stmt) => vec![stmt],
                None => self.declare_all(node),
            },
            "type_definition" => self.declare_all(node),
            "function_definition" => self.function_definition(node),
            "linkage_specification" => match field(node, "body") {
                Some(body) if body.kind() == "declaration_list" => {
                    children(body).into_iter().flat_map(|c| self.declaration(c)).collect()
                }
                Some(body) => self.declaration(body),
                None => Vec::new(),
            },
            "struct_specifier" | "union_specifier" => {
                self.record_specifier(node, None);
                Vec::new()
            }
            "enum_specifier" => {
                self.enum_specifier(node, None);
                Vec::new()
            }
            "primitive_type" | "sized_type_specifier" | "type_identifier" | "macro_type_specifier" => {
                Vec::new()
            }
            _ => {
                self.error(node, format!("cannot read this declaration ({})", node.kind()));
                Vec::new()
            }
        }
    }

    /// `a * b;` where `a` is no type: the grammar takes every such statement for a declaration.
    fn misread_product(&mut self, node: Node<'u>) -> Option<StmtId> {
        let ty = field(node, "type").filter(|t| t.kind() == "type_identifier")?;
        let is_object = matches!(
            self.lookup(self.text(ty)),
            Some(Entity::Local(_) | Entity::Captured(..) | Entity::Global(_) | Entity::EnumConstant(..))
        );
        if !is_object || node.named_child_count() != 2 {
            return None;
        }
        let mut operand = field(node, "declarator").filter(|d| d.kind() == "pointer_declarator")?;
        let mut stars = 0;
        while operand.kind() == "pointer_declarator" {
            operand = field(operand, "declarator")?;
            stars += 1;
        }
        let left = self.value(ty);
        let mut right = self.value(operand);
        for _ in 1..stars {
            let Some(pointee) = self.type_of(right).pointee() else {
                self.error(node, "the operand of `*` is not a pointer");
                return Some(self.new_stmt(Stmt::Unsupported(Name::new("not C")), node));
            };
            let place = self.new_expr(ExprKind::Deref(right), pointee, node);
            right = self.rvalue(place);
        }
        let times = super::expr::Operator::Arithmetic(crate::body::BinaryOp::Mul);
        let span = self.span(node);
        let product = self.binary(times, left, right, span);
        Some(self.new_stmt(Stmt::Expr(product), node))
    }

    fn declare_all(&mut self, node: Node<'u>) -> Vec<StmtId> {
        let declarators = declarators(node);
        let hint = declarators.first().and_then(|&d| declared_name(d)).map(|n| Name::new(self.text(n)));
        let specifiers = self.specifiers(node, hint);
        let base = self.retyped(node, specifiers.ty, &specifiers.attributes);
        let mut statements = Vec::new();
        for declarator in declarators {
            let mut own = specifiers.clone();
            let attributes = self.attached_to_declarator(declarator);
            own.ty = self.retyped(declarator, base, &attributes);
            own.attributes.merge(attributes);
            let value =
                (declarator.kind() == "init_declarator").then(|| field(declarator, "value")).flatten();
            let declared = self.declarator(Some(declarator), own.ty);
            let is_direct = declared.ty == own.ty;
            own.type_align = own.type_align.filter(|_| is_direct);
            statements.extend(self.declare(&own, declared, value, declarator));
        }
        statements
    }

    /// Declares one name.
    fn declare(
        &mut self,
        specifiers: &Specifiers,
        declared: Declared<'u>,
        value: Option<Node<'u>>,
        node: Node<'u>,
    ) -> Vec<StmtId> {
        let Some((name, at)) = declared.name else {
            self.error(node, "this declaration declares nothing");
            return Vec::new();
        };
        if name.starts_with(proofline_syntax::marks::ANON) {
            return Vec::new();
        }
        if specifiers.storage == Storage::Typedef {
            self.refuse_lost_effects(declared.ty, node);
            self.bind(name, Entity::Typedef(declared.ty));
            let align = specifiers.attributes.aligned.or(specifiers.type_align);
            if let (Some(align), Some(scope)) = (align, self.scopes.last_mut()) {
                scope.aligns.insert(name, align);
            }
            return Vec::new();
        }
        let is_function = matches!(declared.ty.kind(), TypeKind::Function(_));
        let span = self.span(at);
        match specifiers.attributes.alias {
            Some(target) if is_function => self.aliases.push((name, target, span)),
            Some(target) => {
                self.error(at, format!("`{name}` is another name of `{target}`, which is not modelled"))
            }
            None if specifiers.attributes.weak => drop(self.weak.insert(name)),
            None => {}
        }
        let has_linkage = is_function || self.function.is_none() || specifiers.storage == Storage::Extern;
        if let Some(label) = specifiers.attributes.asm_label.filter(|label| has_linkage && *label != name) {
            self.asm_labels.push((name, label, span));
        }
        if is_function {
            self.declare_function(specifiers, name, declared.ty, at);
            return Vec::new();
        }
        if self.function.is_none() || specifiers.storage == Storage::Extern {
            self.declare_object(specifiers, name, declared.ty, value, at);
            return Vec::new();
        }
        if specifiers.storage == Storage::Static || specifiers.thread_local {
            self.declare_static(specifiers, name, declared.ty, value, at);
            return Vec::new();
        }
        self.declare_local(specifiers, name, declared, value, node)
    }

    /// A function without a body.
    pub(crate) fn declare_function(
        &mut self,
        specifiers: &Specifiers,
        name: Name,
        ty: Type,
        at: Node<'u>,
    ) -> Name {
        let is_nested = self.function.is_some() && specifiers.storage == Storage::Auto;
        let unique = if is_nested { self.nested_name(name) } else { name };
        let linkage = match specifiers.storage {
            Storage::Static | Storage::Auto => Linkage::Internal,
            _ => Linkage::External,
        };
        let span = self.span(at);
        if let Some(before) = self.function_type(unique)
            && !super::convert::compatible(before.unqualified(), ty.unqualified())
        {
            let (before, now) = (crate::print::type_text(before), crate::print::type_text(ty));
            self.error(at, format!("`{name}` is declared as `{now}`, before as `{before}`"));
            self.objects.retype_function(unique, ty);
        }
        self.objects.declare_function(unique, ty, linkage, specifiers.attributes.function.clone(), span);
        self.bind(name, Entity::Function(unique));
        unique
    }

    /// The module's name of a nested function.
    pub(crate) fn nested_name(&self, name: Name) -> Name {
        match &self.function {
            Some(function) => Name::new(&format!("{}.{name}", function.name)),
            None => name,
        }
    }

    /// An object at file scope, or an `extern` one anywhere.
    fn declare_object(
        &mut self,
        specifiers: &Specifiers,
        name: Name,
        ty: Type,
        value: Option<Node<'u>>,
        at: Node<'u>,
    ) {
        let linkage = match specifiers.storage {
            Storage::Static => Linkage::Internal,
            _ => Linkage::External,
        };
        let defined = specifiers.storage != Storage::Extern || value.is_some();
        let ty = self.object_type(specifiers, ty, value, at);
        let global = Global {
            name,
            ty,
            linkage,
            defined,
            thread_local: specifiers.thread_local,
            init: None,
            init_body: None,
        };
        let span = self.span(at);
        self.objects.declare_global(global, span);
        self.bind(name, Entity::Global(name));
        if let Some(value) = value {
            self.initialize_static(name, value, at);
        }
    }

    /// A `static` local.
    fn declare_static(
        &mut self,
        specifiers: &Specifiers,
        name: Name,
        ty: Type,
        value: Option<Node<'u>>,
        at: Node<'u>,
    ) {
        let ty = self.object_type(specifiers, ty, value, at);
        let unique = match &mut self.function {
            Some(function) => {
                let count = function.statics.entry(name).or_insert(0);
                let suffix = if *count == 0 { String::new() } else { format!("#{count}") };
                *count += 1;
                Name::new(&format!("{}.{name}{suffix}", function.name))
            }
            None => name,
        };
        let global = Global {
            name: unique,
            ty,
            linkage: Linkage::Internal,
            defined: true,
            thread_local: specifiers.thread_local,
            init: None,
            init_body: None,
        };
        let span = self.span(at);
        self.objects.declare_global(global, span);
        self.bind(name, Entity::Global(unique));
        if let Some(value) = value {
            self.initialize_static(unique, value, at);
        }
    }

    /// Lowers the initialiser of an object with static storage into a body of its own.
    fn initialize_static(&mut self, name: Name, value: Node<'u>, at: Node<'u>) {
        let ty = self.global_type(name).unwrap_or_else(super::error_type);
        let ((init, completed), body) = self.with_static_body(name, |l| l.initializer(value, ty));
        let span = self.span(at);
        if !self.objects.initialize(name, completed, init, body, span) {
            self.error(at, format!("`{name}` is initialised twice"));
        }
    }

    /// Runs `f` with a fresh body for the static initialiser of `owner`. Locals of the function around are seen only by
    /// their types there.
    pub(crate) fn with_static_body<R>(
        &mut self,
        owner: Name,
        f: impl FnOnce(&mut Self) -> R,
    ) -> (R, BodyBuilder) {
        let saved = std::mem::take(&mut self.body);
        let saved_owner = self.static_owner.replace(owner);
        let is_inside = self.function.is_some();
        let mut outside = None;
        if is_inside {
            self.outer_bodies.push(saved);
        } else {
            outside = Some(saved);
        }
        let result = f(self);
        let saved = if is_inside { self.outer_bodies.pop() } else { outside };
        self.static_owner = saved_owner;
        let body = std::mem::replace(&mut self.body, saved.unwrap_or_default());
        (result, body)
    }

    /// The type of an object: for `__auto_type` that of its initialiser.
    fn object_type(
        &mut self,
        specifiers: &Specifiers,
        ty: Type,
        value: Option<Node<'u>>,
        at: Node<'u>,
    ) -> Type {
        match (specifiers.is_auto_type, value) {
            (false, _) => ty,
            (true, Some(value)) => {
                let checkpoint = self.body.checkpoint();
                let id = self.value(value);
                let found = self.type_of(id).unqualified();
                self.body.roll_back(checkpoint);
                found.qualified(ty.qualifiers())
            }
            (true, None) => {
                self.error(at, "an object of deduced type needs an initialiser");
                super::error_type()
            }
        }
    }

    fn declare_local(
        &mut self,
        specifiers: &Specifiers,
        name: Name,
        declared: Declared<'u>,
        value: Option<Node<'u>>,
        node: Node<'u>,
    ) -> Vec<StmtId> {
        let at = declared.name.map_or(node, |(_, at)| at);
        let errors = self.errors.len();
        let ty = self.object_type(specifiers, declared.ty, value, at);
        // The initialiser is lowered again below, and reported then.
        self.errors.truncate(if specifiers.is_auto_type && value.is_some() { errors } else { usize::MAX });
        let cleanup = specifiers.attributes.cleanup.and_then(|name| self.cleanup(name, at));
        let mut statements = Vec::new();
        // The first of several dimensions is looked at first.
        let mut declared = declared;
        let has_variable_rows = declared.rows().iter().any(|row| matches!(row, Dimension::Value(_)));
        if has_variable_rows
            && declared.is_variable()
            && let Some(Dimension::Value(value)) = declared.dimensions.last_mut()
        {
            *value = self.keep_length(*value, node, &mut statements);
        }
        let rows = self.keep_rows(declared.rows(), node, &mut statements);
        let length = self.elements(&declared, &rows.clone().unwrap_or_default(), node);
        let length = length.filter(|_| rows.is_some() || declared.rows().is_empty());
        let length = length.map(|length| self.keep_length(length, node, &mut statements));
        let rows = rows.unwrap_or_default();
        let local = Local { name, ty, length, rows, is_parameter: false, cleanup };
        let span = self.span(at);
        let id = self.body.local(local, span);
        let init = match value {
            Some(value) if specifiers.is_auto_type => {
                let init = self.initializer(value, ty).0;
                self.bind(name, Entity::Local(id));
                Some(init)
            }
            Some(value) => {
                self.bind(name, Entity::Local(id));
                let (init, completed) = self.initializer(value, ty);
                self.body.body.locals[id.index()].ty = completed;
                self.note_settled(id, name, &init);
                Some(init)
            }
            None => {
                self.bind(name, Entity::Local(id));
                None
            }
        };
        self.check_complete(id.index(), at);
        statements.push(self.new_stmt(Stmt::Declare(id, init), node));
        statements
    }

    /// The function that `__attribute__((cleanup(name)))` means here.
    fn cleanup(&mut self, name: Name, at: Node<'u>) -> Option<Name> {
        if let Some(Entity::Function(unique)) = self.lookup(&name) {
            return Some(unique);
        }
        self.error(at, format!("`{name}`, which is to clean up, is not a function"));
        None
    }

    /// Keeps the dimensions of rows in locals that nothing assigns to; `None` if one is not known.
    pub(crate) fn keep_rows(
        &mut self,
        rows: &[Dimension<'u>],
        node: Node<'u>,
        statements: &mut Vec<StmtId>,
    ) -> Option<Vec<ExprId>> {
        let kept: Option<Vec<ExprId>> = rows
            .iter()
            .rev()
            .map(|row| match *row {
                Dimension::Fixed(_) | Dimension::Unknown => self.dimension(*row, node),
                Dimension::Value(value) => Some(self.keep_length(value, node, statements)),
                Dimension::Later(size) => {
                    // What is wrong with it was reported where the parameter was read.
                    let errors = self.errors.len();
                    let value = self.value(size);
                    let value = self.convert(value, self.size_type());
                    self.errors.truncate(errors);
                    Some(self.keep_length(value, node, statements))
                }
            })
            .collect();
        kept.map(|kept| kept.into_iter().rev().collect())
    }

    /// Keeps the number of elements of a variable length array in a local that nothing assigns to, for `sizeof`.
    fn keep_length(&mut self, length: ExprId, node: Node<'u>, statements: &mut Vec<StmtId>) -> ExprId {
        let ty = self.type_of(length);
        let name = Name::new(&format!("#{}", self.body.body.locals.len()));
        let span = self.span(node);
        let local = self.body.local(
            Local { name, ty, length: None, rows: Vec::new(), is_parameter: false, cleanup: None },
            span,
        );
        let init = Initializer { entries: vec![InitEntry { path: Vec::new(), value: length }] };
        statements.push(self.new_stmt(Stmt::Declare(local, Some(init)), node));
        let place = self.new_expr(ExprKind::Local(local), ty, node);
        self.new_expr(ExprKind::Load(place), ty, node)
    }

    fn check_complete(&mut self, local: usize, at: Node<'u>) {
        let ty = self.body.body.locals[local].ty;
        let mut core = ty;
        while let TypeKind::Array(element, ArrayLength::Variable | ArrayLength::Fixed(_)) = core.kind() {
            core = *element;
        }
        let is_complete = self.layout().size_of(core).is_some() && *core.kind() != TypeKind::Void;
        if !is_complete && *core.kind() != TypeKind::Error {
            self.error(at, format!("`{}` has an incomplete type", self.text(at)));
        }
    }

    /// A compound literal outside functions: an object with static storage.
    pub(crate) fn static_literal(&mut self, node: Node<'u>, ty: Type, list: Node<'u>) -> ExprId {
        let owner = self.static_owner.map_or_else(String::new, |n| format!("{n}."));
        let mut name = Name::new(&format!("{owner}#literal"));
        let mut count = 0;
        while self.objects.global(name).is_some() {
            count += 1;
            name = Name::new(&format!("{owner}#literal#{count}"));
        }
        let global = Global {
            name,
            ty,
            linkage: Linkage::Internal,
            defined: true,
            thread_local: false,
            init: None,
            init_body: None,
        };
        let span = self.span(node);
        self.objects.declare_global(global, span);
        let ((init, completed), body) = self.with_static_body(name, |l| l.initializer(list, ty));
        self.objects.initialize(name, completed, init, body, span);
        self.new_expr(ExprKind::Global(name), completed, node)
    }
}

/// The declarators of a declaration.
fn declarators(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children_by_field_name("declarator", &mut cursor).collect()
}

/// The name in a declarator.
pub(crate) fn declared_name(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    loop {
        node = match node.kind() {
            "identifier" | "type_identifier" | "field_identifier" | "primitive_type" => return Some(node),
            "parenthesized_declarator" | "attributed_declarator" => children(node)
                .into_iter()
                .rfind(|c| !c.kind().starts_with("ms_") && !c.kind().starts_with("attribute"))?,
            _ => field(node, "declarator")?,
        };
    }
}
