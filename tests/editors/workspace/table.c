// The bound comes from a header: editing the header, even unsaved, changes the verdict here.
#include "limit.h"

extern int __VERIFIER_nondet_int(void);

static int table[8];

int main(void) {
    int i = __VERIFIER_nondet_int();
    if (i < 0 || i >= LIMIT)
        return 0;
    return table[i];
}
