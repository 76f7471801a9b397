//! What formulas may assume at the beginning of an execution: initial values of globals, ranges of everything else.

use std::collections::BTreeMap;

use proofline_cfa::{Constant, Entry, FloatType, Name, Object, Program, Scalar};
use proofline_encoding::{Encoding, Key, MemoryLayout, Representation};
use proofline_program_analysis::Environment;
use proofline_smt::{Sort, Term, build as t};

use crate::subject::Subject;

/// More initial elements than this are left unknown.
const MOST_ELEMENTS: usize = 512;

/// The format of a cell; `function` is the one whose register it is.
pub(super) fn scalar_of_key(environment: &Environment, key: Key, function: Name) -> Option<Scalar> {
    match key {
        Key::Local(_, id) => {
            let local = environment.function(function)?.local(id);
            proofline_cfa::scalar_of(local.ty, environment.program().data_model)
        }
        Key::Cell(_, _, scalar) => Some(scalar),
        Key::Elements(..) => None,
    }
}

/// The sort of a key's term; `function` is the one whose register it is.
pub(super) fn sort_of_key(
    environment: &Environment,
    layout: &MemoryLayout,
    key: Key,
    function: Name,
) -> Sort {
    layout.encoding().sort_of(key, |_| scalar_of_key(environment, key, function))
}

/// What holds of a cell's value when execution starts in `entry`.
pub(super) fn initial_condition(
    subject: &Subject,
    layout: &MemoryLayout,
    entry: Entry,
    key: Key,
    value: Term,
) -> Vec<Term> {
    let (program, encoding) = (subject.program(), layout.encoding());
    let mut out = Vec::new();
    if let Some(scalar) = scalar_of_key(subject.env(), key, entry.name) {
        out.push(layout.encoding().in_range(value, scalar));
    }
    let (Key::Cell(Object::Global(name), ..) | Key::Elements(Object::Global(name), ..)) = key else {
        return out;
    };
    let Some(global) = program.globals.get(&name) else { return out };
    if !global.keeps_initial(entry) {
        return out;
    }
    match key {
        Key::Cell(_, offset, scalar) => {
            let initial = global.init.iter().find(|initial| {
                initial.offset <= offset && offset < initial.offset + program.scalar_bytes(initial.scalar)
            });
            let constant = match initial {
                None => Some(encoding.zero(scalar)),
                Some(initial)
                    if initial.offset == offset && initial.scalar == scalar && initial.bits.is_none() =>
                {
                    constant(layout, &initial.value, scalar)
                }
                Some(_) => None,
            };
            out.extend(constant.map(|constant| t::eq(value, constant)));
        }
        Key::Elements(object, _, _, scalar)
            if matches!(layout.representation(object), Representation::Bytes { .. }) =>
        {
            if let Some(bytes) = Bytes::new(subject.program(), layout, global) {
                out.extend(bytes.conditions(encoding, scalar, value));
            }
        }
        Key::Elements(_, stride, inside, scalar) => {
            if global.init.len() > MOST_ELEMENTS {
                return out;
            }
            let mut array = t::const_array(encoding.array(scalar), encoding.zero(scalar));
            for initial in &global.init {
                if initial.offset % stride != inside {
                    continue;
                }
                if initial.scalar != scalar || initial.bits.is_some() {
                    return out;
                }
                let Some(constant) = constant(layout, &initial.value, scalar) else { return out };
                array = t::store(array, encoding.address(initial.offset / stride), constant);
            }
            out.push(t::eq(value, array));
        }
        Key::Local(..) => {}
    }
    out
}

fn constant(layout: &MemoryLayout, value: &Constant, scalar: Scalar) -> Option<Term> {
    let encoding = layout.encoding();
    match (value, scalar) {
        (Constant::Int(value), Scalar::Int(ty)) => Some(encoding.int(*value, ty)),
        (Constant::Int(value), Scalar::Pointer) => Some(encoding.address(*value)),
        (Constant::Address(name, offset), Scalar::Pointer) => {
            let base = layout.address(Object::Global(*name))?;
            Some(encoding.address(i128::from(base) + i128::from(*offset)))
        }
        (Constant::Float(value), Scalar::Float(_)) => encoding.float(*value),
        // Functions and the rest are left open.
        (
            Constant::Int(_)
            | Constant::Address(..)
            | Constant::Float(_)
            | Constant::Function(_)
            | Constant::Unknown,
            _,
        ) => None,
    }
}

/// The initial bytes of a global that is kept as bytes.
struct Bytes {
    /// `None`: not known.
    bytes: Vec<Option<u8>>,
    /// Pointers, by the offset they begin at.
    pointers: BTreeMap<u64, Option<Term>>,
    pointer_bytes: usize,
}

impl Bytes {
    fn new(program: &Program, layout: &MemoryLayout, global: &proofline_cfa::Global) -> Option<Bytes> {
        let size = usize::try_from(global.size).ok().filter(|size| *size <= MOST_ELEMENTS)?;
        let mut bytes = vec![Some(0u8); size];
        let mut pointers = BTreeMap::new();
        for initial in &global.init {
            let at = usize::try_from(initial.offset).ok()?;
            if let Some(bits) = initial.bits {
                let Constant::Int(value) = initial.value else { return None };
                for i in 0..usize::from(bits.width) {
                    let bit = usize::from(bits.first) + i;
                    let byte = bytes.get_mut(at + bit / 8)?.as_mut()?;
                    let mask = 1u8 << (bit % 8);
                    *byte = *byte & !mask | if value >> i & 1 == 1 { mask } else { 0 };
                }
                continue;
            }
            let width = usize::try_from(program.scalar_bytes(initial.scalar)).ok()?;
            let raw: Option<u128> = match (&initial.value, initial.scalar) {
                (Constant::Int(value), Scalar::Int(_)) => Some(*value as u128),
                (Constant::Int(0), Scalar::Pointer) => Some(0),
                (Constant::Float(value), Scalar::Float(FloatType::F32 | FloatType::F64))
                    if !value.is_nan() =>
                {
                    Some(value.to_bits())
                }
                _ => None,
            };
            for i in 0..width {
                *bytes.get_mut(at + i)? = raw.filter(|_| i < 16).map(|raw| (raw >> (8 * i)) as u8);
            }
            if initial.scalar == Scalar::Pointer {
                pointers.insert(initial.offset, constant(layout, &initial.value, Scalar::Pointer));
            }
        }
        let pointer_bytes = usize::from(program.pointer_bits() / 8);
        Some(Bytes { bytes, pointers, pointer_bytes })
    }

    /// What holds of the array of bytes, or of that of the pointers.
    fn conditions(&self, encoding: Encoding, scalar: Scalar, array: Term) -> Vec<Term> {
        let is = |at: usize, value: Term| t::eq(t::select(array, encoding.address(at as u64)), value);
        if scalar != Scalar::Pointer {
            let ty = proofline_cfa::IntType { bits: 8, signed: false };
            let known = self.bytes.iter().enumerate().filter_map(|(at, byte)| Some((at, (*byte)?)));
            return known.map(|(at, byte)| is(at, encoding.int(i128::from(byte), ty))).collect();
        }
        let null = |at: usize| self.bytes[at..at + self.pointer_bytes].iter().all(|byte| *byte == Some(0));
        (0..(self.bytes.len() + 1).saturating_sub(self.pointer_bytes))
            .filter_map(|at| match self.pointers.get(&(at as u64)) {
                Some(pointer) => Some(is(at, (*pointer)?)),
                None => null(at).then(|| is(at, encoding.address(0))),
            })
            .collect()
    }
}
