int f(int); void clean(int *);
int go(int n) {
  goto in;
  { int x = 1; f(x); in: x = 2; f(x); goto out; }
  again: { int y __attribute__((cleanup(clean))) = 3; if (n--) goto again; if (n > 5) return y; }
out: for (int i = 0; i < n; i++) { int k = i; if (k == 3) goto out; if (k == 4) break; if (k == 5) continue; f(k); }
  static void *t[] = { &&out, &&again };
  goto *t[n];
}
