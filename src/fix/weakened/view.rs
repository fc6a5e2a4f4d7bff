//! A diff as the rules see it: each hunk as its two sides, each line with what of it is code and which key it is under.

use super::keys::EnclosingKeys;
use super::language::{FileRole, Language, file_role};
use super::lexis::{MaskedLine, identifiers_of};
use crate::fix::patch::{FilePatch, Hunk, Patch, PatchChange, PatchKind};

/// Which side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffSide {
    Old,
    New,
}

/// A line of one side.
#[derive(Debug)]
pub(super) struct DiffLine<'p> {
    /// Its number on this side.
    pub(super) number: u32,
    /// Whether the other side doesn't have it.
    pub(super) changed: bool,
    pub(super) raw: &'p str,
    pub(super) masked: MaskedLine,
    /// The keys that it is under and its own, joined by dots; empty in what is no data.
    pub(super) path: String,
    /// Blanks in front.
    pub(super) indent: usize,
    /// The line on which the command begins that it goes on with.
    pub(super) command: Option<&'p str>,
}

impl DiffLine<'_> {
    /// Whether there is anything on it but blanks, comments and brackets.
    pub(super) fn has_code(&self) -> bool {
        self.masked.code.bytes().any(|b| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii())
    }

    /// Whether it is blank, or a comment.
    pub(super) fn is_idle(&self) -> bool {
        self.masked.text.trim().is_empty()
    }
}

/// A hunk's sides.
#[derive(Debug)]
pub(super) struct HunkSides<'p> {
    pub(super) old: Vec<DiffLine<'p>>,
    pub(super) new: Vec<DiffLine<'p>>,
}

impl<'p> HunkSides<'p> {
    pub(super) fn side_lines(&self, side: DiffSide) -> &[DiffLine<'p>] {
        match side {
            DiffSide::Old => &self.old,
            DiffSide::New => &self.new,
        }
    }

    /// The removed lines in whose place the added line `at` of the new side is: those between the same unchanged lines.
    pub(super) fn removed_in_place(&self, at: usize) -> impl Iterator<Item = &DiffLine<'p>> {
        self.old[self.place_before(at)..].iter().take_while(|line| line.changed)
    }

    /// The lines of the old side that are at most `reach` lines from where the line `at` of the new side would be.
    pub(super) fn old_lines_near(&self, at: usize, reach: usize) -> &[DiffLine<'p>] {
        let place = self.place_before(at);
        &self.old[place.saturating_sub(reach)..(place + reach).min(self.old.len())]
    }

    /// Where the old side goes on behind the unchanged lines that are above the line `at` of the new one.
    fn place_before(&self, at: usize) -> usize {
        let unchanged = self.new[..at].iter().filter(|line| !line.changed).count();
        let mut kept = self.old.iter().enumerate().filter(|(_, line)| !line.changed).map(|(index, _)| index + 1);
        unchanged.checked_sub(1).map_or(Some(0), |before| kept.nth(before)).unwrap_or(self.old.len())
    }
}

/// A file of the diff.
#[derive(Debug)]
pub(super) struct FileView<'p> {
    pub(super) file: &'p FilePatch,
    pub(super) language: Option<&'static Language>,
    pub(super) part: FileRole,
    pub(super) hunks: Vec<HunkSides<'p>>,
    /// Its paths in lower case, before and after.
    folded: [String; 2],
}

