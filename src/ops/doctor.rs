//! Is everything as it should be here? Every problem says where it is and what to type next.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::text::{self, count};
use crate::config::packager;
use crate::config::{Environment, Places, Problem, Settings, is_disabled};
use crate::event::{EVENT_VERSION, PromotionState};
use crate::fix::snapshot;
use crate::host::checkup::{CheckStatus, Finding, host_findings, new_finding, with_hint};
use crate::lesson::LessonFolder;
use crate::recorder;
use crate::store::{Index, SegmentFolder, folder};
use crate::whitelist::Whitelist;

/// Everything that was looked at.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DoctorReport {
    /// Version of this shape.
    pub schema: u32,
    /// Of the program.
    pub version: &'static str,
    /// Of the events it writes.
    pub event_version: u32,
    /// `linux x86_64`.
    pub platform: String,
    /// What paths are relative to.
    pub root: PathBuf,
    /// In the order in which a run meets them.
    pub findings: Vec<Finding>,
}

impl DoctorReport {
    /// Whether anything does not work.
    pub(crate) fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.status == CheckStatus::Problem)
    }
}

/// Looks at everything, changes nothing but what recording waiting runs changes.
pub(crate) fn diagnose_installation(places: &Places, environment: &Environment) -> DoctorReport {
    let (settings, problems) = Settings::load(places, environment);
    let mut findings = vec![check_state_folder(places)];
    findings.extend(check_waiting_runs(places));
    findings.extend(check_store(places));
    findings.extend(check_snapshots(places, &settings));
    findings.push(lessons_folder(places, &settings));
    findings.extend(lesson_files(places, &settings));
    findings.extend(check_packagers(places, &settings));
    findings.extend(problems_of("settings", "no problems in verify-run.toml", problems));
    let (_, problems) = Whitelist::load(places, environment);
    findings.extend(problems_of("whitelist", "no problems in whitelist.toml", problems));
    let problems = recorder::definitions::load_definitions(places, environment, &settings.categories).problems;
    findings.extend(problems_of("definitions", "no problems in the tool definitions", problems));
    findings.extend(check_advice(&settings));
    findings.extend(check_promotions(places));
    let problems = super::warn::template_problems(places, environment);
    findings.extend(problems_of("formatters", "no problems in templates", problems));
    if let Some(problems) = super::strategy::settings_problems(&settings) {
        findings.extend(problems_of("strategies", "no problems in the strategies of verify-run.toml", problems));
    }
    findings.extend(host_findings(places, environment));
    findings.extend(check_platform());
    DoctorReport {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        event_version: EVENT_VERSION,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        root: places.root.clone(),
        findings,
    }
}

/// What is wrong with files that people write, or that nothing is.
fn problems_of(name: &'static str, fine: &str, problems: Vec<Problem>) -> Vec<Finding> {
    if problems.is_empty() {
        return vec![new_finding(name, CheckStatus::Ok, fine, None)];
    }
    let found = problems.into_iter().map(|problem| Finding {
        name,
        status: if problem.warning { CheckStatus::Warning } else { CheckStatus::Problem },
        message: problem.reason,
        file: Some(problem.file),
        line: problem.line,
        hint: Some(problem.hint),
    });
    found.collect()
}

/// What is turned off, and who isn't warned.
fn check_advice(settings: &Settings) -> Vec<Finding> {
    let advice = &settings.advice;
    let off = [("warnings", advice.warnings), ("learning", advice.learning), ("injection", advice.injection)];
    let off = off.iter().filter(|(_, on)| !on).map(|(name, _)| format!("turned off: advice.{name}"));
    let mut findings: Vec<Finding> = off.map(|message| new_finding("advice", CheckStatus::Ok, message, None)).collect();
    let share = advice.held_out() * 100.0;
    let message = if share > 0.0 {
        format!(
            "{share:.0} % of tasks and families are held out from warnings, to measure whether warnings help; \
             advice.holdout = false turns that off"
        )
    } else {
        "the holdout is off: all tasks are warned, and the effect of warnings is not measured".to_owned()
    };
    findings.push(new_finding("advice", CheckStatus::Ok, message, None));
    findings
}

