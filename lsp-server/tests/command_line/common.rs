//! Runs the program on files in a scratch folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A proof that takes a second or so: on no machine so little that its answer would not be worth sharing.
pub(crate) const WORTH_SHARING: &str = r"#include <assert.h>
extern int in(void);
static int sum(int n) {
  if (n <= 0) return 0;
  return 1 + sum(n - 1);
}
int main(void) {
  int n = in(), p = 0, q = 0, r = 0, x = 0, y = 0;
  if (n < 0 || n > 1000) return 0;
  for (int i = 0; i < n; i++) { if (in()) p++; else if (in()) q++; else r++; }
  while (x < n) { x++; y += 2; }
  assert(p + q + r == n);
  assert(y == 2 * x);
  assert(sum(n) == n);
  return 0;
}
";

/// A folder that goes away.
pub(crate) struct Scratch(tempfile::TempDir);

/// What a run said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Both outputs together.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.err, self.out)
    }

    /// Fails unless the exit code is this one and everything is said.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, words: &[&str]) {
        let all = self.all();
        assert_eq!(self.code, code, "exit code; said:\n{all}");
        for word in words {
            assert!(all.contains(word), "`{word}` is not said:\n{all}");
        }
    }
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a scratch folder"))
    }
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(&path, content).expect("a file");
        path
    }
    /// Runs `proofline` in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_proofline"))
            .args(arguments)
            .current_dir(self.path())
            .env("XDG_CACHE_HOME", self.path())
            .output()
            .expect("the program runs");
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
    /// `proofline check` on a text.
    pub(crate) fn check(&self, text: impl AsRef<[u8]>) -> Said {
        self.write("test.c", text);
        self.run(&["check", "test.c"])
    }
}
