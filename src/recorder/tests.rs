//! The recorder over real folders, with spool files as wrappers write them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;
use crate::base::clock::Timestamp;
use crate::base::file;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::capture::{Identity, RepositoryHead, SPOOL_SCHEMA, SpoolHeader};
use crate::config::Environment;
use crate::event::{Event, EventBody, FixNote, Purge};
use crate::run::CommandEnd;
use crate::store::note::{self, WaitingNotes};
use crate::store::{Index, StoreCounts};
use crate::whitelist::{Check, CheckKind};

/// A project with a state folder of its own.
pub(crate) struct World {
    _dir: tempfile::TempDir,
    pub places: Places,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("project");
        fs::create_dir_all(root.join(".git/objects")).expect("folders");
        fs::create_dir_all(root.join(".git/refs")).expect("folders");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/topic\n").expect("a file");
        // No repository that git knows.
        fs::write(root.join("verify-run.toml"), "[snapshot]\nenabled = false\n").expect("a file");
        let environment = Environment {
            home: Some(dir.path().join("home")),
            tmpdir: Some(dir.path().join("tmp")),
            ..Environment::default()
        };
        let places = Places::find(&root, &environment);
        World { _dir: dir, places }
    }

    pub(crate) fn header(&self, at: i64, key: &str, ended: CommandEnd) -> SpoolHeader {
        let at = Timestamp(at * 1_000_000);
        SpoolHeader {
            schema: SPOOL_SCHEMA,
            run: RunId::fresh(),
            argv: vec![Lossless::from("npx"), Lossless::from("eslint")],
            cwd: Lossless::from(&self.places.root.join("web")),
            repository: RepositoryHead {
                root: Lossless::from(&self.places.root),
                head: Some("ref: refs/heads/topic".into()),
                commit: None,
            },
            started_at: at,
            ended_at: at,
            duration_us: 5,
            ended,
            check: Some(Check::new("eslint", CheckKind::Lint)),
            key: key.into(),
            identity: Identity::default(),
            kept_bytes: 0,
            cut_bytes: 0,
            cut_at: 0,
            shared: false,
            partly_seen: false,
            reader_left: false,
            interrupted: false,
            on_terminal: false,
            redacted: false,
            environment: None,
            observed_via: None,
            call: None,
            checked_state: None,
            tree: None,
        }
    }

    pub(crate) fn spool(&self, header: &SpoolHeader, output: &str) -> PathBuf {
        spool_into(&self.places.state, header, output)
    }

    fn log_pass(&self, header: &SpoolHeader) {
        file::create_private_dir(&self.places.state).expect("a folder");
        let path = self.places.state.join("passes.jsonl");
        let mut log = fs::OpenOptions::new().create(true).append(true).open(path).expect("opens");
        log.write_all(&line(header)).expect("writes");
    }

    fn counts(&self) -> StoreCounts {
        let index = Index::open_read(&self.places.state.index()).expect("opens").expect("is there");
        index.count_rows().expect("counts")
    }
}

fn line(header: &SpoolHeader) -> Vec<u8> {
    let mut line = serde_json::to_vec(header).expect("serialises");
    line.push(b'\n');
    line
}

fn spool_into(state: &Path, header: &SpoolHeader, output: &str) -> PathBuf {
    let spool = state.join("spool");
    file::create_private_dir(&spool).expect("a folder");
    let path = spool.join(format!("{}.spool", header.run));
    let bytes = [line(header), output.into()].concat();
    file::write_atomic(&path, &bytes, 0o600, file::Durability::Cached).expect("writes");
    path
}

const FAILED: CommandEnd = CommandEnd::Exit(1);
const PASSED: CommandEnd = CommandEnd::Exit(0);

