// A shadow only where some path reads before it writes.
int f(int *);

int doubtful(int n) {
    int on_one_path;
    if (n) on_one_path = 1;
    return on_one_path;
}

int certain(int n) {
    int on_both;
    if (n) on_both = 1; else on_both = 2;
    return on_both;
}

int in_loop(int n) {
    int last;
    for (int i = 0; i < n; i++) last = i;
    return last;
}

int again(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int x;
        if (i == 0) x = 5;
        sum += x;
    }
    return sum;
}

int addressed(void) {
    int x;
    f(&x);
    return x;
}

void unused(void) {
    int x;
    (void)x;
}
