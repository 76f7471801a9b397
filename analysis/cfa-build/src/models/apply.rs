//! Puts models in the place of calls.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Name, Type, TypeKind};

use super::{
    Library, Model,
    allocation::Requested,
    arguments::{fits, is_constant, pointer, pointers_from, value, with_pointers},
    callbacks, ctype,
    effect::{Bound, Characters, Effect, Factor, Outcome, Size, Table},
    emit::Emitter,
    errno, external, format, input,
    kept::{self, Kept},
    lists, long_options,
    strings::{KnownLength, behind},
    tokens::{self, Tokens},
};
use crate::{
    call_coercion::{self, Interface},
    lower::{fold, shadow},
    simplify_cfg,
};
use proofline_cfa::{
    Argument, Base, BinaryOp, Callee, Cause, CompareOp, Edge, Expr, Function, Global, IntType, Loc, LocalId,
    Lvalue, Op, Program, Quantity, Scalar, Site, Types, texts, visit,
};

/// A callback's callback's callback is not replaced.
const MAX_ROUNDS: usize = 3;

/// Whether an unknown function is called.
pub(super) fn program(program: &mut Program, library: &Library) -> bool {
    let mut calls_unknown = false;
    let gives = |is_wanted: fn(&Outcome) -> bool| {
        program.functions.values().any(|function| {
            function.edges.iter().any(|edge| {
                external_name(program, &edge.op)
                    .and_then(|name| library.model(&name))
                    .is_some_and(|model| model.result.as_ref().is_some_and(is_wanted))
            })
        })
    };
    let uses_errno = gives(|outcome| *outcome == Outcome::Errno);
    if gives(|outcome| matches!(outcome, Outcome::Token(Tokens { rest: None, .. }))) {
        let rest = tokens::rest(program);
        program.globals.insert(rest.name, Arc::new(rest));
    }
    let errno = uses_errno.then(|| Errno { may_be_negative: errno::may_be_negative(program, library) });
    if uses_errno {
        let global = errno::global();
        program.globals.insert(global.name, Arc::new(global));
    }
    let locale_may_change = ctype::locale_may_change(program, library);
    if locale_may_change {
        let locale = ctype::locale();
        program.globals.insert(locale.name, Arc::new(locale));
    }
    let mut functions = std::mem::take(&mut program.functions);
    let interfaces: BTreeMap<Name, Interface> =
        functions.iter().map(|(name, function)| (*name, Interface::of(function))).collect();
    let mut unsupported = Vec::new();
    let mut tables = BTreeSet::new();
    let mut kept =
        kept::of_calls(&functions, Types { records: &program.records, model: program.data_model }, library);
    let unchanged = long_options::unchanged(program, &functions, library);
    let printers = lists::printers(&functions, library);
    let seeing = callbacks::seeing(program, &functions, library);
    for function in functions.values_mut() {
        let is_called = |op: &Op| {
            direct(op).is_some_and(|name| !interfaces.contains_key(&name) || printers.contains_key(&name))
        };
        if !function.edges.iter().any(|edge| is_called(&edge.op)) {
            continue;
        }
        let mut changed = Function::clone(function);
        let initialised = input::initialised(&changed);
        let dead_ends = dead_ends(&changed);
        let types = Types { records: &program.records, model: program.data_model };
        let mut pass = Pass {
            emitter: Emitter::new(&mut changed, types),
            program,
            interfaces: &interfaces,
            errno,
            locale_may_change,
            unsupported: &mut unsupported,
            calls_unknown: &mut calls_unknown,
            tables: &mut tables,
            kept: &mut kept,
            unchanged: &unchanged,
            seeing: &seeing,
            lengths: Vec::new(),
            string: None,
            initialised,
            saved: Vec::new(),
            dead_ends,
        };
        for mut edge in std::mem::take(pass.emitter.edges()) {
            if let Some(printer) = direct(&edge.op).and_then(|name| printers.get(&name)) {
                pass.need_printed_by(*printer, &mut edge);
            }
            pass.emitter.edges().push(edge);
        }
        // A callback may be a library function itself.
        for _round in 0..MAX_ROUNDS {
            let mut is_done = true;
            for edge in std::mem::take(pass.emitter.edges()) {
                match direct(&edge.op).filter(|name| !interfaces.contains_key(name)) {
                    Some(name) => is_done &= !pass.replace(edge, name, library.model(&name).cloned()),
                    None => pass.emitter.edges().push(edge),
                }
            }
            if is_done {
                break;
            }
        }
        simplify_cfg::simplify(&mut changed);
        let were_in_memory: Vec<bool> = changed.locals.iter().map(|local| local.address_taken).collect();
        simplify_cfg::mark_taken(&mut changed);
        shadow::stay_in_memory(&mut changed, &were_in_memory, &|ty| types.scalar(ty).is_some());
        forget_registers(&mut changed, types);
        // What models call need not be what they expect.
        *function = call_coercion::coerce_calls(&Arc::new(changed), types, None, &|name| {
            interfaces.get(&name).map(Cow::Borrowed)
        });
    }
    program.functions = functions;
    let pointer_bytes = u64::from(program.pointer_bits() / 8);
    for global in tables.into_iter().flat_map(|table| table.globals(pointer_bytes, locale_may_change)) {
        program.globals.insert(global.name, Arc::new(global));
    }
    program.globals.extend(kept.into_iter().map(|(name, global)| (name, Arc::new(global))));
    if gives_texts(program) {
        let texts = texts::object(texts::LIBRARY);
        program.globals.insert(texts.name, Arc::new(texts));
    }
    program.unsupported.extend(unsupported);
    program.unsupported.sort_unstable();
    program.unsupported.dedup();
    calls_unknown
}

