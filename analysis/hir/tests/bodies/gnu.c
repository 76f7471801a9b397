// GNU expressions and builtins.
typedef __builtin_va_list va_list;
typedef unsigned long size_t;
struct s { int a; struct { int b[4]; } in; };
int statement(int a) { int m = ({ int b = a; b + 1; }); ({ a++; }); ({ if (a) a--; }); return ({ out: m; }) ?: ({ __label__ l; l: a; }); }
const char *elvis(const char *s, int i, long l) { return (i ?: l) ? s ?: "none" : 0; }
int generic(char c, const int i, double d, int *p) {
    return _Generic(c, char: 1, default: 2) + _Generic(i, const int: 3, int: 4) + _Generic(d + 1.f, float: 5, double: 6)
        + _Generic(p, const int *: 7, int *: c) + _Generic("s", char *: 8);
}
int sum(int n, ...) {
    va_list ap, copy; int s = 0;
    __builtin_va_start(ap, n); __builtin_va_copy(copy, ap);
    while (n--) s += __builtin_va_arg(ap, int);
    __builtin_va_end(ap);
    return s + *__builtin_va_arg(copy, int *);
}
size_t offsets(int i) { return __builtin_offsetof(struct s, in.b[2]) + __builtin_offsetof(struct s, in.b[i]) + _Alignof(struct s) + __alignof__(i); }
int queries(int x) {
    return __builtin_constant_p(x) + __builtin_constant_p(3) + __builtin_constant_p("s") + __builtin_types_compatible_p(int, const int)
        + __builtin_types_compatible_p(int[3], int[]) + __builtin_choose_expr(1, x, "s") + (int)__builtin_object_size(&x, 0);
}
int bits(unsigned u, unsigned long ul) { return __builtin_clz(u) + __builtin_ctzl(ul) + __builtin_popcount(255) + __builtin_bswap16(0x1234) + __builtin_ffsll(ul); }
int overflow(int a, long b, int *r) { return __builtin_add_overflow(a, b, r) + __builtin_smul_overflow(a, b, r) + __builtin_mul_overflow_p(a, b, 0); }
void hints(int x, int *p) { if (__builtin_expect(x == 3, 0)) __builtin_unreachable(); __builtin_prefetch(p + 1, 0); int *q = __builtin_assume_aligned(p, 16); if (q) __builtin_trap(); }
void library(char *d, const char *s) { __builtin_memcpy(d, s, 3); __builtin___strcpy_chk(d, s, __builtin_object_size(d, 1)); d = __builtin_alloca(7); *d = strlen(s); unknown(d, 1.0f); if (__builtin_isnan(__builtin_sqrtf(2))) abort(); }
int atomics(int *p, long *q, char **r) {
    __atomic_store_n(p, 3.5, 5); __sync_synchronize(); __sync_fetch_and_add(q, 'a'); __atomic_fetch_add(r, 1, 5);
    return __atomic_load_n(p, 5) + __sync_bool_compare_and_swap(p, 1, 2L) + __atomic_exchange_n(q, *p, 5) + __atomic_compare_exchange_n(p, p, 4L, 0, 5, 5);
}
double special(void) { return __builtin_inf() + __builtin_huge_valf() + __builtin_nan(""); }
int outer(int a) { int twice(int b) { return b * 2; } int capture(int b) { return a + b; } return twice(a) + capture(a); }
_Complex double complex(_Complex double z, double d) { __real__ z = d; z = z * d + 1.0i; return d ? z : __imag__ z; }
typedef int v4 __attribute__((vector_size(16)));
v4 vector(v4 a, v4 b, int i) { a[i] = b[0] + 1; a += b; return a * b; }
union u { int i; float f; };
void to_union(union u x) { x = (union u)1.5f; }
int old_style(a, p) short a; int *p; { return a + p[0]; }
