//! Folders that can't be written, disks that are full, a home or a working directory that isn't there.

use std::fs;
use std::path::{Path, PathBuf};

use verify_run::config::{Environment, Places};
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, VERIFY_RUN, can_mount, files_in};

/// A repository with a check that fails about the file named by `PART`, with words on both streams.
fn project() -> Sandbox {
    with_check(Sandbox::repository())
}

fn with_check(sandbox: Sandbox) -> Sandbox {
    let script = "echo \"src/$PART.lua:3:1: error: $PART went wrong\"; echo checked >&2; exit ${CODE:-3}";
    sandbox.tool("luacheck", script);
    sandbox
}

/// A shell line that makes a folder read-only for whoever runs it.
fn read_only(dir: &Path) -> String {
    let dir = dir.display();
    format!("mount --bind {dir} {dir} && mount -o remount,bind,ro {dir} && cd \"$PWD\"")
}

/// All files and folders below `dir`.
fn everything(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn a_read_only_repository_is_recorded_once_it_can_be_written() {
    if !can_mount() {
        return;
    }
    let sandbox = project();
    let locked = read_only(&sandbox.work());
    let outcome = sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").after_mounting(&locked));
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(3), "checked\n"));
    sandbox.settle();
    assert!(!sandbox.state().exists() && !sandbox.path(".lessons").exists());
    let waiting = || {
        let files = everything(&sandbox.home().join(".local/state"));
        files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "spool")).count()
    };
    assert_eq!(waiting(), 1);
    sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "b"));
    assert_eq!((sandbox.events().len(), sandbox.lessons().len(), waiting()), (2, 2, 0));
    assert_eq!(sandbox.git(["status", "--short"]), "");
}

#[test]
fn a_disk_that_is_read_only_everywhere_changes_nothing_for_the_caller() {
    if !can_mount() {
        return;
    }
    let sandbox = project();
    let top = sandbox.work().parent().expect("the sandbox's folder").to_owned();
    let before = everything(&top);
    for code in ["0", "3"] {
        let locked = read_only(&top);
        let outcome =
            sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").env("CODE", code).after_mounting(&locked));
        assert_eq!(outcome.ended, CommandEnd::Exit(code.parse().expect("a code")));
    }
    sandbox.settle();
    assert_eq!(everything(&top), before);
}

#[test]
fn a_lesson_whose_folder_is_read_only_is_written_later() {
    if !can_mount() {
        return;
    }
    let sandbox = project();
    sandbox.keep_lessons();
    fs::create_dir(sandbox.path(".lessons")).expect("a folder");
    let locked = read_only(&sandbox.path(".lessons"));
    sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").after_mounting(&locked));
    let events = sandbox.events();
    assert_eq!((events.len(), sandbox.lessons().len()), (1, 0));
    let log = fs::read_to_string(sandbox.state().join("recorder.log")).expect("the recorder's log");
    assert!(log.contains("the next run tries again"), "{log}");
    // A pass of the same tree would be a flake, which gets no lesson.
    sandbox.write("src/a.lua", "corrected\n");
    sandbox.commit("Correct it");
    sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").env("CODE", "0"));
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("a went wrong"), "{}", lesson.text);
    let promised = events[0]["failure"]["lesson"]["written"]["file"].as_str();
    assert_eq!(lesson.path.file_name().and_then(|name| name.to_str()), promised, "{}", events[0]);
    assert_eq!(sandbox.git(["status", "--short"]), "");
}

#[test]
fn disks_that_are_all_full_change_nothing_and_keep_no_half_files() {
    if !can_mount() {
        return;
    }
    let sandbox = with_check(Sandbox::new());
    let full = [sandbox.work(), sandbox.home(), sandbox.tmp()].map(|dir| {
        let dir = dir.display();
        format!(
            "mount -t tmpfs -o size=4k none {dir} && {{ head -c 1000000 /dev/zero >{dir}/filling 2>/dev/null || :; }}"
        )
    });
    let full = format!("{} && cd {}", full.join(" && "), sandbox.work().display());
    for code in ["0", "3"] {
        let outcome =
            sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").env("CODE", code).after_mounting(&full));
        assert_eq!(outcome.ended, CommandEnd::Exit(code.parse().expect("a code")));
        let line = format!("{VERIFY_RUN} --sync luacheck . >&2; find . ~ $TMPDIR -name .tmp-\\* -o -name \\*.spool");
        let run = sandbox.bare("sh").args(["-c", &line]).env("PART", "a").env("CODE", code);
        let outcome = run.after_mounting(&full).outcome();
        assert_eq!((outcome.stdout(), outcome.stderr.ends_with(b"checked\n")), ("", true));
    }
}

