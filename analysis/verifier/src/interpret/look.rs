//! What lies in memory where a run is now, from the variables of the innermost function on: what pointers lead to is read by their types. Asks
//! the oracle nothing and changes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proofline_cfa::{
    Base, Edge, Expr, LocalId, Lvalue, Name, Object, Role, Scalar, Type, Types, VARIABLE_ARGUMENTS,
    command_line,
    eval::Value,
    scalar_of,
    visit::{self, Mention},
};
use proofline_hir::TypeKind;

use super::{
    code::Home,
    leaves::{Leaf, LeafKind, leaves},
    machine::{Frame, Machine},
    memory::{Area, Extent, Provenance},
    oracle::Oracle,
    place::{decode_bits, field, value_bytes},
};
use crate::scene::{Content, ObjectKind, Scene, SceneCell, SceneObject, Target};

/// More variables are not shown.
const MOST_VARIABLES: usize = 12;
/// More variables of waiting functions are not shown.
const MOST_WAITING: usize = 6;
/// More cells of an object are counted only.
const MOST_CELLS: usize = 8;
/// More objects are not looked at.
const MOST_SEEN: usize = 400;
/// More characters of a string are not shown.
const MOST_CHARACTERS: usize = 24;

impl<O: Oracle> Machine<'_, O> {
    /// What matters here. `edge`: what has just happened; what it mentions comes first.
    pub(super) fn look(&self, edge: Option<&Edge>) -> Scene {
        let Some(frame) = self.frames.last() else { return Scene::default() };
        let mut look = Look {
            machine: self,
            scene: Scene::default(),
            variables: 0,
            places: BTreeMap::new(),
            open: VecDeque::new(),
        };
        look.variables(frame, &mentioned(edge));
        look.follow();
        look.scene.cut();
        look.waiting();
        look.scene
    }
}

impl<O: Oracle> Machine<'_, O> {
    fn is_argv(&self, address: i128) -> bool {
        match self.memory.provenance(address as u64) {
            Provenance::Live(Extent { object: Object::Global(name), .. }) => {
                name == Name::new(command_line::ARGV)
            }
            Provenance::Live(_) | Provenance::Ended(_) | Provenance::Nothing => false,
        }
    }
}

/// Locals and objects that an edge names, in their order.
fn mentioned(edge: Option<&Edge>) -> Vec<Base> {
    let mut out: Vec<Base> = Vec::new();
    let Some(edge) = edge else { return out };
    let mut see = |lvalue: &Lvalue| {
        if matches!(lvalue.base, Base::Local(_) | Base::Global(_)) && !out.contains(&lvalue.base) {
            out.push(lvalue.base.clone());
        }
    };
    visit::mentions(&edge.op, &mut |mention| match mention {
        Mention::Value(_) => {}
        Mention::Read(lvalue) | Mention::Write(lvalue) => see(lvalue),
    });
    visit::exprs(&edge.op, &mut |expr| {
        if let Expr::Load(lvalue) | Expr::Address(lvalue) = expr {
            see(lvalue);
        }
    });
    out
}

struct Look<'m, 'c, O> {
    machine: &'m Machine<'c, O>,
    scene: Scene,
    /// How many variables it has.
    variables: usize,
    /// Objects in memory by their addresses.
    places: BTreeMap<u64, usize>,
    /// Objects whose cells are to be read, and as what.
    open: VecDeque<(usize, Extent, Option<Type>, i64)>,
}

