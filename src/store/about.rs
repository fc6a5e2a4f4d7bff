//! Which recorded patterns a written entry is about. A function of what is in the index: in whichever order events
//! come, the last one finds the same.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

/// A pitfall with fewer words says too little to recognise a mistake by.
const WORDS_MIN: usize = 3;
/// One with more is no message.
const WORDS_MAX: usize = 60;

/// Patterns that the entries of a group name as their source: by an id of any version of the fingerprint, or by their
/// family's key. Begins with `said` (value).
const NAMED: &str = "named (pattern_no) AS (
        SELECT pattern_no FROM said CROSS JOIN patterns ON pattern_id = value
        UNION SELECT pattern_no FROM said CROSS JOIN recorded_keys ON recorded_id = value
        UNION SELECT pattern_no FROM said CROSS JOIN patterns ON family_key = value
    )";

/// What an entry, with those that it was merged with, is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EntrySubject {
    /// Row numbers of the patterns, with those that are counted with them.
    pub patterns: BTreeSet<i64>,
    /// They are named as its source; else their messages say what its pitfall says.
    pub named: bool,
    /// Files that it is about.
    pub globs: BTreeSet<String>,
    /// What is being done when it matters.
    pub actions: BTreeSet<String>,
}

/// What the entry with this id is about; nothing if it does not exist yet.
pub(super) fn subject_of_entry(connection: &Connection, id: &str) -> rusqlite::Result<EntrySubject> {
    let mut about =
        EntrySubject { patterns: patterns_named_by_entry(connection, id)?, named: true, ..EntrySubject::default() };
    let mut pitfalls = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT e.globs, e.actions, CASE WHEN e.type = 'gotcha' THEN
                CAST(json_extract(e.properties, '$.pitfall') AS TEXT) END
         FROM entries own JOIN entries e ON e.leader_id = own.leader_id AND e.event_id IS NOT NULL
         WHERE own.entry_id = ?1 AND own.event_id IS NOT NULL",
    )?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let list = |column: usize| -> rusqlite::Result<Vec<String>> {
            Ok(serde_json::from_str(&row.get::<_, Option<String>>(column)?.unwrap_or_default()).unwrap_or_default())
        };
        about.globs.extend(list(0)?);
        about.actions.extend(list(1)?);
        pitfalls.extend(row.get::<_, Option<String>>(2)?);
    }
    if about.patterns.is_empty() {
        about.named = false;
        for phrase in pitfalls.iter().filter_map(|pitfall| phrase_query(pitfall)) {
            let mut find = connection.prepare_cached("SELECT rowid FROM pattern_words WHERE pattern_words MATCH ?1")?;
            let found: BTreeSet<i64> = find.query_map([&phrase], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            about.patterns.extend(found);
        }
        about.patterns = with_group_members(connection, &about.patterns)?;
    }
    Ok(about)
}

/// The patterns that an entry names as its source, with those that are counted with them.
pub(super) fn patterns_named_by_entry(connection: &Connection, id: &str) -> rusqlite::Result<BTreeSet<i64>> {
    let sql = format!(
        "WITH said (value) AS (
             SELECT l.value FROM entries own
             JOIN entries e ON e.leader_id = own.leader_id AND e.event_id IS NOT NULL
             JOIN knowledge_labels l ON l.entry_no = e.entry_no AND l.kind = 'source'
             WHERE own.entry_id = ?1 AND own.event_id IS NOT NULL
         ), {NAMED} SELECT pattern_no FROM named"
    );
    let found: BTreeSet<i64> =
        connection.prepare_cached(&sql)?.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    with_group_members(connection, &found)
}

