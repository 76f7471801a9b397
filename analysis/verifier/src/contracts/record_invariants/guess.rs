//! What may hold of a record, guessed from what functions do with its members: those that they compare, those that count elements of an array, and the numbers
//! of the text that are near. Which guesses hold, engines say (`portfolio::contracts`).

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, Function, IntType, Loc, LocalId, Lvalue, Name, Op, Program, Scalar,
    Step, visit,
};

use super::{
    super::{Member, origin::types},
    Fact, Number, int_type,
};

/// So many guesses are made of one record.
const MOST: usize = 40;

/// The guesses about each record with members that these functions look at.
pub(crate) fn guessed<'f>(
    functions: impl Iterator<Item = (&'f Program, &'f Function)>,
) -> BTreeMap<Name, BTreeSet<Fact>> {
    let mut all: BTreeMap<Name, BTreeSet<Fact>> = BTreeMap::new();
    let mut asked = Vec::new();
    for (program, function) in functions {
        let held = held(program, function);
        let (compared, multiplied) = (BTreeSet::new(), BTreeSet::new());
        let mut look = Look { program, held: &held, all: &mut all, asked: &mut asked, compared, multiplied };
        // What obligations ask is no question of the text.
        let errors: BTreeSet<Loc> = function.obligations.iter().map(|obligation| obligation.error).collect();
        let demands: BTreeSet<Loc> =
            function.edges.iter().filter(|edge| errors.contains(&edge.to)).map(|edge| edge.from).collect();
        for edge in &function.edges {
            look.operation(&edge.op, demands.contains(&edge.from));
        }
        look.tables();
    }
    for facts in all.values_mut() {
        facts.retain(|fact| !asked.iter().any(|question| question.is_answered(fact)));
    }
    all.retain(|_, facts| !facts.is_empty() && facts.len() <= MOST);
    all
}

/// What is left of guesses that hold: of several limits of a member the closest one, of several rooms the largest. That two members are always equal, a
/// function shows best that never gets to where it changes one of them.
pub(crate) fn plain(facts: &BTreeSet<Fact>) -> BTreeSet<Fact> {
    let says_more = |fact: &Fact, other: &Fact| match (fact, other) {
        (
            Fact::AtMost { least, most, is_less },
            Fact::AtMost { least: lower, most: upper, is_less: is_strict },
        ) => match (most, upper) {
            (Number::Constant(most), Number::Constant(than)) => lower == least && than < most,
            _ if (lower, upper) == (least, most) => *is_strict && !is_less,
            _ => lower == most && upper == least,
        },
        (Fact::Room { pointer, count, .. }, Fact::Room { pointer: same, count: larger, .. }) => {
            let is_larger = |is_less: bool| {
                let (least, most) = (count.clone(), larger.clone());
                facts.contains(&Fact::AtMost { least, most, is_less })
            };
            pointer == same && (is_larger(false) || is_larger(true))
        }
        _ => false,
    };
    facts.iter().filter(|fact| !facts.iter().any(|other| says_more(fact, other))).cloned().collect()
}

/// A comparison of the text: a member, less another one, with a number. Whoever asks thinks that it may hold, and that it may not.
struct Question {
    member: Member,
    other: Option<Member>,
    op: CompareOp,
    number: i128,
}

impl Question {
    /// Whether a fact alone says the answer.
    fn is_answered(&self, fact: &Fact) -> bool {
        let (member, other) = (Some(&self.member), self.other.as_ref());
        let Fact::AtMost { least, most, is_less } = fact else { return false };
        let by = i128::from(*is_less);
        let (most, least) = match (least.member(), most.member(), least, most) {
            (a, b, ..) if other.is_some() && a == member && b == other => (Some(-by), None),
            (a, b, ..) if other.is_some() && a == other && b == member => (None, Some(by)),
            (a, None, _, Number::Constant(most)) if other.is_none() && a == member => (Some(*most), None),
            (None, b, Number::Constant(least), _) if other.is_none() && b == member => (None, Some(*least)),
            _ => return false,
        };
        // The smallest number that answers one way, and the largest that answers the other.
        let (low, high) = match self.op {
            CompareOp::Lt | CompareOp::Ge => (self.number - 1, self.number),
            CompareOp::Le | CompareOp::Gt => (self.number, self.number + 1),
            CompareOp::Eq | CompareOp::Ne => (self.number, self.number),
        };
        most.is_some_and(|most| high > most) || least.is_some_and(|least| low < least)
    }
}

