typedef int take(int);
take taken { return 1; }
double input(void);
void input(void)\
(int main(void) {
    double x = 0;
    if 

x > 0 &&& x + x == 0.75)
        input();
    return 0;
}
