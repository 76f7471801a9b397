// What is wrong is reported, and reaching it is an unsupported statement.
struct open; struct s { int a; } v;
int wrong(int x, struct s s, struct open *o, float f) {
    x = y; x = s; x = s.b; x = o->a; x = *x; x(1); (x + 1) = x; x = f % 2; x = ~f; &x = 0; s++; if (s) x = 1;
    wrong(1); x = "a" * 2; goto nowhere; case 3: x = (struct s)x; break_me(); return s;
}
int unknown(thing t, int x) { t.a = 1; x = t; *t = 2; x++; thing *p = 0; p->a = 1; return x + t; }
int ok(int x) { return x; }
int builtin(int x) { return __builtin_no_such_thing(x) + 08; }
int syntax(int x) { if (x { x = 1; } return x + ; }
int fine(int x) { return x; }
