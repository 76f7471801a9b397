//! The C interface of Z3, made safe: reference counts, null pointers and error codes become Rust values. Knows nothing
//! of our terms. We use `z3-sys` directly because the `z3` crate ties every object to one context per thread and
//! panics where Z3 reports an error; here each job owns its context (so that an answer does not depend on what ran
//! before on that thread) and errors are values.
//!
//! Safety of every block in these files: a pointer handed to Z3 comes from a wrapper below, which holds a reference
//! count on it, and belongs to the same context, which the wrapper keeps alive (`Context::owns` asserts the latter).
#![expect(unsafe_code, reason = "the only door to the C library")]

mod ast;
mod fixedpoint;
mod inspect;
mod solver;

use std::ffi::{CStr, CString};
use std::rc::Rc;

use z3_sys::{
    Z3_context, Z3_del_config, Z3_del_context, Z3_get_error_code, Z3_get_error_msg, Z3_get_full_version,
    Z3_get_version, Z3_interrupt, Z3_mk_config, Z3_mk_context_rc, Z3_mk_params, Z3_mk_string_symbol,
    Z3_params, Z3_params_dec_ref, Z3_params_inc_ref, Z3_params_set_bool, Z3_params_set_symbol,
    Z3_params_set_uint, Z3_set_error_handler, Z3_symbol,
};

pub(crate) use ast::{Ast, Decl, FloatSource, SortRef};
pub(crate) use fixedpoint::Fixedpoint;
pub(crate) use inspect::{Shape, SortShape};
pub(crate) use solver::{Model, Solver};
pub(crate) use z3_sys::DeclKind;

/// What Z3 said went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("Z3: {0}")]
pub(crate) struct Error(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Outcome of a decision procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Yes,
    No,
    Unknown,
}

impl Answer {
    fn of(value: z3_sys::Z3_lbool) -> Answer {
        match value {
            z3_sys::Z3_L_TRUE => Answer::Yes,
            z3_sys::Z3_L_FALSE => Answer::No,
            _ => Answer::Unknown,
        }
    }
}

struct Owned(Z3_context);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `Context::new`, dropped once, after every wrapper that shares it.
        unsafe { Z3_del_context(self.0) }
    }
}

/// A context: everything else belongs to one. Not shared between threads.
#[derive(Clone)]
pub(crate) struct Context(Rc<Owned>);

/// A context as another thread may see it: something to interrupt, while it is registered.
pub(crate) struct Target(Z3_context);

// SAFETY: `Z3_interrupt` is the one call Z3 documents as safe from other threads, and the only one `Target` offers;
// the registry of `Interrupter` removes the target before the context can go away.
unsafe impl Send for Target {}

impl Target {
    pub(crate) fn interrupt(&self) {
        // SAFETY: see the `Send` implementation.
        unsafe { Z3_interrupt(self.0) }
    }
}

impl Context {
    /// A fresh context with reference counting and no error handler.
    ///
    /// # Panics
    /// If Z3 cannot allocate.
    pub(crate) fn new() -> Context {
        // SAFETY: a configuration is made, used and freed here.
        let raw = unsafe {
            let config = Z3_mk_config().expect("Z3 allocates a configuration");
            let raw = Z3_mk_context_rc(config).expect("Z3 allocates a context");
            Z3_del_config(config);
            Z3_set_error_handler(raw, None);
            raw
        };
        Context(Rc::new(Owned(raw)))
    }

    fn raw(&self) -> Z3_context {
        self.0.0
    }

    pub(crate) fn target(&self) -> Target {
        Target(self.raw())
    }

    fn owns(&self, other: &Context) {
        assert!(Rc::ptr_eq(&self.0, &other.0), "objects of two Z3 contexts were mixed");
    }

    /// The error of the last call, if it failed.
    fn error(&self) -> Option<Error> {
        // SAFETY: the context is alive.
        let code = unsafe { Z3_get_error_code(self.raw()) };
        if code == z3_sys::ErrorCode::Ok {
            return None;
        }
        // SAFETY: the message is a C string that Z3 owns; it is copied at once.
        let message = unsafe { text(Z3_get_error_msg(self.raw(), code)) };
        Some(Error(message))
    }

    /// What a call returned, or why it returned nothing.
    fn got<T>(&self, value: Option<T>) -> Result<T> {
        match (self.error(), value) {
            (None, Some(value)) => Ok(value),
            (Some(error), _) => Err(error),
            (None, None) => Err(Error("no result".into())),
        }
    }

    /// The resource limit of calls that have no parameter for it (the fixed-point engine); 0 is none.
    pub(super) fn limit_resources(&self, units: u32) {
        let units = c_string(&units.to_string());
        // SAFETY: a live context, two C strings that Z3 copies.
        unsafe { z3_sys::Z3_update_param_value(self.raw(), c"rlimit".as_ptr(), units.as_ptr()) }
    }

    fn symbol(&self, name: &str) -> Z3_symbol {
        let name = c_string(name);
        // SAFETY: Z3 copies the text; symbols live as long as the context.
        unsafe { Z3_mk_string_symbol(self.raw(), name.as_ptr()) }.expect("Z3 makes a symbol")
    }
}

/// A C string; a NUL inside (which no name of ours has) ends it.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Copies a C string.
///
/// # Safety
/// `raw` is null or a C string.
unsafe fn text(raw: *const std::ffi::c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: by the contract of this function.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
}

/// Parameters of a solver, tactic or fixed-point engine.
pub(crate) struct Params {
    ctx: Context,
    raw: Z3_params,
}

impl Params {
    pub(crate) fn new(ctx: &Context) -> Params {
        // SAFETY: a new object gets its reference at once.
        let raw = unsafe {
            let raw = Z3_mk_params(ctx.raw()).expect("Z3 makes parameters");
            Z3_params_inc_ref(ctx.raw(), raw);
            raw
        };
        Params { ctx: ctx.clone(), raw }
    }

    #[must_use]
    pub(crate) fn flag(self, name: &str, value: bool) -> Params {
        // SAFETY: live parameters and symbol of one context.
        unsafe { Z3_params_set_bool(self.ctx.raw(), self.raw, self.ctx.symbol(name), value) };
        self
    }

    #[must_use]
    pub(crate) fn number(self, name: &str, value: u32) -> Params {
        // SAFETY: live parameters and symbol of one context.
        unsafe { Z3_params_set_uint(self.ctx.raw(), self.raw, self.ctx.symbol(name), value) };
        self
    }

    #[must_use]
    pub(crate) fn word(self, name: &str, value: &str) -> Params {
        // SAFETY: live parameters and symbols of one context.
        unsafe {
            Z3_params_set_symbol(self.ctx.raw(), self.raw, self.ctx.symbol(name), self.ctx.symbol(value))
        };
        self
    }
}

impl Drop for Params {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken in `new`.
        unsafe { Z3_params_dec_ref(self.ctx.raw(), self.raw) }
    }
}

/// Major, minor, build, revision; and the library's own words.
pub(crate) fn version() -> ([u32; 4], String) {
    let mut v = [0u32; 4];
    let [major, minor, build, revision] = &mut v;
    // SAFETY: four live integers; the returned text is static.
    let full = unsafe {
        Z3_get_version(major, minor, build, revision);
        text(Z3_get_full_version())
    };
    (v, full)
}

/// Sets a parameter of the whole library.
pub(crate) fn global(name: &str, value: &str) {
    let (name, value) = (c_string(name), c_string(value));
    // SAFETY: two C strings, copied by Z3.
    unsafe { z3_sys::Z3_global_param_set(name.as_ptr(), value.as_ptr()) }
}
