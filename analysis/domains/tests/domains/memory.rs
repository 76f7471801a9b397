//! Both domains on small C programs: what is known after writes through pointers, into arrays, unions and structs. Cases named
//! `…_forgets` guard soundness: what they expect may be made weaker, never stronger.

use crate::common::{interval_here, value_here};

/// Expects the value of `x` at `here:` in a `main` with this body, from explicit values and from intervals.
fn both(before: &str, body: &str, value: &str, interval: &str) {
    let code = format!(
        "extern int __VERIFIER_nondet_int(void); extern int *any(void); extern void outside(void);\n#define input __VERIFIER_nondet_int\n{before}\nint main(void) {{ {body}\nhere: ; int unused = x; return unused; }}"
    );
    assert_eq!(value_here(&code, "x"), value, "values: {code}");
    assert_eq!(interval_here(&code, "x"), interval, "intervals: {code}");
}

const ANY: &str = "[-2147483648, 2147483647]";

#[test]
fn a_write_through_a_pointer_is_seen() {
    both("", "int a = 1; int *p = &a; *p = 5; int x = a;", "5", "[5, 5]");
    both("static int g;", "int *p = &g; *p = 7; int x = g;", "7", "[7, 7]");
    both("", "int a = 1; int *p = &a; int **q = &p; **q = 6; int x = a;", "6", "[6, 6]");
}

#[test]
fn a_write_through_one_of_two_pointers_forgets() {
    let body = "int a = 1, b = 2; int *p = &a; if (input()) p = &b; *p = 5; int x = a;";
    both("", body, "1; 5", "[1, 1] | [5, 5]");
    let body = "int a = 1, b = 2; int *p = any(); int **q = &p; (void)q; *p = 5; int x = a;";
    both("", body, "1", "[1, 1]");
    let body = "int a = 1; int *p = any(); outside(); int x = a;";
    both("", body, "1", "[1, 1]");
}

#[test]
fn an_escaped_object_forgets() {
    both("extern void take(int *);", "int a = 1; take(&a); int x = a;", "unknown", ANY);
    both("extern void take(int *);", "int a = 1; take(&a); a = 2; outside(); int x = a;", "unknown", ANY);
    both("int g = 4;", "outside(); int x = g;", "unknown", ANY);
    both("static int g = 4;", "outside(); int x = g;", "4", "[4, 4]");
    both(
        "static int g = 4; extern void take(int *);",
        "take(&g); g = 4; outside(); int x = g;",
        "unknown",
        ANY,
    );
}

#[test]
fn an_unknown_index_forgets_the_array() {
    let body =
        "int a[4] = {1, 1, 1, 1}; int i = input(); if (i < 0 || i > 3) return 0; a[i] = 9; int x = a[2];";
    both("", body, "unknown", "[1, 1] | [9, 9]");
    let body =
        "int a[4] = {1, 1, 1, 1}; int i = input(); if (i < 0 || i > 1) return 0; a[i] = 9; int x = a[2];";
    both("", body, "unknown", "[1, 1]");
    both("", "int a[4] = {1, 2, 3, 4}; int x = a[2];", "3", "[3, 3]");
    let body = "int a[4] = {1, 2, 3, 4}; int i = input(); if (i < 0 || i > 3) return 0; int x = a[i];";
    both("", body, "unknown", "[1, 4]");
}

#[test]
fn members_are_apart() {
    let types = "struct s { int a; int b; struct { char c; short d; } in; };";
    both(types, "struct s s; s.a = 1; s.b = 2; s.in.d = 3; s.a = 4; int x = s.b + s.in.d;", "5", "[5, 5]");
    both(types, "struct s s; s.b = 2; struct s t = s; s.b = 3; int x = t.b;", "2", "[2, 2]");
    both(types, "struct s s; struct s *p = &s; p->b = 2; int x = s.b;", "2", "[2, 2]");
    let body = "struct s s[3]; s[1].b = 2; int i = input(); if (i < 0 || i > 2) return 0; s[i].a = 7; int x = s[1].b;";
    both(types, body, "2", "[2, 2]");
    let body = "struct s s[3]; s[1].b = 2; int i = input(); if (i < 0 || i > 2) return 0; s[i].b = 7; int x = s[1].b;";
    both(types, body, "unknown", "[2, 2] | [7, 7]");
}

#[test]
fn unions_share_their_bytes() {
    let types = "union u { int i; unsigned char c[4]; short s; float f; };";
    both(types, "union u u; u.i = 0x01020304; int x = u.c[1];", "3", "[3, 3]");
    both(types, "union u u; u.i = 0x01020304; u.c[0] = 9; int x = u.i;", "unknown", ANY);
    both(types, "union u u; u.i = -1; int x = u.s;", "-1", "[-1, -1]");
    both(types, "union u u; u.f = 1.0f; int x = u.i;", "1065353216", "[1065353216, 1065353216]");
    both(types, "union u u; u.i = 5; u.s = 7; int x = u.i;", "unknown", ANY);
    both(
        types,
        "union u u; u.c[0] = 1; u.c[1] = 2; u.c[2] = 0; u.c[3] = 0; int x = u.i;",
        "513",
        "[513, 513]",
    );
}

