typedef int (*fn)(int); int f(int); fn table[2]; struct s { int n; struct s *next; int a[3]; char flex[]; };
long ptr(int *p, char *c, struct s *s, unsigned u, long l, void *v) {
  int a[10], m[2][3]; fn q = f, r = &f; int (*row)[3] = m;
  p = a; p = a + 2; p = &a[u]; p = p - u; p += l; --p; c -= 1; p = &*p; p = &p[3]; p = *m; p = *(row + 1); v = v + 1;
  a[1] = *(a + u) + 2[a] + p[l] + m[u][1] + row[1][2] + s->next->a[2] + s->flex[u];
  q(1); (*q)(2); (**r)(3); table[u](4); f(5);
  if (q == f || !p || p == 0 || p < a + 10) return p - a;
  *(char *)p = 1; *(char *)&a[1] = 2; ((struct s *)v)->n = (long)p; p = (int *)l; c = (char *)s->a;
  return &s->a[1] - s->a + sizeof(a) + (&a[3] - p) + (q == 0);
}
