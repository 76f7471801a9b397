// A stock of boxes, with two mistakes.
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

struct box {
    int items;
    int price;
    struct box *next;
};

static struct box *stock;
static int boxes;

// Puts a box on top.
static int put(int items, int price) {
    struct box *made = malloc(sizeof *made);
    if (made == NULL)
        return 0;
    made->items = items;
    made->price = price;
    made->next = stock;
    stock = made;
    boxes++;
    return 1;
}

// What an item costs in the box on top.
static int price_of_item(const struct box *top) {
    return top->price / top->items;
}

// Takes the boxes away, and says what they cost together.
static int clear(void) {
    int cost = 0;
    while (stock != NULL) {
        struct box *top = stock;
        if (top->price > 0 && cost < 1000000 && top->price < 1000)
            cost += top->price;
        free(top);
        stock = top->next;
    }
    return cost;
}

int main(void) {
    int items = __VERIFIER_nondet_int();
    if (items < 0 || items > 50)
        return 1;
    for (int i = 0; i < 2; i++)
        if (!put(items - i * i, 100))
            break;
    int price = stock != NULL ? price_of_item(stock) : 0;
    return clear() + price > 0;
}