#[test]
fn runs_are_recorded_once_and_the_spool_is_gone() {
    let world = World::new();
    let failed = world.header(1, "aa", FAILED);
    let bytes = fs::read(world.spool(&failed, "src/a.js: error: boom\n")).expect("reads");
    world.log_pass(&world.header(2, "bb", PASSED));
    world.log_pass(&world.header(3, "cc", PASSED));
    let drained = drain(&world.places).expect("drains");
    assert_eq!((drained.runs, drained.failures), (3, 1), "{drained:?}");
    assert!(pending_entries(&world.places).is_empty());
    // The same file again, as after a crash just before its removal.
    fs::write(world.places.state.join(format!("spool/{}.spool", failed.run)), bytes).expect("writes");
    assert_eq!(drain(&world.places).expect("drains").runs, 0);
    let counts = world.counts();
    assert_eq!((counts.runs, counts.failures, counts.tasks), (3, 1, 1));
}

#[test]
fn the_open_marker_follows_the_last_run_of_the_key() {
    let world = World::new();
    let open = |key: &str| world.places.state.join("open").join(key).exists();
    world.spool(&world.header(1, "aa", FAILED), "error: a\n");
    world.spool(&world.header(1, "bb", FAILED), "error: b\n");
    drain(&world.places).expect("drains");
    assert!(open("aa") && open("bb"));
    // A pass that the log has, and one with its output; and in one go a failure that was fixed before it was recorded.
    world.log_pass(&world.header(2, "aa", PASSED));
    world.spool(&world.header(2, "bb", PASSED), "all good\n");
    world.spool(&world.header(3, "cc", FAILED), "error: c\n");
    world.log_pass(&world.header(4, "cc", PASSED));
    drain(&world.places).expect("drains");
    assert!(!open("aa") && !open("bb") && !open("cc"));
    assert!(world.places.state.join("baseline/bb").exists());
}

#[test]
fn a_file_that_is_no_spool_is_set_aside_and_a_newer_one_is_left() {
    let world = World::new();
    let spool = world.places.state.join("spool");
    file::create_private_dir(&spool).expect("a folder");
    fs::write(spool.join("a.spool"), "rubbish").expect("writes");
    fs::write(spool.join("b.spool"), "{\"schema\":99}\nnew").expect("writes");
    fs::write(spool.join("c.spool"), "").expect("writes");
    world.spool(&world.header(1, "../../evil", FAILED), "error\n");
    let drained = drain(&world.places).expect("drains");
    assert_eq!(drained.runs, 1);
    assert_eq!(bad_files(&world.places), [spool.join("bad/a.spool"), spool.join("bad/c.spool")]);
    assert_eq!(drained.left.len(), 1);
    assert!(drained.left[0].1.contains("newer"), "{:?}", drained.left);
    assert!(spool.join("b.spool").exists());
    assert!(!world.places.state.join("../evil").exists());
    // Reported where a user looks.
    assert!(recent_log(&world.places.state, 9).join("\n").contains("b.spool"));
    assert!(drain(&world.places).expect("drains").bad.is_empty(), "not tried again");
}

#[test]
fn a_newer_store_keeps_its_spool() {
    let world = World::new();
    world.spool(&world.header(1, "aa", FAILED), "error\n");
    drain(&world.places).expect("drains");
    let segment = fs::read_dir(world.places.state.events()).expect("reads").flatten().next().expect("one").path();
    let mut log = fs::OpenOptions::new().append(true).open(&segment).expect("opens");
    log.write_all(b"{\"v\":99,\"kind\":\"run\"}\n").expect("writes");
    let waiting = world.spool(&world.header(2, "aa", FAILED), "error\n");
    assert!(drain(&world.places).expect_err("newer").is_newer());
    assert!(waiting.exists());
}

#[test]
fn fallback_folders_are_drained_too() {
    let world = World::new();
    for (n, dir) in world.places.fallbacks.iter().enumerate() {
        spool_into(dir, &world.header(i64::try_from(n).expect("small"), "aa", FAILED), "error\n");
    }
    assert_eq!(drain(&world.places).expect("drains").failures, world.places.fallbacks.len());
    assert!(pending_entries(&world.places).is_empty());
}

