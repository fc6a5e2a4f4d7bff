//! YAML: keys are added behind the last one of the top, and taken out again.

use std::ops::Range;

use granit_parser::{Event, Parser, StructureStyle};

use super::{EditError, WrittenDocument, line, reverse};

/// Top keys and their lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlKeys {
    /// Each with its lines, which start with the key and end with a line end; not indented.
    pub keys: Vec<(&'static str, String)>,
    /// A comment line before them, without its `#`.
    pub comment: String,
}

/// The top keys of a document.
///
/// # Errors
/// When it can't be read, or isn't one document with keys at its top.
pub fn keys(text: &str) -> Result<Vec<String>, EditError> {
    Ok(top(text)?.into_iter().map(|key| key.name).collect())
}

/// `text` (empty: there is no such file) with the keys that it doesn't have; `None` where it has them all.
///
/// # Errors
/// When it can't be read, or isn't one document with keys at its top.
pub fn add(text: &str, wanted: &YamlKeys) -> Result<Option<String>, EditError> {
    let there = top(text)?;
    let missing: Vec<_> = wanted.keys.iter().filter(|(key, _)| there.iter().all(|it| it.name != *key)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let indent = there.first().map_or("", |key| line::indent(text, key.start));
    let lines: String = missing.iter().flat_map(|(_, lines)| lines.split_inclusive('\n')).collect();
    let chunk = format!("# {}\n{lines}", wanted.comment);
    let chunk: String = chunk.split_inclusive('\n').map(|line| format!("{indent}{line}")).collect();
    let added = line::append(text, &chunk);
    let (before, after) = (parse(text)?, parse(&added)?);
    // Whatever was there reads as before: of the events only those of our keys are new.
    let shared = if there.is_empty() { 0 } else { before.len() - CLOSING };
    let is_same = before[..shared].iter().zip(&after).all(|((a, _), (b, _))| a == b);
    let names = top(&added)?.len();
    if is_same && names == there.len() + missing.len() {
        return Ok(Some(added));
    }
    let last = there.last().map_or(0, |key| key.start);
    Err(EditError::by_hand(text, last, "nothing can be added after its last line without changing its meaning"))
}

/// `current` without the keys of `written`, whatever their values are by now.
///
/// # Errors
/// When one of the texts can't be read.
pub fn take_out(written: WrittenDocument<'_>, current: &str) -> Result<String, EditError> {
    let before = keys(written.before)?;
    let ours: Vec<String> = keys(written.after)?.into_iter().filter(|key| !before.contains(key)).collect();
    let mut text = current.to_owned();
    for key in top(current)?.into_iter().rev().filter(|key| ours.contains(&key.name)) {
        let start = line::start(current, key.start);
        let end = current[key.end..].find('\n').map_or(current.len(), |at| key.end + at + 1);
        let comment = current[..start].split_inclusive('\n').next_back();
        let comment = comment.filter(|line| line.trim_start().starts_with('#') && written.after.contains(*line));
        text.replace_range(start - comment.map_or(0, str::len)..end, "");
    }
    let says =
        |text: &str| Ok::<_, EditError>(parse(text)?.into_iter().map(|(event, _)| format!("{event:?}")).collect());
    let wanted: Vec<String> = says(&text)?;
    // Where what was written is still there as one piece, cutting it out leaves the fewest traces.
    let as_text = reverse::take_out(written, current).filter(|text| says(text).is_ok_and(|said| said == wanted));
    Ok(as_text.unwrap_or(text))
}

/// Events that follow the last key's value: the ends of mapping, document and stream.
const CLOSING: usize = 3;

/// A key of the top, from its first byte to the end of its value.
struct YamlKey {
    name: String,
    start: usize,
    end: usize,
}

fn top(text: &str) -> Result<Vec<YamlKey>, EditError> {
    let events = parse(text)?;
    let unfit = |at: &Range<usize>, what: &str| Err(EditError::by_hand(text, at.start, what));
    let mut documents = events.iter().filter(|(event, _)| matches!(event, Event::DocumentStart(..)));
    if let Some((_, at)) = documents.nth(1) {
        return unfit(at, "it has several documents");
    }
    if let Some(closed) = text.lines().position(|line| line.trim_end() == "...") {
        return Err(EditError { line: Some(closed + 1), reason: "its document is closed".into(), by_hand: true });
    }
    let (mut keys, mut depth, mut is_key): (Vec<YamlKey>, usize, bool) = (Vec::new(), 0, true);
    for (event, at) in &events {
        let outer = depth;
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => depth -= 1,
            _ => {}
        }
        match event {
            // Of a document without content it is nothing.
            Event::Scalar(..) if outer == 0 && !at.is_empty() => return unfit(at, "it has no keys with values"),
            Event::SequenceStart(..) if outer == 0 => return unfit(at, "it is a list, not keys with values"),
            Event::MappingStart(StructureStyle::Flow, ..) if outer == 0 => {
                return unfit(at, "its keys are in braces");
            }
            Event::Scalar(value, ..) if outer == 1 && is_key => {
                keys.push(YamlKey { name: value.to_string(), start: at.start, end: at.end });
                is_key = false;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) if outer == 1 && is_key => {
                return unfit(at, "one of its keys is not a word");
            }
            Event::Scalar(..) | Event::Alias(..) | Event::MappingEnd | Event::SequenceEnd if depth == 1 => {
                is_key = true
            }
            _ => {}
        }
        // A block ends where something else begins.
        let is_block_end =
            matches!(event, Event::MappingEnd | Event::SequenceEnd) && !text[at.clone()].ends_with([']', '}']);
        if let Some(key) = keys.last_mut().filter(|_| outer > 0 && !is_block_end) {
            key.end = key.end.max(at.start + text[at.clone()].trim_end().len());
        }
    }
    Ok(keys)
}

