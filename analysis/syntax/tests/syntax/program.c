#define CHECK(e) do { if (!(e)) fail(#e, __LINE__); } while (0)
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
typedef unsigned long size_t;
typedef struct node { struct node *next; int value : 5, : 3; char text[]; } __attribute__((packed)) node;
#pragma pack(push, 1)
union both { int i; float f; };
#pragma pack(pop)
enum colour { RED, GREEN = 5, BLUE };
extern void fail(const char *text, int line) __attribute__((noreturn));
static int table[] = { [0 ... 3] = 1, [5] = 7 };
int sum(const node *list, size_t n)
{
    int total = 0;
    for (; list && n; list = list->next, n--)
        total += (int)(list->value) + table[n % 6];
    CHECK(total / (int)n > 0);
    return total;
}
static int dispatch(enum colour c, void *p)
{
    static void *labels[] = { &&red, &&other };
    switch (c) {
    case RED ... GREEN:
        goto *labels[c];
    default:
        break;
    }
    return MAX(c, 3);
red:
    __asm__ volatile("nop" : "=r"(c) : "0"(c) : "memory");
other:
    return sizeof(node) + __builtin_offsetof(node, text) + (p ? 1 : 0);
}
