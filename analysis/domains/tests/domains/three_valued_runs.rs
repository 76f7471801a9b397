//! Every state of a concrete run of a program is in what three-valued structures say along the run's path, operation by operation; and the laws of the
//! operators on states that are reached.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use proofline_cfa::{Entry, Name, Object, Op, Scalar, eval};
use proofline_cpa::{Adjusted, CallContext, Cpa, Domain, EdgeContext, LocationContext, NoFacts};
use proofline_domains::{
    ThreeValuedAnalysis, ThreeValuedOptions,
    three_valued::{
        ShapeRegion,
        canonical::embeds,
        class::{Field, ShapeClass, Unary, Var},
        generators,
        logic::Kleene,
        structure::{Content, Structure},
    },
};
use proofline_program_analysis::Environment;

use crate::{
    common::{environment, explore_some},
    concrete::{Did, Machine},
    driver::laws,
    shapes::{PROGRAMS, START},
};

/// Programs that go where list programs do not: variables in lists, addresses of variables, self loops, what is not written.
const MORE: [&str; 8] = [
    "struct n { int d; struct n *next; }; static struct n g = {1, &g}; static struct n *top = &g;
    int main(void) { struct n s = {2, top}; struct n **at = &top; *at = &s; s.next->d = 3;
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->d = 2; n->next = *at; *at = n; }
        struct n *p = top; int i = 0; while (p && p->next != p && i < 9) { p = p->next; i++; } if (p) p->d = 7; return g.d; }",
    "struct n { int d; struct n *next; };
    static void push(struct n **l, int d) { struct n *n = malloc(sizeof *n); if (!n) return; n->d = d; n->next = *l; *l = n; }
    static struct n *find(struct n *l, int d) { while (l && l->d != d) l = l->next; return l; }
    int main(void) { struct n *l = 0; while (input()) push(&l, input() ? 1 : 2); struct n *f = find(l, 2); if (f) { f->next = f; f->d = 1; }
        struct n *h = find(l, 5); while (l && l->next != l) { struct n *t = l->next; free(l); l = t; } return h != 0; }",
    "struct n { struct n *next; int d; };
    int main(void) { struct n *p = 0; for (int i = 0; i < 3; i++) { struct n s; s.next = i ? p : 0; s.d = i; p = &s; if (i && input()) p = 0; }
        struct n *a = malloc(sizeof *a), *b = malloc(sizeof *b); if (!a || !b) return 0; *a = (struct n){b, 4}; *b = *a; a->next = a; b->next->d = 5;
        struct n *c = b->next; free(b); b = c; return b->d; }",
    "struct n { struct n *next, *prev; };
    int main(void) { struct n *l = 0, *e = 0;
        while (input()) { struct n *n = calloc(1, sizeof *n); if (!n) break; n->prev = e; if (e) e->next = n; else l = n; e = n; }
        for (struct n *p = l; p; ) { struct n *q = p->next; if (input()) { if (p->prev) p->prev->next = q; else l = q; if (q) q->prev = p->prev; else e = p->prev; free(p); } p = q; }
        if (e) e->next = l; if (l) l->prev = e; struct n *p = l; int i = 0; if (p) do p = p->next; while (p != l && ++i < 20); return 0; }",
    "struct t { struct t *left, *right, *parent; int k; };
    static void put(struct t **at, struct t *up, int k) { while (*at) { up = *at; at = k < up->k ? &up->left : &up->right; }
        struct t *n = malloc(sizeof *n); if (!n) return; n->left = n->right = 0; n->parent = up; n->k = k; *at = n; }
    int main(void) { struct t *root = 0; while (input()) { struct t *p = root, *up = 0; int left = 0;
            while (p) { up = p; left = input() & 1; p = left ? p->left : p->right; }
            struct t *n = malloc(sizeof *n); if (!n) break; n->left = n->right = 0; n->parent = up; n->k = 1; if (!up) root = n; else if (left) up->left = n; else up->right = n; }
        struct t *p = root; while (p && (p->left || p->right)) p = p->left ? p->left : p->right;
        if (p && p->parent) { if (p->parent->left == p) p->parent->left = 0; else p->parent->right = 0; p->parent = 0; root = root->left; } return 0; }",
    "struct s { struct s *next; int v; }; struct n { struct s *list; struct n *next; };
    int main(void) { struct n *l = 0; while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->list = 0; while (input()) { struct s *s = malloc(sizeof *s); if (!s) break; s->v = 1; s->next = n->list; n->list = s; } n->next = l; l = n; }
        if (l && l->next) { l->next->list = l->list; l->list = 0; } while (l) { struct s *s = l->list; while (s) { s->v = 2; s = s->next; } l = l->next; } return 0; }",
    "struct n { struct n *next; int d; };
    static int len(struct n *l) { if (!l) return 0; l->d = 1; return 1 + len(l->next); }
    static struct n *copy(struct n *l) { if (!l) return 0; struct n *n = malloc(sizeof *n); if (!n) return 0; n->d = l->d; n->next = copy(l->next); return n; }
    int main(void) { struct n *l = 0; for (int i = 0; i < 3; i++) { struct n *n = malloc(sizeof *n); if (!n) break; n->next = l; n->d = i; l = n; }
        struct n *c = copy(l); int k = len(c); if (c && l) { struct n *t = c->next; c->next = l->next; l->next = t; } return k; }",
    "struct n { struct n *a, *b; char c; short d; }; void *memset(void *, int, unsigned long);
    int main(void) { struct n *x = malloc(sizeof *x), *y = calloc(1, sizeof *y); if (!x || !y) return 0; memset(x, 0, sizeof *x); x->c = 3; x->a = y; y->b = x; y->d = 3;
        if (input()) x->a->b->c = 1; if (x->c == 3) x->b = y->b; else { x->b = y->a; *(char *)&y->d = 1; } if (y->d == 3) free(x); else x->b = x->b ? x : y; return y->d; }",
];

