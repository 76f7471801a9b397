// Fall-through, ranges, default in the middle, a case inside a scope and inside a loop.
int f(int);

int choose(int n) {
    int r = 0;
    switch (n) {
        int never;
    case 1: r = 1;
    case 2 ... 5: r += 2; break;
    default: r = 9;
    case -1: { int k; case 7: k = r; f(k); }
    }
    switch (f(n) % 2) { case 0: r++; }
    switch (3) { case 3: return r; case 4: f(4); }
    switch (n) { }
    return 0;
}

void duff(char *to, const char *from, int count) {
    int rounds = (count + 3) / 4;
    switch (count % 4) {
    case 0: do { *to++ = *from++;
    case 3:      *to++ = *from++;
    case 2:      *to++ = *from++;
    case 1:      *to++ = *from++;
            } while (--rounds > 0);
    }
}

long wide(unsigned long n) {
    switch (n) { case 0xffffffffffffffff: return 1; case 1: return 2; }
    return 3;
}