impl<O: Oracle> Look<'_, '_, O> {
    fn types(&self) -> Types<'_> {
        let program = &self.machine.code.program;
        Types { records: &program.records, model: program.data_model }
    }

    /// Pointers, and objects that hold some, which the function names.
    fn variables(&mut self, frame: &Frame, mentioned: &[Base]) {
        let code = &self.machine.code.functions[frame.function as usize];
        let locals = (0..code.function.locals.len() as u32).map(|id| Base::Local(LocalId(id)));
        let globals = code.names().iter().copied().filter(|name| !name.contains('"')).map(Base::Global);
        let mut seen: BTreeSet<(Option<LocalId>, Option<Name>)> = BTreeSet::new();
        for base in mentioned.iter().cloned().chain(locals).chain(globals) {
            let key = match &base {
                Base::Local(id) => (Some(*id), None),
                Base::Global(name) => (None, Some(*name)),
                Base::Deref(..) => continue,
            };
            if self.variables < MOST_VARIABLES && seen.insert(key) {
                self.variable(frame, &base, mentioned.contains(&base));
            }
        }
    }

    fn variable(&mut self, frame: &Frame, base: &Base, is_mentioned: bool) {
        let machine = self.machine;
        let code = &machine.code.functions[frame.function as usize];
        match base {
            Base::Local(id) => {
                let local = code.function.local(*id);
                let is_theirs = matches!(local.role, Role::Parameter | Role::Variable | Role::VariableArray);
                if !is_theirs || !self.holds_pointers(local.ty) {
                    return;
                }
                // The strings of the command line are no news.
                let is_argv = |value: Value| match value {
                    Value::Int(address) => machine.is_argv(address),
                    Value::Float(_) => false,
                };
                if !is_mentioned && frame.locals[id.index()].is_some_and(is_argv) {
                    return;
                }
                match (code.home(*id), frame.locals[id.index()]) {
                    (Home::Register, value) if value.is_some() || is_mentioned => {
                        self.variables += 1;
                        self.register(plain(&local.name), value, local.ty);
                    }
                    (Home::Memory(_), Some(Value::Int(address))) => self.at(address as u64),
                    (Home::Register | Home::Memory(_), _) => {}
                }
            }
            Base::Global(name) => {
                let Some(global) = machine.code.program.globals.get(name) else { return };
                // What another file or the library defines, such as `stdin`, is no news.
                let is_known = (global.defined || is_mentioned) && !name.starts_with(VARIABLE_ARGUMENTS);
                let is_shown = is_known && self.holds_pointers(global.ty) && !global.constant;
                if let Some(address) = machine.globals.get(name).filter(|_| is_shown) {
                    self.at(*address);
                }
            }
            Base::Deref(..) => {}
        }
    }

    /// Whether values of the type lead somewhere.
    fn holds_pointers(&self, ty: Type) -> bool {
        leaves(self.types(), ty, u64::MAX).0.iter().any(|leaf| match leaf.kind {
            LeafKind::Scalar(ty, _) => {
                ty.pointee().is_some_and(|pointee| !matches!(pointee.kind(), TypeKind::Function(_)))
            }
            LeafKind::Characters(_) => false,
        })
    }

    /// A variable without an address.
    fn register(&mut self, name: String, value: Option<Value>, ty: Type) {
        let at = self.scene.objects.len();
        self.scene.objects.push(SceneObject {
            name,
            kind: ObjectKind::Variable,
            size: None,
            cells: Vec::new(),
            more: 0,
            extent: None,
        });
        let content = match value {
            Some(Value::Int(address)) => self.pointer(address, ty),
            Some(Value::Float(value)) => Content::Text(value.to_string()),
            None => Content::Uninitialised,
        };
        self.scene.objects[at].cells = vec![SceneCell::new("", 0, content)];
    }

    /// A variable in memory.
    fn at(&mut self, address: u64) {
        if let Provenance::Live(extent) = self.machine.memory.provenance(address) {
            self.variables += 1;
            self.place(extent, None, 0);
        }
    }

    /// The number of a live object in the scene. A pointer so many bytes behind its beginning says that this is there.
    fn place(&mut self, extent: Extent, pointee: Option<Type>, offset: i64) -> Option<usize> {
        if let Some(at) = self.places.get(&extent.base) {
            let at = *at;
            // A pointer to its beginning says more than one into it.
            if let Some(open) = self.open.iter_mut().find(|open| open.0 == at && open.3 != 0 && offset == 0) {
                (open.2, open.3) = (pointee, offset);
            }
            return Some(at);
        }
        if self.scene.objects.len() >= MOST_SEEN {
            return None;
        }
        let kind = match extent.object {
            Object::Global(_) | Object::Local(..) => ObjectKind::Named,
            Object::Heap(..) => ObjectKind::Heap,
            Object::External => ObjectKind::Outside,
        };
        let is_sized = !matches!(kind, ObjectKind::Outside);
        let at = self.add(extent, kind, is_sized);
        self.open.push_back((at, extent, pointee, offset));
        Some(at)
    }

    fn add(&mut self, extent: Extent, kind: ObjectKind, is_sized: bool) -> usize {
        let at = self.scene.objects.len();
        self.places.insert(extent.base, at);
        self.scene.objects.push(SceneObject {
            name: String::new(),
            kind,
            size: is_sized.then_some(extent.size),
            cells: Vec::new(),
            more: 0,
            extent: Some(extent),
        });
        at
    }

    /// Reads object after object.
    fn follow(&mut self) {
        while let Some((at, extent, pointee, offset)) = self.open.pop_front() {
            let Some((element, first, count)) = self.elements(extent, pointee, offset) else { continue };
            let (found, left_out) = self.leaves_of(element, (first, count), extent);
            let mut cells = Vec::new();
            for leaf in found {
                let (content, integer) = self.content(extent, &leaf);
                cells.push(SceneCell { integer, ..SceneCell::new(&leaf.name, leaf.offset, content) });
            }
            let (cells, cut) = few(cells);
            let object = &mut self.scene.objects[at];
            (object.cells, object.more) = (cells, left_out + cut);
        }
    }

    /// What the object consists of: elements of a type, from where on, and how many.
    fn elements(&self, extent: Extent, pointee: Option<Type>, offset: i64) -> Option<(Type, u64, u64)> {
        let program = &self.machine.code.program;
        let declared = match extent.object {
            Object::Global(name) => program.globals.get(&name).map(|global| global.ty),
            Object::Local(function, id) => program.function(function).map(|function| function.local(id).ty),
            Object::Heap(..) | Object::External => None,
        };
        if let Some(ty) = declared.filter(|ty| self.types().size(*ty).is_some()) {
            return Some((ty, 0, 1));
        }
        let ty = pointee.filter(|ty| *ty.kind() != TypeKind::Void)?;
        let size = self.types().size(ty).filter(|size| *size > 0)?;
        let offset = u64::try_from(offset).ok()?;
        let is_array = offset.is_multiple_of(size) && (offset == 0 || extent.size.is_multiple_of(size));
        match extent.object {
            // How many there are, callers know. What a pointer into the middle says is known of that place only.
            Object::External => Some((ty, offset, 1)),
            Object::Heap(..) | Object::Global(_) | Object::Local(..) if !is_array => Some((ty, offset, 1)),
            Object::Heap(..) | Object::Global(_) | Object::Local(..) => {
                Some((ty, 0, (extent.size / size).max(1)))
            }
        }
    }

    /// Cells of so many elements that lie in the object, and how many more there would be.
    fn leaves_of(&self, element: Type, (first, count): (u64, u64), extent: Extent) -> (Vec<Leaf>, usize) {
        let types = self.types();
        let size = types.size(element).unwrap_or(1);
        let is_character = matches!(scalar_of(element, types.model), Some(Scalar::Int(ty)) if ty.bits == 8);
        if count > 1 && is_character {
            let kind = LeafKind::Characters(extent.size);
            return (vec![Leaf { name: String::new(), offset: 0, kind }], 0);
        }
        let (one, more) = leaves(types, element, size);
        let mut all = Vec::new();
        for number in 0..count {
            if all.len() > MOST_SEEN {
                let left = (count - number) as usize;
                return (all, more + left.saturating_mul(one.len()));
            }
            let part = one.iter().map(|leaf| {
                let name = match (count, leaf.name.as_str()) {
                    (1, name) => name.to_owned(),
                    (_, "") => format!("[{number}]"),
                    (_, name) if name.starts_with('[') => format!("[{number}]{name}"),
                    (_, name) => format!("[{number}].{name}"),
                };
                Leaf { name, offset: first + leaf.offset + number * size, kind: leaf.kind }
            });
            // What the object has no room for is not there.
            all.extend(
                part.filter(|leaf| leaf.offset + leaf.bytes(&self.machine.code.program) <= extent.size),
            );
        }
        (all, more)
    }

    /// What is in a part of an object, and the integer that this is, with its type.
    fn content(&mut self, extent: Extent, leaf: &Leaf) -> (Content, Option<(i128, Type)>) {
        let machine = self.machine;
        let address = extent.base + leaf.offset;
        let (ty, bits) = match leaf.kind {
            LeafKind::Characters(length) => return (self.characters(address, length), None),
            LeafKind::Scalar(ty, bits) => (ty, bits),
        };
        let Some(scalar) = scalar_of(ty, machine.code.program.data_model) else {
            return (Content::Text("…".to_owned()), None);
        };
        let (size, mask) = match bits {
            Some(bits) => field(bits),
            None => {
                let size = value_bytes(&machine.code.program, scalar);
                (size, u128::MAX >> (128 - 8 * size.clamp(1, 16)))
            }
        };
        let Some((raw, known)) = machine.memory.peek(address, size, mask) else {
            return (Content::Text("…".to_owned()), None);
        };
        if known == 0 {
            let has_value = extent.area == Area::Static || machine.memory.is_given(address);
            return (if has_value { Content::Open } else { Content::Uninitialised }, None);
        }
        if known != mask {
            return (Content::Text("written in part".to_owned()), None);
        }
        match decode_bits(raw, scalar, bits) {
            Some(Value::Int(value)) if scalar == Scalar::Pointer => (self.pointer(value, ty), None),
            Some(Value::Int(value)) => (Content::Text(number(value, ty)), Some((value, ty))),
            Some(Value::Float(value)) => (Content::Text(value.to_string()), None),
            None => (Content::Text("…".to_owned()), None),
        }
    }

    /// A string, as far as it is known.
    fn characters(&self, address: u64, length: u64) -> Content {
        let memory = &self.machine.memory;
        let mut bytes = Vec::new();
        for at in 0..length.min(MOST_CHARACTERS as u64 + 1) {
            match memory.peek(address + at, 1, 0xff) {
                Some((0, 0xff)) => return Content::Text(format!("\"{}\"", bytes.escape_ascii())),
                Some((byte, 0xff)) => bytes.push(byte as u8),
                Some(_) | None if at == 0 => {
                    let is_given = memory.is_given(address);
                    return if is_given { Content::Open } else { Content::Uninitialised };
                }
                Some(_) | None => return Content::Text(format!("\"{}\"?…", bytes.escape_ascii())),
            }
        }
        bytes.truncate(MOST_CHARACTERS);
        Content::Text(format!("\"{}\"…", bytes.escape_ascii()))
    }

    fn pointer(&mut self, address: i128, ty: Type) -> Content {
        let machine = self.machine;
        if address == 0 {
            return Content::Null;
        }
        if let Some(index) = machine.code.function_at(address) {
            return Content::Text(machine.code.functions[index as usize].function.name.to_string());
        }
        let target = |object: Option<usize>, base: u64| {
            let offset = (address - i128::from(base)) as i64;
            Content::Pointer(Target { object, offset, text: String::new(), address })
        };
        match machine.memory.provenance(address as u64) {
            Provenance::Live(extent) => {
                if let Object::Global(name) = extent.object
                    && name.contains('"')
                {
                    return Content::Text(name.to_string());
                }
                let offset = (address - i128::from(extent.base)) as i64;
                let object = self.place(extent, ty.pointee(), offset);
                target(object, extent.base)
            }
            Provenance::Ended(area) => {
                let Some(extent) = machine.memory.ended_at(address as u64) else {
                    return Content::Text("an object that has ended".to_owned());
                };
                let kind = if area == Area::Heap { ObjectKind::Freed } else { ObjectKind::Ended };
                let object = match self.places.get(&extent.base) {
                    Some(at) => Some(*at),
                    None if self.scene.objects.len() < MOST_SEEN => Some(self.add(extent, kind, true)),
                    None => None,
                };
                target(object, extent.base)
            }
            Provenance::Nothing => Content::Text(format!("{address:#x}")),
        }
    }

    /// Variables of functions that wait, as far as they lead to what is shown.
    fn waiting(&mut self) {
        let machine = self.machine;
        let shown = self.scene.objects.len();
        let waiting = machine.frames.iter().rev().skip(1);
        let mut found = Vec::new();
        for frame in waiting {
            let code = &machine.code.functions[frame.function as usize];
            for (local, value) in code.function.locals.iter().zip(&frame.locals) {
                let is_theirs = matches!(local.role, Role::Parameter | Role::Variable | Role::VariableArray);
                let is_register = local.ty.is_scalar() && !local.address_taken;
                let (true, true, Some(Value::Int(address))) = (is_theirs, is_register, value) else {
                    continue;
                };
                if local.ty.pointee().is_none() {
                    continue;
                }
                let Provenance::Live(extent) = machine.memory.provenance(*address as u64) else { continue };
                let Some(object) = self.places.get(&extent.base).filter(|at| **at < shown) else { continue };
                let name = format!("{} ({})", plain(&local.name), code.function.name.written());
                let offset = (address - i128::from(extent.base)) as i64;
                found.push((
                    name,
                    Target { object: Some(*object), offset, text: String::new(), address: *address },
                ));
                if found.len() >= MOST_WAITING {
                    break;
                }
            }
            if found.len() >= MOST_WAITING {
                break;
            }
        }
        self.scene.objects.extend(found.into_iter().map(|(name, target)| SceneObject {
            name,
            kind: ObjectKind::Variable,
            size: None,
            cells: vec![SceneCell::new("", 0, Content::Pointer(target))],
            more: 0,
            extent: None,
        }));
    }
}

