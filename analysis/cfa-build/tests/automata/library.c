// models
// What models put in the place of calls.
typedef unsigned long size_t;
typedef struct file FILE;
void *malloc(size_t); void *calloc(size_t, size_t); void *realloc(void *, size_t); void free(void *);
void *memcpy(void *, const void *, size_t); void *memset(void *, int, size_t);
size_t strlen(const char *); char *strcpy(char *, const char *); char *strchr(const char *, int);
long strtol(const char *, char **, int); int getchar(void); int printf(const char *, ...); int scanf(const char *, ...);
char *fgets(char *, int, FILE *); void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void exit(int); void abort(void); int isdigit(int); int *__errno_location(void);
int mystery(int *, int (*)(int)); int setjmp(void *); void (*signal(int, void (*)(int)))(int);

void memory(size_t n) {
    int *p = malloc(n * sizeof *p), *q = calloc(n, 4);
    if (!p) exit(1);
    memset(p, 0, n);
    memcpy(q, p, n);
    p = realloc(p, 2 * n);
    free(p);
}

int strings(char *s, FILE *in) {
    char line[80], *end;
    if (fgets(line, sizeof line, in) == 0) return -1;
    strcpy(line, s);
    char *at = strchr(line, 'x');
    return strtol(line, &end, 10) + strlen(s) + isdigit(*at);
}

int input(int a, int b) {
    int x, y[3];
    scanf("%d %d", &x, &y[1]);
    printf("%d %s\n", a / b, "text");
    printf("%n", &x);
    return getchar() + *__errno_location();
}

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int callback(int x) { return x; }
static void handler(int x) { }

void calls(int *a, size_t n) {
    qsort(a, n, sizeof *a, order);
    mystery(a, callback);
    signal(2, (void (*)(int))1);
    signal(2, handler);
    setjmp(a);
    abort();
    a[0] = 1;
}
