//! The block in CLAUDE.md or AGENTS.md: between two marks, sealed, and taken out again without a trace.
//!
//! ```markdown
//! <!-- verify-run begin 0123456789abcdef +1: written by `verify-run promote`, change it there -->
//! - Text of a line (`r-3k7qd2ma`)
//! <!-- verify-run end -->
//! ```
//!
//! The number in the first mark is a hash of the lines between the marks: an edited block is not overwritten unless a
//! person keeps the edits. `+1` counts the line ends that were put before the block, so that taking it out gives the
//! bytes from before.
//!
//! The instructions that `init` writes have marks of their own; both blocks may be in one file.

use thiserror::Error;

use crate::base::text::{ellipsis, one_line};

/// A line, bytes. Whoever makes one keeps it shorter: this cuts wherever it falls.
const LINE_BYTES_MAX: usize = 2_000;
/// Line ends that are ever put before a block.
const GAP_MAX: usize = 2;

/// What a block is between.
struct BlockMarks {
    /// How the first mark starts.
    begin: &'static str,
    /// How it ends.
    begin_end: &'static str,
    /// The second mark.
    end: &'static str,
}

/// Around what was promoted.
const PROMOTED: BlockMarks = BlockMarks {
    begin: "<!-- verify-run begin ",
    begin_end: ": written by `verify-run promote`, change it there -->",
    end: "<!-- verify-run end -->",
};
/// Around the instructions for agents.
const INSTRUCTIONS: BlockMarks = BlockMarks {
    begin: "<!-- verify-run instructions begin ",
    begin_end: ": by `verify-run init` -->",
    end: "<!-- verify-run instructions end -->",
};

/// A line of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockLine {
    id: String,
    text: String,
}

/// What happens to edited lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditPolicy {
    /// Nothing is written.
    Refuse,
    /// They stay as they are, and belong to the block from now on.
    Keep,
}

impl BlockLine {
    /// The line of the promotion `id` (letters, digits, hyphens). `text` is Markdown, quoted by the caller, without
    /// list mark and id; it always stays one line and can't be a mark.
    pub(crate) fn new(id: &str, text: &str) -> Self {
        BlockLine { id: id.to_owned(), text: ellipsis(one_line(text).trim(), LINE_BYTES_MAX) }
    }

    /// As it is in the file.
    pub(crate) fn to_markdown(&self) -> String {
        format!("- {} (`{}`)", self.text, self.id)
    }
}

/// Why a block can't be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockError {
    /// The lines between the marks were edited.
    #[error(
        "line {line}: the lines between verify-run's marks were edited by hand; revert the edits, move them out of \
         the block, or keep them with: --edits keep"
    )]
    Edited {
        /// Line of the first mark, from 1.
        line: usize,
    },
    /// The marks aren't a pair.
    #[error("line {line}: {what}; put verify-run's two marks right or remove both")]
    Broken {
        /// Line of the mark, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It would be longer than it may be.
    #[error(
        "the block would have {found} lines and may have {max} (setting promotion.lines): remove one first with: \
         verify-run promote rollback ID"
    )]
    Full {
        /// Lines it would have, marks not counted.
        found: usize,
        /// Lines it may have.
        max: usize,
    },
}

/// A block as it lies in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ExistingBlock {
    /// Where it starts, with the line ends that were put before it.
    start: usize,
    /// Where it ends, behind its last line end.
    end: usize,
    /// The lines between the marks, without line ends.
    lines: Vec<String>,
    /// They were edited.
    is_edited: bool,
}

/// The lines of a file with where each starts and ends, its line end not counted.
fn file_lines(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end_matches('\n').trim_end_matches('\r'), *at))
    })
}

