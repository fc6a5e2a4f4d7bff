//! The pages of one pattern, one failure and one fix: what their commands print, in words and numbers.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::Dashboard;
use super::markup::{addresses, linked_texts, list_items, plain_text, section, table_rows, without_question_marks};
use super::served::list_rows;
use crate::fixes::check;
use crate::sandbox::Sandbox;

/// What a test run prints that stops at the first failing test.
const STOPPED: &str = "cat <<OUT
F
=================================== FAILURES ===================================
_________________________________ test_$FAILING _________________________________

    def test_$FAILING():
>       assert price() == 1
E       assert 2 == 1

tests/test_prices.py:$LINE: AssertionError
=========================== short test summary info ============================
FAILED tests/test_prices.py::test_$FAILING - assert 2 == 1
!!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!
1 failed in 0.02s
OUT
exit 1";

const UNDEFINED: &str = "src/x.lua:1:1: error: accessing undefined variable";
const UNUSED: &str = "src/x.lua:2:1: error: unused argument";
const LONG: &str = "src/x.lua:3:1: error: line is too long";
const SHADOWED: &str = "src/x.lua:4:1: error: shadowing an upvalue";

/// Mistakes that are mended in several attempts, avoided after a warning, and made again after one.
pub(super) fn mended_story() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.tool("luacheck", "test -s findings || exit 0; cat findings; exit 1");
    let lint = |task: &str, agent: &str, findings: &[&str]| {
        sandbox.write("findings", findings.iter().map(|line| format!("{line}\n")).collect::<String>());
        sandbox.write("src/x.lua", format!("{task} {findings:?}\n"));
        let ended = check(&sandbox, &["--task", task, "--agent", agent, "luacheck", "."]).ended;
        assert_eq!(ended.passed(), findings.is_empty());
    };
    let is_warned = |task: &str| {
        let warn = ["warn", "--json", "--task", task, "--session", task, "--files", "src/x.lua"];
        let warned = sandbox.verify_run(warn).prints_json();
        assert!(warned["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()), "{warned}");
    };
    lint("one", "codex", &[UNDEFINED, UNUSED, LONG]);
    lint("one", "codex", &[UNUSED, SHADOWED]);
    lint("one", "codex", &[]);
    lint("two", "ada", &[UNDEFINED]);
    lint("two", "ada", &[]);
    is_warned("four");
    lint("four", "ada", &[]);
    is_warned("three");
    lint("three", "codex", &[UNDEFINED]);
    for (failing, line) in [("first", "3"), ("second", "7"), ("", "")] {
        let script = STOPPED.replace("$FAILING", failing).replace("$LINE", line);
        sandbox.tool("pytest", if failing.is_empty() { "echo '2 passed in 0.02s'" } else { &script });
        sandbox.write("prices.py", format!("# {failing}\n"));
        check(&sandbox, &["--task", "prices", "pytest", "-q", "-x"]);
    }
    sandbox
}

/// The id of the pattern that was seen most.
fn most_frequent(dashboard: &Dashboard) -> String {
    let patterns = dashboard.json("/api/v1/patterns?state=all&order=failures")["patterns"].clone();
    assert!(patterns[0]["name"].as_str().is_some_and(|name| name.contains("undefined")), "{patterns}");
    patterns[0]["id"].as_str().expect("an id").to_owned()
}

fn counts_of(step: &Value) -> [u64; 4] {
    ["fixed", "introduced", "persisted", "not_reached"].map(|set| step[set]["count"].as_u64().unwrap_or(0))
}

fn counts_in_words([fixed, introduced, persisted, not_reached]: [u64; 4], between: &str) -> String {
    [
        format!("fixed {fixed}"),
        format!("introduced {introduced}"),
        format!("persisted {persisted}"),
        format!("not reached {not_reached}"),
    ]
    .join(between)
}

#[test]
fn a_fix_has_its_attempts_in_order_with_the_counts_of_its_command() {
    let sandbox = mended_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let listed = sandbox.verify_run(["fix", "list", "--limit", "100", "--json"]).prints_json();
    let (mut sums, mut most) = ([0; 4], 0);
    for fix in listed["fixes"].as_array().expect("fixes") {
        let id = fix["id"].as_str().expect("an id");
        let shown = sandbox.verify_run(["fix", "show", id, "--json"]).prints_json();
        let html = dashboard.get(&format!("/fixes/{id}")).body;
        let sections: Vec<&str> = html.split("<section id=\"a").skip(1).collect();
        let steps = shown["steps"].as_array().expect("steps");
        assert_eq!(sections.len(), steps.len(), "{html}");
        let mut last = 0;
        for (place, (step, html)) in (1..).zip(steps.iter().zip(sections)) {
            let html = html.split("</section>").next().expect("its end");
            assert!(html.starts_with(&format!("{place}\"")), "in order, each with its anchor: {html}");
            let number = step["number"].as_u64().expect("an attempt");
            assert!(number == last || number == last + 1, "{shown}");
            last = number;
            let text = plain_text(&format!("<{html}"));
            let outcome = step["outcome"].as_str().expect("an outcome").replace('_', " ");
            assert!(text.starts_with(&format!("Attempt {number}: {outcome} ")), "{text}");
            let counts = counts_of(step);
            assert!(text.contains(&format!(" · {} · run", counts_in_words(counts, " · "))), "{counts:?}: {text}");
            let run = format!("/runs/{}", step["run"].as_str().expect("a run"));
            assert!(addresses(html).contains(&run), "{run}: {html}");
            for line in step["diff"].as_str().into_iter().flat_map(str::lines).filter(|line| line.starts_with('+')) {
                assert!(text.contains(&plain_text(&line.replace('<', "&lt;"))), "{line}: {text}");
            }
            sums = std::array::from_fn(|set| sums[set] + counts[set]);
        }
        most = most.max(last);
        let attempts = shown["attempts"].as_u64().expect("a number");
        let head = plain_text(html.split("<section").next().expect("a head"));
        let said = if attempts == 1 { "· 1 attempt ·".to_owned() } else { format!("· {attempts} attempts ·") };
        assert!(head.contains(&said) && head.contains(shown["state"].as_str().expect("a state")), "{head}");
    }
    // Three of the linter's findings and what came in between, two tests, and the mistake of the second task.
    assert_eq!((sums, most), ([7, 2, 1, 1], 2), "fixed, introduced, persisted, not reached: {listed:#}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_pattern_has_the_counts_and_the_ledger_of_its_command() {
    let sandbox = mended_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let id = most_frequent(&dashboard);
    let shown = sandbox.verify_run(["pattern", "show", &id, "--json"]).prints_json();
    let document = dashboard.json(&format!("/api/v1/patterns/{id}"));
    let html = without_question_marks(&dashboard.get(&format!("/patterns/{id}")).body);

    assert_eq!((&shown["failures"], &shown["tasks"]), (&3.into(), &3.into()), "{shown}");
    let figure = |name: &str| plain_text(section(&html, name).split("</li>").next().expect("a figure"));
    let of_failures = html.split("<ul class=\"figures\">").nth(1).expect("figures");
    assert!(plain_text(of_failures).starts_with("Failures 3 in 3 tasks "), "{of_failures}");
    let fixes = sandbox.verify_run(["fix", "list", "--limit", "100", "--json"]).prints_json();
    let fixes = fixes["fixes"].as_array().expect("fixes").iter();
    let about = |fix: &&Value| fix["command"] == "luacheck ." && fix["state"] == "success";
    assert_eq!((fixes.filter(about).count(), &document["fixed"]), (2, &2.into()), "of the tasks one and two");
    let tried = document["fixes_tried"].as_u64().expect("a number");
    assert!(figure("Fix success").contains(&format!("2 of {tried} fixes that made it go away")), "{html}");
    assert!(figure("Prevention, observed").contains("1 of 2 warned tasks without the mistake"), "{html}");
    let confidence = shown["confidence"].as_f64().expect("a number");
    assert!(plain_text(&html).contains(&format!("confidence {confidence:.2} (lower bound")), "{html}");

    let ledger = &shown["ledger"];
    let steps = ledger["steps"].as_array().expect("steps");
    let rows = table_rows(section(&html, "Confidence, step by step"));
    assert_eq!(rows.len(), steps.len() + 1, "{rows:?}");
    let number = |value: &Value| format!("{:.2}", value.as_f64().expect("a number"));
    assert_eq!(
        rows[0].iter().map(|cell| plain_text(cell)).collect::<Vec<_>>()[1..],
        ["start".to_owned(), String::new(), number(&ledger["start"])]
    );
    assert!(steps.len() >= 4, "two more tasks, one that was prevented, one that failed anyway: {ledger}");
    for (row, step) in rows[1..].iter().zip(steps) {
        let cells: Vec<String> = row.iter().map(|cell| plain_text(cell)).collect();
        let what = step["what"].as_str().expect("words").to_owned();
        assert_eq!(cells[1..], [what, number(&step["delta"]), number(&step["after"])]);
        let run = format!("/runs/{}", step["event"].as_str().expect("an event"));
        assert_eq!(addresses(row[1]), [run.as_str()], "one link each");
        assert_eq!(dashboard.get(&run).status, 200, "{run}");
    }
    assert_eq!(steps.last().map(|step| number(&step["after"])), Some(format!("{confidence:.2}")));

    let occurrences = shown["occurrences"].as_array().expect("occurrences");
    let rows = table_rows(section(&html, "Occurrences"));
    assert_eq!((rows.len(), occurrences.len()), (3, 3));
    for (row, seen) in rows.iter().zip(occurrences) {
        let [failure, task] = ["failure", "task"].map(|name| seen[name].as_str().expect("a name"));
        assert_eq!(addresses(row[1]), [format!("/failures/{failure}")]);
        assert_eq!(linked_texts(row[3]), [(format!("/tasks/{task}"), task.to_owned())]);
        assert_eq!(plain_text(row[2]), "src/x.lua:1");
        assert!(plain_text(row[1]).starts_with("accessing undefined variable"), "{row:?}");
    }
    let tasks: Vec<&str> = occurrences.iter().filter_map(|seen| seen["task"].as_str()).collect();
    assert_eq!(tasks, ["three", "two", "one"], "the newest first");
    let what_to_do: Vec<String> =
        list_items(section(&html, "What to do")).iter().map(|item| plain_text(item)).collect();
    let helped = |strategy: &&Value| strategy["successes"].as_u64() > Some(0);
    let strategies: Vec<&Value> = shown["strategies"].as_array().expect("strategies").iter().filter(helped).collect();
    assert!(!strategies.is_empty() && what_to_do.len() == strategies.len().min(5), "{strategies:?} {what_to_do:?}");
    for (item, strategy) in what_to_do.iter().zip(strategies) {
        let (successes, tries) = (&strategy["successes"], &strategy["tries"]);
        let label = plain_text(&strategy["label"].as_str().expect("a label").replace('<', "&lt;"));
        assert!(item.starts_with(&label) && item.contains(&format!("helped {successes} of {tries} time")), "{item}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_failure_leads_to_its_fix_its_run_and_the_occurrences_around_it() {
    let sandbox = mended_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let id = most_frequent(&dashboard);
    let mut in_time = list_rows(&dashboard, &format!("/failures?pattern={id}&limit=2"), "failures");
    in_time.sort_by_key(|line| line["at"].as_str().map(str::to_owned));
    let ids: Vec<&str> = in_time.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids.len(), 3);
    // The link of one of a failure's patterns with this relation.
    let neighbour = |failure: &str, relation: &str| {
        let html = dashboard.get(&format!("/failures/{failure}")).body;
        let patterns = list_items(section(&html, "Patterns"));
        let of_pattern = |item: &&&str| addresses(item).contains(&format!("/patterns/{id}"));
        let item = patterns.iter().find(of_pattern).unwrap_or_else(|| panic!("{failure}: {html}"));
        let mut links = item.split("<a ").filter(|link| link.starts_with(&format!("rel=\"{relation}\"")));
        let link = links.next().map(|link| addresses(&format!("<a {link}")).remove(0));
        link.and_then(|link| link.strip_prefix("/failures/").map(str::to_owned))
    };
    for (relation, order) in [("next", ids.clone()), ("prev", ids.iter().rev().copied().collect())] {
        let mut seen = vec![order[0].to_owned()];
        while let Some(next) = neighbour(&seen[seen.len() - 1], relation) {
            seen.push(next);
            assert!(seen.len() <= order.len(), "{relation}: {seen:?}");
        }
        assert_eq!(seen, order, "{relation}");
    }

    for line in &in_time {
        let failure = line["id"].as_str().expect("an id");
        let shown = sandbox.verify_run(["show", failure, "--json"]).prints_json();
        let html = dashboard.get(&format!("/failures/{failure}")).body;
        let [task, run] = ["task", "run"].map(|name| shown[name].as_str().expect("a name"));
        let items = shown["items"].as_array().expect("items");
        assert!(html.contains(&format!("<h2>What failed ({})</h2>", items.len())), "{html}");
        for (item, html) in items.iter().zip(list_items(section(&html, "What failed"))) {
            let text = plain_text(html);
            assert!(text.contains(item["message"].as_str().expect("a message")), "{item}: {text}");
            assert!(text.starts_with(&format!("src/x.lua:{} ", item["line"])), "{item}: {text}");
        }
        let found = addresses(&html);
        let mut wanted = vec![format!("/tasks/{task}"), format!("/runs/{run}"), format!("/runs/{run}/output")];
        wanted.extend(line["fix"].as_str().map(|fix| format!("/fixes/{fix}")));
        wanted.extend(shown["lesson"].as_str().map(|lesson| format!("/lessons/{lesson}")));
        for address in wanted {
            assert!(found.contains(&address), "{address}: {html}");
            assert_eq!(dashboard.get(&address).status, 200, "{address}");
        }
        assert!(plain_text(section(&html, "Run it again")).contains("luacheck ."), "{html}");

        // The way from it to its fix is that of the fix.
        let steps: Vec<String> =
            list_items(section(&html, "From the failure")).iter().map(|step| plain_text(step)).collect();
        assert!(steps[0].contains(" failed · "), "{steps:?}");
        let Some(fix) = line["fix"].as_str() else {
            assert_eq!((task, steps.len()), ("three", 1), "it is open");
            assert!(plain_text(&html).contains("✕ open"), "{html}");
            continue;
        };
        let attempts = sandbox.verify_run(["fix", "show", fix, "--json"]).prints_json()["steps"].clone();
        let attempts = attempts.as_array().expect("steps");
        assert_eq!(steps.len(), attempts.len() + 1, "{steps:?} {attempts:?}");
        for (step, attempt) in steps[1..].iter().zip(attempts) {
            assert!(step.contains(&counts_in_words(counts_of(attempt), ", ")), "{step} {attempt}");
            assert!(step.contains(attempt["outcome"].as_str().expect("an outcome")), "{step} {attempt}");
        }
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_failure_whose_output_names_no_problem_links_to_no_pattern() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "exit 1");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let failure = dashboard.json("/api/v1/failures")["failures"][0].clone();
    let html = dashboard.get(&format!("/failures/{}", failure["id"].as_str().expect("an id"))).body;
    assert!(plain_text(section(&html, "What failed")).contains("no output that names a problem"), "{html}");
    for address in addresses(&html).iter().filter(|address| address.starts_with('/')) {
        assert_eq!(dashboard.get(address).status, 200, "{address}");
    }
    dashboard.ends(Signal::SIGINT);
}
