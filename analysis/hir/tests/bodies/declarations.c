typedef unsigned long size_type;
typedef struct list { struct list *next; int value; } list;
typedef int callback(void *, const list *), (*callback_pointer)(void *, const list *);
typedef int int4 __attribute__((vector_size(16)));
enum color { red, green = 5, blue, last = blue + 1 };
struct packed { char a; long b __attribute__((aligned(4))); unsigned c : 3, : 5, d : 9; } __attribute__((packed));
union number { int i; float f; struct { unsigned char bytes[4]; }; };
struct flexible { int n; char data[]; };
struct nested { struct { int x, y; } at; union { int u; char v; }; enum { small, large } size; int (*f[2])(int); };
extern int external(int, ...);
extern size_type length(const char *restrict text) __attribute__((pure));
_Noreturn void stop(void);
static const char *const names[] = { [green] = "green", "blue", [red] = "red" };
static struct nested table[3] = { { { 1, 2 }, 3, large }, [2] = { .at.y = 7, .v = 'c', .f[1] = 0 } };
int matrix[][3] = { 1, 2, 3, { 4 }, [3] = { [1] = 5 } }, tentative[];
char text[] = "abc" "\x41", exact[3] = "xyz", braced[] = { "q" };
int *pointers[] = { &matrix[1][2], (int[]){ 1, 2, 3 } + 1, 0 };
struct list head = { &head, sizeof(list) }, *tail = &(struct list){ .value = 1 };
int ranges[8] = { [1 ... 3] = 4, [6] = 9 };
_Static_assert(sizeof(struct packed) == sizeof(long) + 8, "packed");
_Thread_local int counter;
_Atomic int shared;
double _Complex z;
int old(a, b, c) int a; char *b; { return a + b[0] + c; }
char *older(p, n) int n; char *p; { return p + n; }
static inline __attribute__((always_inline)) int twice(int x) { return 2 * x; }
int twice_alias(int) __attribute__((alias("twice_target")));
int twice_target(int x) { return twice(x); }
void (*select_handler(int which, void (*handler)(int)))(int) { return which ? handler : (void (*)(int))0; }
int sum(int n, int a[static n], int m, int b[n][m]) { int s = 0; for (int i = 0; i < n; i++) s += a[i] + b[i][0]; return s; }
int variable(int n) { int v[n][2], *p = &v[0][0]; typeof(v[0]) w; return sizeof v + sizeof w + sizeof(int[n]) + *p; }
int scopes(int x) {
    struct list { int other; } inner = { x };
    typedef char T;
    T t = x;
    { int T = 3; x = T * t; }
    enum { local = 4 };
    static int calls, again[] = { local, sizeof inner };
    extern int counter_elsewhere;
    int forward(int);
    return forward(x) + ++calls + again[1] + counter_elsewhere + inner.other;
}
int statements(int x) {
    int r = ({ int y = x; y ?: 3; });
    __auto_type copy = r;
    switch (x) { case 1 ... 5: r++; break; case red: default: goto out; }
    do { if (r > 3) continue; else break; } while (r--);
    while (x) { x >>= 1; r ^= x; }
again:
    if (copy--) goto again;
out:
    return _Generic(r, int: 1, char *: 2, default: 3) + __builtin_offsetof(struct nested, at.y);
}
int outer(int n) { int inner(int k) { return k + n; } return inner(2); }
int absent(void) __attribute__((weak));
extern int weak_object __attribute__((weak));
int weak_names(void) { return absent && absent() && &weak_object; }
