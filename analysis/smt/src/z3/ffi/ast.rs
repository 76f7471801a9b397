//! Making expressions, sorts and function symbols.

use std::hash::{Hash, Hasher};

use z3_sys::*;

use super::{Context, Result, c_string};

/// An expression.
pub(crate) struct Ast {
    pub(super) ctx: Context,
    pub(super) raw: Z3_ast,
}

/// A sort.
pub(crate) struct SortRef {
    pub(super) ctx: Context,
    pub(super) raw: Z3_sort,
}

/// A function symbol.
pub(crate) struct Decl {
    pub(super) ctx: Context,
    pub(super) raw: Z3_func_decl,
}

macro_rules! counted {
    ($name:ident, $raw:ty, $to_ast:expr) => {
        impl $name {
            pub(super) fn wrap(ctx: &Context, raw: $raw) -> $name {
                // SAFETY: `raw` was just returned by Z3 for this context.
                unsafe { Z3_inc_ref(ctx.raw(), $to_ast(ctx.raw(), raw)) };
                $name { ctx: ctx.clone(), raw }
            }

            pub(super) fn checked(ctx: &Context, raw: Option<$raw>) -> Result<$name> {
                match raw {
                    // Z3 never returns an object together with an error.
                    Some(raw) => Ok($name::wrap(ctx, raw)),
                    None => ctx.got(None),
                }
            }
        }

        impl Clone for $name {
            fn clone(&self) -> $name {
                $name::wrap(&self.ctx, self.raw)
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: gives back the reference taken in `wrap`.
                unsafe { Z3_dec_ref(self.ctx.raw(), $to_ast(self.ctx.raw(), self.raw)) }
            }
        }

        impl PartialEq for $name {
            /// Z3 shares equal expressions, so identity is equality.
            fn eq(&self, other: &$name) -> bool {
                self.raw == other.raw
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.raw.hash(state);
            }
        }
    };
}

unsafe fn same(_: Z3_context, ast: Z3_ast) -> Z3_ast {
    ast
}

unsafe fn sort_ast(ctx: Z3_context, sort: Z3_sort) -> Z3_ast {
    // SAFETY: an upcast of a live object.
    unsafe { Z3_sort_to_ast(ctx, sort) }.expect("a sort is an expression")
}

unsafe fn decl_ast(ctx: Z3_context, decl: Z3_func_decl) -> Z3_ast {
    // SAFETY: an upcast of a live object.
    unsafe { Z3_func_decl_to_ast(ctx, decl) }.expect("a function symbol is an expression")
}

counted!(Ast, Z3_ast, same);
counted!(SortRef, Z3_sort, sort_ast);
counted!(Decl, Z3_func_decl, decl_ast);

fn count(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 arguments")
}

impl SortRef {
    pub(crate) fn bool(ctx: &Context) -> SortRef {
        // SAFETY: a live context.
        SortRef::wrap(ctx, unsafe { Z3_mk_bool_sort(ctx.raw()) }.expect("Bool"))
    }

    pub(crate) fn int(ctx: &Context) -> SortRef {
        // SAFETY: a live context.
        SortRef::wrap(ctx, unsafe { Z3_mk_int_sort(ctx.raw()) }.expect("Int"))
    }

    pub(crate) fn bits(ctx: &Context, width: u32) -> Result<SortRef> {
        // SAFETY: a live context.
        SortRef::checked(ctx, unsafe { Z3_mk_bv_sort(ctx.raw(), width) })
    }

    pub(crate) fn float(ctx: &Context, exponent: u32, significand: u32) -> Result<SortRef> {
        // SAFETY: a live context.
        SortRef::checked(ctx, unsafe { Z3_mk_fpa_sort(ctx.raw(), exponent, significand) })
    }

    pub(crate) fn array(index: &SortRef, element: &SortRef) -> Result<SortRef> {
        let ctx = &index.ctx;
        ctx.owns(&element.ctx);
        // SAFETY: live sorts of one context.
        SortRef::checked(ctx, unsafe { Z3_mk_array_sort(ctx.raw(), index.raw, element.raw) })
    }
}

impl Decl {
    /// A function symbol; with no parameters, a constant.
    pub(crate) fn new(ctx: &Context, name: &str, params: &[SortRef], result: &SortRef) -> Result<Decl> {
        let raw: Vec<Z3_sort> = params.iter().map(|s| s.raw).collect();
        for s in params {
            ctx.owns(&s.ctx);
        }
        ctx.owns(&result.ctx);
        // SAFETY: live sorts of one context; Z3 copies the array.
        let decl = unsafe {
            Z3_mk_func_decl(ctx.raw(), ctx.symbol(name), count(raw.len()), raw.as_ptr(), result.raw)
        };
        Decl::checked(ctx, decl)
    }

    pub(crate) fn apply(&self, args: &[Ast]) -> Result<Ast> {
        let raw = raws(&self.ctx, args);
        // SAFETY: live expressions of one context.
        Ast::checked(&self.ctx, unsafe {
            Z3_mk_app(self.ctx.raw(), self.raw, count(raw.len()), raw.as_ptr())
        })
    }
}

