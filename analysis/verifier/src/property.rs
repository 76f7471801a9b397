//! What is asked of a program: which checks are obligations.

use std::collections::BTreeSet;

use proofline_cfa::{CheckId, Name, ObligationId, Program};

use crate::{
    checks::{
        Check, array_bounds, dangling_pointer, error_label, invalid_free, library_call, memory_cleanup,
        memory_leak, monitor, null_dereference, out_of_bounds, reach_error, read_only, signed_overflow,
        use_after_free,
    },
    engines::Targets,
};

/// A question about a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// Every check there is.
    Everything,
    /// SV-COMP's `unreach-call`: `reach_error` is never called.
    UnreachCall,
    /// SV-COMP's `no-overflow`.
    NoOverflow,
    /// SV-COMP's properties of memory.
    Memory(MemoryProperty),
    /// These checks.
    Checks(BTreeSet<CheckId>),
}

/// SV-COMP's properties of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryProperty {
    /// The next three together.
    Safety,
    /// Every access is to an object that is alive, inside its bounds.
    Deref,
    /// `free` is given what may be freed.
    Free,
    /// What is allocated is freed, or something refers to it.
    Track,
    /// Everything is freed when the program ends.
    Cleanup,
}

impl MemoryProperty {
    const ALL: [MemoryProperty; 5] = [
        MemoryProperty::Safety,
        MemoryProperty::Deref,
        MemoryProperty::Free,
        MemoryProperty::Track,
        MemoryProperty::Cleanup,
    ];

    fn name(self) -> &'static str {
        match self {
            MemoryProperty::Safety => "valid-memsafety",
            MemoryProperty::Deref => "valid-deref",
            MemoryProperty::Free => "valid-free",
            MemoryProperty::Track => "valid-memtrack",
            MemoryProperty::Cleanup => "valid-memcleanup",
        }
    }

    /// The checks that it consists of.
    fn checks(self) -> Vec<&'static Check> {
        match self {
            MemoryProperty::Safety => {
                let parts = [MemoryProperty::Deref, MemoryProperty::Free, MemoryProperty::Track];
                parts.into_iter().flat_map(MemoryProperty::checks).collect()
            }
            MemoryProperty::Deref => vec![
                &null_dereference::CHECK,
                &use_after_free::CHECK,
                &dangling_pointer::CHECK,
                &array_bounds::CHECK,
                &out_of_bounds::CHECK,
                &library_call::CHECK,
            ],
            MemoryProperty::Free => vec![&invalid_free::CHECK],
            MemoryProperty::Track => vec![&memory_leak::CHECK],
            MemoryProperty::Cleanup => vec![&memory_cleanup::CHECK],
        }
    }
}

/// A property that no check implements.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown property `{0}`\n  help: use unreach-call, no-overflow, valid-memsafety (valid-deref, valid-free, valid-memtrack), \
     valid-memcleanup, or a list of checks such as `division-by-zero,array-bounds`; \
     all checks: {1}"
)]
pub struct UnknownProperty(String, String);

impl Property {
    /// Reads a property's name, a comma-separated list of checks, or the text of an SV-COMP property file.
    ///
    /// # Errors
    /// If no check implements it; the message lists what there is.
    pub fn parse(text: &str) -> Result<Property, UnknownProperty> {
        let text = text.trim();
        let unknown = || {
            let all: Vec<&str> = Check::ALL.iter().map(|check| check.code()).collect();
            UnknownProperty(text.to_owned(), all.join(", "))
        };
        if text.contains("CHECK(") {
            return if text.contains("call(reach_error())")
                || text.contains("call(__VERIFIER_error())")
                || text.contains("label(ERROR)")
            {
                Ok(Property::UnreachCall)
            } else if text.contains("! overflow") {
                Ok(Property::NoOverflow)
            } else {
                memory_property(text).map(Property::Memory).ok_or_else(unknown)
            };
        }
        if let Some(property) = MemoryProperty::ALL.iter().find(|property| property.name() == text) {
            return Ok(Property::Memory(*property));
        }
        match text {
            "all" | "everything" => return Ok(Property::Everything),
            "unreach-call" => return Ok(Property::UnreachCall),
            "no-overflow" => return Ok(Property::NoOverflow),
            _ => {}
        }
        text.split(',')
            .map(|code| match code.trim() {
                // Which monitors there are, others know.
                code if code.starts_with(monitor::FAMILY) && code.len() > monitor::FAMILY.len() => {
                    Ok(CheckId::new(code))
                }
                code => Check::from_code(code).map(Check::id).ok_or_else(unknown),
            })
            .collect::<Result<_, _>>()
            .map(Property::Checks)
    }

    /// Its short name, as in `RESULT: false(unreach-call)`.
    pub fn name(&self) -> String {
        match self {
            Property::Everything => "all".into(),
            Property::UnreachCall => "unreach-call".into(),
            Property::NoOverflow => "no-overflow".into(),
            Property::Memory(property) => property.name().into(),
            Property::Checks(checks) => checks.iter().map(|c| c.code()).collect::<Vec<_>>().join(","),
        }
    }

    /// Whether it has one yes or no, so that the first violation answers it.
    pub fn is_one_question(&self) -> bool {
        match self {
            Property::UnreachCall | Property::NoOverflow | Property::Memory(_) => true,
            Property::Everything | Property::Checks(_) => false,
        }
    }