/// The state folder: can it be written?
fn check_state_folder(places: &Places) -> Finding {
    let dir = &places.state;
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    if existing != dir && !existing.is_dir() {
        let message = format!("the state folder can't be made: {} is a file", existing.display());
        return with_hint(
            new_finding("state", CheckStatus::Problem, message, Some(dir)),
            format!("rm {}", quoted_path(existing)),
        );
    }
    let mode = nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK;
    match nix::unistd::access(existing, mode) {
        Ok(()) if existing == dir => {
            new_finding("state", CheckStatus::Ok, "the state folder can be written", Some(dir))
        }
        Ok(()) => new_finding("state", CheckStatus::Ok, "no state yet: nothing was recorded here", Some(dir)),
        Err(error) => {
            let stand_in = places.fallbacks.first().map(|dir| dir.display().to_string()).unwrap_or_default();
            let message = format!("the state folder can't be written ({}); runs wait in {stand_in}", error.desc());
            with_hint(
                new_finding("state", CheckStatus::Problem, message, Some(dir)),
                format!("ls -ld {}", quoted_path(existing)),
            )
        }
    }
}

/// Runs that were not recorded yet, and spool files that could not be read. Recorded first, as every reader does.
fn check_waiting_runs(places: &Places) -> Vec<Finding> {
    let drained = if places.state.is_dir() || !recorder::pending_entries(places).is_empty() {
        recorder::drain_for_reading(places)
    } else {
        Ok(recorder::Drained::default())
    };
    let mut findings = Vec::new();
    match &drained {
        Err(error) => {
            let status = if error.is_newer() { CheckStatus::Warning } else { CheckStatus::Problem };
            findings
                .push(with_hint(new_finding("recorder", status, error.to_string(), None), "verify-run store status"));
        }
        Ok(drained) => {
            findings.extend(drained.notes.iter().map(|note| new_finding("recorder", CheckStatus::Warning, note, None)));
            findings.extend(drained.left.iter().map(|(path, reason)| {
                let message = format!("a run waits: {reason}");
                with_hint(new_finding("spool", CheckStatus::Warning, message, Some(path)), "verify-run doctor")
            }));
        }
    }
    let waiting =
        recorder::pending_entries(places).into_iter().filter(|pending| pending.holds == recorder::Holds::Run).count();
    if waiting > 0 {
        let message = format!("{} not recorded yet", count(waiting, "run"));
        findings.push(with_hint(new_finding("spool", CheckStatus::Warning, message, None), "verify-run last"));
    }
    for path in recorder::bad_files(places) {
        let message = "a spool file that can't be recorded; the reason is in the log that `store status` shows";
        findings.push(with_hint(
            new_finding("spool", CheckStatus::Problem, message, Some(&path)),
            format!("rm {}", quoted_path(&path)),
        ));
    }
    if findings.is_empty() {
        findings.push(new_finding("recorder", CheckStatus::Ok, "nothing waits to be recorded", None));
    }
    findings
}

/// What stands in CLAUDE.md or AGENTS.md.
fn check_promotions(places: &Places) -> Option<Finding> {
    let rows = Index::open_read(&places.index()).ok().flatten()?.list_promotions().ok()?;
    let approved = rows.iter().filter(|row| row.state == PromotionState::Approved).count();
    let message = format!("{} promoted; `verify-run promote list` shows pending proposals", count(approved, "line"));
    (approved > 0).then(|| new_finding("promotions", CheckStatus::Ok, message, None))
}

