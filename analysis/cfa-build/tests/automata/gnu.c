typedef __builtin_va_list va_list;
int f(int); int g;
int gnu(int n, ...) {
  int x = ({ int y = f(n); y > 3 ? y : 3; });
  int a[n], m[n][n + 1]; a[x] = m[1][2]; x = sizeof a; int *p = __builtin_alloca(n);
  unsigned r; long wide; if (__builtin_add_overflow(n, x, &n)) x = 1; if (__builtin_mul_overflow(n, 3u, &wide)) x = 2;
  x = __builtin_bswap32(r = 5);
  __asm__ volatile ("nop" : "=r"(x), "+m"(g) : "r"(n) : "memory");
  __sync_fetch_and_add(&g, 1); x = __atomic_load_n(&g, 5); __atomic_store_n(&g, x, 5); if (__sync_bool_compare_and_swap(&g, 1, 2)) x++;
  va_list ap; __builtin_va_start(ap, n); x = __builtin_va_arg(ap, int); __builtin_va_end(ap);
  volatile int v = 1; x = v + v; v++; 
  float fl = 0.1f; double d = 0.1L; fl += d; x = fl; x = fl < d; 
  int u, w; if (x) u = 1; if (f(u)) w = 2; else w = 3; g = w; { int k; if (g) goto in; k = 1; in: g = k; }
  switch (x) { case 1: { int z; case 2: z = 3; g = z; break; } default: ; }
  return x;
}
