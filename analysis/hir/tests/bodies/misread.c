// What a grammar without typedefs takes for something else.
typedef int T; typedef struct s { int n; struct s *next; int (*f)(int); } *P;
int f(int); int g(void); int (*table[3])(int); int (*two[3])(int, int); int a[4]; struct s object;
int casts(int x, void *v) { return (T)(x) + (T)-x * 2 + (T)+x - ((T)(v, x)) + ((P)(v))->n + (T)(a)[1] + (T)(object).n * x + (T)(x)++; }
int not_casts(int x, int y, int *z) {
    x = (z[1]) * y + (g()) - y * 2 + (f(x)) & y;
    x = y * (z[x]) - x * 2 + -(g()) * y + (table[x])(y) + (two[0])(x, y) + (T)(z[1]) * y;
    return !(g()) && x == y || (z[1]) && ~(z[2]) & y && !x++ && -y--;
}
int sizes(int x) { T *T2; int T = sizeof(x) * sizeof (x) - sizeof x; T * x; return T + sizeof(T) + sizeof(T2[0]); }
void shadow(int x) { T y = x; { int T = 3; x = (T) - y; T * x; } { T T = 4; x = T; } }
int typeofs(int x, char *p) { return sizeof(__typeof__(x + 1L)) + (__typeof__(p))p - p + (__typeof__(*p))(x) + *(__typeof__(&x))p + __builtin_types_compatible_p(__typeof__(x), T); }

/* `sizeof (a)[0]` is of the element; casts behind prefix operators and in rows apply to all that follows. */
int elements[5];
typedef int *doubtful;
unsigned long sizes_of(void) { return sizeof (elements) / sizeof (elements)[0]; }
int prefixed(int le) { return (*(doubtful) & le) + !(int) - le; }

/* A product with an operand in parentheses looks like a pointer to a function type; T3 is none of the values. */
typedef int T3; T3 *(*get)(void);
int products(int x, int y, int **z) {
    x = (x * (a[1])) - (y) + (x * (y * (a[x]))) * y + (x * (y * a[2])) & (y);
    x = (y * (g())) + (x * (f(y) * f(x))) - y * (x * (a)[2]) + (x * (x, y)) * 2 + (x ** (z)[1]) - (y * (table[x])(y)) - x;
    return (T3)(y) + sizeof(T3 *(T3)) + sizeof(x * (a[1])) + (get == (T3 *(*)(void))(y)) + (y * (x)) - x;
}
int product_of_casts(int x, int y) { return (x * (unsigned)(y)) + (x) + ((x * (T)(T3)(a)[1]) - (y) + (x * (char)(y)) * y); }
