//! Entries: by id, by words, by file, by label, the newest; those that may be duplicates; and statements about them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use super::words::{all_words_query, any_word_query, rarest_words_query};
use super::{ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{EntryChangeKind, EntrySource, EntryTypeName, EntryUse, EventAuthor};
use crate::store::apply::places_of_path;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Entries found by words.
const FOUND_MAX: i64 = 400;
/// Entries that may be duplicates: those with the most of a few rare words.
const ALIKE_MAX: usize = 1_000;
/// This many rare words tell what may be one: with more of them fewer entries are read, and more words looked up.
const TOLD_BY: usize = 3;
/// Changes and uses of one entry, the oldest.
const CHANGES_MAX: i64 = 10_000;
/// Entries that were merged into one.
const MERGED_MAX: i64 = 200;

const COLUMNS: &str = "entry_no, entry_id, type, event_id, title, properties, globs, actions, tags, sources, source,
    prevented, fix_applied, at, agent, session, task, person, leader_id,
    (SELECT other_id FROM knowledge_changes c WHERE c.entry_id = e.entry_id AND change = 'superseded'
     ORDER BY c.at DESC, c.event_id DESC LIMIT 1),
    coalesce((SELECT change = 'pinned' FROM knowledge_changes c
              WHERE c.entry_id = e.entry_id AND change IN ('pinned', 'unpinned')
              ORDER BY c.at DESC, c.event_id DESC LIMIT 1), 0),
    (SELECT count(*) FROM entries m WHERE m.leader_id = e.leader_id AND m.event_id IS NOT NULL),
    EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = e.event_id),
    EXISTS (SELECT 1 FROM shared_lesson_files t WHERE t.event_id = e.event_id)";

/// An entry as written, with the latest statement about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EntryRow {
    /// Row number.
    pub number: i64,
    /// `k-…`
    pub id: String,
    /// Its type.
    pub kind: EntryTypeName,
    /// The event that wrote it.
    pub event: String,
    /// One line.
    pub title: String,
    /// What its type asks for.
    pub properties: Value,
    /// Files that it is about.
    pub globs: Vec<String>,
    /// What is being done when it matters.
    pub actions: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it comes from.
    pub sources: Vec<String>,
    /// Who knows it.
    pub source: EntrySource,
    /// It prevented the mistake.
    pub prevented: bool,
    /// Its fix was seen to work.
    pub fix_applied: bool,
    /// When it was written.
    pub at: Timestamp,
    /// By whom.
    pub by: EventAuthor,
    /// The entry that represents it and those that were merged with it.
    pub leader: String,
    /// The entry that is better.
    pub superseded_by: Option<String>,
    /// It never fades and is never held out.
    pub pinned: bool,
    /// How often it was written, by whomever.
    pub occurrences: u64,
    /// It was imported, and not trusted here.
    pub imported: bool,
    /// It is what a lesson that a team shares teaches.
    pub from_shared_lesson: bool,
}

impl EntryRow {
    /// A text of its properties that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}

/// A statement about an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntryChangeRow {
    pub event: String,
    /// `k-…`
    pub entry: String,
    pub at: Timestamp,
    /// What was said.
    pub change: EntryChangeKind,
    /// The confidence that was set.
    pub value: Option<f64>,
    /// The other entry.
    pub other: Option<String>,
    pub reason: Option<String>,
    pub by: EventAuthor,
}

/// What was done with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryUseRow {
    pub event: String,
    /// `k-…`
    pub entry: String,
    pub at: Timestamp,
    /// What was done.
    pub how: EntryUse,
    /// Who.
    pub by: EventAuthor,
}

/// What a use that helped is called.
pub(crate) const HELPED: [EntryUse; 3] = [EntryUse::Applied, EntryUse::Validated, EntryUse::Prevented];

impl EntryUseRow {
    /// Whether it helped.
    pub(crate) fn has_helped(&self) -> bool {
        HELPED.contains(&self.how)
    }

