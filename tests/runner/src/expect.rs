//! The expectations written as comments in a C block.

/// What is expected on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Line in the block, from 0.
    pub line: u32,
    /// What.
    pub mark: Mark,
}

/// The marks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A violation with a feasible path is reported; its title holds the text.
    #[expect(missing_docs, reason = "named by meaning")]
    Error { check: String, text: String },
    /// The obligation exists and is discharged.
    Proved(String),
    /// The verdict is unknown for a reason that holds the text: an improvement trips it on purpose.
    #[expect(missing_docs, reason = "named by meaning")]
    Unknown { check: String, reason: String },
    /// Anything but proved. Guards soundness; never to be loosened.
    NeverProved(String),
    /// A violation is reported, and whose fault it is holds the text.
    #[expect(missing_docs, reason = "named by meaning")]
    Blame { check: String, text: String },
    /// A step of a reported path stands on this line and its text holds this text.
    Step(String),
    /// That domain knows this of the argument of the `__reveal` on this line.
    #[expect(missing_docs, reason = "named by meaning")]
    Reveal { domain: String, text: String },
}

/// The expectations of a block. Errors say what is wrong with a mark.
pub(crate) fn expectations(text: &str) -> Result<Vec<Expectation>, String> {
    let mut out = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let Some((_, comment)) = content.split_once("// ") else { continue };
        for part in comment.split(" // ") {
            if let Some(mark) =
                mark(part.trim()).map_err(|why| format!("line {}: {why}: `{part}`", line + 1))?
            {
                out.push(Expectation { line: line as u32, mark });
            }
        }
    }
    Ok(out)
}

fn mark(text: &str) -> Result<Option<Mark>, String> {
    let Some((word, rest)) = text.split_once(':') else { return Ok(None) };
    let rest = rest.trim();
    let check = || -> Result<(String, String), String> {
        let inner = rest.strip_prefix('[').ok_or("a check in brackets is missing")?;
        let (check, after) = inner.split_once(']').ok_or("`]` is missing")?;
        let text = after.trim().trim_matches('"').to_owned();
        Ok((check.to_owned(), text))
    };
    Ok(Some(match word {
        "error" => {
            let (check, text) = check()?;
            Mark::Error { check, text }
        }
        "blame" => {
            let (check, text) = check()?;
            Mark::Blame { check, text }
        }
        "proved" => Mark::Proved(check()?.0),
        "unknown" => {
            let (check, reason) = check()?;
            Mark::Unknown { check, reason }
        }
        "never-proved" => Mark::NeverProved(check()?.0),
        "interval" | "relation" | "shape" | "three-valued" | "value" | "structure" => {
            Mark::Reveal { domain: word.to_owned(), text: rest.to_owned() }
        }
        "step" => Mark::Step(rest.trim_matches('"').to_owned()),
        _ => return Ok(None),
    }))
}
