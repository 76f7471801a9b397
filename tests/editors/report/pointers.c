// What is called is chosen from a table.
extern int __VERIFIER_nondet_int(void);

static int twice(int of) {
    return 2 * of;
}

static int half(int of) {
    return of / 2;
}

static int (*const ways[2])(int) = {twice, half};

static int either(int way, int of) {
    return ways[way](of);
}

int main(void) {
    int of = __VERIFIER_nondet_int();
    if (of < 0 || of > 100)
        return 0;
    return either(of % 2, of);
}
