//! A generated program: lines of text, some of which observe a value, and the inputs it is run on.

use std::fmt::Write;

use super::types::Int;

/// Answers to the program's questions, in order; then zeros.
pub type Vector = Vec<i64>;

/// How a program is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Manner {
    /// Some operations are not guarded.
    pub is_risky: bool,
    /// Inputs do not determine its runs: C, or code that is not here, leaves something open.
    pub is_open: bool,
    /// `main` is in a file of its own.
    pub is_split: bool,
    /// It is about objects and their lives.
    pub is_heap: bool,
}

/// A line of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// C text.
    Text(String),
    /// A place where the value of an expression without side effects can be looked at.
    Observe {
        /// Number of the place.
        id: usize,
        /// What is looked at.
        expression: String,
        /// Its type.
        ty: Int,
    },
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its lines.
    pub lines: Vec<Line>,
    /// What it is run on.
    pub vectors: Vec<Vector>,
    /// How it is written.
    pub manner: Manner,
}

/// What every program begins with. Compiled, an error call says where it is.
pub(crate) const HEAD: &str = "\
#ifdef COMPILED
extern void failed(int line);
#define reach_error() failed(__LINE__)
extern void observe(unsigned id, long long value);
#else
extern void reach_error(void);
static void observe(unsigned id, long long value) { }
#endif
extern _Bool __VERIFIER_nondet_bool(void);
extern signed char __VERIFIER_nondet_schar(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern short __VERIFIER_nondet_short(void);
extern unsigned short __VERIFIER_nondet_ushort(void);
extern int __VERIFIER_nondet_int(void);
extern unsigned __VERIFIER_nondet_uint(void);
extern long __VERIFIER_nondet_long(void);
extern unsigned long __VERIFIER_nondet_ulong(void);
extern void *memcpy(void *to, const void *from, unsigned long size);
extern void *memset(void *to, int byte, unsigned long size);
extern unsigned long strlen(const char *s);
extern char *strcpy(char *to, const char *from);
extern int strcmp(const char *a, const char *b);
extern int strncmp(const char *a, const char *b, unsigned long size);
extern int memcmp(const void *a, const void *b, unsigned long size);
extern char *strchr(const char *s, int c);
extern char *strrchr(const char *s, int c);
extern char *strpbrk(const char *s, const char *set);
extern void *memchr(const void *s, int c, unsigned long size);
extern char *strstr(const char *s, const char *part);
extern unsigned long strspn(const char *s, const char *set);
extern unsigned long strcspn(const char *s, const char *set);
extern int atoi(const char *s);
extern void *malloc(unsigned long size);
extern void *calloc(unsigned long count, unsigned long size);
extern void free(void *);
";

impl Program {
    /// Its text, with something in place of each observation.
    pub fn text(&self, mut observation: impl FnMut(usize, &str, Int) -> String) -> String {
        let mut out = HEAD.to_owned();
        for line in &self.lines {
            let _ = match line {
                Line::Text(text) => writeln!(out, "{text}"),
                Line::Observe { id, expression, ty } => {
                    writeln!(out, "    {}", observation(*id, expression, *ty))
                }
            };
        }
        out
    }

    /// Its text with observations.
    pub fn observing(&self) -> String {
        self.text(|id, expression, _| format!("observe({id}, (long long)({expression}));"))
    }
}
