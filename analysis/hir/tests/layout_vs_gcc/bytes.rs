//! The bytes of an initialised object, from its HIR initialiser and the layout.

use proofline_hir::{
    Global, Module,
    body::{Body, ExprKind, InitStep, Initializer},
    consteval::{self, ConstValue},
    layout::Layout,
    types::{BitField, Type, TypeKind},
};

/// The integer value of an entry.
pub(crate) fn value(module: &Module, body: &Body, id: proofline_hir::body::ExprId) -> Option<i128> {
    match consteval::eval(body, id, &module.records, module.data_model) {
        Some(ConstValue::Int(value)) => Some(value),
        _ => None,
    }
}

/// Writes a global's initialiser.
pub(crate) fn write(module: &Module, global: &Global, bytes: &mut [u8]) -> Result<(), String> {
    let (Some(init), Some(body)) = (&global.init, &global.init_body) else {
        return Err("no initialiser".to_owned());
    };
    let Initializer { entries } = init;
    for entry in entries {
        for path in elements(&entry.path) {
            let place = Place { offset: 0, ty: global.ty, bits: None };
            let place = place.step_all(module, &path)?;
            if let ExprKind::StringLiteral(name) = &body.expr(entry.value).kind {
                let literal = module.strings.iter().find(|s| s.name == *name).ok_or("unknown string")?;
                let size = Layout::new(module.data_model, &module.records)
                    .size_of(place.ty)
                    .ok_or("unknown size")?;
                for (i, element) in literal.elements.iter().take(size as usize).enumerate() {
                    bytes[place.offset as usize + i] = *element as u8;
                }
                continue;
            }
            let value = value(module, body, entry.value).ok_or("an entry is not an integer constant")?;
            place.store(module, value, bytes)?;
        }
    }
    Ok(())
}

/// The paths that a path with ranges stands for.
fn elements(path: &[InitStep]) -> Vec<Vec<InitStep>> {
    let mut paths = vec![Vec::new()];
    for step in path {
        let steps: Vec<InitStep> = match *step {
            InitStep::Range(first, last) => (first..=last).map(InitStep::Element).collect(),
            step => vec![step],
        };
        let longer = |path: &Vec<InitStep>| -> Vec<Vec<InitStep>> {
            steps.iter().map(|step| path.iter().copied().chain([*step]).collect()).collect()
        };
        paths = paths.iter().flat_map(longer).collect();
    }
    paths
}

struct Place {
    offset: u64,
    ty: Type,
    bits: Option<BitField>,
}

impl Place {
    fn step_all(self, module: &Module, path: &[InitStep]) -> Result<Place, String> {
        path.iter().try_fold(self, |place, step| place.step(module, *step))
    }

    fn step(self, module: &Module, step: InitStep) -> Result<Place, String> {
        let layout = Layout::new(module.data_model, &module.records);
        match (step, self.ty.kind()) {
            (InitStep::Field(index), TypeKind::Record(tag)) => {
                let field = &module.records[tag].fields[index as usize];
                Ok(Place { offset: self.offset + field.offset, ty: field.ty, bits: field.bits })
            }
            (InitStep::Element(index), TypeKind::Array(element, _)) => {
                let size = layout.size_of(*element).ok_or("an element without size")?;
                Ok(Place { offset: self.offset + index * size, ty: *element, bits: None })
            }
            (step, kind) => Err(format!("cannot take {step:?} in {kind:?}")),
        }
    }

    fn store(&self, module: &Module, value: i128, bytes: &mut [u8]) -> Result<(), String> {
        let layout = Layout::new(module.data_model, &module.records);
        let (first, width) = match self.bits {
            Some(bits) => (u64::from(bits.first), u64::from(bits.width)),
            None => (0, 8 * layout.size_of(self.ty).ok_or("a scalar without size")?),
        };
        for bit in 0..width {
            let at = self.offset * 8 + first + bit;
            let byte = bytes.get_mut((at / 8) as usize).ok_or("outside of the object")?;
            let mask = 1u8 << (at % 8);
            if (value >> bit) & 1 == 1 { *byte |= mask } else { *byte &= !mask }
        }
        Ok(())
    }
}
