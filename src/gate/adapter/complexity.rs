//! Complexity per function, as tools print it.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::Adapter;

/// Functions of a report; the rest is not read.
const FUNCTIONS_MAX: usize = 20_000;

/// The cyclomatic complexity of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionComplexity {
    /// The file as the tool names it.
    pub file: String,
    /// The line where the function begins, from 1.
    pub line: u32,
    /// Its name, with the class of a method in front.
    pub name: String,
    /// The complexity, from 1.
    pub complexity: u32,
}

/// A file of ESLint's `--format json`.
#[derive(Deserialize)]
pub(super) struct EslintFile {
    #[serde(rename = "filePath")]
    pub file_path: String,
    pub messages: Vec<EslintMessage>,
}

/// A message about a file.
#[derive(Deserialize)]
pub(super) struct EslintMessage {
    #[serde(rename = "ruleId")]
    pub rule_id: Option<String>,
    #[serde(default)]
    fatal: bool,
    pub message: String,
    #[serde(default)]
    pub line: u32,
}

/// The functions that a complexity tool prints.
///
/// # Errors
/// When it is no such report, or a file could not be parsed.
pub(crate) fn read_complexity(adapter: Adapter, output: &str) -> Result<Vec<FunctionComplexity>, String> {
    match adapter {
        Adapter::Eslint => read_eslint(output),
        Adapter::Radon => read_radon(output),
        Adapter::Gocyclo => read_gocyclo(output),
        Adapter::Luacheck => read_luacheck(output),
        other => Err(format!("{} reports no complexity", other.name())),
    }
}

/// The findings of ESLint's rule `complexity` (`Function 'a' has a complexity of 3. Maximum allowed is 0.`).
///
/// # Errors
/// When it is no such report, or a file could not be parsed.
fn read_eslint(output: &str) -> Result<Vec<FunctionComplexity>, String> {
    let files: Vec<EslintFile> = json_after_noise(output, '[').ok_or("eslint printed no JSON report")?;
    let mut found = Vec::new();
    for file in files {
        for message in file.messages {
            if message.fatal {
                return Err(format!("eslint cannot parse {}: {}", file.file_path, message.message));
            }
            if message.rule_id.as_deref() != Some("complexity") || found.len() >= FUNCTIONS_MAX {
                continue;
            }
            let Some(complexity) = number_after(&message.message, "complexity of ") else { continue };
            let name = quoted(&message.message).unwrap_or("(anonymous)").to_owned();
            found.push(FunctionComplexity { file: file.file_path.clone(), line: message.line, name, complexity });
        }
    }
    Ok(found)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RadonFile {
    Error { error: String },
    Blocks(Vec<RadonBlock>),
}

#[derive(Deserialize)]
struct RadonBlock {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    #[serde(default)]
    classname: Option<String>,
    lineno: u32,
    complexity: u32,
    #[serde(default)]
    closures: Vec<RadonBlock>,
}

/// The functions of `radon cc -j`. Its classes are left out: their number is the average of their methods.
///
/// # Errors
/// When it is no such report, or a file could not be parsed.
fn read_radon(output: &str) -> Result<Vec<FunctionComplexity>, String> {
    let files: BTreeMap<String, RadonFile> = json_after_noise(output, '{').ok_or("radon printed no JSON report")?;
    let mut found = Vec::new();
    for (file, content) in files {
        match content {
            RadonFile::Error { error } => return Err(format!("radon cannot parse {file}: {error}")),
            RadonFile::Blocks(blocks) => {
                // Methods are listed beside their class as well.
                let functions = blocks.iter().filter(|block| block.kind != "class");
                functions.for_each(|block| push_radon_block(&file, block, &mut found));
            }
        }
    }
    found.truncate(FUNCTIONS_MAX);
    Ok(found)
}

fn push_radon_block(file: &str, block: &RadonBlock, found: &mut Vec<FunctionComplexity>) {
    let name = match &block.classname {
        Some(class) => format!("{class}.{}", block.name),
        None => block.name.clone(),
    };
    found.push(FunctionComplexity { file: file.to_owned(), line: block.lineno, name, complexity: block.complexity });
    block.closures.iter().for_each(|closure| push_radon_block(file, closure, found));
}

/// The lines of gocyclo: `12 main (*T).run cmd/run.go:30:1`.
///
/// # Errors
/// When a line is something else.
fn read_gocyclo(output: &str) -> Result<Vec<FunctionComplexity>, String> {
    let mut found = Vec::new();
    for line in output.lines().filter(|line| !line.trim().is_empty()).take(FUNCTIONS_MAX) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [complexity, _package, names @ .., place] = words.as_slice() else {
            return Err(format!("unexpected line of gocyclo: {line}"));
        };
        let mut parts = place.rsplitn(3, ':');
        let (_column, row, file) = (parts.next(), parts.next(), parts.next());
        match (complexity.parse(), row.and_then(|row| row.parse().ok()), file) {
            (Ok(complexity), Some(line), Some(file)) => {
                found.push(FunctionComplexity { file: file.to_owned(), line, name: names.join(" "), complexity });
            }
            _ => return Err(format!("unexpected line of gocyclo: {line}")),
        }
    }
    Ok(found)
}