    /// Its session, else its task: what counts once.
    pub(crate) fn session_or_task(&self) -> String {
        self.by.session.clone().unwrap_or_else(|| format!("task {}", self.by.task.as_deref().unwrap_or("")))
    }
}

/// Which entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryFilter {
    /// Of this type.
    pub kind: Option<EntryTypeName>,
    /// With this tag.
    pub tag: Option<String>,
    /// For this action, upper case.
    pub action: Option<String>,
    /// From this id.
    pub source: Option<String>,
    /// Also what something better is known for.
    pub superseded: bool,
}

/// A write to what is known, as it is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnowledgeLogRow {
    /// `knowledge:created`, `knowledge:promoted`, `pattern:reused`, …
    pub name: String,
    /// `k-…`
    pub entry: String,
    pub event: String,
    pub at: Timestamp,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
}

impl Index {
    /// The written entry whose id starts with `id` (`k-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's, as for all methods here.
    pub(crate) fn find_entry(&self, id: &str) -> Result<EntryRow, StoreError> {
        let full = if id.starts_with("k-") { id.to_owned() } else { format!("k-{id}") };
        if full == "k-" {
            return Err(StoreError::NoSuchId { id: id.to_owned() });
        }
        let mut found = self.entries_where("entry_id BETWEEN ?1 AND ?1 || '~' ORDER BY entry_id LIMIT 20", &full)?;
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.id.as_str()))),
        }
    }

    /// The entry at a row number.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn entry_at(&self, number: i64) -> Result<EntryRow, StoreError> {
        let read = || {
            let sql = format!("SELECT {COLUMNS} FROM entries e WHERE event_id IS NOT NULL AND entry_no = ?1");
            self.connection.prepare_cached(&sql)?.query_row([number], entry_row)
        };
        self.sql_result("read", read())
    }

    fn entries_where(&self, condition: &str, parameter: &str) -> Result<Vec<EntryRow>, StoreError> {
        let read = || {
            let sql = format!("SELECT {COLUMNS} FROM entries e WHERE event_id IS NOT NULL AND {condition}");
            self.connection.prepare_cached(&sql)?.query_map([parameter], entry_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// The entries that were merged into the one with this id, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn merged_entries(&self, leader: &str) -> Result<Vec<EntryRow>, StoreError> {
        let condition = format!("leader_id = ?1 AND entry_id <> ?1 ORDER BY at, entry_id LIMIT {MERGED_MAX}");
        self.entries_where(&condition, leader)
    }

    /// Row numbers of entries with all of these words, or with any of them: the likeliest first, each with its BM25
    /// score (higher is likelier), those that represent others only. `forms` are the normal forms of `words`, letters
    /// and digits only.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entries_with_words(
        &self,
        words: &[String],
        forms: &[String],
        all: bool,
    ) -> Result<Vec<(i64, f64)>, StoreError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let read = || {
            let question = |words: &[String]| {
                if all {
                    Ok(all_words_query(words))
                } else {
                    rarest_words_query(&self.connection, "knowledge_words", words)
                }
            };
            let mut asked = format!("{{title tags body}} : ({})", question(words)?);
            if !forms.is_empty() {
                asked.push_str(&format!(" OR forms : ({})", question(forms)?));
            }
            let mut statement = self.connection.prepare_cached(
                "SELECT l.entry_no, max(score) FROM (
                     SELECT rowid, -bm25(knowledge_words, 3.0, 2.0, 1.0, 1.0) AS score FROM knowledge_words
                     WHERE knowledge_words MATCH ?1 ORDER BY rank LIMIT ?2) w
                 JOIN entries e ON e.entry_no = w.rowid
                 JOIN entries l ON l.entry_id = e.leader_id AND l.event_id IS NOT NULL
                 GROUP BY l.entry_no ORDER BY 2 DESC, l.at DESC, l.entry_id",
            )?;
            let rows = statement.query_map(params![asked, FOUND_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of entries with a glob that may match this file, relative to the root, the last `limit` of them,
    /// but first those that name it; those that represent others.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entries_of_file(&self, path: &str, limit: usize) -> Result<Vec<i64>, StoreError> {
        let places: Vec<String> = places_of_path(path).into_iter().collect();
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT l.entry_no FROM (
                     SELECT b.entry_no FROM json_each(?1) p
                     CROSS JOIN knowledge_labels b ON b.kind = 'place' AND b.value = p.value
                     ORDER BY substr(b.value, 1, 1) <> '=', b.entry_no DESC LIMIT ?2)
                 JOIN entries e USING (entry_no)
                 JOIN entries l ON l.entry_id = e.leader_id AND l.event_id IS NOT NULL
                 ORDER BY l.at DESC, l.entry_id",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![to_json(&places), limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of entries that were written in a task or of use there, the last `limit` of them; those that
    /// represent others.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entries_of_task(&self, task: &str, limit: usize) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT l.entry_no FROM (
                     SELECT entry_id FROM entries WHERE task = ?1 AND event_id IS NOT NULL
                     UNION SELECT entry_id FROM entry_uses
                     WHERE task = ?1 AND how IN ('applied', 'validated', 'prevented'))
                 JOIN entries e USING (entry_id)
                 JOIN entries l ON l.entry_id = e.leader_id AND l.event_id IS NOT NULL
                 WHERE e.event_id IS NOT NULL ORDER BY l.at DESC, l.entry_id LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![task, limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of entries that represent others, the newest first, `limit` of them from `skip` on.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn newest_entries(
        &self,
        filter: &EntryFilter,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT entry_no FROM entries e WHERE event_id IS NOT NULL AND leader_id = entry_id
                   AND (?1 IS NULL OR type = ?1)
                   AND (?2 IS NULL OR EXISTS (SELECT 1 FROM knowledge_labels b WHERE b.entry_no = e.entry_no
                                              AND kind = 'tag' AND value = ?2))
                   AND (?3 IS NULL OR EXISTS (SELECT 1 FROM knowledge_labels b WHERE b.entry_no = e.entry_no
                                              AND kind = 'action' AND value = ?3))
                   AND (?4 IS NULL OR EXISTS (SELECT 1 FROM knowledge_labels b WHERE b.entry_no = e.entry_no
                                              AND kind = 'source' AND value = ?4))
                   AND (?5 OR NOT EXISTS (SELECT 1 FROM knowledge_changes c WHERE c.entry_id = e.entry_id
                                          AND change = 'superseded'))
                 ORDER BY at DESC, entry_id LIMIT ?6 OFFSET ?7",
            )?;
            let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
            let EntryFilter { kind, tag, action, source, superseded } = filter;
            statement
                .query_map(params![kind, tag, action, source, superseded, number(limit), number(skip)], |row| {
                    row.get(0)
                })?
                .collect()
        };
        self.sql_result("read", read())
    }

    /// Entries of a type that may have `shared` of these normal forms, each with its own: all that do are among them, but
    /// for superseded ones. Whoever has `shared` of `n` forms has `k` of any `n - shared + k` of them: the rarest.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn similar_entries(
        &self,
        kind: &EntryTypeName,
        forms: &[String],
        shared: usize,
    ) -> Result<Vec<(i64, Vec<String>)>, StoreError> {
        let read = || {
            let forms: BTreeSet<&String> = forms.iter().collect();
            let told_by = shared.min(TOLD_BY);
            let needles = forms.len().saturating_sub(shared) + told_by;
            let mut count = self.connection.prepare_cached("SELECT doc FROM knowledge_vocabulary WHERE term = ?1")?;
            let mut rare = Vec::with_capacity(forms.len());
            for form in forms {
                // The tokenizer folds other letters: they are looked for last.
                let known: i64 = if form.is_ascii() {
                    count.query_row([form], |row| row.get(0)).optional()?.unwrap_or(0)
                } else {
                    i64::MAX
                };
                rare.push((known, form));
            }
            rare.sort();
            let mut found: HashMap<i64, usize> = HashMap::new();
            let mut having =
                self.connection.prepare_cached("SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH ?1")?;
            for (_, form) in rare.into_iter().take(needles) {
                let mut rows = having.query([format!("forms : {}", any_word_query(std::slice::from_ref(form)))])?;
                while let Some(row) = rows.next()? {
                    *found.entry(row.get(0)?).or_default() += 1;
                }
            }
            let mut found: Vec<_> = found.into_iter().filter(|(_, count)| *count >= told_by).collect();
            found.sort_unstable_by_key(|(number, count)| (Reverse(*count), *number));
            let mut entry = self.connection.prepare_cached(
                "SELECT l.entry_no, e.forms FROM entries e
                 JOIN entries l ON l.entry_id = e.leader_id AND l.event_id IS NOT NULL
                 WHERE e.entry_no = ?1 AND e.type = ?2
                   AND NOT EXISTS (SELECT 1 FROM knowledge_changes c
                                   WHERE c.entry_id = l.entry_id AND change = 'superseded')",
            )?;
            let mut alike = Vec::new();
            for (number, _) in found.into_iter().take(ALIKE_MAX) {
                let row = entry.query_row(params![number, kind], |row| {
                    let forms: String = row.get::<_, Option<String>>(1)?.unwrap_or_default();
                    Ok((row.get(0)?, forms.split(' ').map(str::to_owned).collect()))
                });
                alike.extend(row.optional()?);
            }
            Ok(alike)
        };
        self.sql_result("read", read())
    }

    /// What was said of an entry and of those that were merged with it, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entry_changes(&self, leader: &str) -> Result<Vec<EntryChangeRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT c.event_id, c.entry_id, c.at, change, value, other_id, reason, c.agent, c.session, c.task, c.person
                 FROM knowledge_changes c WHERE c.entry_id IN (
                     SELECT ?1 UNION SELECT entry_id FROM entries WHERE leader_id = ?1 AND event_id IS NOT NULL)
                 ORDER BY c.at, c.event_id LIMIT ?2",
            )?;
            let rows = statement.query_map(params![leader, CHANGES_MAX], |row| {
                Ok(EntryChangeRow {
                    event: row.get(0)?,
                    entry: row.get(1)?,
                    at: row_time(row, 2)?,
                    change: row.get(3)?,
                    value: row.get(4)?,
                    other: row.get(5)?,
                    reason: row.get(6)?,
                    by: author_from_row(row, 7)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What was done with an entry and with those that were merged with it, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entry_uses(&self, leader: &str) -> Result<Vec<EntryUseRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT u.event_id, u.entry_id, u.at, how, u.agent, u.session, u.task, u.person
                 FROM entry_uses u WHERE u.entry_id IN (
                     SELECT ?1 UNION SELECT entry_id FROM entries WHERE leader_id = ?1 AND event_id IS NOT NULL)
                 ORDER BY u.at, u.event_id, u.entry_id LIMIT ?2",
            )?;
            let rows = statement.query_map(params![leader, CHANGES_MAX], |row| {
                let (event, entry, how) = (row.get(0)?, row.get(1)?, row.get(3)?);
                Ok(EntryUseRow { event, entry, at: row_time(row, 2)?, how, by: author_from_row(row, 4)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The row number of the pattern that a learnt gotcha is about, by its whole id; of a group that which represents
    /// it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_of_gotcha(&self, id: &str) -> Result<Option<i64>, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT leader_no FROM entries e JOIN known_patterns n ON n.recorded_key = e.pattern_key
                     JOIN pattern_leaders USING (pattern_no) WHERE entry_id = ?1 AND event_id IS NULL LIMIT 1",
                )?
                .query_row([id], |row| row.get(0))
                .optional()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of the patterns about which a gotcha was learnt, the last that a fix helped against first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_with_gotcha(&self, limit: usize) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_no FROM entries e JOIN known_patterns n ON n.recorded_key = e.pattern_key
                 JOIN pattern_leaders USING (pattern_no)
                 LEFT JOIN strategies s ON s.error_pattern = e.pattern_key
                 LEFT JOIN strategy_tries a ON a.strategy_no = s.strategy_no AND counts_as = 'success'
                 WHERE e.event_id IS NULL GROUP BY leader_no ORDER BY max(a.at) DESC, leader_no LIMIT ?1",
            )?;
            statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The whole id of the learnt gotcha whose id starts with `id` (`k-` may be left out); `None` when there is none, or
    /// more than one.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn learnt_entry(&self, id: &str) -> Result<Option<String>, StoreError> {
        let start = if id.starts_with("k-") { id.to_owned() } else { format!("k-{id}") };
        let read = || {
            let sql = "SELECT min(entry_id) FROM entries WHERE event_id IS NULL
                 AND entry_id BETWEEN ?1 AND ?1 || '~' HAVING count(DISTINCT entry_id) = 1";
            self.connection.prepare_cached(sql)?.query_row([start.as_str()], |row| row.get(0)).optional()
        };
        if start == "k-" { Ok(None) } else { Ok(self.sql_result("read", read())?.flatten()) }
    }

    /// The last writes to what is known, and uses of it that count, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn knowledge_log(&self, limit: usize) -> Result<Vec<KnowledgeLogRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT 'knowledge:created' AS name, entry_id, event_id, at, agent, session, task FROM entries
                 WHERE event_id IS NOT NULL
                 UNION ALL SELECT 'knowledge:' || change, entry_id, event_id, at, agent, session, task
                 FROM knowledge_changes
                 UNION ALL SELECT 'knowledge:promoted', entry_id, event_id, at, agent, session, NULL
                 FROM memory_changes WHERE change = 'promoted'
                 UNION ALL SELECT CASE how WHEN 'applied' THEN 'pattern:reused' ELSE 'knowledge:' || how END, entry_id,
                     event_id, at, agent, session, task
                 FROM entry_uses WHERE how NOT IN ('queried', 'retrieved')
                 ORDER BY at DESC, event_id DESC, entry_id LIMIT ?1",
            )?;
            let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(KnowledgeLogRow {
                    name: row.get(0)?,
                    entry: row.get(1)?,
                    event: row.get(2)?,
                    at: row_time(row, 3)?,
                    agent: row.get(4)?,
                    session: row.get(5)?,
                    task: row.get(6)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}

fn entry_row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    let list = |column: usize| -> rusqlite::Result<Vec<String>> {
        Ok(serde_json::from_str(&row.get::<_, Option<String>>(column)?.unwrap_or_default()).unwrap_or_default())
    };
    Ok(EntryRow {
        number: row.get(0)?,
        id: row.get(1)?,
        kind: row.get(2)?,
        event: row.get(3)?,
        title: row.get(4)?,
        properties: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        globs: list(6)?,
        actions: list(7)?,
        tags: list(8)?,
        sources: list(9)?,
        source: row.get(10)?,
        prevented: row.get(11)?,
        fix_applied: row.get(12)?,
        at: row_time(row, 13)?,
        by: author_from_row(row, 14)?,
        leader: row.get(18)?,
        superseded_by: row.get(19)?,
        pinned: row.get(20)?,
        occurrences: row_unsigned(row, 21)?,
        imported: row.get(22)?,
        from_shared_lesson: row.get(23)?,
    })
}

/// Who said it, from four columns.
pub(super) fn author_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<EventAuthor> {
    Ok(EventAuthor {
        agent: row.get(first)?,
        session: row.get(first + 1)?,
        task: row.get(first + 2)?,
        person: row.get(first + 3)?,
    })
}
