//! The laws that make the drivers sound, as tests for every analysis: (a)–(g) of ALGORITHMS.md §2 and those of blocks (§5). What
//! only an order can say is in [`check_laws`]; what needs the meaning of states is in [`check_semantics`].

use std::fmt::Debug;

use crate::cpa::{
    Adjusted, BlockContext, BlockCpa, BlockId, Cpa, Domain, EdgeContext, LocationContext, Merge, NoFacts,
    Reduced,
};

/// A law that does not hold, and for what.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{analysis}: {law}\n{text}")]
pub struct LawBroken {
    /// The analysis.
    pub analysis: &'static str,
    /// The law.
    pub law: &'static str,
    /// The states that break it.
    pub text: String,
}

/// What the laws are tried on. Edges, places and blocks must belong to the function that the states' innermost frames are of.
pub struct Samples<'a, A: Cpa> {
    /// States.
    pub states: &'a [A::State],
    /// Precisions; the analysis' first one is tried too.
    pub precisions: &'a [A::Precision],
    /// Edges (no calls).
    pub edges: &'a [EdgeContext<'a>],
    /// Places.
    pub places: &'a [LocationContext<'a>],
    /// Blocks.
    pub blocks: &'a [BlockContext<'a>],
}

impl<'a, A: Cpa> Samples<'a, A> {
    /// States only.
    pub fn new(states: &'a [A::State]) -> Samples<'a, A> {
        Samples { states, precisions: &[], edges: &[], places: &[], blocks: &[] }
    }
}

/// What a state means, for finitely many concrete states.
pub trait Semantics<A: Domain> {
    /// A concrete state.
    type Concrete: Debug;
    /// Some members of `⟦state⟧`.
    fn members(&self, state: &A::State) -> Vec<Self::Concrete>;
    /// Whether it is in `⟦state⟧`.
    fn contains(&self, state: &A::State, concrete: &Self::Concrete) -> bool;
    /// Concrete successors along an edge.
    fn step(&self, concrete: &Self::Concrete, edge: EdgeContext<'_>) -> Vec<Self::Concrete>;
}

struct Laws<'l, A>(&'l A);

impl<A: BlockCpa> Laws<'_, A> {
    fn demand(&self, holds: bool, law: &'static str, text: impl FnOnce() -> String) -> Result<(), LawBroken> {
        if holds { Ok(()) } else { Err(LawBroken { analysis: self.0.name(), law, text: text() }) }
    }

    /// `lower ⊑ upper`
    fn below(
        &self,
        lower: &A::State,
        upper: &A::State,
        law: &'static str,
        when: &dyn Debug,
    ) -> Result<(), LawBroken> {
        self.demand(self.0.leq(lower, upper), law, || {
            format!(
                "  lower: {}\n  upper: {}\n  why:   {}\n  with:  {when:?}",
                self.0.show(lower),
                self.0.show(upper),
                self.0.explain_not_leq(lower, upper)
            )
        })
    }
}

/// Checks every law that the order can express on all combinations of the samples.
///
/// # Errors
/// With the first law that is broken, and the states that break it.
pub fn check_laws<A: BlockCpa>(analysis: &A, samples: &Samples<'_, A>) -> Result<(), LawBroken> {
    let laws = Laws(analysis);
    let precisions: Vec<A::Precision> =
        samples.precisions.iter().cloned().chain([analysis.entry().1]).collect();
    order(&laws, samples)?;
    for precision in &precisions {
        operators(&laws, samples, precision)?;
        for &block in samples.blocks {
            blocks(&laws, samples, precision, block)?;
        }
        for other in &precisions {
            let joined = analysis.join_precision(precision, other);
            let again = analysis.join_precision(&joined, other);
            laws.demand(again == joined, "a joined precision tracks what its parts track", || {
                format!("  {precision:?} with {other:?}")
            })?;
        }
    }
    Ok(())
}