/// Whether some variable gets the address of a string that the library keeps.
fn gives_texts(program: &Program) -> bool {
    let mut edges = program.functions.values().flat_map(|function| &function.edges);
    edges.any(|edge| matches!(edge.op, Op::Havoc(_, Cause::Text(_))))
}

/// Where nothing goes on, and the function does not return.
fn dead_ends(function: &Function) -> BTreeSet<Loc> {
    let from: BTreeSet<Loc> = function.edges.iter().map(|edge| edge.from).collect();
    let ends = function.edges.iter().map(|edge| edge.to);
    ends.filter(|to| *to != function.exit && !from.contains(to)).collect()
}

fn direct(op: &Op) -> Option<Name> {
    match op.call()?.callee {
        Callee::Direct(name) => Some(name),
        Callee::Indirect(..) => None,
    }
}

pub(super) fn external_name(program: &Program, op: &Op) -> Option<Name> {
    direct(op).filter(|name| !program.functions.contains_key(name))
}

/// What is known of `errno`.
#[derive(Clone, Copy)]
struct Errno {
    may_be_negative: bool,
}

/// The pass over one function.
pub(super) struct Pass<'p, 'u> {
    pub(super) emitter: Emitter<'p>,
    pub(super) program: &'p Program,
    /// Of functions with a body.
    pub(super) interfaces: &'p BTreeMap<Name, Interface>,
    /// What is known of it, if the program reads it.
    errno: Option<Errno>,
    /// Whether a variable says which locale is set.
    pub(super) locale_may_change: bool,
    unsupported: &'u mut Vec<(Name, Name)>,
    calls_unknown: &'u mut bool,
    pub(super) tables: &'u mut BTreeSet<Table>,
    /// Records that library functions keep.
    pub(super) kept: &'u mut BTreeMap<Name, Global>,
    /// Tables of long options that keep their initial values.
    pub(super) unchanged: &'p BTreeSet<Name>,
    /// Functions that see more than what their arguments lead to.
    pub(super) seeing: &'p BTreeSet<Name>,
    /// What the call at hand has asked for.
    pub(super) lengths: Vec<KnownLength>,
    /// The argument that the call at hand writes a string or a line to.
    pub(super) string: Option<usize>,
    /// Locals that have a value from the start.
    pub(super) initialised: BTreeSet<LocalId>,
    /// Which temporaries the arguments of the call at hand were put into.
    pub(super) saved: Vec<(LocalId, Expr)>,
    /// Where calls lead that do not come back.
    dead_ends: BTreeSet<Loc>,
}

