use proptest::prelude::*;
use serde_json::json;

use super::*;

fn hook(event: &'static str, name: &str) -> JsonEntry {
    let handler = json!({"type": "command", "command": "verify-run", "args": ["hook", "claude", name], "timeout": 5});
    JsonEntry::Element {
        path: vec!["hooks", event],
        value: json!({"matcher": "Bash|Edit", "hooks": [handler]}),
        earlier: vec![],
    }
}

fn server() -> JsonEntry {
    let value = json!({"command": "verify-run", "args": ["mcp"]});
    JsonEntry::Member { path: vec!["mcpServers"], key: "verify-run", value }
}

fn entries() -> Vec<JsonEntry> {
    vec![hook("PreToolUse", "pre-tool"), hook("SessionEnd", "session-end"), server()]
}

fn with(text: &str) -> String {
    let added = add(text, &entries(), None).expect("it can be added");
    assert_eq!(added.kept, Vec::<String>::new());
    added.text
}

fn without(before: &str, after: &str, current: &str) -> String {
    take_out(WrittenDocument { before, after }, current).expect("it can be taken out")
}

#[test]
fn a_new_document_reads_like_this() {
    insta::assert_snapshot!(with(""), @r#"
    {
      "hooks": {
        "PreToolUse": [
          {
            "matcher": "Bash|Edit",
            "hooks": [
              {
                "type": "command",
                "command": "verify-run",
                "args": ["hook", "claude", "pre-tool"],
                "timeout": 5
              }
            ]
          }
        ],
        "SessionEnd": [
          {
            "matcher": "Bash|Edit",
            "hooks": [
              {
                "type": "command",
                "command": "verify-run",
                "args": ["hook", "claude", "session-end"],
                "timeout": 5
              }
            ]
          }
        ]
      },
      "mcpServers": {
        "verify-run": {
          "command": "verify-run",
          "args": ["mcp"]
        }
      }
    }
    "#);
}

#[test]
fn entries_go_beside_what_is_there_in_its_own_style() {
    let before = "\u{feff}// mine\r\n{\r\n\t\"model\": \"opus\", // the best\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n\t\t\t{ \"matcher\": \
                  \"Bash\", \"hooks\": [] }, // keep\r\n\t\t\t/* last */\r\n\t\t],\r\n\t},\r\n\t\"mcpServers\": {}\r\n}";
    let after = with(before);
    assert!(after.starts_with("\u{feff}// mine\r\n{\r\n\t\"model\": \"opus\", // the best\r\n"), "{after}");
    assert!(
        after.contains("// keep\r\n\t\t\t/* last */\r\n\t\t\t{\r\n\t\t\t\t\"matcher\": \"Bash|Edit\",\r\n"),
        "{after}"
    );
    assert!(after.contains("\t\t\t},\r\n\t\t],\r\n\t\t\"SessionEnd\": ["), "the comma at the end is kept up: {after}");
    assert!(after.ends_with("\r\n\t}\r\n}") && !after.replace("\r\n", "").contains('\n'), "{after}");
    assert_eq!(with(&after), after, "once is enough");
    assert_eq!(without(before, &after, &after), before);
    let one_line = "{\"a\": [1, 2]}";
    assert!(
        with(one_line).starts_with("{\"a\": [1, 2], \"hooks\": {\"PreToolUse\": [{\"matcher\": "),
        "{}",
        with(one_line)
    );
}

#[test]
fn an_entry_of_the_user_stays_as_it_is() {
    let before = r#"{"mcpServers": {"verify-run": {"command": "verify-run", "args": ["mcp", "--root", "."]}},
        "hooks": {"PreToolUse": [{"hooks": [{"command": "verify-run hook claude pre-tool"}]}]}}"#;
    let added = add(before, &entries(), None).expect("it can be added");
    assert_eq!(added.kept, ["hooks.PreToolUse", "mcpServers.verify-run"]);
    assert_eq!(value(&added.text).expect("whole")["hooks"]["PreToolUse"].as_array().map(Vec::len), Some(1));
    let rest = without(before, &added.text, &added.text.replace("claude session-end", "claude session-end "));
    assert_eq!(value(&rest).expect("whole"), value(before).expect("whole"), "what was there before stays");
}

