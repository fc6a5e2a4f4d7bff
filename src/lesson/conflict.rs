//! A lesson in which a merge left its marks: both sides of it.

const OURS: &str = "<<<<<<<";
const BASE: &str = "|||||||";
const THEIRS: &str = "=======";
const END: &str = ">>>>>>>";

/// A text with conflict markers in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MergeConflict {
    /// The line of the first marker, from 1.
    pub(super) line: usize,
    /// The text with the one side of every conflict, and with the other.
    pub(super) sides: [String; 2],
}

/// Which of them a line belongs to.
enum ConflictSide {
    Both,
    Ours,
    Base,
    Theirs,
}

/// Both sides of a text that a merge left conflict markers in. Where one is missing, what follows it belongs to the side
/// before it.
pub(super) fn parse_conflict(text: &str) -> Option<MergeConflict> {
    let line = text.lines().position(|line| is_marker(line, OURS))? + 1;
    let (mut sides, mut side) = ([String::new(), String::new()], ConflictSide::Both);
    for line in text.split_inclusive('\n') {
        side = match side {
            ConflictSide::Both if is_marker(line, OURS) => ConflictSide::Ours,
            ConflictSide::Ours if is_marker(line, BASE) => ConflictSide::Base,
            ConflictSide::Ours | ConflictSide::Base if is_marker(line, THEIRS) => ConflictSide::Theirs,
            ConflictSide::Theirs if is_marker(line, END) => ConflictSide::Both,
            same => {
                let [ours, theirs] = &mut sides;
                if matches!(same, ConflictSide::Both | ConflictSide::Ours) {
                    ours.push_str(line);
                }
                if matches!(same, ConflictSide::Both | ConflictSide::Theirs) {
                    theirs.push_str(line);
                }
                same
            }
        };
    }
    Some(MergeConflict { line, sides })
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r', '\n']))
}