/// Index and events.
fn check_store(places: &Places) -> Vec<Finding> {
    let path = places.index();
    let index = match Index::open_read(&path) {
        Ok(None) => return vec![new_finding("store", CheckStatus::Ok, "no store yet", Some(&path))],
        Ok(Some(index)) => index,
        Err(error) => {
            let status = if error.is_newer() { CheckStatus::Warning } else { CheckStatus::Problem };
            let hint = if error.is_newer() { "cargo install verify-run" } else { "verify-run store rebuild" };
            return vec![with_hint(new_finding("store", status, error.to_string(), Some(&path)), hint)];
        }
    };
    let mut findings = Vec::new();
    let checked = index.check_integrity().and_then(|damage| Ok((damage, index.count_rows()?)));
    match checked {
        Ok((None, counts)) => {
            let counted = [(counts.runs, "run"), (counts.failures, "failure"), (counts.patterns, "pattern")];
            let message = counted.map(|(n, noun)| count(n, noun)).join(", ");
            findings.push(new_finding("store", CheckStatus::Ok, message, Some(&path)));
        }
        Ok((Some(damage), _)) => {
            drop(index);
            findings.push(heal_store(places, &damage));
        }
        Err(error) if error.is_damage() => {
            drop(index);
            findings.push(heal_store(places, &error.to_string()));
        }
        Err(error) => {
            let message = error.to_string();
            findings.push(with_hint(
                new_finding("store", CheckStatus::Problem, message, Some(&path)),
                "verify-run store rebuild",
            ));
        }
    }
    for path in folder::files_moved_aside(&places.state) {
        let message = "this was in the place of a file of verify-run; it was moved aside, and nothing reads it";
        findings.push(with_hint(
            new_finding("state", CheckStatus::Warning, message, Some(&path)),
            format!("ls -ld {}", quoted_path(&path)),
        ));
    }
    for torn in SegmentFolder::new(places.events()).torn_files() {
        let message = "the end of an event that was cut off (a crash or a full disk); everything before it is kept";
        findings.push(with_hint(
            new_finding("events", CheckStatus::Warning, message, Some(&torn)),
            format!("rm {}", quoted_path(&torn)),
        ));
    }
    findings
}

/// An index that is damaged is computed anew at once: it holds nothing that the events don't.
fn heal_store(places: &Places, damage: &str) -> Finding {
    let path = places.index();
    match super::store::heal_index(places, damage) {
        Ok(notes) => new_finding("store", CheckStatus::Warning, notes.join("; "), Some(&path)),
        Err(error) => {
            let message = format!("the index is damaged: {damage}; {error}");
            with_hint(new_finding("store", CheckStatus::Problem, message, Some(&path)), "verify-run store rebuild")
        }
    }
}

/// The work trees at the runs, of this work tree.
fn check_snapshots(places: &Places, settings: &Settings) -> Option<Finding> {
    let objects = places.state.join("objects");
    if !settings.snapshot.enabled {
        let message = "turned off: what changed between a failure and the pass after it is not known";
        return Some(new_finding("snapshots", CheckStatus::Ok, message, None));
    }
    let standings = snapshot::folder_statuses(&places.state);
    let standing = standings.iter().find(|standing| standing.root.path() == places.root)?;
    if let Some(why) = &standing.skipped {
        let again = standing.not_before.map_or_else(String::new, |at| format!("; next attempt after {}", at.local()));
        let message = format!("the last one was given up: {why}{again}");
        let hint = "see snapshot.time_ms in verify-run.toml, or turn them off with snapshot.enabled = false";
        return Some(with_hint(new_finding("snapshots", CheckStatus::Warning, message, Some(&objects)), hint));
    }
    let trees = Index::open_read(&places.index()).ok().flatten().and_then(|index| index.list_trees().ok());
    let trees = count(trees.map_or(0, |trees| trees.len()), "tree");
    let kibibytes = snapshot::folder_size(&places.state).div_ceil(1024);
    Some(new_finding("snapshots", CheckStatus::Ok, format!("{trees}, {kibibytes} KiB"), Some(&objects)))
}

