struct p { int x, y; }; struct s { char c; struct p p[2]; unsigned b : 3, d : 5; union { int i; double d; } u; char *name; };
int f(int);
void init(int n, struct p q) {
  int a[4] = { 1, [2] = f(n) };
  int big[1000] = { 1, 2, [10 ... 12] = f(3) };
  struct s v = { .p[1].y = 4, .b = n, .p[0] = q };
  char s1[] = "abc", s2[8] = "ab", s3[40] = "0123456789012345678901234567890123456", s4[38] = "0123456789012345678901234567890123456", s5[200] = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
  struct p *r = &(struct p){ .y = n }, *t = (struct p[]){ { 1, 2 }, { 3 } };
  struct p copy = q, call = *r;
  int scalar = { 3 }; int e[2][2] = { 1, 2, 3 };
  struct {} empty = {}; union { char c; int i; } u = { 1 }; union { struct { short a, b; } s; int i; } w = { 0 };
  const char *names[] = { "x", "y" };
  q = (struct p){ q.y, q.x };
}