#[test]
fn casts_reach_any_byte() {
    both("", "int a = 0x11223344; char *p = (char *)&a; int x = p[3];", "17", "[17, 17]");
    both("", "int a = 5; char *p = (char *)&a; *p = 6; int x = a;", "unknown", ANY);
    let body = "int a[2] = {1, 2}; long *p = (long *)a; *p = 0; int x = a[1];";
    both("", body, "0", "[0, 0]");
    let body =
        "int a = 5, i = input(); if (i < 0 || i > 3) return 0; char *p = (char *)&a; p[i] = 1; int x = a;";
    both("", body, "unknown", ANY);
}

#[test]
fn bit_fields_keep_their_bits() {
    let types = "struct s { int a : 3; unsigned b : 5; int c; };";
    both(types, "struct s s; s.a = 7; int x = s.a;", "-1", "[-1, -1]");
    both(types, "struct s s; s.a = 1; s.b = 33; int x = s.a + s.b;", "2", "[2, 2]");
    both(types, "struct s s; s.b = input(); int x = s.b;", "unknown", "[0, 31]");
    both(types, "struct s s; s.a = 3; s.b = input(); int x = s.a;", "3", "[3, 3]");
    both(types, "struct s s; s.a = 3; ((unsigned char *)&s)[0] = 0xff; int x = s.a;", "-1", "[-1, -1]");
}

#[test]
fn bytes_are_copied_and_filled() {
    let libc = "void *memcpy(void *, const void *, unsigned long); void *memset(void *, int, unsigned long);
        struct s { int a; int b; };";
    both(libc, "struct s s = {1, 2}, t; memcpy(&t, &s, sizeof s); int x = t.b;", "2", "[2, 2]");
    both(libc, "struct s s = {1, 2}; memset(&s, 0, sizeof s); int x = s.b;", "0", "[0, 0]");
    both(
        libc,
        "struct s s = {1, 2}; memset(&s, 1, sizeof s); int x = s.b;",
        "16843009",
        "[16843009, 16843009]",
    );
    both(
        libc,
        "struct s s = {1, 2}, t = {3, 4}; memcpy(&t, &s, 4); int x = t.a * 10 + t.b;",
        "14",
        "[14, 14]",
    );
    let body =
        "struct s s = {1, 2}, t = {3, 4}; unsigned long n = input() ? 4 : 8; memcpy(&t, &s, n); int x = t.a;";
    both(libc, body, "1", ANY);
}

#[test]
fn heap_objects_are_single_until_the_site_allocates_again() {
    let libc = "void *malloc(unsigned long); void *calloc(unsigned long, unsigned long); void free(void *);";
    both(libc, "int *p = malloc(4); if (!p) return 0; *p = 5; int x = *p;", "5", "[5, 5]");
    both(libc, "int *p = calloc(4, 4); if (!p) return 0; int x = p[2];", "0", "[0, 0]");
    let body =
        "int *p = 0, *q = 0; for (int i = 0; i < 2; i++) { q = p; p = malloc(4); if (!p) return 0; *p = i; }
        *q = 7; int x = *p;";
    both(libc, body, "unknown", ANY);
    let body = "int x = 1; for (int i = 0; i < 2; i++) { int *p = malloc(4); if (!p) return 0; if (i == 1) x = *p; *p = 5; }";
    both(libc, body, "unknown", ANY);
    let body =
        "int *p = 0, *q = 0, x = 1; for (int i = 0; i < 2; i++) { q = p; p = malloc(4); if (!p) return 0; }
        if (p == q) x = 2;";
    both(libc, body, "1; 2", "[1, 2]");
}

#[test]
fn locals_of_recursive_functions_are_many() {
    let code = "static int *first; static int seen;
        static void f(int n) { int a = n; if (n == 2) first = &a; if (n > 0) f(n - 1); else *first = 9; if (n == 2) seen = a; }";
    both(code, "f(2); int x = seen;", "unknown", ANY);
    // The write reaches the outermost activation's `a`, not the innermost one's.
    let code = "static int *first; static int seen;
        static void f(int n) { int a = n; if (n == 2) first = &a; if (n > 0) f(n - 1); else { a = 3; *first = 9; seen = a; } }";
    both(code, "f(2); int x = seen;", "unknown", ANY);
}

#[test]
fn parameters_of_recursive_functions_are_many() {
    let code = "static int *first; static int seen;
        static void f(int d, int n) { if (d == 2) first = &n; if (d > 0) f(d - 1, n); else { n = 3; *first = 9; seen = n; } }";
    both(code, "f(2, 0); int x = seen;", "unknown", ANY);
}

