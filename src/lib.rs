//! `verify-run COMMAND` runs a check exactly as if it were run bare, and turns its failure into a lesson.
//!
//! # The map, in the order of the data
//!
//! - [`base`]: clock, ids, atomic files, locks, limits with their units, text for people
//! - [`config`]: places and settings, in layers
//! - [`command`]: argv and shell lines; runners, environment prefixes and containers seen through; command key
//! - [`whitelist`]: rules, layers and the decision whether a command is a check
//! - [`run`]: runs the command transparently and keeps a bounded transcript
//! - [`redact`]: secrets out of a text, before anything is written
//! - [`capture`]: the spool file that hands a finished run to the recorder
//! - [`diagnose`]: output to items, affected files, kept lines and a category
//! - [`fingerprint`]: masks and the three keys of an item
//! - [`event`]: what is recorded, as values: runs, failures, attempts, deliveries; the domain model
//! - [`report`]: a recorded run, or an evaluation of the gate, as SARIF, JUnit, GitLab, GitHub or Checkstyle document, and
//!   the page of a CI job
//! - [`lesson`]: the Markdown file with its front matter
//! - [`store`]: the event segments (the truth) and the index over them
//! - [`pattern`]: failures that share a key
//! - [`fix`]: what made a failure go away: snapshots, sets of atoms, attempts, recipes, flakes, weakened passes
//! - [`recorder`]: takes finished runs from the spool and writes them, with all that follows from them, into the store
//! - [`knowledge`]: entries of people and agents: types, duplicates, confidence; strategies, memory
//! - [`advice`]: who is shown advice, whether it prevents anything, and what earns a line in CLAUDE.md or AGENTS.md
//! - [`host`]: agents, git, CI systems and shells: their dialects, what `init` installs for them, shims, rewritten lines
//! - [`lab`]: isolated runs of a command in a git tree: the process inside, its walls and its limits
//! - [`retrieval`]: what the index knows that answers a question: warnings that are due, entries that fit, what helps
//! - [`checkup`]: what keeps checks from being recorded here: hosts, shells, shims, the store, lessons
//! - [`gate`]: the quality gate: checklist, tools, measures and verdict about one exact tree
//! - [`learn`]: jobs that show a fix again, the smallest change that works, and the pattern library
//! - [`ops`]: the verbs, one function each
//! - [`surface`]: the command line, and the Model Context Protocol for agents
//!
//! A module imports only from modules above it in this list; `tests/tidy` holds that.
//!
//! # Invariants
//!
//! - `run` knows nothing of lessons or stores; breaking everything else never changes the child's bytes or status.
//! - `redact`, `diagnose`, `fingerprint`, `event`, `report`, `pattern`, `knowledge` and `advice` do no I/O and cannot fail.
//! - Only `store` knows SQL and the event files, only `base::yaml`, `lesson` and `host` know YAML, only `config`, `whitelist`, the
//!   definitions of `diagnose`, the detectors of `pattern`, the rules of `fix::weakened` and `host` know TOML, only
//!   `surface` prints.
//! - Nothing from tool output reaches a terminal or a Markdown file without control characters removed, a bounded
//!   length, and quoting for that place.
//! - Deleting `store.db` loses nothing. Deleting the whole state folder loses no lesson, but where the project's packages would
//!   have them (hatchling): there they are in it.
//! - Nothing is written into the user's repository but `.lessons/` (`lessons/` when shared), the pattern library on
//!   request or by jobs, with what they did in `.runs/`, once a person agreed to them (`library init`), and what a person approved by name (`promote approve`) or was shown and wanted (`init`). What `init`
//!   writes is recorded with what was there before, and `hook uninstall` gives the bytes back.
//! - No network.
//!
//! Limits, formats and the reasons behind these choices are in `docs/architecture.md`, the words in `docs/glossary.md`.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the map names every stage, and its documentation is read with the private items"
)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests set the scene: they write files and start programs")
)]

mod advice;
pub mod base;
pub mod capture;
mod checkup;
mod command;
pub mod config;
pub mod diagnose;
mod event;
mod fingerprint;
mod fix;
mod gate;
pub mod host;
mod knowledge;
mod lab;
mod learn;
pub mod lesson;
mod ops;
mod pattern;
mod recorder;
pub mod redact;
mod report;
mod retrieval;
pub mod run;
mod store;
pub mod surface;
pub mod whitelist;
