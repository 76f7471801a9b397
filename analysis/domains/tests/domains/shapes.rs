//! Graphs of memory on list programs: the laws of the operators on states that are reached, and that what explicit heaps reach is among what
//! folded ones describe.

use std::sync::Arc;

use proofline_cfa::{Entry, Expr, LocalId, Lvalue, Name, Scalar};
use proofline_cpa::{Adjusted, Cpa, Domain, LocationContext};
use proofline_domains::{
    Folds, ShapeAnalysis, ShapeOptions,
    shape::{Asked, Shapes},
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;
use proptest::{collection::vec, prelude::*};

use crate::{
    common::{Explored, environment, explore_some},
    driver::laws,
    generate,
};

pub(crate) const START: &str = "extern int __VERIFIER_nondet_int(void); void *malloc(unsigned long); void free(void *); void *memset(void *, int, unsigned long);
#define input __VERIFIER_nondet_int
";

/// Programs that build, change and free structures.
pub(crate) const PROGRAMS: [&str; 10] = [
    "struct n { int d; struct n *x; };
    int main(void) { struct n *l = 0;
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->d = input() ? 1 : 2; n->x = l; l = n; }
        struct n *r = 0; while (l) { struct n *t = l->x; l->x = r; r = l; l = t; }
        while (r) { struct n *t = r->x; free(r); r = t; } return 0; }",
    "struct n { struct n *x, *p; int d; };
    int main(void) { struct n *f = 0, *l = 0;
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->d = 4; n->x = 0; n->p = l; if (l) l->x = n; else f = n; l = n; }
        while (l) { struct n *t = l->p; if (t) t->x = 0; free(l); l = t; } return 0; }",
    "struct n { struct n *x, *p; };
    int main(void) { struct n h = {&h, &h};
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->x = &h; n->p = h.p; h.p->x = n; h.p = n; }
        while (h.x != &h) { struct n *n = h.x; n->p->x = n->x; n->x->p = n->p; free(n); } return 0; }",
    "struct s { struct s *x; }; struct n { struct s *s; struct n *x; };
    int main(void) { struct n *l = 0;
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->s = 0;
            while (input()) { struct s *s = malloc(sizeof *s); if (!s) break; s->x = n->s; n->s = s; }
            n->x = l; l = n; }
        while (l) { struct n *t = l->x; while (l->s) { struct s *s = l->s->x; free(l->s); l->s = s; } free(l); l = t; } return 0; }",
    "struct n { struct n *x; struct n *me; int d; };
    int main(void) { struct n *h = malloc(sizeof *h); if (!h) return 0; h->x = h; h->me = h; h->d = 0;
        while (input()) { struct n *n = malloc(sizeof *n); if (!n) break; n->me = n; n->d = 7; n->x = h->x; h->x = n; }
        struct n *p = h->x; while (p != h) { struct n *t = p->x; if (p->me != p) return 1; free(p); p = t; } free(h); return 0; }",
    "struct n { int d; struct n *x; }; struct q { struct n *first, *last; };
    static void put(struct q *q, int d) { struct n *n = malloc(sizeof *n); if (!n) return; n->d = d; n->x = 0; if (q->last) q->last->x = n; else q->first = n; q->last = n; }
    int main(void) { struct q q = {0, 0};
        while (input()) { if (input()) put(&q, 3); else if (q.first) { struct n *n = q.first; q.first = n->x; if (!q.first) q.last = 0; free(n); } }
        while (q.first) { struct n *t = q.first->x; free(q.first); q.first = t; } return 0; }",
    "struct t { struct t *l, *r; int k; };
    static struct t *leaf(void) { struct t *t = malloc(sizeof *t); if (t) { t->l = t->r = 0; t->k = 1; } return t; }
    int main(void) { struct t *root = leaf(), *n, *up; if (!root) return 0;
        while (input()) { n = root; while (n->l && n->r) n = input() ? n->l : n->r;
            if (!n->l && input()) n->l = leaf(); if (!n->r && input()) n->r = leaf(); }
        while (root) { up = 0; n = root; while (n->l || n->r) { up = n; n = n->l ? n->l : n->r; }
            if (!up) root = 0; else if (up->l == n) up->l = 0; else up->r = 0; free(n); } return 0; }",
    "struct t { struct t *l, *r, *up; };
    static struct t *leaf(struct t *up) { struct t *t = malloc(sizeof *t); if (t) { t->l = t->r = 0; t->up = up; } return t; }
    int main(void) { struct t *root = leaf(0), *n; if (!root) return 0;
        while (input()) { n = root; while (n->l && n->r) n = input() ? n->l : n->r;
            if (!n->l && input()) n->l = leaf(n); if (!n->r && input()) n->r = leaf(n); }
        n = root; while (n) { if (n->l) n = n->l; else if (n->r) n = n->r;
            else { struct t *up = n->up; if (up) { if (up->l == n) up->l = 0; else up->r = 0; } free(n); n = up; } } return 0; }",
    // Two records of one size, and functions that allocate for either.
    "struct b { void *p; struct b *n; }; struct a { struct a *n; struct b *b; };
    void *zeroed(unsigned long size) { void *p = malloc(size); while (!p) ; memset(p, 0, size); return p; }
    struct b *more(struct b *b) { struct b *item = zeroed(sizeof *item); item->n = b; return item; }
    int main(void) { struct a *all = 0;
        while (input()) { struct a *item = zeroed(sizeof *item); do item->b = more(item->b); while (input()); item->n = all; all = item; }
        while (all) { struct a *n = all->n; while (all->b) { struct b *m = all->b->n; free(all->b); all->b = m; } free(all); all = n; } return 0; }",
    "struct s { struct s *x; }; struct t { struct t *l, *r; struct s *s; };
    int main(void) { struct t *root = 0;
        while (input()) { struct t **at = &root; while (*at) at = input() ? &(*at)->l : &(*at)->r;
            struct t *t = malloc(sizeof *t); if (!t) break; t->l = t->r = 0; t->s = malloc(sizeof *t->s); if (t->s) t->s->x = 0; *at = t; }
        while (root) { struct t *n = root; if (!n->l) { root = n->r; free(n->s); free(n); } else { root = n->l; n->l = root->r; root->r = n; } } return 0; }",
];

