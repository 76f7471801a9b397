//! Answers as bytes. The form of its own keeps the file's format apart from the types of the program.

use std::{collections::BTreeMap, hash::Hasher};

use proofline_cpa::Unknown;
use proofline_hir::{ContentHash, ContentHasher};
use proofline_verifier::{
    Entry, Name, ObligationId, PersistentCache,
    counterexample::Counterexample,
    engines::{definition, name as known_engine},
    portfolio::Request,
    report::Judgement,
    verdict::Verdict,
};
use serde::{Deserialize, Serialize};

use crate::store::Store;

/// Says which engines answered: another version's answers are not found.
pub const ENGINES: &str = env!("PROOFLINE_ENGINES");

/// The key of an answer: everything that it is a function of.
pub(crate) fn key(slice: ContentHash, request: &Request, wrapv: bool) -> ContentHash {
    let mut hasher = ContentHasher::default();
    for part in [ENGINES, &request.property.name(), &request.engines.join(",")] {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part.as_bytes());
    }
    // Engines of a user's own are what their file says.
    for engine in &request.engines {
        let own = definition(engine);
        hasher.write(&[u8::from(own.is_some())]);
        own.iter().for_each(|own| hasher.write(&own.0));
    }
    hasher.write(&request.steps.to_le_bytes());
    hasher.write(&[u8::from(request.first_only), u8::from(wrapv)]);
    hasher.write(&slice.0);
    let round = &request.round;
    hasher.write(&[u8::from(round.is_own), u8::from(round.is_apart), u8::from(round.after.is_some())]);
    hasher.write(&(round.settled.len() as u64).to_le_bytes());
    for ((function, obligation), known) in round.settled.iter() {
        let known = match known {
            Ok(engine) => (*engine).to_owned(),
            Err(why) => format!("unknown: {why}"),
        };
        for part in [function.as_str(), &known] {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part.as_bytes());
        }
        hasher.write(&obligation.0.to_le_bytes());
    }
    for (function, contract) in request.under.iter() {
        for part in [function.as_str(), &format!("{contract:?}")] {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part.as_bytes());
        }
    }
    if let Some(before) = &round.after {
        hasher.write(&key(slice, before, wrapv).0);
    }
    hasher.content_hash()
}

/// The key of an answer in which nothing is open, however it was asked for. `None`: who asks wants to know what certain engines say.
pub(crate) fn whole_key(slice: ContentHash, request: &Request, wrapv: bool) -> Option<ContentHash> {
    if !request.may_be_answered_by_others() {
        return None;
    }
    let mut hasher = ContentHasher::default();
    for part in ["whole", ENGINES, &request.property.name()] {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part.as_bytes());
    }
    hasher.write(&[u8::from(request.round.is_own), u8::from(wrapv)]);
    hasher.write(&slice.0);
    Some(hasher.content_hash())
}

/// A name under which only these engines find something.
pub(crate) fn of_these_engines(name: ContentHash) -> ContentHash {
    let mut hasher = ContentHasher::default();
    hasher.write(ENGINES.as_bytes());
    hasher.write(&name.0);
    hasher.content_hash()
}

/// Block abstractions on the disk.
pub(crate) struct Blocks(pub(crate) Store);

