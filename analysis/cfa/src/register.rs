//! Objects at addresses that are numbers, the registers of devices: how they are called, and where they are. The name of one is the C text of what
//! it is, so no object of a program has such a name. Must not know how programs use them.

use proofline_hir::Name;

use crate::Program;

/// What a pointer of this type with this value points to: `*(volatile int *)0x4000`.
pub fn name(pointer: &str, address: u128) -> Name {
    Name::new(&format!("*({pointer}){address:#x}"))
}

/// The pointer in C, if it is the name of such an object: `(volatile int *)0x4000`.
pub fn pointer(name: Name) -> Option<&'static str> {
    name.as_str().strip_prefix('*').filter(|pointer| pointer.starts_with('('))
}

/// The address of an object in C: `&x`, and of a register the pointer.
pub fn address_text(object: &str) -> String {
    match object.strip_prefix('*').filter(|pointer| pointer.starts_with('(')) {
        Some(pointer) => pointer.to_owned(),
        None => format!("&{object}"),
    }
}

/// The number that such an object is at.
pub fn address(name: Name) -> Option<u128> {
    let (_, number) = pointer(name)?.rsplit_once(")0x")?;
    u128::from_str_radix(number, 16).ok()
}

/// Two objects of more than one register each that have bytes in common. Analyses take the addresses of two objects for different ones.
pub fn overlap(program: &Program) -> Option<(Name, Name)> {
    let types = crate::Types { records: &program.records, model: program.data_model };
    let of = program.globals.values().filter(|global| types.scalar(global.ty).is_none());
    let mut all: Vec<(u128, u128, Name)> = of
        .filter_map(|global| {
            let start = address(global.name)?;
            Some((start, start + u128::from(global.size), global.name))
        })
        .collect();
    all.sort_unstable();
    // Sorted by where they begin: if two overlap, so do neighbours.
    all.windows(2).find(|pair| pair[1].0 < pair[0].1).map(|pair| (pair[0].2, pair[1].2))
}