fn analysis(env: &Arc<Environment>, fold: Option<Folds>) -> ShapeAnalysis {
    ShapeAnalysis::new(env.clone(), ShapeOptions { entry: Entry::main(), wrapv: false, fold })
}

/// Foldings of programs with trees are of trees.
fn folding(env: &Arc<Environment>, code: &str, folds: Folds) -> ShapeAnalysis {
    analysis(env, Some(Folds { trees: code.contains("struct t {"), ..folds }))
}

/// What is reached in so many steps.
fn explored(env: &Arc<Environment>, analysis: &ShapeAnalysis, most: usize) -> Explored<ShapeAnalysis> {
    explore_some(analysis, env, Name::new("main"), (), most, |_, _| false).0
}

#[test]
fn shapes_obey_the_laws() {
    for code in PROGRAMS {
        let env = environment(&format!("{START}{code}"));
        let folds = [Folds::lists(0), Folds { least: 1, ..Folds::lists(0) }, Folds::lists(3)];
        let analyses = folds.map(|folds| folding(&env, code, folds));
        for analysis in analyses.into_iter().chain([analysis(&env, None)]) {
            let explored = explored(&env, &analysis, 600);
            laws(&analysis, &env, &explored, &[], code);
        }
    }
}

/// Folding and materialising only add: each explicit heap at a loop's head, folded, is covered by a state that was reached with folding.
#[test]
fn explicit_heaps_are_among_the_folded_ones() {
    for code in PROGRAMS {
        let env = environment(&format!("{START}{code}"));
        let explicit = analysis(&env, None);
        let runs = explored(&env, &explicit, 700);
        for folds in [Folds::lists(0), Folds { least: 1, ..Folds::lists(0) }] {
            let folding = folding(&env, code, folds);
            let reached = explored(&env, &folding, 20_000);
            assert!(reached.steps < 20_000, "{folds:?} does not come to an end: {code}");
            let mut compared = 0;
            for node in &runs.nodes {
                let function = env.function(node.function).expect("a body");
                if !env.structure(node.function).is_loop_head(node.loc) {
                    continue;
                }
                let at = LocationContext { function, loc: node.loc, is_loop_head: true };
                let Adjusted::Continue(folded, ()) = folding.adjust(node.state.clone(), (), &[], at) else {
                    panic!("interrupted: {code}")
                };
                assert!(folding.leq(&node.state, &node.state));
                let here =
                    reached.nodes.iter().filter(|old| old.function == node.function && old.loc == node.loc);
                let mut candidates: Vec<&Shapes> = here.map(|old| &old.state).collect();
                candidates.dedup();
                assert!(
                    folding.leq_any(&folded, &candidates),
                    "with {folds:?}, at {} {}: {}\nas {}\nis not in\n{}\n{code}",
                    node.function,
                    node.loc,
                    explicit.show(&node.state),
                    folding.show(&folded),
                    candidates.iter().map(|old| folding.show(old)).collect::<Vec<_>>().join("\n")
                );
                let alone = candidates.iter().any(|old| folding.leq(&node.state, old));
                assert_eq!(alone, folding.leq_any(&node.state, &candidates), "{code}");
                compared += 1;
            }
            assert!(compared > 10, "{compared} states were compared: {code}");
        }
    }
}

