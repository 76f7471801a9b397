//! Arrays of every storage, and what is done with them.

use super::writer::{Block, Writer};

impl Writer<'_> {
    /// A new array, written from end to end.
    pub(super) fn block(&mut self) {
        let (name, length) = (self.name("a"), self.length());
        let ty = self.random.one(["int", "int", "int", "char", "long"]);
        let count = &length.text;
        let size = format!("{count} * sizeof({ty})");
        let mut is_written = false;
        let mut is_heap = true;
        match self.random.below(7) {
            0 | 1 => {
                self.say(format!("{ty} *{name} = malloc({size});"));
                self.say(format!("if (!{name}) exit(0);"));
            }
            2 => {
                self.say(format!("{ty} *{name} = calloc({count}, sizeof({ty}));"));
                self.say(format!("if (!{name}) exit(0);"));
                is_written = true;
            }
            3 => self.say(format!("{ty} *{name} = get({size});")),
            4 => {
                self.say(format!("{ty} {name}[{count}];"));
                is_heap = false;
            }
            5 => {
                self.say(format!("{ty} *{name} = alloca({size});"));
                is_heap = false;
            }
            _ => {
                let length = length.least;
                self.say(format!("static {ty} {name}[{length}];"));
                let length = super::writer::Length { text: length.to_string(), least: length };
                self.blocks.push(Block { name, ty, length, is_heap: false });
                return;
            }
        }
        let block = Block { name, ty, length, is_heap };
        if !is_written {
            self.write_all(&block);
        }
        self.blocks.push(block);
    }

    /// Writes all elements, or one too few, and reads the last.
    fn write_all(&mut self, block: &Block) {
        let Block { name, ty, length, .. } = block;
        let (count, value) = (&length.text, self.random.below(9));
        if self.errs() {
            let when = self.when();
            let less = if when == "1" { "1".into() } else { format!("({when})") };
            self.say(format!("for (int i = 0; i < {count} - {less}; i++)"));
            self.say(format!("    {name}[i] = i + {value};"));
            self.look(format!("{name}[{count} - 1]"));
            return;
        }
        let end = self.or_more(count);
        match self.random.below(5) {
            0 if *ty == "int" => self.say(format!("fill({name}, {end}, {value});")),
            1 => {
                let p = self.name("p");
                self.say(format!("for ({ty} *{p} = {name}; {p} < {name} + {end}; {p}++)"));
                self.say(format!("    *{p} = {value};"));
            }
            2 => {
                self.say(format!("for (int i = {count} - 1; i >= 0; i--)"));
                self.say(format!("    {name}[i] = i;"));
            }
            3 => self.say(format!("memset({name}, {value}, ({end}) * sizeof({ty}));")),
            _ => {
                self.say(format!("for (int i = 0; i < {end}; i++)"));
                self.say(format!("    {name}[i] = i * {value};"));
            }
        }
    }

    /// Something with one of the arrays.
    pub(super) fn on_block(&mut self) {
        if self.blocks.is_empty() {
            self.block();
        }
        let at = self.random.below(self.blocks.len());
        let block = self.blocks[at].clone();
        match self.random.below(9) {
            0 | 1 => self.element(&block),
            2 => self.walk(&block),
            3 => self.copy(&block),
            4 => self.moved(&block),
            5 if block.is_heap => self.grow(at),
            6 if block.is_heap => {
                self.blocks.remove(at);
                self.release(&block);
            }
            7 if block.is_heap && block.ty == "int" => {
                self.blocks.remove(at);
                self.kept(&block);
            }
            _ => self.alias(&block),
        }
    }

    fn element(&mut self, block: &Block) {
        let Block { name, length, .. } = block;
        let index = if self.errs() {
            let outside =
                self.random.one(["-1", "COUNT", "COUNT", "COUNT + 1"]).replace("COUNT", &length.text);
            let when = self.when();
            if when == "1" { outside } else { format!("{when} ? {outside} : 0") }
        } else {
            self.index(length)
        };
        if self.random.percent(50) {
            let value = self.random.below(20);
            self.say(format!("{name}[{index}] = {value};"));
        }
        self.look(format!("{name}[{index}]"));
    }

    fn walk(&mut self, block: &Block) {
        let Block { name, ty, length, .. } = block;
        let count = self.or_more(&length.text);
        if *ty == "int" && self.random.percent(50) {
            self.look(format!("sum({name}, {count})"));
            return;
        }
        let (total, p) = (self.name("total"), self.name("p"));
        self.say(format!("long {total} = 0;"));
        self.say(format!("for ({ty} *{p} = {name}; {p} != {name} + {count}; ++{p})"));
        self.say(format!("    {total} += *{p};"));
        self.look(total);
    }

    fn copy(&mut self, block: &Block) {
        let Block { name, ty, length, .. } = block;
        let to = self.name("copy");
        let size = self.or_more(&length.text);
        self.say(format!("{ty} {to}[24];"));
        self.say(format!("memcpy({to}, {name}, ({size}) * sizeof *{to});"));
        let read = if self.errs() { length.text.clone() } else { self.index(length) };
        self.look(format!("{to}[{read}]"));
    }

    fn moved(&mut self, block: &Block) {
        let Block { name, length, .. } = block;
        let (count, size) = (&length.text, self.or_more(&format!("{} - 1", length.text)));
        self.say(format!("memmove({name}, {name} + 1, ({size}) * sizeof *{name});"));
        self.look(format!("{name}[{count} - 1]"));
    }

    fn alias(&mut self, block: &Block) {
        let Block { name, ty, length, .. } = block;
        let q = self.name("q");
        self.say(format!("{ty} *{q} = {name} + {};", length.text));
        let back = if self.errs() { 0 } else { 1 + self.random.below(length.least) };
        self.look(format!("{q}[-{back}]"));
        if self.errs() {
            let count = &length.text;
            self.sometimes(&format!("{q}[-{count} - 1] = 5;"));
        }
        self.say(format!("*--{q} = 3;"));
        self.look(format!("{q} - {name}"));
    }

    fn grow(&mut self, at: usize) {
        let block = self.blocks[at].clone();
        let Block { name, ty, length, .. } = &block;
        let (old, new) = (self.name("old"), self.name("new"));
        let count = format!("({} + 2)", length.text);
        self.say(format!("{ty} *{old} = {name};"));
        self.say(format!("{ty} *{new} = realloc({name}, {count} * sizeof *{new});"));
        self.say(format!("if (!{new}) exit(0);"));
        self.say(format!("{name} = {new};"));
        self.look(format!("{name}[0]"));
        if self.errs() {
            self.sometimes(&format!("{old}[0] = 1;"));
        }
        if self.errs() {
            self.look(format!("{name}[{}]", length.text));
        }
        self.say(format!("{name}[{}] = 1;", length.text));
        self.say(format!("{name}[{} + 1] = 2;", length.text));
        self.blocks[at].length.text = count;
        self.blocks[at].length.least += 2;
    }

    /// Frees a block, which is not to be used again.
    fn release(&mut self, block: &Block) {
        let name = &block.name;
        if self.errs() {
            match self.random.below(5) {
                0 => self.sometimes(&format!("free({name});")),
                1 => {
                    self.say(format!("free({name});"));
                    self.sometimes(&format!("{name}[0] = 1;"));
                    return;
                }
                2 => {
                    self.say(format!("free({name});"));
                    self.look(format!("{name}[0]"));
                    return;
                }
                3 => self.sometimes(&format!("{name}++;")),
                // A leak.
                _ => {
                    self.sometimes(&format!("{name} = 0;"));
                }
            }
        }
        self.say(format!("free({name});"));
        if self.random.percent(40) {
            self.say(format!("{name} = 0;"));
        }
    }

    /// A block that only a global knows.
    fn kept(&mut self, block: &Block) {
        let Block { name, length, .. } = block;
        self.say(format!("keep = {name};"));
        self.say(format!("{name} = 0;"));
        let index = self.index(length);
        self.look(format!("keep[{index}]"));
        if self.errs() {
            self.sometimes("keep = 0;");
        }
        self.say("free(keep);");
        if self.errs() {
            self.look("keep[0]");
        }
        self.say("keep = 0;");
    }

    /// Frees what is left, or nearly.
    pub(super) fn end(&mut self) {
        for block in std::mem::take(&mut self.blocks) {
            if block.is_heap {
                self.release(&block);
            } else if self.errs() {
                self.sometimes(&format!("free({});", block.name));
            }
        }
    }
}
