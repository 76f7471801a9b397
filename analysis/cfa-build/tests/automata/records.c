struct p { int x, y; }; struct b { unsigned f : 3; int g : 5; _Bool h : 1; long w : 40; } ; struct p mk(int); int use(struct p, int); int g;
struct p rec(struct p a, struct p *q, struct b *b) {
  struct p r = mk(1), s; s = *q = r;
  g = mk(2).y + use(mk(3), mk(4).x);
  r = g ? a : mk(5);
  s = (g++, r);
  g = use(*q, (q->x = 3));
  b->f = g; g = b->f = g; b->g++; ++b->h; b->h = g; b->w += 2; g = b->g--;
  _Bool t = g; t = q; g = t + (t == 1); t++;
  if (g) return mk(6);
  return *q;
}
