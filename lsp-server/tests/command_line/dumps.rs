//! Every layer can be looked at.

use crate::common::Scratch;

const TEXT: &str = "static int inc(int x) { return x < 9 ? x + 1 : 0; }\nint main(void) { int n = 0; for (int i = 0; i < 3; i++) n = \
                    inc(n); return n; }\n";

#[test]
fn every_layer_is_shown_as_text() {
    let scratch = Scratch::new();
    scratch.write("test.c", TEXT);
    for (layer, word) in [
        ("tokens", "test.c:1:1"),
        ("tree", "function_definition"),
        ("hir", "int inc(int x)"),
        ("cfa", "fn main: int()"),
        ("callgraph", "main -> inc"),
        ("blocks", "loop at"),
        ("arg", "graph"),
        ("summaries", "leaves at"),
    ] {
        scratch.run(&["dump", layer, "test.c"]).expect(0, &[word]);
    }
    let one = scratch.run(&["dump", "cfa", "test.c", "inc"]);
    one.expect(0, &["fn inc"]);
    assert!(!one.out.contains("fn main"), "{}", one.out);
    scratch.run(&["dump", "summaries", "--domain", "value", "test.c"]).expect(0, &["inc"]);
}

#[test]
fn summaries_in_predicates_read_like_formulas() {
    let scratch = Scratch::new();
    let text = "extern int __VERIFIER_nondet_int(void);\nextern void reach_error(void);\n\
                int add(int m, int n) { if (n == 0) return m; return add(m + 1, n - 1); }\n\
                int main(void) { int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();\n\
                if (a < 0 || b < 0 || a > 1000 || b > 1000) return 0;\n\
                if (add(a, b) != a + b) reach_error(); return 0; }\n";
    scratch.write("add.c", text);
    scratch
        .run(&["dump", "summaries", "--domain", "predicate", "add.c"])
        .expect(0, &["add", "ret = m₀ + n₀"]);
}

#[test]
fn graphs_are_drawn() {
    let scratch = Scratch::new();
    scratch.write("test.c", TEXT);
    for layer in ["tree", "cfa", "callgraph", "blocks", "arg"] {
        scratch.run(&["dump", layer, "--dot", "test.c"]).expect(0, &["digraph", "->", "}\n"]);
    }
    scratch.run(&["dump", "tokens", "--dot", "test.c"]).expect(3, &["no graph", "help:"]);
    scratch.run(&["dump", "cfa", "test.c", "nix"]).expect(3, &["no function `nix`", "inc, main"]);
    scratch.run(&["dump", "cfa", "gone.c"]).expect(3, &["cannot read gone.c"]);
}
