//! What `ide` says, as Markdown: hovers and summaries.

use std::fmt::Write;

use proofline_ide::{HoverContent, LoopMoment, State, Summary, Value};

/// More values of a variable on a path are not shown.
const MOST_VALUES: usize = 6;

/// What a hover shows, in its order.
pub(super) fn hover(contents: &[HoverContent]) -> String {
    contents.iter().map(content).collect()
}

fn content(content: &HoverContent) -> String {
    match content {
        HoverContent::Check(check) => check.page().to_owned(),
        HoverContent::Expansion { name, text } => format!("**{name}** becomes\n```c\n{text}\n```\n"),
        HoverContent::Loop { when, invariants, structures } => {
            let when = match when {
                LoopMoment::Body => "Each time its body begins",
                LoopMoment::Condition => "Each time its condition is looked at",
            };
            let list: String = invariants.iter().map(|text| format!("- `{text}`\n")).collect();
            let structures: String = structures.iter().map(|text| format!("- {text}\n")).collect();
            format!("**loop** — {when}:\n\n{list}{structures}")
        }
        HoverContent::Declaration(text) => format!("```c\n{text}\n```\n\n"),
        HoverContent::Summary(known) => summary(known),
        HoverContent::Value(Value::Before(text)) => format!("- `{text}` here, always\n"),
        HoverContent::Value(Value::After(text)) => format!("- `{text}` from here on, always\n"),
        HoverContent::Structure(Value::Before(text)) => format!("- {text} here, always\n"),
        HoverContent::Structure(Value::After(text)) => format!("- {text} from here on, always\n"),
        HoverContent::Value(Value::NeverReached) | HoverContent::Structure(Value::NeverReached) => {
            "- no execution comes here\n".to_owned()
        }
        HoverContent::OnPath { name, values, title, is_older } => {
            let more = if values.len() > MOST_VALUES { ", …" } else { "" };
            let list = values.iter().take(MOST_VALUES).map(String::as_str).collect::<Vec<_>>().join(", ");
            let mark = if *is_older { " (older text)" } else { "" };
            format!("- `{name} = {list}{more}` on the path to: {title}{mark}\n")
        }
    }
}

/// A function's summary.
pub(super) fn summary(summary: &Summary) -> String {
    let mut out = String::new();
    let report = &summary.report;
    let _ = writeln!(out, "**{}** — {}\n", summary.name, summary.headline());
    let mut list = |title: &str, items: &[String]| {
        if !items.is_empty() {
            let shown: Vec<String> = items.iter().take(8).map(|item| code(item)).collect();
            let more = if items.len() > 8 { format!(" and {} more", items.len() - 8) } else { String::new() };
            let _ = writeln!(out, "- {title}: {}{more}", shown.join(", "));
        }
    };
    list("requires", &summary.requires);
    list("can fail when", &summary.hangs_on);
    list(if summary.is_for_all_callers { "ensures" } else { "ensures in this program" }, &summary.ensures);
    list("reads", &summary.reads);
    list("writes", &summary.writes);
    for count in &summary.checks {
        let mut parts = Vec::new();
        for (number, word) in [
            (count.proved, "proved"),
            (count.violated, "failing"),
            (count.asked, "up to callers"),
            (count.unknown, "not decided"),
        ] {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        }
        let _ = writeln!(out, "- {}: {}", count.check, parts.join(", "));
    }
    if let Some(reason) = report.reason.as_ref().filter(|_| report.unknown > 0) {
        let _ = writeln!(out, "- why: {reason}");
    }
    if !summary.rests_on.is_empty() {
        let shown: Vec<&str> = summary.rests_on.iter().take(6).map(String::as_str).collect();
        let more = if summary.rests_on.len() > 6 { ", …" } else { "" };
        let _ = writeln!(out, "- rests on: {}{more}", shown.join("; "));
    }
    // What was there at once, nobody asks about.
    if !matches!(report.state, State::Queued | State::Running) && report.millis >= 1000 {
        let _ = writeln!(out, "\n_{:.1} s_", report.millis as f64 / 1000.0);
    }
    out
}

/// As code, if it is not a sentence that has code in it.
fn code(text: &str) -> String {
    if text.contains('`') { text.to_owned() } else { format!("`{text}`") }
}
