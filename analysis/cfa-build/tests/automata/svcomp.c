// models
// The functions of verification tasks.
int __VERIFIER_nondet_int(void); _Bool __VERIFIER_nondet_bool(void); unsigned char __VERIFIER_nondet_uchar(void);
void *__VERIFIER_nondet_pointer(void); float __VERIFIER_nondet_float(void);
void __VERIFIER_assume(int); void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
void __assert_fail(const char *, const char *, unsigned, const char *) __attribute__((noreturn));
void reach_error(void) { __assert_fail("0", "svcomp.c", 3, "reach_error"); }
void __VERIFIER_assert(int condition) {
    if (!condition) { ERROR: reach_error(); }
}

int main(void) {
    int x = __VERIFIER_nondet_int();
    _Bool b = __VERIFIER_nondet_bool();
    unsigned char c = __VERIFIER_nondet_uchar();
    void *p = __VERIFIER_nondet_pointer();
    float f = __VERIFIER_nondet_float();
    __VERIFIER_assume(x > 0 && (x < 10 || b));
    __VERIFIER_atomic_begin();
    x += c;
    __VERIFIER_atomic_end();
    __VERIFIER_assert(x / 2 > 0);
    return x == 3 || p == 0 && f > 0;
}
