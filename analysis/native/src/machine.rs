//! Machine code that runs: what it shares with its caller, and the calls between them. All that is unsafe is here.
#![expect(unsafe_code, reason = "machine code is called, and calls back, through raw pointers")]

use std::{mem::offset_of, ops::Range};

use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use proofline_cfa::{EdgeId, Loc, LocalId};
use rustc_hash::FxHashMap;

use crate::{
    frame,
    function::{self, Environment},
    layout::{FunctionIndex, Layout, Local},
};

/// A live object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its first address.
    pub base: u64,
    /// Bytes of it.
    pub size: u64,
    /// Every address that belongs to it, whether inside or beside it.
    pub slot: Range<u64>,
    /// Its bytes.
    pub bytes: *mut u8,
    /// Which bits of these bytes have a value.
    pub known: *mut u8,
}

/// The memory of a run.
///
/// # Safety
/// The pointers of an [`Object`] are to `size` bytes each, valid for reads and writes, and stay so during a run until that object is released,
/// whatever else is asked. Slots of live objects do not overlap, and an object lies inside of its slot.
pub unsafe trait Objects {
    /// The live object that the address belongs to.
    fn object(&mut self, address: u64) -> Option<Object>;
    /// A fresh object without a value for a local; where it is.
    fn allocate(&mut self, function: FunctionIndex, local: LocalId, size: u64) -> Option<u64>;
    /// Whether two addresses compare in the same way wherever objects lie.
    fn is_comparable(&mut self, is_order: bool, one: u64, other: u64) -> bool;
    /// Ends the life of the object with this base.
    fn release(&mut self, base: u64);
}

/// What machine code reads and writes beside its frames and objects.
#[repr(C)]
pub(crate) struct Context {
    pub(crate) fuel: i64,
    /// The processor's stack may be used down to here.
    stack_limit: u64,
    /// Frames may be used up to here.
    frames_end: u64,
    /// Not 0: the run has looked at an address as a number, or at where objects lie.
    undetermined: u64,
    /// The frame in which the run stopped.
    exit_frame: u64,
    /// What the function returned.
    result: u64,
    host: *mut Host<'static>,
    lookup: extern "C" fn(*mut Context, u64, u64, u64, u64) -> u64,
    allocate: extern "C" fn(*mut Context, u64, u64, u64) -> u64,
    release: extern "C" fn(*mut Context, u64),
    compare: extern "C" fn(*mut Context, u64, u64, u64) -> u64,
}

/// Where the fields are.
pub(crate) mod field {
    use super::{Context, offset_of};
    pub(crate) const FUEL: i32 = offset_of!(Context, fuel) as i32;
    pub(crate) const STACK_LIMIT: i32 = offset_of!(Context, stack_limit) as i32;
    pub(crate) const FRAMES_END: i32 = offset_of!(Context, frames_end) as i32;
    pub(crate) const UNDETERMINED: i32 = offset_of!(Context, undetermined) as i32;
    pub(crate) const EXIT_FRAME: i32 = offset_of!(Context, exit_frame) as i32;
    pub(crate) const RESULT: i32 = offset_of!(Context, result) as i32;
    pub(crate) const LOOKUP: i32 = offset_of!(Context, lookup) as i32;
    pub(crate) const ALLOCATE: i32 = offset_of!(Context, allocate) as i32;
    pub(crate) const RELEASE: i32 = offset_of!(Context, release) as i32;
    pub(crate) const COMPARE: i32 = offset_of!(Context, compare) as i32;
}

/// The object that an access found last. All zero: none.
#[repr(C)]
#[derive(Clone, Default)]
pub(crate) struct Line {
    base: u64,
    slot_start: u64,
    slot_length: u64,
    /// Accesses of 1, 2, 4 and 8 bytes are inside where their offset is less.
    limits: [u64; 4],
    bytes: u64,
    known: u64,
}

/// Where the fields of a [`Line`] are.
pub(crate) mod line {
    use super::{Line, offset_of};
    pub(crate) const BASE: i32 = offset_of!(Line, base) as i32;
    pub(crate) const SLOT_START: i32 = offset_of!(Line, slot_start) as i32;
    pub(crate) const SLOT_LENGTH: i32 = offset_of!(Line, slot_length) as i32;
    /// For accesses of so many bytes, which are a power of 2.
    pub(crate) fn limit(bytes: u64) -> i32 {
        offset_of!(Line, limits) as i32 + 8 * bytes.trailing_zeros() as i32
    }
    pub(crate) const BYTES: i32 = offset_of!(Line, bytes) as i32;
    pub(crate) const KNOWN: i32 = offset_of!(Line, known) as i32;
    pub(crate) const SIZE: u64 = size_of::<Line>() as u64;
}

