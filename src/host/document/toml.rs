//! TOML: tables are added at the end, and taken out again.

use toml_edit::{Document, Item};

use super::{EditError, WrittenDocument, line, reverse};

/// A table to write into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlTable {
    /// Keys from the top; its header.
    pub path: Vec<&'static str>,
    /// Its lines, each with its end; no header.
    pub lines: String,
    /// A comment line before the header, without its `#`.
    pub comment: String,
}

/// The document as plain values; `None` where it can't be read.
pub fn value(text: &str) -> Option<serde_json::Value> {
    serde_json::to_value(values(text).ok()?).ok()
}

/// `text` (empty: there is no such file) with the table; `None` where it has one of that name.
///
/// # Errors
/// When the document can't be read, or has the name on the way as something that no header can add to.
pub fn add(text: &str, table: &TomlTable) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    let mut item = document.as_item();
    for (depth, key) in table.path.iter().enumerate() {
        let Some(inner) = item.get(key) else { break };
        if depth + 1 == table.path.len() {
            return Ok(None);
        }
        item = inner;
    }
    let header = table.path.join(".");
    let gap = if text.trim().is_empty() { "" } else { "\n" };
    let chunk = format!("{gap}# {}\n[{header}]\n{}", table.comment, table.lines);
    let added = line::append(text, &chunk);
    // The one judge of what a header may add to is the language.
    let is_added = values(&added).ok().zip(values(text).ok()).is_some_and(|(mut after, before)| {
        remove(&mut after, &table.path);
        after == before
    });
    if is_added {
        return Ok(Some(added));
    }
    let at = item.span().map_or(0, |span| span.start);
    let reason = format!("`{}` is written in a form that takes no further table", table.path[0]);
    Err(EditError::by_hand(text, at, reason))
}

/// `current` without the table of `written`, whatever is in it by now.
///
/// # Errors
/// When one of the texts can't be read.
pub fn take_out(written: WrittenDocument<'_>, current: &str) -> Result<String, EditError> {
    let (before, after) = (values(written.before)?, values(written.after)?);
    let Some(path) = beyond(&before, &after) else { return Ok(current.to_owned()) };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut wanted = values(current)?;
    remove(&mut wanted, &path);
    let is_meant = |text: &String| values(text).is_ok_and(|values| values == wanted);
    // Where what was written is still there as one piece, cutting it out leaves the fewest traces.
    let as_text = reverse::take_out(written, current).filter(is_meant);
    match as_text.map_or_else(|| without(written, current, &path), Ok)? {
        text if is_meant(&text) => Ok(text),
        _ => Err(EditError::by_hand(current, 0, format!("[{}] was rewritten since", path.join(".")))),
    }
}

/// `current` without the lines of a table.
fn without(written: WrittenDocument<'_>, current: &str, path: &[&str]) -> Result<String, EditError> {
    let document = parse(current)?;
    let Some(table) = path.iter().try_fold(document.as_item(), |item, key| item.get(key)) else {
        return Ok(current.to_owned());
    };
    let Some(span) = table.span().filter(|_| table.is_table()) else { return Ok(current.to_owned()) };
    let end = end_of(table).unwrap_or(span.end).max(span.end);
    let end = current[end..].find('\n').map_or(current.len(), |at| end + at + 1);
    let start = before_comment(written, current, line::start(current, span.start));
    Ok(format!("{}{}", &current[..start], &current[end..]))
}

/// Where our comment and the empty line before it start, if they are there.
fn before_comment(written: WrittenDocument<'_>, current: &str, header: usize) -> usize {
    let lines = current[..header].split_inclusive('\n').rev();
    let comment = lines.take(1).find(|line| line.starts_with('#') && written.after.contains(line.trim_end()));
    let start = header - comment.map_or(0, str::len);
    let rest = &current[..start];
    let gap = rest.strip_suffix("\r\n").or_else(|| rest.strip_suffix('\n'));
    gap.filter(|rest| comment.is_some() && rest.ends_with('\n')).map_or(start, str::len)
}

/// Where the last value of a table ends.
fn end_of(item: &Item) -> Option<usize> {
    let inner = item.as_table_like()?.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        other => end_of(other).or_else(|| other.span().map(|span| span.end)),
    });
    inner.max()
}

/// The keys to the first table that only the second has.
fn beyond(before: &toml::Table, after: &toml::Table) -> Option<Vec<String>> {
    after.iter().find_map(|(key, value)| {
        let mut path = vec![key.clone()];
        match (before.get(key), value) {
            (None, toml::Value::Table(table)) => {
                // Down to the table that has the values.
                let mut inner = table;
                while let (Some((key, toml::Value::Table(only))), 1) = (inner.iter().next(), inner.len()) {
                    path.push(key.clone());
                    inner = only;
                }
                Some(path)
            }
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => {
                path.extend(beyond(old, new)?);
                Some(path)
            }
            _ => None,
        }
    })
}

