use std::fs;
use std::io::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::lossless::Lossless;
use crate::event::Purge;
use crate::event::sample::{failed_run, folder, gate_step, key, passed_run, receipt, run_id, signed_receipt, snapshot};
use crate::store::tests::{dump, open, world};
use crate::store::{ReceiptFilter, mask_event};

fn file(dir: &Path, name: &str, parts: &[&[u8]]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, parts.concat()).expect("writes");
    path
}

fn purge(n: u64) -> Event {
    Event { id: run_id(1000 + n).0, ..Event::new(Timestamp(0), "w", EventBody::Purge(Purge { runs: vec![run_id(n)] })) }
}

/// Every file of the state folder as text.
fn everything(state: &Path) -> String {
    let mut folders = vec![state.to_owned()];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("reads").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path())
            } else {
                text.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).expect("reads")))
            }
        }
    }
    text
}

#[test]
fn what_is_torn_garbage_or_newer_is_named_and_the_rest_is_there() {
    let dir = folder();
    let (one, two) = (failed_run(1, "t", &["a"]).to_line(), passed_run(2, "t").to_line());
    let parts: &[&[u8]] = &[&one, b"not an event\n\n", b"{\"v\":99,\"kind\":\"dream\"}\n", &two, &one[..40]];
    let path = file(dir.path(), "ci.jsonl", parts);
    let mut store = open(&dir.path().join("state"));
    let done = store.import_segments(std::slice::from_ref(&path), ImportTrust::Used).expect("imports");
    assert_eq!((done.events, done.known, done.newer, done.bad), (2, 0, 1, 2));
    let faults: Vec<_> = done.faults.iter().map(|fault| (fault.line, fault.reason.as_str())).collect();
    let newer = "of a newer verify-run (version 99, kind \"dream\")";
    assert_eq!(faults, [(2, "not an event"), (4, newer), (6, "truncated")]);
    // Nothing of it makes this store unreadable.
    drop(store);
    let mut store = open(&dir.path().join("state"));
    assert_eq!(store.index().count_rows().expect("counts").runs, 2);
    let again = store.import_segments(&[path], ImportTrust::Used).expect("imports");
    assert_eq!((again.events, again.known), (0, 2));
}

#[test]
fn a_last_line_without_its_newline_is_an_event_all_the_same() {
    let dir = folder();
    let line = passed_run(2, "t").to_line();
    let path = file(dir.path(), "a.jsonl", &[line.strip_suffix(b"\n").expect("a newline")]);
    let mut store = open(&dir.path().join("state"));
    assert_eq!(store.import_segments(&[path], ImportTrust::Used).expect("imports").events, 1);
    assert!(store.index().has_event(run_id(2)).expect("reads"));
}

#[test]
fn compressed_segments_are_read_as_they_are() {
    let dir = folder();
    let packed = zstd::encode_all(passed_run(2, "t").to_line().as_slice(), 3).expect("packs");
    let path = file(dir.path(), "a.jsonl.zst", &[&packed]);
    let cut = file(dir.path(), "b.jsonl.zst", &[&packed[..packed.len() / 2]]);
    let mut store = open(&dir.path().join("state"));
    assert_eq!(store.import_segments(&[path], ImportTrust::Used).expect("imports").events, 1);
    assert!(matches!(store.import_segments(&[cut], ImportTrust::Used), Err(StoreError::Io { .. })));
}

#[test]
fn evidence_of_another_machine_is_shown_and_not_counted() {
    let dir = folder();
    let mut store = open(&dir.path().join("state"));
    // A file that claims to be this store's own.
    let own = store.writer_name().to_owned();
    let events = [passed_run(2, "t"), receipt(2), gate_step(1)].map(|event| Event { writer: own.clone(), ..event });
    let lines: Vec<Vec<u8>> = events.iter().map(Event::to_line).collect();
    let path = file(dir.path(), "a.jsonl", &[&lines.concat()]);
    let root = Lossless::from("/w");
    let steps = |store: &Store| store.index().gate_steps(&root).expect("reads").len();
    let receipts = |store: &Store| {
        let EventBody::Receipt(receipt) = &events[1].body else { panic!("a receipt") };
        let filter = ReceiptFilter::Command { digest: &receipt.state.command, writer: &own };
        store.index().list_receipts(store.segments(), filter, 9).expect("reads").len()
    };
    assert_eq!(store.import_segments(std::slice::from_ref(&path), ImportTrust::Shown).expect("imports").events, 3);
    assert_eq!((steps(&store), receipts(&store)), (0, 0));
    // Trusted, the rest counts as what was written here; a receipt never does.
    assert_eq!(store.import_segments(std::slice::from_ref(&path), ImportTrust::Used).expect("imports").known, 1);
    assert_eq!((steps(&store), receipts(&store)), (1, 0));
    assert!(!store.index().is_own_event(&events[1].id.to_string(), &own).expect("reads"));
}

