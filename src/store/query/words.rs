//! Which words of a question are looked for: a full text search reads every row that has one of them, however little it
//! says.

use rusqlite::{Connection, params};

/// Rows that are read for the words of one question.
const ROWS_MAX: i64 = 1_000;

/// An FTS5 query for any of these words.
pub(super) fn any_of(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" OR ")
}

/// An FTS5 query for all of these words.
pub(super) fn all_of(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" AND ")
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', ""))
}

/// Of `words` the rarest, so many that at most [`ROWS_MAX`] rows of the full text index `table` have one of them. All
/// where no row has a rare one: then none says more than another.
pub(super) fn rarest(connection: &Connection, table: &str, words: &[String]) -> rusqlite::Result<Vec<String>> {
    if words.len() < 2 {
        return Ok(words.to_vec());
    }
    let mut count = connection
        .prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT ?2)"))?;
    let mut known = Vec::with_capacity(words.len());
    for word in words {
        let rows: i64 = count.query_row(params![quoted(word), ROWS_MAX + 1], |row| row.get(0))?;
        known.push((rows, word));
    }
    known.sort_by_key(|(rows, _)| *rows);
    let (mut rare, mut read) = (Vec::new(), 0);
    for (rows, word) in known {
        if read + rows > ROWS_MAX {
            break;
        }
        read += rows;
        rare.push(word.clone());
    }
    Ok(if read == 0 { words.to_vec() } else { rare })
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
        let rarest = |asked: &[&str]| rarest(&connection, "texts", &words(asked)).expect("reads");
        assert_eq!(rarest(&["common", "rare", "half"]), words(&["rare", "half"]));
        assert_eq!(rarest(&["common", "unknown"]), words(&["common", "unknown"]));
        assert_eq!(rarest(&["common", "unknown", "rare"]), words(&["unknown", "rare"]));
        assert_eq!(rarest(&["common", "usual"]), words(&["common", "usual"]));
        assert_eq!(rarest(&["common"]), words(&["common"]));
    }
}