impl Pass<'_, '_> {
    /// Puts the model in the call's place; false if the call stays.
    fn replace(&mut self, edge: Edge, name: Name, model: Option<Arc<Model>>) -> bool {
        let arguments = edge.op.call().map_or(&[][..], |call| &call.arguments);
        // A function of that name that takes or gives something else is another one.
        let gives_nothing_known = edge
            .op
            .call()
            .and_then(|call| call.dst.as_ref())
            .is_some_and(|dst| matches!(dst.ty.unqualified().kind(), TypeKind::Error));
        let model = model.filter(|model| {
            !gives_nothing_known && fits(model, arguments, self.emitter.types.pointer_bits())
        });
        if let Some(model) = &model
            && model.keep
        {
            let to = if model.noreturn { self.emitter.location() } else { edge.to };
            self.emitter.edges().push(Edge { to, ..edge });
            return false;
        }
        (self.emitter.at, self.emitter.site) = (edge.from, edge.site);
        let Op::Call(call) = edge.op else { return false };
        let single = model.as_ref().is_some_and(|model| model.uses_argument_once(call.dst.is_some()));
        let arguments = match &model {
            Some(model) => with_pointers(call.arguments, model, edge.site),
            None => call.arguments,
        };
        let arguments = self.evaluate(arguments, call.dst.as_ref(), model.as_deref(), single);
        let is_whole = self.interfaces.contains_key(&Name::new("main"));
        match model {
            None => {
                *self.calls_unknown = true;
                let ty = self.program.externals.get(&name).copied();
                external::call(&mut self.emitter, self.interfaces, name, arguments, call.dst, ty);
                if self.dead_ends.contains(&edge.to) && is_whole {
                    self.emitter.demand_at_end(false);
                }
            }
            Some(model) => {
                self.effects(name, &model, &arguments, call.dst);
                if model.noreturn && is_whole {
                    self.emitter.demand_at_end(model.ends);
                }
                if model.noreturn {
                    let end = self.emitter.location();
                    self.emitter.connect(Op::Skip, end);
                    return true;
                }
            }
        }
        self.emitter.connect(Op::Skip, edge.to);
        true
    }

    /// The call passes what its format asks for.
    fn need_printed_by(&mut self, printer: lists::Printer, edge: &mut Edge) {
        (self.emitter.at, self.emitter.site) = (edge.from, edge.site);
        let arguments = edge.op.call().map_or(&[][..], |call| &call.arguments);
        self.need_printed(printer.format, printer.first, arguments);
        edge.from = self.emitter.at;
    }

