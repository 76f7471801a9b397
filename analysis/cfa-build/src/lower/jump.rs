//! Jumps: where `break`, `continue`, `goto` and `return` lead. Gotos are connected when all labels are known.

use proofline_hir::{
    Name, Type,
    body::{BinaryOp, Body, ExprId, ExprKind, LabelId, StmtId},
};
use proofline_syntax::DataModel;

use super::{
    build::Lowering,
    expr::{int_constant, unmodelled},
    scope::{Alive, Depth},
    switch::Cases,
};
use proofline_cfa::{Expr, Loc, Lvalue, Op, Scalar, Site};

/// Where a `break` or `continue` leads.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) loc: Loc,
    pub(crate) depth: Depth,
}

/// A goto that waits for its label.
struct Pending {
    from: Loc,
    /// `None`: computed, any label.
    label: Option<LabelId>,
    alive: Alive,
    site: Site,
}

/// The jumps of a function.
#[derive(Default)]
pub(crate) struct Jumps {
    pub(crate) breaks: Vec<Target>,
    pub(crate) continues: Vec<Target>,
    pub(crate) switches: Vec<Cases>,
    labels: Vec<(LabelId, Loc, Alive)>,
    pending: Vec<Pending>,
    /// Holds the target of computed gotos.
    address: Option<Lvalue>,
}

/// The address of a label, as a number: different labels of a function have different ones, none is null.
pub(crate) fn label_address(function: Name, label: LabelId, model: DataModel) -> i128 {
    let hash = function
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let start = match model {
        DataModel::Lp64 => 1 << 44 | i128::from(hash & 0xff_ffff) << 16,
        DataModel::Ilp32 => 0x7000_0000 | i128::from(hash & 0xfff) << 16,
    };
    start + i128::from(label.0)
}

/// `&&label`, converted or not.
pub(crate) fn label_of(body: &Body, value: ExprId) -> Option<LabelId> {
    match body.expr(value).kind {
        ExprKind::AddressOfLabel(label) => Some(label),
        ExprKind::Cast(inner) => label_of(body, inner),
        _ => None,
    }
}

/// The labels of `&&a - &&b`, converted or not. What a compiler puts between two labels is not known here; between a label and itself
/// there is nothing.
pub(crate) fn label_difference(body: &Body, value: ExprId) -> Option<(LabelId, LabelId)> {
    match body.expr(value).kind {
        ExprKind::PointerDifference(left, right) | ExprKind::Binary(BinaryOp::Sub, left, right) => {
            Some((label_of(body, left)?, label_of(body, right)?))
        }
        ExprKind::Cast(inner) => label_difference(body, inner),
        _ => None,
    }
}

impl Lowering<'_> {
    /// A new target at this depth.
    pub(crate) fn target(&mut self) -> Target {
        Target { loc: self.location(), depth: self.depth() }
    }

    /// Leaves scopes and goes to the target.
    pub(crate) fn leave_to(&mut self, target: Target, site: Site) {
        self.end_locals(target.depth, site);
        self.jump(target.loc, site);
    }

    pub(crate) fn label(&mut self, label: LabelId, stmt: StmtId) {
        let site = self.stmt_site(stmt);
        let loc = self.location();
        self.enter(loc, site);
        let alive = self.alive();
        self.jumps.labels.push((label, loc, alive));
        let name = self.body.labels[label.index()];
        self.function.labels.push((name, loc));
    }

    pub(crate) fn goto(&mut self, label: LabelId, site: Site) {
        self.pend(Some(label), site);
        self.at = self.location();
    }

    /// `asm goto`: perhaps to the label.
    pub(crate) fn perhaps_goto(&mut self, label: LabelId, site: Site) {
        let choice = self.any_value(Type::int(), unmodelled("inline assembly"), site);
        let (yes, no) = (self.location(), self.location());
        self.branch_on(choice, yes, no, site);
        self.at = yes;
        self.pend(Some(label), site);
        self.at = no;
    }

    pub(crate) fn goto_computed(&mut self, target: ExprId, site: Site) {
        let value = self.value(target);
        let address = match self.jumps.address.clone() {
            Some(address) => address,
            None => self.temporary(Type::void().pointer_to()),
        };
        self.jumps.address = Some(address.clone());
        self.emit(Op::Assign(address, value), site);
        self.pend(None, site);
        self.at = self.location();
    }

    /// `&&label`
    pub(crate) fn label_address(&self, label: LabelId, site: Site) -> Expr {
        let address = label_address(self.function.name, label, self.types.model);
        int_constant(address, Scalar::Pointer, site)
    }

    fn pend(&mut self, label: Option<LabelId>, site: Site) {
        let alive = self.alive();
        self.jumps.pending.push(Pending { from: self.at, label, alive, site });
    }

    /// Connects all gotos; call once, at the end.
    pub(crate) fn connect_gotos(&mut self) {
        let labels = std::mem::take(&mut self.jumps.labels);
        let mut hubs = Vec::new();
        for goto in std::mem::take(&mut self.jumps.pending) {
            match goto.label {
                Some(label) => match labels.iter().find(|(known, _, _)| *known == label) {
                    Some((_, loc, alive)) => {
                        self.at = goto.from;
                        self.transfer(&goto.alive, alive, goto.site);
                        self.connect(Op::Skip, *loc, goto.site);
                    }
                    None => {
                        self.at = goto.from;
                        self.unsupported("goto of a label that is not there", goto.site);
                    }
                },
                None => {
                    self.at = goto.from;
                    self.connect_to_labels(&goto.alive, goto.site, &labels, &mut hubs);
                }
            }
        }
    }

    /// A computed goto. Those that leave the same locals alive share one place that all labels hang on; what ends on the way to some labels
    /// only, ends behind it.
    fn connect_to_labels(
        &mut self,
        alive: &Alive,
        site: Site,
        labels: &[(LabelId, Loc, Alive)],
        hubs: &mut Vec<(Alive, Loc)>,
    ) {
        // Compilers disagree about what a computed goto does there: gcc cleans nothing up, clang takes no such program.
        if labels.iter().any(|(_, _, there)| self.cleans_up(alive, there)) {
            self.unsupported("a computed goto out of the life of a variable with a cleanup", site);
        }
        let towards = alive.towards(labels.iter().map(|(_, _, there)| there));
        self.transfer(alive, &towards, site);
        if let Some((_, hub)) = hubs.iter().find(|(known, _)| *known == towards) {
            return self.connect(Op::Skip, *hub, site);
        }
        let Some(address) = self.jumps.address.clone().map(Expr::Load) else { return };
        let hub = self.location();
        self.enter(hub, site);
        hubs.push((towards.clone(), hub));
        for (label, loc, there) in labels {
            let here = self.equals(address.clone(), self.label_address(*label, site));
            let (hit, miss) = (self.location(), self.location());
            self.branch_on(here, hit, miss, site);
            self.at = hit;
            self.transfer(&towards, there, site);
            self.connect(Op::Skip, *loc, site);
            self.at = miss;
        }
        // To no label: undefined.
    }
}