pub(super) fn raws(ctx: &Context, args: &[Ast]) -> Vec<Z3_ast> {
    for a in args {
        ctx.owns(&a.ctx);
    }
    args.iter().map(|a| a.raw).collect()
}

macro_rules! operators {
    (unary: $($u:ident = $uf:ident),*; binary: $($b:ident = $bf:ident),*; many: $($m:ident = $mf:ident),*;
     rounded: $($r:ident = $rf:ident),*; indexed: $($i:ident = $if:ident),*;) => {
        impl Ast {
            $(pub(crate) fn $u(a: &Ast) -> Result<Ast> {
                // SAFETY: a live expression.
                Ast::checked(&a.ctx, unsafe { $uf(a.ctx.raw(), a.raw) })
            })*
            $(pub(crate) fn $b(a: &Ast, b: &Ast) -> Result<Ast> {
                a.ctx.owns(&b.ctx);
                // SAFETY: live expressions of one context.
                Ast::checked(&a.ctx, unsafe { $bf(a.ctx.raw(), a.raw, b.raw) })
            })*
            $(pub(crate) fn $m(ctx: &Context, args: &[Ast]) -> Result<Ast> {
                let raw = raws(ctx, args);
                // SAFETY: live expressions of one context; Z3 copies the array.
                Ast::checked(ctx, unsafe { $mf(ctx.raw(), count(raw.len()), raw.as_ptr()) })
            })*
            $(pub(crate) fn $r(mode: &Ast, a: &Ast, b: &Ast) -> Result<Ast> {
                mode.ctx.owns(&a.ctx);
                a.ctx.owns(&b.ctx);
                // SAFETY: live expressions of one context.
                Ast::checked(&a.ctx, unsafe { $rf(a.ctx.raw(), mode.raw, a.raw, b.raw) })
            })*
            $(pub(crate) fn $i(by: u32, a: &Ast) -> Result<Ast> {
                // SAFETY: a live expression.
                Ast::checked(&a.ctx, unsafe { $if(a.ctx.raw(), by, a.raw) })
            })*
        }
    };
}

operators! {
    unary: not = Z3_mk_not, bvnot = Z3_mk_bvnot, fp_neg = Z3_mk_fpa_neg, fp_abs = Z3_mk_fpa_abs,
        fp_is_nan = Z3_mk_fpa_is_nan, fp_is_infinite = Z3_mk_fpa_is_infinite, fp_is_zero = Z3_mk_fpa_is_zero,
        fp_is_negative = Z3_mk_fpa_is_negative, fp_bits = Z3_mk_fpa_to_ieee_bv, simplify = Z3_simplify;
    binary: eq = Z3_mk_eq, div = Z3_mk_div, modulo = Z3_mk_mod, le = Z3_mk_le, implies = Z3_mk_implies,
        bvand = Z3_mk_bvand, bvor = Z3_mk_bvor, bvxor = Z3_mk_bvxor, bvadd = Z3_mk_bvadd, bvmul = Z3_mk_bvmul,
        bvudiv = Z3_mk_bvudiv, bvurem = Z3_mk_bvurem, bvsdiv = Z3_mk_bvsdiv, bvsrem = Z3_mk_bvsrem,
        bvshl = Z3_mk_bvshl, bvlshr = Z3_mk_bvlshr, bvashr = Z3_mk_bvashr, bvule = Z3_mk_bvule,
        bvsle = Z3_mk_bvsle, concat = Z3_mk_concat, select = Z3_mk_select,
        fp_rem = Z3_mk_fpa_rem, fp_eq = Z3_mk_fpa_eq, fp_lt = Z3_mk_fpa_lt, fp_le = Z3_mk_fpa_leq,
        fp_sqrt = Z3_mk_fpa_sqrt, fp_round = Z3_mk_fpa_round_to_integral;
    many: and = Z3_mk_and, or = Z3_mk_or, add = Z3_mk_add, mul = Z3_mk_mul;
    rounded: ite = Z3_mk_ite, store = Z3_mk_store,
        fp_add = Z3_mk_fpa_add, fp_sub = Z3_mk_fpa_sub, fp_mul = Z3_mk_fpa_mul, fp_div = Z3_mk_fpa_div;
    indexed: zero_extend = Z3_mk_zero_ext, sign_extend = Z3_mk_sign_ext, int_to_bv = Z3_mk_int2bv;
}

impl Ast {
    pub(crate) fn truth(ctx: &Context, value: bool) -> Ast {
        // SAFETY: a live context.
        let raw = unsafe { if value { Z3_mk_true(ctx.raw()) } else { Z3_mk_false(ctx.raw()) } };
        Ast::wrap(ctx, raw.expect("truth values"))
    }

