//! One program in two files: `main`, and everything else. Lines keep apart: those of the second file have numbers beyond the first's.

use super::program::HEAD;

/// What the interpreter's runs are looked at by.
const OBSERVE: &str = "static void observe(unsigned id, long long value) { }";

/// The files. Of a text without a `main` at its top, one.
pub(crate) fn files(text: &str, is_split: bool) -> Vec<String> {
    let body = text.strip_prefix(HEAD).unwrap_or(text);
    let Some((before, main)) = body.split_once("\nint main(void)\n").filter(|_| is_split) else {
        return vec![text.to_owned()];
    };
    // One function of two files, or the linked program has two, under other names.
    let mut first = HEAD.replace(OBSERVE, OBSERVE.trim_start_matches("static "));
    let mut second = HEAD.replace(OBSERVE, "extern void observe(unsigned id, long long value);");
    second.push_str(&"\n".repeat(text.lines().count()));
    let mut depth = 0i64;
    for line in before.lines() {
        let is_top = depth == 0;
        depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        let shared = is_top.then(|| line.strip_prefix("static ")).flatten().filter(|_| !line.ends_with('}'));
        first.push_str(shared.unwrap_or(line));
        first.push('\n');
        if is_top && let Some(declaration) = declaration(line) {
            second.push_str(&declaration);
            second.push('\n');
        }
    }
    second.push_str("int main(void)\n");
    second.push_str(main);
    vec![first, second]
}

/// How the other file says a line at the top.
fn declaration(line: &str) -> Option<String> {
    let is = |beginning: &str| line.starts_with(beginning);
    if is("struct ") || is("union ") || is("extern ") || is("static ") && line.ends_with('}') {
        return Some(line.to_owned());
    }
    if is("{") || is("}") || line.is_empty() {
        return None;
    }
    let line = line.strip_prefix("static ").unwrap_or(line);
    match line.strip_suffix(';') {
        Some(object) => Some(format!("extern {};", object.split(" = ").next().unwrap_or(object))),
        None => Some(format!("{line};")),
    }
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn main_stands_alone_with_declarations_of_the_rest() {
        let text = "struct S1 { int m; };\nstatic int g = 1;\nstatic int f(int n)\n{\n    return n;\n}\n\nint main(void)\n{\n}\n";
        let files = files(text, true);
        assert!(files[0].ends_with("int g = 1;\nint f(int n)\n{\n    return n;\n}\n"), "{}", files[0]);
        assert!(
            files[1].ends_with("struct S1 { int m; };\nextern int g;\nint f(int n);\nint main(void)\n{\n}\n"),
            "{}",
            files[1]
        );
    }
}
