//! Strings, lists, records, and pointers that outlive what they point to.

use super::writer::Writer;

const WORDS: [&str; 5] = ["", "a", "four", "sixsix", "tenletters"];

impl Writer<'_> {
    pub(super) fn string(&mut self) {
        let word = self.random.one(WORDS);
        let s = self.name("s");
        match self.random.below(4) {
            0 => {
                let size = word.len() + usize::from(!self.errs());
                self.say(format!("char {s}[{}];", size.max(1)));
                let word = if size == 0 { "a" } else { word };
                self.say(format!("strcpy({s}, \"{word}\");"));
                self.look(format!("strlen({s})"));
            }
            1 => {
                // A block of no bytes has one for AddressSanitizer.
                let copy = if !word.is_empty() && self.errs() { "short_copy_of" } else { "copy_of" };
                self.say(format!("char *{s} = {copy}(\"{word}\");"));
                self.letters(&s);
                if self.errs() {
                    self.sometimes(&format!("{s} = 0;"));
                }
                self.say(format!("free({s});"));
            }
            2 => {
                // Without room for a zero byte it is no string.
                let size = if self.errs() { word.len().max(1) } else { word.len() + 1 };
                self.say(format!("char *{s} = get({size});"));
                self.say(format!("strncpy({s}, \"{word}\", {size});"));
                if word.is_empty() {
                    self.say(format!("{s}[0] = 0;"));
                }
                self.look(format!("strlen({s})"));
                self.say(format!("free({s});"));
            }
            _ => {
                let size = self.or_more("5");
                self.say(format!("char {s}[5];"));
                self.say(format!("snprintf({s}, {size}, \"%s-%d\", \"{word}\", 12345);"));
                self.letters(&s);
                self.say(format!("{s}[0] = 0;"));
                let more = if self.errs() { "five5" } else { "four" };
                self.say(format!("strcat({s}, \"{more}\");"));
                self.look(format!("{s}[1]"));
            }
        }
    }

    fn letters(&mut self, s: &str) {
        let (p, n) = (self.name("p"), self.name("n"));
        self.say(format!("int {n} = 0;"));
        self.say(format!("for (const char *{p} = {s}; *{p}; {p}++)"));
        self.say(format!("    {n} += *{p} == 'e';"));
        self.look(n);
    }

    pub(super) fn list(&mut self) {
        let (l, length) = (self.name("l"), self.length());
        self.say(format!("struct node *{l} = 0;"));
        self.say(format!("for (int i = 0; i < {}; i++)", length.text));
        self.say(format!("    {l} = push({l}, i);"));
        let (p, total) = (self.name("p"), self.name("total"));
        self.say(format!("int {total} = 0;"));
        // Of a list of one or two, the one after the next is nobody's.
        let condition = if self.errs() { format!("{p}->next") } else { p.clone() };
        let next = if condition == p { format!("{p}->next") } else { format!("{p}->next->next") };
        self.say(format!("for (struct node *{p} = {l}; {condition}; {p} = {next})"));
        self.say(format!("    {total} += {p}->value;"));
        self.look(total);
        if self.random.percent(40) {
            let q = self.name("q");
            self.say(format!("struct node *{q} = {l};"));
            self.say(format!("{l} = {l}->next;"));
            self.say(format!("free({q});"));
            if self.errs() {
                self.sometimes(&format!("{q}->value = 1;"));
            }
        }
        let next = self.name("next");
        match self.random.below(4) {
            0 if self.errs() => {
                self.open(&format!("while ({l}) {{"));
                self.say(format!("free({l});"));
                self.say(format!("{l} = {l}->next;"));
                self.close();
            }
            1 if self.errs() => self.say(format!("free({l});")),
            _ => {
                self.open(&format!("while ({l}) {{"));
                self.say(format!("struct node *{next} = {l}->next;"));
                self.say(format!("free({l});"));
                self.say(format!("{l} = {next};"));
                self.close();
            }
        }
    }

    pub(super) fn record(&mut self) {
        if self.random.percent(50) {
            let (b, length) = (self.name("b"), self.length());
            self.say(format!("struct box *{b} = make({});", length.text));
            let count = self.or_more(&format!("{b}->count"));
            self.look(format!("sum({b}->data, {count})"));
            self.say(format!("kept = {b};"));
            let index = self.index(&length);
            self.look(format!("kept->data[{index}]"));
            if self.errs() {
                // A leak of what it holds.
                self.say(format!("free({b});"));
            } else {
                self.say(format!("drop({b});"));
            }
            if self.errs() {
                self.look("kept->count");
            }
            self.say("kept = 0;");
        } else {
            let (x, y) = (self.name("x"), self.name("y"));
            self.say(format!("struct mixed {x}, {y};"));
            self.say(format!("{x}.tag = 'x';"));
            self.say(format!("{x}.values[1] = 4;"));
            if !self.errs() {
                self.say(format!("{x}.values[2] = 5;"));
            }
            // What is only copied need not have a value.
            if self.random.percent(50) {
                self.say(format!("{y} = {x};"));
            } else {
                self.say(format!("memcpy(&{y}, &{x}, sizeof {y});"));
            }
            self.look(format!("{y}.values[1]"));
            self.look(format!("{y}.values[2]"));
            if self.errs() {
                self.look(format!("{y}.wide"));
            }
        }
    }

    pub(super) fn scope(&mut self) {
        let (q, x) = (self.name("q"), self.name("x"));
        if self.random.percent(25) && self.errs() {
            self.say(format!("int *{q} = gone(3);"));
            self.look(format!("*{q}"));
            return;
        }
        let out = self.name("out");
        self.say(format!("int *{q};"));
        self.open("{");
        self.say(format!("int {x}[2] = {{ 4, 5 }};"));
        self.say(format!("{q} = &{x}[1];"));
        self.look(format!("*{q} + {q}[-1]"));
        let when = self.when();
        self.say(format!("if ({when})"));
        self.say(format!("    goto {out};"));
        self.say(format!("*{q} = 1;"));
        self.close();
        self.say(format!("{out}:;"));
        if self.errs() {
            self.look(format!("*{q}"));
        }
    }
}
