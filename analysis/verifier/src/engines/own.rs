//! Engines of a user's own: a file of the grammar of `configurations.yml`, with names of the user's. It may be anybody's (a project's folder has it), so
//! it is read with bounds: it names no files, and asks for no more than the engines that come with the program. A name means one engine as long as
//! the process lives; what a name means is part of what answers are remembered by ([`definition`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::Hash,
};

use parking_lot::RwLock;
use proofline_cfa::{ContentHash, ContentHasher};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use super::configuration::{Parts, groups, is_shipped};

/// Larger files are not read.
pub const MOST_BYTES: u64 = 1 << 16;

/// More engines no file has.
const MOST_ENGINES: usize = 64;

/// Longer names no engine has.
const LONGEST_NAME: usize = 40;

/// What the files of this process have defined.
static OWN: RwLock<BTreeMap<&'static str, Parts>> = RwLock::new(BTreeMap::new());

/// What is wrong with a file of engines, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoConfiguration(String);

impl fmt::Display for NoConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoConfiguration {}

/// The file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OwnFile {
    /// Who is asked if nobody names engines; otherwise all of the file, in its order.
    portfolio: Option<Vec<String>>,
    engines: Engines,
}

/// Engines in the order of the text; what is wrong with one is said with its name.
struct Engines(Vec<(String, Parts)>);

impl<'de> Deserialize<'de> for Engines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Engines, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Engines;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("engines by name, such as `mine: { kind: abstraction, domain: intervals, blocks: functions }`")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Engines, M::Error> {
                let mut engines = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let parts = map.next_value::<Parts>().map_err(|error| {
                        M::Error::custom(format_args!("engine `{}`: {}", clipped(&name), first_line(&error)))
                    })?;
                    engines.push((name, parts));
                    if engines.len() > MOST_ENGINES {
                        return Err(M::Error::custom(format_args!("more than {MOST_ENGINES} engines")));
                    }
                }
                Ok(Engines(engines))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn clipped(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Without the picture of the text, which the error around it has.
fn first_line(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(" at line ").next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// Reads a file of engines, and makes them known to this process. Their names, in the order in which they are asked.
///
/// # Errors
/// What is wrong, with its line, and what to write instead.
pub fn define(text: &str) -> Result<Vec<&'static str>, NoConfiguration> {
    if text.len() as u64 > MOST_BYTES {
        return Err(NoConfiguration(format!("the file is larger than {} kB", MOST_BYTES >> 10)));
    }
    let file: OwnFile = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        NoConfiguration(said_of(text, line, &first_line(&error)))
    })?;
    let wrong = |name: &str, why: String| {
        NoConfiguration(format!("line {}: engine `{}`: {why}", line_of(text, name), clipped(name)))
    };
    let mut seen = BTreeSet::new();
    for (name, parts) in &file.engines.0 {
        let is_name = !name.is_empty()
            && name.len() <= LONGEST_NAME
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !is_name {
            let why = format!("a name has small letters, digits and `-`, at most {LONGEST_NAME}");
            return Err(wrong(name, why));
        }
        if is_shipped(name) || groups().iter().any(|(group, _)| group == name) {
            return Err(wrong(name, format!("there is one of this name already: write `my-{name}`")));
        }
        if !seen.insert(name) {
            return Err(wrong(name, "it is there twice: give one of both another name".to_owned()));
        }
        parts.within_bounds().map_err(|why| wrong(name, why))?;
        if OWN.read().get(name.as_str()).is_some_and(|known| known != parts) {
            let why = "it was another engine before: start again, or give it another name";
            return Err(wrong(name, why.to_owned()));
        }
    }
    for name in file.portfolio.iter().flatten() {
        if !seen.contains(name) && !is_shipped(name) {
            let at = line_of(text, "portfolio");
            let name = clipped(name);
            return Err(NoConfiguration(format!("line {at}: portfolio: there is no engine `{name}`")));
        }
    }
    let mut own = OWN.write();
    let order =
        file.portfolio.unwrap_or_else(|| file.engines.0.iter().map(|(name, _)| name.clone()).collect());
    for (name, parts) in file.engines.0 {
        if !own.contains_key(name.as_str()) {
            own.insert(Box::leak(name.into_boxed_str()), parts);
        }
    }
    drop(own);
    Ok(order.iter().filter_map(|name| super::configuration::name(name)).collect())
}

