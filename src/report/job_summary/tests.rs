use serde_json::json;

use super::*;

fn summarized(argv: &str, code: u8, items: usize, message: &str) -> SummarizedRun {
    let item = |line: usize| {
        json!({ "tool": "eslint", "severity": "error", "file": "src/a.js", "line": line, "col": 2, "code": "no-x",
            "message": message, "exact": line.to_string(), "pattern": "p", "family": "f", "masked": "m",
            "masked_family": "m" })
    };
    let mut run = json!({
        "argv": [argv], "root": "/repo", "dir": "", "key": argv, "tool": "eslint", "ended": { "exit": code },
        "started_at": "2026-03-04T05:06:07Z", "ended_at": "2026-03-04T05:06:08Z", "duration_us": 1_250_001, "task": "t",
    });
    if code > 0 {
        let items: Vec<_> = (1..=items).map(item).collect();
        run["failure"] = json!({ "id": "f-1", "category": "lint_error", "files": [], "items": items,
            "lines": ["first", "```", "</details>\u{1b}[31m"], "lesson": "known" });
    }
    let record = serde_json::from_value(run).expect("a run");
    SummarizedRun { run: ReportedRun { id: argv.into(), record }, known: Vec::new() }
}

#[test]
fn a_page_says_what_failed_and_nothing_of_a_tool_is_more_than_text() {
    let mut failed = summarized("eslint", 2, 1, "a `b` <img src=x> ::error::no |\n# x");
    failed.known = vec!["seen before: <b>*x*</b>, 2 times".into()];
    let page = render_job_summary(&[summarized("ok", 0, 0, ""), failed], 10_000);
    let expected = "### verify-run: 1 of 2 checks failed\n\n\
        - **failed**: `eslint` (exit code 2, 1.3 s)\n  - seen before: &lt;b&gt;\\*x\\*&lt;/b&gt;, 2 times\n  \
        - `src/a.js:1:2` `no-x` ``a `b` <img src=x> ::error::no | # x``\n\n\
        <details><summary>Output</summary>\n\n````text\nfirst\n```\n</details>[31m\n````\n\n</details>\n\n\
        - passed: `ok` (1.3 s)\n\n";
    assert_eq!(page, expected);
}

#[test]
fn a_page_keeps_its_limit_whatever_there_is_to_say() {
    let many: Vec<SummarizedRun> =
        (0..60).map(|n| summarized(&format!("eslint {n}"), 1, 60, &"é".repeat(300))).collect();
    let sizes =
        [(0, ""), (110, "60 more checks left out"), (20_000, "  - 60 problems\n"), (1 << 20, "  - 10 more problems\n")];
    for (room, wanted) in sizes {
        let page = render_job_summary(&many, room);
        assert!(page.len() <= room && page.contains(wanted), "{} in {room}", page.len());
        assert_eq!(page.matches("### verify-run: 60 of 60 checks failed").count(), usize::from(room > 0), "{room}");
    }
    assert_eq!(render_job_summary(&[], 1_000), "");
}