fn remove(table: &mut toml::Table, path: &[&str]) {
    let Some((key, rest)) = path.split_first() else { return };
    let is_empty = match (rest.is_empty(), table.get_mut(*key)) {
        (false, Some(toml::Value::Table(inner))) => {
            remove(inner, rest);
            inner.is_empty()
        }
        (is_last, _) => is_last,
    };
    if is_empty {
        table.remove(*key);
    }
}

fn values(text: &str) -> Result<toml::Table, EditError> {
    let (_, text) = line::split_mark(text);
    text.parse::<toml::Table>().map_err(|error| broken(text, error.span(), error.message()))
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| broken(text, error.span(), error.message()))
}

fn broken(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> EditError {
    let message = crate::base::text::one_line(message);
    EditError::at(text, span.map_or(0, |span| span.start), format!("this is not TOML: {message}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server() -> TomlTable {
        TomlTable {
            path: vec!["mcp_servers", "verify-run"],
            lines: "command = \"verify-run\"\nargs = [\"mcp\"]\n".into(),
            comment: "Added by verify-run init".into(),
        }
    }

    fn with(text: &str) -> String {
        add(text, &server()).expect("it can be added").expect("it isn't there")
    }

    #[test]
    fn a_table_comes_behind_everything_and_goes_again() {
        let before = "# mine\nmodel = \"o\"\n\n[mcp_servers.other] # x\ncommand = 'y'\n";
        let after = with(before);
        let added =
            "\n# Added by verify-run init\n[mcp_servers.verify-run]\ncommand = \"verify-run\"\nargs = [\"mcp\"]\n";
        assert_eq!(after, format!("{before}{added}"));
        assert_eq!(add(&after, &server()), Ok(None), "it is there");
        assert_eq!(take_out(WrittenDocument { before, after: &after }, &after).as_deref(), Ok(before));
        assert_eq!(with(""), added.trim_start());
        assert!(
            with("a = 1\r\n").ends_with("[mcp_servers.verify-run]\r\ncommand = \"verify-run\"\r\nargs = [\"mcp\"]\r\n")
        );
    }

    #[test]
    fn an_edited_table_goes_with_its_edits_and_nothing_else_does() {
        let before = "model = \"o\"\n";
        let after = with(before);
        let edited = after.replace("[\"mcp\"]\n", "[\n  \"mcp\",\n]\nenv = { A = \"1\" } # b\n# mine\n[next]\nx = 1\n");
        let rest = take_out(WrittenDocument { before, after: &after }, &edited);
        assert_eq!(rest.as_deref(), Ok("model = \"o\"\n# mine\n[next]\nx = 1\n"));
        assert_eq!(take_out(WrittenDocument { before, after: &after }, "a = 1\n").as_deref(), Ok("a = 1\n"));
        // A line more behind ours is one of the table's.
        let longer = format!("{after}env = {{ A = \"1\" }}\n\n[next]\n");
        assert_eq!(
            take_out(WrittenDocument { before, after: &after }, &longer).as_deref(),
            Ok("model = \"o\"\n\n[next]\n")
        );
    }

    #[test]
    fn what_no_header_can_add_to_is_named() {
        let error = add("a = 1\nmcp_servers = { x = { command = 'y' } }\n", &server()).expect_err("inline");
        assert_eq!((error.line, error.by_hand), (Some(2), true));
        let error = add("a = 1\nb = \n", &server()).expect_err("broken");
        assert_eq!(error.line, Some(2));
        assert!(error.reason.starts_with("this is not TOML: "), "{error}");
    }

    proptest! {
        #[test]
        fn whatever_the_document_is_its_bytes_come_back(
            lines in prop::collection::vec("(# [a-z]{0,5}|[a-f]{1,3} = ([0-9]|\"[a-z ]*\"|\\[1, 2\\])|\\[[g-k]{1,3}\\]|\\[\\[[l-n]\\]\\]| *|mcp_servers\\.[a-z] = 1)", 0..8),
            end in prop::sample::select(vec!["\n", "\r\n"]),
            last in any::<bool>(),
        ) {
            let mut before = lines.join(end);
            if last { before.push_str(end); }
            prop_assume!(value(&before).is_some());
            let Ok(Some(after)) = add(&before, &server()) else { return Ok(()) };
            prop_assert!(after.starts_with(&before));
            let written = WrittenDocument { before: &before, after: &after };
            prop_assert_eq!(take_out(written, &after).expect("it is there"), before.clone());
            // Edited in front and behind.
            let edited = format!("zzz = 1{end}{after}[zz]{end}");
            let rest = take_out(written, &edited).expect("it is there");
            prop_assert_eq!(rest.replace(['\r', '\n'], ""), format!("zzz = 1{before}[zz]").replace(['\r', '\n'], ""));
        }
    }
}