fn analysis(env: &Arc<Environment>) -> ThreeValuedAnalysis {
    let options = ThreeValuedOptions { entry: Entry::main(), wrapv: false, annotations: Vec::new() };
    ThreeValuedAnalysis::new(env.clone(), options)
}

/// A concrete memory, as a structure that an upper one knows as much about.
struct Memory<'m> {
    machine: &'m Machine<'m>,
    class: &'m ShapeClass,
    /// The variables that are individuals.
    named: RefCell<Vec<usize>>,
}

impl Memory<'_> {
    fn scalar(&self, instance: usize, field: Field) -> Option<i128> {
        let (at, bits) = (field.offset as i64 * 8, field.bytes as i64 * 8);
        self.machine.peek(instance, at, bits, field.scalar).and_then(eval::Value::int)
    }

    /// The object that an address is the start of.
    fn object(&self, address: i128) -> Option<usize> {
        self.machine.instances.iter().position(|instance| instance.base == address)
    }

    fn instance(&self, var: Var) -> Option<usize> {
        match var {
            Var::Global(name) => {
                self.machine.instances.iter().position(|instance| instance.object == Object::Global(name))
            }
            Var::Local(depth, id) => {
                self.machine.frames.get(depth as usize).map(|frame| frame.locals[id.index()])
            }
        }
    }

    fn is_heap(&self, instance: usize) -> bool {
        matches!(self.machine.instances[instance].object, Object::Heap(..))
    }

    /// Whether the upper structure covers this memory.
    fn is_in(&self, upper: &Structure) -> Result<(), String> {
        // What variables lead to that the upper one knows.
        let mut roots: BTreeMap<Var, Option<usize>> = BTreeMap::new();
        let mut individuals: Vec<usize> = Vec::new();
        self.named.borrow_mut().clear();
        for (var, content) in upper.contents() {
            let instance = self.instance(*var).ok_or("no such variable")?;
            let size = self.machine.instances[instance].bytes.len() as u64;
            let is_record = upper
                .pointees(*var)
                .iter()
                .any(|(node, _)| upper.unary(Unary::Named, *node).is_true() && self.is_record(*var));
            let pointer = Field { offset: 0, bytes: 8, scalar: Scalar::Pointer };
            match content {
                Content::Pointer if is_record => {
                    roots.insert(*var, Some(instance));
                    self.named.borrow_mut().push(instance);
                }
                Content::Pointer => {
                    let value = self.scalar(instance, pointer).ok_or("no pointer")?;
                    let to = self.object(value);
                    if value != 0 && to.is_none() {
                        return Err(format!("{var:?} leads nowhere"));
                    }
                    roots.insert(*var, to);
                }
                Content::Int(number) => {
                    let signed = proofline_cfa::IntType { bits: 8 * size as u8, signed: true };
                    let scalar = Scalar::Int(signed);
                    let value = self.scalar(instance, Field { offset: 0, bytes: size, scalar });
                    if value.map(|value| signed.wrap(value)) != Some(signed.wrap(*number)) {
                        return Err(format!("{var:?} is {value:?}, not {number}"));
                    }
                }
                Content::Outside => {}
                Content::Address(of) => {
                    let address = self.scalar(instance, pointer).ok_or("no pointer")?;
                    let to = self.instance(*of).map(|to| self.machine.instances[to].base);
                    if Some(address) != to {
                        return Err(format!("{var:?} does not lead to {of:?}"));
                    }
                }
            }
        }
        let mut open: Vec<usize> = roots.values().flatten().copied().collect();
        while let Some(instance) = open.pop() {
            if individuals.contains(&instance) {
                continue;
            }
            individuals.push(instance);
            for field in &self.class.pointers {
                open.extend(self.leads(instance, *field).flatten());
            }
        }
        // Some of what nothing leads to may be there, with all that it leads to.
        let is_garbage = |at: &usize| self.is_heap(*at) && !individuals.contains(at);
        let garbage: Vec<usize> = (0..self.machine.instances.len()).filter(is_garbage).collect();
        // More are too many maps.
        if individuals.len() > 8 || garbage.len() > 6 {
            return Ok(());
        }
        let mut why = String::new();
        for chosen in 0u32..1 << garbage.len() {
            let is_chosen = |at: usize| chosen >> at & 1 == 1;
            let mut all = individuals.clone();
            all.extend((0..garbage.len()).filter(|at| is_chosen(*at)).map(|at| garbage[at]));
            let is_closed = |instance: &usize| {
                let fields = self.class.pointers.iter();
                fields.filter_map(|field| self.leads(*instance, *field).flatten()).all(|to| all.contains(&to))
            };
            let mut left = (0..garbage.len()).filter(|at| !is_chosen(*at)).map(|at| garbage[at]);
            if !all.iter().all(is_closed) || left.any(|at| self.machine.instances[at].live && !upper.lost) {
                continue;
            }
            let lower = self.structure(upper, &roots, &all);
            if self.search(&lower, upper, &mut Vec::new()) {
                return Ok(());
            }
            why = format!("{lower:?}");
        }
        Err(why)
    }

    fn is_record(&self, var: Var) -> bool {
        let program = self.machine.env.program();
        let ty = match var {
            Var::Global(name) => program.globals[&name].ty,
            Var::Local(depth, id) => {
                let frame = &self.machine.frames[depth as usize];
                self.machine.env.function(frame.function).expect("a body").local(id).ty
            }
        };
        !ty.is_scalar()
    }

    /// Where a field leads: `None` to anything, `Some(None)` nowhere.
    fn leads(&self, instance: usize, field: Field) -> Option<Option<usize>> {
        let object = &self.machine.instances[instance];
        let is_given = self.machine.has_values(
            instance,
            field.offset as i64 * 8,
            (field.offset + field.bytes) as i64 * 8,
        );
        if !object.live || !is_given {
            return None;
        }
        let value = self.scalar(instance, field)?;
        if value == 0 {
            return Some(None);
        }
        let to = self.object(value)?;
        let is_named = self.named.borrow().contains(&to);
        (self.is_heap(to) || is_named).then_some(Some(to))
    }

    fn structure(
        &self,
        upper: &Structure,
        roots: &BTreeMap<Var, Option<usize>>,
        individuals: &[usize],
    ) -> Structure {
        let mut structure = Structure::new();
        for (var, content) in upper.contents() {
            structure.set_content(*var, Some(*content));
        }
        structure.lost = upper.lost;
        for instance in individuals {
            let object = &self.machine.instances[*instance];
            let node = structure.add(object.bytes.len() as u64);
            structure.set_unary(Unary::Named, node, (!self.is_heap(*instance)).into());
            structure.set_unary(Unary::Freed, node, (!object.live).into());
            for field in &self.class.pointers {
                structure.set_unary(
                    Unary::Wild(*field),
                    node,
                    self.leads(*instance, *field).is_none().into(),
                );
            }
            for (field, values) in self.class.integers().filter(|_| object.live) {
                let (from, to) = (field.offset as i64 * 8, (field.offset + field.bytes) as i64 * 8);
                let value = self.scalar(*instance, field);
                let is_given = value.is_some() && self.machine.has_values(*instance, from, to);
                structure.set_unary(Unary::Given(field), node, is_given.into());
                for constant in values {
                    structure.set_unary(
                        Unary::Equals(field, *constant),
                        node,
                        (value == Some(*constant)).into(),
                    );
                }
            }
        }
        let at = |instance: usize| individuals.iter().position(|other| *other == instance);
        for (node, instance) in individuals.iter().enumerate() {
            for field in &self.class.pointers {
                if let Some(to) = self.leads(*instance, *field).flatten().and_then(at) {
                    structure.set_field(*field, node, to, Kleene::True);
                }
            }
        }
        for (var, to) in roots {
            if let Some(node) = to.and_then(at) {
                structure.set_unary(Unary::Points(*var), node, Kleene::True);
            }
        }
        let vars: Vec<Var> = roots.keys().copied().collect();
        let mut predicates = Vec::new();
        for (links, _) in self.class.each_links() {
            predicates.extend([Unary::Shared(links), Unary::Cycle(links)]);
            predicates.extend(vars.iter().map(|var| Unary::Reach(*var, links)));
        }
        predicates.extend(self.class.cancels.iter().map(|(there, back)| Unary::Cancel(*there, *back)));
        for predicate in predicates {
            let definition = self.class.definition(predicate).expect("an instrumentation predicate");
            let row =
                (0..structure.len()).map(|node| definition.value(&structure, &BTreeMap::from([(0, node)])));
            let row = row.collect();
            structure.set_row(predicate, row);
        }
        structure
    }

    /// What the upper one says nothing about (integers of which nothing was written, fields that may hold anything) need not be the same.
    fn search(&self, lower: &Structure, upper: &Structure, map: &mut Vec<usize>) -> bool {
        let node = map.len();
        if node == lower.len() {
            return embeds(&self.weakened(lower, upper, map), upper, map);
        }
        let fits = |image: usize| {
            let same = |predicate| lower.unary(predicate, node).is_below(upper.unary(predicate, image));
            let vars = upper.variables();
            same(Unary::Freed)
                && same(Unary::Named)
                && lower.individual(node).size == upper.individual(image).size
                && vars.iter().all(|var| same(Unary::Points(*var)))
                && self.class.pointers.iter().all(|field| {
                    let wild = Unary::Wild(*field);
                    same(wild) || upper.unary(wild, image).is_true()
                })
                && self
                    .class
                    .integers()
                    .all(|(field, values)| values.iter().all(|value| same(Unary::Equals(field, *value))))
                && self.class.pointers.iter().all(|field| {
                    let wild = |image| upper.unary(Unary::Wild(*field), image).is_true();
                    let fits = |from, to, image: usize, other: usize| {
                        wild(image)
                            || lower.field(*field, from, to).is_below(upper.field(*field, image, other))
                    };
                    map.iter()
                        .enumerate()
                        .all(|(other, at)| fits(node, other, image, *at) && fits(other, node, *at, image))
                })
                && (upper.is_summary(image) || !map.contains(&image))
        };
        let images: Vec<usize> = (0..upper.len()).filter(|image| fits(*image)).collect();
        images.into_iter().any(|image| {
            map.push(image);
            let found = self.search(lower, upper, map);
            map.pop();
            found
        })
    }

    /// Fields of which the upper one says that they may hold anything are such in the lower one, too.
    fn weakened(&self, lower: &Structure, upper: &Structure, map: &[usize]) -> Structure {
        let mut weaker = lower.clone();
        let mut changed = false;
        for (node, image) in map.iter().enumerate() {
            for field in &self.class.pointers {
                if upper.unary(Unary::Wild(*field), *image).is_true()
                    && !lower.unary(Unary::Wild(*field), node).is_true()
                {
                    changed = true;
                    weaker.set_unary(Unary::Wild(*field), node, Kleene::True);
                    for to in 0..weaker.len() {
                        weaker.set_field(*field, node, to, Kleene::False);
                    }
                }
            }
            for (field, _) in self.class.integers() {
                if upper.unary(Unary::Given(field), *image).is_false() {
                    weaker.set_unary(Unary::Given(field), node, Kleene::False);
                }
            }
        }
        if changed {
            let predicates: Vec<Unary> =
                lower.unary_rows().chain(upper.unary_rows()).map(|(predicate, _)| predicate).collect();
            for predicate in predicates {
                if let Some(definition) = self.class.definition(predicate) {
                    let row =
                        (0..weaker.len()).map(|node| definition.value(&weaker, &BTreeMap::from([(0, node)])));
                    let row = row.collect();
                    weaker.set_row(predicate, row);
                }
            }
        }
        weaker
    }
}

