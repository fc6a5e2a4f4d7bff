//! The content of shared lessons, in the index only: the files in the work trees are the truth, so there are no
//! events for them.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::apply::{forget_entry, insert_entry};
use super::error::{StoreError, sql_at};
use super::index::Index;
use super::to_json;
use super::writer::Store;
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind};
use crate::base::lossless::Lossless;
use crate::event::{EventAuthor, KnowledgeEntry, derived_id};

/// Entries of shared lessons that one question finds.
const FOUND_MAX: i64 = 60;

/// A shared lesson's file, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedLessonSource {
    /// Relative to the root.
    pub path: String,
    /// Changes with the file.
    pub stamp: String,
    /// `l-…`; `None` when it can't be read.
    pub lesson: Option<String>,
    /// `p-…` of what it is about.
    pub patterns: Vec<String>,
    /// What it teaches; `None` where that is known here already.
    pub teaches: Option<Box<SharedLessonContent>>,
}

/// What a shared lesson teaches.
#[derive(Debug, Clone)]
pub(crate) struct SharedLessonContent {
    /// As an entry.
    pub entry: KnowledgeEntry,
    /// When its failure was recorded.
    pub at: Timestamp,
    /// Who recorded it.
    pub by: EventAuthor,
}

/// A shared lesson, as it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedLessonRow {
    /// Its file, relative to the root.
    pub path: String,
    /// `l-…`
    pub lesson: String,
    /// `k-…` of what it teaches; `None` where that is known here already.
    pub entry: Option<String>,
    /// `p-…` of what it is about.
    pub patterns: Vec<String>,
}

impl Store {
    /// Takes over what files of a work tree teach now, and forgets those that are gone.
    ///
    /// # Errors
    /// SQLite's; the index is then as before.
    pub(crate) fn update_shared_lessons(
        &mut self,
        root: &Lossless,
        read: &[SharedLessonSource],
        gone: &[String],
    ) -> Result<(), StoreError> {
        let root = to_json(root);
        self.write_shared_lessons(|transaction| {
            for path in gone.iter().chain(read.iter().map(|file| &file.path)) {
                remove_lesson_file(transaction, &root, path)?;
            }
            read.iter().try_for_each(|file| insert_lesson_file(transaction, &root, file))
        })
    }

    /// Remembers that all lessons of a work tree were read in this state.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_shared_lessons_read(&mut self, root: &Lossless, stamp: &str) -> Result<(), StoreError> {
        self.write_shared_lessons(|transaction| {
            let sql =
                "INSERT INTO shared_lesson_roots VALUES (?1, ?2) ON CONFLICT DO UPDATE SET stamp = excluded.stamp";
            transaction.prepare_cached(sql)?.execute(params![to_json(root), stamp]).map(drop)
        })
    }

    fn write_shared_lessons(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let index = self.index();
        let write = || {
            let transaction = Transaction::new_unchecked(&index.connection, TransactionBehavior::Immediate)?;
            write(&transaction)?;
            transaction.commit()
        };
        write().map_err(sql_at("write", &index.path))
    }
}

