#include <assert.h>

extern unsigned __VERIFIER_nondet_uint(void);

// Nobody knows a short proof.
int main(void) {
    unsigned long n = __VERIFIER_nondet_uint(), steps = 0;
    if (n == 0)
        return 0;
    while (n != 1) {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        steps++;
    }
    assert(steps < 5000);
    return 0;
}
