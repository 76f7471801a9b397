int g, a[8]; int f(int); int h(int, int);
int *p;
void order(int i, int *q) {
  g = g + f(1);
  a[g] = f(2);
  a[i] += f(3);
  i += f(4);
  *q = f(i++) - i / g;
  h(g, f(5));
  h(i / g, f(6));
  *p = g = a[1];
  p[g] = (i = 3, f(i) * i);
  q = q + (i++ > 3);
  i = -i--;
  int x = i++ + ++i;
  (void)(x / i); *q; x;
}
