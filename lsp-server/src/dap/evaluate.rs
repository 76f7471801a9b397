//! Simple expressions over recorded values: names, numbers, C's operators on integers. What was not recorded has no value.

/// Evaluates an expression; `value` gives the recorded value of a name. The error is for people.
pub(super) fn evaluate(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let text = text.trim();
    // A recorded name may be more than an identifier: `a[3]`, `p->next`.
    if let Some(known) = value(text) {
        return Ok(known);
    }
    let mut parser = Parser { rest: text, value, depth: 0 };
    let result = parser.binary(0)?;
    parser.space();
    if !parser.rest.is_empty() {
        return Err(format!("cannot evaluate `{}`", parser.rest));
    }
    Ok(result.to_string())
}

/// Operators by precedence, the loosest first; longer spellings before their prefixes.
const OPERATORS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Deeper nesting is not evaluated.
const DEEPEST: u32 = 100;

struct Parser<'t> {
    rest: &'t str,
    value: &'t dyn Fn(&str) -> Option<String>,
    depth: u32,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn binary(&mut self, level: usize) -> Result<i128, String> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            self.space();
            let found = operators.iter().find(|operator| {
                let Some(behind) = self.rest.strip_prefix(**operator) else { return false };
                // `a & b` is not the beginning of `a && b`, `a < b` not of `a << b`.
                let next = behind.chars().next();
                !(operator.len() == 1
                    && next.is_some_and(|c| "&|<>=".contains(c) && "&|<>".contains(**operator)))
            });
            let Some(operator) = found else { return Ok(left) };
            self.rest = &self.rest[operator.len()..];
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)
                .ok_or_else(|| format!("`{left} {operator} {right}` has no value"))?;
        }
    }

    fn unary(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the expression is too deep".to_owned());
        }
        self.space();
        let mut chars = self.rest.chars();
        let result = match chars.next() {
            Some(operator @ ('-' | '!' | '~' | '+')) => {
                self.rest = chars.as_str();
                let operand = self.unary()?;
                match operator {
                    '-' => operand.checked_neg().ok_or("too large")?,
                    '!' => i128::from(operand == 0),
                    '~' => !operand,
                    _ => operand,
                }
            }
            Some('(') => {
                self.rest = chars.as_str();
                let inner = self.binary(0)?;
                self.space();
                self.rest = self.rest.strip_prefix(')').ok_or("`)` is missing")?;
                inner
            }
            Some(digit) if digit.is_ascii_digit() => {
                let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                number(word).ok_or_else(|| format!("`{word}` is no number"))?
            }
            Some(letter) if letter.is_alphabetic() || letter == '_' => self.name()?,
            _ => return Err(format!("cannot evaluate `{}`", self.rest)),
        };
        self.depth -= 1;
        Ok(result)
    }

    /// The longest recorded name that the text begins with.
    fn name(&mut self) -> Result<i128, String> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let mut ends: Vec<usize> =
            self.rest.match_indices(']').map(|(at, _)| at + 1).filter(|at| *at > end).collect();
        ends.insert(0, end);
        for end in ends.into_iter().rev() {
            let Some(known) = (self.value)(&self.rest[..end]) else { continue };
            let name = &self.rest[..end];
            self.rest = &self.rest[end..];
            return number(&known).ok_or_else(|| format!("`{name}` is {known}"));
        }
        Err(format!("no value of `{}` was recorded before this step", &self.rest[..end]))
    }
}

fn number(text: &str) -> Option<i128> {
    if text == "NULL" {
        return Some(0);
    }
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn apply(operator: &str, left: i128, right: i128) -> Option<i128> {
    let shift = || u32::try_from(right).ok().filter(|amount| *amount < 127);
    match operator {
        "||" => Some(i128::from(left != 0 || right != 0)),
        "&&" => Some(i128::from(left != 0 && right != 0)),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => Some(i128::from(left == right)),
        "!=" => Some(i128::from(left != right)),
        "<=" => Some(i128::from(left <= right)),
        ">=" => Some(i128::from(left >= right)),
        "<" => Some(i128::from(left < right)),
        ">" => Some(i128::from(left > right)),
        "<<" => left.checked_mul(1i128.checked_shl(shift()?)?),
        ">>" => Some(left >> shift()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}
