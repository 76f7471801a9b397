//! gcc's builtin functions: which become operators, which become library functions, which stay calls by their own
//! name with the right types. A builtin that is not known is a call with a result of unknown type, and reported.
//!
//! What stays a call: `__builtin_unreachable`, `__builtin_trap`, `__builtin_va_start/end/copy` (with the address of
//! the list), the `_overflow` family (arguments of their own types), bit counting, atomics other than plain loads and
//! stores (values converted to the object's type), classification of floating values, prefetching (as evaluation only).

mod atomic;
mod library;

use proofline_float::{Float, Format};
use proofline_syntax::Span;
use tree_sitter::Node;

use super::{
    Lowerer,
    convert::{compatible, float_rank},
    declarator::has_effect,
    error_type,
};
use crate::{
    Name,
    body::{ExprId, ExprKind},
    consteval,
    types::{FloatKind, IntKind, Signature, Type, TypeKind},
};

/// Whether the name is in the implementation's space for builtins.
pub(crate) fn is_builtin_name(name: &str) -> bool {
    name.starts_with("__builtin_") || name.starts_with("__sync_") || name.starts_with("__atomic_")
}

impl<'u> Lowerer<'u> {
    /// A call of a builtin.
    pub(crate) fn builtin_call(
        &mut self,
        name: &str,
        arguments: &[Node<'u>],
        node: Node<'u>,
        span: Span,
    ) -> Option<ExprId> {
        if let Some(short) = name.strip_prefix("__builtin_") {
            if let Some(id) = self.operator_builtin(short, arguments, node, span) {
                return Some(id);
            }
            if let Some(id) = self.typed_builtin(name, short, arguments, span) {
                return Some(id);
            }
            if let Some((function, dropped)) = library::checked(short) {
                let kept: Vec<Node<'u>> = arguments
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !dropped.contains(i))
                    .map(|(_, a)| *a)
                    .collect();
                return self.library_call(function, &kept, span);
            }
            if let Some(id) = self.library_call(short, arguments, span) {
                return Some(id);
            }
        } else if let Some(id) = self.atomic_call(name, arguments, span) {
            return Some(id);
        }
        if self.lookup(name).is_some() {
            return None;
        }
        if !name.starts_with("__builtin_ia32_") {
            self.error(node, format!("the builtin `{name}` is not known"));
        }
        Some(self.own_call(name, error_type(), arguments, span))
    }

    /// The library function that a name without declaration denotes: `__builtin_memcpy`, or `memcpy` itself.
    pub(crate) fn builtin_function(&mut self, name: &str) -> Option<(Name, Type)> {
        let library_name = name.strip_prefix("__builtin_").unwrap_or(name);
        if let Some(super::Entity::Function(known)) = self.lookup(library_name) {
            return Some((known, self.function_type(known)?));
        }
        let signature = self.library_signature(library_name)?;
        let ty = Type::new(TypeKind::Function(signature.into()));
        let name = Name::new(library_name);
        self.declare_implicitly(name, ty, Span::new(proofline_syntax::FileId::MAIN, 0, 0));
        Some((name, ty))
    }

