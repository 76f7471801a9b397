//! Answers, counted.

use std::{collections::BTreeMap, fmt::Write};

use super::case::{Case, Question};
use crate::{
    limited::Finished,
    table::{Row, Table},
};

/// What was said to a question.
pub(super) struct Answer {
    pub(super) row: Row,
    engine: String,
    question: Question,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Right,
    Unknown,
    NotCounted,
    Wrong,
    Crash,
}

/// All answers.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) answers: Vec<Answer>,
    /// Programs that `gcc -O0` does not compile, or that do not end well.
    pub(super) unusable: Vec<String>,
}

impl Answer {
    pub(super) fn new(
        case: &Case,
        question: Question,
        engine: &str,
        result: String,
        run: &Finished,
    ) -> Answer {
        let row = Row {
            task: format!("{} {} {engine}", case.name, question.name()),
            expected: question.expected(),
            result,
            cpu: run.cpu.as_secs_f64(),
            memory: run.memory,
            engine: engine.to_owned(),
            unwound: None,
        };
        Answer { row, engine: engine.to_owned(), question }
    }

    /// Whether it contradicts `gcc -O0`.
    pub(super) fn is_wrong(&self) -> bool {
        self.outcome() == Outcome::Wrong
    }

    fn outcome(&self) -> Outcome {
        let result = self.row.result.as_str();
        if result.starts_with("not counted") {
            Outcome::NotCounted
        } else if result.starts_with("crash") {
            Outcome::Crash
        } else if result == "true" || result.starts_with("false") {
            if (result == "true") == self.row.expected { Outcome::Right } else { Outcome::Wrong }
        } else {
            Outcome::Unknown
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.answers.extend(other.answers);
        self.unusable.extend(other.unusable);
    }

    /// Wrong verdicts and crashes.
    pub(super) fn faults(&self) -> usize {
        let is_fault = |answer: &&Answer| matches!(answer.outcome(), Outcome::Wrong | Outcome::Crash);
        self.answers.iter().filter(is_fault).count()
    }

    /// Every answer, by name.
    pub(super) fn table(&self) -> Table {
        let mut rows: Vec<Row> = self.answers.iter().map(|answer| answer.row.clone()).collect();
        rows.sort_by(|a, b| a.task.cmp(&b.task));
        Table { rows }
    }

    /// What came out, in numbers; what is wrong or not counted, by name; why nothing was found out.
    pub(super) fn markdown(&self) -> String {
        let mut out = self.numbers();
        let _ = writeln!(out, "\nNot usable: {}", self.unusable.len());
        for (title, outcome) in
            [("Wrong", Outcome::Wrong), ("Crashes", Outcome::Crash), ("Not counted", Outcome::NotCounted)]
        {
            let these: Vec<&Row> =
                self.answers.iter().filter(|a| a.outcome() == outcome).map(|a| &a.row).collect();
            if !these.is_empty() {
                let _ = writeln!(out, "\n{title}:\n");
                for row in these {
                    let _ = writeln!(out, "- {}: {}", row.task, row.result);
                }
            }
        }
        out + &self.reasons()
    }

    fn numbers(&self) -> String {
        let mut out = "| engine | question | asked | right | unknown | not counted | wrong | crashes | longest | most memory |\n\
                       |---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        let mut groups: BTreeMap<(&str, &str), Vec<&Answer>> = BTreeMap::new();
        for answer in &self.answers {
            groups.entry((&answer.engine, answer.question.name())).or_default().push(answer);
        }
        for ((engine, question), answers) in groups {
            let of = |outcome| answers.iter().filter(|answer| answer.outcome() == outcome).count();
            let longest = answers.iter().map(|answer| answer.row.cpu).fold(0.0, f64::max);
            let memory = answers.iter().map(|answer| answer.row.memory).max().unwrap_or(0);
            let _ = writeln!(
                out,
                "| {engine} | {question} | {} | {} | {} | {} | {} | {} | {longest:.1} s | {memory} MiB |",
                answers.len(),
                of(Outcome::Right),
                of(Outcome::Unknown),
                of(Outcome::NotCounted),
                of(Outcome::Wrong),
                of(Outcome::Crash),
            );
        }
        out
    }

    fn reasons(&self) -> String {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for answer in self.answers.iter().filter(|answer| answer.outcome() == Outcome::Unknown) {
            *reasons.entry(&answer.row.result).or_default() += 1;
        }
        let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut out = "\n| why unknown | times |\n|---|---|\n".to_owned();
        for (reason, count) in reasons.into_iter().take(25) {
            let _ = writeln!(out, "| {reason} | {count} |");
        }
        out
    }
}