    fn effects(&mut self, name: Name, model: &Model, arguments: &[Argument], dst: Option<Lvalue>) {
        let cause = if model.computed { Cause::Unmodelled(name) } else { Cause::External(name) };
        let matters = |unless: Option<usize>| {
            !unless.and_then(|at| value(arguments, at)).is_some_and(|value| is_constant(&value))
        };
        if let Some((what, unless)) = model.unsupported_program
            && matters(unless)
        {
            self.unsupported.push((self.emitter.function.name, what));
        }
        if let Some((what, unless)) = model.unsupported
            && matters(unless)
        {
            self.emitter.emit(Op::Skip);
            let here = self.emitter.at;
            self.emitter.function.unsupported.push((here, what));
        }
        self.lengths.clear();
        self.string = model.string();
        for need in &model.needs {
            self.need(need, arguments, cause);
        }
        self.emitter.exactly = exactly(model, arguments);
        for effect in &model.effects {
            self.effect(effect, arguments, cause);
        }
        if model.changes_locale {
            self.set_locale(arguments, cause);
        }
        if let Some(Errno { may_be_negative }) = self.errno
            && !model.quiet
            && !model.noreturn
        {
            self.set_errno(name, model, dst.as_ref(), may_be_negative, cause);
        }
        if let Some(print) = &model.prints {
            self.print(print, arguments, dst, cause);
            return self.emitter.exactly = None;
        }
        let result = match self.deciding(model, dst.as_ref()) {
            Some(result) => Some(result),
            None => dst.clone(),
        };
        if matches!(model.result, Some(Outcome::Text { .. })) && !model.pure {
            self.rests_on_texts(name);
        }
        match (&model.result, result.clone()) {
            (Some(Outcome::Reallocated { pointer, size, may_fail }), dst)
                if dst.as_ref().is_none_or(|dst| dst.scalar.is_some()) =>
            {
                let requested = Requested { size, on_heap: true, zeroed: false, may_fail: *may_fail };
                self.reallocate(*pointer, requested, arguments, dst, cause);
            }
            (Some(Outcome::Copy { string, within, characters, may_fail }), dst)
                if dst.as_ref().is_none_or(|dst| dst.scalar.is_some()) =>
            {
                if let Some(string) = pointer(arguments, *string) {
                    let within = within.as_ref().map(|size| self.size(size, arguments, cause));
                    self.copy_string(string, within, *characters, *may_fail, dst);
                }
            }
            // These change objects, too.
            (Some(Outcome::Filled { argument, ranges, fails }), dst) => {
                self.filled(*argument, ranges, *fails, arguments, dst, cause);
            }
            (Some(Outcome::FreshAt { place, size, may_fail }), dst) => {
                let requested = Requested { size, on_heap: true, zeroed: false, may_fail: *may_fail };
                self.allocate_at(*place, requested, arguments, dst, cause);
            }
            (Some(Outcome::Line { object, size, may_fail }), dst) => {
                self.line((*object, *size), *may_fail, arguments, dst, cause);
            }
            (Some(Outcome::Record { of, has_texts, ranges, part_of, or_null }), dst) => {
                let part_of = part_of.and_then(|at| pointer(arguments, at));
                let kept = Kept { of: *of, by: name, has_texts: *has_texts, ranges, part_of };
                self.kept_record(kept, *or_null, arguments, dst, cause);
            }
            (Some(Outcome::Token(tokens)), dst) => self.token(*tokens, arguments, dst),
            (Some(Outcome::Option(options)), dst) => self.option(*options, arguments, dst, cause),
            (outcome, Some(dst)) => self.result(outcome.as_ref(), dst, arguments, name, cause),
            // `malloc(n);`: the program cannot observe whether it failed.
            (_, None) => {}
        }
        self.emitter.exactly = None;
        for given in &model.given {
            self.give(given, arguments, result.as_ref(), cause);
        }
        if let (Some(scan), Some(result)) = (&model.scans, &result) {
            self.scan(*scan, arguments, result, cause);
        }
        if let Some(termination) = &model.terminates {
            self.terminate(termination, arguments, result.clone(), cause);
        }
        if let (Some(dst), Some(result)) = (dst, result)
            && dst != result
        {
            let value =
                fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::Load(result), self.emitter.site);
            self.emitter.emit(Op::Assign(dst, value));
        }
    }

    fn effect(&mut self, effect: &Effect, arguments: &[Argument], cause: Cause) {
        match effect {
            Effect::Writes(to, size) => {
                let (Some(to), size) = (pointer(arguments, *to), self.size(size, arguments, cause)) else {
                    return;
                };
                let op = Op::HavocBytes(to.clone(), size, cause);
                self.emitter.if_not_null(&to, |emitter| emitter.emit(op));
            }
            Effect::MayWrite(to, size) => {
                let (Some(to), size) = (pointer(arguments, *to), self.size(size, arguments, cause)) else {
                    return;
                };
                self.emitter.may_write(&to, size, cause.within(), cause);
            }
            Effect::Changes(to, size) => {
                self.effect(&Effect::Writes(*to, size.clone()), arguments, cause.guess());
            }
            Effect::ChangesEnd { string, count } => {
                let Some(string) = pointer(arguments, *string) else { return };
                let length = self.length_of(&string, None, Characters::Bytes);
                let count = Expr::Int(*count, self.emitter.types.size_t());
                let site = self.emitter.site;
                let start = fold::binary(BinaryOp::Sub, length.clone(), count.clone(), site);
                let end = behind(&string, start, site);
                let is_long = fold::compare(CompareOp::Ge, length, count.clone());
                let op = Op::HavocBytes(end, count, cause.guess());
                self.emitter.where_holds(is_long, |emitter| emitter.emit(op));
            }
            Effect::WritesObject(to) => {
                let Some(to) = pointer(arguments, *to) else { return };
                self.write_object(&to, cause);
            }
            Effect::WritesVariable(first) => {
                for to in pointers_from(arguments, *first) {
                    self.write_object(&to, cause);
                }
            }
            Effect::WritesRecord(of) => self.write_records(*of, cause),
            Effect::WritesGlobal(name) => {
                let declared = self.program.globals.get(name).filter(|global| !global.defined);
                if let Some(global) = declared {
                    let (ty, size) = (global.ty, global.size);
                    let scalar = self.emitter.types.scalar(ty);
                    let base = Base::Global(*name);
                    let object = Lvalue { base, path: Vec::new(), ty, scalar, bits: None, size };
                    self.emitter.havoc(object, cause);
                }
            }
            Effect::Format { format, first } => {
                let known = pointer(arguments, *format).and_then(|f| format::conversions(self.program, &f));
                match known {
                    Some(letters) if !letters.contains(&'n') => {}
                    Some(_) => self.count_written(arguments, *format, *first, cause),
                    None => self.may_count_written(arguments, *first, cause),
                }
            }
            Effect::Copies(to, from, size) => {
                let (Some(to), Some(from)) = (pointer(arguments, *to), pointer(arguments, *from)) else {
                    return;
                };
                let size = self.size(size, arguments, cause);
                self.emitter.emit(Op::CopyBytes(to, from, size));
            }
            Effect::Puts(put) => self.put_string(put, arguments, cause),
            Effect::Fills(to, character, size, Characters::Wide) => {
                self.fill_wide(*to, *character, size, arguments, cause);
            }
            Effect::Fills(to, byte, size, Characters::Bytes) => {
                let byte = match byte {
                    Factor::Number(number) => Some(Expr::int(*number)),
                    Factor::Long => Some(self.emitter.bytes_of_long()),
                    Factor::Argument(at) => value(arguments, *at),
                };
                let (Some(to), Some(byte)) = (pointer(arguments, *to), byte) else {
                    return;
                };
                let byte = fold::cast(Scalar::Int(proofline_cfa::IntType::INT), byte, self.emitter.site);
                let size = self.size(size, arguments, cause);
                self.emitter.emit(Op::FillBytes(to, byte, size));
            }
            Effect::Frees(at) => {
                if let Some(freed) = pointer(arguments, *at) {
                    self.emitter.emit(Op::Free(freed));
                }
            }
            Effect::Points(place, object, inside) => {
                let (Some(place), Some(object)) = (pointer(arguments, *place), pointer(arguments, *object))
                else {
                    return;
                };
                let target = self.pointee(&place, Type::void().pointer_to());
                // Where a number ends that is read from a text.
                let exactly = self.emitter.exactly.take();
                let mut bases = vec![Expr::int(1)];
                self.emitter.exactly = match &exactly {
                    Some((Quantity::NumberIn, of)) => {
                        bases = of.last().map_or(bases, are_bases);
                        Some((Quantity::NumberEnd, of.clone()))
                    }
                    Some((Quantity::FloatIn, of)) => Some((Quantity::FloatEnd, of.clone())),
                    Some(_) | None => None,
                };
                for is_base in bases {
                    self.emitter.where_holds(is_base, |emitter| {
                        emitter.if_not_null(&place, |emitter| {
                            let address = emitter.inside_of(object.clone(), cause);
                            emitter.put_inside(target.clone(), address, *inside);
                        });
                    });
                }
                self.emitter.exactly = exactly;
            }
            Effect::Assumes(at) => {
                if let Some(condition) = value(arguments, *at) {
                    match fold::truth(condition.clone()) {
                        Expr::Int(0, _) => self.emitter.at = self.emitter.location(),
                        Expr::Int(..) => {}
                        _ => self.emitter.emit(Op::Assume(condition)),
                    }
                }
            }
            Effect::Calls(function, passed, changed) => {
                self.calls(*function, passed, changed.as_ref(), arguments, cause);
            }
            Effect::Clobbers => {
                let reachable = external::reachable(&mut self.emitter, arguments);
                if let Cause::External(name) = cause {
                    self.emitter.approximate(&format!("call of {name}"));
                }
                self.emitter.emit(Op::Clobber(reachable, cause));
            }
        }
    }

    /// What a call leaves in `errno`: what was there, or the number of an error.
    fn set_errno(
        &mut self,
        name: Name,
        model: &Model,
        dst: Option<&Lvalue>,
        may_be_negative: bool,
        cause: Cause,
    ) {
        let errno = errno::lvalue();
        // Of a number in a text the text decides, and which type it has to fit into.
        let read = match (&self.emitter.exactly, dst.and_then(|dst| dst.scalar)) {
            (Some((Quantity::NumberIn, of)), Some(Scalar::Int(ty))) => {
                Some(of.iter().cloned().chain([Expr::Int(0, ty)]).collect())
            }
            _ => None,
        };
        if let Some(of) = read {
            let before = self.emitter.exactly.replace((Quantity::NumberError, of));
            let error = self.emitter.any(Scalar::Int(IntType::INT), cause);
            self.emitter.note(&error, false);
            self.emitter.exactly = before;
            self.emitter.assume_range(&error, 0, IntType::INT.max());
            self.emitter.only_if(error.clone(), |emitter| emitter.emit(Op::Assign(errno, error)));
            return;
        }
        // Whether printing fails the world decides, though what is printed is computed.
        let has_format = |effect: &Effect| matches!(effect, Effect::Format { .. });
        let is_printing = model.prints.is_some() || model.effects.iter().any(has_format);
        let cause = if is_printing { Cause::External(name) } else { cause };
        let is_set = self.emitter.any(Scalar::Int(IntType::INT), cause.within());
        self.emitter.only_if(is_set, |emitter| emitter.havoc(errno.clone(), cause));
        // No library function makes it so, nor is it so where a function of a library is called.
        if !may_be_negative {
            self.emitter.assume_range(&Expr::Load(errno), 0, IntType::INT.max());
        }
    }

    pub(super) fn write_object(&mut self, to: &Expr, cause: Cause) {
        match to {
            Expr::Address(lvalue) if lvalue.size > 0 && lvalue.bits.is_none() => {
                self.emitter.havoc(lvalue.clone(), cause);
            }
            _ => {
                let size = self.emitter.any_size(cause);
                let op = Op::HavocBytes(to.clone(), size, cause);
                self.emitter.if_not_null(to, |emitter| emitter.emit(op));
            }
        }
    }

    pub(super) fn size(&mut self, size: &Size, arguments: &[Argument], cause: Cause) -> Expr {
        let Size::Product(factors) = size else { return self.emitter.any_size(cause) };
        let size_t = self.emitter.types.size_t();
        let site = self.emitter.site;
        let mut product: Option<Expr> = None;
        for factor in factors {
            let factor = match factor {
                Factor::Number(number) => Expr::Int(*number, size_t),
                Factor::Long => self.emitter.bytes_of_long(),
                Factor::Argument(at) => match value(arguments, *at) {
                    Some(value) => fold::cast(Scalar::Int(size_t), value, site),
                    None => return self.emitter.any_size(cause),
                },
            };
            product = Some(match product {
                Some(before) => fold::binary(BinaryOp::Mul, before, factor, site),
                None => factor,
            });
        }
        product.unwrap_or(Expr::Int(0, size_t))
    }

    /// A bound that is a number; `None` if an argument says what it is.
    pub(super) fn bound(&self, bound: Bound) -> Option<i128> {
        match bound {
            Bound::Number(number) => Some(number),
            Bound::LongMax => Some(self.emitter.long().max()),
            Bound::LongMin => Some(self.emitter.long().min()),
            Bound::PtrdiffMax => Some(self.emitter.types.ptrdiff_t().max()),
            Bound::SizeMax => Some(self.emitter.types.size_t().max()),
            Bound::Argument(..) | Bound::Below(_) | Bound::Conversions(_) => None,
        }
    }

    /// What a pointer argument points to, as an object of the type.
    pub(super) fn pointee(&self, pointer: &Expr, ty: Type) -> Lvalue {
        let scalar = self.emitter.types.scalar(ty);
        if let Expr::Address(lvalue) = pointer
            && lvalue.scalar == Some(Scalar::Pointer)
            && lvalue.scalar == scalar
        {
            return lvalue.clone();
        }
        let size = self.emitter.types.size(ty).unwrap_or(0);
        let base = Base::Deref(Arc::new(pointer.clone()), self.emitter.site);
        Lvalue { base, path: Vec::new(), ty, scalar, bits: None, size }
    }
}

