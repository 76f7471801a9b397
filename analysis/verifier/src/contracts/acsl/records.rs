//! What annotations say of records: `p->m <= p->n`, `p->m < 16`, and how many elements a member points to, `\valid(p->m + (0 .. p->n - 1))`.

use proofline_cfa::CompareOp;

use super::{
    super::{Fact, Member, Number, origin::types, record_invariants::record_of},
    Reader,
};

impl Reader<'_> {
    /// Something that holds of a record, if the text is that: `p->m <= p->n`, `p->m < 16`, `\valid(p->m + (0 .. p->n - 1))`.
    pub(super) fn fact(&mut self) -> Option<(usize, Fact)> {
        let start = self.at;
        let fact = if self.peek(0) == "\\valid" { self.room() } else { self.bound() };
        let fact = fact.filter(|_| matches!(self.peek(0), "" | "&&" | ")"));
        if fact.is_none() {
            self.at = start;
        }
        fact
    }

    /// Several of these.
    pub(super) fn facts(&mut self) -> Vec<(usize, Fact)> {
        let mut all = Vec::new();
        while let Some(fact) = self.fact() {
            all.push(fact);
            if !self.accept("&&") {
                break;
            }
        }
        all
    }

    fn room(&mut self) -> Option<(usize, Fact)> {
        self.at += 1;
        self.accept("(").then_some(())?;
        let (at, pointer) = self.member()?;
        let open = ["+", "(", "0", ".."];
        open.iter().all(|token| self.accept(token)).then_some(())?;
        let (other, count) = self.number()?;
        let closed = ["-", "1", ")", ")"];
        (closed.iter().all(|token| self.accept(token)) && other == Some(at)).then_some(())?;
        Fact::of_room(self.program, pointer, count).map(|fact| (at, fact))
    }

    fn bound(&mut self) -> Option<(usize, Fact)> {
        let (lhs, op, rhs) = (self.number()?, self.comparison_operator()?, self.number()?);
        let (least, most, is_less) = match op {
            CompareOp::Le => (lhs, rhs, false),
            CompareOp::Lt => (lhs, rhs, true),
            CompareOp::Ge => (rhs, lhs, false),
            CompareOp::Gt => (rhs, lhs, true),
            CompareOp::Eq | CompareOp::Ne => return None,
        };
        let at = least.0.or(most.0).filter(|at| least.0.is_none_or(|other| other == *at))?;
        let is_one = most.0.is_none_or(|other| other == at);
        let fact = Fact::at_most(self.program, least.1, most.1, is_less).filter(|_| is_one)?;
        Some((at, fact))
    }

    /// A member of a parameter's record, a product of two, or a number of the text.
    fn number(&mut self) -> Option<(Option<usize>, Number)> {
        if self.peek(1) == "->" {
            let (at, member) = self.member()?;
            if !self.accept("*") {
                return Some((Some(at), Number::Member(member)));
            }
            let (other, factor) = self.member()?;
            return (at == other).then_some((Some(at), Number::Product(member, factor)));
        }
        let is_negative = self.accept("-");
        let value: i64 = self.next().parse().ok()?;
        Some((None, Number::Constant(i128::from(if is_negative { -value } else { value }))))
    }

    /// `p->m`
    fn member(&mut self) -> Option<(usize, Member)> {
        let at = self.parameter(self.peek(0)).filter(|_| self.peek(1) == "->")?;
        let record = record_of(self.function, at)?;
        let fields = &types(self.program).record(record)?.fields;
        let field = fields.iter().find(|field| field.name.as_str() == self.peek(2))?;
        self.at += 3;
        Some((at, Member { record, offset: field.offset, name: field.name }))
    }
}
