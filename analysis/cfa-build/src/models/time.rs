//! Which members of a `struct tm` library functions look at, and that these have values (C11 7.27.2.3, 7.27.3.5). Knows the conversions of
//! `strftime` in the locale of C.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::Name;

use super::{apply::Pass, arguments::pointer, format};
use proofline_cfa::{Argument, Expr, MemoryPredicate};

/// Members of a record behind an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Members {
    /// These.
    Listed(Vec<Name>),
    /// Those that the format of `strftime` asks for.
    OfTime { format: usize },
}

impl Pass<'_, '_> {
    /// The members have values, if the argument is the address of a record that has them.
    pub(super) fn need_members(&mut self, at: usize, members: &Members, arguments: &[Argument]) {
        let Some(record) = pointer(arguments, at) else { return };
        let names = match members {
            Members::Listed(names) => names.clone(),
            Members::OfTime { format } => {
                // Which members another format asks for is not known here.
                let text =
                    pointer(arguments, *format).and_then(|format| format::literal(self.program, &format));
                used(&text.unwrap_or_default()).into_iter().map(Name::new).collect()
            }
        };
        for name in names {
            let Some(place) = self.member(&record, name) else { continue };
            let size = Expr::Int(i128::from(place.size), self.emitter.types.size_t());
            let (place, size) = (Arc::new(Expr::Address(place)), Arc::new(size));
            self.emitter.demand_values(Expr::Memory(MemoryPredicate::Initialised, place, size));
        }
    }
}

/// The members that the conversions of a format of `strftime` take, of those that C knows.
fn used(format: &[u8]) -> BTreeSet<&'static str> {
    const SECOND: &str = "tm_sec";
    const MINUTE: &str = "tm_min";
    const HOUR: &str = "tm_hour";
    const DAY: &str = "tm_mday";
    const MONTH: &str = "tm_mon";
    const YEAR: &str = "tm_year";
    const WEEKDAY: &str = "tm_wday";
    const DAY_OF_YEAR: &str = "tm_yday";
    const SUMMER: &str = "tm_isdst";
    let mut found = BTreeSet::new();
    let mut bytes = format.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        // Flags and a width of glibc, modifiers.
        let letter = bytes.by_ref().find(|byte| !b"_-^#+0123456789EO".contains(byte));
        let members: &[&str] = match letter {
            Some(b'a' | b'A' | b'u' | b'w') => &[WEEKDAY],
            Some(b'b' | b'B' | b'h' | b'm') => &[MONTH],
            Some(b'c') => &[WEEKDAY, MONTH, DAY, HOUR, MINUTE, SECOND, YEAR],
            Some(b'C' | b'y' | b'Y') => &[YEAR],
            Some(b'd' | b'e') => &[DAY],
            Some(b'D' | b'F' | b'x') => &[MONTH, DAY, YEAR],
            Some(b'g' | b'G' | b'V') => &[YEAR, WEEKDAY, DAY_OF_YEAR],
            Some(b'H' | b'I' | b'k' | b'l' | b'p' | b'P') => &[HOUR],
            Some(b'j') => &[DAY_OF_YEAR],
            Some(b'M') => &[MINUTE],
            Some(b'r' | b'T' | b'X') => &[HOUR, MINUTE, SECOND],
            Some(b'R') => &[HOUR, MINUTE],
            Some(b's') => &[SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, SUMMER],
            Some(b'S') => &[SECOND],
            Some(b'U' | b'W') => &[DAY_OF_YEAR, WEEKDAY],
            Some(b'z' | b'Z') => &[SUMMER],
            _ => &[],
        };
        found.extend(members);
    }
    found
}
