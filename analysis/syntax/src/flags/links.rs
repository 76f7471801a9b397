//! What a build links with what: CMake's `link.txt` beside the objects of a target, and `build.ninja`, which CMake and Meson write. A compilation
//! database does not say it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::fs::{FileSystem, lexical};

/// What files are made of, by the file that is made.
#[derive(Default)]
pub(super) struct Links {
    inputs: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl Links {
    /// What the build says that has these objects.
    pub(super) fn of<'o>(objects: impl Iterator<Item = (&'o Path, &'o Path)>, fs: &dyn FileSystem) -> Links {
        let mut links = Links::default();
        let (mut folders, mut targets) = (BTreeSet::new(), BTreeSet::new());
        for (folder, object) in objects {
            folders.insert(folder);
            // `CMakeFiles/server.dir/src/main.c.o`
            let is_target = |folder: &&Path| folder.extension().is_some_and(|end| end == "dir");
            targets.extend(object.ancestors().find(is_target).map(|target| (folder, target)));
        }
        for (folder, target) in targets {
            if let Some(text) = read(fs, &target.join("link.txt")) {
                text.lines().for_each(|line| links.add_command(folder, line));
            }
        }
        for folder in folders {
            if let Some(text) = read(fs, &folder.join("build.ninja")) {
                links.add_edges(folder, &text);
            }
        }
        links
    }

    /// All that a file is made of, with what that is made of, and so on.
    pub(super) fn parts_of(&self, file: &Path) -> BTreeSet<&Path> {
        let (mut found, mut open) = (BTreeSet::new(), vec![file]);
        while let Some(file) = open.pop() {
            for input in self.inputs.get(file).into_iter().flatten() {
                if found.insert(&**input) {
                    open.push(input);
                }
            }
        }
        found
    }

    /// Files that are made, with what they are made of at once.
    pub(super) fn made(&self) -> impl Iterator<Item = (&Path, &[PathBuf])> {
        self.inputs.iter().map(|(file, inputs)| (&**file, &**inputs))
    }

    /// `cc main.o -o server libutil.a`, or `ar qc libutil.a util.o`.
    fn add_command(&mut self, folder: &Path, line: &str) {
        let words = shlex::split(line).unwrap_or_default();
        let is_archive = |word: &&String| word.ends_with(".a");
        // Behind the program's name; `ar` takes a word that says what to do.
        let (output, before) = match words.iter().position(|word| word == "-o") {
            Some(at) => (words.get(at + 1), 1),
            None => (words.iter().find(is_archive), 2),
        };
        let Some(output) = output else { return };
        let inputs = words.iter().skip(before).filter(|word| *word != output && !word.starts_with('-'));
        let whole = |word: &String| lexical(&folder.join(word));
        self.inputs.entry(whole(output)).or_default().extend(inputs.map(whole));
    }

    /// `build server: LINK main.o | libutil.a || order`
    fn add_edges(&mut self, folder: &Path, text: &str) {
        // A dollar at its end: the line goes on.
        let text = text.replace("$\r\n", " ").replace("$\n", " ");
        for edge in text.lines().filter_map(|line| line.strip_prefix("build ")) {
            let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
            // Behind the colon stands the rule's name first.
            let mut is_rule_next = None;
            for word in words(edge) {
                match (word, is_rule_next) {
                    (Word::Colon, None) => is_rule_next = Some(true),
                    // What must be there before, and is no part of it.
                    (Word::Order, _) => break,
                    (Word::Colon | Word::Bar, _) => {}
                    (Word::Path(path), None) => outputs.push(lexical(&folder.join(path))),
                    (Word::Path(_), Some(true)) => is_rule_next = Some(false),
                    (Word::Path(path), Some(false)) => inputs.push(lexical(&folder.join(path))),
                }
            }
            for output in outputs {
                self.inputs.entry(output).or_default().extend(inputs.iter().cloned());
            }
        }
    }
}

fn read(fs: &dyn FileSystem, path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&fs.read(path).ok()?).into_owned())
}

/// Of a line that says what is built.
enum Word {
    Path(String),
    Colon,
    Bar,
    /// `||` or `|@`
    Order,
}

fn words(line: &str) -> Vec<Word> {
    let mut out = Vec::new();
    let mut path = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        // `$ ` is a space, `$:` a colon, `$$` a dollar.
        if c == '$' {
            path.extend(chars.next());
            continue;
        }
        let sign = match c {
            ' ' => None,
            ':' => Some(Word::Colon),
            '|' if chars.next_if(|next| matches!(next, '|' | '@')).is_some() => Some(Word::Order),
            '|' => Some(Word::Bar),
            c => {
                path.push(c);
                continue;
            }
        };
        if !path.is_empty() {
            out.push(Word::Path(std::mem::take(&mut path)));
        }
        out.extend(sign);
    }
    if !path.is_empty() {
        out.push(Word::Path(path));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(links: &Links, file: &str) -> Vec<String> {
        links.parts_of(Path::new(file)).into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn commands_and_archives() {
        let mut links = Links::default();
        let folder = Path::new("/b/app");
        links.add_command(folder, "/usr/bin/cc -O2 -rdynamic 'my file.o' -o server ../lib/libutil.a -lm");
        links.add_command(Path::new("/b/lib"), "/usr/bin/ar qc libutil.a util.o");
        links.add_command(Path::new("/b/lib"), "/usr/bin/ranlib libutil.a");
        assert_eq!(parts(&links, "/b/app/server"), ["/b/app/my file.o", "/b/lib/libutil.a", "/b/lib/util.o"]);
    }

    #[test]
    fn edges_of_ninja() {
        let mut links = Links::default();
        links.add_edges(
            Path::new("/b"),
            "rule cc\n  command = cc $in\nbuild server$ 2 | also: LINK main.o $\n  more.o | libutil.so || order.o\n  X = y.o\n\
             build libutil.so: SYMLINK libutil.so.1\nbuild libutil.so.1: LINK util.o\nbuild all: phony server$ 2\n",
        );
        let wanted = ["/b/libutil.so", "/b/libutil.so.1", "/b/main.o", "/b/more.o", "/b/util.o"];
        assert_eq!(parts(&links, "/b/server 2"), wanted);
        assert_eq!(parts(&links, "/b/also"), wanted);
    }

    #[test]
    fn circles_end() {
        let mut links = Links::default();
        links.add_edges(Path::new("/"), "build a: r b\nbuild b: r a\n");
        assert_eq!(parts(&links, "/a"), ["/a", "/b"]);
    }
}
