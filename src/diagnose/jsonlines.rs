//! JSON lines that wrap text: `go test -json`, `cargo --message-format=json`. They are read as JSON and replaced by the
//! text they carry, so that everything after sees what the tool would have printed.

use std::borrow::Cow;

use memchr::memmem;
use serde_json::Value;

/// `text` with wrapped lines replaced by their text; unchanged where there are none.
pub(super) fn unwrap_json_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    let has = |name: &str| memmem::find(text.as_bytes(), name.as_bytes()).is_some();
    if !has("\"Action\":") && !has("\"reason\":") {
        return text;
    }
    let mut unwrapped = String::with_capacity(text.len());
    for line in text.lines() {
        match carried_text(line) {
            Some(carried) => unwrapped.push_str(&carried),
            None => {
                unwrapped.push_str(line);
                unwrapped.push('\n');
            }
        }
    }
    Cow::Owned(unwrapped)
}

/// The text that a line carries, with its line ends; empty for an event without text.
fn carried_text(line: &str) -> Option<String> {
    if !line.starts_with('{') || !line.ends_with('}') {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    if let Some(action) = value.get("Action").and_then(Value::as_str) {
        let output = value.get("Output").and_then(Value::as_str).unwrap_or_default();
        return Some(if action.contains("output") { output.to_owned() } else { String::new() });
    }
    let reason = value.get("reason")?.as_str()?;
    let rendered = value.pointer("/message/rendered").and_then(Value::as_str);
    match (reason, rendered) {
        ("compiler-message", Some(rendered)) => Some(super::clean::clean_output(rendered.as_bytes()).into_owned()),
        ("compiler-artifact" | "build-script-executed" | "build-finished", _) => Some(String::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carried_text_takes_the_place_of_json() {
        let go = "{\"Time\":\"x\",\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"    a_test.go:3: bad\\n\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\nplain\n";
        assert_eq!(unwrap_json_lines(go.into()), "    a_test.go:3: bad\nplain\n");
        let cargo =
            "{\"reason\":\"compiler-message\",\"message\":{\"rendered\":\"error: x\\n --> src/a.rs:1:2\\n\\n\"}}\n";
        assert_eq!(unwrap_json_lines(cargo.into()), "error: x\n --> src/a.rs:1:2\n\n");
        assert_eq!(unwrap_json_lines("{\"Action\": 1}\n".into()), "{\"Action\": 1}\n");
    }
}
