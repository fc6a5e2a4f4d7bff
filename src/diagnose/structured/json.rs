//! Diagnostics in JSON.

use serde_json::{Map, Value};

use super::lean::BoundedValue;
use super::{StructuredFinding, report, severity_of_word};
use crate::diagnose::Severity;

type JsonObject = Map<String, Value>;

/// Names of a file, the surest first.
const FILE: &[&str] =
    &["file_name", "fileName", "filename", "filePath", "file_path", "relative_path", "file", "path", "uri", "source"];
/// Names of a line; 1-based where nothing else says otherwise.
const LINE: &[&str] = &[
    "line",
    "lineNumber",
    "line_number",
    "lineno",
    "line_no",
    "startLine",
    "start_line",
    "line_start",
    "lineStart",
    "beginLine",
    "begin_line",
    "beginline",
    "row",
    "StartLine",
    "Line",
];
const COL: &[&str] = &[
    "column",
    "col",
    "columnNumber",
    "column_number",
    "startColumn",
    "start_column",
    "column_start",
    "columnStart",
    "beginColumn",
    "begincolumn",
    "character",
    "Column",
    "offset_in_line",
];
/// Names of objects, or lists of them, in which a diagnostic says where it is.
const PLACE: &[&str] = &[
    "location",
    "locations",
    "physicalLocation",
    "artifactLocation",
    "region",
    "range",
    "span",
    "spans",
    "loc",
    "start",
    "begin",
    "start_location",
    "position",
    "positions",
    "pos",
    "Pos",
    "lines",
    "place",
    "lineRanges",
    "extent",
    "fix_location",
    "caret",
];
const MESSAGE: &[&str] = &[
    "message",
    "msg",
    "raw_msg",
    "description",
    "Text",
    "Message",
    "title",
    "reason",
    "text",
    "issue_text",
    "details",
    "detail",
];
const CODE: &[&str] = &[
    "ruleId",
    "rule_id",
    "rule",
    "code",
    "check_name",
    "check_id",
    "cop_name",
    "test_id",
    "symbol",
    "message-id",
    "linter",
    "FromLinter",
    "checkName",
    "errorCode",
    "option",
    "tag",
    "type",
    "name",
    "id",
];
const SEVERITY: &[&str] = &["severity", "level", "Severity", "issue_severity", "type", "kind", "category"];
/// How deep a place may be in a diagnostic, objects.
const PLACE_DEPTH_MAX: usize = 5;

/// The value at the start of `text` and the bytes it has. What is read without finding one is taken from `budget`.
pub(crate) fn read_value(text: &str, budget: &mut usize) -> Option<(usize, BoundedValue)> {
    if *budget == 0 || !may_begin(text) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<BoundedValue>();
    match values.next()? {
        Ok(value) => Some((values.byte_offset(), value)),
        Err(error) => {
            let lines = text.split_inclusive('\n').take(error.line()).map(str::len).sum::<usize>();
            *budget = budget.saturating_sub(if error.is_eof() { text.len() } else { lines });
            None
        }
    }
}

/// Whether JSON goes on like this, so that a line of a log which begins with a bracket (`[00:12] up`) is not read as it.
fn may_begin(text: &str) -> bool {
    let mut bytes = text.bytes().skip(1).skip_while(u8::is_ascii_whitespace);
    match (text.as_bytes().first(), bytes.next()) {
        (Some(b'['), Some(b'0')) => bytes.next().is_some_and(|byte| b".eE,] \t\r\n".contains(&byte)),
        (Some(b'['), Some(byte)) => byte.is_ascii_digit() || b"{[\"-tfn]".contains(&byte),
        (Some(b'{'), Some(byte)) => matches!(byte, b'"' | b'}'),
        _ => false,
    }
}

/// The diagnostics in a value, in order.
pub(crate) fn findings_in(value: &Value) -> Vec<StructuredFinding> {
    let mut entries = Vec::new();
    walk_value(value, None, &mut entries);
    entries
}

