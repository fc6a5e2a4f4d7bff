//! Failing tests in the JSON report that jest defined and vitest prints too.

use serde_json::{Map, Value};

use crate::diagnose::clean::clean_output;
use crate::diagnose::engine::Frame;
use crate::diagnose::{Severity, generic};

use super::StructuredFinding;

/// The failing tests of one file, or why the file didn't run.
pub(super) fn read_suite(suite: &Map<String, Value>, entries: &mut Vec<StructuredFinding>) {
    let file = text_of(suite.get("name")).map(str::to_owned);
    let tests = suite.get("assertionResults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let before = entries.len();
    for test in tests.iter().filter(|test| text_of(test.get("status")) == Some("failed")) {
        let said = test.get("failureMessages").and_then(|all| text_of(all.get(0))).unwrap_or_default();
        let names = test.get("ancestorTitles").and_then(Value::as_array).into_iter().flatten();
        let names: Vec<&str> = names.chain(test.get("title")).filter_map(|name| text_of(Some(name))).collect();
        let line = test.get("location").and_then(|place| number_of(place.get("line")));
        let col = test.get("location").and_then(|place| number_of(place.get("column")));
        let entry = new_finding(said, file.as_deref(), Some(names.join(" > ")));
        entries.push(StructuredFinding { line: entry.line.or(line), col: entry.col.or(col), ..entry });
    }
    if entries.len() == before && text_of(suite.get("status")) == Some("failed") {
        entries.push(new_finding(text_of(suite.get("message")).unwrap_or_default(), file.as_deref(), None));
    }
}

fn new_finding(said: &str, file: Option<&str>, test: Option<String>) -> StructuredFinding {
    let said = clean_output(said.as_bytes());
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_class = |class: &str| class.ends_with("Error") && class.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (code, message) = match first.split_once(": ") {
        // jest says no class for what its own matchers find.
        Some(("Error", message)) if message.starts_with("expect(") => (None, message),
        Some((class, message)) if is_class(class) => (Some(class.to_owned()), message),
        _ => (None, first),
    };
    let own = |place: &Frame<'_>| file.is_some_and(|file| file.ends_with(place.file));
    let frames = said.lines().filter(|line| line.trim_start().starts_with("at "));
    let place = frames.flat_map(generic::find_locations).find(own).map(|place| (place.line, place.col));
    let (line, col) = place.unwrap_or_default();
    let (file, message) = (file.map(str::to_owned), message.to_owned());
    StructuredFinding { file, line, col, severity: Some(Severity::Error), code, test, message }
}

fn text_of(value: Option<&Value>) -> Option<&str> {
    value?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn number_of(value: Option<&Value>) -> Option<u32> {
    u32::try_from(value?.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_tests_are_read_with_their_names_and_places() {
        let report = r#"{"name":"/p/t/a.test.js","status":"failed","message":"","assertionResults":[
            {"ancestorTitles":["cart"],"title":"adds","status":"failed","location":null,"failureMessages":["AssertionError: expected 1 to be 2\n    at add (/p/src/a.js:9:1)\n    at /p/t/a.test.js:5:30"]},
            {"ancestorTitles":[],"title":"fits","status":"passed","failureMessages":[]}]}"#;
        let Value::Object(suite) = serde_json::from_str(report).expect("JSON") else { panic!("an object") };
        let mut found = Vec::new();
        read_suite(&suite, &mut found);
        assert_eq!(found.len(), 1);
        let StructuredFinding { file, line, code, test, message, .. } = &found[0];
        assert_eq!(
            (file.as_deref(), *line, code.as_deref()),
            (Some("/p/t/a.test.js"), Some(5), Some("AssertionError"))
        );
        assert_eq!((test.as_deref(), message.as_str()), (Some("cart > adds"), "expected 1 to be 2"));
    }
}