#[test]
fn a_writer_s_name_is_no_path() {
    let dir = folder();
    let state = dir.path().join("state");
    let mut store = open(&state);
    let names = ["../../evil", "/etc/cron", "", "a/b", "a\0b", &"x".repeat(300), "w.jsonl", "wabc"];
    let hostile = |n: u64, name: &str| Event { writer: name.to_owned(), ..passed_run(n, "../../../t") };
    let lines: Vec<Vec<u8>> = names.iter().zip(1..).map(|(name, n)| hostile(n, name).to_line()).collect();
    let path = file(dir.path(), "x.jsonl", &[&lines.concat()]);
    assert_eq!(store.import_segments(&[path], ImportTrust::Used).expect("imports").events, names.len());
    let mut found: Vec<String> =
        store.segments().list_segments().expect("lists").into_iter().map(|segment| segment.name).collect();
    found.sort();
    assert_eq!(found, ["imported-1970-01.jsonl", "wabc-1970-01.jsonl"]);
    let beside: Vec<_> = fs::read_dir(dir.path()).expect("reads").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
}

#[test]
fn what_was_purged_here_or_there_is_nowhere_afterwards() {
    let dir = folder();
    let (secret, other) = (failed_run(1, "t", &["hunter2secret"]), failed_run(2, "t", &["fine"]));
    let with = file(dir.path(), "with.jsonl", &[&secret.to_line(), &other.to_line(), &snapshot(1, None).to_line()]);
    let order = file(dir.path(), "order.jsonl", &[&purge(1).to_line()]);
    // Purged there: before it comes here, with it, and after.
    for order in [[&order, &with], [&with, &order]] {
        for at_once in [true, false] {
            let state = folder();
            let mut store = open(state.path());
            let files: Vec<PathBuf> = order.into_iter().cloned().collect();
            if at_once {
                store.import_segments(&files, ImportTrust::Used).expect("imports");
            } else {
                files.iter().for_each(|file| {
                    drop(store.import_segments(std::slice::from_ref(file), ImportTrust::Used).expect("imports"))
                });
            }
            assert_eq!(store.index().count_rows().expect("counts").runs, 1);
            drop(store);
            let text = everything(state.path());
            assert!(!text.contains("hunter2") && text.contains("fine failed"), "at once: {at_once}");
            // Coming by once more changes nothing.
            let mut store = open(state.path());
            assert_eq!(
                store.import_segments(std::slice::from_ref(&with), ImportTrust::Used).expect("imports").purged,
                2
            );
            assert!(!everything(state.path()).contains("hunter2"));
        }
    }
}

