//! Applies changes of lessons to their tables.

use rusqlite::{Transaction, params};

use crate::event::{LessonChange, LessonChangeKind};

pub(super) fn insert_lesson_change(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    change: &LessonChange,
) -> rusqlite::Result<()> {
    let name = match &change.change {
        LessonChangeKind::Forgotten { .. } => "forgotten",
        LessonChangeKind::Annotated { .. } => "annotated",
        LessonChangeKind::Edited { .. } => "edited",
        LessonChangeKind::Withdrawn { .. } => "withdrawn",
    };
    let why = match &change.change {
        LessonChangeKind::Annotated { cause, resolution, corrective_rule } => {
            cause.as_ref().or(corrective_rule.as_ref()).or(resolution.as_ref())
        }
        _ => None,
    };
    transaction.prepare_cached("INSERT INTO lesson_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        event_id,
        change.lesson,
        name,
        at,
        change.by,
        why
    ])?;
    if let LessonChangeKind::Forgotten { patterns } = &change.change {
        let mut forget =
            transaction.prepare_cached("INSERT INTO forgotten_patterns VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
        for pattern in patterns {
            forget.execute(params![pattern, event_id])?;
        }
    }
    if let LessonChangeKind::Withdrawn { runs, fix } = &change.change {
        let mut withdraw = transaction.prepare_cached(
            "INSERT INTO withdrawn_lessons VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET fix_id = nullif(max(coalesce(fix_id, ''), coalesce(excluded.fix_id, '')), '')",
        )?;
        for run in runs {
            withdraw.execute(params![run.to_string(), fix])?;
        }
    }
    Ok(())
}
