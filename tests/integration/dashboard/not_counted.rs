//! A proven flake and a weakened pass: shown, and in no rate.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::Dashboard;
use crate::fixes::check;
use crate::sandbox::Sandbox;

/// Fails while the test is there, by its name.
const PYTEST: &str = "if grep -q test_total tests/test_shop.py; then
    printf 'FAILED tests/test_shop.py::test_total - assert 4 == 3\\n1 failed in 0.1s\\n'; exit 1
fi
echo '1 passed in 0.1s'";
/// Fails while the source is wrong, or when it is said to.
const LUACHECK: &str = "if grep -q wrong src/x.lua || test -e \"$FLAG\"; then
    echo 'src/x.lua:1:1: error: accessing undefined variable'; exit 1
fi";

/// The figures that are rates, and the fixes by category.
fn rates(sandbox: &Sandbox) -> Value {
    let overview = sandbox.verify_run(["stats", "--json"]).prints_json()["overview"].clone();
    let figures = overview["figures"].as_array().expect("figures").iter();
    let of = |name: &str| {
        let figure = figures.clone().find(|it| it["name"] == name).expect("a figure");
        json!([figure["value"], figure["hits"], figure["cases"]])
    };
    let fixes = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    json!({
        "failing": of("failing_tasks"), "failures": of("failures"), "first": of("first_time_pass"),
        "attempts": of("attempts_to_fix"), "fixes": fixes["rates"],
    })
}

#[test]
fn a_proven_flake_and_a_weakened_pass_are_listed_and_change_no_rate() {
    let sandbox = Sandbox::repository();
    sandbox.tool("pytest", PYTEST);
    sandbox.tool("luacheck", &LUACHECK.replace("$FLAG", &sandbox.tmp().join("flag").display().to_string()));
    sandbox.write("tests/test_shop.py", "def test_total():\n    assert 4 == 3\n");
    sandbox.write("src/x.lua", "wrong");
    sandbox.commit("A shop");
    let ends = |task: &str, command: &[&str], code: u8| {
        let outcome = check(&sandbox, &[&["--task", task], command].concat());
        assert_eq!(outcome.ended, CommandEnd::Exit(code), "{}{}", outcome.stdout(), outcome.stderr());
    };
    let (lint, test) = (["luacheck", "."], ["pytest", "-q"]);
    // A failure with its fix, a failure that is open, and a pass at once.
    ends("fixed", &lint, 1);
    sandbox.write("src/x.lua", "right");
    ends("fixed", &lint, 0);
    ends("weak", &test, 1);
    ends("flaky", &lint, 0);
    let before = rates(&sandbox);
    assert_eq!(before["failing"], json!([2.0 / 3.0, 2, 3]));
    let dashboard = Dashboard::start(&sandbox, &[]);
    let shown = |dashboard: &Dashboard| -> Vec<String> {
        let html = dashboard.get("/").body;
        let values = html.split("<p class=\"value\">").skip(1).filter_map(|rest| rest.split("</p>").next());
        values.map(|value| value.split_once('>').expect("a link").1.to_owned()).collect()
    };
    let values = shown(&dashboard);
    assert_eq!(values[0], "67 %</a>", "tasks that fail: {values:?}");
    assert!(dashboard.get("/").body.contains("Every failure of these days is counted above."));
    dashboard.ends(Signal::SIGINT);

    sandbox.write("tests/test_shop.py", "def test_other():\n    assert True\n");
    ends("weak", &test, 0);
    let mut after = rates(&sandbox);
    // That the check was made to pass is a workflow, and no fix.
    assert_eq!(after["fixes"], before["fixes"]);
    for _ in 0..2 {
        std::fs::write(sandbox.tmp().join("flag"), "").expect("a file");
        ends("flaky", &lint, 1);
        std::fs::remove_file(sandbox.tmp().join("flag")).expect("it is there");
        ends("flaky", &lint, 0);
        after = rates(&sandbox);
    }
    assert_eq!(after, before);

    let dashboard = Dashboard::start(&sandbox, &[]);
    // The last but one is about open failures: the weakened pass closed one.
    assert_eq!(shown(&dashboard)[..5], values[..5]);
    let overview = dashboard.get("/").body;
    let said = "2 failures of 1 proven flake, 0 cancelled runs</a>, <a href=\"/fixes?state=weakened\">1 pass with a weakened check";
    assert!(overview.contains("Not counted above:") && overview.contains(said), "{overview}");
    let weakened = sandbox.verify_run(["fix", "list", "--state", "weakened", "--json"]).prints_json();
    let [fix] = &weakened["fixes"].as_array().expect("a list")[..] else { panic!("{weakened}") };
    let rows = |path: &str| -> Vec<String> {
        let html = dashboard.get(path).body;
        let rows = html.split("<tbody>").nth(1).expect("a table").split("</tbody>").next().expect("its end");
        rows.split("<tr>").skip(1).map(str::to_owned).collect()
    };
    let [row] = &rows("/fixes?state=weakened")[..] else { panic!("one fix") };
    assert!(row.contains(&format!("/fixes/{}", fix["id"].as_str().expect("an id"))), "{row}");
    assert!(row.contains(">weakened") && row.contains("pytest -q") && row.contains("/tasks/weak"), "{row}");
    assert!(rows("/fixes?state=success").iter().all(|row| !row.contains("/tasks/weak")), "it is no success");
    let not_counted = rows("/failures?state=not-counted");
    assert_eq!(not_counted.len(), 2, "{not_counted:?}");
    assert!(
        not_counted.iter().all(|row| row.contains(">flaky</span>") && row.contains("/tasks/flaky")),
        "{not_counted:?}"
    );
    assert!(rows("/flakes")[0].contains("proven"), "{:?}", rows("/flakes"));
    dashboard.ends(Signal::SIGINT);
}
