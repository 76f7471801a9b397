//! Questions about the shape of expressions: what they mention. No values, no states.

use proofline_cfa::{Base, Expr, Function, LocalId, Lvalue, Object, Scalar, visit};

/// Whether the value depends on a local of the frame.
pub fn reads_local(expr: &Expr, local: LocalId) -> bool {
    any_read(expr, &mut |lvalue| lvalue.base == Base::Local(local))
}

/// Whether the lvalue is read in the expression, written in the same way.
pub fn reads(expr: &Expr, wanted: &Lvalue) -> bool {
    any_read(expr, &mut |lvalue| lvalue == wanted)
}

/// Whether the expression reads an lvalue like this.
pub fn any_read(expr: &Expr, is_wanted: &mut dyn FnMut(&Lvalue) -> bool) -> bool {
    let mut found = false;
    visit::reads_of_expr(expr, &mut |lvalue| found = found || is_wanted(lvalue));
    found
}

/// What memory (anything but locals of the frame) an expression reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryReads {
    /// By name.
    pub objects: Vec<Object>,
    /// Through a pointer.
    pub through_pointer: bool,
}

impl MemoryReads {
    /// Whether it reads none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.through_pointer
    }
}

/// The memory an expression of this function reads.
pub fn memory_reads(function: &Function, expr: &Expr) -> MemoryReads {
    let mut result = MemoryReads::default();
    visit::reads_of_expr(expr, &mut |lvalue| match &lvalue.base {
        Base::Local(id) if function.local(*id).address_taken => {
            result.objects.push(Object::Local(function.name, *id));
        }
        Base::Local(_) => {}
        Base::Global(name) => result.objects.push(Object::Global(*name)),
        Base::Deref(..) => result.through_pointer = true,
    });
    result
}

/// Number of nodes, and whether anything is read.
pub fn size_and_reads(expr: &Expr) -> (u32, bool) {
    let (mut size, mut reads) = (0, false);
    visit::walk(expr, &mut |part| {
        size += 1;
        reads |= matches!(part, Expr::Load(_));
    });
    (size, reads)
}

/// The local, when the lvalue is a whole scalar local whose address is not taken.
pub fn whole_local(function: &Function, lvalue: &Lvalue) -> Option<LocalId> {
    match lvalue.base {
        Base::Local(id)
            if lvalue.path.is_empty()
                && lvalue.bits.is_none()
                && lvalue.scalar.is_some()
                && !function.local(id).address_taken =>
        {
            Some(id)
        }
        Base::Local(_) | Base::Global(_) | Base::Deref(..) => None,
    }
}

/// The local whose value the expression is, seen through conversions between pointers.
pub fn copied_local(function: &Function, expr: &Expr) -> Option<LocalId> {
    match expr {
        Expr::Load(lvalue) => whole_local(function, lvalue),
        Expr::Cast(Scalar::Pointer, inner, _) if inner.scalar() == Scalar::Pointer => {
            copied_local(function, inner)
        }
        _ => None,
    }
}
