//! Finds the tests in a Markdown file.

/// One test: a C block under a heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The headings above it, joined.
    pub name: String,
    /// The C text.
    pub text: String,
    /// Words after `c` on the fence: `entry=f`, `engine=intervals-bam`, `property=unreach-call`, `m32`.
    pub options: Vec<String>,
    /// The `monitor` block before it under the same heading: `monitor=file`.
    pub monitor: Option<String>,
    /// Line of the fence in the file, from 1.
    pub line: usize,
    /// The `snapshot` block after it.
    pub snapshot: Option<Snapshot>,
    /// The `edit` blocks after it.
    pub edits: Vec<Edit>,
}

/// A change of the text, and the work that it makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Lines that go begin with `-`, lines that come with `+`, others with a space.
    pub diff: String,
    /// The line after the block: "rechecked: `f` · reused: `g`".
    pub work: String,
    /// Line of the fence in the file, from 1.
    pub line: usize,
}

/// Findings and paths as they were.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// What they were.
    pub text: String,
    /// Line after the fence, from 0.
    pub first: usize,
    /// Line of the closing fence, from 0.
    pub last: usize,
}

/// Every C block of a suite.
pub fn cases(markdown: &str) -> Vec<Case> {
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut out: Vec<Case> = Vec::new();
    let mut block: Option<Case> = None;
    let mut other = false;
    let mut snapshot: Option<Snapshot> = None;
    let mut edit: Option<Edit> = None;
    let mut monitor: Option<String> = None;
    let mut is_monitor = false;
    for (number, line) in markdown.lines().enumerate() {
        if let Some(open) = &mut snapshot {
            if line.trim_end() == "```" {
                open.last = number;
                if let Some(case) = out.last_mut() {
                    case.snapshot = snapshot.take();
                }
                snapshot = None;
            } else {
                open.text.push_str(line);
                open.text.push('\n');
            }
        } else if let Some(open) = &mut edit {
            if line.trim_end() == "```" {
                if let (Some(case), Some(edit)) = (out.last_mut(), edit.take()) {
                    case.edits.push(edit);
                }
            } else {
                open.diff.push_str(line);
                open.diff.push('\n');
            }
        } else if is_monitor {
            if line.trim_end() == "```" {
                is_monitor = false;
            } else if let Some(text) = &mut monitor {
                text.push_str(line);
                text.push('\n');
            }
        } else if line.starts_with("rechecked:") && !other && block.is_none() {
            if let Some(edit) = out.last_mut().and_then(|case| case.edits.last_mut()) {
                line.clone_into(&mut edit.work);
            }
        } else if let Some(case) = &mut block {
            if line.trim_end() == "```" {
                out.extend(block.take());
            } else {
                case.text.push_str(line);
                case.text.push('\n');
            }
        } else if let Some(fence) = line.strip_prefix("```") {
            let mut words = fence.split_whitespace().map(str::to_owned);
            if other {
                other = false;
            } else if fence.trim() == "snapshot" {
                snapshot = Some(Snapshot { text: String::new(), first: number + 1, last: number + 1 });
            } else if fence.trim() == "monitor" {
                (monitor, is_monitor) = (Some(String::new()), true);
            } else if fence.trim() == "edit" {
                edit = Some(Edit { diff: String::new(), work: String::new(), line: number + 1 });
            } else if words.next().as_deref() == Some("c") {
                let name = headings.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" / ");
                block = Some(Case {
                    name,
                    text: String::new(),
                    options: words.collect(),
                    monitor: monitor.clone(),
                    line: number + 1,
                    snapshot: None,
                    edits: Vec::new(),
                });
            } else {
                other = true;
            }
        } else if !other && line.starts_with('#') {
            let level = line.chars().take_while(|c| *c == '#').count();
            monitor = None;
            headings.retain(|(above, _)| *above < level);
            headings.push((level, line.trim_start_matches('#').trim().to_owned()));
        }
    }
    out
}
