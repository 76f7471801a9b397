//! Calls of the C library whose results are computed when they run: what a model says about them has to allow that.

use super::{generate::Writer, types::Int};

/// Declarations, and a comparison for sorting. One to a line.
pub(crate) const HEAD: &str = "\
extern int isdigit(int c), isalpha(int c), isspace(int c), toupper(int c), tolower(int c);
extern int abs(int n), rand(void), snprintf(char *to, unsigned long size, const char *format, ...);
extern int sprintf(char *to, const char *format, ...), sscanf(const char *from, const char *format, ...);
extern int strcasecmp(const char *a, const char *b);
extern long labs(long n), atol(const char *s), strtol(const char *s, char **end, int base);
extern unsigned long strtoul(const char *s, char **end, int base), strnlen(const char *s, unsigned long size);
extern char *strncpy(char *to, const char *from, unsigned long size), *strncat(char *to, const char *from, unsigned long size);
extern char *strcat(char *to, const char *from), *stpcpy(char *to, const char *from), *strtok(char *s, const char *set);
extern char *strpbrk(const char *s, const char *set), *strdup(const char *s), *getenv(const char *name);
extern void *memmove(void *to, const void *from, unsigned long size), *realloc(void *old, unsigned long size);
extern void *memccpy(void *to, const void *from, int stop, unsigned long size);
extern void qsort(void *base, unsigned long count, unsigned long size, int (*compare)(const void *, const void *));
extern void *bsearch(const void *key, const void *base, unsigned long count, unsigned long size, int (*compare)(const void *, const void *));
extern double floor(double x), ceil(double x), fabs(double x), fmod(double x, double y), sqrt(double x);
extern int *__errno_location(void);
static int ascending(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; return (x > y) - (x < y); }";