#[test]
fn a_killed_recorder_s_work_is_taken_up_at_every_step() {
    // What a recorder leaves behind when it dies after the event, and after the index.
    for steps in 0..2 {
        let world = World::new();
        let header = world.header(1, "aa", FAILED);
        let path = world.spool(&header, "error: boom\n");
        let kept = fs::read(&path).expect("reads");
        drain(&world.places).expect("drains");
        fs::write(&path, kept).expect("writes");
        fs::remove_dir_all(world.places.state.join("raw")).expect("removes");
        fs::remove_dir_all(world.places.state.join("open")).expect("removes");
        if steps == 0 {
            fs::remove_file(world.places.state.index()).expect("removes");
        }
        drain(&world.places).expect("drains");
        assert_eq!(world.counts().events, 1);
        assert!(world.places.state.join("open/aa").exists());
        assert!(world.places.state.join(format!("raw/{}.zst", header.run)).exists());
        assert!(pending_entries(&world.places).is_empty());
    }
}

#[test]
fn a_claimed_log_is_kept_until_late_lines_can_no_longer_come() {
    let world = World::new();
    world.log_pass(&world.header(1, "aa", PASSED));
    drain(&world.places).expect("drains");
    let claimed: Vec<PathBuf> = fs::read_dir(&world.places.state)
        .expect("reads")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("passes-")))
        .collect();
    assert_eq!(claimed.len(), 1);
    let mut late = fs::OpenOptions::new().append(true).open(&claimed[0]).expect("opens");
    late.write_all(&line(&world.header(2, "aa", PASSED))).expect("writes");
    assert_eq!(drain(&world.places).expect("drains").runs, 1);
    assert_eq!(world.counts().runs, 2);
}

#[test]
fn a_lesson_is_written_for_what_is_new_and_later_when_its_folder_could_not_be() {
    let world = World::new();
    let root = &world.places.root;
    let lessons = || -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(".lessons")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|is| is == "md")).collect()
    };
    world.spool(&world.header(1, "aa", FAILED), "error: first\n");
    let drained = drain(&world.places).expect("drains");
    assert_eq!(drained.lessons, lessons());
    assert_eq!(lessons().len(), 1);
    // Known, and cancelled: recorded, but nothing more to learn.
    world.spool(&world.header(2, "aa", FAILED), "error: first\n");
    world.spool(&world.header(3, "aa", CommandEnd::Signal(2)), "error: second\n");
    assert_eq!(drain(&world.places).expect("drains").failures, 2);
    assert_eq!(lessons().len(), 1);

    // A file is in the folder's way for a while: what can't be written waits.
    fs::write(root.join("verify-run.toml"), "[lesson]\nwrite = \"always\"\ndir = \"blocked/lessons\"\n")
        .expect("writes");
    fs::write(root.join("blocked"), "").expect("a file");
    world.spool(&world.header(4, "aa", FAILED), "error: third\n");
    let drained = drain(&world.places).expect("drains");
    assert!(drained.lessons.is_empty());
    assert!(drained.notes.join("\n").contains("tries again"), "{:?}", drained.notes);
    assert!(pending_entries(&world.places).is_empty(), "recorded all the same");
    fs::remove_file(root.join("blocked")).expect("removes");
    let drained = drain(&world.places).expect("drains");
    assert_eq!(drained.lessons.len(), 1, "{drained:?}");
    assert!(drain(&world.places).expect("drains").lessons.is_empty());
}

fn said(n: i64) -> Event {
    let note = FixNote { fix: "x-1".into(), cause: Some(format!("{n}")), ..FixNote::default() };
    Event::with_derived_id("said", &[&n.to_string()], Timestamp(n), "", EventBody::FixNote(note))
}