fn order<A: BlockCpa>(laws: &Laws<'_, A>, samples: &Samples<'_, A>) -> Result<(), LawBroken> {
    let analysis = laws.0;
    for a in samples.states {
        laws.below(a, a, "⊑ is reflexive", &())?;
        for b in samples.states {
            let joined = analysis.join(a, b);
            laws.below(a, &joined, "(c) a ⊑ a ⊔ b", b)?;
            laws.below(b, &joined, "(c) b ⊑ a ⊔ b", a)?;
            if !analysis.leq(a, b) {
                continue;
            }
            laws.demand(
                analysis.partition(a) == analysis.partition(b),
                "comparable states have one partition",
                || format!("  {}\n  {}", analysis.show(a), analysis.show(b)),
            )?;
            for c in samples.states.iter().filter(|c| analysis.leq(b, c)) {
                laws.below(a, c, "⊑ is transitive", b)?;
            }
        }
    }
    Ok(())
}

fn operators<A: BlockCpa>(
    laws: &Laws<'_, A>,
    samples: &Samples<'_, A>,
    precision: &A::Precision,
) -> Result<(), LawBroken> {
    let analysis = laws.0;
    for new in samples.states {
        laws.demand(
            !analysis.stop_together(new, &[new], precision).is_empty(),
            "stop: a state covers itself",
            || format!("  {}", analysis.show(new)),
        )?;
        for old in samples.states {
            if let Merge::Into(merged) = analysis.merge(new, old, precision) {
                laws.below(old, &merged, "(e) e' ⊑ merge(e, e')", new)?;
                laws.demand(
                    analysis.partition(&merged) == analysis.partition(new)
                        && analysis.partition(old) == analysis.partition(new),
                    "merging stays within a partition",
                    || format!("  {}\n  {}", analysis.show(new), analysis.show(old)),
                )?;
            }
            if analysis.stop(new, &[old], precision).is_some() {
                laws.below(new, old, "(f) what stops is covered", &())?;
            }
            if let Some(join) = analysis.exact_join(new, old) {
                laws.below(new, &join, "(c) e ⊑ e ⊔ e'", old)?;
                laws.below(old, &join, "(c) e ⊑ e ⊔ e'", new)?;
            }
        }
        for &place in samples.places {
            let here: Vec<&A::State> = samples.states.iter().collect();
            for here in [&here[..], &[]] {
                match analysis.adjust(new.clone(), precision.clone(), here, place) {
                    Adjusted::Continue(adjusted, _) => {
                        laws.below(new, &adjusted, "(g) adjust only weakens", &place.loc)?;
                    }
                    Adjusted::Interrupt => {}
                }
            }
        }
        for &edge in samples.edges {
            for next in analysis.transfer(new, precision, edge, &NoFacts) {
                if let Some(strong) = analysis.strengthen(&next, &NoFacts, edge) {
                    laws.below(&strong, &next, "strengthen only sharpens", &edge.edge.op)?;
                }
            }
        }
    }
    Ok(())
}

fn blocks<A: BlockCpa>(
    laws: &Laws<'_, A>,
    samples: &Samples<'_, A>,
    precision: &A::Precision,
    block: BlockContext<'_>,
) -> Result<(), LawBroken> {
    let analysis = laws.0;
    for entry in samples.states {
        let reduced = analysis.reduce(entry, block);
        laws.demand(analysis.reduce(&reduced.0, block) == reduced, "reduce is idempotent", || {
            format!("  {}\n  reduces to {}", analysis.show(entry), analysis.show(&reduced.0))
        })?;
        let back = analysis.expand(entry, block, &reduced);
        let Some(back) = back else {
            return laws.demand(false, "e ⊑ expand(e, B, reduce(B, e))", || {
                format!("  {} contradicts its own reduction", analysis.show(entry))
            });
        };
        laws.below(entry, &back, "e ⊑ expand(e, B, reduce(B, e))", block.id)?;
        for other in samples.states.iter().filter(|other| analysis.leq(entry, other)) {
            let weaker = analysis.reduce(other, block);
            laws.below(&reduced.0, &weaker.0, "reduce is monotone", block.id)?;
        }
        for open in samples.states {
            let open = analysis.reduce(open, block);
            let widened = analysis.widen_entry(&open, &reduced, u32::MAX);
            laws.below(&reduced.0, &widened.0, "a widened entry covers the new one", &open)?;
        }
        // One step inside the block; for a loop nothing says here which edges are inside.
        if !matches!(block.id, BlockId::Function(_)) {
            continue;
        }
        let inner = analysis.reduce_precision(precision, block);
        for &edge in samples.edges.iter().filter(|edge| edge.function.name == block.function.name) {
            let inside: Vec<A::State> = analysis
                .transfer(&reduced.0, &inner.0, edge, &NoFacts)
                .into_iter()
                .filter_map(|exit| analysis.expand(entry, block, &Reduced(exit)))
                .collect();
            for outside in analysis.transfer(entry, precision, edge, &NoFacts) {
                let covered = inside.iter().any(|exit| analysis.leq(&outside, exit));
                laws.demand(
                    covered,
                    "what B reaches from e is covered by expanding what it reaches from reduce(B, e)",
                    || {
                        let inside: Vec<String> = inside.iter().map(|exit| analysis.show(exit)).collect();
                        format!(
                            "  entry:   {}\n  edge:    {:?}\n  outside: {}\n  inside:  {}",
                            analysis.show(entry),
                            edge.edge.op,
                            analysis.show(&outside),
                            inside.join(" | ")
                        )
                    },
                )?;
            }
        }
    }
    Ok(())
}

