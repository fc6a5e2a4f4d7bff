//! Every limit, named with its unit. What a limit cuts off is counted where it is cut, never dropped silently.

/// Output kept from the start of a run, bytes.
pub const CAPTURE_HEAD_BYTES_MAX: usize = 1 << 20;
/// Output kept from the end of a run, bytes.
pub const CAPTURE_TAIL_BYTES_MAX: usize = 15 << 20;
/// Output that a failing run writes to its spool file before it returns, bytes; more is written by a forked child.
pub const SPOOL_SYNC_BYTES_MAX: usize = 256 << 10;
/// A line is matched on its first N bytes (the figure of jenkinsci/analysis-model, JENKINS-55805).
pub const LINE_MATCH_BYTES_MAX: usize = 4_000;
/// Lines of an output that are read for a diagnosis; what is between the first and the last is counted.
pub const OUTPUT_LINES_MAX: usize = 200_000;
/// … and of these the first ones.
pub const OUTPUT_HEAD_LINES_MAX: usize = 20_000;
/// Values kept of a JSON document that a tool printed; further elements of lists are counted.
pub const DOCUMENT_VALUES_MAX: usize = 300_000;
/// A text in it, bytes.
pub const DOCUMENT_TEXT_BYTES_MAX: usize = 8 << 10;
/// Affected files kept of one run; the rest is counted.
pub const FAILURE_FILES_MAX: usize = 2_000;
/// Names of affected files in a lesson, bytes; the rest is counted.
pub const LESSON_FILES_BYTES_MAX: usize = 16 << 10;
/// Patterns named in a lesson; the rest is counted.
pub const LESSON_PATTERNS_MAX: usize = 500;
/// Items kept of one run; the rest is counted.
pub const ITEMS_MAX: usize = 2_000;
/// Diagnostics taken from one document (JSON, XML, a table) that a tool printed.
pub const DOCUMENT_ENTRIES_MAX: usize = 2_000;
/// A lesson file, bytes.
pub const LESSON_BYTES_MAX: usize = 16 << 10;
/// The block of kept lines in a lesson, bytes (setting `lesson.lines_bytes`).
pub const LESSON_LINES_BYTES_MAX: usize = 4 << 10;
/// A layer of the whitelist or of the settings, bytes; a larger file is refused with its name.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1 << 20;
/// Files of tool definitions in one layer's folder; further ones are named and left out.
pub const DEFINITION_FILES_MAX: usize = 200;
/// Rules in one layer of tool definitions.
pub const DEFINITION_RULES_MAX: usize = 500;
/// Detectors in one layer.
pub const DETECTORS_MAX: usize = 100;
/// A compiled regex of a definition, and its cache, bytes each.
pub const DEFINITION_REGEX_BYTES_MAX: usize = 1 << 20;
/// A report that a command wrote and named, bytes; a larger one is not read.
pub const REPORT_BYTES_MAX: u64 = 4 << 20;
/// Reports read of one run.
pub const REPORTS_MAX: usize = 8;
/// Names in an output that are looked at for a report.
pub const REPORT_NAMES_MAX: usize = 200;
/// A file of git that holds one line (`HEAD`, `.git`, `commondir`), bytes.
pub const GIT_FILE_BYTES_MAX: u64 = 8_192;
/// How long a recorder of its own waits for who holds the lock while runs wait to be recorded, milliseconds.
pub const HOLDER_WAIT_MS_MAX: u64 = 2_000;
/// How long a reading command waits for the recorder's lock, milliseconds.
pub const LOCK_WAIT_MS_MAX: u64 = 5_000;
/// How long `--sync` may record before it returns, milliseconds.
pub const SYNC_MS_MAX: u64 = 10_000;
/// `raw/` is rotated at this size, bytes.
pub const RAW_BYTES_MAX: u64 = 200 << 20;
/// … and at this age, days.
pub const RAW_DAYS_MAX: u64 = 30;
/// A snapshot of the work tree may take so long, milliseconds (setting `snapshot.time_ms`).
pub const SNAPSHOT_MS_MAX: u64 = 3_000;
/// A file of the work tree that is larger is in no snapshot, bytes (setting `snapshot.file_bytes`).
pub const SNAPSHOT_FILE_BYTES_MAX: u64 = 5 << 20;
/// Contents that one snapshot may read, bytes; more is not source code.
pub const SNAPSHOT_NEW_BYTES_MAX: u64 = 200 << 20;
/// Files with a filter (LFS) that one snapshot tells by their hash.
pub const SNAPSHOT_FILTERED_MAX: usize = 500;
/// What git may print of a work tree or a comparison, bytes.
pub const SNAPSHOT_LISTING_BYTES_MAX: usize = 64 << 20;
/// What git says when it fails, bytes.
pub const SNAPSHOT_MESSAGE_BYTES_MAX: usize = 4 << 10;
/// `info/exclude`, `info/attributes`, and what is remembered of a work tree, bytes.
pub const SNAPSHOT_INFO_BYTES_MAX: u64 = 1 << 20;
/// A work tree of which there was no snapshot twice is left alone for so long, seconds; twice as long each time …
pub const SNAPSHOT_PAUSE_SECONDS_MIN: u64 = 60;
/// … up to this, seconds.
pub const SNAPSHOT_PAUSE_SECONDS_MAX: u64 = 86_400;
/// Files named in a comparison of two trees; the rest is counted.
pub const SNAPSHOT_DIFF_FILES_MAX: usize = 200;
/// Text of one file in it, bytes.
pub const SNAPSHOT_DIFF_FILE_BYTES_MAX: usize = 8 << 10;
/// Text in all, bytes.
pub const SNAPSHOT_DIFF_BYTES_MAX: usize = 32 << 10;
/// Trees that no open failure needs are kept so long, days (setting `snapshot.days`).
pub const SNAPSHOT_DAYS_MAX: u64 = 30;
/// … and their size, bytes (setting `snapshot.bytes`).
pub const SNAPSHOT_BYTES_MAX: u64 = 500 << 20;
/// Daily backups kept.
pub const BACKUPS_MAX: usize = 7;
/// Files that a walk over the project's tree looks at; a printed tail beyond it stays as printed.
pub const TREE_FILES_MAX: usize = 200_000;
/// How deep that walk goes, folders.
pub const TREE_DEPTH_MAX: usize = 32;
/// Masked lines that a baseline remembers.
pub const BASELINE_LINES_MAX: usize = 200_000;
/// Lines kept in a failure's event, bytes.
pub const EVENT_LINES_BYTES_MAX: usize = 16 << 10;
/// An item's message in a failure's event, bytes.
pub const EVENT_MESSAGE_BYTES_MAX: usize = 2_000;
/// Runners seen through in one command (`sudo env timeout 60 npx …`); deeper ones are not a check.
pub const RUNNERS_MAX: usize = 16;
/// The rightmost column that a cursor movement may reach when output is cleaned, columns.
pub const SCREEN_COLUMNS_MAX: usize = 4_096;
/// Lines that one block (a test's failure, a traceback) may have; what follows is looked at afresh.
pub const BLOCK_LINES_MAX: usize = 500;
/// Locations remembered of one item's stack.
pub const FRAMES_MAX: usize = 64;
/// A kept line, bytes; longer ones are cut with `…`.
pub const LINE_KEEP_BYTES_MAX: usize = 2_000;
/// An item's message, bytes.
pub const MESSAGE_BYTES_MAX: usize = 2_000;
/// Lines of a block that no definition knows.
pub const GENERIC_BLOCK_LINES_MAX: usize = 60;
/// Lines beside its head and message that are the core of an item: what was expected, what was there.
pub const CORE_DETAILS_MAX: usize = 2;
/// Lines beside its head, message and place that say more of an item; the rest of its block is context.
pub const DETAILS_MAX: usize = 4;
/// Last lines kept of an output of which nothing is known.
pub const TAIL_LINES: usize = 20;
/// A title, link or image in terminal output that has no end, bytes; what follows is text again.
pub const STRING_SEQUENCE_BYTES_MAX: usize = 8 << 10;
/// Lines saved although the output erased them.
pub const ERASED_LINES_MAX: usize = 500;
/// A line that `pattern explain --jsonl` reads, bytes.
pub const EXPLAIN_LINE_BYTES_MAX: u64 = 1 << 20;
/// Two messages that are as similar as this, or less, are never merged (setting `patterns.similarity`): 1 less edit
/// distance by the longer one's length.
pub const SIMILARITY_MIN: f64 = 0.85;
/// How long git may take to compare what is about to be committed, milliseconds.
pub const CHANGES_MS_MAX: u64 = 60_000;
/// Untracked files that are read as part of the work tree; further ones are counted.
pub const UNTRACKED_FILES_MAX: usize = 2_000;
/// One of them, bytes; a larger one is counted.
pub const UNTRACKED_BYTES_MAX: u64 = 1 << 20;
/// An event that waits in the spool, bytes; a larger one is set aside.
pub const NOTE_BYTES_MAX: u64 = 256 << 10;
/// Events that are taken from the spool in one go; the next look takes more.
pub const NOTES_BATCH_MAX: usize = 1_000;
