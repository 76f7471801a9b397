//! The table of configurations as a page of the manual.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::table::{Row, Table};

/// What stands above the table.
const HEAD: &str = "# Engines, one by one

Every configuration that `proofline check --engine NAME` knows, asked on its own whether an error call can be reached; what each one is made of stands in
`analysis/verifier/src/engines/configurations.yml`. Nobody needs to choose: without `--engine` the portfolio asks many of them in turn. Most
are good at one thing, or here to be compared with.
";

/// The page.
pub(super) fn text(tables: &BTreeMap<String, Table>, limit: u64) -> String {
    let mut out = HEAD.to_owned();
    let folders: BTreeSet<&str> = tables.values().flat_map(|table| table.rows.iter().map(folder)).collect();
    let _ = writeln!(
        out,
        "\nOf each kind of tasks: how many are proved, and of how many the mistake is found, of those that were asked (`3 + 2 of 14`), {limit} seconds of processor time each. A kind that is left out was not
asked. Then the median time of what was solved, and the most memory that one task took.\n"
    );
    out.push_str("| engine |");
    for name in &folders {
        let _ = write!(out, " {name} |");
    }
    out.push_str(" wrong | CPU s, median | MB |\n|---|");
    out.push_str(&"---|".repeat(folders.len() + 3));
    out.push('\n');
    for (name, table) in tables {
        let _ = write!(out, "| `{name}` |");
        for of in &folders {
            let rows: Vec<&Row> = table.rows.iter().filter(|row| folder(row) == *of).collect();
            let solved =
                |verdict| rows.iter().filter(|row| row.is_solved() && row.expected == verdict).count();
            let _ = match rows.is_empty() {
                true => write!(out, " |"),
                false => write!(out, " {} + {} of {} |", solved(true), solved(false), rows.len()),
            };
        }
        let mut times: Vec<f64> =
            table.rows.iter().filter(|row| row.is_solved()).map(|row| row.cpu).collect();
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).map_or(String::new(), |time| format!("{time:.2}"));
        let most = table.rows.iter().map(|row| row.memory).max().unwrap_or(0);
        let _ = writeln!(out, " {} | {median} | {most} |", table.wrong());
    }
    out
}

/// The folder or the sheet of a task.
fn folder(row: &Row) -> &str {
    row.task.split_once('/').map_or("", |(folder, _)| folder)
}
