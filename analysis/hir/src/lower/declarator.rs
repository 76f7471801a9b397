//! Declarators: from `*(*x[3])(int)` and a basic type to a name and its type. Must not know what becomes of the name.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofline_syntax::marks;
use tree_sitter::Node;

use super::{
    Lowerer, children, error_type, field,
    objects::parameter_name,
    scope::{Entity, Tag},
};
use crate::{
    Name,
    body::{BinaryOp, ExprId, ExprKind, Local},
    consteval::{self, ConstValue},
    types::{ArrayLength, Qualifiers, Signature, Type, TypeKind},
};

/// What a declarator declares.
#[derive(Clone, Debug)]
pub(crate) struct Declared<'u> {
    /// Absent in an abstract declarator.
    pub(crate) name: Option<(Name, Node<'u>)>,
    pub(crate) ty: Type,
    /// The dimensions of the array that it is or, if it is a pointer to one, points to; the innermost first.
    pub(crate) dimensions: Vec<Dimension<'u>>,
    /// It is a pointer to that array.
    pub(crate) is_pointer: bool,
    /// Parameters of the function that the name itself is, if it is one.
    pub(crate) parameters: Option<Parameters<'u>>,
}

/// How many elements an array has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dimension<'u> {
    /// A constant number.
    Fixed(u64),
    /// What an expression of the current body says, of type `size_t`.
    Value(ExprId),
    /// What an expression says where the function begins whose parameter it is.
    Later(Node<'u>),
    /// That is not known.
    Unknown,
}

