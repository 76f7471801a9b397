//! Tables of results: CSV, sums in the papers' form, comparison.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result};

/// One task's result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) task: String,
    pub(crate) expected: bool,
    /// `true`, `false(…)`, `unknown(…)`
    pub(crate) result: String,
    /// Seconds.
    pub(crate) cpu: f64,
    /// Peak, MiB.
    pub(crate) memory: u64,
    /// Which engine decided.
    pub(crate) engine: String,
    /// How often it unwound recursion, if that is what it does.
    pub(crate) unwound: Option<u32>,
}

impl Row {
    /// What a task is called: its folder and its definition.
    pub(crate) fn name(task: &Path) -> String {
        let mut parts: Vec<_> =
            task.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.reverse();
        parts.join("/")
    }

    fn verdict(&self) -> Option<bool> {
        match self.result.as_str() {
            "true" => Some(true),
            text if text.starts_with("false") => Some(false),
            _ => None,
        }
    }
    pub(crate) fn is_solved(&self) -> bool {
        self.verdict() == Some(self.expected)
    }
    pub(crate) fn is_wrong(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict != self.expected)
    }
    /// SV-COMP's scheme: true 2, false 1, wrong true -32, wrong false -16.
    fn score(&self) -> i64 {
        match (self.verdict(), self.expected) {
            (Some(true), true) => 2,
            (Some(false), false) => 1,
            (Some(true), false) => -32,
            (Some(false), true) => -16,
            (None, _) => 0,
        }
    }
    /// For a terminal.
    pub(crate) fn line(&self) -> String {
        let mark = if self.is_wrong() {
            "WRONG"
        } else if self.is_solved() {
            "ok"
        } else {
            "-"
        };
        format!(
            "{mark:5} {:7.2} s {:5} MiB  {:45} {} {}",
            self.cpu, self.memory, self.task, self.result, self.engine
        )
    }
}

/// All results.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

const HEAD: &str = "task;expected;result;cpu;memory;engine";

impl Table {
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let mut text = format!("{HEAD}\n");
        for row in &self.rows {
            let result = row.result.replace([';', '\n'], ",");
            writeln!(
                text,
                "{};{};{result};{:.3};{};{}",
                row.task, row.expected, row.cpu, row.memory, row.engine
            )?;
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    pub(crate) fn read(file: &Path) -> Result<Table> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let rows = text
            .lines()
            .skip(1)
            .map(|line| {
                let mut cells = line.split(';').map(str::to_owned);
                let mut next = || cells.next().context("a row is too short");
                Ok(Row {
                    task: next()?,
                    expected: next()? == "true",
                    result: next()?,
                    cpu: next()?.parse()?,
                    memory: next()?.parse()?,
                    engine: next()?,
                    unwound: None,
                })
            })
            .collect::<Result<_>>()
            .with_context(|| format!("{} is not a table of results", file.display()))?;
        Ok(Table { rows })
    }

    pub(crate) fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| row.is_wrong()).count()
    }

    pub(crate) fn summary(&self) -> String {
        let solved: Vec<&Row> = self.rows.iter().filter(|row| row.is_solved()).collect();
        let of = |verdict| solved.iter().filter(|row| row.expected == verdict).count();
        let score: i64 = self.rows.iter().map(Row::score).sum();
        let mut cpu: Vec<f64> = solved.iter().map(|row| row.cpu).collect();
        cpu.sort_by(f64::total_cmp);
        let mut memory: Vec<u64> = solved.iter().map(|row| row.memory).collect();
        memory.sort_unstable();
        format!(
            "tasks {}  solved {} (true {}, false {})  wrong {}  score {score}  CPU of solved: sum {:.1} s, median {:.2} s  \
             median memory {} MiB\n",
            self.rows.len(),
            solved.len(),
            of(true),
            of(false),
            self.wrong(),
            cpu.iter().sum::<f64>(),
            cpu.get(cpu.len() / 2).copied().unwrap_or(0.0),
            memory.get(memory.len() / 2).copied().unwrap_or(0),
        )
    }

    /// What changed from this table to another.
    pub(crate) fn compare(&self, new: &Table) -> String {
        let mut out = format!("old: {}new: {}", self.summary(), new.summary());
        for row in &new.rows {
            let Some(old) = self.rows.iter().find(|old| old.task == row.task) else { continue };
            let slower = row.cpu > 2.0 * old.cpu && row.cpu > old.cpu + 0.2;
            let faster = old.cpu > 2.0 * row.cpu && old.cpu > row.cpu + 0.2;
            let note = match (old.is_solved(), row.is_solved()) {
                (false, true) => "won",
                (true, false) => "LOST",
                _ if row.is_wrong() => "WRONG",
                _ if slower => "slower",
                _ if faster => "faster",
                _ => continue,
            };
            let _ = writeln!(
                out,
                "{note:7} {:45} {} {:.2} s -> {} {:.2} s",
                row.task, old.result, old.cpu, row.result, row.cpu
            );
        }
        out
    }
}