#[test]
fn what_we_wrote_and_nobody_changed_becomes_what_it_shall_be_now() {
    let before = "{\n  \"a\": 1\n}\n";
    let old = with(before);
    let mut wanted = entries();
    let JsonEntry::Element { value, .. } = &mut wanted[0] else { panic!("an element") };
    value["hooks"][0]["timeout"] = json!(9);
    let new = add(&old, &wanted, Some(WrittenDocument { before, after: &old })).expect("it can be added");
    assert_eq!((new.text.clone(), new.kept), (old.replacen("\"timeout\": 5", "\"timeout\": 9", 1), vec![]));
    // Edited since: it is the user's now.
    let edited = old.replacen("\"timeout\": 5", "\"timeout\": 7", 1);
    let kept = add(&edited, &wanted, Some(WrittenDocument { before, after: &old })).expect("it can be added");
    assert_eq!((kept.text, kept.kept), (edited, vec!["hooks.PreToolUse".to_owned()]));
}

#[test]
fn what_an_earlier_version_wrote_is_replaced_whoever_wrote_it() {
    let before = with("{}\n");
    let mut wanted = entries();
    let JsonEntry::Element { value, earlier, .. } = &mut wanted[0] else { panic!("an element") };
    earlier.push(value.clone());
    value["hooks"][0]["command"] = json!("command -v verify-run >/dev/null && exec verify-run hook claude pre-tool");
    let new = add(&before, &wanted, None).expect("it can be added");
    assert_eq!((new.upgraded, new.kept), (1, vec![]));
    assert!(new.text.contains("exec verify-run hook claude pre-tool"), "{}", new.text);
    assert_eq!(value_of(&new.text)["hooks"]["PreToolUse"].as_array().map(Vec::len), Some(1));
    let again = add(&new.text, &wanted, None).expect("it can be added");
    assert_eq!((again.upgraded, again.text), (0, new.text));
    // Edited, and therefore the user's.
    let edited = before.replacen("\"timeout\": 5", "\"timeout\": 7", 1);
    let kept = add(&edited, &wanted, None).expect("it can be added");
    assert_eq!((kept.upgraded, kept.kept), (0, vec!["hooks.PreToolUse".to_owned()]));
}

fn value_of(text: &str) -> Value {
    value(text).expect("JSON")
}