#[test]
fn without_a_home_the_repository_is_enough() {
    let sandbox = project();
    let before = everything(&sandbox.home());
    sandbox.as_bare(&["luacheck", "."], |run| {
        run.env("PART", "a").without("HOME").without("XDG_STATE_HOME").without("XDG_CONFIG_HOME")
    });
    assert_eq!(sandbox.events().len(), 1);
    assert_eq!(sandbox.lesson().list("files"), ["src/a.lua"]);
    assert_eq!(everything(&sandbox.home()), before);
}

#[test]
fn without_a_home_and_a_repository_the_lesson_is_written_all_the_same() {
    let sandbox = with_check(Sandbox::new());
    sandbox.as_bare(&["luacheck", "."], |run| {
        run.env("PART", "a").without("HOME").without("XDG_STATE_HOME").without("XDG_CONFIG_HOME")
    });
    let environment = Environment { tmpdir: Some(sandbox.tmp()), ..Environment::default() };
    let lessons = sandbox.lessons_in(&Places::find(&sandbox.work(), &environment).state);
    assert_eq!(lessons.iter().map(|lesson| lesson.list("files")).collect::<Vec<_>>(), [["src/a.lua"]]);
}

#[test]
fn a_working_directory_that_is_gone_changes_nothing() {
    let sandbox = project();
    let gone = "mkdir gone && cd gone && rmdir ../gone";
    let outcome = sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a").after(gone));
    assert_eq!(outcome.ended, CommandEnd::Exit(3));
    sandbox.as_bare(&["cat", "missing"], |run| run.after(gone));
    let outcome = sandbox.verify_run(["last"]).after(gone).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(1), ""));
    assert_ne!(outcome.stderr(), "");
}

#[test]
fn closed_streams_stay_closed_and_the_run_is_recorded() {
    let sandbox = project();
    let closed: [&[i32]; 6] = [&[0], &[1], &[2], &[1, 2], &[0, 1], &[0, 1, 2]];
    for (index, fds) in closed.iter().enumerate() {
        let part = "abcdef"[index..=index].to_owned();
        sandbox
            .as_bare(&["luacheck", "."], |run| fds.iter().fold(run.env("PART", &part), |run, fd| run.closed_fd(*fd)));
        let events = sandbox.events();
        assert_eq!(events.len(), index + 1, "closed: {fds:?}");
        assert_eq!(events[index]["ended"], serde_json::json!({ "exit": 3 }), "closed: {fds:?}");
    }
}

#[test]
fn the_recorder_needs_no_git() {
    let sandbox = project();
    let only_ours = sandbox.work().parent().expect("the sandbox's folder").join("bin");
    sandbox.as_bare(&[only_ours.join("luacheck").as_os_str(), ".".as_ref()], |run| {
        run.env("PART", "a").env("PATH", &only_ours)
    });
    let lesson = sandbox.lesson();
    assert_eq!((lesson.field("branch"), lesson.list("files")), (Some("main"), vec!["src/a.lua"]));
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    assert!(commit.starts_with(lesson.field("commit").expect("a commit")), "{}", lesson.text);
    assert_eq!(sandbox.git(["status", "--short"]), "");
}

