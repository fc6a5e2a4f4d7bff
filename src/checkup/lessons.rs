//! Lessons: their folder, their files, and the packagers that would publish them.

use crate::base::text;
use crate::config::{Places, Settings, packager};
use crate::lesson::LessonFolder;

use super::finding::{CheckDepth, CheckStatus, Finding, new_finding, with_hint};

/// Lesson files of a brief look: one that is broken was changed recently.
const BRIEF_FILES_MAX: usize = 1000;

/// Whether lessons can be written, and who sees them.
pub(crate) fn check_lessons_folder(places: &Places, settings: &Settings) -> Finding {
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
            format!("ls -ld {}", text::path(existing)),
        );
    }
    if folder.is_hidden() {
        let message = "lessons are private; to commit them: verify-run lesson share";
        return new_finding("lessons", CheckStatus::Ok, message, Some(&dir));
    }
    new_finding("lessons", CheckStatus::Ok, "the lessons folder can be written", Some(&dir))
}

/// Lesson files that can't be read.
pub(crate) fn check_lesson_files(places: &Places, settings: &Settings, depth: CheckDepth) -> Vec<Finding> {
    let folder = LessonFolder::find(places, settings);
    let newest = match depth {
        CheckDepth::Whole => usize::MAX,
        CheckDepth::Brief => BRIEF_FILES_MAX,
    };
    let broken = folder.read_changed_last(newest).filter_map(|entry| {
        let error = match (entry.lesson, entry.conflict) {
            (Ok(_), None) => return None,
            (Ok(_), Some(line)) => {
                let reason = "conflict markers of a merge; one side of each conflict is used".to_owned();
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
            || format!("ls -l {}", text::path(&entry.path)),
            |line| format!("${{EDITOR:-vi}} +{line} {}", text::path(&entry.path)),
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
pub(crate) fn check_packagers(places: &Places, settings: &Settings) -> Vec<Finding> {
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