/// The pointers of `main` to records that are linked.
fn pointers(env: &Environment, analysis: &ShapeAnalysis) -> Vec<Asked> {
    let main = env.function(Name::new("main")).expect("a body");
    let asked = (0..).map(LocalId).zip(&main.locals).filter_map(|(id, local)| {
        let pointee = local.ty.pointee()?;
        let TypeKind::Record(tag) = pointee.kind() else { return None };
        let pointer = Expr::Load(Lvalue::local(id, local.ty, Scalar::Pointer, local.size));
        Some(Asked { pointer, links: analysis.links(*tag) })
    });
    asked.filter(|asked| !asked.links.is_empty()).collect()
}

/// What is said of a graph is said, or more, of every graph that it covers.
#[test]
fn forms_of_folded_graphs_hold_for_what_they_cover() {
    let mut said = 0;
    for code in PROGRAMS {
        let env = environment(&format!("{START}{code}"));
        let main = env.function(Name::new("main")).expect("a body");
        let runs = explored(&env, &analysis(&env, None), 300);
        let folding = folding(&env, code, Folds::lists(0));
        let asked = pointers(&env, &folding);
        let reached = explored(&env, &folding, 20_000);
        let in_main = |name: Name| name == Name::new("main");
        for low in runs.nodes.iter().filter(|node| in_main(node.function)).step_by(5) {
            let forms = folding.forms(&low.state, main, &asked);
            let same = reached.nodes.iter().filter(|high| in_main(high.function) && high.loc == low.loc);
            let upper = same.take(25).filter(|high| folding.leq(&low.state, &high.state));
            for high in upper {
                for (form, above) in forms.iter().zip(folding.forms(&high.state, main, &asked)) {
                    let Some(above) = above else { continue };
                    let joined = form.as_ref().and_then(|form| above.join(form));
                    let [lower, upper] = [low, high].map(|node| folding.show(&node.state));
                    assert_eq!(joined.as_ref(), Some(&above), "{form:?} of {lower}\nbut {upper}\n{code}");
                    said += 1;
                }
            }
        }
    }
    assert!(said > 50, "{said} forms were compared");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random programs about everything but lists.
    #[test]
    fn shapes_of_random_programs_obey_the_laws(choices in vec(any::<u8>(), 0..80)) {
        let code = generate::program(&choices);
        let env = environment(&code);
        let analysis = analysis(&env, Some(Folds::lists(3)));
        let explored = explored(&env, &analysis, 1_500);
        laws(&analysis, &env, &explored, &[], &code);
    }
}
