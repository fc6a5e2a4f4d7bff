//! Duplicated blocks: the same row of tokens at two places. Names and literals have to be equal; blanks and comments do
//! not matter. Hashes of short rows are winnowed, so that any block that is long enough shares one with its copy.

use super::scanner::scan_source;
use super::{MeasureError, SOURCE_BYTES_MAX, SourceLanguage};
use std::collections::{BTreeSet, VecDeque};
use std::hash::BuildHasher;

/// The fewest tokens of a duplicated block.
pub(crate) const BLOCK_TOKENS_MIN: usize = 50;

/// The fewest lines of a duplicated block, at both places.
pub(crate) const BLOCK_LINES_MIN: u32 = 5;

/// The most tokens of all files of an index.
pub(crate) const INDEX_TOKENS_MAX: usize = 40_000_000;

/// How many tokens one hash covers.
const ROW_TOKENS: usize = 30;

/// Of this many neighbouring hashes the smallest is kept: a block of `BLOCK_TOKENS_MIN` tokens has that many.
const WINDOW_HASHES: usize = BLOCK_TOKENS_MIN - ROW_TOKENS + 1;

/// How many places with the same hash are compared.
pub(super) const PLACES_MAX: usize = 64;

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodePlace {
    /// The path, as it was given to the index.
    pub(crate) path: String,
    /// The first line, from 1.
    pub(crate) first_line: u32,
    /// The last line, from 1.
    pub(crate) last_line: u32,
}

/// A block of code that is at two places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DuplicateBlock {
    /// The place in the file that was asked about.
    pub(crate) place: CodePlace,
    /// The other place.
    pub(crate) other: CodePlace,
    /// The length in tokens.
    pub(crate) tokens: usize,
}

/// A file of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangedFile<'a> {
    /// The path, as it was given to the index.
    pub(crate) path: &'a str,
    /// The lines that the change added or replaced, from 1.
    pub(crate) lines: &'a BTreeSet<u32>,
}

/// The duplication of the lines of a change, or of all lines of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DuplicationMeasure {
    /// How many lines were looked at.
    pub(crate) lines: u64,
    /// How many of them are within a duplicated block.
    pub(crate) duplicated_lines: u64,
    /// The blocks, by place.
    pub(crate) blocks: Vec<DuplicateBlock>,
}

impl DuplicationMeasure {
    /// The duplicated lines in percent of the lines; zero without lines.
    pub(crate) fn percentage(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "lines of a tree are far fewer than 2^52")]
        let (duplicated, lines) = (self.duplicated_lines as f64, self.lines as f64);
        if self.lines == 0 { 0.0 } else { 100.0 * duplicated / lines }
    }
}

/// The tokens of a whole tree, in which duplicated blocks are looked for.
#[derive(Debug, Default)]
pub(crate) struct DuplicationIndex {
    files: Vec<IndexedFile>,
    /// The kept hashes of all files, sorted once `is_sorted` is set.
    fingerprints: Vec<RowFingerprint>,
    is_sorted: bool,
    tokens: usize,
}

