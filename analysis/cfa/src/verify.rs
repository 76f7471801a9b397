//! The verifier of automata. What always holds of one, in the order of the parts:
//!
//! 1. Every location that is named exists. The exit and error locations have no outgoing edges; an error location belongs to one
//!    obligation, is neither entry nor exit, and is entered only by `Assume`.
//! 2. Locals: the result first, then the parameters, then the rest, each in its role; names are unique; sizes are those of the types. The
//!    C type of the function has as many parameters. A function that returns a value has a result.
//! 3. Lvalues: format and size are those of the type (of a bit-field: of its bits); members are where their records say; what a
//!    pointer points to is reached through a pointer; indices are integers; a bit-field has no address.
//! 4. Values: only scalars are loaded; constants are in range; the operands of an operator have one format that it can work on
//!    (of a shift: two integers); the address of a local is taken only if the local says so.
//! 5. Operations: assigned values have the format of what they are assigned to; copied aggregates are of one type; pointers and sizes
//!    are pointers and integers; lives begin and end of what is neither parameter nor result; arguments fit what is called; allocation sites
//!    are distinct.
//!    What is computed is a temporary.
//! 6. Every temporary is assigned before it is used, on every path. Every site is one of the map's.
//! 7. In a program also: what has a name exists, arguments fit the definition, initial values lie in their objects and do not overlap.
//!
//! Knows automata; must not know where they come from.

mod flow;
mod lvalue;
mod op;
mod program;
mod value;

use std::{collections::BTreeSet, fmt};

use proofline_hir::{Name, Records, Type, TypeKind};
use proofline_syntax::DataModel;

use crate::{
    Types,
    expr::{LocalId, Site},
    function::{EdgeId, Function, Loc, ObligationId, Op, Role},
    map::FunctionMap,
};
pub use program::verify_program;

/// Something that must never be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect {
    /// Function, or object with static storage.
    pub of: Name,
    /// Which part of it.
    pub part: Part,
    /// Which sentence it breaks.
    pub flaw: Flaw,
    /// The particulars.
    pub detail: String,
}

/// A part of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// No part in particular.
    Whole,
    /// An edge.
    Edge(EdgeId),
    /// A local.
    Local(LocalId),
    /// An obligation.
    Obligation(ObligationId),
}

/// The kinds of defects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Flaw {
    /// A location does not exist.
    Location,
    /// The exit or an error location is left.
    LeavesEnd,
    /// An error location is shared, is entry or exit, or is entered otherwise than by `Assume`.
    ErrorLocation,
    /// A local does not exist.
    UnknownLocal,
    /// A local is not where its role belongs, or the lists of parameters and result disagree with the roles.
    Role,
    /// Two locals have one name.
    Duplicate,
    /// The C type of the function does not fit its locals.
    Signature,
    /// The size is not that of the type.
    Size,
    /// The format is not that of the type.
    Format,
    /// A member is not where its record says.
    Member,
    /// A bit-field does not fit its type.
    BitField,
    /// Something other than a pointer is followed, freed, copied from.
    NotAPointer,
    /// Something other than an integer is an index or a size.
    NotAnInteger,
    /// An aggregate is loaded or assigned as a value, or a scalar copied as an aggregate.
    Aggregate,
    /// A constant is not one of its type.
    Constant,
    /// Operands differ in format, or the operator cannot work on it.
    Operands,
    /// The address of something that may not have one.
    Address,
    /// An assigned value has another format.
    Assigned,
    /// A parameter or the result begins or ends.
    Lifetime,
    /// Arguments or result do not fit what is called.
    Call,
    /// Two allocations have one site.
    AllocationSite,
    /// A temporary is used that a path does not assign.
    Unassigned,
    /// The map does not have the site.
    Site,
    /// Nothing has the name.
    Name,
    /// An initial value is outside its object or overlaps another.
    Initial,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.of)?;
        match self.part {
            Part::Whole => {}
            Part::Edge(edge) => write!(f, ", {edge}")?,
            Part::Local(local) => write!(f, ", {local}")?,
            Part::Obligation(obligation) => write!(f, ", {obligation}")?,
        }
        write!(f, ": {:?}: {}", self.flaw, self.detail)
    }
}

/// Everything wrong with an automaton by itself; with a map also its sites.
pub fn verify_function(
    function: &Function,
    data_model: DataModel,
    records: &Records,
    map: Option<&FunctionMap>,
) -> Vec<Defect> {
    let mut verifier = Verifier {
        function,
        types: Types { records, model: data_model },
        sites: map.map(|map| map.sites.len()),
        part: Part::Whole,
        site: Site(0),
        only_reads: false,
        defects: Vec::new(),
    };
    verifier.locations();
    verifier.locals();
    if verifier.defects.is_empty() {
        // The rest relies on names of locals and locations.
        verifier.edges();
        verifier.library_results();
    }
    if verifier.defects.is_empty() {
        verifier.temporaries();
    }
    verifier.defects
}

struct Verifier<'f> {
    function: &'f Function,
    types: Types<'f>,
    /// Number of the map's sites.
    sites: Option<usize>,
    part: Part,
    site: Site,
    /// In what is computed addresses are only read through: they need not be taken.
    only_reads: bool,
    defects: Vec<Defect>,
}

