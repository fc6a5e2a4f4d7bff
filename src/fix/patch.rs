//! A unified diff as values: files, hunks, lines. Reads what `git diff`, `git show` and `git log -p` print, and plain
//! `diff -u`. Pure; what it can't read it skips, what a limit cuts off it counts.
//!
//! The format: <https://git-scm.com/docs/diff-format>, "Generating patch text with -p".

mod name;

use crate::base::text::prefix;

/// Lines of context worth asking git for: enough to see which test or which key of a configuration a line belongs to.
pub(crate) const CONTEXT_LINES: usize = 20;
/// Files read of one diff; further ones are counted.
const FILES_MAX: usize = 5_000;
/// Lines read of one diff; further ones are counted.
const LINES_MAX: usize = 400_000;
/// A line, bytes; a longer one (generated or minified) is cut.
const LINE_BYTES_MAX: usize = 4_000;

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// On both sides.
    Context,
    /// On the new side only.
    Added,
    /// On the old side only.
    Removed,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchLine {
    pub kind: PatchKind,
    /// Its number on the old side, 1-based; of an added line the one it precedes.
    pub old: u32,
    /// Its number on the new side, 1-based; of a removed line the one it preceded.
    pub new: u32,
    /// Its text without the sign, the newline and a carriage return before it; at most 4,000 bytes.
    pub text: String,
}

/// Neighbouring changed lines with their context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// What git prints behind the `@@`: the line that a function, section or key began on.
    pub heading: String,
    pub lines: Vec<PatchLine>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchChange {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It has another name, and maybe other content.
    Renamed,
    /// Its content differs (a copy, too, is one: the other file is still there).
    Modified,
}

/// One file's part of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// What happened.
    pub change: PatchChange,
    /// Its path before; of a new file the same as `new`.
    pub old: String,
    /// Its path now; of a deleted file the same as `old`.
    pub new: String,
    /// Whether git took it for binary: there are no hunks then.
    pub binary: bool,
    /// The changes.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// All lines of all hunks.
    pub(crate) fn all_lines(&self) -> impl Iterator<Item = &PatchLine> {
        self.hunks.iter().flat_map(|hunk| &hunk.lines)
    }

    /// The lines of one kind.
    pub(crate) fn lines_of_kind(&self, kind: PatchKind) -> impl Iterator<Item = &PatchLine> {
        self.all_lines().filter(move |line| line.kind == kind)
    }
}

/// A diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The files, in the order of the diff.
    pub files: Vec<FilePatch>,
    /// Files and lines beyond the limits, not read.
    pub cut: usize,
}

impl Patch {
    /// Reads a diff.
    pub(crate) fn parse(diff: &[u8]) -> Self {
        let mut reader = PatchReader::default();
        for raw in diff.split(|&b| b == b'\n') {
            reader.read_line(raw);
        }
        reader.finish_patch()
    }

    /// Adds a file that a diff doesn't show, as one that is new: git leaves out what it doesn't track.
    pub(crate) fn add_new_file(&mut self, path: &str, content: &[u8]) {
        let binary = content.contains(&0);
        let mut hunk = Hunk::default();
        if !binary {
            let text = String::from_utf8_lossy(content);
            hunk.lines = (1..).zip(text.lines()).map(|(number, line)| added_line(number, line)).collect();
        }
        let hunks = if hunk.lines.is_empty() { Vec::new() } else { vec![hunk] };
        self.files.push(FilePatch { change: PatchChange::Added, old: path.into(), new: path.into(), binary, hunks });
    }
}

fn added_line(number: u32, line: &str) -> PatchLine {
    PatchLine { kind: PatchKind::Added, old: 1, new: number, text: prefix(line, LINE_BYTES_MAX).to_owned() }
}

#[derive(Default)]
struct PatchReader {
    patch: Patch,
    file: Option<FilePatch>,
    hunk: Option<Hunk>,
    /// Numbers of the next line on both sides.
    next: (u32, u32),
    /// Lines still to come on both sides.
    left: (u32, u32),
    lines: usize,
}

impl PatchReader {
    fn read_line(&mut self, raw: &[u8]) {
        if self.left != (0, 0) {
            if self.hunk_line(raw) {
                return;
            }
            // The hunk is shorter than its header says: the diff was cut.
            self.left = (0, 0);
        }
        let text = String::from_utf8_lossy(raw);
        let line = text.strip_suffix('\r').unwrap_or(&text);
        if let Some(rest) = line.strip_prefix("diff --git ") {
            self.close_file();
            self.file = name::split_name_pair(rest).map(|(old, new)| modified_file(old, new));
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            self.open_hunk(rest);
        } else {
            self.read_header(line);
        }
    }