impl PersistentCache for Blocks {
    fn find(&self, name: ContentHash) -> Option<Vec<u8>> {
        self.0.find(of_these_engines(name))
    }
    fn put(&self, name: ContentHash, bytes: Vec<u8>) {
        self.0.put(of_these_engines(name), bytes);
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    verdicts: Vec<(String, u32, StoredVerdict)>,
    counterexamples: Vec<StoredCounterexample>,
    decided_by: Vec<(String, u64)>,
    last_engine: Option<String>,
    rests_on: Vec<String>,
    called_from_outside: Vec<String>,
    resting: Vec<String>,
    finished: Vec<String>,
    reason: Option<(u8, String)>,
}

#[derive(Serialize, Deserialize)]
enum StoredVerdict {
    Proved(String),
    Violated(u32),
    Unknown(u8, String),
}

#[derive(Serialize, Deserialize)]
struct StoredCounterexample {
    entry: String,
    function: String,
    obligation: u32,
    inputs: Vec<i128>,
    steps: u64,
}

/// `None` for what must not be kept.
pub(crate) fn bytes(judgement: &Judgement) -> Option<Vec<u8>> {
    let mut verdicts = Vec::new();
    for ((function, obligation), verdict) in &judgement.verdicts {
        let verdict = match verdict {
            Verdict::Proved(engine) => StoredVerdict::Proved((*engine).to_owned()),
            Verdict::Violated(index) => StoredVerdict::Violated(*index as u32),
            Verdict::Unknown(why) => {
                let (kind, text) = reason(why)?;
                StoredVerdict::Unknown(kind, text)
            }
        };
        verdicts.push((function.to_string(), obligation.0, verdict));
    }
    let counterexamples = judgement.counterexamples.iter().map(|found| StoredCounterexample {
        entry: found.entry.name.to_string(),
        function: found.function.to_string(),
        obligation: found.obligation.0,
        inputs: found.inputs.clone(),
        steps: found.steps,
    });
    let stored = Stored {
        verdicts,
        counterexamples: counterexamples.collect(),
        decided_by: judgement.decided_by.iter().map(|(name, n)| ((*name).to_owned(), *n as u64)).collect(),
        last_engine: judgement.last_engine.map(str::to_owned),
        rests_on: judgement.rests_on.iter().cloned().collect(),
        called_from_outside: judgement.called_from_outside.iter().map(ToString::to_string).collect(),
        resting: judgement.resting.iter().map(ToString::to_string).collect(),
        finished: judgement.finished.iter().map(|name| (*name).to_owned()).collect(),
        reason: match &judgement.reason {
            None => None,
            Some(why) => Some(reason(why)?),
        },
    };
    postcard::to_stdvec(&stored).ok()
}

/// `None` if the bytes are no answer.
pub(crate) fn judgement(bytes: &[u8]) -> Option<Judgement> {
    let stored: Stored = postcard::from_bytes(bytes).ok()?;
    let mut verdicts = BTreeMap::new();
    for (function, obligation, verdict) in stored.verdicts {
        let verdict = match verdict {
            StoredVerdict::Proved(name) => Verdict::Proved(engine(&name)?),
            StoredVerdict::Violated(index) => {
                stored.counterexamples.get(index as usize)?;
                Verdict::Violated(index as usize)
            }
            StoredVerdict::Unknown(kind, text) => Verdict::Unknown(unknown(kind, text)?),
        };
        verdicts.insert((Name::new(&function), ObligationId(obligation)), verdict);
    }
    let counterexamples = stored.counterexamples.into_iter().map(|found| Counterexample {
        entry: Entry::new(Name::new(&found.entry)),
        function: Name::new(&found.function),
        obligation: ObligationId(found.obligation),
        inputs: found.inputs,
        steps: found.steps,
    });
    let counterexamples = counterexamples.collect();
    let mut decided_by = BTreeMap::new();
    for (name, count) in stored.decided_by {
        decided_by.insert(engine(&name)?, count as usize);
    }
    let finished: Option<_> = stored.finished.iter().map(|name| engine(name)).collect();
    Some(Judgement {
        verdicts,
        finished: finished?,
        counterexamples,
        decided_by,
        last_engine: match stored.last_engine {
            None => None,
            Some(name) => Some(engine(&name)?),
        },
        rests_on: stored.rests_on.into_iter().collect(),
        called_from_outside: stored.called_from_outside.iter().map(|name| Name::new(name)).collect(),
        resting: stored.resting.iter().map(|name| Name::new(name)).collect(),
        reason: match stored.reason {
            None => None,
            Some((kind, text)) => Some(unknown(kind, text)?),
        },
    })
}

fn engine(name: &str) -> Option<&'static str> {
    known_engine(name)
}

/// What is worth keeping of a reason: a stop, an end of the solver or a defect of ours is none.
fn reason(why: &Unknown) -> Option<(u8, String)> {
    Some(match why {
        Unknown::Cancelled
        | Unknown::OutOfTime
        | Unknown::OutOfMemory
        | Unknown::SolverStopped
        | Unknown::IfCallersKeep
        | Unknown::InternalError(_) => return None,
        Unknown::OutOfBudget => (0, String::new()),
        Unknown::Unsupported(text) => (1, text.clone()),
        Unknown::NoProgress(text) => (2, text.clone()),
        Unknown::Unconfirmed(text) => (3, text.clone()),
        Unknown::NotApplicable(text) => (4, text.clone()),
        Unknown::IfEnsured(text) => (5, text.clone()),
    })
}

fn unknown(kind: u8, text: String) -> Option<Unknown> {
    Some(match kind {
        0 => Unknown::OutOfBudget,
        1 => Unknown::Unsupported(text),
        2 => Unknown::NoProgress(text),
        3 => Unknown::Unconfirmed(text),
        4 => Unknown::NotApplicable(text),
        5 => Unknown::IfEnsured(text),
        _ => return None,
    })
}
