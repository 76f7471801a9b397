//! A decision list of orders, learnt: which engines first, for which kinds of programs. Knows numbers, no programs.

use std::collections::BTreeMap;

use super::Kind;

/// What is known of one task.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Tasks that are made of one program belong together: to learn from one and be tried on the other would be no trial.
    pub(super) family: String,
    /// Features by name.
    pub(super) features: BTreeMap<String, u64>,
    /// By engine: whether it solves the task, and the seconds that it takes.
    pub(super) runs: BTreeMap<String, (bool, f64)>,
}

/// Seconds that a task which nobody solves counts.
pub(super) const UNSOLVED: f64 = 15.0;
/// Fewer tasks of a kind say nothing.
const LEAST_OF_A_KIND: usize = 8;
/// More kinds nobody reads.
const MOST_KINDS: usize = 6;
/// What a kind has to save of all tasks' time.
const LEAST_GAIN: f64 = 0.01;

/// Seconds until an order solves a task.
pub(super) fn cost<'o>(order: impl IntoIterator<Item = &'o str>, sample: &Sample) -> f64 {
    let mut seconds = 0.0;
    for engine in order {
        let Some((is_solved, takes)) = sample.runs.get(engine) else { continue };
        seconds += takes;
        if *is_solved {
            return seconds.min(UNSOLVED);
        }
    }
    UNSOLVED
}

/// An order for some tasks: next comes the engine that solves most tasks a second, of those that are left ("greedy minimum-sum cover", which takes no more
/// than four times as long as the best order).
pub(super) fn order(engines: &[String], samples: &[&Sample]) -> Vec<String> {
    let mut left: Vec<&Sample> = samples.to_vec();
    let mut order: Vec<String> = Vec::new();
    loop {
        let rate = |engine: &String| {
            let runs = left.iter().filter_map(|sample| sample.runs.get(engine));
            let (solved, seconds) = runs.fold((0.0, 0.001), |(solved, seconds), (is_solved, takes)| {
                (solved + f64::from(u8::from(*is_solved)), seconds + takes)
            });
            solved / seconds
        };
        let rest = engines.iter().filter(|engine| !order.contains(engine));
        let best = rest.map(|engine| (rate(engine), engine)).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, engine)) = best.filter(|(rate, _)| *rate > 0.0) else { return order };
        left.retain(|sample| sample.runs.get(engine).is_none_or(|(is_solved, _)| !is_solved));
        order.push(engine.clone());
    }
}

/// Kinds, the first one that fits counts, and the order of everything else.
#[derive(Clone, Debug)]
pub(super) struct Learnt {
    pub(super) kinds: Vec<Kind>,
    pub(super) rest: Vec<String>,
}

impl Learnt {
    /// The order that a task gets: what its kind asks first, then the rest.
    pub(super) fn of(&self, sample: &Sample) -> Vec<&str> {
        let kind = self.kinds.iter().find(|kind| fits(kind, sample));
        let first = kind.map_or(&[][..], |kind| &kind.first);
        let mut order: Vec<&str> = Vec::new();
        for engine in first.iter().chain(&self.rest) {
            if !order.contains(&engine.as_str()) {
                order.push(engine);
            }
        }
        order
    }

    pub(super) fn cost(&self, samples: &[&Sample]) -> f64 {
        samples.iter().map(|sample| cost(self.of(sample), sample)).sum()
    }
}

fn fits(kind: &Kind, sample: &Sample) -> bool {
    kind.when.iter().all(|(name, least)| sample.features.get(name).is_some_and(|has| has >= least))
}

/// Learns from tasks. A kind is one feature, or two, with the least of each; each new one comes before the others and must save enough.
pub(super) fn learn(engines: &[String], samples: &[&Sample]) -> Learnt {
    more(engines, samples, Learnt { kinds: Vec::new(), rest: order(engines, samples) })
}

/// The same, beginning with what is known.
pub(super) fn more(engines: &[String], samples: &[&Sample], mut learnt: Learnt) -> Learnt {
    let conditions = conditions(samples);
    let most = learnt.kinds.len() + MOST_KINDS;
    while learnt.kinds.len() < most {
        let before = learnt.cost(samples);
        let mut best: Option<(f64, Learnt)> = None;
        let single = conditions.iter().map(|one| BTreeMap::from([one.clone()]));
        let in_front = learnt.kinds.first().map(|kind| kind.when.clone());
        let double = conditions.iter().filter_map(|one| {
            let mut both = in_front.clone()?;
            both.insert(one.0.clone(), one.1).is_none().then_some(both)
        });
        for when in single.chain(double) {
            let mut kind = Kind { when, first: Vec::new() };
            let of_kind: Vec<&Sample> =
                samples.iter().copied().filter(|sample| fits(&kind, sample)).collect();
            if of_kind.len() < LEAST_OF_A_KIND || of_kind.len() == samples.len() {
                continue;
            }
            kind.first = order(engines, &of_kind);
            let mut with = learnt.clone();
            with.kinds.insert(0, kind);
            let cost = with.cost(samples);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, with));
            }
        }
        match best {
            Some((cost, with)) if cost < before * (1.0 - LEAST_GAIN) => learnt = with,
            Some(_) | None => return learnt,
        }
    }
    learnt
}

/// At least so much of a feature: of each, a few numbers that part the tasks.
fn conditions(samples: &[&Sample]) -> Vec<(String, u64)> {
    let mut by_feature: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (name, value) in samples.iter().flat_map(|sample| &sample.features) {
        by_feature.entry(name).or_default().push(*value);
    }
    let mut found = Vec::new();
    for (name, mut values) in by_feature {
        values.sort_unstable();
        let at = |part: usize| values.get(values.len() * part / 8).copied();
        let mut parts: Vec<u64> = (1..8).filter_map(at).chain([1]).filter(|value| *value > 0).collect();
        parts.sort_unstable();
        parts.dedup();
        found.extend(parts.into_iter().map(|value| (name.to_owned(), value)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bits: u64, runs: &[(&str, bool, f64)]) -> Sample {
        let runs = runs.iter().map(|(name, is_solved, takes)| ((*name).to_owned(), (*is_solved, *takes)));
        Sample {
            family: String::new(),
            features: BTreeMap::from([("bits".to_owned(), bits)]),
            runs: runs.collect(),
        }
    }

    #[test]
    fn what_a_kind_needs_comes_first_for_that_kind() {
        let plain = sample(0, &[("cheap", true, 0.1), ("dear", false, 3.0)]);
        let bits = sample(9, &[("cheap", false, 2.0), ("dear", true, 1.0)]);
        let all: Vec<&Sample> =
            std::iter::repeat_n(&plain, 20).chain(std::iter::repeat_n(&bits, 10)).collect();
        let engines = ["cheap".to_owned(), "dear".to_owned()];
        let learnt = learn(&engines, &all);
        assert_eq!(learnt.of(&plain), ["cheap", "dear"]);
        assert_eq!(learnt.of(&bits), ["dear", "cheap"]);
        assert!((learnt.cost(&all) - 12.0).abs() < 0.001);
    }

    #[test]
    fn who_solves_nothing_is_in_no_order() {
        let one = sample(0, &[("never", false, 0.0), ("does", true, 1.0)]);
        assert_eq!(order(&["never".to_owned(), "does".to_owned()], &[&one]), ["does"]);
        assert!((cost(["never"], &one) - UNSOLVED).abs() < 0.001);
    }
}
