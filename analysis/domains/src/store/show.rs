//! States for people: C's names of variables and members with their values, nothing internal. Knows types to find the names, no domain.

use proofline_cfa::{Name, Object, Program, Role, Scalar, Type, Types, scalar_of};
use proofline_hir::TypeKind;

use crate::store::{
    arithmetic::Arithmetic,
    model::Model,
    region::{Content, Region},
    state::State,
};

/// So many items of one variable are listed.
const ITEMS: usize = 8;

/// What is known, one entry per variable or member: `x` and its value, in order of declaration, globals last.
pub fn entries<A: Arithmetic>(model: &Model<A>, state: &State<A::Value>) -> Vec<(String, String)> {
    let mut result = Vec::new();
    let program = model.env.program();
    let Some(function) = model.env.function(state.frame.function) else { return result };
    for (index, local) in function.locals.iter().enumerate() {
        let name = match local.role {
            Role::Temporary | Role::Shadow => continue,
            Role::Result => "return value".to_owned(),
            Role::Parameter | Role::Variable | Role::VariableArray => plain(local.name),
        };
        let id = proofline_cfa::LocalId(index as u32);
        let region = if local.address_taken {
            state.memory.get(Object::Local(function.name, id))
        } else {
            state.frame.local(id)
        };
        if let Some(region) = region {
            list(model, program, &name, local.ty, region, &mut result);
        }
    }
    for (object, region) in state.memory.objects() {
        if let Object::Global(name) = object
            && let Some(global) = program.globals.get(name)
            && !name.starts_with(['"', 'L', 'u', 'U'].as_slice()) | !name.contains('"')
        {
            list(model, program, &plain(*name), global.ty, region, &mut result);
        }
    }
    result
}

/// One line: `x = 3, y in [0, 9]`.
pub fn line<A: Arithmetic>(model: &Model<A>, state: &State<A::Value>) -> String {
    let entries = entries(model, state);
    entries.into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// The name as it was written: without what made it unique.
fn plain(name: Name) -> String {
    let name = name.written();
    name.split_once('#').map_or(name, |(name, _)| name).to_owned()
}

/// An object as people name it.
pub fn object_text(program: &Program, object: Object) -> String {
    match object {
        Object::Global(name) => plain(name),
        Object::Local(function, id) => match program.functions.get(&function) {
            Some(function) => plain(function.local(id).name),
            None => "a local variable".to_owned(),
        },
        Object::Heap(function, _) => format!("memory allocated in {}", plain(function)),
        Object::External => "other memory".to_owned(),
    }
}

fn list<A: Arithmetic>(
    model: &Model<A>,
    program: &Program,
    name: &str,
    ty: Type,
    region: &Region<A::Value>,
    out: &mut Vec<(String, String)>,
) {
    let mut count = 0;
    for cell in region.cells() {
        let (item, value) = match &cell.content {
            Content::Any => continue,
            Content::Zero => (None, None),
            Content::Each(scalar, item, value) => (Some(*item), Some((*scalar, value))),
        };
        let mut position = cell.start;
        while position < cell.end() && count < ITEMS {
            let Some((path, scalar, len)) = member(program, ty, position, item) else { break };
            if position + len > cell.end() {
                break;
            }
            let text = match value {
                Some((scalar, value)) => model.arithmetic.show(value, scalar),
                None => {
                    use crate::store::value::AbstractValue;
                    model.arithmetic.show(&A::Value::zero(scalar), scalar)
                }
            };
            if let Some(text) = text {
                out.push((format!("{name}{path}"), text));
                count += 1;
            }
            position += len;
        }
    }
}

/// Path, format and width (bits) of the scalar that starts at a bit of a type.
fn member(program: &Program, ty: Type, bit: i64, item: Option<i64>) -> Option<(String, Scalar, i64)> {
    match ty.kind() {
        TypeKind::Record(tag) => {
            let record = program.records.get(tag)?;
            record.fields.iter().find_map(|field| {
                let start = field.offset as i64 * 8 + field.bits.map_or(0, |bits| i64::from(bits.first));
                let len = match field.bits {
                    Some(bits) => i64::from(bits.width),
                    None => size_of(program, field.ty)? as i64 * 8,
                };
                if bit < start || bit >= start + len {
                    return None;
                }
                if field.bits.is_some() {
                    let scalar = scalar_of(field.ty, program.data_model)?;
                    return (bit == start && item.is_none_or(|item| item == len))
                        .then(|| (format!(".{}", field.name), scalar, len));
                }
                let (path, scalar, len) = member(program, field.ty, bit - start, item)?;
                let prefix =
                    if field.name.starts_with('#') { String::new() } else { format!(".{}", field.name) };
                Some((format!("{prefix}{path}"), scalar, len))
            })
        }
        TypeKind::Array(element, _) => {
            let len = size_of(program, *element)? as i64 * 8;
            if len == 0 || bit < 0 {
                return None;
            }
            let (path, scalar, width) = member(program, *element, bit % len, item)?;
            Some((format!("[{}]{path}", bit / len), scalar, width))
        }
        TypeKind::Void
        | TypeKind::Bool
        | TypeKind::Int(_)
        | TypeKind::Float(_)
        | TypeKind::Complex(_)
        | TypeKind::Pointer(_)
        | TypeKind::Function(_)
        | TypeKind::Enum(..)
        | TypeKind::Vector(..)
        | TypeKind::VaList
        | TypeKind::Error => {
            let scalar = scalar_of(ty, program.data_model)?;
            let len = program.scalar_bytes(scalar) as i64 * 8;
            (bit == 0 && item.is_none_or(|item| item == len)).then(|| (String::new(), scalar, len))
        }
    }
}

/// Bytes of a complete type.
fn size_of(program: &Program, ty: Type) -> Option<u64> {
    Types { records: &program.records, model: program.data_model }.size(ty)
}
