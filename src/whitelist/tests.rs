use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Examples {
    example: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    line: String,
    tool: String,
    kind: Option<CheckKind>,
}

#[test]
fn every_example_line_is_what_it_says() {
    let examples: Examples = toml::from_str(include_str!("../../tests/data/recognition.toml")).expect("the examples");
    let whitelist = Whitelist::shipped();
    let mut wrong = Vec::new();
    for Example { line, tool, kind } in &examples.example {
        let decision = whitelist.decide_line(line);
        let (found, found_kind) = match &decision {
            Decision::Check(check) => (check.tool.as_str(), Some(check.kind)),
            Decision::NotACheck { .. } => ("", None),
        };
        if found != tool || found_kind != *kind {
            wrong.push(format!("{line}\n  wanted {tool:?} {kind:?}\n  is {decision:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), examples.example.len(), wrong.join("\n"));
}
