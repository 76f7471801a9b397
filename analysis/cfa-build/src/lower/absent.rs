//! What is declared weak and defined nowhere has the address null. Lowering takes each such address from a constant that has its name behind `&`, and
//! linking gives that a value where another file defines what is meant. Knows names and types only.

use proofline_hir::{Linkage, Module, Name, Type, types::Qualifiers};

use super::build::Lowering;
use proofline_cfa::{Base, Expr, Global, Lvalue, Scalar};

const ADDRESS: char = '&';

impl Lowering<'_> {
    /// The address, if the function or object may be absent.
    pub(crate) fn perhaps_absent(&self, name: Name, ty: Type) -> Option<Expr> {
        self.context.absent.contains(&name).then(|| {
            let ty = constant(ty);
            let size = self.types.size(ty).unwrap_or(0);
            let base = Base::Global(address(name));
            Expr::Load(Lvalue { base, path: Vec::new(), ty, scalar: Some(Scalar::Pointer), bits: None, size })
        })
    }
}

/// The constants of a module.
pub(super) fn addresses(module: &Module) -> impl Iterator<Item = Global> {
    let types = proofline_cfa::Types { records: &module.records, model: module.data_model };
    let functions = module.functions.iter().map(|function| (function.name, function.ty));
    let objects = module.globals.iter().map(|global| (global.name, global.ty));
    let all = functions.chain(objects).filter(|(name, _)| module.absent.contains(name));
    all.map(move |(name, ty)| Global {
        name: address(name),
        ty: constant(ty),
        linkage: Linkage::External,
        size: types.size(constant(ty)).unwrap_or(0),
        defined: false,
        constant: true,
        init: Vec::new(),
        hidden: Vec::new(),
    })
}

/// Whose address a constant is.
pub(crate) fn target(constant: Name) -> Option<Name> {
    constant.as_str().strip_prefix(ADDRESS).map(Name::new)
}

fn address(name: Name) -> Name {
    Name::new(&format!("{ADDRESS}{name}"))
}

fn constant(ty: Type) -> Type {
    ty.pointer_to().qualified(Qualifiers { is_const: true, ..Qualifiers::default() })
}
