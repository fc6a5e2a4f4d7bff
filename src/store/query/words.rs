//! Which words of a question are searched: a full text search reads every row with one of them, however common the
//! word.

use rusqlite::{Connection, params};

/// Rows that are read for the words of one question.
const ROWS_MAX: i64 = 1_000;
/// Common words of which two are looked for together.
const PAIRED_MAX: usize = 4;

/// An FTS5 query for any of these words.
pub(super) fn any_word_query(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
    quoted.join(" OR ")
}

/// An FTS5 query for all of these words.
pub(super) fn all_words_query(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
    quoted.join(" AND ")
}

fn quote_word(word: &str) -> String {
    format!("\"{}\"", word.replace('"', ""))
}

/// An FTS5 query for the rarest of these words, this many that at most [`ROWS_MAX`] rows of the full text index
/// `table` have one of them. Where more rows than that have each of them: for two of the rarest; where no row has
/// two, for any.
pub(super) fn rarest_words_query(connection: &Connection, table: &str, words: &[String]) -> rusqlite::Result<String> {
    if words.len() < 2 {
        return Ok(any_word_query(words));
    }
    let mut count = connection
        .prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT ?2)"))?;
    let mut known = Vec::with_capacity(words.len());
    for word in words {
        let rows: i64 = count.query_row(params![quote_word(word), ROWS_MAX + 1], |row| row.get(0))?;
        known.push((rows, word));
    }
    known.sort_by_key(|(rows, _)| *rows);
    let (mut rare, mut read) = (Vec::new(), 0);
    for (rows, word) in &known {
        if read + rows > ROWS_MAX {
            break;
        }
        read += rows;
        rare.push((*word).clone());
    }
    if read > 0 {
        return Ok(any_word_query(&rare));
    }
    let common: Vec<&String> =
        known.iter().filter(|(rows, _)| *rows > 0).map(|(_, word)| *word).take(PAIRED_MAX).collect();
    let paired = common.iter().enumerate().flat_map(|(n, one)| common[n + 1..].iter().map(move |other| (one, other)));
    let pairs: Vec<String> =
        paired.map(|(one, other)| format!("({} AND {})", quote_word(one), quote_word(other))).collect();
    let pairs = pairs.join(" OR ");
    let is_enough = !pairs.is_empty() && count.query_row(params![pairs, 1], |row| row.get::<_, i64>(0))? > 0;
    Ok(if is_enough { pairs } else { any_word_query(words) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_most_rows_have_is_not_looked_for_beside_what_few_have() {
        let connection = Connection::open_in_memory().expect("opens");
        connection.execute_batch("CREATE VIRTUAL TABLE texts USING fts5(body)").expect("creates");
        let mut insert = connection.prepare("INSERT INTO texts VALUES (?1)").expect("prepares");
        for number in 0..=ROWS_MAX {
            let rare = if number == 7 { "rare" } else { "" };
            let half = if number % 2 == 0 { "half" } else { "" };
            insert.execute([format!("common usual {half} {rare}")]).expect("inserts");
        }
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let telling = |asked: &[&str]| rarest_words_query(&connection, "texts", &words(asked)).expect("reads");
        assert_eq!(telling(&["common", "rare", "half"]), r#""rare" OR "half""#);
        assert_eq!(telling(&["common", "unknown"]), r#""common" OR "unknown""#);
        assert_eq!(telling(&["common", "unknown", "rare"]), r#""unknown" OR "rare""#);
        assert_eq!(telling(&["common", "usual"]), r#"("common" AND "usual")"#);
        assert_eq!(telling(&["common"]), r#""common""#);
    }
}
