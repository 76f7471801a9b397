//! Colours and progress, for terminals only.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use annotate_snippets::Renderer;
use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
use indicatif::{ProgressBar, ProgressStyle};
use proofline_ide::{Doing, words};

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal with colours, unless `NO_COLOR` is set; elsewhere if `CLICOLOR_FORCE` is.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();
const RED: anstyle::Style = AnsiColor::Red.on_default().bold();
const GREEN: anstyle::Style = AnsiColor::Green.on_default().bold();
const YELLOW: anstyle::Style = AnsiColor::Yellow.on_default().bold();
const BLUE: anstyle::Style = AnsiColor::Blue.on_default().bold();

/// Longer lines of source text are shown in part.
const WIDEST: usize = 160;

/// ANSI styles, or none.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    pub(crate) fn new(color: Color) -> Style {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        // Windows' console begins to understand ANSI styles when the stream is made; one that cannot is `Always`, without `Ansi`.
        let stream = AutoStream::new(std::io::stdout(), choice);
        Style { on: stream.current_choice() == ColorChoice::AlwaysAnsi }
    }
    fn paint(self, style: anstyle::Style, text: &str) -> String {
        if self.on { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(BOLD, text)
    }
    pub(crate) fn red(self, text: &str) -> String {
        self.paint(RED, text)
    }
    pub(crate) fn green(self, text: &str) -> String {
        self.paint(GREEN, text)
    }
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint(YELLOW, text)
    }
    pub(crate) fn blue(self, text: &str) -> String {
        self.paint(BLUE, text)
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(DIM, text)
    }
    /// Draws excerpts of the source in the same colours.
    pub(crate) fn renderer(self) -> Renderer {
        let renderer = if self.on {
            Renderer::styled().error(RED).warning(YELLOW).line_num(BLUE)
        } else {
            Renderer::plain()
        };
        renderer.term_width(WIDEST)
    }
}

/// What is going on: a line on a terminal once something takes long, or lines where they were asked for.
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
    /// What engines are at: lines that somebody asked for name them.
    pub(crate) fn hear(&self, doing: &Doing) {
        if self.lines {
            eprintln!("{}: {} ({} open)", doing.entry, doing.engines, doing.open);
        }
        self.show(&words::doing(doing));
    }
    pub(crate) fn say(&self, text: &str) {
        if self.lines {
            eprintln!("{text}");
        }
        self.show(text);
    }
    fn show(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
            if self.since.elapsed() > Duration::from_millis(500) {
                bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }
    /// Writes something else to the terminal meanwhile.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
    pub(crate) fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
