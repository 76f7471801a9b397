//! Elements that get the same value at the same place in the text, one after the other, are one step: what an initializer does not name.

use crate::{
    finding::{StepKind, TraceStep},
    interpret::Moment,
    wording::Spot,
};

/// Makes the last step speak of one element more, if it gave the element before this one the same value; whether it does.
pub(super) fn extend(
    last: &mut TraceStep<Spot>,
    (name, shown): (&str, &str),
    moment: Option<Moment>,
) -> bool {
    let Some((row, first, at)) = next_in_row(last, name, shown) else { return false };
    last.text = format!("`{row}[{first} .. {at}] = {shown}`");
    last.change = Some((name.to_owned(), shown.to_owned()));
    last.moment = moment;
    true
}

/// The array, the first element that the last step speaks of, and the one that comes next.
fn next_in_row<'n>(last: &TraceStep<Spot>, name: &'n str, shown: &str) -> Option<(&'n str, u64, u64)> {
    let (before, value) = last.change.as_ref().filter(|_| last.kind == StepKind::Assign)?;
    let ((row, at), (last_row, last_at)) = (element(name)?, element(before)?);
    let text = last.text.strip_prefix('`')?.strip_prefix(row)?.strip_prefix('[')?;
    let first = text.split([' ', ']']).next()?.parse().ok()?;
    (row == last_row && at.checked_sub(1) == Some(last_at) && value == shown).then_some((row, first, at))
}

/// `row[at]`
fn element(name: &str) -> Option<(&str, u64)> {
    let (row, at) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((row, at.parse().ok()?))
}