/// Follows a run; says how many of its steps had a state of which something was known.
fn follow(analysis: &ThreeValuedAnalysis, env: &Environment, code: &str, seed: u64, most: usize) -> usize {
    let mut machine = Machine::new(env, Name::new("main"), seed);
    let mut state = analysis.entry().0;
    let mut calls = Vec::new();
    for steps in 0..most {
        let function = machine.function();
        let Ok(did) = machine.step() else { return steps };
        let edge = |id| {
            let function = match did {
                Did::Edge(_) | Did::Enter(..) => function,
                Did::Leave(..) => machine.function(),
            };
            EdgeContext { function, id, edge: function.edge(id) }
        };
        let call = |id, callee| {
            let at = edge(id);
            let Op::Call(call) = &at.edge.op else { panic!("not a call") };
            CallContext { at, call, callee: env.function(callee).expect("a body") }
        };
        let next = match did {
            Did::Edge(id) => analysis.transfer(&state, &(), edge(id), &NoFacts),
            Did::Enter(id, callee) => {
                calls.push(state.clone());
                analysis.enter(&state, &(), call(id, callee))
            }
            Did::Leave(id, callee) => {
                let at_call = calls.pop().expect("a call");
                analysis.leave(&at_call, &state, &(), call(id, callee))
            }
        };
        let after = machine.function();
        let loc = machine.frames.last().expect("a frame").loc;
        let place = LocationContext { function: after, loc, is_loop_head: false };
        let next = next.into_iter().next().unwrap_or_else(|| {
            panic!(
                "no state after step {steps} ({did:?}), seed {seed}\nbefore: {}\n{code}",
                analysis.show(&state)
            )
        });
        let Adjusted::Continue(next, ()) = analysis.adjust(next, (), &[], place) else { return steps };
        let before = std::mem::replace(&mut state, next);
        let ShapeRegion::Known(known) = &state else { return steps };
        let memory = Memory { machine: &machine, class: analysis.class(), named: RefCell::default() };
        let why: Vec<String> =
            known.structures.iter().filter_map(|upper| memory.is_in(upper).err()).collect();
        assert!(
            why.len() < known.structures.len(),
            "step {steps} ({did:?}) of seed {seed} is not covered\nbefore: {}\nafter:  {}\n{why:#?}\n{code}",
            analysis.show(&before),
            analysis.show(&state),
        );
    }
    most
}

