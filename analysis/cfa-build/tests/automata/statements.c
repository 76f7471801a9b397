// Loops, dead code, scopes.
int f(int);
int g;

int loops(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i == 3) continue;
        int square = i * i;
        if (square > 100) break;
        sum += square;
    }
    while (n > 0) n--;
    do {
        int twice = f(n);
        if (twice) continue;
        sum--;
    } while (sum > 5);
    return sum;
}

int dead(int n) {
    if (0) g = 1 / 0;
    while (1) {
        if (f(n)) return 1;
        if (sizeof(int) == 4 && n) break;
    }
    return 2;
    g = 3;
}

void forever(void) {
    for (;;);
}

int falls_off(int n) {
    if (n) return 1;
}

int main(void) {
    { int inner = 1; { int inner = 2; g = inner; } g += inner; }
}
