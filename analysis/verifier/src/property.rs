//! What is asked of a program: which checks are obligations.

use std::collections::BTreeSet;

use proofline_cfa::{CheckId, Program};

use crate::{
    checks::{Check, error_label, reach_error, signed_overflow},
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
    /// These checks.
    Checks(BTreeSet<CheckId>),
}

/// A property that no check implements.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown property `{0}`\n  help: use unreach-call, no-overflow, or a list of checks such as `division-by-zero,array-bounds`; \
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
                Err(unknown())
            };
        }
        match text {
            "all" | "everything" => return Ok(Property::Everything),
            "unreach-call" => return Ok(Property::UnreachCall),
            "no-overflow" => return Ok(Property::NoOverflow),
            _ => {}
        }
        text.split(',')
            .map(|code| Check::from_code(code.trim()).map(Check::id).ok_or_else(unknown))
            .collect::<Result<_, _>>()
            .map(Property::Checks)
    }

    /// Its short name, as in `RESULT: false(unreach-call)`.
    pub fn name(&self) -> String {
        match self {
            Property::Everything => "all".into(),
            Property::UnreachCall => "unreach-call".into(),
            Property::NoOverflow => "no-overflow".into(),
            Property::Checks(checks) => checks.iter().map(|c| c.code()).collect::<Vec<_>>().join(","),
        }
    }

    /// Whether it asks about this check, in programs that have obligations of it.
    pub fn asks(&self, check: &Check) -> bool {
        match self {
            Property::Everything => true,
            Property::UnreachCall => check == &reach_error::CHECK || check == &error_label::CHECK,
            Property::NoOverflow => check == &signed_overflow::CHECK,
            Property::Checks(checks) => checks.contains(&check.id()),
        }
    }

    /// The checks that it asks about, in their order.
    pub fn asked(&self) -> impl Iterator<Item = &'static Check> {
        Check::ALL.iter().copied().filter(|check| self.asks(check))
    }

    /// The checks it selects in this program. The label `ERROR` counts only where the program has no call that says the same.
    pub fn checks(&self, program: &Program) -> BTreeSet<CheckId> {
        let has_call = program
            .functions
            .values()
            .any(|function| function.obligations.iter().any(|o| reach_error::CHECK.is(o.check)));
        match self {
            Property::Everything => {
                Check::ids().filter(|&check| !has_call || !error_label::CHECK.is(check)).collect()
            }
            Property::UnreachCall if has_call => [reach_error::CHECK.id()].into(),
            Property::UnreachCall => [reach_error::CHECK.id(), error_label::CHECK.id()].into(),
            Property::NoOverflow => [signed_overflow::CHECK.id()].into(),
            Property::Checks(checks) => checks.clone(),
        }
    }

    /// Its obligations in the given functions.
    pub fn targets<'f>(
        &self,
        program: &Program,
        functions: impl IntoIterator<Item = &'f proofline_cfa::Function>,
    ) -> Targets {
        let checks = self.checks(program);
        Targets::new(functions.into_iter().flat_map(|function| {
            let selected = function.obligations.iter().enumerate().filter(|(_, o)| checks.contains(&o.check));
            selected.map(|(i, _)| (function.name, proofline_cfa::ObligationId(i as u32))).collect::<Vec<_>>()
        }))
    }
}