/// Checks the laws that speak of the meaning of states, on the members that `semantics` gives.
///
/// # Errors
/// With the first law that is broken, and the states that break it.
pub fn check_semantics<A: BlockCpa, S: Semantics<A>>(
    analysis: &A,
    semantics: &S,
    samples: &Samples<'_, A>,
) -> Result<(), LawBroken> {
    let laws = Laws(analysis);
    let contained = |state: &A::State, concrete: &S::Concrete, law, when: &dyn Debug| {
        laws.demand(semantics.contains(state, concrete), law, || {
            format!("  {concrete:?}\n  is not in {}\n  with {when:?}", analysis.show(state))
        })
    };
    let precisions: Vec<A::Precision> =
        samples.precisions.iter().cloned().chain([analysis.entry().1]).collect();
    for state in samples.states {
        for concrete in &semantics.members(state) {
            contained(state, concrete, "members are members", &())?;
            for other in samples.states {
                if analysis.leq(state, other) {
                    contained(other, concrete, "(b) e ⊑ e' implies ⟦e⟧ ⊆ ⟦e'⟧", state)?;
                }
                contained(&analysis.join(state, other), concrete, "(c) ⟦e⟧ ⊆ ⟦e ⊔ e'⟧", other)?;
                if let Some(join) = analysis.exact_join(state, other) {
                    for concrete in &semantics.members(&join) {
                        let is_one =
                            semantics.contains(state, concrete) || semantics.contains(other, concrete);
                        laws.demand(is_one, "an exact join is the union", || {
                            format!("  {concrete:?}\n  of {}", analysis.show(&join))
                        })?;
                    }
                }
            }
            for precision in &precisions {
                let reached: Vec<&A::State> = samples.states.iter().filter(|other| *other != state).collect();
                let covering = analysis.stop_together(state, &reached, precision);
                let covered =
                    covering.is_empty() || covering.iter().any(|&i| semantics.contains(reached[i], concrete));
                laws.demand(covered, "(f) what stops is covered", || {
                    format!("  {concrete:?} of {}", analysis.show(state))
                })?;
                for &place in samples.places {
                    let adjusted = analysis.adjust(state.clone(), precision.clone(), &reached, place);
                    if let Adjusted::Continue(adjusted, _) = adjusted {
                        contained(&adjusted, concrete, "(g) adjust only weakens", state)?;
                    }
                }
                for &edge in samples.edges {
                    let next = analysis.transfer(state, precision, edge, &NoFacts);
                    for successor in semantics.step(concrete, edge) {
                        let covered = next.iter().any(|next| semantics.contains(next, &successor));
                        laws.demand(covered, "(d) transfer over-approximates", || {
                            let next: Vec<String> = next.iter().map(|next| analysis.show(next)).collect();
                            format!(
                                "  {concrete:?}\n  by {:?}\n  becomes {successor:?}\n  which is not in {}\n  reached from {}",
                                edge.edge.op,
                                next.join(" | "),
                                analysis.show(state)
                            )
                        })?;
                    }
                }
            }
        }
    }
    Ok(())
}