#[test]
fn edits_of_the_user_stay_and_ours_go() {
    let before = "{\n  \"a\": 1\n}\n";
    let after = with(before);
    // A key behind ours, one in front, a group of their own in our array, a handler of their own in our group.
    let edited = after
        .replacen("{\n  \"a\": 1", "{\n  // new\n  \"b\": 2,\n  \"a\": 1", 1)
        .replacen(
            "\"timeout\": 5\n          }\n",
            "\"timeout\": 60\n          },\n          { \"command\": \"mine\" }\n",
            1,
        )
        .replacen("\n}\n", ",\n  \"z\": [] // end\n}\n", 1);
    let rest = without(before, &after, &edited);
    let wanted = json!({"a": 1, "b": 2, "z": [],
        "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"command": "mine"}]}]}});
    assert_eq!(value(&rest).expect("whole"), wanted, "{rest}");
    assert!(
        rest.starts_with("{\n  // new\n  \"b\": 2,\n  \"a\": 1,\n") && rest.ends_with("\n  \"z\": [] // end\n}\n"),
        "{rest}"
    );
}

#[test]
fn a_document_that_only_has_ours_is_empty_without() {
    let after = with("");
    let edited = after.replacen("\"timeout\": 5", "\"timeout\": 6", 1);
    assert_eq!(without("", &after, &edited), "");
    let version = [JsonEntry::Member { path: vec![], key: "version", value: json!(1) }, hook("preToolUse", "pre-tool")];
    let after = add("", &version, None).expect("it can be added").text;
    let edited = after.replacen("\"preToolUse\"", "\"stop\": [{\"command\": \"mine\"}],\n    \"preToolUse\"", 1);
    let rest = value(&without("", &after, &edited)).expect("whole");
    assert_eq!(
        rest,
        json!({"version": 1, "hooks": {"stop": [{"command": "mine"}]}}),
        "the version stays with the rest"
    );
}

#[test]
fn what_is_no_json_or_of_another_kind_is_named_with_its_line() {
    let error = |text: &str| add(text, &entries(), None).expect_err(text);
    let trouble = error("{\n  \"a\": 1,\n  \"b\" 2\n}\n");
    assert_eq!(trouble.line, Some(3));
    assert_eq!(trouble.reason, "this is not JSON: expected colon after the string or word in object property");
    let trouble = error("{\n  \"hooks\": \"none\"\n}");
    assert_eq!((trouble.line, trouble.reason.as_str()), (Some(2), "`hooks` is a string, which can't take an entry"));
    let trouble = error("[1]");
    assert_eq!((trouble.line, trouble.reason.as_str()), (Some(1), "it is an array, which can't take an entry"));
    let trouble = error("{\"hooks\": {\"PreToolUse\": {}}}");
    assert_eq!(trouble.reason, "`hooks.PreToolUse` is an object, which can't take an entry");
    assert!(error(&"[".repeat(100_000)).reason.contains("nesting"), "deep ones are no reason to crash");
    assert!(error("{'a': 1}").reason.starts_with("this is not JSON"));
}

/// A value of a settings file, with comments and blanks wherever they may be.
fn documents() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(""), 3 => Just(" "), 3 => Just("\n"), 2 => Just("\n  "), 1 => Just("\t"),
        1 => Just(" /* c */ "), 1 => Just(" // d\n"), 1 => Just("\n    // \"e\": 1,\n  "),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"x\"".to_owned()),
        Just("\"// no /* comment\"".to_owned()),
        Just("-1.5e3".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
    ];
    let key = prop::sample::select(vec!["hooks", "mcpServers", "a", "b\\n", "PreToolUse", "c"]);
    let node = leaf.prop_recursive(4, 24, 4, move |inner| {
        let blank = blank.clone();
        let list = prop::collection::vec((blank.clone(), inner.clone(), blank.clone()), 0..4);
        let members = prop::collection::vec((blank.clone(), key.clone(), inner, blank.clone()), 0..4);
        let trailing = any::<bool>();
        prop_oneof![
            (list, trailing, blank.clone()).prop_map(|(list, trailing, end)| {
                let items: Vec<String> = list.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
                let comma = if trailing && !items.is_empty() { "," } else { "" };
                format!("[{}{comma}{end}]", items.join(","))
            }),
            (members, any::<bool>(), blank).prop_map(|(members, trailing, end)| {
                let mut seen = Vec::new();
                let items: Vec<String> = members
                    .iter()
                    .filter(|it| {
                        !seen.contains(&it.1) && {
                            seen.push(it.1);
                            true
                        }
                    })
                    .map(|(a, key, item, b)| format!("{a}\"{key}\": {item}{b}"))
                    .collect();
                let comma = if trailing && !items.is_empty() { "," } else { "" };
                format!("{{{}{comma}{end}}}", items.join(","))
            }),
        ]
    });
    (any::<bool>(), node, prop::sample::select(vec!["", "\n", " // end\n", "\n\n"]), any::<bool>()).prop_map(
        |(mark, node, end, crlf)| {
            let text = format!("{}{node}{end}", if mark { "\u{feff}" } else { "" });
            if crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// The document's own bytes, in order, in its outcome.
fn is_within(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before.chars().all(|wanted| rest.any(|there| there == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whatever the user has stays, as text and as value; a second time nothing is added; taken out it is as it was.
    #[test]
    fn adding_keeps_everything_and_taking_out_gives_the_bytes_back(before in documents()) {
        let Ok(added) = add(&before, &entries(), None) else { return Ok(()) };
        let after = added.text;
        prop_assert!(is_within(&before, &after), "{}\n=>\n{}", before, after);
        let mut value_after = value(&after).expect("whole");
        prop_assert_eq!(&add(&after, &entries(), None).expect("again").text, &after);
        let written = WrittenDocument { before: &before, after: &after };
        prop_assert_eq!(crate::host::document::take_out("a.json".as_ref(), written, &after).expect("out"), before.clone());
        // As a value: what is there without ours is what was there.
        let rest = take_out(written, &after).expect("out");
        prop_assert_eq!(value(&rest).expect("whole"), value(&before).expect("whole"));
        // With edits of the user around and inside ours: theirs stay.
        if let Some(object) = value_after.as_object_mut() {
            object.insert("zz".into(), json!({"mine": [1]}));
            let edited = serde_json::to_string_pretty(&value_after).expect("JSON").replace("\"timeout\": 5", "\"timeout\": 77");
            let mut wanted = value(&before).expect("whole");
            wanted["zz"] = json!({"mine": [1]});
            prop_assert_eq!(value(&take_out(written, &edited).expect("out")).expect("whole"), wanted);
        }
    }

    /// Comments survive when ours are taken out entry by entry.
    #[test]
    fn taking_out_entry_by_entry_keeps_every_comment(before in documents()) {
        let Ok(added) = add(&before, &entries(), None) else { return Ok(()) };
        let after = added.text;
        let edited = after.replace("\"timeout\": 5", "\"timeout\": 6");
        let rest = take_out(WrittenDocument { before: &before, after: &after }, &edited).expect("out");
        let comments = |text: &str| text.matches("/* c */").count() + text.matches("// d").count() + text.matches("// \"e\"").count();
        prop_assert_eq!(comments(&rest), comments(&before), "{}\n=>\n{}\n=>\n{}", before, edited, rest);
        prop_assert_eq!(value(&rest).expect("whole"), value(&before).expect("whole"));
    }
}
