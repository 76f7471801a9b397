// Initial values: constants, addresses, functions, strings, designators that override, bit-fields.
struct p { int x, y; };
struct s { char c; struct p p[2]; unsigned b : 3, d : 5; union { int i; double d; } u; const char *name; void (*run)(void); };
void run(void);
extern int elsewhere[];
static int counter = 3;
const int limit = -1;
int tentative, zero = 0;
int table[5] = { [1 ... 3] = 7, [2] = 0, 9 };
struct s all = { 'x', { { 1 }, { .y = 2 } }, 5, 17, { .d = 1.5 }, "name", run };
char text[8] = "text", *pointer = text + 2;
int *inside = &all.p[1].y, *outside = elsewhere + 3;
long number = (long)&counter;
double minus_zero = -0.0;
static void *labels(void) {
    static void *targets[] = { &&here };
here:
    return targets[0];
}
void run(void) { static int calls = 1, calls_too; calls++; calls_too--; labels(); }
