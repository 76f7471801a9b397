//! Of which variables nothing but the sign is looked at: what `strcmp` returns is any number of a sign that the strings decide, and a program that asks for no
//! more does the same whichever number it is. (Flow-insensitive: of each variable that only its function names, in all of the program.)

use proofline_cfa::{
    Base, Callee, CompareOp, Expr, Function, LocalId, Lvalue, Name, Op, Program, Scalar, visit,
};
use rustc_hash::{FxHashMap, FxHashSet};

type Variable = (Name, LocalId);

/// The variables of which more than the sign is looked at.
pub(super) fn looked_into(program: &Program) -> FxHashSet<Variable> {
    let mut flows: FxHashMap<Variable, Vec<Variable>> = FxHashMap::default();
    let mut found: Vec<Variable> = Vec::new();
    // What may be called through a pointer gives its result to every such call.
    let mut through_pointers: Vec<Option<Variable>> = Vec::new();
    for function in program.functions.values() {
        for edge in &function.edges {
            look(function, &edge.op, &mut flows, &mut found);
            let Op::Call(call) = &edge.op else { continue };
            let Some(dst) = &call.dst else { continue };
            let to = variable(function, dst);
            match &call.callee {
                Callee::Direct(name) => {
                    let result = program.function(*name).and_then(result);
                    flow(result, to, &mut flows, &mut found);
                }
                Callee::Indirect(..) => through_pointers.push(to),
            }
        }
    }
    for result in program.functions.values().filter_map(result) {
        through_pointers.iter().for_each(|to| flow(Some(result), *to, &mut flows, &mut found));
    }
    let mut all = FxHashSet::default();
    // What flows into a variable that is looked into is looked into.
    let mut into: FxHashMap<Variable, Vec<Variable>> = FxHashMap::default();
    for (from, to) in flows.into_iter().flat_map(|(from, all)| all.into_iter().map(move |to| (from, to))) {
        into.entry(to).or_default().push(from);
    }
    while let Some(next) = found.pop() {
        if all.insert(next) {
            found.extend(into.get(&next).into_iter().flatten());
        }
    }
    all
}

fn flow(
    from: Option<Variable>,
    to: Option<Variable>,
    flows: &mut FxHashMap<Variable, Vec<Variable>>,
    found: &mut Vec<Variable>,
) {
    match (from, to) {
        (Some(from), Some(to)) => flows.entry(from).or_default().push(to),
        (Some(from), None) => found.push(from),
        (None, _) => {}
    }
}

fn look(
    function: &Function,
    op: &Op,
    flows: &mut FxHashMap<Variable, Vec<Variable>>,
    found: &mut Vec<Variable>,
) {
    let mut reads: FxHashMap<LocalId, i32> = FxHashMap::default();
    visit::reads(op, &mut |lvalue| {
        if let Base::Local(id) = lvalue.base {
            *reads.entry(id).or_default() += 1;
        }
    });
    if reads.is_empty() {
        return;
    }
    let mut is_sign = |expr: &Expr| {
        if let Some((id, _)) = of_sign(expr) {
            *reads.entry(id).or_default() -= 1;
        }
    };
    visit::exprs(op, &mut |expr| {
        let Expr::Compare(operator, lhs, rhs) = expr else { return };
        for (number, other) in [(lhs, rhs), (rhs, lhs)] {
            // Whether it is zero, an unsigned number says, too.
            let is_equality = matches!(operator, CompareOp::Eq | CompareOp::Ne);
            let keeps_sign = is_equality || of_sign(number).is_some_and(|(_, is_signed)| is_signed);
            if matches!(**other, Expr::Int(0, _)) && keeps_sign {
                is_sign(number);
            }
        }
    });
    if let Op::Assign(dst, value) = op
        && let Some((id, true)) = of_sign(value)
    {
        is_sign(value);
        flow(Some((function.name, id)), variable(function, dst), flows, found);
    }
    let more = reads.into_iter().filter(|(_, count)| *count > 0);
    found.extend(more.map(|(id, _)| (function.name, id)));
}

/// The variable that is read, converted so that it is zero where it was, and whether it has its sign, too.
fn of_sign(expr: &Expr) -> Option<(LocalId, bool)> {
    match expr {
        Expr::Load(Lvalue { base: Base::Local(id), path, .. }) if path.is_empty() => Some((*id, true)),
        Expr::Cast(Scalar::Int(to), from, _) => {
            let Scalar::Int(was) = from.scalar() else { return None };
            let (id, is_signed) = of_sign(from)?;
            (was.signed && to.bits >= was.bits).then_some((id, is_signed && to.signed))
        }
        _ => None,
    }
}

/// The variable, if only its function names it.
fn variable(function: &Function, place: &Lvalue) -> Option<Variable> {
    match place.base {
        Base::Local(id) if place.path.is_empty() && !function.local(id).address_taken => {
            Some((function.name, id))
        }
        Base::Local(_) | Base::Global(_) | Base::Deref(..) => None,
    }
}

fn result(function: &std::sync::Arc<Function>) -> Option<Variable> {
    function.result.map(|id| (function.name, id))
}

#[cfg(test)]
mod tests {
    use proofline_cfa::Name;

    use crate::load::{Options, load_texts};

    /// Names of variables that are looked into.
    fn looked_into(code: &str) -> Vec<String> {
        let (subject, _) =
            load_texts(&[("a.c".into(), code.to_owned())], &Options::default()).expect("the program loads");
        let program = subject.program();
        let mut all: Vec<String> = super::looked_into(program)
            .into_iter()
            .filter_map(|(function, id)| {
                let name = program.function(function)?.local(id).name;
                (!name.starts_with('$') && name != Name::new("return")).then(|| format!("{function}.{name}"))
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn comparisons_with_zero_look_at_the_sign() {
        let code =
            "int main(void) { int a = 3, b = a; if (a < 0) return 1; if (b == 0) return 2; return b > 0; }";
        assert_eq!(looked_into(code), Vec::<String>::new());
    }

    #[test]
    fn everything_else_looks_at_more() {
        let code = "int g(int x) { return x; } int h(int y) { return y; }
            int main(void) {
                int a = 3, b = a, c = 1, d = 2, e = 5;
                if (b > 1) return 1;
                char t[9] = \"\"; t[c] = 1;
                unsigned u = d;
                if (u > 0u) d = 0;
                if (g(e) < 0) return 2;
                return h(e) + 1 == 2;
            }";
        let expected = ["main.a", "main.b", "main.c", "main.d", "main.e"];
        let all = looked_into(code);
        assert!(expected.iter().all(|name| all.contains(&(*name).to_owned())), "{all:?}");
    }
}
