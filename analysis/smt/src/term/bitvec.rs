//! Constants of bit-vector sorts and the SMT-LIB operations on them, exactly. Used by folding and by evaluation;
//! held against Z3 by the property tests. Binary operators take vectors of one width (`concat` takes any two); which width the others
//! would be is not said, so callers go through well-sorted terms (`Op::sort`).

use num_bigint::{BigInt, BigUint, Sign};

/// A bit vector: `value < 2^width`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BitVec {
    width: u32,
    value: BigUint,
}

fn zero() -> BigUint {
    BigUint::from(0u32)
}

/// `2^exponent`.
#[must_use]
pub fn power_of_two(exponent: u32) -> BigInt {
    BigInt::from(1) << exponent
}

fn mask(width: u32) -> BigUint {
    (BigUint::from(1u32) << width) - 1u32
}

impl BitVec {
    /// `value` modulo `2^width`.
    ///
    /// # Panics
    /// If `width` is 0.
    #[must_use]
    pub fn new(width: u32, value: &BigInt) -> BitVec {
        assert!(width > 0, "a bit vector has at least one bit");
        let modulus = power_of_two(width);
        let rest = ((value % &modulus) + &modulus) % &modulus;
        BitVec { width, value: rest.magnitude().clone() }
    }

    fn raw(width: u32, value: BigUint) -> BitVec {
        BitVec { width, value: value & mask(width) }
    }

    /// How many bits, at least 1.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The value in `0 .. 2^width`.
    #[must_use]
    pub fn unsigned(&self) -> BigInt {
        BigInt::from_biguint(Sign::Plus, self.value.clone())
    }

    /// The value in `-2^(width-1) .. 2^(width-1)` (two's complement).
    #[must_use]
    pub fn signed(&self) -> BigInt {
        if self.bit(self.width - 1) { self.unsigned() - power_of_two(self.width) } else { self.unsigned() }
    }

    /// Bit `i`, 0 being the least significant.
    #[must_use]
    pub fn bit(&self, i: u32) -> bool {
        self.value.bit(u64::from(i))
    }

    /// All bits 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.value == zero()
    }

    /// The value 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.value == BigUint::from(1u32)
    }

    /// All bits 1.
    #[must_use]
    pub fn is_ones(&self) -> bool {
        self.value == mask(self.width)
    }

    /// Digits of the value in base 2, exactly `width` of them.
    #[must_use]
    pub fn binary(&self) -> String {
        let digits = self.value.to_str_radix(2);
        format!("{digits:0>width$}", width = self.width as usize)
    }

    /// Bitwise complement.
    #[must_use]
    pub fn not(&self) -> BitVec {
        BitVec { width: self.width, value: mask(self.width) ^ &self.value }
    }

    /// `-x` modulo `2^width`.
    #[must_use]
    pub fn neg(&self) -> BitVec {
        BitVec::new(self.width, &-self.unsigned())
    }

    /// Bitwise and.
    #[must_use]
    pub fn and(&self, other: &BitVec) -> BitVec {
        BitVec { width: self.width, value: &self.value & &other.value }
    }

    /// Bitwise or.
    #[must_use]
    pub fn or(&self, other: &BitVec) -> BitVec {
        BitVec { width: self.width, value: &self.value | &other.value }
    }

    /// Bitwise exclusive or.
    #[must_use]
    pub fn xor(&self, other: &BitVec) -> BitVec {
        BitVec { width: self.width, value: &self.value ^ &other.value }
    }

    /// Sum modulo `2^width`.
    #[must_use]
    pub fn add(&self, other: &BitVec) -> BitVec {
        BitVec::raw(self.width, &self.value + &other.value)
    }

    /// Product modulo `2^width`.
    #[must_use]
    pub fn mul(&self, other: &BitVec) -> BitVec {
        BitVec::raw(self.width, &self.value * &other.value)
    }

    /// Unsigned quotient; all ones if the divisor is 0.
    #[must_use]
    pub fn udiv(&self, other: &BitVec) -> BitVec {
        if other.is_zero() {
            return BitVec { width: self.width, value: mask(self.width) };
        }
        BitVec { width: self.width, value: &self.value / &other.value }
    }

    /// Unsigned remainder; the dividend if the divisor is 0.
    #[must_use]
    pub fn urem(&self, other: &BitVec) -> BitVec {
        if other.is_zero() {
            return self.clone();
        }
        BitVec { width: self.width, value: &self.value % &other.value }
    }

    /// Signed quotient, truncated toward zero; 1 or -1 if the divisor is 0 (for a negative or other dividend).
    #[must_use]
    pub fn sdiv(&self, other: &BitVec) -> BitVec {
        if other.is_zero() {
            let one = BigInt::from(if self.bit(self.width - 1) { 1 } else { -1 });
            return BitVec::new(self.width, &one);
        }
        BitVec::new(self.width, &(self.signed() / other.signed()))
    }

    /// Signed remainder with the sign of the dividend; the dividend if the divisor is 0.
    #[must_use]
    pub fn srem(&self, other: &BitVec) -> BitVec {
        if other.is_zero() {
            return self.clone();
        }
        BitVec::new(self.width, &(self.signed() % other.signed()))
    }

    /// The shift distance, if it is below the width.
    fn distance(&self, by: &BitVec) -> Option<u32> {
        let d = u32::try_from(&by.value).ok()?;
        (d < self.width).then_some(d)
    }

    /// Left shift; 0 if the distance reaches the width.
    #[must_use]
    pub fn shl(&self, by: &BitVec) -> BitVec {
        BitVec::raw(self.width, self.distance(by).map_or_else(zero, |d| &self.value << d))
    }

    /// Logical right shift; 0 if the distance reaches the width.
    #[must_use]
    pub fn lshr(&self, by: &BitVec) -> BitVec {
        BitVec::raw(self.width, self.distance(by).map_or_else(zero, |d| &self.value >> d))
    }

    /// Arithmetic right shift; the sign everywhere if the distance reaches the width.
    #[must_use]
    pub fn ashr(&self, by: &BitVec) -> BitVec {
        let d = self.distance(by).unwrap_or(self.width - 1);
        BitVec::new(self.width, &(self.signed() >> d))
    }

    /// Whether `self <= other` as unsigned numbers.
    #[must_use]
    pub fn ule(&self, other: &BitVec) -> bool {
        self.value <= other.value
    }

    /// Whether `self <= other` as two's complement numbers.
    #[must_use]
    pub fn sle(&self, other: &BitVec) -> bool {
        self.signed() <= other.signed()
    }

    /// `self` in front of `low`: the width is the sum of both.
    #[must_use]
    pub fn concat(&self, low: &BitVec) -> BitVec {
        BitVec { width: self.width + low.width, value: (&self.value << low.width) | &low.value }
    }

    /// Bits `high` down to `low`, both included, bit 0 being the least significant.
    ///
    /// # Panics
    /// If `low > high`.
    #[must_use]
    pub fn extract(&self, high: u32, low: u32) -> BitVec {
        BitVec::raw(high - low + 1, &self.value >> low)
    }

    /// `by` zero bits in front.
    #[must_use]
    pub fn zero_extend(&self, by: u32) -> BitVec {
        BitVec { width: self.width + by, value: self.value.clone() }
    }

    /// `by` copies of the sign bit in front.
    #[must_use]
    pub fn sign_extend(&self, by: u32) -> BitVec {
        BitVec::new(self.width + by, &self.signed())
    }
}
