//! The records behind the pages: an index that is gone, events in another order, a newer version's, and none any more.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use super::Dashboard;
use super::decisions::all_files;
use super::live::export;
use super::pages::RAIL;
use super::record_pages::mended_story;
use super::served::warned_story;
use crate::sandbox::{Sandbox, files_in};
use crate::story::discount_story;

/// Documents that say everything about the story, by address; without what changes while it is asked.
fn documents(dashboard: &Dashboard) -> BTreeMap<String, String> {
    let lists =
        ["overview", "patterns?state=all", "failures", "fixes", "tasks", "files", "warnings", "audit", "knowledge"];
    let mut found: BTreeMap<String, String> = lists
        .iter()
        .map(|list| {
            let mut document = dashboard.json(&format!("/api/v1/{list}"));
            let patterns = document["patterns"].as_array_mut().into_iter().flatten();
            for pattern in patterns.filter_map(|pattern| pattern.as_object_mut()) {
                pattern.remove("frequency");
            }
            ((*list).to_owned(), document.to_string())
        })
        .collect();
    for fix in dashboard.json("/api/v1/fixes")["fixes"].as_array().expect("fixes") {
        let address = format!("fixes/{}", fix["id"].as_str().expect("an id"));
        found.insert(address.clone(), dashboard.json(&format!("/api/v1/{address}")).to_string());
    }
    found
}

fn remove_index(sandbox: &Sandbox) {
    let files = files_in(&sandbox.state()).into_iter();
    let parts =
        files.filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("store.db")));
    parts.for_each(|file| std::fs::remove_file(file).expect("a part of the index"));
    assert!(!sandbox.state().join("store.db").exists());
}

#[test]
fn without_its_index_the_dashboard_has_the_same_pages() {
    let sandbox = warned_story();
    let file = export(&sandbox, &["before.html"]);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let before = documents(&dashboard);
    dashboard.ends(Signal::SIGINT);

    remove_index(&sandbox);
    let dashboard = Dashboard::start(&sandbox, &[]);
    assert_eq!(dashboard.get("/").status, 200);
    assert_eq!(documents(&dashboard), before);
    dashboard.ends(Signal::SIGINT);
    assert!(file == export(&sandbox, &["after.html"]), "the bytes are the same");

    // And without a server in between.
    remove_index(&sandbox);
    let rebuilt = sandbox.verify_run(["dashboard", "export", "alone.html"]).outcome();
    assert!(rebuilt.ended.passed(), "{}", rebuilt.stderr());
    assert!(file == std::fs::read(sandbox.path("alone.html")).expect("the file"), "the bytes are the same");
}

#[test]
fn the_order_in_which_records_are_imported_changes_no_byte() {
    let target = Sandbox::repository();
    let sources = [warned_story(), discount_story(), mended_story()];
    let folders: Vec<PathBuf> = sources
        .iter()
        .enumerate()
        .map(|(number, source)| {
            let folder = target.tmp().join(format!("source-{number}"));
            let arguments =
                ["store".as_ref(), "export".as_ref(), "--json".as_ref(), "--out".as_ref(), folder.as_os_str()];
            source.verify_run(arguments).prints_json();
            folder
        })
        .collect();
    let mut files = Vec::new();
    for (number, order) in [[0, 1, 2], [2, 0, 1], [1, 2, 0]].into_iter().enumerate() {
        for folder in order {
            let folder: &PathBuf = &folders[folder];
            let import = ["store".as_ref(), "import".as_ref(), folder.as_os_str(), "--json".as_ref()];
            let done = target.verify_run(import).prints_json();
            assert!(done["events"].as_u64() > Some(0) && done["bad"] == 0, "{done}");
        }
        let dashboard = Dashboard::start(&target, &[]);
        let counted = dashboard.json("/api/qa/failures/dashboard")["total_failures"]["count"].clone();
        dashboard.ends(Signal::SIGINT);
        files.push((counted, export(&target, &[&format!("order-{number}.html")])));
        std::fs::remove_dir_all(target.state()).expect("removes the records");
    }
    assert!(files[0].0.as_u64() > Some(6), "failures of all three: {}", files[0].0);
    for (counted, bytes) in &files[1..] {
        assert_eq!((counted, bytes.len()), (&files[0].0, files[0].1.len()));
        assert!(*bytes == files[0].1, "the bytes are the same");
    }
}

#[test]
fn of_records_of_a_newer_version_every_page_says_so_and_nothing_is_written() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let pattern = dashboard.json("/api/v1/patterns")["patterns"][0]["id"].as_str().expect("an id").to_owned();
    let index = rusqlite::Connection::open(sandbox.state().join("store.db")).expect("opens");
    index.pragma_update(None, "user_version", 9_999).expect("a later version");
    index.close().expect("closes");
    let recorded = || {
        // What readers of the index have in common is no record.
        let left_out =
            |file: &PathBuf| ["lock", "db-shm"].iter().any(|it| file.extension().is_some_and(|own| own == *it));
        let files = all_files(&sandbox.state()).into_iter().filter(|file| !left_out(file));
        files.map(|file| (file.clone(), std::fs::read(&file).expect("a file"))).collect::<BTreeMap<_, _>>()
    };
    let before = recorded();
    for path in RAIL {
        let answer = dashboard.get(path);
        assert_eq!(answer.status, 503, "{path}: {}", answer.body);
        for text in ["A newer version of verify-run wrote the records.", "run `cargo install verify-run`", "9999"] {
            assert!(answer.body.contains(text), "{path} has no {text}: {}", answer.body);
        }
    }
    for path in ["/api/v1/overview", "/api/v1/inbox", "/api/qa/failures/dashboard", "/api/knowledge/stats"] {
        let problem = dashboard.get(path);
        assert_eq!(
            (problem.status, &problem.json()["hint"]),
            (503, &"run `cargo install verify-run`".into()),
            "{path}"
        );
    }
    let written = dashboard.post(&format!("/api/v1/patterns/{pattern}/mute"), "{\"by\":\"Ada\"}");
    assert_eq!((written.status, &written.json()["type"]), (503, &"/problems/newer-store".into()));
    let body = r#"{"decision":"d","context":"c","agentId":"a"}"#;
    assert_eq!(dashboard.post("/api/knowledge/decision", body).status, 503);
    let exported = sandbox.verify_run(["dashboard", "export", "newer.html"]).outcome();
    assert!(!exported.ended.passed() && exported.stderr().contains("cargo install verify-run"), "{exported:?}");
    assert!(!sandbox.path("newer.html").exists());
    let after = recorded();
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let changed: Vec<&PathBuf> = before.keys().filter(|file| before[*file] != after[*file]).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn when_the_records_are_removed_pages_are_as_before_the_first_run() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let pattern = dashboard.json("/api/v1/patterns")["patterns"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(dashboard.get("/").status, 200);
    std::fs::remove_dir_all(sandbox.state()).expect("removes the records");
    let own = format!("/patterns/{pattern}");
    for path in RAIL.iter().copied().chain([own.as_str()]) {
        let answer = dashboard.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(!answer.body.contains("test_total_with_discount"), "{path}: {}", answer.body);
    }
    for path in ["/", "/patterns", "/failures", "/fixes", own.as_str()] {
        assert!(dashboard.get(path).body.contains("<pre>verify-run npm test</pre>"), "{path}");
    }
    assert_eq!(dashboard.json("/api/qa/failures/dashboard")["total_failures"]["count"], 0);
    dashboard.ends(Signal::SIGINT);
}