/// The other side during a run.
struct Host<'r> {
    objects: &'r mut dyn Objects,
    lines: &'r mut [Line],
}

/// One open call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its function.
    pub function: FunctionIndex,
    /// The edge in the function below that called it; of the lowest frame `None`.
    pub call: Option<EdgeId>,
    /// Where it is.
    pub at: Loc,
    /// By local: the value of a register, or the address of an object. `None` too for locals that are not kept.
    pub locals: Vec<Option<i128>>,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The frame that was given, and those above it.
    pub frames: Vec<Frame>,
    /// Edges taken, returns included.
    pub steps: u64,
    /// Addresses were looked at as numbers.
    pub is_undetermined: bool,
    /// It could have gone on.
    pub is_out_of_fuel: bool,
}

type Code = extern "C" fn(*mut Context, *mut u64, u64) -> u64;

/// What machine code gets instead of the number of an entry when machine code calls it.
pub(crate) const CALLED: i64 = -1;

struct Compiled {
    layout: Layout,
    code: Code,
}

/// Functions as machine code.
pub struct Native {
    module: Option<JITModule>,
    functions: FxHashMap<FunctionIndex, Compiled>,
    lines: Box<[Line]>,
    /// So many of them are some access's.
    used: usize,
    frames: Box<[u64]>,
}

/// So many places look for objects; others are exits.
const LINES: usize = 1 << 13;
/// Words of all frames of a run.
const FRAMES: usize = 1 << 18;
/// Bytes of the processor's stack that a run may use.
const STACK: u64 = 1 << 18;
/// More functions, or more edges together, are not compiled at once.
const MOST_EDGES: usize = 20_000;
/// A function with more locals than this is none for machine code.
const MOST_LOCALS: usize = 1_000;

impl Native {
    /// Compiles functions and those that they call, the last ones first, as far as there is room. `None` where the processor or the system does
    /// not allow it.
    pub fn compile(environment: &Environment<'_>, roots: &[FunctionIndex]) -> Option<Native> {
        // The bytes of a program are little endian.
        if cfg!(target_endian = "big") {
            return None;
        }
        let mut flags = settings::builder();
        for (name, value) in
            [("use_colocated_libcalls", "false"), ("is_pic", "false"), ("opt_level", "speed")]
        {
            flags.set(name, value).ok()?;
        }
        let target = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut module = JITModule::new(JITBuilder::with_isa(target, default_libcall_names()));
        let mut layouts: FxHashMap<FunctionIndex, (FuncId, Layout)> = FxHashMap::default();
        let (mut open, mut order, mut edges) = (roots.to_vec(), Vec::new(), 0);
        while let Some(index) = open.pop() {
            let Some(function) = environment.functions.get(index as usize).copied() else { continue };
            let is_too_much =
                edges + function.edges.len() > MOST_EDGES || function.locals.len() > MOST_LOCALS;
            if layouts.contains_key(&index) || is_too_much {
                continue;
            }
            edges += function.edges.len();
            let name = format!("f{index}");
            let id = module.declare_function(&name, Linkage::Local, &function::signature(&module)).ok()?;
            layouts.insert(index, (id, Layout::of(environment.program, function)));
            order.push(index);
            open.extend(environment.callees(function));
        }
        // Made before anything is compiled, for the code has their addresses in it.
        let mut lines = vec![Line::default(); LINES].into_boxed_slice();
        let begin = lines.as_mut_ptr() as u64;
        let mut free = begin..begin + LINES as u64 * line::SIZE;
        let mut builders = FunctionBuilderContext::new();
        let mut context = module.make_context();
        for index in order {
            let function = environment.functions[index as usize];
            let job = function::Job { environment, layouts: &layouts, index, function };
            free = function::compile(job, free, &mut module, &mut context, &mut builders)?;
            module.define_function(layouts.get(&index)?.0, &mut context).ok()?;
            module.clear_context(&mut context);
        }
        module.finalize_definitions().ok()?;
        let functions = layouts
            .into_iter()
            .map(|(index, (id, layout))| {
                // SAFETY: the code was compiled with this signature and lives as long as the module.
                let code =
                    unsafe { std::mem::transmute::<*const u8, Code>(module.get_finalized_function(id)) };
                (index, Compiled { layout, code })
            })
            .collect();
        Some(Native {
            module: Some(module),
            functions,
            used: ((free.start - begin) / line::SIZE) as usize,
            lines,
            frames: vec![0; FRAMES].into_boxed_slice(),
        })
    }

