int f(int); int g;
int cond(int a, int b, int *p) {
  if (a && !(b || f(a))) g = 1;
  int x = a && b;
  int y = !(a || b) + !a;
  int z = a ? b ? 1 : 2 : 3;
  int w = f(a) ?: b;
  if (p && (a, *p > 3)) g++;
  if (__builtin_expect(!!(p != 0), 1)) g = 2;
  if (0) g = 3; else g = 4;
  while (1) { if (a-- == 0) break; if (b) continue; g += 2; }
  for (;;) { if (f(1)) return 1; do { g--; } while (g > 0 && a); }
  return 1 / 0;
}
