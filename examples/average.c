// Two ways to compute an average. One is right.
#include <assert.h>

extern int __VERIFIER_nondet_int(void);

static int careful(int low, int high) {
    return low + (high - low) / 2;
}

static int average(int low, int high) {
    return (low + high) / 2;
}

int main(void) {
    int low = __VERIFIER_nondet_int();
    int high = __VERIFIER_nondet_int();
    if (low < 0 || high < low)
        return 0;
    int middle = careful(low, high);
    assert(middle >= 0);
    return average(low, high) - middle;
}
