//! Sheets of verification tasks: a Markdown file whose C blocks are programs (`tests/strength`), unfolded into task definitions.
//!
//! The words behind ```` ```c ```` are a name and, for each task that is made of the block, the verdict and definitions: `true`, `false:BUG`, `true:N=3,BUG`. A
//! block with the name `prelude` stands before each of those that follow.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// Writes the tasks of a sheet into a folder, and says where their definitions are.
///
/// # Errors
/// If a verdict is none, two tasks have one name, or files cannot be read or written.
pub(crate) fn unfold(sheet: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(sheet).with_context(|| format!("cannot read {}", sheet.display()))?;
    fs::create_dir_all(folder)?;
    let mut definitions = Vec::new();
    let mut prelude = String::new();
    for (words, program) in blocks(&text) {
        let mut words = words.split_whitespace();
        let name = words.next().with_context(|| format!("{}: a block without a name", sheet.display()))?;
        if name == "prelude" {
            prelude = program;
            continue;
        }
        for task in words {
            let (verdict, macros) = task.split_once(':').unwrap_or((task, ""));
            ensure!(matches!(verdict, "true" | "false"), "{name}: {verdict} is no verdict");
            let mut full_name = name.to_owned();
            let mut source = String::new();
            for definition in macros.split(',').filter(|definition| !definition.is_empty()) {
                full_name += &format!("-{}", definition.replace('=', "").to_lowercase());
                source += &format!("#define {}\n", definition.replacen('=', " ", 1));
            }
            source += &format!("{prelude}{program}");
            let definition = folder.join(format!("{full_name}.yml"));
            ensure!(!definitions.contains(&definition), "two tasks have the name {full_name}");
            fs::write(folder.join(format!("{full_name}.c")), source)?;
            fs::write(
                &definition,
                format!(
                    "format_version: '2.0'\ninput_files: '{full_name}.c'\nproperties:\n  - property_file: unreach-call.prp\n    \
                     expected_verdict: {verdict}\noptions:\n  language: C\n  data_model: LP64\n"
                ),
            )?;
            definitions.push(definition);
        }
    }
    fs::write(folder.join("unreach-call.prp"), "CHECK( init(main()), LTL(G ! call(reach_error())) )\n")?;
    Ok(definitions)
}

/// The C blocks of a page: the words behind the language, and the text.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match line.strip_prefix("```c ") {
            Some(words) if !is_inside => {
                is_inside = true;
                found.push((words, String::new()));
            }
            Some(_) | None if line == "```" => is_inside = false,
            Some(_) | None => {
                if let (true, Some((_, program))) = (is_inside, found.last_mut()) {
                    program.push_str(line);
                    program.push('\n');
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn a_sheet_becomes_tasks() {
        let folder = std::env::temp_dir().join(format!("proofline-sheet-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let sheet = folder.join("sheet.md");
        let text =
            "# Title\n```c prelude\nint f(void);\n```\n## One\n```c one true false:N=2,BUG\nint x;\n```\n";
        fs::write(&sheet, text).expect("written");
        let tasks = super::unfold(&sheet, &folder).expect("unfolded");
        let names: Vec<_> = tasks.iter().filter_map(|task| task.file_name()).collect();
        assert_eq!(names, ["one.yml", "one-n2-bug.yml"]);
        let source = fs::read_to_string(folder.join("one-n2-bug.c")).expect("a program");
        assert_eq!(source, "#define N 2\n#define BUG\nint f(void);\nint x;\n");
        let definition = fs::read_to_string(&tasks[1]).expect("a definition");
        assert!(definition.contains("expected_verdict: false"), "{definition}");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
