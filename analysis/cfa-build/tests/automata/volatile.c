// Every volatile read is any value; writes stay.
volatile int status;
struct device { volatile unsigned ready : 1; int data; };

int read(struct device *d, volatile struct device *all) {
    int first = status;
    status = first + 1;
    status++;
    while (!d->ready);
    int chained = (status = 5);
    return all->data + chained;
}