    /// Whether a run may begin at the location.
    pub fn is_entry(&self, function: FunctionIndex, at: Loc) -> bool {
        self.functions.get(&function).is_some_and(|code| code.layout.entries.contains_key(&at))
    }

    /// Whether machine code keeps the local; what it does not keep stays as it is.
    pub fn keeps(&self, function: FunctionIndex, local: LocalId) -> bool {
        let code = self.functions.get(&function);
        code.is_some_and(|code| {
            code.layout.locals.get(local.index()).is_some_and(|kind| *kind != Local::Opaque)
        })
    }

    /// Runs from an entry on until something is not plain, or until so many steps were taken. `None` where a run cannot begin so; then
    /// nothing was changed.
    pub fn run(&mut self, objects: &mut dyn Objects, frame: &Frame, fuel: u64) -> Option<Outcome> {
        let compiled = self.functions.get(&frame.function)?;
        let entry = *compiled.layout.entries.get(&frame.at)?;
        if compiled.layout.words() > self.frames.len() {
            return None;
        }
        frame::write(&compiled.layout, frame, &mut self.frames)?;
        let code = compiled.code;
        self.lines[..self.used].fill(Line::default());
        let fuel = i64::try_from(fuel).unwrap_or(i64::MAX);
        let here = 0u8;
        let frames = self.frames.as_mut_ptr_range();
        let mut host = Host { objects, lines: &mut self.lines[..self.used] };
        let mut context = Context {
            fuel,
            stack_limit: (&raw const here as u64).saturating_sub(STACK),
            frames_end: frames.end as u64,
            undetermined: 0,
            exit_frame: frames.start as u64,
            result: 0,
            host: (&raw mut host).cast(),
            lookup,
            allocate,
            release,
            compare,
        };
        code(&raw mut context, frames.start, u64::from(entry));
        let top = (context.exit_frame - frames.start as u64) / 8;
        let layout = |index: FunctionIndex| self.functions.get(&index).map(|code| &code.layout);
        let found = frame::read(&layout, &self.frames, top as usize)?;
        Some(Outcome {
            frames: found,
            steps: fuel.wrapping_sub(context.fuel) as u64,
            is_undetermined: context.undetermined != 0,
            is_out_of_fuel: context.fuel <= 0,
        })
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.functions.clear();
        if let Some(module) = self.module.take() {
            // SAFETY: no function of it is left to be called.
            unsafe { module.free_memory() }
        }
    }
}

/// The other side of the running code.
///
/// # Safety
/// `context` is the one that [`Native::run`] gave the code that calls, and nobody else looks at its host now.
unsafe fn host<'h>(context: *mut Context) -> &'h mut Host<'h> {
    // SAFETY: `run` made both and waits for the code to return.
    unsafe { &mut *(*context).host.cast() }
}

/// Finds the object that `from` belongs to, for the line at this address. Whether the bytes are inside of it; with 0 bytes, whether the
/// address still belongs to it.
extern "C" fn lookup(context: *mut Context, line: u64, from: u64, address: u64, size: u64) -> u64 {
    // SAFETY: called by running code only.
    let host = unsafe { host(context) };
    let first = host.lines.as_ptr() as u64;
    let Some(line) = host.lines.get_mut(((line - first) / line::SIZE) as usize) else { return 0 };
    let Some(object) = host.objects.object(from) else { return 0 };
    *line = Line {
        base: object.base,
        slot_start: object.slot.start,
        slot_length: object.slot.end - object.slot.start,
        limits: [1, 2, 4, 8].map(|bytes: u64| (object.size + 1).saturating_sub(bytes)),
        bytes: object.bytes as u64,
        known: object.known as u64,
    };
    let is_inside = match size {
        0 => object.slot.contains(&address),
        size => address.wrapping_sub(object.base) < (object.size + 1).saturating_sub(size),
    };
    u64::from(is_inside)
}

extern "C" fn allocate(context: *mut Context, function: u64, local: u64, size: u64) -> u64 {
    // SAFETY: called by running code only.
    let host = unsafe { host(context) };
    host.objects.allocate(function as FunctionIndex, LocalId(local as u32), size).unwrap_or(0)
}

/// Whether how two addresses compare depends on where objects lie.
extern "C" fn compare(context: *mut Context, one: u64, other: u64, is_order: u64) -> u64 {
    // SAFETY: called by running code only.
    let host = unsafe { host(context) };
    u64::from(!host.objects.is_comparable(is_order != 0, one, other))
}

extern "C" fn release(context: *mut Context, base: u64) {
    // SAFETY: called by running code only.
    let host = unsafe { host(context) };
    for line in host.lines.iter_mut().filter(|line| line.base == base) {
        *line = Line::default();
    }
    host.objects.release(base);
}