/// Ids of the entries, as advice names them, that may be about a pattern: what becomes known of it concerns them.
pub(super) fn entries_about_pattern(connection: &Connection, pattern: i64) -> rusqlite::Result<BTreeSet<String>> {
    // Most stores have no advice from entries: that is one look-up.
    let advised = "SELECT 1 FROM deliveries WHERE entry_id IS NOT NULL LIMIT 1";
    if !connection.prepare_cached(advised)?.exists([])? {
        return Ok(BTreeSet::new());
    }
    let mut found: BTreeSet<String> = connection
        .prepare_cached(
            "WITH members (pattern_no) AS (
                 SELECT ?1 UNION SELECT other.pattern_no FROM pattern_groups own JOIN pattern_groups other USING (leader_no)
                 WHERE own.pattern_no = ?1
             ), names (value) AS (
                 SELECT pattern_id FROM members CROSS JOIN patterns USING (pattern_no)
                 UNION SELECT family_key FROM members CROSS JOIN patterns USING (pattern_no)
                 UNION SELECT recorded_id FROM members CROSS JOIN recorded_keys USING (pattern_no)
             )
             SELECT m.entry_id FROM names CROSS JOIN knowledge_labels l ON l.kind = 'source' AND l.value = names.value
             JOIN entries e ON e.entry_no = l.entry_no AND e.event_id IS NOT NULL
             JOIN entries m ON m.leader_id = e.leader_id AND m.event_id IS NOT NULL",
        )?
        .query_map([pattern], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut pitfalls = connection.prepare_cached(
        "SELECT d.entry_id, CAST(json_extract(e.properties, '$.pitfall') AS TEXT)
         FROM (SELECT DISTINCT entry_id FROM deliveries WHERE entry_id IS NOT NULL) d
         JOIN entries own ON own.entry_id = d.entry_id AND own.event_id IS NOT NULL
         JOIN entries e ON e.leader_id = own.leader_id AND e.event_id IS NOT NULL
         WHERE e.type = 'gotcha'",
    )?;
    let mut messages = Vec::new();
    let mut message = connection.prepare_cached("SELECT masked FROM patterns WHERE pattern_no = ?1")?;
    for member in with_group_members(connection, &BTreeSet::from([pattern]))? {
        let masked: Option<String> = message.query_row([member], |row| row.get(0)).optional()?;
        messages.extend(masked.map(|masked| (member, masked.to_lowercase())));
    }
    let mut find =
        connection.prepare_cached("SELECT 1 FROM pattern_words WHERE pattern_words MATCH ?1 AND rowid = ?2")?;
    let mut rows = pitfalls.query([])?;
    while let Some(row) = rows.next()? {
        let pitfall: Option<String> = row.get(1)?;
        let Some((pitfall, phrase)) =
            pitfall.and_then(|pitfall| phrase_query(&pitfall).map(|phrase| (pitfall, phrase)))
        else {
            continue;
        };
        for (member, message) in &messages {
            if may_contain_pitfall(message, &pitfall) && find.exists(params![phrase, member])? {
                found.insert(row.get(0)?);
                break;
            }
        }
    }
    Ok(found)
}

/// Whether a message, lower case, may have the words of a pitfall one after the other. Asked before the index of words is,
/// which reads every message that has one of them. Letters that it folds are left to it.
fn may_contain_pitfall(message: &str, pitfall: &str) -> bool {
    let has = |word: &str| !word.is_ascii() || message.contains(&word.to_ascii_lowercase());
    !message.is_ascii() || pitfall_words(pitfall).all(has)
}

fn pitfall_words(pitfall: &str) -> impl Iterator<Item = &str> {
    pitfall.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// The words of a pitfall, one after the other, as they are looked for in messages; `None` where they say too little to
/// recognise a mistake by.
fn phrase_query(pitfall: &str) -> Option<String> {
    let words: Vec<&str> = pitfall_words(pitfall).collect();
    (WORDS_MIN..=WORDS_MAX).contains(&words.len()).then(|| format!("masked : \"{}\"", words.join(" ")))
}

/// These patterns and those that are counted with them.
fn with_group_members(connection: &Connection, patterns: &BTreeSet<i64>) -> rusqlite::Result<BTreeSet<i64>> {
    let mut found = patterns.clone();
    let mut find = connection.prepare_cached(
        "SELECT other.pattern_no FROM pattern_groups own JOIN pattern_groups other USING (leader_no)
         WHERE own.pattern_no = ?1",
    )?;
    for pattern in patterns {
        for member in find.query_map([pattern], |row| row.get(0))? {
            found.insert(member?);
        }
    }
    Ok(found)
}

/// The family of all patterns that an entry names, as those have it that represent them; `None` where it names none,
/// or those of several families.
pub(super) fn family_of_entry(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut find = connection.prepare_cached(
        "SELECT family_key FROM pattern_leaders m JOIN patterns l ON l.pattern_no = m.leader_no
         WHERE m.pattern_no = ?1",
    )?;
    let mut families = BTreeSet::new();
    for pattern in patterns_named_by_entry(connection, id)? {
        families.extend(find.query_row([pattern], |row| row.get::<_, String>(0)).optional()?);
    }
    Ok(families.pop_first().filter(|_| families.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pitfall_of_a_few_words_is_a_phrase() {
        assert_eq!(phrase_query("'x' is not defined!").as_deref(), Some("masked : \"x is not defined\""));
        assert_eq!(phrase_query("no_undef \" OR code : x").as_deref(), Some("masked : \"no_undef OR code x\""));
        assert_eq!(phrase_query("it hangs"), None, "half of everything hangs");
        assert_eq!(phrase_query(&"word ".repeat(61)), None);
    }

    #[test]
    fn the_index_is_asked_of_whatever_may_have_the_words() {
        let message = "the config of `port` is not defined";
        assert!(may_contain_pitfall(message, "Config of PORT is not"));
        assert!(may_contain_pitfall(message, "not the port, config"), "their order is the index's");
        assert!(!may_contain_pitfall(message, "the config of host is not"));
        assert!(
            may_contain_pitfall(message, "the überport is not")
                && may_contain_pitfall("the pört is not", "the port is not")
        );
    }
}