    fn read_header(&mut self, line: &str) {
        let (word, rest) = [
            "--- ",
            "+++ ",
            "rename from ",
            "rename to ",
            "new file mode",
            "deleted file mode",
            "Binary files ",
            "GIT binary patch",
        ]
        .iter()
        .find_map(|word| line.strip_prefix(word).map(|rest| (*word, rest)))
        .unwrap_or(("", line));
        if word == "--- " {
            // In a plain diff this line opens the file.
            if self.file.as_ref().is_none_or(|file| !file.hunks.is_empty() || self.hunk.is_some()) {
                self.close_file();
                let path = name::of_side(rest);
                self.file = Some(modified_file(path.clone().unwrap_or_default(), path.clone().unwrap_or_default()));
            }
        }
        let Some(file) = &mut self.file else { return };
        match word {
            "--- " => match name::of_side(rest) {
                Some(path) => file.old = path,
                None => file.change = PatchChange::Added,
            },
            "+++ " => match name::of_side(rest) {
                Some(path) => file.new = path,
                None => file.change = PatchChange::Deleted,
            },
            "rename from " => (file.change, file.old) = (PatchChange::Renamed, name::unquote_name(rest)),
            "rename to " => (file.change, file.new) = (PatchChange::Renamed, name::unquote_name(rest)),
            "new file mode" => file.change = PatchChange::Added,
            "deleted file mode" => file.change = PatchChange::Deleted,
            "Binary files " | "GIT binary patch" => file.binary = true,
            _ => {}
        }
    }

    fn open_hunk(&mut self, header: &str) {
        self.close_hunk();
        if self.file.is_none() {
            return;
        }
        let Some((ranges, heading)) = header.split_once(" @@") else { return };
        let mut ranges = ranges.split(' ').filter_map(|range| parse_range(range.strip_prefix(['-', '+'])?));
        let (Some(old), Some(new)) = (ranges.next(), ranges.next()) else { return };
        // Of an empty side git names the line before.
        self.next = (old.0.max(1), new.0.max(1));
        self.left = (old.1, new.1);
        let heading = prefix(heading.strip_prefix(' ').unwrap_or(heading), LINE_BYTES_MAX).to_owned();
        self.hunk = Some(Hunk { heading, lines: Vec::new() });
    }

    /// Whether `raw` belongs to the open hunk.
    fn hunk_line(&mut self, raw: &[u8]) -> bool {
        let (kind, bytes) = match raw.split_first() {
            Some((b'+', rest)) if self.left.1 > 0 => (PatchKind::Added, rest),
            Some((b'-', rest)) if self.left.0 > 0 => (PatchKind::Removed, rest),
            Some((b' ', rest)) => (PatchKind::Context, rest),
            // Some mailers and editors strip the blank of an empty line.
            None => (PatchKind::Context, raw),
            Some((b'\r', [])) => (PatchKind::Context, [].as_slice()),
            Some((b'\\', _)) => return true,
            _ => return false,
        };
        let (old, new) = self.next;
        if kind != PatchKind::Added {
            self.next.0 = old.saturating_add(1);
            self.left.0 = self.left.0.saturating_sub(1);
        }
        if kind != PatchKind::Removed {
            self.next.1 = new.saturating_add(1);
            self.left.1 = self.left.1.saturating_sub(1);
        }
        self.lines += 1;
        if self.lines > LINES_MAX || self.patch.files.len() >= FILES_MAX {
            self.patch.cut += 1;
            return true;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if let Some(hunk) = &mut self.hunk {
            hunk.lines.push(PatchLine { kind, old, new, text: prefix(text, LINE_BYTES_MAX).to_owned() });
        }
        true
    }

    fn close_hunk(&mut self) {
        self.left = (0, 0);
        if let (Some(hunk), Some(file)) = (self.hunk.take(), &mut self.file)
            && !hunk.lines.is_empty()
        {
            file.hunks.push(hunk);
        }
    }

    fn close_file(&mut self) {
        self.close_hunk();
        let Some(mut file) = self.file.take() else { return };
        match file.change {
            PatchChange::Added => file.old.clone_from(&file.new),
            PatchChange::Deleted => file.new.clone_from(&file.old),
            PatchChange::Renamed => {}
            PatchChange::Modified if file.old != file.new => file.change = PatchChange::Renamed,
            PatchChange::Modified => {}
        }
        if self.patch.files.len() < FILES_MAX {
            self.patch.files.push(file);
        } else {
            self.patch.cut += 1;
        }
    }

    fn finish_patch(mut self) -> Patch {
        self.close_file();
        self.patch
    }
}

fn modified_file(old: String, new: String) -> FilePatch {
    FilePatch { change: PatchChange::Modified, old, new, binary: false, hunks: Vec::new() }
}

/// `12,3` into the first line and the count; `12` means one line.
fn parse_range(range: &str) -> Option<(u32, u32)> {
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests;
