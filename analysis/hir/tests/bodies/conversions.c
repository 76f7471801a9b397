// Promotions, usual arithmetic conversions, assignment: every conversion is visible.
enum e { LOW = -1, HIGH = 7 };
enum u { ZERO };
struct s { unsigned narrow : 3; unsigned full : 32; int neg : 5; _Bool flag : 1; };

int promote(char c, unsigned short h, _Bool b, enum e e, enum u u) { return c + h + b + e + (u > -1); }
long usual(int i, unsigned u, long l, unsigned long ul, long long ll) { return i + u * l - ul / ll; }
double reals(float f, double d, int i) { return f * i + d - (f > i); }
int bit_fields(struct s *p) { return p->narrow - 8 < 0 && p->full - 1 > 0 && p->neg << 2 && (unsigned)p->narrow - 8 > 0; }
void assign(unsigned char c, short s, _Bool b, float f, enum e e, int *p) {
    c = 300; s = c; b = 0.5; b = p; f = 1; e = HIGH; c = c + 1; s = f;
}
void compound(unsigned char c, short s, int i, double d, long l, char *p, struct s *q) {
    c += 3; s <<= l; i *= d; d /= i; l |= c; p += c; p -= l; q->narrow += 9; c >>= 1;
    c++; --s; d--; p++; ++q->neg;
}
int shifts(int i, long l, unsigned char c) { return (i << l) + (c >> c) + (int)(l << i); }
int constants(void) { return 'a' + '\377' + (char)200 + (2147483647 + 1u > 0) + -2147483648 + ~0u + !5; }
int undefined(int x) { return (2147483647 + 1) + 1 / 0 + (1 << 31) + (1 << 32) + x; }
int *pointers(int *p, const int *q, void *v, char *c, int n) {
    p = v; v = q; c = (char *)p; p = 0; p = n ? p : 0; v = n ? p : v; q = n ? p : q;
    if (p == v || p == 0 || !c || p < q || v) return p + n - 1;
    return n + p;
}
long difference(int *p, const int *q) { return p - q; }
_Bool truth(double d, char *p, int i) { return (d && p) || !i ? 2 : d; }
int variadic(const char *, ...);
int old();
void call(char c, float f, short s, struct s v, int a[3]) { variadic("%d", c, f, s, v, a); old(c, f, variadic); }
