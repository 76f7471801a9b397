//! What a value domain must be able to do: the operators of C's expressions on abstract values, forwards and backwards. An
//! operand `None` may be any value of its format. Knows formats and objects' identities, no states and no lvalues.

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Name, Object, Scalar, UnaryOp};

use crate::store::{offsets::Offsets, value::AbstractValue};

/// No execution goes on: the operation is undefined for all operands, or the condition cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Impossible;

/// A value, "any value of the format", or no execution.
pub type Eval<V> = Result<Option<V>, Impossible>;

/// What is known about objects where values are compared.
pub trait Objects {
    /// Whether the name denotes one concrete object now.
    fn is_single(&self, object: Object) -> bool;
    /// Bytes, if known.
    fn size(&self, object: Object) -> Option<u64>;
}

/// Where a pointer may point.
pub type Addresses = Vec<(Object, Offsets)>;

/// A value domain. Laws: every operator over-approximates [`proofline_cfa::eval`] on the concrete values; backward operators keep every
/// operand that can give a wanted result.
pub trait Arithmetic: Send + Sync + 'static {
    /// Abstract values.
    type Value: AbstractValue;

    /// An integer of the type.
    fn int(&self, ty: IntType, value: i128) -> Option<Self::Value>;
    /// Bits of an `f64` that equals the value.
    fn float(&self, bits: u64) -> Option<Self::Value>;
    /// The null pointer.
    fn null(&self) -> Self::Value;
    /// An address in an object.
    fn address(&self, object: Object, offsets: Offsets) -> Option<Self::Value>;
    /// A function.
    fn function(&self, name: Name) -> Option<Self::Value>;
    /// Any value of a type narrower than its format (`_Bool`, bit-fields).
    fn any_of(&self, ty: IntType) -> Option<Self::Value>;
    /// What a pointer to memory nobody names is known to be: any but null, where that can be said.
    fn non_null(&self) -> Option<Self::Value>;
    /// Integers between bounds.
    fn between(&self, ty: IntType, lo: i128, hi: i128) -> Option<Self::Value>;

    /// `op arg`
    fn unary(&self, op: UnaryOp, ty: Scalar, arg: Option<&Self::Value>) -> Eval<Self::Value>;
    /// `lhs op rhs`; `ty` is the format of `lhs`, `rhs_ty` that of `rhs`.
    fn binary(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs_ty: Scalar,
        rhs: Option<&Self::Value>,
    ) -> Eval<Self::Value>;
    /// `lhs op rhs`, if decided.
    fn compare(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs: Option<&Self::Value>,
        objects: &dyn Objects,
    ) -> Option<bool>;
    /// `(to)arg`
    fn cast(&self, from: Scalar, to: Scalar, arg: Option<&Self::Value>) -> Eval<Self::Value>;
    /// Whether the mathematical result is outside the type.
    fn overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs: Option<&Self::Value>,
    ) -> Option<bool>;
    /// Distance of two pointers into one array.
    fn difference(
        &self,
        lhs: Option<&Self::Value>,
        rhs: Option<&Self::Value>,
        stride: u64,
        ty: IntType,
    ) -> Option<Self::Value>;
    /// The pointer moved by some bytes.
    fn shift(&self, pointer: &Self::Value, by: Offsets) -> Option<Self::Value>;
    /// What a bit-field of this type (width and sign) keeps of a value.
    fn truncate(&self, field: IntType, value: &Self::Value) -> Option<Self::Value>;

    /// Whether the value counts as true.
    fn truth(&self, value: &Self::Value) -> Option<bool>;
    /// Bounds of an integer.
    fn range(&self, value: &Self::Value) -> Option<(i128, i128)>;
    /// Where a pointer may point apart from null and functions; `None`: not known. `Some([])`: nowhere.
    fn addresses(&self, value: &Self::Value) -> Option<Addresses>;
    /// Whether a pointer to a function may point to this one.
    fn may_call(&self, value: &Self::Value, function: Name) -> bool;

    /// Values in both.
    fn meet(
        &self,
        value: Option<&Self::Value>,
        wanted: &Self::Value,
        ty: Scalar,
        objects: &dyn Objects,
    ) -> Eval<Self::Value>;
    /// Operands for which the comparison holds; `None`: nothing learnt about that operand.
    #[expect(clippy::type_complexity, reason = "a pair of results")]
    fn where_compares(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs: Option<&Self::Value>,
        objects: &dyn Objects,
    ) -> Result<(Option<Self::Value>, Option<Self::Value>), Impossible>;
    /// Values that are not zero (or null); `None`: nothing learnt.
    fn where_true(&self, ty: Scalar, value: Option<&Self::Value>) -> Eval<Self::Value>;
    /// Arguments for which `op arg` is wanted.
    fn unary_backward(&self, op: UnaryOp, ty: Scalar, wanted: &Self::Value) -> Eval<Self::Value>;
    /// Arguments for which `(to)arg` is wanted, `arg` being among `now`.
    fn cast_backward(
        &self,
        from: Scalar,
        to: Scalar,
        now: Option<&Self::Value>,
        wanted: &Self::Value,
    ) -> Eval<Self::Value>;
    /// Operands for which `lhs op rhs` is wanted; `None` as for [`Arithmetic::where_compares`].
    #[expect(clippy::type_complexity, reason = "a pair of results")]
    fn binary_backward(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs_ty: Scalar,
        rhs: Option<&Self::Value>,
        wanted: &Self::Value,
    ) -> Result<(Option<Self::Value>, Option<Self::Value>), Impossible>;
    /// Operands for which [`Arithmetic::overflows`] is as given.
    #[expect(clippy::type_complexity, reason = "a pair of results")]
    fn where_overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Option<&Self::Value>,
        rhs: Option<&Self::Value>,
        overflows: bool,
    ) -> Result<(Option<Self::Value>, Option<Self::Value>), Impossible>;

    /// Whether it is worth remembering that a local equals an expression.
    fn keeps_definition(
        &self,
        function: &Function,
        local: LocalId,
        expr: &Expr,
        value: Option<&Self::Value>,
    ) -> bool;

    /// The value for people; `None`: not worth saying.
    fn show(&self, value: &Self::Value, ty: Scalar) -> Option<String>;
}
