//! Which key of a data file a line belongs to, from the lines above it: `tool.ruff.lint.ignore` for the third entry of
//! a list. What lies above the hunk is known from its heading alone.

use std::sync::LazyLock;

use regex::Regex;

use super::language::LanguageKeys;
use super::lazy::compile_regex;

/// Keys followed into each other; deeper ones are not.
const DEPTH_MAX: usize = 64;

static SECTION: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*\[\[?\s*([^\]\[]+?)\s*\]\]?\s*$").expect("a regex"));
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| compile_regex(r#"^\s*([\w.'"*/ -]+?)\s*="#).expect("a regex"));
static INI: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*([\w.*/-]+(?: [\w.-]+)?)\s*[=:]").expect("a regex"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^[\s{]*((?:- )*)(?:["']([^"']+)["']|([\w.@/$*+<-][\w.@/$*+<> -]*?))\s*:(?:\s|$|\[|\{)"#)
        .expect("a regex")
});
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:export\s+default|(?:module\.)?exports|const\s+(\w+)|return)\b[^{\[]*[{\[(]")
        .expect("a regex")
});

/// The keys above the next line.
pub(super) struct EnclosingKeys {
    kind: Option<LanguageKeys>,
    section: String,
    open: Vec<(usize, String)>,
}

impl EnclosingKeys {
    pub(super) fn new(kind: Option<LanguageKeys>, heading: &str) -> Self {
        let mut keyring = EnclosingKeys { kind, section: String::new(), open: Vec::new() };
        keyring.enter_line(heading);
        keyring
    }

    /// Goes to the next line; its keys, its own last.
    pub(super) fn enter_line(&mut self, line: &str) -> String {
        let Some(kind) = self.kind else { return String::new() };
        if line.trim().is_empty() {
            return String::new();
        }
        let indent = line.len() - line.trim_start().len();
        if kind != LanguageKeys::Indent
            && let Some(name) = capture_name(&SECTION, line)
        {
            self.section = name.replace(['"', '\''], "");
            self.open.clear();
            return self.section.clone();
        }
        let (indent, key) = match kind {
            LanguageKeys::Indent => named_key(line, indent),
            LanguageKeys::Toml => (indent, capture_name(&ASSIGNED, line).map(|key| key.replace(['"', '\'', ' '], ""))),
            LanguageKeys::Ini => (indent, if indent == 0 { capture_name(&INI, line) } else { None }),
        };
        // A closing bracket ends its key, but belongs to it.
        let closes = line.trim_start().starts_with([']', '}', ')']);
        while self.open.last().is_some_and(|(open, _)| *open > indent || *open == indent && (key.is_some() || !closes))
        {
            // The items of a list may be at the indent of its key (YAML).
            if key.is_none()
                && self.open.last().is_some_and(|(open, _)| *open == indent)
                && line.trim_start().starts_with("- ")
            {
                break;
            }
            self.open.pop();
        }
        if let Some(key) = key
            && self.open.len() < DEPTH_MAX
        {
            self.open.push((indent, key));
        }
        let section = Some(self.section.as_str()).filter(|section| !section.is_empty());
        let path: Vec<&str> = section.into_iter().chain(self.open.iter().map(|(_, key)| key.as_str())).collect();
        let path = path.join(".");
        if closes {
            self.open.retain(|(open, _)| *open < indent);
        }
        path
    }
}

fn capture_name(regex: &LazyLock<Regex>, line: &str) -> Option<String> {
    let found = regex.captures(line)?;
    found.get(1).map(|name| name.as_str().trim().to_owned())
}

/// The key of a line of YAML, JSON or JavaScript, with the column that counts for its nesting.
fn named_key(line: &str, indent: usize) -> (usize, Option<String>) {
    if let Some(found) = NAMED.captures(line) {
        let dashes = found.get(1).map_or(0, |dashes| dashes.as_str().len());
        let key = found.get(2).or_else(|| found.get(3)).map(|key| key.as_str().to_owned());
        return (indent + dashes, key);
    }
    let called = CALLED.captures(line);
    (indent, called.map(|found| found.get(1).map_or("", |name| name.as_str()).to_owned()).filter(|key| !key.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(kind: LanguageKeys, heading: &str, text: &str) -> Vec<String> {
        let mut keyring = EnclosingKeys::new(Some(kind), heading);
        text.lines().map(|line| keyring.enter_line(line)).collect()
    }

    #[test]
    fn the_keys_above_a_line_are_known() {
        let toml = paths(
            LanguageKeys::Toml,
            "",
            "[tool.ruff.lint]\nselect = [\"E\"]\nignore = [\n    \"E501\",\n]\n[tool.mypy]\nstrict = true",
        );
        assert_eq!(toml[3], "tool.ruff.lint.ignore");
        assert_eq!(toml[6], "tool.mypy.strict");
        let yaml = paths(
            LanguageKeys::Indent,
            "",
            "jobs:\n  test:\n    steps:\n    - run: npm test\n      continue-on-error: true\n    - uses: a/b\n  lint:",
        );
        assert_eq!(yaml[3], "jobs.test.steps.run");
        assert_eq!(yaml[4], "jobs.test.steps.continue-on-error");
        assert_eq!(yaml[6], "jobs.lint");
        let json = paths(
            LanguageKeys::Indent,
            "",
            "{\n  \"compilerOptions\": {\n    \"strict\": false\n  },\n  \"exclude\": [\n    \"src\"\n  ]",
        );
        assert_eq!(json[2], "compilerOptions.strict");
        assert_eq!(json[5], "exclude");
        let ini = paths(LanguageKeys::Ini, "", "[flake8]\nextend-ignore =\n    E501\n    E203\nexclude = a");
        assert_eq!(ini[3], "flake8.extend-ignore");
        assert_eq!(ini[4], "flake8.exclude");
    }

    #[test]
    fn a_heading_stands_for_what_is_above_the_hunk() {
        assert_eq!(paths(LanguageKeys::Toml, "ignore = [", "    \"E501\",")[0], "ignore");
        assert_eq!(paths(LanguageKeys::Indent, "exclude:", "  - a")[0], "exclude");
    }
}
