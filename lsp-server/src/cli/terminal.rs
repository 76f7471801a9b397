//! Colours and progress, for terminals only.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// ANSI styles, or none.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    pub(crate) fn new(color: Color) -> Style {
        let auto = || std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Style { on: color == Color::Always || color == Color::Auto && auto() }
    }
    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("1;32", text)
    }
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }
    pub(crate) fn blue(self, text: &str) -> String {
        self.paint("1;34", text)
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// What is going on: a line on a terminal once something takes long, or lines for whoever asked.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    since: Instant,
}

impl Progress {
    /// With `lines`, each news is a line of standard error, which may be a file.
    pub(crate) fn new(lines: bool) -> Progress {
        let bar = (!lines && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, lines, since: Instant::now() }
    }
    pub(crate) fn say(&self, text: &str) {
        if self.lines {
            eprintln!("{text}");
        }
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
            if self.since.elapsed() > Duration::from_millis(500) {
                bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }
    pub(crate) fn done(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