    /// The name of the part of it that a check is: SV-COMP's `subproperty`.
    pub fn part(&self, check: &Check) -> String {
        let Property::Memory(MemoryProperty::Safety) = self else { return self.name() };
        let parts = MemoryProperty::ALL.iter().filter(|part| **part != MemoryProperty::Safety);
        let part = parts.copied().find(|part| part.checks().contains(&check));
        part.map_or_else(|| self.name(), |part| part.name().to_owned())
    }

    /// The checks that nobody asks about, behind whose failure executions then go on.
    pub fn passed_over(&self) -> BTreeSet<CheckId> {
        let passed = Check::known().filter(|check| !check.ends_executions() && !self.asks(check));
        passed.map(Check::id).collect()
    }

    /// Whether it asks about this check, in programs that have obligations of it.
    pub fn asks(&self, check: &Check) -> bool {
        match self {
            Property::Everything => !check.is_opt_in(),
            Property::UnreachCall => check == &reach_error::CHECK || check == &error_label::CHECK,
            Property::NoOverflow => check == &signed_overflow::CHECK,
            Property::Memory(property) => property.checks().contains(&check),
            Property::Checks(checks) => checks.contains(&check.id()),
        }
    }

    /// Whether it asks about what monitors forbid, if there are any.
    pub fn asks_of_monitors(&self) -> bool {
        match self {
            Property::Everything => true,
            Property::UnreachCall | Property::NoOverflow | Property::Memory(_) => false,
            Property::Checks(checks) => checks.iter().any(|check| monitor::is_one(*check)),
        }
    }

    /// The monitors that it names.
    pub fn monitors(&self) -> BTreeSet<CheckId> {
        match self {
            Property::Everything | Property::UnreachCall | Property::NoOverflow | Property::Memory(_) => {
                BTreeSet::new()
            }
            Property::Checks(checks) => {
                checks.iter().copied().filter(|check| monitor::is_one(*check)).collect()
            }
        }
    }

    /// Whether it asks about pointers that are only formed or compared. Programs have such obligations only if their
    /// [`Options`](crate::load::Options) say so: they are many.
    pub fn asks_of_pointers(&self) -> bool {
        self.asked().any(|check| check.is_about_pointers())
    }

    /// Whether it asks what may be written. Otherwise programs need no such obligations, and their [`Options`](crate::load::Options) may say so: they are
    /// many, too.
    pub fn asks_of_writes(&self) -> bool {
        self.asks(&read_only::CHECK)
    }

    /// The checks that it asks about, in their order.
    pub fn asked(&self) -> impl Iterator<Item = &'static Check> {
        Check::known().filter(|check| self.asks(check))
    }

    /// The checks it selects in this program. The label `ERROR` counts only where the program has no call that says the same.
    pub fn checks(&self, program: &Program) -> BTreeSet<CheckId> {
        // Few checks have many obligations.
        let mut present: Vec<CheckId> = Vec::new();
        for obligation in program.functions.values().flat_map(|function| &function.obligations) {
            if !present.contains(&obligation.check) {
                present.push(obligation.check);
            }
        }
        let has_call = present.iter().any(|check| reach_error::CHECK.is(*check));
        match self {
            Property::Everything => {
                let asked = self.asked().filter(|check| !has_call || *check != &error_label::CHECK);
                let of_monitors = present.into_iter().filter(|check| monitor::is_one(*check));
                asked.map(Check::id).chain(of_monitors).collect()
            }
            Property::UnreachCall if has_call => [reach_error::CHECK.id()].into(),
            Property::UnreachCall => [reach_error::CHECK.id(), error_label::CHECK.id()].into(),
            Property::NoOverflow => [signed_overflow::CHECK.id()].into(),
            Property::Memory(property) => property.checks().into_iter().map(Check::id).collect(),
            Property::Checks(checks) => checks.clone(),
        }
    }

    /// Its obligations in the given functions.
    pub fn targets<'f>(
        &self,
        program: &Program,
        functions: impl IntoIterator<Item = &'f proofline_cfa::Function>,
    ) -> Targets {
        Targets::of_checks(&self.checks(program), functions)
    }
}

impl Targets {
    /// The obligations in the given functions that are of these checks.
    pub fn of_checks<'f>(
        checks: &BTreeSet<CheckId>,
        functions: impl IntoIterator<Item = &'f proofline_cfa::Function>,
    ) -> Targets {
        Targets::new(functions.into_iter().flat_map(|function| targets_of(checks, function)))
    }
}

/// The obligations of a function that are of these checks.
pub(crate) fn targets_of<'f>(
    checks: &'f BTreeSet<CheckId>,
    function: &'f proofline_cfa::Function,
) -> impl Iterator<Item = (Name, ObligationId)> + 'f {
    let selected = function.obligations.iter().enumerate().filter(|(_, o)| checks.contains(&o.check));
    selected.map(|(at, _)| (function.name, ObligationId(at as u32)))
}

/// The property of memory that a property file says: one line for each part.
fn memory_property(text: &str) -> Option<MemoryProperty> {
    let says = |property: &MemoryProperty| text.contains(&format!("G {})", property.name()));
    let parts: Vec<MemoryProperty> = MemoryProperty::ALL.iter().copied().filter(says).collect();
    match parts[..] {
        [one] => Some(one),
        [MemoryProperty::Deref, MemoryProperty::Free, MemoryProperty::Track] => Some(MemoryProperty::Safety),
        _ => None,
    }
}
