//! One page with its style, scripts and data. Data that would make it slow to open lies beside it, in scripts that the page adds when it
//! shows them: browsers let a page from the disk run scripts, and read nothing else.
//!
//! Names and texts are hostile. They are in the page as JSON only, without any `<` ([`json_for_script`]), and the scripts put them into the
//! document as text, never as markup.

use std::{fmt::Write, fs, io, path::Path};

use serde_json::Value;

/// What is shown when somebody looks at it: a text, or the automata of a file.
pub(super) struct Part(String);

impl Part {
    /// Of a value.
    pub(super) fn new(value: &Value) -> Part {
        Part(json_for_script(value))
    }
}

/// Up to so many bytes of parts are in the page itself.
const MOST_INSIDE: usize = 6_000_000;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// One scope together, in this order.
const SCRIPTS: [&str; 10] = [
    include_str!("data.js"),
    include_str!("elements.js"),
    include_str!("overview.js"),
    include_str!("source.js"),
    include_str!("memory.js"),
    include_str!("finding.js"),
    include_str!("layout.js"),
    include_str!("graph.js"),
    include_str!("states.js"),
    include_str!("main.js"),
];

/// Writes `index.html` and, if there is much, `parts/*.js` into a folder.
///
/// # Errors
/// If that is not possible.
pub(super) fn write(folder: &Path, all: &Value, parts: &[Part]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let is_inside = parts.iter().map(|part| part.0.len()).sum::<usize>() <= MOST_INSIDE;
    let mut data = script("results", &json_for_script(all));
    if is_inside {
        for (number, part) in parts.iter().enumerate() {
            data.push_str(&script(&format!("part-{number}"), &part.0));
        }
    } else {
        fs::create_dir_all(folder.join("parts"))?;
        for (number, part) in parts.iter().enumerate() {
            let text = format!("proofline.part({number}, {});\n", part.0);
            fs::write(folder.join("parts").join(format!("{number}.js")), text)?;
        }
    }
    fs::write(folder.join("index.html"), page(&data))
}

/// The marks of the page are comments, which no data contains: it has no `<`.
fn page(data: &str) -> String {
    let script = format!("'use strict';\n{}", SCRIPTS.join("\n"));
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + script.len() + data.len());
    let mut rest = PAGE;
    for (mark, text) in [("/*STYLE*/", STYLE), ("<!--DATA-->", data), ("/*SCRIPT*/", script.as_str())] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Data that the browser does not look into until a script does.
fn script(id: &str, json: &str) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
}

/// JSON that is also JavaScript and contains nothing that ends or opens an element, a comment or a section of data.
fn json_for_script(value: &Value) -> String {
    let plain = value.to_string();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            // They are in strings only.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}
