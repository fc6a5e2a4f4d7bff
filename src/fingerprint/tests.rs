mod forms;
mod invariance;

use super::*;
use crate::diagnose::Severity;

fn item(message: &str) -> Diagnostic {
    Diagnostic {
        tool: "tool".to_owned(),
        code: None,
        severity: Severity::Error,
        file: None,
        line: None,
        col: None,
        message: message.to_owned(),
        test: None,
        span: (0, 0),
    }
}

/// Messages that are the same failure on another machine, day or run.
const SAME: [(&str, &str); 41] = [
    ("failed at 2026-11-21T10:15:37Z", "failed at 2025-01-02T03:04:05.678+01:00"),
    ("timed out after 300ms", "timed out after 2.5 s"),
    ("cannot open /home/ann/p/src/config.json", "cannot open /tmp/x/src/config.json"),
    ("cannot open /home/ann/p/src/config.json:12:3", "cannot open C:\\p\\src\\config.json:9"),
    ("Cannot find module '/home/ann/p/src/x'", "Cannot find module '/srv/tree/src/x'"),
    ("Cannot find module './x'", "Cannot find module 'x'"),
    ("heap at 0x7ffe12ab is bad", "heap at 0x55550000 is bad"),
    (
        "commit 3f786850e387550fdab836ed7e6dc881de23001b broke it",
        "commit 89e6c98d92887913cadf06b2adb97f26cde4849b broke it",
    ),
    ("request 550e8400-e29b-41d4-a716-446655440000 refused", "request 123e4567-e89b-12d3-a456-426614174000 refused"),
    ("connect refused 127.0.0.1:3000", "connect refused 10.0.0.7:8123"),
    ("connect ECONNREFUSED localhost:3000", "connect ECONNREFUSED localhost:4711"),
    ("pid 4711 crashed", "pid 12 crashed"),
    ("downloaded 12 MiB of data", "downloaded 1.5 GB of data"),
    ("seed 1234567 gave no answer", "seed 7 gave no answer"),
    ("worker3 stopped early", "worker17 stopped early"),
    ("expected 5 but got 3 items", "expected 7 but got 12 items"),
    ("expected \"foo\" to equal \"bar\" here", "expected \"a b\" to equal \"c\" here"),
    ("values [1, 2, 3] are wrong", "values [4] are wrong"),
    ("Cannot find module 'x'.", "Cannot find  module 'x'"),
    ("error: Cannot find module 'x'", "Cannot find module 'x'"),
    (
        "no such file: /tmp/pytest-of-ann/pytest-12/test_a0/out.txt",
        "no such file: /tmp/pytest-of-bob/pytest-3/test_a0/out.txt",
    ),
    ("KeyError: 'No message with key 5'", "KeyError: 'No message with key 6'"),
    ("sent 1190 bytes (1.16 KB) to the peer", "sent 0 bytes to the peer"),
    ("lifetime <1 sec over", "lifetime 00:02:11 over"),
    ("a coroutine was expected, got <Future pending>", "a coroutine was expected, got None"),
    ("a.B[int] is not a generic class", "list[int] | str is not a generic class"),
    ("loops at <class 'a.b'>", "loops at <function f.<locals>.g at 0x7f00>"),
    ("cannot cast to int: b'1.5'", "cannot cast to int: 'x'"),
    ("bad escape \\c at position 0", "bad escape \\x at position 12"),
    ("1.1.1.1 and ::1 are of two versions", "fe80::1%eth0 and ::/0 are of two versions"),
    ("failure; uid=0 tty=ssh user=root", "failure; uid=0 tty=pts user=uucp"),
    ("Failed password for root from 5.36.59.76", "Failed password for ftp from 10.0.0.1"),
    ("connect to db:5432 failed", "connect to cache.internal:6379 failed"),
    ("cannot enter catch(record=True) twice", "cannot enter catch() twice"),
    ("wrong value in (1, 'x') there", "wrong value in 5 there"),
    ("expected atom but found '@'", "expected atom but found ', x'"),
    ("Module \"m\" has no attribute \"think\"; maybe \"thing\"?", "Module \"m\" has no attribute \"think\""),
    ("name 'fo' is not defined. Did you mean: 'foo'?", "name 'fo' is not defined"),
    ("Need type annotation for \"y\" (hint: \"y: List[<type>] = ...\")", "Need type annotation for \"x\""),
    ("Signature of \"f\" of \"A\" is wrong", "Signature of \"g\" is wrong"),
    ("takes the values 'a' and 'b' only", "takes the value 'a' only"),
];