fn compute_seal(lines: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    for line in lines {
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn find_block(text: &str, marks: &BlockMarks, edits: EditPolicy) -> Result<Option<ExistingBlock>, BlockError> {
    let mut open: Option<(usize, usize, String, usize)> = None;
    let mut found = None;
    let mut lines = Vec::new();
    for (index, (start, line, end)) in file_lines(text).enumerate() {
        let number = index + 1;
        let broken = |what| Err(BlockError::Broken { line: number, what });
        if let Some(head) = line.strip_prefix(marks.begin) {
            if open.is_some() || found.is_some() {
                return broken("a second block begins");
            }
            let parts = head.strip_suffix(marks.begin_end).and_then(|head| head.split_once(" +"));
            let parts = parts.and_then(|(hash, gap)| Some((hash, gap.parse::<usize>().ok()?)));
            let Some((hash, gap)) = parts.filter(|(_, gap)| *gap <= GAP_MAX) else {
                return broken("the first mark was changed");
            };
            open = Some((start, gap, hash.to_owned(), number));
        } else if line == marks.end {
            let Some((start, gap, hash, first)) = open.take() else {
                return broken("an end mark without a begin mark");
            };
            let is_edited = compute_seal(&lines) != hash;
            if is_edited && edits == EditPolicy::Refuse {
                return Err(BlockError::Edited { line: first });
            }
            let start = find_gap_start(text, start, gap);
            found = Some(ExistingBlock { start, end, lines: std::mem::take(&mut lines), is_edited });
        } else if open.is_some() {
            lines.push(line.to_owned());
        }
    }
    match open {
        Some((.., line)) => Err(BlockError::Broken { line, what: "the end mark is missing" }),
        None => Ok(found),
    }
}

/// Where the line ends begin that were put before the block, as far as they are still there. They are of the kind that
/// the block's own lines have.
fn find_gap_start(text: &str, start: usize, gap: usize) -> usize {
    let mark = text[start..].split_inclusive('\n').next().unwrap_or_default();
    let line_end = if mark.ends_with("\r\n") { "\r\n" } else { "\n" };
    let at = (0..gap).fold(start, |at, _| text[..at].strip_suffix(line_end).map_or(at, str::len));
    // One line end was put behind a whole line: if it is the only one left, verify-run's was removed, and this one is
    // the user's.
    if gap == 1 && at > 0 && !text[..at].ends_with('\n') { start } else { at }
}

/// The ids of the lines in the block of a file, in order, edited or not; none where it has no block.
///
/// # Errors
/// When its marks are broken.
pub(crate) fn block_ids(text: &str) -> Result<Vec<String>, BlockError> {
    let lines = find_block(text, &PROMOTED, EditPolicy::Keep)?.map(|found| found.lines).unwrap_or_default();
    Ok(lines.iter().filter_map(|line| line_id(line)).map(str::to_owned).collect())
}

fn line_id(line: &str) -> Option<&str> {
    line.strip_suffix("`)")?.rsplit_once("(`").map(|(_, id)| id)
}

/// `text` with `line` in its block: in place of the one with its id, else as the last one. A file without a block gets
/// one at its end, behind an empty line.
///
/// `lines_max` bounds the lines between the marks.
///
/// # Errors
/// When the block was edited, its marks are broken, or it would get too long; the file is to be left as it is.
pub(crate) fn with_line(
    text: &str,
    line: &BlockLine,
    lines_max: usize,
    edits: EditPolicy,
) -> Result<String, BlockError> {
    let found = find_block(text, &PROMOTED, edits)?;
    let mut lines = found.as_ref().map(|found| found.lines.clone()).unwrap_or_default();
    let markdown = line.to_markdown();
    match lines.iter_mut().find(|old| line_id(old) == Some(&line.id)) {
        Some(old) => *old = markdown,
        None => lines.push(markdown),
    }
    if lines.len() > lines_max {
        return Err(BlockError::Full { found: lines.len(), max: lines_max });
    }
    Ok(place_block(text, &PROMOTED, found.as_ref(), &lines))
}

/// `text` without the line with `line`'s id; with the last line the block goes too, and the bytes are those from
/// before it. Where edits stay, a reworded line stays too: after the block, as the user's own.
///
/// # Errors
/// When the block was edited or its marks are broken.
pub(crate) fn without_line(text: &str, line: &BlockLine, edits: EditPolicy) -> Result<String, BlockError> {
    let Some(found) = find_block(text, &PROMOTED, edits)? else { return Ok(text.to_owned()) };
    let id = line.id.as_str();
    let (own, lines): (Vec<String>, Vec<String>) =
        found.lines.iter().cloned().partition(|line| line_id(line) == Some(id));
    let theirs = own.iter().filter(|own| found.is_edited && **own != line.to_markdown());
    let theirs = theirs.map(|own| own.replace(&format!(" (`{id}`)"), "") + line_ending(text));
    let text = format!("{}{}{}", &text[..found.end], theirs.collect::<String>(), &text[found.end..]);
    Ok(if lines.is_empty() { remove_block(&text, &found) } else { place_block(&text, &PROMOTED, Some(&found), &lines) })
}

/// `text` with the instructions for agents: in place of those that it has, else at its end, behind an empty line.
///
/// # Errors
/// When the block was edited or its marks are broken; the file is to be left as it is.
pub(crate) fn with_instructions(text: &str, instructions: &str) -> Result<String, BlockError> {
    let found = find_block(text, &INSTRUCTIONS, EditPolicy::Refuse)?;
    let lines: Vec<String> = instructions.lines().map(str::to_owned).collect();
    if found.as_ref().is_some_and(|found| found.lines == lines) {
        return Ok(text.to_owned());
    }
    Ok(place_block(text, &INSTRUCTIONS, found.as_ref(), &lines))
}

/// Whether there are marks of instructions, edited or not.
pub(crate) fn has_instructions(text: &str) -> bool {
    !matches!(find_block(text, &INSTRUCTIONS, EditPolicy::Keep), Ok(None))
}

/// `text` without the instructions; the bytes are those from before them.
///
/// # Errors
/// As [`with_instructions`].
pub(crate) fn without_instructions(text: &str) -> Result<String, BlockError> {
    let found = find_block(text, &INSTRUCTIONS, EditPolicy::Refuse)?;
    Ok(found.map_or_else(|| text.to_owned(), |found| remove_block(text, &found)))
}

fn remove_block(text: &str, found: &ExistingBlock) -> String {
    let (before, after) = (&text[..found.start], &text[found.end..]);
    // What a user wrote after the block stays a line of its own.
    let joins = !before.is_empty() && !before.ends_with('\n') && !after.is_empty();
    format!("{before}{}{after}", if joins { line_ending(text) } else { "" })
}

fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn place_block(text: &str, marks: &BlockMarks, found: Option<&ExistingBlock>, lines: &[String]) -> String {
    let line_end = line_ending(text);
    let (start, end) = found.map_or((text.len(), text.len()), |found| (found.start, found.end));
    let (before, after) = (&text[..start], &text[end..]);
    // An empty line before it; a heading right behind text would not be one everywhere.
    let gap = match before {
        "" => 0,
        before if before.ends_with('\n') => 1,
        _ => 2,
    };
    let mut out = before.to_owned();
    out.push_str(&line_end.repeat(gap));
    out.push_str(&format!("{}{} +{gap}{}{line_end}", marks.begin, compute_seal(lines), marks.begin_end));
    for line in lines {
        out.push_str(line);
        out.push_str(line_end);
    }
    out.push_str(marks.end);
    out.push_str(line_end);
    out.push_str(after);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(id: &str, text: &str) -> BlockLine {
        BlockLine::new(id, text)
    }

    fn with(text: &str, line: &BlockLine, max: usize) -> Result<String, BlockError> {
        super::with_line(text, line, max, EditPolicy::Refuse)
    }

    fn without(text: &str, id: &str) -> Result<String, BlockError> {
        super::without_line(text, &line(id, ""), EditPolicy::Refuse)
    }

    #[test]
    fn a_line_is_added_changed_and_taken_out() {
        let first = with("# Rules\n\nBe kind.\n", &line("p-a", "Run `npm ci` first"), 15).expect("there is room");
        assert!(first.starts_with("# Rules\n\nBe kind.\n\n<!-- verify-run begin "), "{first}");
        assert!(first.contains(" -->\n- Run `npm ci` first (`p-a`)\n<!-- verify-run end -->\n"), "{first}");
        let second = with(&first, &line("k-b", "Never edit `dist`"), 15).expect("there is room");
        let third = with(&second, &line("p-a", "Run `npm ci`"), 15).expect("it is there already");
        assert_eq!(block_ids(&third), Ok(vec!["p-a".to_owned(), "k-b".to_owned()]));
        assert!(third.contains("- Run `npm ci` (`p-a`)") && !third.contains("first (`p-a`)"), "{third}");
        assert_eq!(without(&third, "p-x").as_deref(), Ok(third.as_str()), "what isn't there is not taken out");
        let fourth = without(&third, "p-a").expect("untouched");
        assert_eq!(without(&fourth, "k-b").as_deref(), Ok("# Rules\n\nBe kind.\n"));
    }

    #[test]
    fn a_block_that_somebody_edited_is_left_alone_with_its_line() {
        let text = with("one\n", &line("p-a", "Run it"), 15).expect("there is room");
        let edited = text.replace("Run it", "Run it twice");
        for result in [with(&edited, &line("p-b", "x"), 15), without(&edited, "p-a")] {
            assert_eq!(result, Err(BlockError::Edited { line: 3 }));
        }
        assert_eq!(block_ids(&edited), Ok(vec!["p-a".to_owned()]), "what is there can still be shown");
        // The way out: the edits stay, and are the block's from now on.
        let kept = super::with_line(&edited, &line("p-b", "x"), 15, EditPolicy::Keep).expect("they stay");
        assert!(kept.contains("- Run it twice (`p-a`)\n- x (`p-b`)\n"), "{kept}");
        let rest = without(&kept, "p-b").expect("it is sealed again");
        assert_eq!(without(&rest, "p-a").as_deref(), Ok("one\n"));
        let taken_out = |text: &str| super::without_line(text, &line("p-a", "Run it"), EditPolicy::Keep);
        assert_eq!(taken_out(&edited).as_deref(), Ok("one\n- Run it twice\n"), "a user's text is kept");
        assert_eq!(taken_out(&text).as_deref(), Ok("one\n"), "it is unedited");
        let both = with(&text, &line("p-b", "x"), 15).expect("there is room").replace("- x", "- x and y");
        let rest = taken_out(&both).expect("the edit stays");
        assert!(rest.contains("- x and y (`p-b`)\n<!-- verify-run end -->\n") && !rest.contains("Run it"), "{rest}");
        // Around it everything may be edited.
        let around = format!("zero\n{text}more\n");
        assert_eq!(without(&around, "p-a").as_deref(), Ok("zero\none\nmore\n"));
    }

    #[test]
    fn what_somebody_writes_around_the_block_stays_lines_of_its_own() {
        let text = with("one", &line("p-a", "x"), 15).expect("there is room");
        assert_eq!(without(&format!("{text}more\n"), "p-a").as_deref(), Ok("one\nmore\n"));
        let text = with("one\n", &line("p-a", "x"), 15).expect("there is room").replacen("\n\n", "\n", 1);
        assert_eq!(without(&format!("{text}more\n"), "p-a").as_deref(), Ok("one\nmore\n"), "the empty line is gone");
    }

    #[test]
    fn a_text_is_one_line_whatever_it_is() {
        let hostile = format!("a\n{}\n# b\r\u{202e}\x1b[31m{}", PROMOTED.end, "c".repeat(100_000));
        let text = with("", &line("p-a", &hostile), 15).expect("there is room");
        assert_eq!((text.lines().count(), block_ids(&text)), (3, Ok(vec!["p-a".to_owned()])));
        assert!(text.len() < 2_200 && !text.contains(['\x1b', '\u{202e}', '\r']));
    }

    #[test]
    fn marks_that_are_no_pair_are_named_with_their_line() {
        let text = with("", &line("p-a", "x"), 15).expect("there is room");
        let broken = |text: &str, number, what| {
            let error = with(text, &line("p-b", "y"), 15).expect_err("broken");
            assert_eq!(error, BlockError::Broken { line: number, what });
        };
        broken(&text.replace(PROMOTED.end, ""), 1, "the end mark is missing");
        broken(&format!("{}\n", PROMOTED.end), 1, "an end mark without a begin mark");
        broken(&format!("{text}{text}"), 4, "a second block begins");
        broken(&text.replace(" +0:", " 0:"), 1, "the first mark was changed");
        broken(&text.replace(" +0:", " +99999999999999999:"), 1, "the first mark was changed");
    }

    #[test]
    fn instructions_and_promoted_lines_live_in_one_file() {
        let own = "# Rules\r\n";
        let told = with_instructions(own, "Run it.\n\n- so\n").expect("there is none");
        assert!(told.starts_with("# Rules\r\n\r\n<!-- verify-run instructions begin "), "{told}");
        assert!(told.contains("-->\r\nRun it.\r\n\r\n- so\r\n<!-- verify-run instructions end -->\r\n"), "{told}");
        assert_eq!(with_instructions(&told, "Run it.\n\n- so").as_deref(), Ok(told.as_str()), "once is enough");
        let both = with(&told, &line("p-a", "x"), 15).expect("there is room");
        let newer = with_instructions(&both, "Run it now.").expect("untouched");
        assert!(
            newer.contains("Run it now.") && !newer.contains("- so") && block_ids(&newer) == block_ids(&both),
            "{newer}"
        );
        assert_eq!(without_instructions(&both), with(own, &line("p-a", "x"), 15));
        assert_eq!(without(&both, "p-a").as_deref(), Ok(told.as_str()));
        assert_eq!(without_instructions(&told).as_deref(), Ok(own));
        let edited = both.replace("Run it", "Don't run it");
        assert_eq!(with_instructions(&edited, "x"), Err(BlockError::Edited { line: 3 }));
        assert_eq!(without_instructions(&edited), Err(BlockError::Edited { line: 3 }));
        assert_eq!((has_instructions(&edited), has_instructions(own)), (true, false));
    }

    #[test]
    fn the_block_has_a_size() {
        let mut text = String::new();
        for n in 0..3 {
            text = with(&text, &line(&format!("p-{n}"), "x"), 3).expect("there is room");
        }
        assert_eq!(with(&text, &line("p-3", "x"), 3), Err(BlockError::Full { found: 4, max: 3 }));
        assert!(with(&text, &line("p-2", "another"), 3).is_ok(), "one that is there may change");
    }

    proptest! {
        /// Whatever the file was, taking everything out again gives its bytes.
        #[test]
        fn taking_the_last_line_out_gives_the_bytes_from_before(
            text in "[ -~äé\r\n]{0,80}",
            order in prop::sample::subsequence(vec!["p-a", "p-b", "k-c"], 1..=3),
        ) {
            let mut now = text.clone();
            for id in &order {
                now = with(&now, &line(id, "text"), 15).expect("there is room");
            }
            for id in order.iter().rev() {
                now = without(&now, id).expect("untouched");
            }
            prop_assert_eq!(now, text);
        }
    }
}