fn insert_lesson_file(transaction: &Transaction<'_>, root: &str, file: &SharedLessonSource) -> rusqlite::Result<()> {
    let SharedLessonSource { path, stamp, lesson, patterns, teaches } = file;
    let of_lesson = lesson.as_deref().unwrap_or_default();
    let entry = teaches.as_ref().map(|_| ids::short(IdKind::Knowledge, format!("lesson\0{of_lesson}").as_bytes()));
    let event = entry.as_ref().map(|entry| derived_id("shared_lesson", &[entry.as_str()]).hyphenated().to_string());
    transaction
        .prepare_cached("INSERT INTO shared_lesson_files VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![root, path, stamp, lesson, entry, event])?;
    let mut about =
        transaction.prepare_cached("INSERT INTO shared_lesson_patterns VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?;
    for pattern in patterns {
        about.execute(params![root, path, pattern])?;
    }
    if let (Some(taught), Some(entry), Some(event)) = (teaches, entry, event) {
        // Another work tree may have another version of it: the last one that was read holds.
        forget_entry(transaction, &entry)?;
        insert_entry(transaction, &event, &taught.at.rfc3339(), &entry, &taught.entry, &taught.by)?;
    }
    Ok(())
}

fn remove_lesson_file(transaction: &Transaction<'_>, root: &str, path: &str) -> rusqlite::Result<()> {
    let entry: Option<String> = transaction
        .prepare_cached("DELETE FROM shared_lesson_files WHERE root = ?1 AND path = ?2 RETURNING entry_id")?
        .query_row([root, path], |row| row.get(0))
        .optional()?
        .flatten();
    let Some(entry) = entry else { return Ok(()) };
    let is_elsewhere =
        transaction.prepare_cached("SELECT 1 FROM shared_lesson_files WHERE entry_id = ?1")?.exists([&entry])?;
    if is_elsewhere { Ok(()) } else { forget_entry(transaction, &entry) }
}

impl Index {
    /// The state of a work tree's shared lessons when all of them had been read; `None` when they never were.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn shared_lessons_stamp(&self, root: &Lossless) -> Result<Option<String>, StoreError> {
        let sql = "SELECT stamp FROM shared_lesson_roots WHERE root = ?1";
        let read = || self.connection.prepare_cached(sql)?.query_row([to_json(root)], |row| row.get(0)).optional();
        self.sql_result("read", read())
    }

    /// Whether a failure that a lesson (`l-…`) is about was recorded, and whether it was annotated here.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn lesson_presence(&self, lesson: &str) -> Result<(bool, bool), StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM failures WHERE lesson_id = ?1),
                            EXISTS (SELECT 1 FROM lesson_changes WHERE lesson_id = ?1 AND change = 'annotated')",
                )?
                .query_row([lesson], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        self.sql_result("read", read())
    }

    /// Whether something that a lesson (`l-…`) is about was fixed here.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_fixed_lesson(&self, lesson: &str) -> Result<bool, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT 1 FROM failures JOIN occurrences USING (failure_no) JOIN known_patterns USING (pattern_no)
                     JOIN attempt_patterns a ON a.pattern_key = recorded_key AND a.role = 'fixed' WHERE lesson_id = ?1",
                )?
                .exists([lesson])
        };
        self.sql_result("read", read())
    }

    /// The stamps of the files that were read in a work tree.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn shared_lesson_stamps(&self, root: &Lossless) -> Result<HashMap<String, String>, StoreError> {
        let read = || {
            let mut statement =
                self.connection.prepare_cached("SELECT path, stamp FROM shared_lesson_files WHERE root = ?1")?;
            statement.query_map([to_json(root)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The shared lessons of a work tree about any of these patterns (`p-…`).
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn shared_lessons_about(
        &self,
        root: &Lossless,
        patterns: &[String],
    ) -> Result<Vec<SharedLessonRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT f.path, lesson_id, entry_id, (SELECT json_group_array(pattern_id) FROM shared_lesson_patterns o
                                                      WHERE o.root = f.root AND o.path = f.path)
                 FROM shared_lesson_files f WHERE root = ?1 AND lesson_id IS NOT NULL AND path IN (
                     SELECT p.path FROM json_each(?2) w CROSS JOIN shared_lesson_patterns p
                     WHERE p.root = ?1 AND p.pattern_id = w.value)
                 ORDER BY path LIMIT ?3",
            )?;
            let rows = statement.query_map(params![to_json(root), to_json(&patterns), FOUND_MAX], |row| {
                let patterns: String = row.get(3)?;
                let patterns = serde_json::from_str(&patterns).unwrap_or_default();
                Ok(SharedLessonRow { path: row.get(0)?, lesson: row.get(1)?, entry: row.get(2)?, patterns })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of what a work tree's shared lessons about a tool teach, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn shared_lessons_of_tool(&self, root: &Lossless, class: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT e.entry_no FROM shared_lesson_files f JOIN entries e ON e.entry_id = f.entry_id
                 JOIN knowledge_labels b ON b.entry_no = e.entry_no AND b.kind = 'tag' AND b.value = ?2
                 WHERE f.root = ?1 AND e.event_id IS NOT NULL ORDER BY e.at DESC, e.entry_id LIMIT ?3",
            )?;
            statement.query_map(params![to_json(root), class, FOUND_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The file of the shared lesson that an entry is what it teaches, in this work tree.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn shared_lesson_of_entry(&self, root: &Lossless, entry: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT path FROM shared_lesson_files WHERE entry_id = ?2 AND root = ?1 ORDER BY path LIMIT 1";
        let read =
            || self.connection.prepare_cached(sql)?.query_row([&to_json(root), entry], |row| row.get(0)).optional();
        self.sql_result("read", read())
    }
}