impl Verifier<'_> {
    fn report(&mut self, flaw: Flaw, detail: impl Into<String>) {
        self.defects.push(Defect { of: self.function.name, part: self.part, flaw, detail: detail.into() });
    }

    fn expect(&mut self, holds: bool, flaw: Flaw, detail: impl FnOnce() -> String) {
        if !holds {
            let detail = detail();
            self.report(flaw, detail);
        }
    }

    fn site(&mut self, site: Site) {
        if let Some(count) = self.sites {
            self.expect(site.in_map().index() < count, Flaw::Site, || format!("{site} of {count}"));
        }
    }

    fn loc(&mut self, loc: Loc, what: &str) {
        let count = self.function.locations;
        self.expect(loc.0 < count, Flaw::Location, || format!("{what} {loc} of {count}"));
    }

    fn locations(&mut self) {
        let function = self.function;
        self.loc(function.entry, "entry");
        self.loc(function.exit, "exit");
        for (name, loc) in &function.labels {
            self.loc(*loc, &format!("label {name}"));
        }
        for (loc, what) in &function.unsupported {
            self.loc(*loc, what);
        }
        for loc in function.operands.iter().flat_map(|operands| &operands.bounds) {
            self.loc(*loc, "operand");
        }
        let mut errors = BTreeSet::new();
        for (index, obligation) in function.obligations.iter().enumerate() {
            self.part = Part::Obligation(ObligationId(index as u32));
            self.loc(obligation.error, "error location");
            self.site(obligation.site);
            let end = obligation.error == function.entry || obligation.error == function.exit;
            self.expect(!end, Flaw::ErrorLocation, || "is the entry or the exit".to_owned());
            let first = errors.insert(obligation.error);
            self.expect(first, Flaw::ErrorLocation, || {
                format!("{} has another obligation", obligation.error)
            });
        }
        for (id, edge) in function.edge_ids() {
            self.part = Part::Edge(id);
            self.loc(edge.from, "source");
            self.loc(edge.to, "target");
            self.site(edge.site);
            let end = edge.from == function.exit || errors.contains(&edge.from);
            self.expect(!end, Flaw::LeavesEnd, || format!("{} has a successor", edge.from));
            if errors.contains(&edge.to) {
                let assume = matches!(edge.op, Op::Assume(_));
                self.expect(assume, Flaw::ErrorLocation, || "is not entered by an assumption".to_owned());
            }
        }
        self.part = Part::Whole;
        for approximation in &function.approximations {
            self.site(approximation.site);
        }
    }

    fn library_results(&mut self) {
        for result in &self.function.library_results {
            self.part = Part::Local(result.dst);
            let role = self.function.locals.get(result.dst.index()).map(|local| local.role);
            self.expect(role == Some(Role::Temporary), Flaw::Role, || {
                format!("{} is computed and no temporary", result.dst)
            });
            self.only_reads = true;
            result.arguments.iter().for_each(|argument| self.value(argument));
            self.only_reads = false;
        }
        self.part = Part::Whole;
    }

    fn locals(&mut self) {
        let function = self.function;
        let mut expected: Vec<(LocalId, Role)> = Vec::new();
        expected.extend(function.result.map(|id| (id, Role::Result)));
        expected.extend(function.parameters.iter().map(|id| (*id, Role::Parameter)));
        for (index, (id, role)) in expected.iter().enumerate() {
            self.part = Part::Local(*id);
            match function.locals.get(id.index()) {
                None => self.report(Flaw::UnknownLocal, "does not exist"),
                Some(local) => {
                    let fits = id.index() == index && local.role == *role;
                    self.expect(fits, Flaw::Role, || {
                        format!("{:?} is expected at {index} as {role:?}", local.role)
                    });
                }
            }
        }
        let mut names = std::collections::BTreeSet::new();
        for (index, local) in function.locals.iter().enumerate() {
            self.part = Part::Local(LocalId(index as u32));
            let listed = index < expected.len();
            let special = matches!(local.role, Role::Result | Role::Parameter);
            self.expect(listed || !special, Flaw::Role, || format!("{:?} is not listed", local.role));
            self.expect(names.insert(local.name), Flaw::Duplicate, || local.name.to_string());
            let size = self.types.size(local.ty).unwrap_or(0);
            self.expect(size == local.size || size == 0, Flaw::Size, || format!("{} for {size}", local.size));
        }
        self.part = Part::Whole;
        let TypeKind::Function(signature) = function.ty.kind() else {
            return self.report(Flaw::Signature, "no function type");
        };
        let returns = !matches!(signature.result.kind(), TypeKind::Void);
        self.expect(returns == function.result.is_some(), Flaw::Signature, || "result".to_owned());
        self.expect(signature.variadic == function.variadic, Flaw::Signature, || {
            "variable arguments".to_owned()
        });
        let (said, listed) = (signature.parameters.len(), function.parameters.len());
        self.expect(said == listed || signature.unprototyped, Flaw::Signature, || {
            format!("{listed} parameters, not {said}")
        });
    }

    fn edges(&mut self) {
        for (id, edge) in self.function.edge_ids() {
            self.part = Part::Edge(id);
            self.site = edge.site;
            self.op(&edge.op);
        }
        self.allocation_sites();
    }
}

/// Types that differ at most in qualifiers of the outermost level, or of which one is unknown.
fn same_type(a: Type, b: Type) -> bool {
    let unknown = |ty: Type| matches!(ty.kind(), TypeKind::Error);
    a.unqualified() == b.unqualified() || unknown(a) || unknown(b)
}