#[test]
fn equalities_end_with_a_write_to_either_side() {
    both("", "int a = input(); int b = a; a = input(); int x = 0; if (b == 6) x = a;", "0; unknown", ANY);
    both("", "int a = input(); int b = a; int x = 0; if (b == 6) x = a;", "0; unknown", "[0, 0] | [6, 6]");
    both(
        "static int g;",
        "g = input(); int b = g; int *p = &g; *p = input(); int x = 0; if (b == 6) x = g;",
        "0; unknown",
        ANY,
    );
    both(
        "static int g; static void set(void) { g = input(); }",
        "g = input(); int b = g; set(); int x = 0; if (b == 6) x = g;",
        "0; unknown",
        ANY,
    );
    both("int g;", "g = input(); int b = g; outside(); int x = 0; if (b == 6) x = g;", "0; unknown", ANY);
    let body = "int a[2]; a[0] = input(); a[1] = 0; int b = a[0], i = input(); if (i < 0 || i > 1) return 0;
        a[i] = input(); int x = 0; if (b == 6) x = a[0];";
    both("", body, "0; unknown", ANY);
}

#[test]
fn bytes_filled_or_copied_somewhere_forget() {
    let libc = "void *memcpy(void *, const void *, unsigned long); void *memset(void *, int, unsigned long);";
    let body = "int a[4] = {1, 1, 1, 1}; int i = input(); if (i < 0 || i > 3) return 0; memset(a + i, 0, 4); int x = a[2];";
    both(libc, body, "unknown", ANY);
    let body = "int a[4] = {1, 1, 1, 1}, b = 7; int i = input(); if (i < 0 || i > 3) return 0; memcpy(a + i, &b, 4); int x = a[2];";
    both(libc, body, "unknown", ANY);
    let body = "int a = 1, b = 1, *p = &a; if (input()) p = &b; memset(p, 0, 4); int x = a;";
    both(libc, body, "0; 1", ANY);
}

#[test]
fn parameters_and_results_are_passed() {
    both(
        "struct s { int a, b; }; static int sum(struct s s) { s.a += 1; return s.a + s.b; }",
        "struct s s = {1, 2}; int x = sum(s) * 10 + s.a;",
        "41",
        "[41, 41]",
    );
    both(
        "struct s { int a, b; }; static struct s make(int a) { struct s s = {a, a + 1}; return s; }",
        "struct s s = make(3); int x = s.b;",
        "4",
        "[4, 4]",
    );
    both("static void set(int *p, int v) { *p = v; }", "int a = 1; set(&a, 8); int x = a;", "8", "[8, 8]");
    both(
        "static int one(void) { return 1; } static int two(void) { return 2; }",
        "int (*f)(void) = one; int x = f(); f = two; x = x * 10 + f();",
        "12",
        "[12, 12]",
    );
    both(
        "static int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }",
        "int x = fact(5);",
        "120",
        "[120, 120]",
    );
}

#[test]
fn initial_values_are_known_and_the_rest_is_zero() {
    both(
        "static int g[5] = {[1] = 3}; static const int t[3] = {7, 8, 9};",
        "int x = g[1] + g[4] + t[2];",
        "12",
        "[12, 12]",
    );
    both("static const char *name = \"abc\";", "int x = name[1];", "98", "[98, 98]");
    both("extern int unknown;", "int x = unknown;", "unknown", ANY);
    both(
        "static int g[5];",
        "int i = input(); if (i < 0 || i > 4) return 0; g[i] = 3; int x = g[2];",
        "unknown",
        "[0, 0] | [3, 3]",
    );
}

#[test]
fn uninitialised_memory_is_unknown() {
    both("", "int a; int *p = &a; int x = *p;", "unknown", ANY);
    both("", "int x = 1; for (int i = 0; i < 2; i++) { int a; if (i == 1) x = a; a = 5; }", "unknown", ANY);
    // The second `a` is a new one, although it is in the same place.
    let body = "int x = 1; for (int i = 0; i < 2; i++) { int a; int *p = &a; if (i == 1) x = *p; *p = 5; }";
    both("", body, "unknown", ANY);
}

#[test]
fn pointers_compare() {
    both("", "int a[3]; int *p = a, *q = a + 2; int x = q - p;", "2", "[2, 2]");
    both("", "int a[3]; int *p = a, *q = a + 2; int x = p < q;", "1", "[1, 1]");
    both("", "int a, b; int *p = &a; int x = p == &b;", "0", "[0, 0]");
    both("", "int a; int *p = &a; int x = p == 0;", "0", "[0, 0]");
    both("", "int a[2], b[2]; int *p = a + 2; int x = p == b;", "unknown", "[0, 1]");
}