fn walk_value(value: &Value, file: Option<&str>, entries: &mut Vec<StructuredFinding>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| walk_value(value, file, entries)),
        Value::Object(object) if object.get("assertionResults").is_some_and(Value::is_array) => {
            report::read_suite(object, entries);
        }
        Value::Object(object) => {
            let own = text_of(object, FILE).filter(|_| !object.contains_key("runs")).or(file);
            match read_finding(object, file) {
                Some(entry) => entries.push(entry),
                None => object.values().for_each(|value| walk_value(value, own, entries)),
            }
        }
        _ => {}
    }
}

/// The object as a diagnostic: it has a message or a code, and a line.
fn read_finding(object: &JsonObject, outer: Option<&str>) -> Option<StructuredFinding> {
    let message = message_of(object).unwrap_or_default();
    let code = code_of(object);
    if message.is_empty() && code.is_none() {
        return None;
    }
    let (line, col) = position_of(object, 0)?;
    let file = file_of(object, 0).or_else(|| outer.map(str::to_owned));
    // A line beside a message is a diagnostic only where something more says so; programs log their own lines, too.
    let said = SEVERITY.iter().find_map(|name| severity_of(object.get(*name)?));
    if file.is_none() && said.is_none() && code.is_none() && col.is_none() {
        return None;
    }
    let file = file.filter(|file| !matches!(file.as_str(), "-" | "<stdin>" | "stdin" | "<text>"));
    Some(StructuredFinding { file, line: Some(line), col, severity: said, code, test: None, message })
}

fn text_of<'a>(object: &'a JsonObject, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str()).map(str::trim).filter(|text| !text.is_empty())
}

fn message_of(object: &JsonObject) -> Option<String> {
    MESSAGE.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Object(inner) => text_of(inner, &["text", "markdown", "message", "value"]).map(str::to_owned),
        // elm: plain and styled pieces
        Value::Array(pieces) => {
            let piece = |piece: &Value| piece.as_str().or_else(|| piece.get("string")?.as_str()).map(str::to_owned);
            pieces.iter().map(piece).collect()
        }
        _ => None,
    })
}

fn code_of(object: &JsonObject) -> Option<String> {
    CODE.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) if !text.is_empty() && severity_of_word(text).is_none() => Some(text.clone()),
        Value::Number(number) if *name != "id" => Some(number.to_string()),
        Value::Object(inner) => text_of(inner, &["code", "value", "id", "name"]).map(str::to_owned),
        _ => None,
    })
}

fn severity_of(value: &Value) -> Option<Severity> {
    match value {
        Value::String(word) => severity_of_word(word),
        Value::Number(number) => match number.as_u64()? {
            1 => Some(Severity::Warning),
            2 => Some(Severity::Error),
            _ => None,
        },
        _ => None,
    }
}

/// The objects below `object` that may say where it is.
fn location_objects(object: &JsonObject) -> impl Iterator<Item = &JsonObject> {
    let below = PLACE.iter().filter_map(|name| object.get(*name));
    below.filter_map(|value| match value {
        Value::Object(inner) => Some(inner),
        Value::Array(values) => {
            let primary = |value: &&Value| value.get("is_primary").and_then(Value::as_bool) == Some(true);
            values.iter().find(primary).or(values.first())?.as_object()
        }
        _ => None,
    })
}