/// A function declarator's parameters.
#[derive(Clone, Debug)]
pub(crate) enum Parameters<'u> {
    /// With types; tags declared among them.
    Prototype(Vec<Parameter<'u>>, BTreeMap<Name, Tag>),
    /// Old style: names only.
    Names(Vec<(Name, Node<'u>)>),
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter<'u> {
    pub(crate) name: Option<Name>,
    pub(crate) node: Node<'u>,
    /// After adjustment, with its qualifiers.
    pub(crate) ty: Type,
    /// Of a pointer to an array, its dimensions.
    pub(crate) rows: Vec<Dimension<'u>>,
}

impl<'u> Declared<'u> {
    fn of(ty: Type) -> Declared<'u> {
        Declared { name: None, ty, dimensions: Vec::new(), is_pointer: false, parameters: None }
    }

    /// The dimensions of an element, or of what a pointer points to.
    pub(crate) fn rows(&self) -> &[Dimension<'u>] {
        match self.is_pointer {
            true => &self.dimensions,
            false => &self.dimensions[..self.dimensions.len().saturating_sub(1)],
        }
    }

    /// Whether it is an array of a length that only a run knows.
    pub(crate) fn is_variable(&self) -> bool {
        !self.is_pointer && self.dimensions.iter().any(|d| matches!(d, Dimension::Value(_)))
    }
}

impl<'u> Lowerer<'u> {
    /// Applies a declarator to the type that the specifiers gave. Expressions that stand for declarators (the grammar
    /// takes `T (*x)(int);` for a call) are read as such.
    pub(crate) fn declarator(&mut self, node: Option<Node<'u>>, base: Type) -> Declared<'u> {
        let mut result = Declared::of(base);
        let mut next = node;
        while let Some(node) = next {
            next = match node.kind() {
                "pointer_declarator" | "abstract_pointer_declarator" => {
                    let qualifiers = self.qualifiers_among(node);
                    self.point(&mut result, qualifiers);
                    field(node, "declarator")
                }
                "pointer_expression" => {
                    self.point(&mut result, Qualifiers::default());
                    field(node, "argument")
                }
                "array_declarator" | "abstract_array_declarator" => {
                    self.array(&mut result, field(node, "size"), node);
                    field(node, "declarator")
                }
                "subscript_expression" => {
                    self.array(&mut result, field(node, "index"), node);
                    field(node, "argument")
                }
                "abstract_function_declarator" if let Some(name) = self.name_in_parentheses(node) => {
                    Some(name)
                }
                "function_declarator" | "abstract_function_declarator" => {
                    self.function(&mut result, field(node, "parameters"));
                    field(node, "declarator")
                }
                "call_expression" => {
                    self.function(&mut result, field(node, "arguments"));
                    field(node, "function")
                }
                "parenthesized_declarator"
                | "abstract_parenthesized_declarator"
                | "parenthesized_expression" => {
                    children(node).into_iter().rfind(|c| c.kind() != "ms_call_modifier")
                }
                "argument_list" => node.named_child(0),
                "attributed_declarator" => node.named_child(0),
                "init_declarator" => field(node, "declarator"),
                "identifier" | "type_identifier" | "field_identifier" | "primitive_type" => {
                    let text = self.text(node);
                    if node.is_missing() || text.is_empty() {
                        self.error(node, "a name is missing");
                    } else {
                        result.name = Some((Name::new(text), node));
                    }
                    None
                }
                _ => {
                    self.error(node, format!("cannot read the declarator `{}`", self.text(node)));
                    result.ty = error_type();
                    None
                }
            };
        }
        result
    }

    /// `(a)` in a parameter such as `void (a)(int)`, where the grammar sees a list of parameters of a type `a`: a name, if there is no such type (C11 6.7.6.3, 11).
    fn name_in_parentheses(&self, node: Node<'u>) -> Option<Node<'u>> {
        if !self.in_parameters || field(node, "declarator").is_some() {
            return None;
        }
        let [parameter] = children(field(node, "parameters")?)[..] else { return None };
        self.is_bare_name(parameter).then(|| parameter.named_child(0)).flatten()
    }

    /// Whether what stands in a parameter list is a single name, and of no type.
    fn is_bare_name(&self, parameter: Node<'u>) -> bool {
        let only = parameter.named_child(0).filter(|_| parameter.named_child_count() == 1);
        parameter.kind() == "parameter_declaration"
            && only.is_some_and(|only| only.kind() == "type_identifier" && !self.is_type_expression(only))
    }

    /// Reports a name that is no type here.
    pub(crate) fn unknown_type(&mut self, node: Node<'u>) {
        let name = self.text(node);
        let is_known =
            matches!(name, "_Decimal32" | "_Decimal64" | "_Decimal128" | "_Accum" | "_Fract" | "_Sat");
        self.error(
            node,
            match is_known {
                true => format!("the type `{name}` is not supported"),
                false => format!("unknown type name `{name}`"),
            },
        );
    }

    fn point(&self, to: &mut Declared<'u>, qualifiers: Qualifiers) {
        to.is_pointer = !to.is_pointer && matches!(to.ty.kind(), TypeKind::Array(..));
        if !to.is_pointer {
            to.dimensions.clear();
        }
        to.ty = to.ty.pointer_to().qualified(qualifiers);
        to.parameters = None;
    }

    fn array(&mut self, of: &mut Declared<'u>, size: Option<Node<'u>>, node: Node<'u>) {
        let element = of.ty;
        of.parameters = None;
        let is_star = size.is_some_and(|s| self.text(s) == "*");
        let (length, dimension) = match size {
            None => (ArrayLength::Unknown, None),
            Some(_) if is_star => {
                if !self.in_parameters {
                    self.error(node, "`[*]` is for parameters only");
                }
                (ArrayLength::Variable, None)
            }
            Some(size) => self.array_length(size),
        };
        if matches!(element.kind(), TypeKind::Function(_) | TypeKind::Void) {
            self.error(node, "an array of functions or of `void`");
            of.ty = error_type();
            return;
        }
        if let (ArrayLength::Fixed(n), Some(size)) = (length, self.layout().size_of(element))
            && !self.fits_memory(u128::from(n) * u128::from(size))
        {
            self.error(node, "the array is larger than memory");
            of.ty = error_type();
            of.dimensions.clear();
            return;
        }
        if std::mem::take(&mut of.is_pointer) {
            of.dimensions.clear();
        }
        of.dimensions.push(match (length, dimension) {
            (ArrayLength::Fixed(n), _) => Dimension::Fixed(n),
            (ArrayLength::Variable, Some(value)) => Dimension::Value(self.convert(value, self.size_type())),
            (ArrayLength::Variable, None) if self.in_parameters && !is_star => {
                size.map_or(Dimension::Unknown, Dimension::Later)
            }
            (ArrayLength::Variable | ArrayLength::Unknown, _) => Dimension::Unknown,
        });
        of.ty = Type::new(TypeKind::Array(element, length));
    }

    /// The number of innermost elements of a variable length array, `rows` times the outermost dimension; `None` if it is not known, and of other types.
    pub(crate) fn elements(&mut self, of: &Declared<'u>, rows: &[ExprId], node: Node<'u>) -> Option<ExprId> {
        let outermost = of.dimensions.last().filter(|_| of.is_variable())?;
        let size = self.size_type();
        let mut product = self.dimension(*outermost, node)?;
        for row in rows {
            product = self.new_expr(ExprKind::Binary(BinaryOp::Mul, product, *row), size, node);
        }
        // The type that the specifiers gave may be an array, too.
        let mut element = of.ty;
        for _ in &of.dimensions {
            let TypeKind::Array(inner, _) = element.kind() else { return None };
            element = *inner;
        }
        while let TypeKind::Array(inner, length) = element.kind() {
            let ArrayLength::Fixed(n) = length else { return None };
            let n = self.new_expr(ExprKind::Int(i128::from(*n)), size, node);
            product = self.new_expr(ExprKind::Binary(BinaryOp::Mul, product, n), size, node);
            element = *inner;
        }
        Some(product)
    }

    /// A dimension as an expression; `None` if it is not known.
    pub(crate) fn dimension(&mut self, dimension: Dimension<'u>, node: Node<'u>) -> Option<ExprId> {
        match dimension {
            Dimension::Fixed(n) => Some(self.new_expr(ExprKind::Int(i128::from(n)), self.size_type(), node)),
            Dimension::Value(value) => Some(value),
            Dimension::Later(_) | Dimension::Unknown => None,
        }
    }

    /// The number of innermost elements of the type of a type name, if that is a variable length array.
    fn elements_of_name(&mut self, declared: &Declared<'u>, node: Node<'u>) -> Option<ExprId> {
        let rows = declared.rows().to_vec();
        let rows: Option<Vec<ExprId>> = rows.into_iter().map(|row| self.dimension(row, node)).collect();
        self.elements(declared, &rows?, node)
    }

    /// An array's size: a constant, or an expression where one may stand.
    fn array_length(&mut self, size: Node<'u>) -> (ArrayLength, Option<ExprId>) {
        let checkpoint = self.body.checkpoint();
        let value = self.value(size);
        let constant = consteval::eval(&self.body.body, value, &self.records, self.model);
        if let Some(ConstValue::Int(n)) = constant {
            self.body.roll_back(checkpoint);
            if let Ok(n) = u64::try_from(n) {
                return (ArrayLength::Fixed(n), None);
            }
            self.error(size, "the array has a negative size");
            return (ArrayLength::Unknown, None);
        }
        let settled = self.function.as_ref().map(|function| &function.settled);
        if let Some(settled) = settled.filter(|settled| !settled.is_empty())
            && let Some(ConstValue::Int(n)) =
                consteval::eval_knowing(&self.body.body, value, &self.records, self.model, settled)
            && let Ok(n @ 1..) = u64::try_from(n)
        {
            self.body.roll_back(checkpoint);
            return (ArrayLength::Fixed(n), None);
        }
        if self.in_parameters || self.function.is_none() || self.static_owner.is_some() {
            let has_effect = has_effect(size);
            if !self.in_parameters {
                self.error(size, "the size of an array outside a function must be constant");
            } else if has_effect && self.type_of(value) != error_type() {
                let what = "a parameter's array size with side effects is not supported";
                self.error(size, what);
                self.dependences.damages(what);
                self.spoil_names(size, what);
            }
            self.body.roll_back(checkpoint);
            return (ArrayLength::Variable, None);
        }
        (ArrayLength::Variable, Some(value))
    }

    fn function(&mut self, of: &mut Declared<'u>, list: Option<Node<'u>>) {
        let mut result = of.ty;
        of.dimensions.clear();
        of.is_pointer = false;
        let (parameters, variadic) = match list {
            Some(list) => self.parameters(list),
            None => (Parameters::Names(Vec::new()), false),
        };
        let (types, unprototyped) = match &parameters {
            Parameters::Prototype(parameters, _) => {
                (parameters.iter().map(|p| p.ty.unqualified()).collect(), false)
            }
            Parameters::Names(_) => (Vec::new(), !variadic),
        };
        if matches!(result.kind(), TypeKind::Function(_) | TypeKind::Array(..)) {
            self.errors.extend(list.map(|list| super::HirError {
                message: "a function cannot return a function or an array".to_owned(),
                span: self.unit.span(list),
                help: None,
                function: None,
            }));
            result = error_type();
        }
        let signature = Signature { result, parameters: types, variadic, unprototyped };
        of.ty = Type::new(TypeKind::Function(Arc::new(signature)));
        of.parameters = Some(parameters);
    }

    /// A parameter list: its parameters and whether it ends in `...`.
    fn parameters(&mut self, list: Node<'u>) -> (Parameters<'u>, bool) {
        let items = children(list);
        let old_style = |l: &Self, n: Node<'u>| n.kind() == "identifier" && !l.is_type_expression(n);
        if items.iter().all(|&n| old_style(self, n) || self.is_bare_name(n)) {
            let names = items.iter().map(|&n| (Name::new(self.text(n)), n)).collect();
            return (Parameters::Names(names), false);
        }
        let checkpoint = self.body.checkpoint();
        let outside = std::mem::replace(&mut self.in_parameters, true);
        self.push_scope();
        let mut parameters = Vec::new();
        let mut variadic = false;
        for item in items {
            match item.kind() {
                "variadic_parameter" => variadic = true,
                "parameter_declaration" => {
                    let parameter = self.parameter(item);
                    parameters.push(parameter);
                }
                // A parameter's type that the grammar took for an argument.
                "identifier" | "type_descriptor" | "pointer_expression" | "sizeof_expression" => {
                    let ty = self.type_name(item);
                    parameters.push(Parameter {
                        name: None,
                        node: item,
                        ty: adjusted(ty, Qualifiers::default()),
                        rows: Vec::new(),
                    });
                }
                _ => self.error(item, format!("cannot read the parameter `{}`", self.text(item))),
            }
        }
        let tags = self.scopes.last().map(|s| s.tags.clone()).unwrap_or_default();
        self.pop_scope();
        self.in_parameters = outside;
        self.body.roll_back(checkpoint);
        if let [only] = &parameters[..]
            && only.name.is_none()
            && *only.ty.kind() == TypeKind::Void
        {
            parameters.clear();
        }
        (Parameters::Prototype(parameters, tags), variadic)
    }

    fn parameter(&mut self, node: Node<'u>) -> Parameter<'u> {
        let specifiers = self.specifiers(node, None);
        let base = self.retyped(node, specifiers.ty, &specifiers.attributes);
        let declarator = field(node, "declarator");
        let declared = self.declarator(declarator, base);
        let inside =
            declarator.filter(|d| d.kind().ends_with("array_declarator")).map(|d| self.qualifiers_among(d));
        let ty = adjusted(declared.ty, inside.unwrap_or_default());
        let name = declared.name.map(|(name, _)| name);
        if let Some(name) = name {
            // Later sizes may mention it; the caller rolls the local back.
            let local = Local { name, ty, length: None, rows: Vec::new(), is_parameter: true, cleanup: None };
            let span = self.span(node);
            let id = self.body.local(local, span);
            self.bind(name, Entity::Local(id));
        }
        let rows = declared.rows().to_vec();
        Parameter { name, node: declared.name.map_or(node, |(_, n)| n), ty, rows }
    }

    /// The type that a type name denotes: `type_descriptor`, or an expression that is one (see [`Self::is_type_expression`]).
    pub(crate) fn type_name(&mut self, node: Node<'u>) -> Type {
        let (ty, _) = self.type_name_with_length(node);
        self.refuse_lost_effects(ty, node);
        ty
    }

    /// Sizes of variable length arrays are evaluated where their type is named (C11 6.5.3.4p2, 6.7.8p3); where nothing keeps them, they must not do more
    /// than give a value.
    pub(crate) fn refuse_lost_effects(&mut self, ty: Type, node: Node<'u>) {
        if is_variably_modified(ty) && has_effect(node) {
            let what = "side effects in the size of a variable length array are not supported here";
            self.error(node, what);
            self.spoil_names(node, what);
        }
    }

    /// What is named in a text that is left out may be changed there.
    fn spoil_names(&mut self, node: Node<'u>, why: &str) {
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if node.kind() == "identifier" {
                let name = Name::new(self.text(node));
                self.dependences.spoils(name, why);
            }
            work.extend(children(node));
        }
    }

    /// Like [`Self::type_name`], with the number of innermost elements if it is a variable length array.
    pub(crate) fn type_name_with_length(&mut self, node: Node<'u>) -> (Type, Option<ExprId>) {
        self.deeper(node, |l| l.type_name_inner(node)).unwrap_or((error_type(), None))
    }

    fn type_name_inner(&mut self, node: Node<'u>) -> (Type, Option<ExprId>) {
        match node.kind() {
            "type_descriptor" | "parameter_declaration" => {
                if let Some(ty) = self.type_of_value(node) {
                    return (ty, None);
                }
                if let Some(result) = self.misread_typeof(node) {
                    return result;
                }
                let specifiers = self.specifiers(node, None);
                let base = self.retyped(node, specifiers.ty, &specifiers.attributes);
                let declared = self.declarator(field(node, "declarator"), base);
                (declared.ty, self.elements_of_name(&declared, node))
            }
            "identifier" | "type_identifier" | "primitive_type" | "sized_type_specifier" => {
                let words: Vec<&str> = self.text(node).split_whitespace().collect();
                match self.type_of_words(&words) {
                    Some(ty) => (ty, None),
                    None => {
                        self.unknown_type(node);
                        (error_type(), None)
                    }
                }
            }
            "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.type_name_with_length(inner),
                None => (error_type(), None),
            },
            // `sizeof(T[3])`, `T *` and the like: the basic type is at the innermost place.
            "subscript_expression" | "pointer_expression" | "call_expression" => {
                let (inner, outer) = innermost(node);
                let base = self.type_name(inner);
                let declared = self.declarator_without(outer, inner, base);
                (declared.ty, self.elements_of_name(&declared, node))
            }
            "sizeof_expression" => match field(node, "type").or_else(|| field(node, "value")) {
                Some(inner) => self.type_name_with_length(inner),
                None => (error_type(), None),
            },
            _ => {
                self.error(node, format!("cannot read the type `{}`", self.text(node)));
                (error_type(), None)
            }
        }
    }

    /// `sizeof(typeof(x))` and the like: here the grammar takes `typeof(…)` for a function type whose result type is
    /// named `typeof`.
    fn misread_typeof(&mut self, node: Node<'u>) -> Option<(Type, Option<ExprId>)> {
        let name = field(node, "type").filter(|t| t.kind() == "type_identifier")?;
        let is_typeof = matches!(self.text(name), marks::TYPEOF | marks::TYPEOF_UNQUAL);
        let mut inner = field(node, "declarator").filter(|_| is_typeof)?;
        let mut outer = Vec::new();
        while let Some(next) = field(inner, "declarator") {
            outer.push(inner);
            inner = next;
        }
        let list = field(inner, "parameters")?;
        let parameter = list.named_child(0)?;
        let mut base = self.typeof_operand_type(parameter);
        if self.text(name) == marks::TYPEOF_UNQUAL {
            base = base.unqualified();
        }
        let mut result = Declared::of(base);
        for node in outer {
            match node.kind() {
                "abstract_array_declarator" => self.array(&mut result, field(node, "size"), node),
                "abstract_pointer_declarator" => {
                    let qualifiers = self.qualifiers_among(node);
                    self.point(&mut result, qualifiers);
                }
                "abstract_function_declarator" => self.function(&mut result, field(node, "parameters")),
                _ => {}
            }
        }
        Some((result.ty, self.elements_of_name(&result, node)))
    }

    /// Applies the operators around `inner` to `base`, nearest first (as in the abstract declarator `T[3]`).
    fn declarator_without(&mut self, outer: Vec<Node<'u>>, inner: Node<'u>, base: Type) -> Declared<'u> {
        let mut result = Declared::of(base);
        debug_assert!(outer.iter().all(|n| n.id() != inner.id()));
        // `T[2][3]` is ((T)[2])[3]: the last subscript is the innermost dimension.
        for node in outer {
            match node.kind() {
                "subscript_expression" => self.array(&mut result, field(node, "index"), node),
                "pointer_expression" => self.point(&mut result, Qualifiers::default()),
                _ => self.function(&mut result, field(node, "arguments")),
            }
        }
        result
    }

    /// `typeof(x)` where `x` is an object's name: the grammar takes it for a type.
    fn type_of_value(&mut self, node: Node<'u>) -> Option<Type> {
        let only = node.named_child(0).filter(|_| node.named_child_count() == 1)?;
        if only.kind() != "type_identifier" || self.is_type_expression(only) {
            return None;
        }
        self.lookup(self.text(only)).and_then(|entity| self.entity_type(entity))
    }

    /// Whether a node that the grammar may have taken for an expression (or for a type) is a type here.
    pub(crate) fn is_type_expression(&self, node: Node<'u>) -> bool {
        match node.kind() {
            "type_descriptor" => field(node, "type").is_none_or(|ty| {
                ty.kind() != "type_identifier"
                    || matches!(self.text(ty), marks::TYPEOF | marks::TYPEOF_UNQUAL)
                    || self.is_type_expression(ty)
            }),
            "identifier" | "type_identifier" => {
                let text = self.text(node);
                match self.lookup(text) {
                    Some(entity) => matches!(entity, Entity::Typedef(_)),
                    None => self.type_of_words(&[text]).is_some(),
                }
            }
            "primitive_type" => {
                !matches!(self.lookup(self.text(node)), Some(e) if !matches!(e, Entity::Typedef(_)))
            }
            "sized_type_specifier"
            | "struct_specifier"
            | "union_specifier"
            | "enum_specifier"
            | "macro_type_specifier" => true,
            "parenthesized_expression" => node.named_child(0).is_some_and(|c| self.is_type_expression(c)),
            "subscript_expression" => field(node, "argument").is_some_and(|c| self.is_type_expression(c)),
            _ => false,
        }
    }
}

/// The operand at the bottom of subscripts and calls, and the operators around it from the outermost inwards.
fn innermost<'u>(node: Node<'u>) -> (Node<'u>, Vec<Node<'u>>) {
    let mut outer = Vec::new();
    let mut inner = node;
    loop {
        let next = match inner.kind() {
            "subscript_expression" | "pointer_expression" => field(inner, "argument"),
            "call_expression" => field(inner, "function"),
            _ => None,
        };
        match next {
            Some(next) => {
                outer.push(inner);
                inner = next;
            }
            None => return (inner, outer),
        }
    }
}