/// The lines of luacheck's W561: `a.lua:3:1: (W561) cyclomatic complexity of function 'f' is too high (4 > 1)`.
///
/// # Errors
/// When a file could not be parsed.
fn read_luacheck(output: &str) -> Result<Vec<FunctionComplexity>, String> {
    let mut found = Vec::new();
    for line in output.lines() {
        if line.contains("(E011)") {
            return Err(format!("luacheck cannot parse a file: {line}"));
        }
        let Some((place, message)) = line.split_once(": (W561) ") else { continue };
        let mut parts = place.rsplitn(3, ':');
        let (_column, row, file) = (parts.next(), parts.next(), parts.next());
        let (Some(row), Some(file)) = (row.and_then(|row| row.parse().ok()), file) else { continue };
        let Some(complexity) = number_after(message, "is too high (") else { continue };
        let name =
            quoted(message).unwrap_or(if message.contains("main chunk") { "(main chunk)" } else { "(anonymous)" });
        found.push(FunctionComplexity { file: file.to_owned(), line: row, name: name.to_owned(), complexity });
    }
    found.truncate(FUNCTIONS_MAX);
    Ok(found)
}

/// The first JSON value of `output`, after what a tool prints before its report.
pub(super) fn json_after_noise<T: serde::de::DeserializeOwned>(output: &str, open: char) -> Option<T> {
    let mut from = 0;
    while let Some(at) = output[from..].find(open) {
        let start = from + at;
        if start == 0 || output[..start].ends_with('\n') {
            let mut values = serde_json::Deserializer::from_str(&output[start..]).into_iter::<T>();
            if let Some(Ok(value)) = values.next() {
                return Some(value);
            }
        }
        from = start + open.len_utf8();
    }
    None
}

/// The number behind `before`.
fn number_after(text: &str, before: &str) -> Option<u32> {
    let (_, rest) = text.split_once(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The text between the first pair of quotes.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    rest.split_once('\'').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(found: &[FunctionComplexity]) -> Vec<String> {
        found.iter().map(|it| format!("{}:{} {} {}", it.file, it.line, it.name, it.complexity)).collect()
    }

    #[test]
    fn eslint_s_report_is_read_behind_npm_s_lines() {
        let output = "> p@1.0.0 lint\n[a]\n[{\"filePath\":\"/p/a.js\",\"messages\":[{\"ruleId\":\"complexity\",\
            \"severity\":2,\"message\":\"Function 'f' has a complexity of 3. Maximum allowed is 0.\",\"line\":1,\"column\":1},\
            {\"ruleId\":\"complexity\",\"message\":\"Arrow function has a complexity of 1. Maximum allowed is 0.\",\"line\":7},\
            {\"ruleId\":\"no-undef\",\"message\":\"x\",\"line\":2}]}]\n";
        assert_eq!(brief(&read_eslint(output).expect("a report")), ["/p/a.js:1 f 3", "/p/a.js:7 (anonymous) 1"]);
        let broken =
            "[{\"filePath\":\"a.js\",\"messages\":[{\"ruleId\":null,\"fatal\":true,\"message\":\"Parsing error\"}]}]";
        assert_eq!(read_eslint(broken).expect_err("a broken file"), "eslint cannot parse a.js: Parsing error");
        assert!(read_eslint("Oops!").is_err());
    }

    #[test]
    fn radon_s_methods_and_closures_are_functions_and_its_classes_are_not() {
        let output = r#"{"a.py": [{"type": "class", "name": "C", "lineno": 1, "complexity": 3, "methods": []},
            {"type": "method", "name": "m", "classname": "C", "lineno": 2, "complexity": 2, "closures": []},
            {"type": "function", "name": "f", "lineno": 9, "complexity": 4, "closures":
            [{"type": "function", "name": "g", "lineno": 10, "complexity": 1, "closures": []}]}]}"#;
        assert_eq!(brief(&read_radon(output).expect("a report")), ["a.py:2 C.m 2", "a.py:9 f 4", "a.py:10 g 1"]);
        let broken = r#"{"a.py": {"error": "invalid syntax (<unknown>, line 1)"}}"#;
        assert!(read_radon(broken).expect_err("a broken file").contains("cannot parse a.py"));
    }

    #[test]
    fn gocyclo_and_luacheck_name_the_function_and_its_place() {
        let output = "12 main (*T).run cmd/run.go:30:1\n1 main f a.go:3:1\n";
        assert_eq!(brief(&read_gocyclo(output).expect("lines")), ["cmd/run.go:30 (*T).run 12", "a.go:3 f 1"]);
        assert!(read_gocyclo("open a.go: no such file\n").is_err());
        let output = "a.lua:3:1: (W561) cyclomatic complexity of function 'M.f' is too high (4 > 1)\n\
            a.lua:1:1: (W561) cyclomatic complexity of main chunk is too high (2 > 1)\n";
        assert_eq!(brief(&read_luacheck(output).expect("lines")), ["a.lua:3 M.f 4", "a.lua:1 (main chunk) 2"]);
        assert!(read_luacheck("a.lua:1:5: (E011) expected '=' near 'b'\n").is_err());
    }
}