    fn library_call(&mut self, name: &str, arguments: &[Node<'u>], span: Span) -> Option<ExprId> {
        let name = if name.starts_with("alloca") { "alloca" } else { name };
        let arguments = if name == "alloca" { arguments.get(..1)? } else { arguments };
        let (function, ty) = self.builtin_function(name)?;
        let callee = self.body.expr(ExprKind::Function(function), ty, span);
        Some(self.called(callee, arguments, span))
    }

    /// A call by the builtin's own name; the arguments keep their types.
    fn own_call(&mut self, name: &str, result: Type, arguments: &[Node<'u>], span: Span) -> ExprId {
        let values: Vec<ExprId> = arguments.iter().map(|a| self.value(*a)).collect();
        self.own_call_with(name, result, values, span)
    }

    fn own_call_with(&mut self, name: &str, result: Type, values: Vec<ExprId>, span: Span) -> ExprId {
        let signature = Signature { result, parameters: Vec::new(), variadic: false, unprototyped: true };
        let ty = Type::new(TypeKind::Function(signature.into()));
        let name = Name::new(name);
        if self.function_type(name).is_none() {
            self.declare_implicitly(name, ty, span);
        }
        let callee = self.body.expr(ExprKind::Function(name), ty, span);
        self.body.expr(ExprKind::Call { callee, arguments: values }, result, span)
    }

    /// A call by the builtin's own name with arguments converted to these types.
    fn converted_call(
        &mut self,
        name: &str,
        result: Type,
        parameters: &[Type],
        arguments: &[Node<'u>],
        span: Span,
    ) -> Option<ExprId> {
        if parameters.len() != arguments.len() {
            return None;
        }
        let mut values = Vec::new();
        for (argument, ty) in arguments.iter().zip(parameters) {
            let value = self.value(*argument);
            values.push(self.convert(value, *ty));
        }
        let id = self.own_call_with(name, result, values, span);
        Some(self.folded_call(id))
    }

    /// A pure builtin of a constant is a constant.
    fn folded_call(&mut self, id: ExprId) -> ExprId {
        let ExprKind::Call { arguments, .. } = self.kind_of(id) else { return id };
        let [argument] = arguments[..] else { return id };
        if !matches!(self.kind_of(argument), ExprKind::Int(_)) {
            return id;
        }
        match consteval::eval(&self.body.body, id, &self.records, self.model) {
            Some(consteval::ConstValue::Int(value)) => {
                let (ty, span) = (self.type_of(id), self.span_of(id));
                self.body.body.exprs.truncate(argument.index());
                self.body.map.exprs.truncate(argument.index());
                self.int_expr(value, ty, span)
            }
            _ => id,
        }
    }

    /// The value, after the effects of arguments that have no other use. (C leaves open which comes first.)
    fn after_effects(&mut self, hints: &[Node<'u>], value: ExprId) -> ExprId {
        let effects: Vec<ExprId> =
            hints.iter().filter(|hint| has_effect(**hint)).map(|hint| self.discarded(*hint)).collect();
        effects.into_iter().rev().fold(value, |value, effect| {
            let span = self.span_of(effect).to(self.span_of(value));
            let ty = self.type_of(value);
            self.body.expr(ExprKind::Comma(effect, value), ty, span)
        })
    }

    /// Builtins that are operators rather than functions.
    fn operator_builtin(
        &mut self,
        short: &str,
        arguments: &[Node<'u>],
        node: Node<'u>,
        span: Span,
    ) -> Option<ExprId> {
        let int = |kind| Type::new(TypeKind::Int(kind));
        Some(match (short, arguments) {
            ("expect" | "expect_with_probability", [value, hints @ ..]) => {
                let value = self.value(*value);
                let value = self.convert(value, int(IntKind::Long));
                self.after_effects(hints, value)
            }
            ("assume_aligned", [pointer, hints @ ..]) => {
                let value = self.value(*pointer);
                let value = self.convert(value, Type::void().pointer_to());
                self.after_effects(hints, value)
            }
            ("speculation_safe_value" | "extract_return_addr", [value, ..]) => self.value(*value),
            // Whatever a compiler could still find out: without optimisation this is the answer.
            ("constant_p", [value]) => {
                let checkpoint = self.body.checkpoint();
                let id = self.value(*value);
                let known = consteval::eval(&self.body.body, id, &self.records, self.model);
                self.body.roll_back(checkpoint);
                let is_constant = match known {
                    Some(consteval::ConstValue::Int(_) | consteval::ConstValue::Float(_)) => true,
                    Some(consteval::ConstValue::Address { object, offset }) => {
                        object.starts_with('"') && offset == 0
                    }
                    Some(consteval::ConstValue::Function(_)) | None => false,
                };
                self.int_expr(i128::from(is_constant), Type::int(), span)
            }
            ("choose_expr", [condition, yes, no]) => match self.const_int(*condition) {
                Some(value) => self.expr(if value != 0 { *yes } else { *no }),
                None => self.failed(*condition, "`__builtin_choose_expr` needs a constant condition"),
            },
            ("types_compatible_p", [left, right]) => {
                let (left, right) = (self.type_name(*left), self.type_name(*right));
                let same = compatible(left.unqualified(), right.unqualified());
                self.int_expr(i128::from(same), Type::int(), span)
            }
            ("offsetof", [ty, member]) => {
                let ty = self.type_name(*ty);
                self.offset_of(ty, *member, node)
            }
            ("va_arg", [list, ty]) => {
                let list = self.expr(*list);
                let ty = self.type_name(*ty).unqualified();
                self.body.expr(ExprKind::VaArg(list), ty, span)
            }
            ("convertvector", [value, ty]) => {
                let value = self.value(*value);
                let ty = self.type_name(*ty).unqualified();
                self.unmodelled("a vector conversion", vec![value], ty, span)
            }
            ("va_start" | "va_end" | "va_copy" | "c23_va_start", [_, ..]) => {
                let count = if short == "va_copy" { 2 } else { 1 };
                let lists: Vec<ExprId> =
                    arguments.iter().take(count).map(|a| self.list_address(*a)).collect();
                let name = if short == "c23_va_start" { "va_start" } else { short };
                self.own_call_with(&format!("__builtin_{name}"), Type::void(), lists, span)
            }
            // How much of it the compiler finds out is up to the compiler.
            ("object_size" | "dynamic_object_size", [_, _]) => {
                let size = self.size_type();
                self.unmodelled("the size of an object that the compiler finds out", Vec::new(), size, span)
            }
            ("return_address" | "frame_address", [_]) => {
                self.unmodelled("an address in the call stack", Vec::new(), Type::void().pointer_to(), span)
            }
            ("prefetch", [pointer, ..]) => {
                let value = self.value(*pointer);
                self.convert(value, Type::void())
            }
            ("classify_type", [value]) => {
                let checkpoint = self.body.checkpoint();
                let id = self.value(*value);
                let ty = self.type_of(id);
                self.body.roll_back(checkpoint);
                let class = self.type_class(ty);
                self.int_expr(class, Type::int(), span)
            }
            ("complex", [real, imaginary]) => {
                let (real, imaginary) = (self.value(*real), self.value(*imaginary));
                let kind = match self.type_of(real).kind() {
                    TypeKind::Float(kind) => *kind,
                    _ => FloatKind::Double,
                };
                let ty = Type::new(TypeKind::Complex(kind));
                self.unmodelled("a complex value", vec![real, imaginary], ty, span)
            }
            ("shuffle" | "shufflevector", [_, ..]) => {
                let values: Vec<ExprId> = arguments.iter().map(|a| self.value(*a)).collect();
                let ty = self.type_of(values[0]);
                self.unmodelled("vector arithmetic", values, ty, span)
            }
            // In inline functions of the C library's headers: what the caller passed behind the named arguments.
            ("va_arg_pack" | "va_arg_pack_len", []) => {
                self.unmodelled("the variable arguments of the caller", Vec::new(), Type::int(), span)
            }
            ("tgmath", _) => return self.type_generic_call(arguments, span),
            ("LINE", []) => self.unmodelled("a line number", Vec::new(), Type::int(), span),
            ("has_attribute", _) => self.int_expr(0, Type::int(), span),
            _ => return self.float_constant(short, arguments, span),
        })
    }

    /// `__builtin_tgmath(sinf, sin, sinl, csinf, …, x)`: the function for the common type of the arguments, in which
    /// integers count as `double`.
    fn type_generic_call(&mut self, arguments: &[Node<'u>], span: Span) -> Option<ExprId> {
        let types: Vec<Type> = arguments.iter().map(|a| self.type_of_unevaluated(*a)).collect();
        let count = types.iter().take_while(|ty| matches!(ty.kind(), TypeKind::Function(_))).count();
        let (functions, values) = types.split_at(count);
        let mut kind = None;
        let mut is_complex = false;
        for ty in values {
            let own = match ty.kind() {
                TypeKind::Float(kind) => *kind,
                TypeKind::Complex(kind) => {
                    is_complex = true;
                    *kind
                }
                _ if ty.is_integer() => FloatKind::Double,
                _ => return None,
            };
            kind = Some(
                kind.map_or(own, |kind| if float_rank(own).0 > float_rank(kind).0 { own } else { kind }),
            );
        }
        let real = Type::new(TypeKind::Float(kind?));
        let complex = Type::new(TypeKind::Complex(kind?));
        let takes = |ty: &Type, wanted: Type| match ty.kind() {
            TypeKind::Function(signature) => signature.parameters.iter().any(|p| p.unqualified() == wanted),
            _ => false,
        };
        let chosen = functions
            .iter()
            .position(|f| takes(f, if is_complex { complex } else { real }))
            .or_else(|| {
                // Functions such as `creal` exist for complex numbers only.
                functions.iter().position(|f| takes(f, complex))
            })?;
        let callee = self.expr(arguments[chosen]);
        Some(self.called(callee, &arguments[count..], span))
    }

    /// The address of a `va_list` object, or the pointer itself.
    fn list_address(&mut self, node: Node<'u>) -> ExprId {
        let list = self.expr(node);
        if self.is_lvalue(list) {
            let span = self.span_of(list);
            self.address(list, span)
        } else {
            self.rvalue(list)
        }
    }

    /// `__builtin_inf()`, `__builtin_nan("")`, ….
    fn float_constant(&mut self, short: &str, arguments: &[Node<'u>], span: Span) -> Option<ExprId> {
        let (value, suffix) =
            if let Some(suffix) = short.strip_prefix("huge_val").or_else(|| short.strip_prefix("inf")) {
                (Float::infinity as fn(Format) -> Float, suffix)
            } else if let Some(suffix) = short.strip_prefix("nans").or_else(|| short.strip_prefix("nan")) {
                (Float::nan as fn(Format) -> Float, suffix)
            } else {
                return None;
            };
        let kind = match suffix {
            "" | "f64" | "f32x" => FloatKind::Double,
            "f" | "f32" => FloatKind::Float,
            "l" | "f64x" => FloatKind::LongDouble,
            "q" | "f128" => FloatKind::Float128,
            "f16" => FloatKind::Float16,
            _ => return None,
        };
        if arguments.len() > 1 {
            return None;
        }
        Some(self.body.expr(
            ExprKind::Float(value(kind.format()), true),
            Type::new(TypeKind::Float(kind)),
            span,
        ))
    }

    /// gcc's `typeclass.h`.
    fn type_class(&self, ty: Type) -> i128 {
        match ty.kind() {
            TypeKind::Void => 0,
            TypeKind::Bool | TypeKind::Int(_) | TypeKind::Enum(..) => 1,
            TypeKind::Pointer(_) | TypeKind::Array(..) | TypeKind::Function(_) => 5,
            TypeKind::Float(_) => 8,
            TypeKind::Complex(_) => 9,
            TypeKind::Record(tag) if self.records.get(tag).is_some_and(|r| r.is_union) => 13,
            TypeKind::Record(_) | TypeKind::VaList => 12,
            TypeKind::Vector(..) => 19,
            TypeKind::Error => -1,
        }
    }

    /// Builtins that stay calls and whose types are known.
    fn typed_builtin(
        &mut self,
        name: &str,
        short: &str,
        arguments: &[Node<'u>],
        span: Span,
    ) -> Option<ExprId> {
        let int = |kind| Type::new(TypeKind::Int(kind));
        if matches!(short, "unreachable" | "trap" | "assume" | "__clear_cache" | "cpu_init" | "unwind_init") {
            return Some(self.own_call(name, Type::void(), arguments, span));
        }
        if matches!(short, "cpu_is" | "cpu_supports" | "setjmp") {
            return Some(self.own_call(name, Type::int(), arguments, span));
        }
        if matches!(short, "longjmp") {
            return Some(self.own_call(name, Type::void(), arguments, span));
        }
        if short.ends_with("_overflow") || short.ends_with("_overflow_p") {
            return self.overflow_call(name, short, arguments, span);
        }
        let (unsigned, signed) = (
            [IntKind::UInt, IntKind::ULong, IntKind::ULongLong],
            [IntKind::Int, IntKind::Long, IntKind::LongLong],
        );
        for base in ["clz", "ctz", "popcount", "parity", "ffs", "clrsb"] {
            let Some(index) =
                short.strip_prefix(base).and_then(|s| ["", "l", "ll"].iter().position(|x| *x == s))
            else {
                continue;
            };
            let kind = if matches!(base, "ffs" | "clrsb") { signed[index] } else { unsigned[index] };
            return self.converted_call(name, Type::int(), &[int(kind)], arguments, span);
        }
        let swapped = match short {
            "bswap16" => Some(IntKind::UShort),
            "bswap32" => Some(IntKind::UInt),
            "bswap64" => Some(self.u64_kind()),
            "bswap128" => Some(IntKind::UInt128),
            _ => None,
        };
        if let Some(kind) = swapped {
            return self.converted_call(name, int(kind), &[int(kind)], arguments, span);
        }
        let classifies = [
            "isnan",
            "isinf",
            "isinf_sign",
            "isfinite",
            "finite",
            "isnormal",
            "signbit",
            "signbitf",
            "signbitl",
            "isgreater",
            "isgreaterequal",
            "isless",
            "islessequal",
            "islessgreater",
            "isunordered",
            "fpclassify",
            "isnanf",
            "isnanl",
            "isinff",
            "isinfl",
            "finitef",
            "finitel",
            "issignaling",
        ];
        classifies.contains(&short).then(|| self.own_call(name, Type::int(), arguments, span))
    }

    fn u64_kind(&self) -> IntKind {
        match self.model {
            proofline_syntax::DataModel::Lp64 => IntKind::ULong,
            proofline_syntax::DataModel::Ilp32 => IntKind::ULongLong,
        }
    }

    /// `__builtin_add_overflow(a, b, &r)` keeps the types of its operands; `__builtin_sadd_overflow` has its own.
    fn overflow_call(
        &mut self,
        name: &str,
        short: &str,
        arguments: &[Node<'u>],
        span: Span,
    ) -> Option<ExprId> {
        let result = Type::new(TypeKind::Bool);
        let stem = short.strip_suffix("_p").unwrap_or(short).strip_suffix("_overflow")?;
        if matches!(stem, "add" | "sub" | "mul") {
            return (arguments.len() == 3).then(|| self.own_call(name, result, arguments, span));
        }
        let (sign, rest) = stem.split_at_checked(1)?;
        let kind = match (sign, rest) {
            ("s", "add" | "sub" | "mul") => IntKind::Int,
            ("u", "add" | "sub" | "mul") => IntKind::UInt,
            ("s", "addl" | "subl" | "mull") => IntKind::Long,
            ("u", "addl" | "subl" | "mull") => IntKind::ULong,
            ("s", "addll" | "subll" | "mulll") => IntKind::LongLong,
            ("u", "addll" | "subll" | "mulll") => IntKind::ULongLong,
            _ => return None,
        };
        let ty = Type::new(TypeKind::Int(kind));
        self.converted_call(name, result, &[ty, ty, ty.pointer_to()], arguments, span)
    }
}
