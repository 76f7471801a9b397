//! An object in one line, where an access to it fails: how large it is, which of its bytes have a value, and where the access is. Knows no
//! machine.

use proofline_cfa::MemoryPredicate;

use crate::{interpret::Touched, objects::Objects};

/// More stretches of bytes are not shown.
const MOST: usize = 4;

/// `buf: 16 bytes [0…15 written] ← 4 bytes at 16`; of an object that is lost: `heap object 1 of 16 bytes`
pub(crate) fn draw(touched: &Touched, objects: Objects<'_>) -> Option<String> {
    let asked = match touched.predicate {
        MemoryPredicate::InBounds | MemoryPredicate::Initialised | MemoryPredicate::Writable => {
            bytes(touched.size)
        }
        MemoryPredicate::Terminated => "a string".to_owned(),
        MemoryPredicate::WideTerminated => "a wide string".to_owned(),
        MemoryPredicate::Within | MemoryPredicate::Freeable => "the pointer".to_owned(),
        MemoryPredicate::NotFreed
        | MemoryPredicate::NotEnded
        | MemoryPredicate::Callable
        | MemoryPredicate::SameObject
        | MemoryPredicate::NothingLeft => return None,
        MemoryPredicate::NothingLost => {
            let (object, size) = (&touched.object, bytes(i128::from(touched.object.size)));
            return Some(format!("{} of {size}", objects.name(object)));
        }
    };
    let object = &touched.object;
    let offset = i128::from(touched.address) - i128::from(object.base);
    let is_about_values =
        !matches!(touched.predicate, MemoryPredicate::Within | MemoryPredicate::Freeable) && object.size > 0;
    let written = touched.written.as_ref().filter(|_| is_about_values);
    let written = written.map(|ranges| format!(" [{}]", stretches(ranges))).unwrap_or_default();
    let size = bytes(i128::from(object.size));
    Some(format!("{}: {size}{written} ← {asked} at {offset}", objects.name(object)))
}

fn bytes(count: i128) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

fn stretches(ranges: &[(u64, u64)]) -> String {
    let shown = ranges.iter().take(MOST).map(|(from, to)| match to - from {
        1 => from.to_string(),
        _ => format!("{from}…{}", to - 1),
    });
    let shown: Vec<String> = shown.collect();
    match (ranges.len(), shown.join(", ")) {
        (0, _) => "none written".to_owned(),
        (count, shown) if count > MOST => format!("{shown}, … written"),
        (_, shown) => format!("{shown} written"),
    }
}
