// A divisor that is never zero, because of what another function does.
extern int __VERIFIER_nondet_int(void);

static int clamp(int value, int limit) {
    if (value < 0)
        return 0;
    return value > limit ? limit : value;
}

int main(void) {
    int level = clamp(__VERIFIER_nondet_int(), 9);
    return 100 / (10 - level);
}
