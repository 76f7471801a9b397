// Statements of C and GNU C.
int loops(int n) {
    int i, sum = 0;
    for (i = 0; i < n; i++) sum += i;
    for (int j = 0, k = n; j < k; j++, k--) { if (j == 3) continue; else if (k) break; else sum--; }
    while (n--) ;
    do { sum++; } while (sum < 10);
    for (;;) return sum;
}
int choose(unsigned char x) {
    switch (x) {
        int unreached;
    case 1: case 2: x = 3; unreached = 1; break;
    case 4 ... 6: x++;
    default: { x--; break; }
    case 'a': case -1: return 2;
    }
    return x;
}
void duff(char *to, char *from, int n) {
    switch (n % 4) { case 0: do { *to = *from++; case 3: *to = *from++; case 2: *to = *from++; case 1: *to = *from++; } while ((n -= 4) > 0); }
}
void *jumps(int x) {
    static void *targets[] = { &&one, &&two };
    if (x < 0) goto end;
    goto *targets[x];
one: x++;
two: x--;
    return &&end;
end: ;
}
int local_labels(int x) { { __label__ out; if (x) goto out; x = 1; out: x++; } { __label__ out; goto out; out: ; } return x; }
int assembly(int a, int *p) {
    __asm__ volatile ("xchg %0, %1" : "=r"(a), "+m"(*p) : "r"(a + 1) : "memory", "cc");
    asm("hlt"); asm volatile ("" ::: "memory"); asm goto ("jmp %l0" :::: out);
out: return a;
}
void discard(int *p, volatile int *q, int u) { (void)u; u; *p; (void)*p; *q; p[u], u++; (void)(u ? *p : *q); }
void nothing(void) { return (void)0; ; }
static void release(int *p) { *p = 0; }
int cleaned(int n) { __attribute__((cleanup(release))) int held = n; return held; }
int sized(int n) { int a[n][3]; int b[2 * n]; a[1][2] = sizeof a; b[0] = sizeof(int[n]); return sizeof b + sizeof a[0] + sizeof(*a); }