impl<'p> FileView<'p> {
    fn new(file: &'p FilePatch) -> Self {
        let path = if file.change == PatchChange::Deleted { &file.old } else { &file.new };
        let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.as_str());
        // A folder of scripts has programs of any language.
        let language = Language::by_interpreter(path, lines.clone().next())
            .or_else(|| Language::of_path(path))
            .or_else(|| Language::by_lines(path, lines));
        let hunks = file.hunks.iter().map(|hunk| hunk_sides(hunk, language)).collect();
        let folded = [file.old.to_lowercase(), file.new.to_lowercase()];
        FileView { file, language, part: file_role(path, language), hunks, folded }
    }

    /// All lines of a side.
    pub(super) fn all_lines(&self, side: DiffSide) -> impl Iterator<Item = &DiffLine<'p>> {
        self.hunks.iter().flat_map(move |hunk| hunk.side_lines(side))
    }

    /// The lines that only `side` has.
    pub(super) fn changed_lines(&self, side: DiffSide) -> impl Iterator<Item = &DiffLine<'p>> {
        self.all_lines(side).filter(|line| line.changed)
    }

    /// Its path on a side.
    pub(super) fn path_of_side(&self, side: DiffSide) -> &'p str {
        match side {
            DiffSide::Old => &self.file.old,
            DiffSide::New => &self.file.new,
        }
    }

    /// The same in lower case.
    pub(super) fn folded_text(&self, side: DiffSide) -> &str {
        match side {
            DiffSide::Old => &self.folded[0],
            DiffSide::New => &self.folded[1],
        }
    }

    /// Whether it has a language of this name.
    pub(super) fn is(&self, language: &str) -> bool {
        self.language.is_some_and(|own| own.name == language)
    }
}

/// The files of a diff.
pub(super) fn file_views(patch: &Patch) -> Vec<FileView<'_>> {
    patch.files.iter().map(FileView::new).collect()
}

/// The hunks of test files, with the name that their heading has for what they are in: a test that begins above, or a
/// helper of tests.
pub(super) fn hunks_of_tests<'v>(views: &'v [FileView<'_>]) -> impl Iterator<Item = (usize, usize, &'v str)> {
    let files = views.iter().enumerate().filter(|(_, view)| matches!(view.part, FileRole::Test | FileRole::Source));
    files.filter(|(_, view)| view.file.change != PatchChange::Deleted).flat_map(|(file, view)| {
        // A Rust module of tests is in the file of what it tests.
        let begins = |text: &str| text.contains("mod test") && text.trim_end().ends_with('{');
        let is_test = move |lines: &Hunk| {
            let opened =
                || lines.lines.iter().take_while(|line| line.kind == PatchKind::Context).any(|line| begins(&line.text));
            view.part == FileRole::Test || view.is("rust") && (lines.heading.contains("mod test") || opened())
        };
        let hunks = view.file.hunks.iter().enumerate().filter(move |(_, lines)| is_test(lines));
        hunks.map(move |(hunk, lines)| {
            (file, hunk, named_in(&lines.heading).unwrap_or_else(|| file_name(&view.file.new)))
        })
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name in a hunk's heading: what is in front of the first bracket or colon.
fn named_in(heading: &str) -> Option<&str> {
    let end = heading.find(['(', ':', '{', '<']).unwrap_or(heading.len());
    identifiers_of(&heading[..end]).last()
}

fn hunk_sides<'p>(hunk: &'p Hunk, language: Option<&'static Language>) -> HunkSides<'p> {
    HunkSides { old: hunk_side(hunk, language, PatchKind::Added), new: hunk_side(hunk, language, PatchKind::Removed) }
}

/// The side of `hunk` that doesn't have lines of the kind `other`.
fn hunk_side<'p>(hunk: &'p Hunk, language: Option<&'static Language>, other: PatchKind) -> Vec<DiffLine<'p>> {
    let lines = || hunk.lines.iter().filter(move |line| line.kind != other);
    // What begins the file is in nothing that began above.
    let above = language.filter(|_| hunk.lines.first().is_some_and(|line| line.old > 1 || line.new > 1));
    let mut state = above.map(|own| own.lexis.state_before(lines().map(|line| line.text.as_str()))).unwrap_or_default();
    let mut keyring = EnclosingKeys::new(language.and_then(|own| own.keys), &hunk.heading);
    let mut begun = None;
    lines()
        .map(|line| {
            let raw = line.text.trim_end_matches('\r');
            let command = begun;
            begun = raw.ends_with('\\').then(|| begun.unwrap_or(raw));
            let masked = match language {
                Some(own) => own.lexis.mask_line(&mut state, raw),
                None => MaskedLine { code: raw.to_owned(), text: raw.to_owned(), comment: String::new() },
            };
            DiffLine {
                number: if other == PatchKind::Added { line.old } else { line.new },
                changed: line.kind != PatchKind::Context,
                raw,
                path: keyring.enter_line(&masked.text),
                masked,
                indent: raw.len() - raw.trim_start().len(),
                command,
            }
        })
        .collect()
}