/// The members of records that a function itself writes.
pub(crate) fn written(function: &Function) -> BTreeSet<Member> {
    let mut all = BTreeSet::new();
    for edge in &function.edges {
        visit::mentions(&edge.op, &mut |mention| {
            if let visit::Mention::Write(place) = mention {
                all.extend(place.path.iter().filter_map(|step| match step {
                    Step::Field { record, name, offset } => {
                        Some(Member { record: *record, offset: *offset, name: *name })
                    }
                    Step::Index { .. } => None,
                }));
            }
        });
    }
    all
}

/// Members whose values locals hold, or numbers made from these.
fn held(program: &Program, function: &Function) -> BTreeMap<LocalId, BTreeSet<Member>> {
    let mut held: BTreeMap<LocalId, BTreeSet<Member>> = BTreeMap::new();
    loop {
        let before = held.clone();
        for edge in &function.edges {
            if let Op::Assign(Lvalue { base: Base::Local(id), path, .. }, value) = &edge.op
                && path.is_empty()
            {
                let read = members_in(program, value, &before);
                held.entry(*id).or_default().extend(read);
            }
        }
        if held == before {
            return held;
        }
    }
}

/// The members that an expression is a sum of, or that locals hold which it is a sum of.
fn members_in(
    program: &Program,
    expr: &Expr,
    held: &BTreeMap<LocalId, BTreeSet<Member>>,
) -> BTreeSet<Member> {
    let again = |expr: &Expr| members_in(program, expr, held);
    match expr {
        Expr::Cast(Scalar::Int(_), arg, _) => again(arg),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, lhs, rhs, _) => &again(lhs) | &again(rhs),
        Expr::Load(Lvalue { base: Base::Local(id), path, .. }) if path.is_empty() => {
            held.get(id).cloned().unwrap_or_default()
        }
        Expr::Load(Lvalue { path, .. }) => {
            let Some(Step::Field { record, name, offset }) = path.last() else { return BTreeSet::new() };
            let member = Member { record: *record, offset: *offset, name: *name };
            int_type(program, &member).map(|_| member).into_iter().collect()
        }
        _ => BTreeSet::new(),
    }
}

struct Look<'l> {
    program: &'l Program,
    held: &'l BTreeMap<LocalId, BTreeSet<Member>>,
    all: &'l mut BTreeMap<Name, BTreeSet<Fact>>,
    asked: &'l mut Vec<Question>,
    /// Members that are compared with something.
    compared: BTreeSet<Member>,
    /// Members that are factors, and the types of the products.
    multiplied: BTreeSet<(Member, IntType)>,
}