#[derive(Debug)]
struct IndexedFile {
    path: String,
    /// The hash of each token.
    tokens: Vec<u32>,
    /// The line of each token, from 1.
    lines: Vec<u32>,
    line_count: u32,
    /// The kept hashes with their positions, by position.
    fingerprints: Vec<(u64, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowFingerprint {
    hash: u64,
    file: u32,
    position: u32,
}

/// A row of tokens that is at two places, by the index of its first token at each.
#[derive(Clone, Copy)]
struct TokenMatch {
    first: usize,
    other_file: usize,
    other_first: usize,
    length: usize,
}

impl DuplicationIndex {
    /// Adds a file. Each path is added once.
    pub(crate) fn add_file(&mut self, path: &str, language: SourceLanguage, text: &str) -> Result<(), MeasureError> {
        if text.len() > SOURCE_BYTES_MAX {
            return Err(MeasureError::TooLong);
        }
        let HashedFile { tokens, lines, fingerprints } = hash_file(language, text);
        if self.tokens + tokens.len() > INDEX_TOKENS_MAX {
            return Err(MeasureError::IndexFull);
        }
        let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.fingerprints.extend(fingerprints.iter().map(|(hash, position)| RowFingerprint {
            hash: *hash,
            file,
            position: *position,
        }));
        self.is_sorted = false;
        self.tokens += tokens.len();
        let line_count = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        self.files.push(IndexedFile { path: path.to_owned(), tokens, lines, line_count, fingerprints });
        Ok(())
    }

    /// The duplication of the lines of a change against the whole index. Files that are not in the index are left out.
    pub(crate) fn measure_change(&mut self, changed: &[ChangedFile<'_>]) -> DuplicationMeasure {
        self.sort();
        let mut measure = DuplicationMeasure::default();
        for (file, indexed) in self.files.iter().enumerate() {
            let Some(change) = changed.iter().find(|change| change.path == indexed.path) else { continue };
            self.measure_file(file, Some(change.lines), &mut measure);
        }
        measure.blocks.sort();
        measure
    }

    /// The duplication of all lines of the index.
    pub(crate) fn measure_tree(&mut self) -> DuplicationMeasure {
        self.sort();
        let mut measure = DuplicationMeasure::default();
        for file in 0..self.files.len() {
            self.measure_file(file, None, &mut measure);
        }
        measure.blocks.sort();
        measure
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.fingerprints.sort_unstable();
            self.is_sorted = true;
        }
    }

    /// Adds the lines and blocks of one file, of some lines or of all.
    fn measure_file(&self, file: usize, wanted: Option<&BTreeSet<u32>>, measure: &mut DuplicationMeasure) {
        let indexed = &self.files[file];
        let mut duplicated = BTreeSet::new();
        for found in self.find_matches(file) {
            let place = indexed.span(found.first, found.length);
            let lines = place.first_line..=place.last_line;
            let before = duplicated.len();
            let mut touches = false;
            match wanted {
                Some(wanted) => {
                    duplicated.extend(wanted.range(lines.clone()).copied());
                    touches |= wanted.range(lines).next().is_some();
                }
                None => duplicated.extend(lines),
            }
            if touches || duplicated.len() > before {
                let other = self.files[found.other_file].span(found.other_first, found.length);
                measure.blocks.push(DuplicateBlock { place, other, tokens: found.length });
            }
        }
        measure.duplicated_lines += duplicated.len() as u64;
        measure.lines += wanted.map_or(u64::from(indexed.line_count), |wanted| wanted.len() as u64);
    }

    /// The longest match at each place of a file. Each token is within few matches, so that the time stays linear.
    fn find_matches(&self, file: usize) -> Vec<TokenMatch> {
        let indexed = &self.files[file];
        let mut matches: Vec<TokenMatch> = Vec::new();
        let mut covered = 0;
        for (hash, position) in &indexed.fingerprints {
            let position = *position as usize;
            if position + ROW_TOKENS <= covered {
                continue;
            }
            let first_place = self.fingerprints.partition_point(|fingerprint| fingerprint.hash < *hash);
            let earliest = covered.saturating_sub(BLOCK_TOKENS_MIN);
            let longest = self.fingerprints[first_place..]
                .iter()
                .take(PLACES_MAX)
                .take_while(|fingerprint| fingerprint.hash == *hash)
                .filter(|place| {
                    place.file as usize != file || (place.position as usize).abs_diff(position) >= ROW_TOKENS
                })
                .filter_map(|place| self.extend_match(file, position, *place, earliest))
                .max_by_key(|found| (self.is_block(file, *found), found.first + found.length));
            if let Some(found) = longest {
                covered = covered.max(found.first + found.length);
                if self.is_block(file, found) {
                    matches.push(found);
                }
            }
        }
        matches
    }

    /// Whether a match is long enough to be a block, at both places.
    fn is_block(&self, file: usize, found: TokenMatch) -> bool {
        let lines = self.files[file].span_lines(found.first, found.length);
        let other_lines = self.files[found.other_file].span_lines(found.other_first, found.length);
        found.length >= BLOCK_TOKENS_MIN && lines.min(other_lines) >= BLOCK_LINES_MIN
    }

    /// The longest row of equal tokens around two positions; nothing if their hashes are equal by chance.
    fn extend_match(&self, file: usize, position: usize, place: RowFingerprint, earliest: usize) -> Option<TokenMatch> {
        let (left, other_file) = (&self.files[file], place.file as usize);
        let (right, other) = (&self.files[other_file], place.position as usize);
        // Within one file a block ends where its copy begins.
        let length_max = if file == other_file { position.abs_diff(other) } else { usize::MAX };
        let back_max = position.saturating_sub(earliest).min(length_max.saturating_sub(ROW_TOKENS));
        let back = (1..=back_max.min(other))
            .take_while(|step| left.tokens[position - step] == right.tokens[other - step])
            .count();
        let (rest, other_rest) = (&left.tokens[position..], &right.tokens[other..]);
        let forward = rest.iter().zip(other_rest).take(length_max - back).take_while(|(one, two)| one == two).count();
        let length = back + forward;
        let found = TokenMatch { first: position - back, other_file, other_first: other - back, length };
        (length >= ROW_TOKENS).then_some(found)
    }
}

impl IndexedFile {
    fn span(&self, first: usize, length: usize) -> CodePlace {
        let first_line = self.lines.get(first).copied().unwrap_or(1);
        let last_line = self.lines.get(first + length.saturating_sub(1)).copied().unwrap_or(first_line);
        CodePlace { path: self.path.clone(), first_line, last_line }
    }

    fn span_lines(&self, first: usize, length: usize) -> u32 {
        let line = |index: usize| self.lines.get(index).copied().unwrap_or(1);
        line(first + length.saturating_sub(1)).saturating_sub(line(first)).saturating_add(1)
    }
}

/// The tokens of a file as hashes.
pub(super) struct HashedFile {
    /// The hash of each token.
    pub(super) tokens: Vec<u32>,
    /// The line of each token, from 1.
    pub(super) lines: Vec<u32>,
    /// The kept hashes of rows with their positions, by position.
    pub(super) fingerprints: Vec<(u64, u32)>,
}

/// Scans a text and hashes its tokens and rows.
pub(super) fn hash_file(language: SourceLanguage, text: &str) -> HashedFile {
    let source = scan_source(language, text);
    let hasher = foldhash::fast::FixedState::with_seed(family_of(language).into());
    #[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
    let tokens: Vec<u32> =
        (0..source.tokens.len()).map(|index| hasher.hash_one(source.text_of(index)) as u32).collect();
    let lines = source.tokens.iter().map(|token| token.line).collect();
    let fingerprints = winnow(&tokens);
    HashedFile { tokens, lines, fingerprints }
}

/// Languages whose code can be copied from one into the other share a number.
pub(super) fn family_of(language: SourceLanguage) -> u8 {
    match language {
        SourceLanguage::JavaScript | SourceLanguage::TypeScript => 1,
        SourceLanguage::Python => 2,
        SourceLanguage::Go => 3,
        SourceLanguage::Lua => 4,
        SourceLanguage::Rust => 5,
        SourceLanguage::Java => 6,
    }
}

/// Hashes each row of tokens, and keeps the smallest hash of each window with its position.
fn winnow(tokens: &[u32]) -> Vec<(u64, u32)> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let last_factor = (1..ROW_TOKENS).fold(1_u64, |power, _| power.wrapping_mul(FACTOR));
    let mut kept: Vec<(u64, u32)> = Vec::new();
    let mut window: VecDeque<(u64, u32)> = VecDeque::new();
    let mut rolling = 0_u64;
    for (index, token) in tokens.iter().enumerate() {
        if index >= ROW_TOKENS {
            rolling = rolling.wrapping_sub(u64::from(tokens[index - ROW_TOKENS]).wrapping_mul(last_factor));
        }
        rolling = rolling.wrapping_mul(FACTOR).wrapping_add(u64::from(*token));
        let Some(position) = (index + 1).checked_sub(ROW_TOKENS) else { continue };
        let mixed = (rolling ^ rolling >> 29).wrapping_mul(FACTOR);
        let hash = mixed ^ mixed >> 32;
        while window.back().is_some_and(|(other, _)| *other >= hash) {
            window.pop_back();
        }
        window.push_back((hash, u32::try_from(position).unwrap_or(u32::MAX)));
        while window.front().is_some_and(|(_, first)| *first as usize + WINDOW_HASHES <= position) {
            window.pop_front();
        }
        if position + 1 < WINDOW_HASHES {
            continue;
        }
        if let Some(smallest) = window.front()
            && kept.last() != Some(smallest)
        {
            kept.push(*smallest);
        }
    }
    kept
}
