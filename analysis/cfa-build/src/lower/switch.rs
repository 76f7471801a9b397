//! `switch`: a chain of tests in front of the body, whose labels may stand anywhere in it (fall-through and Duff's device need
//! nothing special).

use std::sync::Arc;

use proofline_hir::body::{ExprId, StmtId};

use super::{build::Lowering, fold, scope::Alive};
use proofline_cfa::{Base, CompareOp, Expr, Loc, Op, Site, Step};

/// Labels of a switch, as they are found in its body.
#[derive(Default)]
pub(crate) struct Cases {
    cases: Vec<(i128, i128, Loc, Alive, Site)>,
    default: Option<(Loc, Alive, Site)>,
}

impl Lowering<'_> {
    pub(crate) fn switch(&mut self, stmt: StmtId, value: ExprId, body: StmtId) {
        let site = self.site(value);
        self.open_scope();
        let value = self.full_expression(
            |lowering| {
                let value = lowering.value(value);
                // What it reads may end with it.
                let lasts = lowering.returned.is_empty() || matches!(value, Expr::Int(..));
                if is_plain(&value) && lasts { value } else { lowering.save(value, site) }
            },
            |_| site,
        );
        let (start, alive) = (self.at, self.alive());
        let end = self.target();
        self.jumps.switches.push(Cases::default());
        self.jumps.breaks.push(end);
        self.at = self.location();
        self.substatement(body);
        self.jumps.breaks.pop();
        let cases = self.jumps.switches.pop().unwrap_or_default();
        let close = self.stmt_site(stmt);
        self.connect(Op::Skip, end.loc, close);

        self.at = start;
        for (first, last, loc, there, at) in cases.cases {
            self.dispatch(&value, first, last, at, |lowering| {
                lowering.transfer(&alive, &there, at);
                lowering.connect(Op::Skip, loc, at);
            });
        }
        match cases.default {
            Some((loc, there, at)) => {
                self.transfer(&alive, &there, at);
                self.connect(Op::Skip, loc, at);
            }
            None => self.connect(Op::Skip, end.loc, site),
        }
        self.at = end.loc;
        self.close_scope(site);
    }

    /// `first <= value <= last` goes where `found` says; here becomes the other way.
    fn dispatch(&mut self, value: &Expr, first: i128, last: i128, site: Site, found: impl FnOnce(&mut Self)) {
        let Some(ty) = value.int_type() else { return };
        let bound = |op, bound| fold::compare(op, value.clone(), Expr::Int(ty.wrap(bound), ty));
        let miss = self.location();
        if first == last {
            self.test(bound(CompareOp::Eq, first), miss, site);
        } else if first < last {
            self.test(bound(CompareOp::Ge, first), miss, site);
            self.test(bound(CompareOp::Le, last), miss, site);
        } else {
            return;
        }
        found(self);
        self.at = miss;
    }

    /// Goes on where the condition holds, to `miss` where not.
    fn test(&mut self, condition: Expr, miss: Loc, site: Site) {
        let hit = self.location();
        self.branch_on(condition, hit, miss, site);
        self.at = hit;
    }

    pub(crate) fn case(&mut self, stmt: StmtId, first: i128, last: i128) {
        let site = self.stmt_site(stmt);
        let loc = self.location();
        self.enter(loc, site);
        let alive = self.alive();
        if let Some(cases) = self.jumps.switches.last_mut() {
            cases.cases.push((first, last, loc, alive, site));
        }
    }

    pub(crate) fn default_case(&mut self, stmt: StmtId) {
        let site = self.stmt_site(stmt);
        let loc = self.location();
        self.enter(loc, site);
        let alive = self.alive();
        if let Some(cases) = self.jumps.switches.last_mut() {
            cases.default = Some((loc, alive, site));
        }
    }

    /// Two edges out of here, on a condition and on its negation; one if it is constant.
    pub(crate) fn branch_on(&mut self, condition: Expr, on_true: Loc, on_false: Loc, site: Site) {
        let condition = fold::condition(condition);
        if let Expr::Int(value, _) = condition {
            self.connect(Op::Skip, if value != 0 { on_true } else { on_false }, site);
            return;
        }
        let negated = condition.negated();
        self.connect(Op::Assume(condition), on_true, site);
        self.connect(Op::Assume(negated), on_false, site);
    }
}

/// A constant or the plain read of an object: may be repeated on several edges without its checks being repeated.
fn is_plain(value: &Expr) -> bool {
    match value {
        Expr::Int(..) => true,
        Expr::Load(lvalue) => {
            matches!(lvalue.base, Base::Local(_) | Base::Global(_))
                && lvalue.path.iter().all(|step| match step {
                    Step::Field { .. } => true,
                    Step::Index { index, .. } => matches!(Arc::as_ref(index), Expr::Int(..)),
                })
        }
        Expr::Cast(_, arg, _) => is_plain(arg),
        _ => false,
    }
}