/// Messages about another thing of the same kind: another pattern in one family.
const SIBLINGS: [(&str, &str); 15] = [
    ("Cannot find module 'left-pad'", "Cannot find module 'lodash'"),
    ("No module named requests", "No module named numpy"),
    ("'foo' is not defined", "'bar' is not defined"),
    ("foo is not defined", "bar is not defined"),
    ("user.name is not a function", "user.email is not a function"),
    ("sh: 1: vitest: not found", "sh: 1: eslint: not found"),
    ("undefined: parseConfig", "undefined: readConfig"),
    ("unknown url type: ftp", "unknown url type: gopher"),
    ("no such user alice", "no such user bob"),
    ("the plugin requires node 18.0.0", "the plugin requires node 20.1.0"),
    (
        "request to https://a.example/x failed: connection refused",
        "request to https://b.example/x failed: connection refused",
    ),
    ("port 3000 already in use", "port 8080 already in use"),
    ("Cannot read properties of undefined (reading 'map')", "Cannot read properties of undefined (reading 'length')"),
    ("module 'os' has no attribute 'foo'", "'list' object has no attribute 'bar'"),
    ("missing 1 required argument: 'x'", "missing 2 required arguments: 'y' and 'z'"),
];

/// Messages that are different failures at both levels.
const DIFFERENT: [(&str, &str); 17] = [
    ("Value of type \"Coroutine[Any, Any, None]\" must be used", "Value of type \"A\" must be used"),
    ("cannot read the file", "cannot write the file"),
    ("value is below min", "value is below max"),
    ("file is open", "file is not open"),
    ("expected ';'", "expected ')'"),
    ("unexpected 'await'", "unexpected 'import'"),
    ("TypeError: bad thing", "ValueError: bad thing"),
    ("Object is possibly 'null'", "Object is possibly 'undefined'"),
    ("Unnecessary `else` after `return`", "Unnecessary `else` after `continue`"),
    ("expected one of ',' or ';'", "expected one of ',' or '}'"),
    ("expected ';', found '}'", "expected ',', found '}'"),
    ("un(shallow)copyable thing", "un(deep)copyable thing"),
    ("<urlopen error timed out badly>", "<urlopen error refused badly>"),
    ("exit code 1 of the worker", "exit code 137 of the worker"),
    ("Parameter 'x' implicitly has an 'any' type", "Variable 'x' implicitly has an 'any' type"),
    ("needs string input", "needs bytes input"),
    ("request failed with status 404", "request failed with status 500"),
];

#[test]
fn what_changes_from_run_to_run_changes_no_key() {
    for (a, b) in SAME {
        let (a, b) = (compute_fingerprint(&item(a)), compute_fingerprint(&item(b)));
        assert_eq!((&a.pattern, &a.family), (&b.pattern, &b.family), "{} / {}", a.masked, b.masked);
    }
}

#[test]
fn another_subject_is_another_pattern_of_the_family() {
    for (a, b) in SIBLINGS {
        let (a, b) = (compute_fingerprint(&item(a)), compute_fingerprint(&item(b)));
        assert_ne!(a.pattern, b.pattern, "{}", a.masked);
        assert_eq!(a.family, b.family, "{} / {}", a.masked_family, b.masked_family);
    }
}

#[test]
fn different_failures_share_no_key() {
    for (a, b) in DIFFERENT {
        let (a, b) = (compute_fingerprint(&item(a)), compute_fingerprint(&item(b)));
        assert_ne!(a.family, b.family, "{} / {}", a.masked_family, b.masked_family);
        assert_ne!(a.pattern, b.pattern, "{} / {}", a.masked, b.masked);
    }
}

