//! Assertions made from what was seen: most hold on every run that was looked at, some do not.

use std::collections::BTreeMap;

use super::{program::Program, types::Int};
use crate::Random;

/// More assertions than this in one program only cost time.
const MOST: usize = 14;

/// The program with assertions in place of (some of) its observations.
pub(crate) fn claims(program: &Program, seen: &BTreeMap<usize, Vec<i64>>, random: &mut Random) -> String {
    let mut places: Vec<usize> = seen.keys().copied().collect();
    while places.len() > MOST {
        let at = random.below(places.len());
        places.remove(at);
    }
    // A false claim ends the run, so that what comes after it is not reached: few of them.
    let lies = 1 + random.below(2);
    let mut lying = Vec::new();
    for _ in 0..lies {
        lying.extend(random.pick(&places).copied());
    }
    program.text(|id, expression, ty| match seen.get(&id) {
        Some(values) if places.contains(&id) => {
            let condition = claim(expression, ty, values, lying.contains(&id), random);
            format!("if (!({condition})) reach_error();")
        }
        _ => ";".to_owned(),
    })
}

fn claim(expression: &str, ty: Int, values: &[i64], is_lie: bool, random: &mut Random) -> String {
    // Observed as `long long`; back in the range of the type.
    let value = |v: i64| ty.wrap(i128::from(v));
    let constant = |v: i128| ty.constant(v);
    let all: Vec<i128> = values.iter().map(|&v| value(v)).collect();
    let least = all.iter().copied().min().unwrap_or(0);
    let most = all.iter().copied().max().unwrap_or(0);
    let one = random.pick(&all).copied().unwrap_or(0);
    if is_lie {
        return match random.below(3) {
            0 if least < most => format!("{expression} < {}", constant(most)),
            1 if least < most => format!("{expression} > {}", constant(least)),
            _ => format!("{expression} != {}", constant(one)),
        };
    }
    if least == most {
        return format!("{expression} == {}", constant(least));
    }
    match random.below(4) {
        0 => format!("{expression} >= {}", constant(least)),
        1 => format!("{expression} <= {}", constant(most)),
        2 => format!("{expression} >= {} && {expression} <= {}", constant(least), constant(most)),
        _ => {
            let other = (least..=most).find(|v| !all.contains(v)).unwrap_or(most);
            if all.contains(&other) {
                format!("{expression} >= {}", constant(least))
            } else {
                format!("{expression} != {}", constant(other))
            }
        }
    }
}