#[test]
fn a_masked_evaluation_keeps_its_counts_and_no_text() {
    let item = json!({"id": "X1", "category": "c", "criterion": "c", "blocking": true, "status": "fail",
        "details": "hunter2", "reason": "hunter2", "commands": ["sh hunter2"],
        "findings": [{"path": "hunter2", "message": "hunter2"}]});
    let memory = json!({"queries": 4, "failures": 2, "patterns": 0, "decisions": 0, "files": 1,
        "findings": {"failures": ["hunter2"]}, "recommendations": ["hunter2"], "warning": "hunter2",
        "server": [{"question": "failures", "tool": "t", "count": 2, "text": "hunter2"}]});
    let review = json!({"model": "claude-opus-4", "verdict": "hunter2", "warning": "hunter2",
        "issues": [{"severity": "high", "path": "hunter2", "line": 7, "message": "hunter2", "fix": "hunter2", "blocking": true}],
        "links": [{"criterion": "AC-1", "test": "hunter2", "passed": false, "reason": "hunter2"}]});
    let outcome = json!({"step": "verdict", "work_tree": "/home/hunter2/shop", "evaluation": "g-1", "cycle": "g-1",
        "tree": "aa", "verdict": "reject", "items": [item], "issues": [{"kind": "MODEL", "message": "hunter2"}],
        "error": "e", "memory": memory, "review": review, "duration_us": 1});
    let note = serde_json::from_value(outcome).expect("a verdict");
    let masked = mask_event(Event::new(Timestamp(1), "w", EventBody::Gate(Box::new(note))));
    let line = String::from_utf8(masked.expect("an evaluation is exported").to_line()).expect("UTF-8");
    assert!(!line.contains("hunter2"), "{line}");
    for kept in [r#""failures":2"#, r#""count":2"#, r#""severity":"high""#, r#""model":"claude-opus-4""#] {
        assert!(line.contains(kept), "{kept} is not in {line}");
    }
}

#[test]
fn masked_events_are_recognised_and_say_nothing() {
    let dir = folder();
    let mut event = failed_run(1, "t", &["hunter2"]);
    if let EventBody::Run(run) = &mut event.body {
        run.argv.push("--password=hunter2".into());
        run.root = "/home/hunter2/project".into();
        let failure = run.failure.as_mut().expect("failed");
        failure.items[0].masked = "'hunter2' failed".into();
        failure.items[0].masked_family = "<*> failed".into();
        (run.branch, run.task) = (Some("fix/hunter2".into()), "fix/hunter2".into());
        failure.files.push("/home/hunter2/x".into());
    }
    let line = mask_event(event).expect("a run").to_line();
    assert_eq!(mask_event(signed_receipt(1)), None);
    assert!(
        !String::from_utf8_lossy(&line).replace(&key("hunter2"), "").replace("exact-hunter2", "").contains("hunter2")
    );
    let path = file(dir.path(), "x.jsonl", &[&line]);
    let mut store = open(&dir.path().join("state"));
    store.import_segments(&[path], ImportTrust::Used).expect("imports");
    let patterns = store.index().list_patterns(0, 9, None).expect("reads");
    assert_eq!(patterns[0].key, key("hunter2"));
    assert_eq!((patterns[0].failures, patterns[0].masked.as_str()), (1, "<*> failed"));
}

#[test]
fn a_line_without_end_is_no_event() {
    let mut long = vec![b'x'; 3 << 20];
    long.extend_from_slice(b"\n");
    let mut reader = BufReader::new(long.as_slice());
    skip_line(&mut reader).expect("reads");
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).expect("reads");
    assert!(rest.is_empty());
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&passed_run(1, "t").to_line()).expect("writes");
    let mut lines = 0;
    for_each_line(file.path(), |_, _, whole| {
        lines += usize::from(whole);
        Ok(())
    })
    .expect("reads");
    assert_eq!(lines, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// A hundred orders in which the same segments may arrive, split anywhere, some twice, give the same rows; and those
    /// of the store in which it all happened, but for what was purged there.
    #[test]
    fn a_hundred_orders_of_import_are_one(
        unique in world(10),
        seeds in prop::collection::vec(any::<u64>(), 25),
    ) {
        let here = folder();
        let mut store = open(here.path());
        store.append(&unique).expect("appends");
        // The events of what was purged are still events where they happened.
        let tables = |rows: &[String]| {
            let second = rows.iter().skip(1).position(|row| row.starts_with("SELECT ")).expect("a second table");
            rows[second + 1..].to_vec()
        };
        let wanted = tables(&dump(store.index()));
        let mut first: Option<Vec<String>> = None;
        for seed in seeds {
            // Fisher and Yates, with a multiplicative generator.
            let mut state = seed | 1;
            let mut next = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(state >> 33).expect("31 bits") % below
            };
            let mut shuffled = unique.clone();
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, next(at + 1));
            }
            let dir = folder();
            let cut = next(shuffled.len());
            let (a, b) = shuffled.split_at(cut);
            let lines = |events: &[Event]| events.iter().flat_map(Event::to_line).collect::<Vec<u8>>();
            let files = [("a", lines(a)), ("b", lines(b)), ("c", lines(&shuffled[..cut / 2]))];
            let mut store = open(&dir.path().join("state"));
            for (name, bytes) in files {
                let path = file(dir.path(), &format!("{name}.jsonl"), &[&bytes]);
                store.import_segments(&[path], ImportTrust::Used).expect("imports");
            }
            let rows = dump(store.index());
            for (name, one) in [("here", tables(&rows)), ("first", rows.clone())] {
                let other = if name == "here" { &wanted } else { &*first.get_or_insert_with(|| rows.clone()) };
                let (more, less): (Vec<_>, Vec<_>) = (
                    one.iter().filter(|row| !other.contains(row)).collect(),
                    other.iter().filter(|row| !one.contains(row)).collect(),
                );
                prop_assert!(more.is_empty() && less.is_empty(), "{name}: {more:#?} instead of {less:#?}");
            }
        }
    }
}