impl Writer<'_> {
    /// One or two calls, and a look at what they did.
    pub(crate) fn library(&mut self) {
        match self.random.below(6) {
            0 => self.characters(),
            1 => self.printed(),
            2 => self.moved(),
            3 => self.numbers(),
            4 => self.sorted(),
            _ => self.real_functions(),
        }
    }

    fn characters(&mut self) {
        let (c, value) = (self.name("c"), self.value(Int::Uchar));
        self.say(format!("int {c} = {value};"));
        for function in ["isdigit", "isalpha", "isspace"] {
            self.observe(format!("({function}({c}) != 0)"), Int::Int);
        }
        self.observe(format!("toupper({c})"), Int::Int);
        self.observe(format!("(tolower({c}) - {c})"), Int::Int);
        self.observe("(rand() >= 0)".into(), Int::Int);
        self.observe("(getenv(\"not there at all\") == 0)".into(), Int::Int);
    }

    fn printed(&mut self) {
        let (b, r, value) = (self.name("b"), self.name("r"), self.value(Int::Int));
        let size = self.random.one([0, 1, 2, 5, 12]);
        let format = self.random.one([
            "%d", "%5d", "%x", "a%d", "%s", "%%%c", "%-6d|", "%+d", "%06d", "%#x", "%o", "% .3d", "%6.2s|",
            "%-7s|",
        ]);
        let argument = match format {
            "%s" | "%6.2s|" | "%-7s|" => format!("\"word\" + ({value} & 3)"),
            "%%%c" => format!("'a' + ({value} & 15)"),
            _ => value,
        };
        self.say(format!("char {b}[12] = \"zyx\";"));
        self.say(format!("int {r} = snprintf({b}, {size}, \"{format}\", {argument});"));
        self.observe(r, Int::Int);
        self.observe(format!("{b}[0]"), Int::Schar);
        self.observe(format!("{b}[11]"), Int::Schar);
        self.observe(format!("(int)strnlen({b}, 12)"), Int::Int);
        let (whole, length) = (self.name("w"), self.name("l"));
        self.say(format!("char {whole}[24]; int {length} = sprintf({whole}, \"<{format}>\", {argument});"));
        self.observe(length.clone(), Int::Int);
        self.observe(format!("{whole}[{length} / 2]"), Int::Schar);
    }

    fn moved(&mut self) {
        let (b, t, n) = (self.name("b"), self.name("t"), self.random.below(6));
        self.say(format!("char {b}[16] = \"ab cd\", *{t} = {b};"));
        let (index, value) = (self.index(5), self.value(Int::Schar));
        self.say(format!("{b}[{index}] = {value};"));
        let from = self.random.one(["\"\"", "\"x\"", "\"long\""]);
        let call = match self.random.below(8) {
            0 => format!("{t} = strncpy({b}, {from}, {n});"),
            1 => format!("{t} = strncat({b}, {from}, {n});"),
            2 => format!("{t} = strcat({b}, {from});"),
            3 => format!("{t} = stpcpy({b}, {from});"),
            4 => format!("{t} = memmove({b} + 1, {b}, {n});"),
            5 => format!("{t} = memccpy({b}, {from}, 'o', 1);"),
            6 => format!("{t} = strpbrk({b}, \" d\");"),
            _ => format!("{t} = strtok({b}, \" \");"),
        };
        self.say(call);
        self.observe(format!("({t} == 0)"), Int::Int);
        self.observe(format!("({t} ? (int)({t} - {b}) : -1)"), Int::Int);
        for at in [0, 1, 4, 15] {
            self.observe(format!("{b}[{at}]"), Int::Schar);
        }
        self.observe(format!("strcasecmp({b}, \"AB CD\") == 0"), Int::Int);
    }

    fn numbers(&mut self) {
        let (e, r, i) = (self.name("e"), self.name("r"), self.name("i"));
        let text = self.random.one(["17", " -4x", "", "99999999999999999999", "0x1f", "7 8"]);
        let base = self.random.one([0, 10, 16]);
        let value = self.value(Int::Int);
        self.say(format!("char *{e} = 0; int {i} = {value};"));
        self.say("*__errno_location() = 0;");
        self.say(format!("long {r} = strtol(\"{text}\", &{e}, {base});"));
        self.observe("*__errno_location()".into(), Int::Int);
        self.observe(r, Int::Long);
        self.observe(format!("({e} ? *{e} : 1)"), Int::Int);
        self.observe(format!("sscanf(\"{text}\", \"%d\", &{i})"), Int::Int);
        self.observe(i, Int::Int);
        self.observe(format!("abs((int)({value} % 1000))"), Int::Int);
        let number = self.number(Int::Int);
        self.observe(format!("atol(\"{number}\")"), Int::Long);
    }

    fn sorted(&mut self) {
        let (a, k) = (self.name("a"), self.name("k"));
        let values: Vec<String> = (0..4).map(|_| self.value(Int::Int)).collect();
        self.say(format!("int {a}[4] = {{ {} }}, {k} = {a}[1];", values.join(", ")));
        self.say(format!("qsort({a}, 4, sizeof *{a}, ascending);"));
        self.observe(format!("({a}[0] <= {a}[3])"), Int::Int);
        self.observe(format!("{a}[2]"), Int::Int);
        self.observe(format!("(bsearch(&{k}, {a}, 4, sizeof *{a}, ascending) != 0)"), Int::Int);
    }

    fn real_functions(&mut self) {
        let (x, value) = (self.name("x"), self.value(Int::Short));
        self.say(format!("double {x} = ({value}) / 8.0;"));
        self.observe(format!("(int)floor({x})"), Int::Int);
        self.observe(format!("(int)ceil({x})"), Int::Int);
        self.observe(format!("(int)(8 * fmod({x}, 3))"), Int::Int);
        self.observe(format!("(int)sqrt(fabs({x}))"), Int::Int);
        self.observe(format!("(fabs({x}) >= {x})"), Int::Int);
    }
}