/// A parameter's type after adjustment: arrays and functions are pointers.
pub(crate) fn adjusted(ty: Type, inside_brackets: Qualifiers) -> Type {
    match ty.kind() {
        TypeKind::Array(element, _) => {
            element.qualified(ty.qualifiers()).pointer_to().qualified(inside_brackets)
        }
        TypeKind::Function(_) => ty.pointer_to(),
        _ => ty,
    }
}

/// Whether an expression's evaluation may be seen.
pub(crate) fn has_effect(node: Node<'_>) -> bool {
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        match node.kind() {
            "assignment_expression" | "update_expression" | "call_expression" | "gnu_asm_expression" => {
                return true;
            }
            "sizeof_expression" | "alignof_expression" | "offsetof_expression" => {}
            _ => work.extend(children(node)),
        }
    }
    false
}

/// Whether a type is made from an array of variable length.
fn is_variably_modified(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array(element, length) => {
            *length == ArrayLength::Variable || is_variably_modified(*element)
        }
        TypeKind::Pointer(to) => is_variably_modified(*to),
        TypeKind::Function(signature) => is_variably_modified(signature.result),
        _ => false,
    }
}

/// Locals for a definition's parameters, in order, bound in the current scope.
impl<'u> Lowerer<'u> {
    pub(crate) fn declare_parameters(&mut self, parameters: &[Parameter<'u>]) -> Vec<crate::body::LocalId> {
        let mut ids = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            let name = parameter.name.unwrap_or_else(|| parameter_name(index));
            let local = Local {
                name,
                ty: parameter.ty,
                length: None,
                rows: Vec::new(),
                is_parameter: true,
                cleanup: None,
            };
            let span = self.span(parameter.node);
            let id = self.body.local(local, span);
            if parameter.name.is_some() {
                self.bind(name, Entity::Local(id));
            }
            ids.push(id);
        }
        ids
    }
}