#[test]
fn what_unpacks_without_end_waits_for_ever_or_is_of_the_future_ends_with_an_error() {
    let dir = folder();
    let mut store = open(&dir.path().join("state"));
    let bomb = dir.path().join("bomb.jsonl.zst");
    let mut encoder = zstd::Encoder::new(fs::File::create(&bomb).expect("a file"), 19).expect("an encoder");
    let lines = b"{}\n".repeat(1 << 20);
    (0..64).for_each(|_| encoder.write_all(&lines).expect("packs"));
    encoder.finish().expect("packs");
    assert!(fs::metadata(&bomb).expect("is there").len() < 1 << 20);
    let error = store.import_segments(&[bomb], ImportTrust::Shown).expect_err("refused").to_string();
    assert!(error.contains("compressed too much"), "{error}");
    let fifo = dir.path().join("fifo.jsonl");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let error = store.import_segments(&[fifo], ImportTrust::Shown).expect_err("refused").to_string();
    assert!(error.contains("not a regular file"), "{error}");
    let mut late = failed_run(1, "t", &["a"]);
    late.at = Timestamp(253_370_764_800_000_000);
    let path = file(dir.path(), "late.jsonl", &[&late.to_line(), &passed_run(2, "t").to_line()]);
    let done = store.import_segments(&[path], ImportTrust::Shown).expect("imports");
    assert_eq!((done.events, done.bad, done.faults[0].reason.as_str()), (1, 1, "dated in the future"));
}

#[test]
fn a_trusted_import_takes_the_place_of_an_untrusted_one_in_any_order() {
    let dir = folder();
    let events: Vec<Event> = vec![failed_run(1, "t", &["a"]), passed_run(2, "t")];
    let path = file(
        dir.path(),
        "ci.jsonl",
        &events.iter().map(Event::to_line).collect::<Vec<_>>().iter().map(Vec::as_slice).collect::<Vec<_>>(),
    );
    for orders in [
        &[ImportTrust::Shown, ImportTrust::Used][..],
        &[ImportTrust::Used, ImportTrust::Shown],
        &[ImportTrust::Used, ImportTrust::Used],
    ] {
        let mut store = open(&tempfile::tempdir_in(dir.path()).expect("a folder").keep());
        let new: Vec<usize> = orders
            .iter()
            .map(|trust| store.import_segments(std::slice::from_ref(&path), *trust).expect("imports").events)
            .collect();
        assert_eq!(new, if orders[0] == ImportTrust::Shown { [2, 2] } else { [2, 0] });
        for rebuilt in [false, true] {
            if rebuilt {
                store.rebuild_index("").expect("rebuilds");
            }
            assert!(!store.index().is_imported(run_id(1)).expect("asks"), "{orders:?}");
            assert_eq!(store.index().count_rows().expect("counts").runs, 2);
        }
    }
    let mut store = open(&dir.path().join("shown"));
    store.import_segments(&[path], ImportTrust::Shown).expect("imports");
    assert!(store.index().is_imported(run_id(1)).expect("asks"));
}