#[test]
fn tool_and_code_come_first() {
    let base = compute_fingerprint(&item("bad thing"));
    let code = compute_fingerprint(&Diagnostic { code: Some("E1".to_owned()), ..item("bad thing") });
    let tool = compute_fingerprint(&Diagnostic { tool: "other".to_owned(), ..item("bad thing") });
    assert!(base.family != code.family && base.family != tool.family && code.family != tool.family);
    let jest = compute_fingerprint(&Diagnostic { tool: "jest".to_owned(), ..item("bad thing") });
    let vitest = compute_fingerprint(&Diagnostic { tool: "vitest".to_owned(), ..item("bad thing") });
    assert_eq!(jest.pattern, vitest.pattern);
    let raised = compute_fingerprint(&item("TypeError: bad thing"));
    assert_eq!(
        raised.family,
        compute_fingerprint(&Diagnostic { code: Some("TypeError".to_owned()), ..item("bad thing") }).family
    );
}

#[test]
fn place_counts_only_where_the_message_says_nothing() {
    let at = |message: &str, file: &str, line, test: Option<&str>| {
        compute_fingerprint(&Diagnostic {
            file: Some(file.to_owned()),
            line: Some(line),
            test: test.map(str::to_owned),
            ..item(message)
        })
    };
    let (a, b) = (at("Cannot find module 'x'", "a.ts", 1, None), at("Cannot find module 'x'", "b.ts", 9, None));
    assert_eq!(a.pattern, b.pattern);
    assert_ne!(a.exact, b.exact);
    let (a, b) = (at("expected 5, got 3", "a.ts", 1, Some("adds")), at("expected 2, got 9", "a.ts", 7, Some("adds")));
    assert_eq!(a.pattern, b.pattern);
    let c = at("expected 5, got 3", "a.ts", 1, Some("subtracts"));
    assert_eq!(a.family, c.family);
    assert_ne!(a.pattern, c.pattern);
}

#[test]
fn a_test_that_says_nothing_is_listed_by_its_name() {
    let silent = compute_fingerprint(&Diagnostic { test: Some("store::takes_missing".to_owned()), ..item("") });
    assert!(silent.masked.contains("takes_missing"), "{}", silent.masked);
    assert_eq!(silent.masked_family, "");
}

#[test]
fn keys_carry_the_version_and_people_can_read_the_mask() {
    let keys = compute_fingerprint(&item("Cannot find module 'left-pad' from /home/ann/p/src/a.ts:3 after 12ms"));
    for key in [&keys.exact, &keys.pattern, &keys.family] {
        assert!(key.starts_with("4:") && key.len() == 34, "{key}");
    }
    assert_eq!(keys.masked_family, "Cannot find module <*> from <*> after <*>");
    assert!(keys.masked.starts_with("Cannot find module 'left-pad' from "), "{}", keys.masked);
}

#[test]
fn an_explanation_shows_every_step_of_the_same_keys() {
    let item = Diagnostic { code: Some("TS2307".to_owned()), ..item("error: Cannot find module './x' (12 ms)") };
    let (keys, steps) = explain_fingerprint(&item);
    assert_eq!(keys, super::compute_fingerprint(&item));
    assert_eq!((steps.code.as_deref(), steps.code_from), (Some("TS2307"), CodeOrigin::Code));
    assert_eq!(steps.text, "Cannot find module './x' (12 ms)");
    assert_eq!((steps.context, steps.level, steps.site), ("absence", "all", None));
    let slots: Vec<_> = steps.slots.iter().map(|slot| (slot.class, slot.text.as_str(), slot.subjects.len())).collect();
    assert_eq!(slots, [("several", "./x (12 ms)", 1)]);
    assert_eq!(steps.subjects, ["x"]);
    assert_eq!((steps.family, steps.pattern), (keys.family, keys.pattern));
}

proptest::proptest! {
    #[test]
    fn never_panics(text in r#"\PC{0,60}|['"`(){}\[\]:/\\.,=<>*0-9a-zé ]{0,60}"#) {
        let _ = compute_fingerprint(&item(&text));
    }
}