#[test]
fn whatever_is_in_place_of_our_files_is_moved_aside_and_recording_goes_on() {
    let (as_file, as_folder, as_link) = (1, 2, 3);
    for (name, kind) in [
        ("events", as_file),
        ("raw", as_file),
        ("open", as_link),
        ("baseline", as_file),
        ("backup", as_link),
        ("unwritten", as_file),
        ("spool", as_file),
        ("spool", as_link),
        ("recorder.lock", as_folder),
        ("recorder.lock", as_link),
        ("recorder.log", as_link),
        ("store.db", as_folder),
        ("store.db", as_link),
        ("store.db-wal", as_link),
        ("writer", as_link),
    ] {
        let sandbox = project();
        let in_the_way = sandbox.state().join(name);
        fs::create_dir_all(sandbox.state()).expect("the state folder");
        match kind {
            1 => fs::write(&in_the_way, "in the way").expect("a file where a folder should be"),
            2 => fs::create_dir(&in_the_way).expect("a folder where a file should be"),
            _ => std::os::unix::fs::symlink(name, &in_the_way).expect("a link to itself"),
        }
        for part in ["a", "b"] {
            sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", part));
            sandbox.settle();
        }
        assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (2, 2), "{name} was in the way");
        assert_eq!(files_in(&sandbox.state().join("spool")), [] as [PathBuf; 0], "{name} was in the way");
        let report = sandbox.verify_run(["doctor", "--json"]).outcome();
        assert!(report.stdout().contains(&format!("{name}.aside-1")), "{name}: {}", report.stdout());
    }
}

#[test]
fn a_link_loop_or_a_folder_in_place_of_a_segment_is_moved_aside() {
    for is_folder in [true, false] {
        let sandbox = project();
        sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "a"));
        sandbox.settle();
        let segment = files_in(&sandbox.state().join("events")).pop().expect("a segment");
        fs::rename(&segment, segment.with_extension("moved")).expect("moves");
        if is_folder {
            fs::create_dir(&segment).expect("a folder")
        } else {
            std::os::unix::fs::symlink(&segment, &segment).expect("a link to itself")
        }
        sandbox.as_bare(&["luacheck", "."], |run| run.env("PART", "b"));
        sandbox.settle();
        assert_eq!(sandbox.events().len(), 1);
        let log = fs::read_to_string(sandbox.state().join("recorder.log")).expect("a log");
        assert!(log.contains(".jsonl.aside-1"), "{log}");
        assert_eq!(sandbox.verify_run(["store", "status", "--json"]).prints_json()["counts"]["runs"], 1);
    }
}

#[test]
fn a_damaged_page_anywhere_in_the_index_is_rebuilt_and_recording_goes_on() {
    let sandbox = project();
    for part in ["a", "b", "c", "d"] {
        sandbox.verify_run(["--sync", "luacheck", "."]).env("PART", part).outcome();
    }
    let index = sandbox.state().join("store.db");
    let sound = fs::read(&index).expect("an index");
    let page = usize::from(u16::from_be_bytes([sound[16], sound[17]]));
    let pages = sound.len() / page;
    let events = || sandbox.events().into_iter().filter(|event| event["kind"] == "run").count();
    let mut runs = events();
    for step in 0..8 {
        let damaged = 1 + step * (pages - 2) / 7;
        let mut bytes = fs::read(&index).expect("an index");
        let at = (damaged * page).min(bytes.len() - page);
        bytes[at..at + page].fill(0x5a);
        fs::write(&index, bytes).expect("damages");
        sandbox.verify_run(["--sync", "luacheck", "."]).env("PART", "e").outcome();
        runs += 1;
        assert_eq!(events(), runs, "page {damaged}");
        assert_eq!(files_in(&sandbox.state().join("spool")), [] as [PathBuf; 0], "page {damaged}");
        // What recording didn't come by is found by looking at everything.
        sandbox.verify_run(["doctor"]).outcome();
        let status = sandbox.verify_run(["store", "status", "--json"]).prints_json();
        assert_eq!(
            (&status["counts"]["runs"], &status["index_damage"]),
            (&runs.into(), &serde_json::Value::Null),
            "page {damaged}"
        );
    }
    let log = fs::read_to_string(sandbox.state().join("recorder.log")).expect("a log");
    assert!(log.contains("was damaged") && log.contains("store.db.damaged"), "{log}");
}
