//! Large libraries: functions that reach so many others that a slice of its own for each would be more than a machine can hold. What is found
//! out about the whole library is found out once, and is the slice of all of them.

use std::{
    collections::{BTreeSet, VecDeque},
    hash::Hasher,
    sync::Arc,
};

use proofline_cfa::{Entry, Linkage, Name, Program};
use proofline_hir::ContentHasher;
use proofline_program_analysis::Mentions;
use proofline_verifier::load::{self, Surroundings};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    front::Project,
    linked::{Symbol, functions, global, has_body, mentions},
    shared::Db,
    slices::{Ready, prepared, volatile},
};

/// Functions that a slice of its own is made of at most, in a library that has more.
const MOST_SLICED: usize = 200;

/// The functions of a library that reach more than is worth a slice of its own.
#[salsa::tracked]
pub(crate) fn wide(db: &dyn Db, project: Project) -> Arc<BTreeSet<Name>> {
    let all = functions(db, project);
    if all.len() <= MOST_SLICED || has_body(db, project, Entry::main().name) {
        return Arc::default();
    }
    let mut known: FxHashMap<Name, Vec<Name>> = FxHashMap::default();
    let reaches_many = |name: &&Name| {
        let (mut seen, mut open) = (FxHashSet::from_iter([**name]), VecDeque::from([**name]));
        let mut count = 0;
        while let Some(next) = open.pop_front() {
            let mentioned = known.entry(next).or_insert_with(|| {
                let symbol = Symbol::new(db, next);
                let found = match global(db, project, symbol) {
                    Some(global) => Mentions::of_global(global).names,
                    None => mentions(db, project, symbol).names.clone(),
                };
                found.into_iter().collect()
            });
            count += usize::from(has_body(db, project, next));
            if count > MOST_SLICED {
                return true;
            }
            open.extend(mentioned.iter().copied().filter(|name| seen.insert(*name)));
        }
        false
    };
    Arc::new(all.iter().filter(reaches_many).copied().collect())
}

/// All of a library, where code outside may call every function at any time: so each of them may be what executions start in.
#[salsa::tracked]
pub(crate) fn widest(db: &dyn Db, project: Project) -> Arc<Ready> {
    let mut program = Program::clone(&prepared(db, project).0);
    for function in program.functions.values_mut().filter(|f| f.linkage == Linkage::Internal) {
        Arc::make_mut(function).linkage = Linkage::External;
    }
    let environment = load::of_whole(&program, Surroundings::Closed, volatile(db, project));
    Arc::new(Ready::new(db, environment, Name::new("")))
}

/// The slice of a wide function, which is everybody's.
pub(crate) fn entered(db: &dyn Db, project: Project, entry: Name) -> Option<Ready> {
    if !Entry::new(entry).is_library() || !wide(db, project).contains(&entry) {
        return None;
    }
    let all = widest(db, project);
    let mut hasher = ContentHasher::default();
    hasher.write(&all.fingerprint.0);
    hasher.write(entry.as_str().as_bytes());
    Some(Ready { environment: all.environment.clone(), fingerprint: hasher.content_hash() })
}

/// The entry under whose name the blocks of this one's slice are kept: all wide functions have the same.
pub(crate) fn slice_of(db: &dyn Db, project: Project, entry: Name) -> Name {
    let all = wide(db, project);
    let first = all.first().filter(|_| all.contains(&entry) && Entry::new(entry).is_library());
    first.copied().unwrap_or(entry)
}
