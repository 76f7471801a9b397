//! What a value domain must be able to do: the operators of C's expressions on abstract values, forwards and backwards. Knows formats and objects' identities, no states and no lvalues.

use proofline_cfa::{
    BinaryOp, CompareOp, Expr, Float, Function, IntType, LocalId, Name, Object, Scalar, UnaryOp,
};

use crate::store::{
    offsets::Offsets,
    value::{Abstract, AbstractValue},
};

/// No execution goes on: the operation is undefined for all operands, or the condition cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Impossible;

/// The value of an expression, or no execution that goes on.
pub type Eval<V> = Result<Abstract<V>, Impossible>;

/// The values of both operands with which an operation gives what is wanted; [`Abstract::Any`]: nothing is learnt of that operand.
pub type Operands<V> = Result<(Abstract<V>, Abstract<V>), Impossible>;

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
    fn int(&self, ty: IntType, value: i128) -> Abstract<Self::Value>;
    /// A floating number.
    fn float(&self, value: Float) -> Abstract<Self::Value>;
    /// The null pointer.
    fn null(&self) -> Self::Value;
    /// An address in an object.
    fn address(&self, object: Object, offsets: Offsets) -> Abstract<Self::Value>;
    /// A function.
    fn function(&self, name: Name) -> Abstract<Self::Value>;
    /// Any value of a type narrower than its format (`_Bool`, bit-fields).
    fn any_of(&self, ty: IntType) -> Abstract<Self::Value>;
    /// Null, or what was there before the run began: an address of no object that the run itself allocates, and of no variable of its functions.
    fn older(&self) -> Abstract<Self::Value>;
    /// What a pointer to unnamed memory is known to be: any but null, where that can be said.
    fn non_null(&self) -> Abstract<Self::Value>;
    /// Integers between bounds.
    fn between(&self, ty: IntType, lo: i128, hi: i128) -> Abstract<Self::Value>;

    /// `op arg`
    ///
    /// # Errors
    /// [`Impossible`] if no argument has a result.
    fn unary(&self, op: UnaryOp, ty: Scalar, arg: Abstract<&Self::Value>) -> Eval<Self::Value>;
    /// `lhs op rhs`; `ty` is the format of `lhs`, `rhs_ty` that of `rhs`.
    ///
    /// # Errors
    /// [`Impossible`] if no operands have a result.
    fn binary(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs_ty: Scalar,
        rhs: Abstract<&Self::Value>,
    ) -> Eval<Self::Value>;
    /// `lhs op rhs`, if decided.
    fn compare(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs: Abstract<&Self::Value>,
        objects: &dyn Objects,
    ) -> Option<bool>;
    /// `(to)arg`
    ///
    /// # Errors
    /// [`Impossible`] if no argument has a result.
    fn cast(&self, from: Scalar, to: Scalar, arg: Abstract<&Self::Value>) -> Eval<Self::Value>;
    /// Whether the mathematical result is outside the type.
    fn overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs: Abstract<&Self::Value>,
    ) -> Option<bool>;
    /// Distance of two pointers into one array.
    fn difference(
        &self,
        lhs: Abstract<&Self::Value>,
        rhs: Abstract<&Self::Value>,
        stride: u64,
        ty: IntType,
    ) -> Abstract<Self::Value>;
    /// The pointer moved by some bytes.
    fn shift(&self, pointer: &Self::Value, by: Offsets) -> Abstract<Self::Value>;
    /// What a bit-field of this type (width and sign) keeps of a value.
    fn truncate(&self, field: IntType, value: &Self::Value) -> Abstract<Self::Value>;

    /// Whether the value counts as true.
    fn truth(&self, value: &Self::Value) -> Option<bool>;
    /// Bounds of an integer.
    fn range(&self, value: &Self::Value) -> Option<(i128, i128)>;
    /// Where a pointer may point apart from null and functions; `None`: not known. `Some([])`: nowhere.
    fn addresses(&self, value: &Self::Value) -> Option<Addresses>;
    /// Of the objects of the run itself, those that it may point to; `None`: not known.
    fn newer(&self, value: &Self::Value) -> Option<Addresses>;
    /// The functions that it may point to; `None`: not known.
    fn functions(&self, value: &Self::Value) -> Option<Vec<Name>>;
    /// Whether a pointer to a function may point to this one.
    fn may_call(&self, value: &Self::Value, function: Name) -> bool {
        self.functions(value).is_none_or(|functions| functions.contains(&function))
    }

    /// Values in both.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn meet(
        &self,
        value: Abstract<&Self::Value>,
        wanted: &Self::Value,
        ty: Scalar,
        objects: &dyn Objects,
    ) -> Eval<Self::Value>;
    /// Whether any two of the operands compare: for floats, that neither is NaN. Then a comparison that does not hold is its opposite.
    fn are_ordered(&self, ty: Scalar, lhs: Abstract<&Self::Value>, rhs: Abstract<&Self::Value>) -> bool;
    /// Operands for which the comparison holds.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn where_compares(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs: Abstract<&Self::Value>,
        objects: &dyn Objects,
    ) -> Operands<Self::Value>;
    /// Those of the values that are not zero (or null).
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn where_true(&self, ty: Scalar, value: Abstract<&Self::Value>) -> Eval<Self::Value>;
    /// Arguments for which `op arg` is wanted.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn unary_backward(&self, op: UnaryOp, ty: Scalar, wanted: &Self::Value) -> Eval<Self::Value>;
    /// Arguments for which `(to)arg` is wanted, `arg` being among `now`.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn cast_backward(
        &self,
        from: Scalar,
        to: Scalar,
        now: Abstract<&Self::Value>,
        wanted: &Self::Value,
    ) -> Eval<Self::Value>;
    /// Operands for which `lhs op rhs` is wanted.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn binary_backward(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs_ty: Scalar,
        rhs: Abstract<&Self::Value>,
        wanted: &Self::Value,
    ) -> Operands<Self::Value>;
    /// Operands for which [`Arithmetic::overflows`] is as given.
    ///
    /// # Errors
    /// [`Impossible`] if there are none.
    fn where_overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&Self::Value>,
        rhs: Abstract<&Self::Value>,
        overflows: bool,
    ) -> Operands<Self::Value>;

    /// Whether it is worth remembering that a local equals an expression.
    fn keeps_definition(
        &self,
        function: &Function,
        local: LocalId,
        expr: &Expr,
        value: Abstract<&Self::Value>,
    ) -> bool;

    /// The value for people; `None`: not worth saying.
    fn show(&self, value: &Self::Value, ty: Scalar) -> Option<String>;
}
