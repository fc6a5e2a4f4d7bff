//! `verify-run COMMAND` runs a check exactly as if it were run bare, and turns its failure into a lesson.
//!
//! # The map, in the order of the data
//!
//! - [`base`]: clock, ids, atomic files, locks, limits with their units, text for people
//! - [`config`]: places and settings, in layers
//! - [`command`]: argv and shell lines; runners, environment prefixes and containers seen through; command key
//! - [`whitelist`]: rules, layers and the decision whether a command is a check
//! - [`run`]: runs the command transparently and keeps a bounded transcript
//! - [`capture`]: the spool file that hands a finished run to the recorder
//! - [`diagnose`]: output to items, affected files, kept lines and a category
//! - [`fingerprint`]: masks and the three keys of an item
//! - [`lesson`]: the Markdown file with its front matter
//! - [`store`]: the event segments (the truth) and the index over them
//! - [`pattern`]: failures that share a key
//! - [`fix`]: what made a failure go away: snapshots, sets of atoms, attempts, recipes, flakes, weakened passes
//! - [`knowledge`]: what people and agents write down: types, duplicates, how far it is believed; strategies, memory
//! - [`advice`]: who is shown advice, whether it prevents anything, and what earns a line in CLAUDE.md or AGENTS.md
//! - [`host`]: agents, git, CI systems and shells: what they ask and are answered, and what of their configuration names us
//! - [`ops`]: the verbs, one function each
//! - [`surface`]: the command line, and the Model Context Protocol for agents
//!
//! A module imports only from modules above it in this list; `tests/tidy.rs` holds that.
//!
//! # Invariants
//!
//! - `run` knows nothing of lessons or stores; breaking everything else never changes the child's bytes or status.
//! - `diagnose`, `fingerprint`, `pattern`, `knowledge` and `advice` do no I/O and cannot fail.
//! - Only `store` knows SQL and the event files, only `lesson` and `host` know YAML, only `config`, `whitelist`, the
//!   definitions of `diagnose`, the detectors of `pattern`, the rules of `fix::weakened` and `host` know TOML, only
//!   `surface` prints.
//! - Nothing from tool output reaches a terminal or a Markdown file without control characters removed, a bounded
//!   length, and quoting for that place.
//! - Deleting `store.db` loses nothing. Deleting the whole state folder loses no lesson, but where the project's packages would
//!   have them (hatchling): there they are in it.
//! - Nothing is written into the user's repository but `.lessons/` (`lessons/` when shared), the pattern library on request,
//!   and what a person approved by name (`promote approve`) or was shown and wanted (`init`). What `init` writes is put
//!   down with what was there before, and `hook uninstall` gives the bytes back.
//! - No network.
//!
//! # Tool definitions
//!
//! Three layers, of which a later one adds, replaces by name, or removes (`remove = ["name"]`): the shipped files in
//! `diagnose/definitions/`, the user's `$XDG_CONFIG_HOME/verify-run/tools/*.toml`, and the project's
//! `.verify-run/tools/*.toml` at its root. The same files hold detectors (`[[detector]]`). They are files of their own, not tables of `whitelist.toml`, because that
//! one is read on the way to the command and these only after it. A definition can only name texts, regexes and
//! files beside it, never a program: a cloned repository may bring some.
//!
//! A category that they name is shipped or declared in `verify-run.toml`. An event may have one that is declared elsewhere:
//! clones differ in their settings, and the index depends on none. `[strategies.NAME]` there are templates of what to do
//! ([`advice::strategy`]); in events and index they are known only once somebody has tried them, and proposed only where the
//! settings have them.
//!
//! # Where this differs from the design, and why
//!
//! - Output is redacted before it is diagnosed, not after: nothing that is derived from it can then hold a secret.
//! - The canary that tells a signal to the group from one to the wrapper starts 10 ms after the command. Until then
//!   such a signal may arrive twice; in return a short command doesn't pay for a process it never needs.
//! - A passing run refreshes its baseline by the UTC day: looking up the local one costs a file read at each run.
//! - Backups hold the events alone. The index is computed from them.
//! - A nested run is executed bare only under one that records the same repository; another repository's run is
//!   recorded there, so that a test suite under verify-run can test recording.
//! - A shim passes `argv[0]` on as it was typed, but to the programs that search PATH for it the path that was found: behind
//!   a shim as it was typed, `gcc` can't find its compiler proper, `cmake` its modules, and Python is not itself.
//! - A shim that another version manager hands back to is known by a note in a file beside the shims (`run::rounds`), not by
//!   a variable, which the command would inherit.
//! - `--only-checks` asks for more than recognition: the check and nothing beside it.
//! - `etcetera` and `globset` are not used: two XDG folders are three lines, and no setting is a file pattern yet.
//! - A test that fails with another message than before is still failing: it persists, and nothing was introduced. What
//!   a run didn't get to (`-x`, fail-fast, an interrupt, a build error before the tests, the targets behind the first that
//!   `cargo test` finds failing) is not reached, not fixed. It stays with the run that showed it last: a pass is compared
//!   with each such run, so one run may be several attempts, and what stopped before a test proves no flake of it.
//! - A run of another check is an attempt at a failure only when it shows that some of it is gone; what it finds besides
//!   is its own failure.
//! - `open/` also has the keys of checks whose pass would close an open failure, so that the wrapper hands such a pass
//!   over at once.
//! - A failure is closed on its own branch, or on one that has its commit.
//! - A pass, then a failure over the same tree is a suspected flake only, and so is a pass after several failures over
//!   one tree: more often than not something outside of the tree broke or was mended.
//! - A flake needs two runs that were called in the same way in one folder, and whose output was seen whole: one whose
//!   reader left (`| head`), that went to a device, or that names no problem is compared with nothing. What a run
//!   doesn't report is evidence only then; and of a run that was called otherwise, for what it reports in the same form.
//!   A suspected flake discounts nothing, a proven one the patterns that it names.
//! - The environment's digest is taken by the wrapper, of runs that it keeps whole: a recorder has the environment of one
//!   run and records those of others too. What isn't known of a run is not the same as anything, so a flake with it is
//!   suspected.
//! - A change is attributed by relevance, not by having been made: files of the failure, of its stack traces, and those near
//!   them by imports (one file between at most), else settings; for a failure that names no file the only changed one.
//!   Recipes, strategies and gotchas are made of these alone. Imports are read as text, without search paths: a
//!   dependency that no path or module name shows leaves the cause unknown.
//! - An undo is told by contents: the related files are what they were in the failing run's commit, one of the ten before
//!   it, or the tree of one of the last eight runs before the failure. It has no state of its own in the failure's
//!   resolution, only in the workflow (`undone`).
//! - Detectors count the files that had changed when a task began to fail: what was changed afterwards is the cure.
//! - A mistake that is made in a warned task adds nothing to the pattern's confidence: +0.05 for a further task would only
//!   give back the -0.05 for the warning that didn't help.
//! - What became of a warning is computed from the runs that follow it, not recorded as an event: segments come in any
//!   order. A pass counts where the pattern was seen before, under the same check or all of it.
//! - An entry is held out together with the family that it is about, and said in place of that family's patterns while it
//!   is believed: a task that is held out must not be told by the other, and would count twice.
//! - What shared lessons teach is in the index alone, not in events: their files are the truth, each work tree has its own,
//!   and an index that is computed anew reads them anew. It is told unasked, unlike what `store import` brings: the files
//!   are the project's own content, as CLAUDE.md is.
//! - A hook that puts the wrapper before a check does not also allow it where the host can tell the two apart (Claude Code:
//!   `updatedInput` without a `permissionDecision`), and leaves a line alone where one of the user's own rules would judge
//!   the new one otherwise. Codex only takes both together, so there it is asked for (`init --rewrite`).
//! - That a hook alone saw a run (`observed_via`) is in its event; the index has no column for it.
//! - `init` sets up no CI system: whoever writes a workflow takes a template (`verify-run ci --template`).
//! - The shipped definitions, rules and languages are TOML as people write them, and JSON without their examples in the
//!   binary (`build.rs`): parsing TOML took more of a recorder's time than recording. Of a rule only what it needs is read
//!   before an output has it.
//! - On Linux the distribution binary is linked with musl at a fixed address, not as a static-PIE one with glibc. What
//!   glibc does before `main` costs as much as all of `env`, and relocating the program at every start (13,554 places
//!   on 65 pages) as much again. Stack, heap and mappings are still at random addresses, and what parses hostile output
//!   is Rust (only SQLite and zstd are not, and they get what was cleaned and redacted).
//! - With musl, blocks of less than 512 KiB are dlmalloc's ([`base::arena`]): with musl's own allocator a recorder took
//!   twice as long to have its definitions at hand.
//! - Events are written before the index is updated and synced after it, once for a run and all that follows from it,
//!   before a lesson is written, the spool file goes, and `--sync` returns. SQLite syncs its log before any of it gets into
//!   the database, which is when it is long or the recorder ends. So at worst a power failure leaves an index that says
//!   more than the segments, which every opening looks for, and which is then computed anew.
//! - A run's diagnosis is worked out on a thread of its own while the store is opened. The tasks whose branch is gone are
//!   ended, and what a killed recorder left half written is removed, when the caller of `--sync` has gone on.
//! - BLAKE3 and the searches before the command starts do without vector instructions: choosing them takes dozens of
//!   CPUID instructions, of which each costs a microsecond and more under a hypervisor.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests set the scene: they write files and start programs")
)]

pub mod advice;
pub mod base;
pub mod capture;
pub mod command;
pub mod config;
pub mod diagnose;
pub mod fingerprint;
pub mod fix;
pub mod host;
pub mod knowledge;
pub mod lesson;
pub mod ops;
pub mod pattern;
pub mod run;
pub mod store;
pub mod surface;
pub mod whitelist;
