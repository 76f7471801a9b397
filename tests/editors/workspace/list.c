// A list, one of whose objects is freed too early.
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

static struct node *list;

static void add(int value) {
    struct node *made = malloc(sizeof *made);
    if (made == NULL)
        exit(1);
    made->value = value;
    made->next = list;
    list = made;
}

int main(void) {
    for (int i = 1; i <= 3; i++)
        add(i);
    struct node *second = list->next;
    free(second);
    return list->next->value;
}