fn position_of(object: &JsonObject, depth: usize) -> Option<(u32, Option<u32>)> {
    let number = |names: &[&str]| {
        let found = names.iter().find_map(|name| match object.get(*name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        found.and_then(|number| u32::try_from(number).ok())
    };
    if let Some(line) = number(LINE) {
        // Positions of the language server protocol count from zero.
        let base = u32::from(object.contains_key("character"));
        return (line + base > 0).then(|| (line + base, number(COL).map(|col| col + base)));
    }
    if depth > 0
        && let Some(line @ 1..) = number(&["start", "begin"])
    {
        return Some((line, number(COL)));
    }
    if depth == PLACE_DEPTH_MAX {
        return None;
    }
    location_objects(object).find_map(|inner| position_of(inner, depth + 1))
}

fn file_of(object: &JsonObject, depth: usize) -> Option<String> {
    if let Some(file) = text_of(object, FILE) {
        return Some(file.to_owned());
    }
    if depth == PLACE_DEPTH_MAX {
        return None;
    }
    location_objects(object).find_map(|inner| file_of(inner, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let entries = findings_in(&serde_json::from_str(text).expect("JSON"));
        let or = |number: Option<u32>| number.unwrap_or(0);
        let shown = |e: StructuredFinding| {
            let (file, code) = (e.file.unwrap_or_default(), e.code.unwrap_or_default());
            format!("{file}:{}:{} [{code}] {}", or(e.line), or(e.col), e.message)
        };
        entries.into_iter().map(shown).collect()
    }

    #[test]
    fn reporters_shapes_are_read() {
        // ESLint 9, --format json
        let eslint = r#"[{"filePath":"/p/a.js","messages":[{"ruleId":"no-undef","severity":2,"message":"'x' is not defined.","line":1,"column":5,"endLine":1}],"errorCount":1}]"#;
        assert_eq!(read(eslint), ["/p/a.js:1:5 [no-undef] 'x' is not defined."]);
        // ruff 0.14, --output-format json
        let ruff = r#"[{"code":"F401","end_location":{"column":10,"row":1},"filename":"/p/a.py","location":{"column":8,"row":1},"message":"`os` imported but unused"}]"#;
        assert_eq!(read(ruff), ["/p/a.py:1:8 [F401] `os` imported but unused"]);
        // SARIF 2.1.0
        let sarif = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"ruleId":"R1","level":"error","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.c"},"region":{"startLine":7,"startColumn":3}}}]}]}]}"#;
        assert_eq!(read(sarif), ["src/a.c:7:3 [R1] bad"]);
        // rustc 1.90, --error-format json
        let rustc = r#"{"$message_type":"diagnostic","message":"mismatched types","code":{"code":"E0308","explanation":null},"level":"error","spans":[{"file_name":"src/b.rs","line_start":1,"column_start":2,"is_primary":false},{"file_name":"src/a.rs","line_start":4,"column_start":9,"is_primary":true}]}"#;
        assert_eq!(read(rustc), ["src/a.rs:4:9 [E0308] mismatched types"]);
        // gcc 13, -fdiagnostics-format=json
        let gcc = r#"[{"kind":"warning","locations":[{"finish":{"line":2,"file":"src/a.c","column":9},"caret":{"line":2,"file":"src/a.c","column":5}}],"option":"-Wunused","children":[{"kind":"note","locations":[{"caret":{"line":9,"file":"src/a.h","column":5}}],"message":"here"}],"message":"unused"}]"#;
        assert_eq!(read(gcc), ["src/a.c:2:5 [-Wunused] unused"]);
        // pyright 1.1, --outputjson: positions of the language server protocol
        let pyright = r#"{"generalDiagnostics":[{"file":"/p/a.py","severity":"error","message":"m","range":{"start":{"line":0,"character":4},"end":{"line":0,"character":9}},"rule":"reportX"}]}"#;
        assert_eq!(read(pyright), ["/p/a.py:1:5 [reportX] m"]);
    }

    #[test]
    fn records_that_are_no_diagnostics_are_none() {
        assert!(read(r#"{"line": 3, "message": "started"}"#).is_empty());
        assert!(read(r#"{"name": "pkg", "version": "1.0", "files": ["a"]}"#).is_empty());
        assert!(read(r#"{"file": "a.js", "line": 0, "message": "m"}"#).is_empty());
    }
}