fn lessons_folder(places: &Places, settings: &Settings) -> Finding {
    let folder = LessonFolder::find(places, settings);
    let dir = folder.dir.clone();
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(&dir);
    if !existing.is_dir() {
        let message = format!("lessons can't be written: {} is a file", existing.display());
        let hint = "set lesson.dir in verify-run.toml to a folder of the repository";
        return with_hint(new_finding("lessons", CheckStatus::Problem, message, Some(&dir)), hint);
    }
    if let Err(error) = nix::unistd::access(existing, nix::unistd::AccessFlags::W_OK) {
        let message = format!("lessons can't be written: {}", error.desc());
        return with_hint(
            new_finding("lessons", CheckStatus::Problem, message, Some(&dir)),
            format!("ls -ld {}", quoted_path(existing)),
        );
    }
    if folder.is_hidden() {
        let message = "lessons are private; to commit them: verify-run lesson share";
        return new_finding("lessons", CheckStatus::Ok, message, Some(&dir));
    }
    new_finding("lessons", CheckStatus::Ok, "the lessons folder can be written", Some(&dir))
}

/// Lesson files that can't be read.
fn lesson_files(places: &Places, settings: &Settings) -> Vec<Finding> {
    let entries = LessonFolder::find(places, settings).read_lesson_files();
    let broken = entries.into_iter().filter_map(|entry| {
        let error = match (entry.lesson, entry.conflict) {
            (Ok(_), None) => return None,
            (Ok(_), Some(line)) => {
                let reason = "conflict markers of a merge; one side of each is read".to_owned();
                crate::lesson::Error::Parse { path: None, line, reason }
            }
            (Err(error), _) => error,
        };
        let line = if let crate::lesson::Error::Parse { line, .. } = &error { Some(*line) } else { None };
        let reason = match &error {
            crate::lesson::Error::Parse { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        let hint = line.map_or_else(
            || format!("ls -l {}", quoted_path(&entry.path)),
            |line| format!("${{EDITOR:-vi}} +{line} {}", quoted_path(&entry.path)),
        );
        let newer = matches!(error, crate::lesson::Error::Newer { .. });
        let status = if newer { CheckStatus::Warning } else { CheckStatus::Problem };
        let mut found = with_hint(new_finding("lesson", status, reason, Some(&entry.path)), hint);
        found.line = line;
        Some(found)
    });
    broken.collect()
}

/// Packagers and checkers that would take private lessons along.
fn check_packagers(places: &Places, settings: &Settings) -> Vec<Finding> {
    let Some(dir) = LessonFolder::private_dir(places, settings) else { return Vec::new() };
    let found = packager::packagers(&places.root, &dir).into_iter().map(|found| {
        let file = places.root.join(&found.file);
        let is_moved = found.publishes && settings.lesson.dir.is_none();
        let until = if is_moved { "; until that is changed, lessons are in the state folder" } else { "" };
        let warned =
            new_finding("packager", CheckStatus::Warning, format!("{}{until}", found.sentence(&dir)), Some(&file));
        Finding { line: found.line, ..with_hint(warned, found.remedy) }
    });
    found.collect()
}

/// What this platform does differently.
fn check_platform() -> Vec<Finding> {
    let mut findings = Vec::new();
    if cfg!(target_os = "macos") {
        let message = "macOS is experimental: signals whose origin is unknown are not forwarded";
        findings.push(new_finding("platform", CheckStatus::Warning, message, None));
    }
    if is_disabled() {
        let message = "VERIFY_RUN_DISABLE is set: commands run bare and nothing is recorded";
        findings.push(with_hint(
            new_finding("environment", CheckStatus::Warning, message, None),
            "unset VERIFY_RUN_DISABLE",
        ));
    }
    findings
}

fn quoted_path(path: &Path) -> String {
    text::path(path)
}