    /// A number of an integer or bit-vector sort from its decimal digits.
    pub(crate) fn number(digits: &str, sort: &SortRef) -> Result<Ast> {
        let text = c_string(digits);
        // SAFETY: a C string and a live sort.
        Ast::checked(&sort.ctx, unsafe { Z3_mk_numeral(sort.ctx.raw(), text.as_ptr(), sort.raw) })
    }

    pub(crate) fn extract(high: u32, low: u32, a: &Ast) -> Result<Ast> {
        // SAFETY: a live expression.
        Ast::checked(&a.ctx, unsafe { Z3_mk_extract(a.ctx.raw(), high, low, a.raw) })
    }

    pub(crate) fn bv_to_int(a: &Ast) -> Result<Ast> {
        // SAFETY: a live expression.
        Ast::checked(&a.ctx, unsafe { Z3_mk_bv2int(a.ctx.raw(), a.raw, false) })
    }

    pub(crate) fn const_array(index: &SortRef, element: &Ast) -> Result<Ast> {
        index.ctx.owns(&element.ctx);
        // SAFETY: live objects of one context.
        Ast::checked(&index.ctx, unsafe { Z3_mk_const_array(index.ctx.raw(), index.raw, element.raw) })
    }

    /// Quantifies over constants (applications of function symbols without parameters).
    pub(crate) fn quantify(universal: bool, bound: &[Ast], body: &Ast) -> Result<Ast> {
        let ctx = &body.ctx;
        for b in bound {
            ctx.owns(&b.ctx);
        }
        let apps: Option<Vec<Z3_app>> = bound
            .iter()
            // SAFETY: a live expression; null if it is no application.
            .map(|b| unsafe { Z3_to_app(ctx.raw(), b.raw) })
            .collect();
        let apps = ctx.got(apps)?;
        // SAFETY: live expressions of one context; no patterns.
        let raw = unsafe {
            Z3_mk_quantifier_const(
                ctx.raw(),
                universal,
                0,
                count(apps.len()),
                apps.as_ptr(),
                0,
                std::ptr::null(),
                body.raw,
            )
        };
        Ast::checked(ctx, raw)
    }

    /// The rounding mode of this SMT-LIB name.
    pub(crate) fn rounding(ctx: &Context, name: &str) -> Result<Ast> {
        // SAFETY: a live context.
        let raw = unsafe {
            match name {
                "RNE" => Z3_mk_fpa_rne(ctx.raw()),
                "RNA" => Z3_mk_fpa_rna(ctx.raw()),
                "RTP" => Z3_mk_fpa_rtp(ctx.raw()),
                "RTN" => Z3_mk_fpa_rtn(ctx.raw()),
                _ => Z3_mk_fpa_rtz(ctx.raw()),
            }
        };
        Ast::checked(ctx, raw)
    }

    /// Conversions into a floating-point sort; `mode` is absent for reinterpreting bits.
    pub(crate) fn to_float(from: FloatSource, mode: Option<&Ast>, a: &Ast, sort: &SortRef) -> Result<Ast> {
        let ctx = &a.ctx;
        ctx.owns(&sort.ctx);
        // SAFETY: live objects of one context.
        let raw = unsafe {
            match (from, mode) {
                (FloatSource::Float, Some(m)) => Z3_mk_fpa_to_fp_float(ctx.raw(), m.raw, a.raw, sort.raw),
                (FloatSource::Signed, Some(m)) => Z3_mk_fpa_to_fp_signed(ctx.raw(), m.raw, a.raw, sort.raw),
                (FloatSource::Unsigned, Some(m)) => {
                    Z3_mk_fpa_to_fp_unsigned(ctx.raw(), m.raw, a.raw, sort.raw)
                }
                (FloatSource::Bits, _) | (_, None) => Z3_mk_fpa_to_fp_bv(ctx.raw(), a.raw, sort.raw),
            }
        };
        Ast::checked(ctx, raw)
    }

    /// Conversion of a floating-point number to bits of an integer.
    pub(crate) fn float_to_bits(signed: bool, mode: &Ast, a: &Ast, width: u32) -> Result<Ast> {
        mode.ctx.owns(&a.ctx);
        // SAFETY: live objects of one context.
        let raw = unsafe {
            if signed {
                Z3_mk_fpa_to_sbv(a.ctx.raw(), mode.raw, a.raw, width)
            } else {
                Z3_mk_fpa_to_ubv(a.ctx.raw(), mode.raw, a.raw, width)
            }
        };
        Ast::checked(&a.ctx, raw)
    }

    /// Replaces the free de Bruijn variable `i` by `to[i]`.
    pub(crate) fn instantiate(&self, to: &[Ast]) -> Result<Ast> {
        let raw = raws(&self.ctx, to);
        // SAFETY: live expressions of one context.
        let raw = unsafe { Z3_substitute_vars(self.ctx.raw(), self.raw, count(raw.len()), raw.as_ptr()) };
        Ast::checked(&self.ctx, raw)
    }
}

/// What a floating-point number is made from.
#[derive(Clone, Copy)]
pub(crate) enum FloatSource {
    Float,
    Signed,
    Unsigned,
    Bits,
}
