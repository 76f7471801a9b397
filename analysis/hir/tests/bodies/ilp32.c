// flags: -m32
// The same on i386: `long` is as wide as `int`.
long usual(int i, unsigned u, long l, unsigned long ul, long long ll) { return u + l - ul / ll; }
int sizes(char *p, char *q) { return sizeof(long) + sizeof p + (p - q) + 4294967295 + 0x80000000; }
int wide(void) { return sizeof(L"ab") + L'x'; }