#[test]
fn runs_are_covered() {
    let mut steps = 0;
    for code in PROGRAMS.iter().chain(&MORE) {
        let code = format!("void *calloc(unsigned long, unsigned long);\n{START}{code}");
        let env = environment(&code);
        let analysis = analysis(&env);
        for seed in 1..7 {
            steps += follow(&analysis, &env, &code, seed * 7919, 160);
        }
    }
    assert!(steps > 2_000, "{steps} steps were covered");
}

#[test]
fn three_valued_structures_obey_the_laws() {
    for code in PROGRAMS.iter().take(3).chain(MORE.iter().take(3)) {
        let code = format!("void *calloc(unsigned long, unsigned long);\n{START}{code}");
        let env = environment(&code);
        let analysis = analysis(&env);
        let explored = explore_some(&analysis, &env, Name::new("main"), (), 300, |_, _| false).0;
        laws(&analysis, &env, &explored, &[], &code);
    }
}

/// What is guessed of a program's records, as annotations say it.
fn guessed(code: &str) -> Vec<String> {
    let env = environment(code);
    let found = generators::guess(env.program());
    found.iter().map(|one| format!("{}: {}({})", one.record, one.kind, one.members.join(", "))).collect()
}

#[test]
fn names_of_members_tell_what_records_make() {
    let lists = "struct n { int d; struct n *rest; }; struct d { struct d *prev, *next; }; int main(void) { struct n n; struct d d; return 0; }";
    assert_eq!(guessed(lists), ["d: doubly(next, prev)", "n: singly(rest)"]);
    let trees = "struct t { struct t *left, *right; }; struct p { struct p *parent, *l, *r; }; int main(void) { struct t t; struct p p; return 0; }";
    assert_eq!(guessed(trees), ["p: tree-with-parent(l, r, parent)", "t: tree(left, right)"]);
    let nested = "struct s { struct s *next; }; struct n { struct n *next; struct s *list; }; int main(void) { struct n n; return 0; }";
    assert_eq!(guessed(nested), ["n: singly(next)", "n: nested(next, list, s.next)", "s: singly(next)"]);
}

#[test]
fn annotations_replace_guesses() {
    let code = format!(
        "{START}struct n {{ struct n *a, *b; }}; int main(void) {{ struct n *n = malloc(sizeof *n); if (!n) return 0; n->a = n; n->b = n; return 0; }}"
    );
    let env = environment(&code);
    let class = |text: &str| {
        let annotations = generators::annotations(text).expect("annotations");
        let options = ThreeValuedOptions { entry: Entry::main(), wrapv: false, annotations };
        ThreeValuedAnalysis::new(env.clone(), options).class().clone()
    };
    let (guessed, tree) = (class(""), class("n: tree(a, b)\n"));
    assert_eq!((guessed.links.len(), guessed.cancels.len()), (2, 2));
    assert_eq!((tree.links.len(), tree.cancels.len()), (1, 0));
    assert!(generators::annotations("n tree(a, b)").is_err());
    assert!(generators::annotations("n: tree(a, b").is_err());
}
