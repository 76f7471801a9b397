//! Terms as bytes: each node once, named by its number in the order of sending. Both sides count alike.

use rustc_hash::FxHashMap;

use super::bytes::{Input, Output};
use super::operators::{SYMBOLS, read_op, read_sort, write_op, write_sort};
use crate::term::{Func, Name, Op, Sort, Term, Var};

const VAR: u8 = SYMBOLS;
const APPLY: u8 = SYMBOLS + 1;
const FORALL: u8 = SYMBOLS + 2;
const EXISTS: u8 = SYMBOLS + 3;

/// What the other side knows.
#[derive(Debug, Default)]
pub(super) struct Sent {
    terms: FxHashMap<Term, u64>,
    names: FxHashMap<Name, u64>,
}

impl Sent {
    /// Sends the nodes of `term` that the other side does not know, each after `mark`.
    pub(super) fn define(&mut self, out: &mut Output, mark: u8, term: Term) {
        if self.terms.contains_key(&term) {
            return;
        }
        let mut stack = vec![(term, false)];
        while let Some((term, ready)) = stack.pop() {
            if self.terms.contains_key(&term) {
                continue;
            }
            if ready || term.args().is_empty() {
                out.byte(mark);
                self.node(out, term);
            } else {
                stack.push((term, true));
                let terms = &self.terms;
                stack.extend(term.args().iter().filter(|a| !terms.contains_key(a)).map(|a| (*a, false)));
            }
        }
    }

    fn node(&mut self, out: &mut Output, term: Term) {
        let names = &mut self.names;
        write_op(out, term.op(), |out, op| symbol(names, out, op));
        let next = self.terms.len() as u64;
        out.count(term.args().len());
        for arg in term.args() {
            // Most arguments were sent a moment ago.
            out.number(next - self.terms[arg]);
        }
        self.terms.insert(term, next);
    }

    /// Names a term that was defined.
    ///
    /// # Panics
    /// If it was not.
    pub(super) fn term(&self, out: &mut Output, term: Term) {
        out.number(self.terms[&term]);
    }

    pub(super) fn var(&mut self, out: &mut Output, var: Var) {
        write_var(&mut self.names, out, var);
    }
}

fn write_name(names: &mut FxHashMap<Name, u64>, out: &mut Output, name: Name) {
    let next = names.len() as u64;
    let number = *names.entry(name).or_insert(next);
    out.number(number);
    if number == next {
        out.text(name.as_str());
    }
}

fn write_var(names: &mut FxHashMap<Name, u64>, out: &mut Output, var: Var) {
    write_name(names, out, var.name);
    out.number(var.index.into());
    write_sort(out, var.sort);
}

fn symbol(names: &mut FxHashMap<Name, u64>, out: &mut Output, op: &Op) {
    match op {
        Op::Var(var) => {
            out.byte(VAR);
            write_var(names, out, *var);
        }
        Op::Apply(function) => {
            out.byte(APPLY);
            write_name(names, out, function.name());
            out.count(function.params().len());
            function.params().iter().for_each(|sort| write_sort(out, *sort));
            write_sort(out, function.result());
        }
        Op::Forall(vars) => bind(names, out, FORALL, vars),
        Op::Exists(vars) => bind(names, out, EXISTS, vars),
        _ => unreachable!("`write_op` writes the other operators"),
    }
}

fn bind(names: &mut FxHashMap<Name, u64>, out: &mut Output, tag: u8, vars: &[Var]) {
    out.byte(tag);
    out.count(vars.len());
    vars.iter().for_each(|var| write_var(names, out, *var));
}

/// What the other side has sent.
#[derive(Debug, Default)]
pub(super) struct Known {
    terms: Vec<Term>,
    names: Vec<Name>,
}

impl Known {
    /// Reads a node.
    pub(super) fn define(&mut self, from: &mut Input<'_>) -> Option<()> {
        let op = self.op(from)?;
        let args = from.many(|from| self.argument(from))?;
        let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
        // An ill-sorted term would be a panic.
        op.sort(&sorts).ok()?;
        self.terms.push(Term::raw(op, args));
        Some(())
    }

    fn argument(&self, from: &mut Input<'_>) -> Option<Term> {
        let back = usize::try_from(from.number()?).ok().filter(|back| *back > 0)?;
        self.terms.get(self.terms.len().checked_sub(back)?).copied()
    }

    pub(super) fn term(&self, from: &mut Input<'_>) -> Option<Term> {
        self.terms.get(usize::try_from(from.number()?).ok()?).copied()
    }

    pub(super) fn formula(&self, from: &mut Input<'_>) -> Option<Term> {
        self.term(from).filter(|term| term.sort() == Sort::Bool)
    }

    pub(super) fn var(&mut self, from: &mut Input<'_>) -> Option<Var> {
        Some(Var { name: self.name(from)?, index: from.small()?, sort: read_sort(from)? })
    }

    fn name(&mut self, from: &mut Input<'_>) -> Option<Name> {
        let number = usize::try_from(from.number()?).ok()?;
        if number == self.names.len() {
            self.names.push(Name::new(from.text()?));
        }
        self.names.get(number).copied()
    }

    fn op(&mut self, from: &mut Input<'_>) -> Option<Op> {
        Some(match from.byte()? {
            VAR => Op::Var(self.var(from)?),
            APPLY => {
                let name = self.name(from)?;
                let params = from.many(read_sort)?;
                Op::Apply(Func::new(name.as_str(), &params, read_sort(from)?))
            }
            FORALL => Op::Forall(from.many(|from| self.var(from))?.into()),
            EXISTS => Op::Exists(from.many(|from| self.var(from))?.into()),
            tag => read_op(tag, from)?,
        })
    }
}