/// What it says, without its comments, each with its bytes.
fn parse(text: &str) -> Result<Vec<(Event<'_>, Range<usize>)>, EditError> {
    let (mark, rest) = line::split_mark(text);
    let mut events = Vec::new();
    for event in Parser::new_from_str(rest) {
        let (event, span) = event.map_err(|error| {
            let message = crate::base::text::one_line(&error.info());
            let reason = format!("this is not YAML: {message}");
            EditError { line: Some(error.marker().line()), reason, by_hand: false }
        })?;
        let bytes = span.byte_range().unwrap_or_default();
        if !matches!(event, Event::Comment(..)) {
            events.push((event, mark.len() + bytes.start..mark.len() + bytes.end));
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted() -> YamlKeys {
        let lint = "lint-cmd:\n  - \"python: verify-run -- ruff check\"\n".to_owned();
        let keys = vec![("test-cmd", "test-cmd: verify-run -- pytest\n".to_owned()), ("lint-cmd", lint)];
        YamlKeys { keys, comment: "Added by verify-run init".into() }
    }

    fn with(text: &str) -> String {
        add(text, &wanted()).expect("it can be added").expect("it isn't there")
    }

    #[test]
    fn keys_come_behind_everything_and_go_again() {
        let before = "# mine\nmodel: gpt # best\nread:\n- a\n- b\n";
        let after = with(before);
        let added = "# Added by verify-run init\ntest-cmd: verify-run -- pytest\nlint-cmd:\n  - \"python: verify-run -- \
                     ruff check\"\n";
        assert_eq!(after, format!("{before}{added}"));
        assert_eq!(add(&after, &wanted()), Ok(None), "they are there");
        assert_eq!(take_out(WrittenDocument { before, after: &after }, &after).as_deref(), Ok(before));
        assert_eq!(with(""), added);
        assert_eq!(with("---\n# only words\n"), format!("---\n# only words\n{added}"));
        assert!(with("a: 1\r\n").contains("test-cmd: verify-run -- pytest\r\nlint-cmd:\r\n"));
    }

    #[test]
    fn what_the_user_has_stays() {
        let after = with("test-cmd: mine\n");
        assert!(after.starts_with("test-cmd: mine\n#") && !after.contains("pytest") && after.contains("lint-cmd"));
        assert!(with("  a: 1\n").ends_with("\n  lint-cmd:\n    - \"python: verify-run -- ruff check\"\n"));
    }

    #[test]
    fn edited_keys_go_and_nothing_else_does() {
        let before = "model: gpt\n";
        let after = with(before);
        let edited = after.replace("pytest\n", "pytest -x # my\nauto-test: true\n").replace("check\"", "check --fix\"");
        let rest = take_out(WrittenDocument { before, after: &after }, &format!("{edited}last: |\n  a\n\n"));
        assert_eq!(rest.as_deref(), Ok("model: gpt\nauto-test: true\nlast: |\n  a\n\n"));
        // A line more behind ours is one of the key's.
        let before = "read:\n  - a\n";
        let after = with(before);
        let rest = take_out(WrittenDocument { before, after: &after }, &format!("{after}  - \"go: mine\"\n"));
        assert_eq!(rest.as_deref(), Ok(before));
    }

    #[test]
    fn what_keys_cannot_be_added_to_is_named() {
        for (text, line) in
            [("a: 1\n---\nb: 2\n", 2), ("# c\n- a\n", 2), ("{a: 1}\n", 1), ("a: 1\n...\n", 2), ("word\n", 1)]
        {
            let error = add(text, &wanted()).expect_err(text);
            assert_eq!((error.line, error.by_hand), (Some(line), true), "{text}");
        }
        let error = add("a: 1\nb: [\n", &wanted()).expect_err("broken");
        assert!(error.reason.starts_with("this is not YAML: ") && !error.by_hand && error.line.is_some(), "{error:?}");
    }

    proptest! {
        #[test]
        fn whatever_the_document_is_its_bytes_come_back(
            lines in prop::collection::vec("(# [a-z]{0,5}|[a-z]{1,3}: ([0-9]|\"[a-z ]*\"|\\[1, 2\\]|&x y|\\|\n  two\n  lines|>-\n  folded\n)|[a-z]{2}:\n  - a\n  - b: c| *|- a)", 0..6),
            end in prop::sample::select(vec!["\n", "\r\n"]),
            last in any::<bool>(),
        ) {
            let mut before = lines.join("\n").replace('\n', end);
            if last { before.push_str(end); }
            let Ok(Some(after)) = add(&before, &wanted()) else { return Ok(()) };
            prop_assert!(after.starts_with(&before));
            let written = WrittenDocument { before: &before, after: &after };
            prop_assert_eq!(take_out(written, &after).expect("they are there"), before.clone());
            let there = keys(&before).expect("whole");
            let now = keys(&after).expect("whole");
            prop_assert_eq!(&now[..there.len()], &there[..]);
        }
    }
}
