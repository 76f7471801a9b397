//! What functions have asked that came back before the failure. `if (p) print(p->name);` in a function that prints says that it can do without `p`, not that its
//! caller can. What such a function has asked counts for its caller only where the caller asks for its answer (`if (!is_valid(p)) …`).

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Call, Expr, LocalId, Lvalue, Op,
    visit::{self, Mention},
};

use super::{conditions::Conditions, reads_local, symbols::Influence};

/// A question.
#[derive(Debug)]
struct Asked {
    /// The activation that asked.
    depth: u32,
    condition: Option<Expr>,
    on: Influence,
    /// Once that has come back: where its caller keeps the answer.
    answer: Option<Answer>,
}

#[derive(Clone, Debug)]
struct Answer {
    /// The caller's activation.
    depth: u32,
    kept_in: BTreeSet<LocalId>,
}

/// Questions on the way to a failure, in order.
#[derive(Default, Debug)]
pub(super) struct Questions {
    all: Vec<Asked>,
}

impl Questions {
    /// An activation asks, in a branch of its own.
    pub(super) fn ask(&mut self, depth: u32, condition: Option<Expr>, on: Influence) {
        self.all.push(Asked { depth, condition, on, answer: None });
    }

    /// What an edge of the activation does with answers.
    pub(super) fn passes(&mut self, depth: u32, op: &Op) {
        // A call is entered, where nobody above has asked yet, or has come back.
        if let Op::Call(call) = op {
            return self.came_back(depth, call);
        }
        let mut written = BTreeSet::new();
        visit::mentions(op, &mut |mention| {
            if let Mention::Write(Lvalue { base: Base::Local(id), .. }) = mention {
                written.insert(*id);
            }
        });
        for answer in self.answers(depth).filter(|_| !written.is_empty()) {
            let is_told =
                matches!(op, Op::Assign(_, value) if answer.kept_in.iter().any(|id| reads_local(value, *id)));
            match is_told {
                true => answer.kept_in.extend(&written),
                false => answer.kept_in.retain(|id| !written.contains(id)),
            }
        }
    }

    /// The activation branches on this: what led to an answer that it reads is what it asks itself. Returns who has a say in that.
    pub(super) fn branches(&mut self, depth: u32, condition: &Expr) -> Influence {
        let mut on = Influence::default();
        for asked in &mut self.all {
            let is_of = |answer: &Answer| {
                answer.depth == depth && answer.kept_in.iter().any(|id| reads_local(condition, *id))
            };
            if asked.answer.as_ref().is_some_and(is_of) {
                on = on.and(asked.on);
                *asked = Asked { depth, condition: asked.condition.take(), on: asked.on, answer: None };
            }
        }
        on
    }

    /// Those of activations that have not come back, and those whose answers were asked for.
    pub(super) fn own(self) -> Conditions {
        let mut own = Conditions::default();
        for asked in self.all.into_iter().filter(|asked| asked.answer.is_none()) {
            own.add(asked.condition);
        }
        own
    }

    fn answers(&mut self, depth: u32) -> impl Iterator<Item = &mut Answer> {
        let answers = self.all.iter_mut().filter_map(|asked| asked.answer.as_mut());
        answers.filter(move |answer| answer.depth == depth)
    }

    fn came_back(&mut self, depth: u32, call: &Call) {
        let kept_in: BTreeSet<LocalId> = match &call.dst {
            Some(Lvalue { base: Base::Local(id), .. }) => BTreeSet::from([*id]),
            _ => BTreeSet::new(),
        };
        for asked in self.all.iter_mut().filter(|asked| asked.depth > depth) {
            asked.answer = Some(Answer { depth, kept_in: kept_in.clone() });
            asked.depth = depth;
        }
    }
}
