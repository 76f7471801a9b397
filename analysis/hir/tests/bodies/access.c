// Members, elements, addresses, literals.
struct in { int a; union { int b; float c; }; struct { unsigned f : 3; const int k; }; int arr[3]; };
struct in make(void);
struct in table[4];
int matrix[2][3];

int anonymous(struct in *p, const struct in *q) { p->b = 1; p->c = 2; return p->f + p->k + (*p).arr[1] + q->arr[2]; }
int of_value(void) { return make().a + make().arr[2] + (make(), make()).b; }
struct in by_value(struct in s, int x) { struct in t = s; t = x ? s : t; return x ? t : make(); }
int elements(int i, int *p) { return matrix[i][2] + 1[p] + *(p + i) + p[-1] + *matrix[1] + "abc"[i] + table[i].arr[i]; }
int *addresses(int i) { int (*row)[3] = &matrix[i]; int *e = &matrix[1][i]; return i ? &*e : *row; }
struct in *literals(int i) {
    struct in v = (struct in){ .b = i, .arr = { 1, [2] = i } };
    int *a = (int[]){ i, 2 };
    const char *s = (char[]){ "xy" };
    return &(struct in){ .a = v.a + a[0] + s[0] };
}
char *strings(void) { char local[] = "one" " \x74wo\n"; static const char *kept[] = { "kept", __func__ }; return local[0] ? (char *)kept[0] : (char *)L"wide"; }
int callbacks(int (*f)(int), int (**g)(int)) { return f(1) + (*f)(2) + (**g)(3) + g[0](4) + (&callbacks == 0); }