impl Look<'_> {
    fn operation(&mut self, op: &Op, is_demand: bool) {
        let mut exprs = Vec::new();
        if let Op::Assume(condition) | Op::Assign(_, condition) = op {
            exprs.push(condition.clone());
        }
        for expr in &exprs {
            visit::walk(expr, &mut |part| match part {
                Expr::Compare(op, lhs, rhs) => {
                    if !is_demand {
                        self.asked.extend(self.question(*op, lhs, rhs));
                    }
                    self.compared(lhs, rhs);
                }
                Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => {
                    let factors = &self.members(lhs) | &self.members(rhs);
                    let ty = part.int_type();
                    self.multiplied.extend(factors.into_iter().filter_map(|member| Some((member, ty?))));
                }
                Expr::Binary(BinaryOp::Rem, value, by, _) => {
                    if let Expr::Int(by, _) = **by {
                        // What was computed from a member is often put there.
                        self.below(value, by);
                    }
                }
                _ => {}
            });
        }
        let mut places = Vec::new();
        visit::mentions(op, &mut |mention| match mention {
            visit::Mention::Read(place) | visit::Mention::Write(place) => places.push(place.clone()),
            visit::Mention::Value(_) => {}
        });
        visit::reads(op, &mut |place| places.push(place.clone()));
        for step in places.iter().flat_map(|place| &place.path) {
            if let Step::Index { index, length: Some(length), .. } = step {
                self.below(index, i128::from(*length));
            }
        }
    }

    fn question(&self, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Option<Question> {
        let (member, more) = self.linear(lhs)?;
        if let Expr::Int(number, _) = rhs {
            return Some(Question { member, other: None, op, number: number - more });
        }
        let (other, less) = self.linear(rhs)?;
        Some(Question { member, other: Some(other), op, number: less - more })
    }

    /// A member and a number that is added to it.
    fn linear(&self, expr: &Expr) -> Option<(Member, i128)> {
        match expr {
            Expr::Cast(Scalar::Int(_), arg, _) => self.linear(arg),
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs, _) => {
                let Expr::Int(number, _) = **rhs else { return None };
                let (member, more) = self.linear(lhs)?;
                Some((member, if *op == BinaryOp::Add { more + number } else { more - number }))
            }
            Expr::Load(lvalue) if !matches!(lvalue.base, Base::Local(_)) => {
                let mut members = self.members(expr).into_iter();
                members.next().filter(|_| members.next().is_none()).map(|member| (member, 0))
            }
            _ => None,
        }
    }

    fn members(&self, expr: &Expr) -> BTreeSet<Member> {
        members_in(self.program, expr, self.held)
    }

    fn compared(&mut self, lhs: &Expr, rhs: &Expr) {
        if let Expr::Int(number, _) = rhs {
            for member in self.members(lhs) {
                self.bounded(&member, *number);
                self.bounded(&member, *number - 1);
            }
            return;
        }
        let all: BTreeSet<Member> = &self.members(lhs) | &self.members(rhs);
        for member in &all {
            self.rooms(member.record, &Number::Member(member.clone()));
            self.not_negative(member);
        }
        self.compared.extend(all.iter().cloned());
        for one in &all {
            for other in all.iter().filter(|other| *other != one && other.record == one.record) {
                if int_type(self.program, one) == int_type(self.program, other) {
                    self.add(one.record, Number::Member(one.clone()), Number::Member(other.clone()));
                }
            }
        }
    }

    /// It is an index of so many elements, or one behind the last.
    fn below(&mut self, index: &Expr, length: i128) {
        for member in self.members(index) {
            self.bounded(&member, length);
            self.bounded(&member, length - 1);
        }
    }

    fn bounded(&mut self, member: &Member, most: i128) {
        self.not_negative(member);
        if most >= 1 && int_type(self.program, member).is_some_and(|ty| ty.contains(most)) {
            self.add(member.record, Number::Member(member.clone()), Number::Constant(most));
        }
    }

    fn not_negative(&mut self, member: &Member) {
        if int_type(self.program, member).is_some_and(|ty| ty.signed) {
            self.add(member.record, Number::Constant(0), Number::Member(member.clone()));
        }
    }

    /// What is the factor of an index may say how long a row is, and what others are compared with, how many rows there are.
    fn tables(&mut self) {
        let all = std::mem::take(&mut self.multiplied);
        for (width, ty) in all.clone() {
            let others = self.compared.iter().chain(all.iter().map(|(member, _)| member));
            let others = others.filter(|member| member.record == width.record && **member != width);
            let mut heights: BTreeSet<Member> = others.cloned().collect();
            if heights.is_empty() {
                heights.insert(width.clone());
            }
            for height in heights {
                let (first, second) = (height.clone().min(width.clone()), height.clone().max(width.clone()));
                let number = Number::Product(first, second);
                if number.int_type(self.program).is_none() {
                    continue;
                }
                self.not_negative(&height);
                self.not_negative(&width);
                self.rooms(width.record, &number);
                let most = Number::Constant(ty.max());
                let fits = Fact::at_most(self.program, number, most, false).filter(|_| ty.bits <= 32);
                self.all.entry(width.record).or_default().extend(fits);
            }
        }
    }

    /// It may say how many elements there are where a pointer of its record leads.
    fn rooms(&mut self, record: Name, count: &Number) {
        let types = types(self.program);
        let fields = types.record(record).into_iter().flat_map(|record| &record.fields);
        for field in fields {
            let stride = field.ty.pointee().and_then(|pointee| types.size(pointee)).filter(|size| *size > 0);
            if let Some(stride) = stride {
                let pointer = Member { record, offset: field.offset, name: field.name };
                let fact = Fact::Room { pointer, count: count.clone(), stride };
                self.all.entry(record).or_default().insert(fact);
            }
        }
    }

    fn add(&mut self, record: Name, least: Number, most: Number) {
        let facts = self.all.entry(record).or_default();
        if least.member().is_some() && most.member().is_some() {
            facts.insert(Fact::AtMost { least: least.clone(), most: most.clone(), is_less: true });
        }
        facts.insert(Fact::AtMost { least, most, is_less: false });
    }
}