#[test]
fn a_note_is_taken_once_however_often_it_is_put_and_by_reading_commands_too() {
    let world = World::new();
    note::write_note(&world.places, &said(1)).expect("puts");
    note::write_note(&world.places, &said(1)).expect("puts again");
    note::write_note(&world.places, &said(2)).expect("puts");
    assert_eq!(pending_entries(&world.places).len(), 2);
    assert_eq!(drain_for_reading(&world.places).expect("drains").notes_taken, 2);
    assert_eq!(world.counts().events, 2);
    assert!(pending_entries(&world.places).is_empty());
    // A recorder that was killed before it removed the file, and the same note in a fallback.
    note::write_note(&world.places, &said(1)).expect("puts");
    let fallback = Places { state: world.places.fallbacks[0].clone(), ..world.places.clone() };
    note::write_note(&fallback, &said(3)).expect("puts");
    note::write_note(&world.places, &said(3)).expect("puts");
    assert_eq!(drain(&world.places).expect("drains").notes_taken, 1);
    assert_eq!(world.counts().events, 3);
    assert!(pending_entries(&world.places).is_empty());
    let segment = fs::read_dir(world.places.state.events()).expect("reads").flatten().next().expect("one").path();
    assert!(!fs::read_to_string(segment).expect("text").contains("\"writer\":\"\""), "the store's writer");
}

#[test]
fn a_note_that_is_taken_after_the_index_was_opened_is_still_known() {
    let world = World::new();
    note::write_note(&world.places, &said(1)).expect("puts");
    let waiting = WaitingNotes::read(&world.places);
    drain(&world.places).expect("drains");
    assert!(waiting.contains(said(1).id), "the index that was opened before has no such event");
    note::write_note(&world.places, &said(2)).expect("puts");
    assert!(waiting.contains(said(2).id) && !waiting.contains(said(3).id));
    assert!(!WaitingNotes::read(&world.places).contains(said(1).id));
}

#[test]
fn a_note_goes_to_a_stand_in_that_git_ignores_where_the_state_can_t_be_written() {
    let world = World::new();
    fs::write(&world.places.state, "in the way").expect("writes");
    note::write_note(&world.places, &said(1)).expect("puts");
    let stand_in = world.places.root.join(".lessons/.state");
    assert_eq!(fs::read_to_string(stand_in.join(".gitignore")).expect("reads"), "*\n");
    assert!(stand_in.join(format!("spool/{}.event", said(1).id)).exists());
    fs::remove_file(&world.places.state).expect("removes");
    assert_eq!(drain(&world.places).expect("drains").notes_taken, 1);
}

#[test]
fn torn_foreign_and_oversized_notes_are_set_aside_and_newer_ones_are_left() {
    let world = World::new();
    note::write_note(&world.places, &said(1)).expect("puts");
    let spool = world.places.state.join("spool");
    let line = said(2).to_line();
    let name = |event: &Event| spool.join(format!("{}.event", event.id));
    fs::write(name(&said(2)), &line[..line.len() - 1]).expect("writes");
    fs::write(name(&said(3)), "rubbish\n").expect("writes");
    fs::write(name(&said(4)), said(5).to_line()).expect("writes");
    fs::write(name(&said(6)), [vec![b' '; 300 << 10], said(6).to_line()].concat()).expect("writes");
    let purge = Event::new(Timestamp(0), "", EventBody::Purge(Purge { runs: vec![RunId::fresh()] }));
    fs::write(name(&purge), purge.to_line()).expect("writes");
    fs::write(name(&said(7)), "{\"v\":1,\"kind\":\"of_tomorrow\"}\n").expect("writes");
    assert!(note::write_note(&world.places, &purge).is_err(), "not put in the first place");
    let drained = drain(&world.places).expect("drains");
    assert_eq!((drained.notes_taken, drained.bad.len(), drained.left.len()), (1, 5, 1), "{drained:?}");
    assert!(drained.left[0].1.contains("newer"), "{:?}", drained.left);
    assert_eq!((world.counts().events, bad_files(&world.places).len()), (1, 5));
    assert!(name(&said(7)).exists());
    assert_eq!(drain(&world.places).expect("drains").bad.len(), 0, "not tried again");
}
