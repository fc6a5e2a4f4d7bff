//! The overview in numbers: shares, filters, and the lists behind them.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Dashboard;
use super::markup::{addresses, linked_texts, plain_text, section, table_rows};
use super::served::{count_rows, list_rows, warned_story};
use crate::sandbox::{Sandbox, files_in};
use crate::story::discount_story;

/// Tools with the category of what they find, a message, and how often each fails.
const FAILURES: [(&str, &str, &str, usize); 4] = [
    ("pytest", "test_failure", "FAILED tests/test_a.py::test_sum - assert 2 == 3", 40),
    ("gcc", "build_error", "src/a.c:3:5: error: 'x' undeclared (first use in this function)", 30),
    ("luacheck", "lint_error", "src/x.lua:1:1: error: accessing undefined variable", 20),
    ("tsc", "type_error", "src/a.ts(3,5): error TS2339: Property 'x' does not exist on type 'Y'.", 10),
];

#[test]
fn of_a_hundred_failures_the_shares_are_those_of_their_categories() {
    let sandbox = Sandbox::in_memory().with_repository();
    sandbox.write("verify-run.toml", "[snapshot]\nenabled = false\n");
    for (tool, _, message, count) in FAILURES {
        sandbox.tool(tool, &format!("cat <<'OUT'\n{message}\nOUT\nexit 1"));
        for _ in 0..count {
            sandbox.verify_run(["--sync", "--task", tool, tool, "-x"]).outcome();
        }
    }
    let dashboard = Dashboard::start(&sandbox, &[]);
    let numbers = dashboard.json("/api/qa/failures/dashboard");
    let expected: Vec<Value> =
        FAILURES.iter().map(|(_, name, _, count)| json!({"failure_category": name, "count": count})).collect();
    assert_eq!((&numbers["total_failures"]["count"], &numbers["by_category"]), (&json!(100), &json!(expected)));

    let html = dashboard.get("/").body;
    let rows = table_rows(section(&html, "Categories"));
    let shown: Vec<Vec<String>> =
        rows.iter().map(|row| row[..3].iter().map(|cell| plain_text(cell)).collect()).collect();
    let wanted: Vec<Vec<String>> = FAILURES
        .iter()
        .map(|(_, name, _, count)| vec![name.replace('_', " "), count.to_string(), format!("{count} %")])
        .collect();
    assert_eq!(shown, wanted);
    for (row, (_, name, _, count)) in rows.iter().zip(FAILURES) {
        let links = addresses(row[0]);
        assert!(links.len() == 1 && links[0].contains(name), "{links:?}");
        assert_eq!(count_rows(&dashboard, &links[0].replace("&limit=1", "")), count as u64, "{links:?}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_ten_most_frequent_patterns_come_first() {
    let sandbox = Sandbox::in_memory().with_repository();
    sandbox.write("verify-run.toml", "[snapshot]\nenabled = false\n");
    sandbox.tool("luacheck", "echo \"src/x.lua:1:1: error: $MESSAGE\"; exit 1");
    let words =
        ["apple", "brick", "cloud", "delta", "eagle", "fjord", "grape", "hotel", "igloo", "joker", "karma", "lemon"];
    for (number, word) in words.iter().enumerate() {
        for _ in 0..=number % 6 {
            sandbox.verify_run(["--sync", "luacheck", "."]).env("MESSAGE", word).outcome();
        }
    }
    let dashboard = Dashboard::start(&sandbox, &[]);
    let numbers = dashboard.json("/api/qa/failures/dashboard");
    let counts: Vec<u64> = numbers["top_patterns"]
        .as_array()
        .expect("patterns")
        .iter()
        .filter_map(|pattern| pattern["occurrences"].as_u64())
        .collect();
    assert_eq!(counts, [6, 6, 5, 5, 4, 4, 3, 3, 2, 2], "ten of twelve");
    let html = dashboard.get("/").body;
    let rows = table_rows(section(&html, "Most frequent patterns"));
    let shown: Vec<u64> = rows.iter().filter_map(|row| plain_text(row[2]).parse().ok()).collect();
    assert_eq!(shown, counts, "the page has the same");
    dashboard.ends(Signal::SIGINT);
}

/// Value, hits and cases of each figure of the overview.
fn figures(dashboard: &Dashboard, query: &str) -> Vec<(String, Value)> {
    let document = dashboard.json(&format!("/api/v1/overview{query}"));
    let figures = document["figures"].as_array().expect("figures").iter();
    figures
        .map(|figure| {
            let numbers = json!([figure["value"], figure["hits"], figure["cases"]]);
            (figure["name"].as_str().expect("a name").to_owned(), numbers)
        })
        .collect()
}

/// Imports what another project recorded, all of it on a day of the past.
fn import_on_day(target: &Sandbox, source: &Sandbox, day: &str) {
    let folder = target.tmp().join(day);
    let export = ["store".as_ref(), "export".as_ref(), "--json".as_ref(), "--out".as_ref(), folder.as_os_str()];
    source.verify_run(export).prints_json();
    let times = regex::Regex::new(r"\b\d{4}-\d\d-\d\dT").expect("a pattern");
    for file in files_in(&folder) {
        let text = std::fs::read_to_string(&file).expect("a segment");
        std::fs::write(&file, &*times.replace_all(&text, format!("{day}T"))).expect("the segment");
    }
    let import = ["store".as_ref(), "import".as_ref(), folder.as_os_str(), "--json".as_ref()];
    let done = target.verify_run(import).prints_json();
    assert!(done["events"].as_u64() > Some(0) && done["bad"] == 0, "{done}");
}

#[test]
fn days_choose_what_was_recorded_on_them() {
    let [source, sandbox] = [discount_story(), warned_story()];
    let today = {
        let dashboard = Dashboard::start(&sandbox, &[]);
        let today = figures(&dashboard, "");
        dashboard.ends(Signal::SIGINT);
        today
    };
    import_on_day(&sandbox, &source, "2026-03-01");
    let dashboard = Dashboard::start(&sandbox, &[]);
    assert_eq!(figures(&dashboard, ""), today, "the last thirty days are as before");
    // Two tasks that failed at first, one of them fixed at the first attempt.
    for query in ["?from=2026-03-01&to=2026-03-01", "?from=2026-02-01&to=2026-03-31&category=test_failure"] {
        let of_day = figures(&dashboard, query);
        let numbers = |name: &str| of_day.iter().find(|(known, _)| known == name).expect("the figure").1.clone();
        assert_eq!(numbers("failing_tasks"), json!([1.0, 2, 2]), "{query}");
        assert_eq!(numbers("failures"), json!([2.0, null, 2]), "{query}");
        assert_eq!(numbers("first_time_pass"), json!([0.0, 0, 2]), "{query}");
        assert_eq!(numbers("attempts_to_fix"), json!([1.0, null, 1]), "{query}");
        assert_eq!(numbers("warnings_prevent"), json!([null, 0, 0]), "{query}");
        let html = dashboard.get(&format!("/{query}")).body;
        for (figure, (name, numbers)) in html.split("<li><h2>").skip(1).zip(&of_day) {
            let links = linked_texts(figure.split("<details>").next().expect("its numbers"));
            let counted = numbers[1].as_u64().or(numbers[2].as_u64()).expect("a number");
            assert_eq!(count_rows(&dashboard, &links[0].0), counted, "{query}: {name} {}", links[0].0);
        }
        let rows = table_rows(section(&html, "Categories"));
        let cells: Vec<String> = rows[0][..3].iter().map(|cell| plain_text(cell)).collect();
        assert_eq!((rows.len(), cells), (1, ["test failure", "2", "100 %"].map(str::to_owned).to_vec()), "{query}");
    }
    for query in ["?from=2026-03-02&to=2026-03-31", "?from=2026-03-01&to=2026-03-01&agent=codex"] {
        let count =
            |name: &str| figures(&dashboard, query).iter().find(|(known, _)| known == name).map(|it| it.1[2].clone());
        assert_eq!((count("failures"), count("failing_tasks")), (Some(json!(0)), Some(json!(0))), "{query}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn every_filter_changes_every_figure_and_the_address_alone_repeats_the_page() {
    let sandbox = warned_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let all = figures(&dashboard, "");
    assert_eq!(all.len(), 7, "{all:?}");
    // What a figure is about decides which filters it has: a run that passes has no category, and a failure is open
    // now, whenever it began.
    let without = |name: &str, filter: &str| {
        matches!((name, filter), ("first_time_pass", "category") | ("open_failures", "days"))
    };
    for (filter, queries) in [
        ("category", &["?category=lint_error", "?category=test_failure"][..]),
        ("agent", &["?agent=codex", "?agent=ada"]),
        ("tool", &["?tool=luacheck", "?tool=pytest"]),
        ("days", &["?from=2020-01-01&to=2020-01-02"]),
        ("all", &["?from=2020-01-01&to=2020-01-02&agent=codex&tool=pytest&category=test_failure"]),
    ] {
        let filtered: Vec<_> = queries.iter().map(|query| figures(&dashboard, query)).collect();
        for (place, (name, before)) in all.iter().enumerate() {
            // One value of a filter may leave all that there is.
            let is_changed = filtered.iter().any(|figures| figures[place].1 != *before);
            assert_eq!(is_changed, !without(name, filter), "{filter}: {name} is {before}, then {filtered:?}");
        }
        for query in queries {
            let (once, again) = (dashboard.get(&format!("/{query}")).body, dashboard.get(&format!("/{query}")).body);
            let numbers = |html: &str| plain_text(html.split("<ul class=\"figures\">").nth(1).expect("figures"));
            assert_eq!(numbers(&once), numbers(&again), "{query}");
            for row in table_rows(section(&once, "Categories")) {
                let links = addresses(row[0]);
                let rows = list_rows(&dashboard, &links[0], "failures").len();
                assert_eq!(plain_text(row[1]), rows.to_string(), "{query}: {links:?}");
            }
            for page in [once, dashboard.get(&format!("/patterns{query}")).body] {
                for row in table_rows(page.split("<th scope=\"col\">Severity").nth(1).unwrap_or_default()) {
                    let links = addresses(row[2]);
                    let rows = list_rows(&dashboard, &links[0], "failures").len();
                    assert_eq!(plain_text(row[2]), rows.to_string(), "{query}: {links:?}");
                }
            }
        }
    }
    dashboard.ends(Signal::SIGINT);
}
