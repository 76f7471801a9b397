//! SMT-LIB 2 text back to terms: what `print` writes, and enough of the rest for scripts from elsewhere.
//! No recursion: a deep text is as harmless as a deep term.

use std::collections::BTreeMap;

use super::operators;
use super::s_expression::{Node, ParseError, Reader, Result, Tree};
use crate::build;
use crate::term::{Func, Name, Sort, Term, Var};

/// What the names of a script stand for.
#[derive(Clone, Default, Debug)]
pub struct ParsedScript {
    /// Declared constants, by their text in the script.
    pub vars: BTreeMap<String, Var>,
    /// Declared functions, by their text in the script.
    pub functions: BTreeMap<String, Func>,
    /// Names defined by `define-fun` without parameters.
    pub definitions: BTreeMap<String, Term>,
    /// The assertions, in order.
    pub assertions: Vec<Term>,
}

/// Reads a script of declarations and assertions; other commands are skipped.
///
/// # Errors
/// If the text is not SMT-LIB, or uses what our terms lack.
pub fn parse_script(text: &str) -> Result<ParsedScript> {
    let tree = Reader::new(text).read_all()?;
    let mut script = ParsedScript::default();
    for &command in &tree.roots {
        let items = tree.list(command).ok_or_else(|| tree.error(command, "a command was expected"))?;
        let name = items.first().and_then(|n| tree.atom(*n)).unwrap_or_default();
        match (name, items) {
            ("declare-const", [_, symbol, result]) => script.declare(&tree, *symbol, &[], *result)?,
            ("declare-fun", [_, symbol, params, result]) => {
                let params = tree.list(*params).unwrap_or_default().to_vec();
                script.declare(&tree, *symbol, &params, *result)?;
            }
            ("define-fun", [_, symbol, params, _, body]) => {
                if tree.list(*params).is_none_or(|p| !p.is_empty()) {
                    return Err(tree.error(*params, "definitions with parameters are not supported"));
                }
                let value = script.term(&tree, *body)?;
                script.definitions.insert(tree.symbol(*symbol)?, value);
            }
            ("assert", [_, body]) => {
                let formula = script.term(&tree, *body)?;
                if formula.sort() != Sort::Bool {
                    return Err(tree.error(*body, "a formula was expected"));
                }
                script.assertions.push(formula);
            }
            _ => {}
        }
    }
    Ok(script)
}

/// Reads one term over the symbols of `script`.
///
/// # Errors
/// If the text is not a term.
pub fn parse(text: &str, script: &ParsedScript) -> Result<Term> {
    let tree = Reader::new(text).read_all()?;
    match tree.roots.as_slice() {
        [root] => script.term(&tree, *root),
        _ => Err(ParseError { message: "one term was expected".into(), at: 0 }),
    }
}

