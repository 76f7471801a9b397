//! From a seed to a program about the heap: a function that works, and a `main` that calls it and ends.

use crate::{
    Random,
    programs::program::{Line, Manner, Program, Vector},
};

/// What such programs begin with, after what all begin with.
const HEAD: &str = "\
#ifdef COMPILED
extern void scrub(void);
#else
static void scrub(void) { }
#endif
extern void *realloc(void *, unsigned long size);
extern void *memmove(void *to, const void *from, unsigned long size);
extern char *strcat(char *to, const char *from);
extern char *strncpy(char *to, const char *from, unsigned long size);
extern int snprintf(char *to, unsigned long size, const char *format, ...);
extern void exit(int status);
#define alloca __builtin_alloca
struct node { int value; struct node *next; };
struct box { int count; int *data; };
struct mixed { char tag; int values[3]; long wide; };
static int *keep;
static struct box *kept;
static void *get(unsigned long size)
{
    void *block = malloc(size);
    if (!block) exit(0);
    return block;
}
static void fill(int *to, int count, int value)
{
    for (int i = 0; i < count; i++)
        to[i] = value + i;
}
static int sum(const int *from, int count)
{
    int result = 0;
    while (count-- > 0)
        result += *from++;
    return result;
}
static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy) exit(0);
    return strcpy(copy, text);
}
static char *short_copy_of(const char *text)
{
    char *copy = malloc(strlen(text));
    if (!copy) exit(0);
    return strcpy(copy, text);
}
static struct node *push(struct node *list, int value)
{
    struct node *first = get(sizeof *first);
    first->value = value;
    first->next = list;
    return first;
}
static struct box *make(int count)
{
    struct box *box = get(sizeof *box);
    box->count = count;
    box->data = get(count * sizeof *box->data);
    fill(box->data, count, 1);
    return box;
}
static void drop(struct box *box)
{
    free(box->data);
    free(box);
}
static int *gone(int value)
{
    int local = value;
    int *pointer = &local;
    return pointer;
}";

/// How long an array is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Length {
    pub(super) text: String,
    /// It has at least so many elements.
    pub(super) least: usize,
}

/// An array in scope, all of it written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) name: String,
    pub(super) ty: &'static str,
    pub(super) length: Length,
    pub(super) is_heap: bool,
}

/// Writes one program.
pub(super) struct Writer<'r> {
    pub(super) random: &'r mut Random,
    /// Names of inputs; they are in `0..=7`.
    pub(super) inputs: Vec<String>,
    /// Names of inputs in `1..=5`.
    counts: Vec<String>,
    pub(super) blocks: Vec<Block>,
    lines: Vec<Line>,
    depth: usize,
    names: usize,
    places: usize,
    /// Chances for an error that are still passed by; none if the program is right, or the error is there.
    patience: Option<usize>,
}

/// The program of a seed, right or (if there is room for it) with an error.
pub(crate) fn heap(seed: u64, manner: Manner) -> Program {
    let mut random = Random::new(seed ^ 0x4ea9);
    let vectors: Vec<Vector> = (0..8).map(|_| (0..8).map(|_| random.below(8) as i64).collect()).collect();
    let patience = if manner.is_risky { Some(random.below(14)) } else { None };
    let mut writer = Writer {
        random: &mut random,
        inputs: Vec::new(),
        counts: Vec::new(),
        blocks: Vec::new(),
        lines: Vec::new(),
        depth: 0,
        names: 0,
        places: 0,
        patience,
    };
    writer.program();
    Program { lines: writer.lines, vectors, manner }
}

impl Writer<'_> {
    fn program(&mut self) {
        self.say(HEAD);
        self.open("static void work(void)\n{");
        for _ in 0..self.random.below(3) {
            let name = self.name("in");
            self.say(format!("int {name} = __VERIFIER_nondet_int();"));
            self.say(format!("if ({name} < 0 || {name} > 7) return;"));
            self.inputs.push(name);
        }
        for _ in 0..self.random.below(2) {
            let name = self.name("count");
            self.say(format!("int {name} = __VERIFIER_nondet_int();"));
            self.say(format!("if ({name} < 1 || {name} > 5) return;"));
            self.counts.push(name);
        }
        for _ in 0..1 + self.random.below(2) {
            self.block();
        }
        for _ in 0..2 + self.random.below(4) {
            self.piece();
        }
        self.end();
        self.close();
        self.open("int main(void)\n{");
        self.say("work();");
        // What lies on the stack refers to nothing any more.
        self.say("scrub();");
        self.say("return 0;");
        self.close();
    }

    fn piece(&mut self) {
        match self.random.below(10) {
            0 => self.block(),
            1..=5 => self.on_block(),
            6 => self.string(),
            7 => self.list(),
            8 => self.record(),
            _ => self.scope(),
        }
    }

    /// Whether the error is to be here.
    pub(super) fn errs(&mut self) -> bool {
        match self.patience {
            Some(0) => {
                self.patience = None;
                true
            }
            Some(left) => {
                self.patience = Some(left - 1);
                false
            }
            None => false,
        }
    }

    /// A condition for an error: often none, else an input that has to be right.
    pub(super) fn when(&mut self) -> String {
        let input = self.random.pick(&self.inputs).cloned();
        match input {
            Some(input) if self.random.percent(60) => {
                let (op, number) = (self.random.one(["==", ">", "<"]), 1 + self.random.below(6));
                format!("{input} {op} {number}")
            }
            _ => "1".into(),
        }
    }

    /// A statement that is executed when the error is to happen.
    pub(super) fn sometimes(&mut self, statement: &str) {
        let when = self.when();
        self.say(format!("if ({when})"));
        self.say(format!("    {statement}"));
    }

    /// `number`, or one too many of them where the error is and the inputs are right.
    pub(super) fn or_more(&mut self, number: &str) -> String {
        if !self.errs() {
            return number.to_owned();
        }
        let when = self.when();
        if when == "1" { format!("{number} + 1") } else { format!("{number} + ({when})") }
    }

    pub(super) fn length(&mut self) -> Length {
        match self.random.pick(&self.counts).cloned() {
            Some(text) if self.random.percent(60) => Length { text, least: 1 },
            _ => {
                let least = 1 + self.random.below(5);
                Length { text: least.to_string(), least }
            }
        }
    }

    /// An index that is below a length.
    pub(super) fn index(&mut self, length: &Length) -> String {
        let input = self.random.pick(&self.inputs).cloned();
        match (self.random.below(4), input) {
            (0, Some(input)) => format!("{input} % {}", length.text),
            (1, _) => format!("{} - 1", length.text),
            _ => self.random.below(length.least).to_string(),
        }
    }

    pub(super) fn say(&mut self, text: impl AsRef<str>) {
        for line in text.as_ref().lines() {
            let is_preprocessing = line.starts_with('#');
            let indent = if is_preprocessing { 0 } else { 4 * self.depth };
            self.lines.push(Line::Text(format!("{:indent$}{line}", "")));
        }
    }

    pub(super) fn open(&mut self, text: &str) {
        self.say(text);
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.say("}");
    }

    /// A look at a value.
    pub(super) fn look(&mut self, expression: impl AsRef<str>) {
        self.places += 1;
        self.say(format!("observe({}, (long long)({}));", self.places, expression.as_ref()));
    }

    pub(super) fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }
}
