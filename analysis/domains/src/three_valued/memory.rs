//! The predicates on memory that obligations ask. `None`: not known.

use proofline_cfa::{Base, Expr, MemoryPredicate, Object};

use super::{
    class::{Unary, Var},
    focus::Focus,
    logic::Kleene,
    operation::Stop,
    step::{Result, Step, Value},
    structure::Content,
};

impl Step<'_> {
    /// Whether it holds.
    pub(super) fn predicate(
        &self,
        predicate: MemoryPredicate,
        pointer: &Expr,
        size: &Expr,
    ) -> Result<Option<bool>> {
        let value = self.eval(pointer)?;
        let number = |expr: &Expr| match self.eval(expr) {
            Ok(Value::Int(value)) => Ok(Some(value)),
            Ok(Value::Any | Value::Node(..) | Value::Address(_) | Value::Outside | Value::Function(_)) => {
                Ok(None)
            }
            Err(why) => Err(why),
        };
        Ok(match predicate {
            MemoryPredicate::NotFreed => match value {
                Value::Node(node, _) => self.unary(Unary::Freed, node)?.map(|freed| !freed),
                Value::Int(0) | Value::Address(_) | Value::Outside | Value::Function(_) => Some(true),
                Value::Any | Value::Int(_) => None,
            },
            MemoryPredicate::NotEnded => match value {
                Value::Node(..) | Value::Int(0) | Value::Address(_) | Value::Function(_) => Some(true),
                Value::Any | Value::Int(_) | Value::Outside => None,
            },
            MemoryPredicate::InBounds => match (value, number(size)?) {
                (_, Some(0)) => Some(true),
                (Value::Int(0), Some(1..)) => Some(false),
                (Value::Node(node, offset), Some(size @ 1..)) => {
                    let most = i128::from(self.structure.individual(node).size);
                    Some(offset >= 0 && offset.checked_add(size).is_some_and(|end| end <= most))
                }
                (Value::Address(var), Some(size @ 1..)) => {
                    let most = self.scalar_of(var).map_or(0, |scalar| self.bytes(scalar));
                    (size <= i128::from(most)).then_some(true)
                }
                _ => None,
            },
            MemoryPredicate::Within => match value {
                Value::Int(0) | Value::Address(_) => Some(true),
                Value::Node(node, offset) => {
                    Some((0..=i128::from(self.structure.individual(node).size)).contains(&offset))
                }
                Value::Any | Value::Int(_) | Value::Outside | Value::Function(_) => None,
            },
            MemoryPredicate::SameObject => match (value, self.eval(size)?) {
                (Value::Node(one, _), Value::Node(other, _)) => {
                    (one == other && !self.structure.is_summary(one)).then_some(true)
                }
                (Value::Int(0), Value::Int(0)) => Some(true),
                (Value::Address(one), Value::Address(other)) => (one == other).then_some(true),
                _ => None,
            },
            MemoryPredicate::Freeable => match value {
                Value::Int(0) => Some(true),
                Value::Node(node, offset) => {
                    let is_gone = self.unary(Unary::Freed, node)?;
                    let is_named = self.unary(Unary::Named, node)?;
                    is_gone.zip(is_named).map(|(is_gone, is_named)| offset == 0 && !is_gone && !is_named)
                }
                Value::Address(_) | Value::Outside | Value::Function(_) => Some(false),
                Value::Any | Value::Int(_) => None,
            },
            MemoryPredicate::Initialised => match (value, number(size)?) {
                (Value::Node(node, offset), Some(size)) => self.is_given(node, offset, size).then_some(true),
                (Value::Address(var), _) => self.structure.content(var).is_some().then_some(true),
                _ => None,
            },
            MemoryPredicate::Writable => match value {
                Value::Node(node, _) => (self.unary(Unary::Named, node)? == Some(false))
                    .then_some(true)
                    .or_else(|| self.writable(node)),
                Value::Int(0) | Value::Function(_) => Some(true),
                Value::Address(Var::Global(name)) => {
                    (!self.context.env.program().is_read_only(Object::Global(name))).then_some(true)
                }
                Value::Address(Var::Local(..)) | Value::Outside | Value::Any | Value::Int(_) => None,
            },
            MemoryPredicate::Callable => self.callable(pointer, size)?,
            MemoryPredicate::Terminated | MemoryPredicate::WideTerminated => None,
            MemoryPredicate::NothingLost => self.is_nothing_lost(number(size)? == Some(0)).then_some(true),
            MemoryPredicate::NothingLeft => {
                let mut left = (0..self.structure.len()).map(|node| self.is_living_object(node));
                match left.clone().max().unwrap_or(Kleene::False) {
                    Kleene::True => Some(false),
                    Kleene::Unknown => None,
                    Kleene::False => {
                        let is_known = left.all(|left| left.is_false());
                        (is_known && !self.structure.lost && !self.context.has_older).then_some(true)
                    }
                }
            }
        })
    }

    fn unary(&self, predicate: Unary, node: usize) -> Result<Option<bool>> {
        match self.structure.unary(predicate, node) {
            Kleene::True => Ok(Some(true)),
            Kleene::False => Ok(Some(false)),
            Kleene::Unknown if self.structure.is_summary(node) => Ok(None),
            Kleene::Unknown => Err(Stop::Needs(Focus::Unary(node, predicate))),
        }
    }

    /// Whether it is on the heap and was not freed.
    fn is_living_object(&self, node: usize) -> Kleene {
        let [freed, named] =
            [Unary::Freed, Unary::Named].map(|predicate| self.structure.unary(predicate, node));
        freed.or(named).negated()
    }

    fn is_given(&self, node: usize, offset: i128, size: i128) -> bool {
        let (Ok(offset), Ok(bytes)) = (u64::try_from(offset), u64::try_from(size)) else { return false };
        let class = &self.context.class;
        let has_value = |predicate: Unary, wanted| self.structure.unary(predicate, node) == wanted;
        let is_here = |field: &super::class::Field| field.offset == offset && field.bytes == bytes;
        let is_named = self.structure.unary(Unary::Named, node);
        is_named.is_false()
            && self.structure.unary(Unary::Freed, node).is_false()
            && (class
                .pointers
                .iter()
                .any(|field| is_here(field) && has_value(Unary::Wild(*field), Kleene::False))
                || class
                    .integers()
                    .any(|(field, _)| is_here(&field) && has_value(Unary::Given(field), Kleene::True)))
    }

    /// Whether the variable that the individual is may be written.
    fn writable(&self, node: usize) -> Option<bool> {
        let program = self.context.env.program();
        let mut vars = self.structure.variables().into_iter();
        let is_writable = |var: Var| match var {
            Var::Global(name) => self.scalar_of(var).is_none() && !program.is_read_only(Object::Global(name)),
            Var::Local(..) => false,
        };
        let found = vars.any(|var| self.structure.pointee(var) == Some(node) && is_writable(var));
        found.then_some(true)
    }

    /// Whether the function that the pointer certainly leads to may be called so.
    fn callable(&self, pointer: &Expr, arguments: &Expr) -> Result<Option<bool>> {
        let (Expr::Address(lvalue), Expr::Int(count, _)) = (pointer, arguments) else { return Ok(None) };
        let Base::Deref(called, _) = &lvalue.base else { return Ok(None) };
        let Value::Function(name) = self.eval(called)? else { return Ok(None) };
        Ok(self.context.env.program().may_call(name, lvalue.ty, *count as usize))
    }

    /// Whether each living object on the heap is reached from variables that will still be there.
    fn is_nothing_lost(&self, is_end: bool) -> bool {
        let may_lose_older = || is_end || self.context.env.may_lose_older(self.function.name);
        if self.structure.lost || self.context.has_older && may_lose_older() {
            return false;
        }
        let depth = self.depth();
        let stays = |var: &Var| match var {
            Var::Global(_) => true,
            Var::Local(of, id) => is_end || *of != depth || self.function.result == Some(*id),
        };
        // A record of this function may be the only one that leads on to something.
        let mut locals =
            self.structure.contents().keys().filter(|var| !stays(var) && self.scalar_of(**var).is_none());
        let is_record = |var: &Var| self.structure.pointee(*var).is_some();
        if locals.any(is_record)
            && (0..self.structure.len()).any(|node| self.is_living_object(node).may_hold())
        {
            return false;
        }
        let roots: Vec<Var> = self.structure.contents().keys().copied().filter(|var| stays(var)).collect();
        let is_held = |node: usize| {
            roots.iter().any(|var| {
                self.structure.content(*var) == Some(Content::Pointer)
                    && (self.structure.unary(Unary::Points(*var), node).is_true()
                        || self.context.class.each_links().any(|(links, _)| {
                            self.structure.unary(Unary::Reach(*var, links), node).is_true()
                        }))
            })
        };
        (0..self.structure.len()).all(|node| self.is_living_object(node).is_false() || is_held(node))
    }
}