/// An error of the reader, with the line that it means: that of the word in it which the text has, if there is one.
fn said_of(text: &str, line: u64, error: &str) -> String {
    let said = match error.strip_prefix("line ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, said)| said),
        None => error,
    };
    let said = match said {
        "expected mapping start" => "expected engines by name, such as `mine: { kind: cases }`",
        said => said,
    };
    let engine = said.strip_prefix("engine `").and_then(|rest| rest.split_once('`'));
    let begin = engine.map_or(line, |(name, _)| line_of(text, name));
    // `unknown field `block`, expected …`: the first word in quotes behind the engine's name.
    let word = engine.map_or(said, |(_, rest)| rest).split('`').nth(1).unwrap_or_default();
    let rest = text.lines().enumerate().skip(begin.saturating_sub(1) as usize);
    let at = rest.into_iter().find(|(_, line)| !word.is_empty() && line.contains(word));
    let line = at.map_or(begin, |(index, _)| index as u64 + 1);
    format!("line {line}: {said}")
}

/// The line on which a key stands.
fn line_of(text: &str, key: &str) -> u64 {
    let is_key = |line: &str| {
        let rest = line.trim_start().trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    };
    text.lines().position(is_key).map_or(1, |index| index as u64 + 1)
}

/// What a name of a user's own means.
pub(super) fn parts(name: &str) -> Option<(&'static str, Parts)> {
    OWN.read().get_key_value(name).map(|(name, parts)| (*name, parts.clone()))
}

/// Names what an engine of a user's own is; `None` for those that come with the program, which its version names.
pub fn definition(name: &str) -> Option<ContentHash> {
    let (_, parts) = parts(name)?;
    let mut hasher = ContentHasher::default();
    format!("{parts:?}").hash(&mut hasher);
    Some(hasher.content_hash())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_of_a_file_are_engines() {
        let text = "# ours\nengines:\n  own-values: { kind: abstraction, domain: values, blocks: none, refines: true }\n  \
                    own-predicates:\n    kind: predicate\n    blocks: functions\n    abstracts-at: functions\n";
        assert_eq!(define(text), Ok(vec!["own-values", "own-predicates"]));
        let named = |name: &str| super::super::by_name(name).map(|engine| engine.name());
        assert_eq!(named("own-values"), Some("own-values"));
        assert_eq!(define(text), Ok(vec!["own-values", "own-predicates"]), "the same again");
        let other = define(&text.replace("blocks: none", "blocks: loops")).expect_err("another meaning");
        assert!(other.to_string().contains("line 3: engine `own-values`: it was another engine"), "{other}");
        assert!(definition("own-values").is_some() && definition("value").is_none());
        let asked =
            "portfolio: [intervals, own-last]\nengines:\n  own-last: { kind: horn, resource: 1000 }\n";
        assert_eq!(define(asked), Ok(vec!["intervals", "own-last"]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_what_to_write() {
        for (text, said) in [
            (
                "engines:\n  own-a: { kind: horn, resource: 1 }\n  own-b: { kind: horns, resource: 1 }\n",
                "line 3: engine `own-b`: unknown variant `horns`, expected one of concrete",
            ),
            (
                "engines:\n  own-a:\n    kind: abstraction\n    domain: values\n    block: none\n",
                "line 5: engine `own-a`: unknown field `block`, expected",
            ),
            (
                "engines:\n  own-a: { kind: abstraction, domain: values }\n",
                "line 2: engine `own-a`: missing field `blocks`",
            ),
            (
                "engines:\n  own-a: { kind: predicate, blocks: none, abstracts-at: loops, shapes: cartesian }\n",
                "unknown field `shapes`",
            ),
            (
                "engines:\n  own-a: { kind: bounded, layers: 100000000, resource: 1 }\n",
                "line 2: engine `own-a`: layers: at most 1000",
            ),
            ("engines:\n  value: { kind: cases }\n", "write `my-value`"),
            ("engines:\n  portfolio: { kind: cases }\n", "write `my-portfolio`"),
            ("engines:\n  Own: { kind: cases }\n", "small letters"),
            ("engines:\n  ../own: { kind: cases }\n", "small letters"),
            (
                "portfolio: [nobody]\nengines:\n  own-a: { kind: cases }\n",
                "line 1: portfolio: there is no engine `nobody`",
            ),
            ("engine:\n  own-a: { kind: cases }\n", "unknown field `engine`, expected"),
            ("engines: [a, b]\n", "engines by name"),
            ("", "line 1"),
        ] {
            let error = define(text).expect_err(text).to_string();
            assert!(error.contains(said) && error.starts_with("line "), "{text}: {error}");
        }
    }

    #[test]
    fn a_hostile_file_costs_nothing() {
        assert!(define(&"#".repeat(1 << 17)).is_err());
        let many: String = (0..100).map(|i| format!("  own-{i}: {{ kind: cases }}\n")).collect();
        assert!(define(&format!("engines:\n{many}")).is_err_and(|e| e.to_string().contains("more than 64")));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..40 {
            let part = format!("*a{}", i - 1);
            bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![part; 10].join(", ")));
        }
        assert!(define(&bomb).is_err());
        assert!(define(&format!("engines: {}", "[".repeat(30_000))).is_err());
        assert!(define(&format!("engines: {}", "{a: ".repeat(10_000))).is_err());
    }
}