/// A variable from its SMT-LIB name: `x@3` has SSA index 3.
fn variable(symbol: &str, sort: Sort) -> Var {
    let (name, index) = match symbol.rsplit_once('@') {
        Some((name, index)) => match index.parse::<u32>() {
            Ok(index) if index > 0 => (name, index),
            _ => (symbol, 0),
        },
        None => (symbol, 0),
    };
    Var { name: Name::new(&decode(name)), index, sort }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Work of the evaluator: what remains to be done, last first.
enum Task {
    /// Push the term of a node.
    Eval(Node),
    /// Pop this many terms and apply the head.
    Apply(Node, usize),
    /// Pop one term per name and bind them.
    Let(Vec<String>),
    /// Forget the innermost meaning of each name.
    Forget(Vec<String>),
    /// Pop the body and quantify.
    Quantify(bool, Vec<Var>),
}

impl ParsedScript {
    fn declare(&mut self, tree: &Tree<'_>, symbol: Node, params: &[Node], result: Node) -> Result<()> {
        let name = tree.symbol(symbol)?;
        let result = tree.sort(result)?;
        if params.is_empty() {
            if name.starts_with('?') {
                return Err(tree.error(symbol, "names with `?` are kept for bound variables"));
            }
            let var = variable(&name, result);
            // One name for several sorts cannot be told apart: better no term than a wrong one.
            if self.vars.insert(name, var).is_some_and(|before| before != var) {
                return Err(tree.error(symbol, "declared with two sorts"));
            }
        } else {
            let params = params.iter().map(|p| tree.sort(*p)).collect::<Result<Vec<Sort>>>()?;
            let function = Func::new(&decode(&name), &params, result);
            if self.functions.insert(name, function).is_some_and(|before| before != function) {
                return Err(tree.error(symbol, "declared with two sorts"));
            }
        }
        Ok(())
    }

    fn term(&self, tree: &Tree<'_>, root: Node) -> Result<Term> {
        let mut local: BTreeMap<String, Vec<Term>> = BTreeMap::new();
        let mut values: Vec<Term> = Vec::new();
        let mut tasks = vec![Task::Eval(root)];
        let mut fresh = 0;
        while let Some(task) = tasks.pop() {
            match task {
                Task::Eval(node) => match tree.list(node) {
                    None => values.push(self.leaf(tree, node, &local)?),
                    Some(items) => {
                        self.open(tree, node, items, &mut tasks, &mut local, &mut fresh, &mut values)?
                    }
                },
                Task::Apply(node, count) => {
                    let args = values.split_off(values.len() - count);
                    values.push(self.apply(tree, node, &args)?);
                }
                Task::Let(names) => {
                    let bound = values.split_off(values.len() - names.len());
                    for (name, value) in names.into_iter().zip(bound) {
                        local.entry(name).or_default().push(value);
                    }
                }
                Task::Forget(names) => {
                    for name in names {
                        local.entry(name).or_default().pop();
                    }
                }
                Task::Quantify(universal, vars) => {
                    let body = values.pop().ok_or_else(|| tree.error(root, "a body was expected"))?;
                    if body.sort() != Sort::Bool {
                        return Err(tree.error(root, "a quantified formula was expected"));
                    }
                    values.push(if universal {
                        build::forall(&vars, body)
                    } else {
                        build::exists(&vars, body)
                    });
                }
            }
        }
        values.pop().ok_or_else(|| tree.error(root, "a term was expected"))
    }

    fn leaf(&self, tree: &Tree<'_>, node: Node, local: &BTreeMap<String, Vec<Term>>) -> Result<Term> {
        if let Some(constant) = operators::constant(tree, node) {
            return Ok(constant);
        }
        let name = tree.symbol(node)?;
        if let Some(term) = local.get(&name).and_then(|stack| stack.last()) {
            return Ok(*term);
        }
        if let Some(term) = self.definitions.get(&name) {
            return Ok(*term);
        }
        match self.vars.get(&name) {
            Some(var) => Ok(build::var(*var)),
            None => Err(tree.error(node, "unknown symbol")),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one loop, split for reading")]
    fn open(
        &self,
        tree: &Tree<'_>,
        node: Node,
        items: &[Node],
        tasks: &mut Vec<Task>,
        local: &mut BTreeMap<String, Vec<Term>>,
        fresh: &mut u32,
        values: &mut Vec<Term>,
    ) -> Result<()> {
        if let Some(constant) = operators::constant(tree, node) {
            values.push(constant);
            return Ok(());
        }
        let (head, rest) =
            items.split_first().ok_or_else(|| tree.error(node, "an application was expected"))?;
        match (tree.atom(*head), rest) {
            (Some("let"), [bindings, body]) => {
                let mut names = Vec::new();
                let mut terms = Vec::new();
                for binding in tree.list(*bindings).unwrap_or_default() {
                    match tree.list(*binding) {
                        Some([name, term]) => {
                            names.push(tree.symbol(*name)?);
                            terms.push(*term);
                        }
                        _ => return Err(tree.error(*binding, "a binding was expected")),
                    }
                }
                tasks.push(Task::Forget(names.clone()));
                tasks.push(Task::Eval(*body));
                tasks.push(Task::Let(names));
                tasks.extend(terms.into_iter().rev().map(Task::Eval));
            }
            (Some(quantifier @ ("forall" | "exists")), [binders, body]) => {
                let mut names = Vec::new();
                let mut vars = Vec::new();
                for binder in tree.list(*binders).unwrap_or_default() {
                    let Some([name, sort]) = tree.list(*binder) else {
                        return Err(tree.error(*binder, "a bound variable was expected"));
                    };
                    *fresh += 1;
                    // Out of reach of the levels in use; the quantifier renames it.
                    let var = Var::bound(u32::MAX / 2 + *fresh, tree.sort(*sort)?);
                    let name = tree.symbol(*name)?;
                    local.entry(name.clone()).or_default().push(build::var(var));
                    names.push(name);
                    vars.push(var);
                }
                tasks.push(Task::Forget(names));
                tasks.push(Task::Quantify(quantifier == "forall", vars));
                tasks.push(Task::Eval(*body));
            }
            (Some("!"), [body, ..]) => tasks.push(Task::Eval(*body)),
            _ => {
                let args = if rest.first().is_some_and(|a| operators::rounding(tree, *a).is_some()) {
                    &rest[1..]
                } else {
                    rest
                };
                tasks.push(Task::Apply(node, args.len()));
                tasks.extend(args.iter().rev().map(|a| Task::Eval(*a)));
            }
        }
        Ok(())
    }

    fn apply(&self, tree: &Tree<'_>, node: Node, args: &[Term]) -> Result<Term> {
        let items = tree.list(node).unwrap_or_default();
        let head = *items.first().ok_or_else(|| tree.error(node, "an application was expected"))?;
        if let Some(name) = tree.atom(head)
            && let Some(function) = self.functions.get(&tree.symbol(head)?)
        {
            let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
            if sorts != function.params() {
                return Err(tree.error(node, &format!("wrong arguments of {name}")));
            }
            return Ok(build::call(*function, args));
        }
        operators::apply(tree, node, args)
    }
}