/// The cells that say most: pointers first, and then from the beginning. How many are left out.
fn few(cells: Vec<SceneCell>) -> (Vec<SceneCell>, usize) {
    let count = cells.len();
    if count <= MOST_CELLS {
        return (cells, 0);
    }
    let leads = |cell: &SceneCell| matches!(cell.content, Content::Pointer(_));
    let mut left = MOST_CELLS.saturating_sub(cells.iter().filter(|cell| leads(cell)).count());
    let mut kept: Vec<SceneCell> = cells
        .into_iter()
        .filter(|cell| {
            let is_kept = leads(cell) || left > 0;
            left -= usize::from(!leads(cell) && left > 0);
            is_kept
        })
        .collect();
    kept.truncate(MOST_CELLS);
    let cut = count - kept.len();
    (kept, cut)
}

/// A number of a type; of a character also which.
fn number(value: i128, ty: Type) -> String {
    let is_character =
        matches!(ty.kind(), TypeKind::Int(kind) if *kind == proofline_hir::types::IntKind::Char);
    match u8::try_from(value) {
        Ok(byte @ 32..127) if is_character => format!("{value} '{}'", byte.escape_ascii()),
        _ => value.to_string(),
    }
}

/// A name as it is written.
fn plain(name: &str) -> String {
    name.split('#').next().unwrap_or(name).to_owned()
}