/// Where there are numbers of this base, in conditions that exclude each other: of another one nothing is read, and nothing is said about where it ends.
fn are_bases(base: &Expr) -> Vec<Expr> {
    let Some(ty) = base.int_type() else { return vec![Expr::int(1)] };
    let unsigned = IntType { signed: false, ..ty };
    let number = |n: i128| Expr::Int(n, unsigned);
    let base = fold::cast(Scalar::Int(unsigned), base.clone(), Site(0));
    let beyond = fold::binary(BinaryOp::Sub, base.clone(), number(2), Site(0));
    [(base, CompareOp::Eq, 0), (beyond, CompareOp::Le, 34)]
        .into_iter()
        .map(|(value, op, most)| fold::compare(op, value, number(most)))
        .collect()
}

/// What the model says about the numbers it leaves open.
fn exactly(model: &Model, arguments: &[Argument]) -> Option<(Quantity, Vec<Expr>)> {
    let (quantity, of) = model.exactly.as_ref()?;
    let values: Option<Vec<Expr>> = of.iter().map(|at| value(arguments, *at)).collect();
    Some((*quantity, values?))
}

/// Drops what would be computed from a scalar that nothing but its name touches: it is in no memory.
fn forget_registers(function: &mut Function, types: Types<'_>) {
    let locals = &function.locals;
    let is_register = |part: &Expr| match part {
        Expr::Address(Lvalue { base: Base::Local(id), .. }) => {
            let local = &locals[id.index()];
            !local.address_taken && types.scalar(local.ty).is_some()
        }
        _ => false,
    };
    function.library_results.retain(|computed| {
        let mut found = false;
        computed
            .arguments
            .iter()
            .for_each(|argument| visit::walk(argument, &mut |p| found |= is_register(p)));
        !found
    });
}
