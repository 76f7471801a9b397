//! Taking expressions apart.

use z3_sys::*;

use super::ast::{Ast, Decl, SortRef};
use super::{Context, Result, text};

/// The outermost shape of an expression.
pub(crate) enum Shape {
    /// A number of an integer, real or bit-vector sort, in decimal.
    Number(String),
    /// An application.
    Apply(Decl, Vec<Ast>),
    /// A de Bruijn variable.
    Variable,
    /// A quantifier: whether universal, the sorts it binds, its body. Variable 0 of the body is the last one bound.
    Quantifier(bool, Vec<SortRef>, Ast),
    /// A lambda or something we do not use.
    Other,
}

/// The shape of a sort.
pub(crate) enum SortShape {
    Bool,
    Int,
    Bits(u32),
    Float(u32, u32),
    Array(SortRef, SortRef),
    Other,
}

impl Ast {
    pub(crate) fn shape(&self) -> Result<Shape> {
        let (ctx, c) = (&self.ctx, self.ctx.raw());
        // SAFETY: a live expression.
        match unsafe { Z3_get_ast_kind(c, self.raw) } {
            AstKind::Numeral if !self.is_float() => {
                // SAFETY: a numeral; the text is copied at once.
                Ok(Shape::Number(unsafe { text(Z3_get_numeral_string(c, self.raw)) }))
            }
            AstKind::App | AstKind::Numeral => {
                // SAFETY: an application, its symbol and its arguments by index below their number.
                unsafe {
                    let app = ctx.got(Z3_to_app(c, self.raw))?;
                    let decl = Decl::checked(ctx, Z3_get_app_decl(c, app))?;
                    let args = (0..Z3_get_app_num_args(c, app))
                        .map(|i| Ast::checked(ctx, Z3_get_app_arg(c, app, i)));
                    Ok(Shape::Apply(decl, args.collect::<Result<Vec<Ast>>>()?))
                }
            }
            AstKind::Var => Ok(Shape::Variable),
            AstKind::Quantifier => {
                // SAFETY: a quantifier; bound sorts by index below their number.
                unsafe {
                    if Z3_is_lambda(c, self.raw) {
                        return Ok(Shape::Other);
                    }
                    let sorts = (0..Z3_get_quantifier_num_bound(c, self.raw))
                        .map(|i| SortRef::checked(ctx, Z3_get_quantifier_bound_sort(c, self.raw, i)))
                        .collect::<Result<Vec<SortRef>>>()?;
                    let body = Ast::checked(ctx, Z3_get_quantifier_body(c, self.raw))?;
                    Ok(Shape::Quantifier(Z3_is_quantifier_forall(c, self.raw), sorts, body))
                }
            }
            _ => Ok(Shape::Other),
        }
    }

    pub(crate) fn sort(&self) -> Result<SortRef> {
        // SAFETY: a live expression.
        SortRef::checked(&self.ctx, unsafe { Z3_get_sort(self.ctx.raw(), self.raw) })
    }

    fn is_float(&self) -> bool {
        // SAFETY: a live expression and its sort.
        self.sort().is_ok_and(|s| unsafe { Z3_get_sort_kind(s.ctx.raw(), s.raw) } == SortKind::FloatingPoint)
    }

    /// Whether it is the floating-point constant NaN.
    pub(crate) fn is_nan(&self) -> bool {
        // SAFETY: a live expression.
        unsafe { Z3_fpa_is_numeral_nan(self.ctx.raw(), self.raw) }
    }
}

impl SortRef {
    pub(crate) fn shape(&self) -> Result<SortShape> {
        let (ctx, c) = (&self.ctx, self.ctx.raw());
        // SAFETY: a live sort, asked only for what its kind has.
        unsafe {
            Ok(match Z3_get_sort_kind(c, self.raw) {
                SortKind::Bool => SortShape::Bool,
                SortKind::Int => SortShape::Int,
                SortKind::Bv => SortShape::Bits(Z3_get_bv_sort_size(c, self.raw)),
                SortKind::FloatingPoint => {
                    SortShape::Float(Z3_fpa_get_ebits(c, self.raw), Z3_fpa_get_sbits(c, self.raw))
                }
                SortKind::Array if Z3_get_array_arity(c, self.raw) == 1 => SortShape::Array(
                    SortRef::checked(ctx, Z3_get_array_sort_domain(c, self.raw))?,
                    SortRef::checked(ctx, Z3_get_array_sort_range(c, self.raw))?,
                ),
                _ => SortShape::Other,
            })
        }
    }
}

impl Decl {
    pub(crate) fn kind(&self) -> DeclKind {
        // SAFETY: a live symbol. Z3 and `z3-sys` agree on the numbers: `check_library` refuses other versions.
        unsafe { Z3_get_decl_kind(self.ctx.raw(), self.raw) }
    }

    /// Whether it belongs to the theory of floating-point numbers.
    pub(crate) fn is_float(&self) -> bool {
        (DeclKind::FpaRmNearestTiesToEven as u32..=DeclKind::FpaBv2rm as u32).contains(&(self.kind() as u32))
    }

    /// Its name; a numbered name is written `k!` and the number, as Z3 prints it.
    pub(crate) fn name(&self) -> Result<String> {
        let c = self.ctx.raw();
        // SAFETY: a live symbol and its name.
        unsafe {
            let symbol = self.ctx.got(Z3_get_decl_name(c, self.raw))?;
            Ok(match Z3_get_symbol_kind(c, symbol) {
                SymbolKind::Int => format!("k!{}", Z3_get_symbol_int(c, symbol)),
                SymbolKind::String => text(Z3_get_symbol_string(c, symbol)),
            })
        }
    }

    /// Integer parameter `i` (bounds of `extract`, widths).
    pub(crate) fn parameter(&self, i: u32) -> Option<u32> {
        let c = self.ctx.raw();
        // SAFETY: a live symbol; the parameter exists and is an integer.
        unsafe {
            let present = i < Z3_get_decl_num_parameters(c, self.raw);
            let integer = present && Z3_get_decl_parameter_kind(c, self.raw, i) == ParameterKind::Int;
            integer.then(|| Z3_get_decl_int_parameter(c, self.raw, i)).and_then(|v| u32::try_from(v).ok())
        }
    }
}

/// Reads a vector of expressions and gives its reference back.
pub(super) fn vector(ctx: &Context, raw: Option<Z3_ast_vector>) -> Result<Vec<Ast>> {
    let raw = ctx.got(raw)?;
    // SAFETY: a live vector, referenced while it is read, by index below its size.
    unsafe {
        Z3_ast_vector_inc_ref(ctx.raw(), raw);
        let all = (0..Z3_ast_vector_size(ctx.raw(), raw))
            .map(|i| Ast::checked(ctx, Z3_ast_vector_get(ctx.raw(), raw, i)))
            .collect();
        Z3_ast_vector_dec_ref(ctx.raw(), raw);
        all
    }
}
