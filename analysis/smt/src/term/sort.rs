//! Sorts (types) of terms. A sort is a small copyable value; array sorts are interned so that they stay one.

use std::collections::BTreeSet;
use std::fmt;

use parking_lot::Mutex;

/// The sort of a term. Ordered by structure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sort {
    /// Truth values.
    Bool,
    /// Unbounded mathematical integers.
    Int,
    /// Bit vectors of this width in bits, at least 1.
    BitVec(u32),
    /// IEEE 754 numbers.
    Float(FloatSort),
    /// Total maps.
    Array(ArraySort),
}

/// Widths of an IEEE 754 format as SMT-LIB counts them: the significand includes the hidden bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FloatSort {
    /// Bits of the exponent (8 for `float`, 11 for `double`).
    pub exponent: u32,
    /// Bits of the significand with the hidden bit (24 for `float`, 53 for `double`).
    pub significand: u32,
}

impl FloatSort {
    /// C's `float` on every target we know.
    pub const F32: FloatSort = FloatSort { exponent: 8, significand: 24 };
    /// C's `double` on every target we know.
    pub const F64: FloatSort = FloatSort { exponent: 11, significand: 53 };

    /// Bits of the IEEE interchange format.
    #[must_use]
    pub fn width(self) -> u32 {
        self.exponent + self.significand
    }
}

/// Index and element sort of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArraySort(&'static (Sort, Sort));

static ARRAYS: Mutex<BTreeSet<&'static (Sort, Sort)>> = Mutex::new(BTreeSet::new());

impl ArraySort {
    /// The sort of the indices.
    #[must_use]
    pub fn index(self) -> Sort {
        self.0.0
    }

    /// The sort of the elements.
    #[must_use]
    pub fn element(self) -> Sort {
        self.0.1
    }
}

impl Sort {
    /// The sort of arrays from `index` to `element`.
    #[must_use]
    pub fn array(index: Sort, element: Sort) -> Sort {
        let mut table = ARRAYS.lock();
        let key = (index, element);
        if let Some(known) = table.get(&key) {
            return Sort::Array(ArraySort(known));
        }
        let leaked: &'static (Sort, Sort) = Box::leak(Box::new(key));
        table.insert(leaked);
        Sort::Array(ArraySort(leaked))
    }

    /// The width, if this is a bit-vector sort.
    #[must_use]
    pub fn width(self) -> Option<u32> {
        match self {
            Sort::BitVec(width) => Some(width),
            Sort::Bool | Sort::Int | Sort::Float(_) | Sort::Array(_) => None,
        }
    }

    /// The widths, if this is a floating-point sort.
    #[must_use]
    pub fn float(self) -> Option<FloatSort> {
        match self {
            Sort::Float(float) => Some(float),
            Sort::Bool | Sort::Int | Sort::BitVec(_) | Sort::Array(_) => None,
        }
    }

    /// Index and element sort, if this is an array sort.
    #[must_use]
    pub fn as_array(self) -> Option<ArraySort> {
        match self {
            Sort::Array(array) => Some(array),
            Sort::Bool | Sort::Int | Sort::BitVec(_) | Sort::Float(_) => None,
        }
    }
}

impl fmt::Display for Sort {
    /// SMT-LIB 2.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sort::Bool => write!(f, "Bool"),
            Sort::Int => write!(f, "Int"),
            Sort::BitVec(width) => write!(f, "(_ BitVec {width})"),
            Sort::Float(float) => write!(f, "(_ FloatingPoint {} {})", float.exponent, float.significand),
            Sort::Array(array) => write!(f, "(Array {} {})", array.index(), array.element()),
        }
    }
}

impl fmt::Debug for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ArraySort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Sort::Array(*self), f)
    }
}
