//! Registers of devices. A program reaches them through numbers that it converts to pointers: `*(volatile uint8_t *)0x25`, `GPIOA->ODR`, where
//! `GPIOA` is `((GPIO_TypeDef *)0x40020000)`. Each becomes an object that is defined elsewhere, and that something else than the program may change:
//! so it is there, a read of it may give any value, and it is none of the program's own objects. A number that leads to what is not declared
//! `volatile` stays a number, which leads to no object; and so does the address of a single register, for its neighbours are reached through it.

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    body::{Body, ExprId, ExprKind},
    consteval::{self, ConstValue},
    print::type_text,
};

use super::{Context, build::Lowering};
use proofline_cfa::{Base, Expr, Global, Lvalue, Types, register};

impl Lowering<'_> {
    /// The register that `*pointer` is.
    pub(super) fn register(&self, pointer: ExprId) -> Option<Lvalue> {
        let address = self.context.number(self.body, pointer)?;
        self.context.global_at(address, self.body.expr(pointer).ty).map(|global| self.use_register(global))
    }

    /// The register that `base[index]` is, for constants.
    pub(super) fn register_element(&self, base: ExprId, index: ExprId) -> Option<Lvalue> {
        let first = self.context.number(self.body, base)?;
        let pointer = self.body.expr(base).ty;
        let size = self.types.size(pointer.pointee()?)?;
        let index = consteval::eval(self.body, index, self.types.records, self.types.model)?;
        let ConstValue::Int(index) = index else { return None };
        let address = index.checked_mul(i128::from(size))?.checked_add(first)?;
        self.context.global_at(address, pointer).map(|global| self.use_register(global))
    }

    /// The address of a record of registers, or of an array of them.
    pub(super) fn register_address(&self, pointer: ExprId) -> Option<Expr> {
        let address = self.context.number(self.body, pointer)?;
        let global = self.context.several_at(address, self.body.expr(pointer).ty)?;
        Some(Expr::Address(self.use_register(global)))
    }

    /// The address of such a record as a number: a program that goes on from it reaches others, of which nothing is known.
    pub(super) fn register_number(&mut self, pointer: ExprId) -> Option<Expr> {
        let ExprKind::Cast(number) = self.body.expr(pointer).kind else { return None };
        self.register_address(pointer)?;
        let site = self.site(pointer);
        Some(self.cast(number, self.body.expr(pointer).ty, site))
    }

    fn use_register(&self, global: Global) -> Lvalue {
        let lvalue = self.place(Base::Global(global.name), global.ty);
        self.context.use_register(global);
        lvalue
    }

    /// Whether a member keeps registers of its record apart.
    pub(super) fn is_between_registers(&self, base: ExprId, field: u32) -> bool {
        let TypeKind::Record(tag) = self.body.expr(base).ty.kind() else { return false };
        let record = self.types.record(*tag);
        let field = record.and_then(|record| record.fields.get(field as usize));
        field.is_some_and(|field| is_between(&field.name)) && is_register(self.types, self.body.expr(base).ty)
    }
}

impl Context<'_> {
    /// The record of registers that a number is the address of, as the initial value of a pointer of the type.
    pub(super) fn register_at(&self, address: i128, pointer: Type) -> Option<Name> {
        let global = self.several_at(address, pointer)?;
        let name = global.name;
        self.use_register(global);
        Some(name)
    }

    fn use_register(&self, global: Global) {
        self.registers.borrow_mut().insert(global.name, global);
    }

    /// The number that is converted to a pointer, and perhaps moved.
    fn number(&self, body: &Body, pointer: ExprId) -> Option<i128> {
        let (ExprKind::Cast(_) | ExprKind::PointerAdd { .. }) = body.expr(pointer).kind else { return None };
        if !is_register(self.types, body.expr(pointer).ty.pointee()?) {
            return None;
        }
        match consteval::eval(body, pointer, self.types.records, self.types.model)? {
            ConstValue::Int(address) => Some(address),
            ConstValue::Float(_) | ConstValue::Address { .. } | ConstValue::Function(_) => None,
        }
    }

    fn several_at(&self, address: i128, pointer: Type) -> Option<Global> {
        let is_single = self.types.scalar(pointer.pointee()?).is_some();
        if is_single { None } else { self.global_at(address, pointer) }
    }

    fn global_at(&self, address: i128, pointer: Type) -> Option<Global> {
        let ty = pointer.pointee().filter(|ty| is_register(self.types, *ty))?;
        let address = address as u128 & (u128::MAX >> (128 - u32::from(self.types.pointer_bits())));
        let size = self.types.size(ty).filter(|size| *size > 0 && address != 0)?;
        Some(Global {
            name: register::name(&type_text(pointer.unqualified()), address),
            ty,
            linkage: Linkage::External,
            size,
            defined: false,
            constant: false,
            init: Vec::new(),
            hidden: Vec::new(),
        })
    }
}

/// Whether something else than the program may change all that is used of an object of this type. What lies between registers in a record is not
/// used.
fn is_register(types: Types<'_>, ty: Type) -> bool {
    if ty.qualifiers().is_volatile {
        return true;
    }
    match ty.kind() {
        TypeKind::Array(element, _) => is_register(types, *element),
        TypeKind::Record(tag) => types.record(*tag).is_some_and(|record| {
            let mut used = record.fields.iter().filter(|field| !is_between(&field.name)).peekable();
            used.peek().is_some() && used.all(|field| is_register(types, field.ty))
        }),
        _ => false,
    }
}

/// Whether a member only keeps others apart, as its name says.
fn is_between(member: &str) -> bool {
    let member = member.to_ascii_lowercase();
    ["reserved", "rserved", "rsvd", "pad", "unused", "dummy", "gap"].iter().any(|word| member.contains(word))
}
