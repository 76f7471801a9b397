/* Initialisers: flexible array members beyond the type's size, brace elision, parts initialised again. */
struct text { int n; char data[]; };
struct text none = { 1 }, string = { 4, "abc" }, list = { 3, { 1, 2, 3 } }, far = { .data[9] = 1 };
struct { struct text t; } inside = { { 1, { [0 ... 4] = 7 } } };
struct pair { int a, b; } pairs[] = { 1, 2, { 3 }, [5].b = 6, { .b = 8 } }, empty = {}, moved[2] = { [1] = { 1 }, [0].a = 2, 3 };
union either { struct pair p; char c[3]; } unions[] = { 1, 2, { .c = "xy" }, { { 3 } } };
struct deep { struct { struct pair p[2]; int k; } in[2]; int last; } elided = { 1, 2, 3, 4, 5, { { { 6 } } }, 7 };
struct pair again[3] = { { 1, 2 }, [0] = { 3 }, [1 ... 2] = { 4, 5 }, [1].b = 6 }, split[4] = { [0 ... 3] = { 7, 8 }, [2] = { 9 } };
union either last = { .p.a = 1, .c = "z" };
int whole(struct pair x) {
    struct { struct pair p; int n; } local = { x, 1 }, copy = local, partly = { .p = x, .p.b = 4, 5 };
    struct pair array[] = { x, 1, 2, x };
    char word[] = ("word"), letters[2][3] = { "ab", { 'c' } };
    return copy.n + array[2].a + partly.n + letters[1][0] + sizeof array + sizeof word;
}
