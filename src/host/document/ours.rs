//! Which entries name us.

use serde_json::Value;

/// Our name as the last part of a program's path.
const NAME: &str = "verify-run";
/// Fields that hold a command line, or its program.
const FIELDS: [&str; 4] = ["command", "bash", "powershell", "command_windows"];

/// The verify-run command that an object runs (`hook claude pre-tool`, `mcp`), under any path; `None` where it runs
/// something else. Options are left out.
pub fn ours(value: &Value) -> Option<String> {
    let object = value.as_object()?;
    let arguments = object.get("args").and_then(Value::as_array);
    FIELDS.iter().find_map(|field| match object.get(*field)? {
        Value::String(program) if is_us(program) && arguments.is_some() => said(words(arguments?)),
        Value::String(line) => of_line(line),
        Value::Array(list) => {
            let mut list = words(list);
            list.next().filter(|program| is_us(program))?;
            said(list)
        }
        _ => None,
    })
}

/// The verify-run command that a command line runs.
fn of_line(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // After a mere lookup (`command -v verify-run`) no verify-run command follows.
    let mut named = words.iter().enumerate().filter(|(_, word)| is_us(word.trim_matches(['"', '\''])));
    named.find_map(|(at, _)| said(words[at + 1..].iter().copied()))
}

fn words(list: &[Value]) -> impl Iterator<Item = &str> {
    list.iter().filter_map(Value::as_str)
}

fn is_us(program: &str) -> bool {
    program.rsplit(['/', '\\']).next().is_some_and(|name| name.trim_end_matches(".exe") == NAME)
}

fn said<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    match words.next()?.trim_end_matches(';') {
        "mcp" => Some("mcp".to_owned()),
        "hook" => {
            let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
            let rest: Vec<&str> = words.map(|word| word.trim_end_matches(';')).take_while(is_word).take(2).collect();
            (rest.len() == 2).then(|| format!("hook {}", rest.join(" ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_ours_are_known_in_every_form() {
        let hook = Some("hook claude pre-tool".to_owned());
        assert_eq!(ours(&json!({"command": "verify-run", "args": ["hook", "claude", "pre-tool"]})), hook);
        assert_eq!(ours(&json!({"command": "/opt/bin/verify-run hook claude pre-tool"})), hook);
        assert_eq!(ours(&json!({"bash": "verify-run hook claude pre-tool --rewrite 2>/dev/null || true"})), hook);
        assert_eq!(ours(&json!({"powershell": "verify-run hook claude pre-tool; exit 0"})), hook);
        let guarded = "command -v verify-run >/dev/null 2>&1 || exit 0; verify-run hook claude pre-tool";
        assert_eq!(ours(&json!({"command": guarded})), hook);
        assert_eq!(ours(&json!({"command": ["verify-run", "mcp"]})), Some("mcp".to_owned()));
        assert_eq!(ours(&json!({"command": "verify-run", "args": ["mcp", "--root", "."]})), Some("mcp".to_owned()));
    }

    #[test]
    fn entries_of_others_are_not() {
        let others = [
            json!({"command": "npm", "args": ["test"]}),
            json!({"command": "verify-run", "args": ["--", "npm", "test"]}),
            json!({"command": "verify-running hook claude pre-tool"}),
            json!({"command": "echo hook claude pre-tool"}),
            json!({"command": 7}),
            json!("verify-run hook claude pre-tool"),
            json!(null),
        ];
        for other in others {
            assert_eq!(ours(&other), None, "{other}");
        }
    }
}
