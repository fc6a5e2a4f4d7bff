//! A PRP (the Markdown page that asks for a feature): its front matter, its headings and its acceptance criteria.
//!
//! Everything in it is text: nothing is executed, ticked boxes mean nothing, control characters are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::base::text;
use crate::base::yaml::{YamlError, parse_yaml};
use crate::gate::document::heading::{
    DocumentHeading, DocumentLine, DocumentLineKind, document_lines, find_headings, front_matter, section_end,
};

/// Largest PRP that is read, bytes.
pub(crate) const PRP_BYTES_MAX: usize = 1 << 20;
/// Criteria that are judged; the rest is counted.
pub(crate) const CRITERIA_MAX: usize = 200;
/// Text of a criterion, bytes; the hash is over all of it.
pub(crate) const CRITERION_BYTES_MAX: usize = 2_000;
/// A value of the front matter, bytes.
const VALUE_BYTES_MAX: usize = 300;
/// Aliases of a feature.
const ALIASES_MAX: usize = 50;
/// Headings whose lists are criteria, where the front matter names no other.
const CRITERIA_HEADINGS: [&str; 9] = [
    "success criteria",
    "acceptance criteria",
    "critérios de aceite",
    "criterios de aceite",
    "critérios de aceitação",
    "criterios de aceitacao",
    "critérios de sucesso",
    "criterios de sucesso",
    "criterios de aceptación",
];

/// Why a PRP is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PrpError {
    /// It is larger than [`PRP_BYTES_MAX`].
    #[error("the PRP has {bytes} bytes, more than {PRP_BYTES_MAX}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Its front matter means something else than it shows, or a value is of no use.
    #[error("front matter: {0}")]
    FrontMatter(#[from] YamlError),
}

/// The keys of the front matter that are known; others belong to other programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PrpFrontMatter {
    /// `base`: what the change is compared with.
    pub base: Option<String>,
    /// `type`: the kind of change.
    pub kind: Option<String>,
    /// `stack`.
    pub stack: Option<String>,
    /// `feature` or `title`.
    pub feature: Option<String>,
    /// `slug`.
    pub slug: Option<String>,
    /// `aliases`: other names of the feature.
    pub aliases: Vec<String>,
    /// `criteria`: the heading of the criteria.
    pub criteria_heading: Option<String>,
}

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AcceptanceCriterion {
    /// `AC-2`; unique in the PRP.
    pub id: String,
    /// Whether the id comes from the position in the list and not from the text.
    pub is_positional: bool,
    /// The number of the id.
    pub number: u32,
    /// The text with its nested items, in one line, at most [`CRITERION_BYTES_MAX`].
    pub text: String,
    /// BLAKE3 of the text, 16 hexadecimal digits: another text is another criterion.
    pub text_hash: String,
    /// The line of the item, from 1.
    pub line: u32,
}

/// What a PRP says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prp {
    /// The front matter.
    pub front_matter: PrpFrontMatter,
    /// The first heading.
    pub title: Option<String>,
    /// All headings.
    pub headings: Vec<DocumentHeading>,
    /// The criteria, in their order.
    pub criteria: Vec<AcceptanceCriterion>,
    /// Criteria beyond [`CRITERIA_MAX`].
    pub omitted_criteria: usize,
    /// Ids that the text gives to a second criterion, which then has the id of its position.
    pub repeated_ids: Vec<String>,
    /// `blake3:…` over all criteria in their order, the omitted ones included.
    pub criteria_digest: String,
}

/// A list item as it is written.
struct WrittenCriterion {
    line: u32,
    text: String,
}

impl Prp {
    /// Reads a PRP.
    ///
    /// # Errors
    /// When it is too large, or its front matter is broken.
    pub(crate) fn parse(text: &str) -> Result<Prp, PrpError> {
        if text.len() > PRP_BYTES_MAX {
            return Err(PrpError::TooLarge { bytes: text.len() });
        }
        let front_matter = parse_front_matter(text)?;
        let lines = document_lines(text);
        let headings = find_headings(&lines);
        let written = find_criteria(&lines, &headings, front_matter.criteria_heading.as_deref());
        let criteria_digest = digest_of(&written);
        let omitted_criteria = written.len().saturating_sub(CRITERIA_MAX);
        let (criteria, repeated_ids) = name_criteria(&written[..written.len().min(CRITERIA_MAX)]);
        let title = headings.first().map(|heading| inert(&heading.title, VALUE_BYTES_MAX)).filter(|it| !it.is_empty());
        Ok(Prp { front_matter, title, headings, criteria, omitted_criteria, repeated_ids, criteria_digest })
    }

    /// The name of the feature: of the front matter, else the title without a leading `PRP:`.
    pub(crate) fn feature_name(&self) -> Option<&str> {
        let title = || {
            let title = self.title.as_deref()?;
            let rest = title.get(..3).filter(|start| start.eq_ignore_ascii_case("prp")).map_or(title, |_| &title[3..]);
            let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—'));
            Some(if rest.is_empty() { title } else { rest })
        };
        self.front_matter.feature.as_deref().or_else(title)
    }

    /// The slug: of the front matter, else the file's name without its extension.
    pub(crate) fn slug<'a>(&'a self, path: &'a str) -> &'a str {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        self.front_matter.slug.as_deref().unwrap_or(stem)
    }

    /// The criterion of an id, whatever its case and leading zeros.
    pub(crate) fn criterion(&self, id: &str) -> Option<&AcceptanceCriterion> {
        let number = id_number(id)?;
        self.criteria.iter().find(|criterion| criterion.number == number)
    }
}

/// The number of `AC-7`, `ac-07` or `[AC-7]`; `None` for another text.
pub(crate) fn id_number(id: &str) -> Option<u32> {
    let id = id.trim().trim_start_matches('[').trim_end_matches(']');
    let (letters, digits) = id.split_once('-')?;
    let is_id = letters.eq_ignore_ascii_case("ac") && digits.len() <= 6 && digits.bytes().all(|it| it.is_ascii_digit());
    digits.parse().ok().filter(|_| is_id)
}

fn parse_front_matter(text: &str) -> Result<PrpFrontMatter, YamlError> {
    let mut found = PrpFrontMatter::default();
    let Some((matter, first_line)) = front_matter(text) else { return Ok(found) };
    let at_line = |mut error: YamlError| {
        error.line += first_line as usize - 1;
        error
    };
    let root = parse_yaml(matter).map_err(at_line)?;
    for entry in root.as_map("the front matter").map_err(at_line)? {
        let value = |what: &str| match entry.node.as_text(what) {
            Ok(value) => Ok(Some(inert(value, VALUE_BYTES_MAX))),
            Err(error) => Err(at_line(error)),
        };
        let slot = match entry.key.as_str() {
            "base" => &mut found.base,
            "type" => &mut found.kind,
            "stack" => &mut found.stack,
            "feature" | "title" if found.feature.is_some() => {
                return Err(at_line(YamlError::new(entry.line, "`feature` and `title` are the same key")));
            }
            "feature" | "title" => &mut found.feature,
            "slug" => &mut found.slug,
            "criteria" => &mut found.criteria_heading,
            "aliases" => {
                let aliases = entry.node.as_texts("aliases").map_err(at_line)?;
                found.aliases = aliases.iter().take(ALIASES_MAX).map(|alias| inert(alias, VALUE_BYTES_MAX)).collect();
                continue;
            }
            _ => continue,
        };
        *slot = value(&entry.key)?;
        // It would be an option of git, not a revision.
        if found.base.as_deref().is_some_and(|base| base.starts_with('-')) {
            return Err(at_line(YamlError::new(entry.line, "base must not begin with `-`")));
        }
    }
    Ok(found)
}

/// One bounded line without control characters.
fn inert(value: &str, bytes_max: usize) -> String {
    let line = text::one_line(text::prefix(value, 4 * bytes_max));
    text::ellipsis(line.trim(), bytes_max)
}

/// A heading as it is compared: lower case, without numbers, marks and a colon around it.
fn plain_title(title: &str) -> String {
    let title = title.trim_matches(|c: char| !c.is_alphabetic());
    title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn find_criteria(
    lines: &[DocumentLine<'_>],
    headings: &[DocumentHeading],
    named: Option<&str>,
) -> Vec<WrittenCriterion> {
    let named = named.map(plain_title);
    let is_criteria = |title: &str| {
        let title = plain_title(title);
        named.as_ref().map_or_else(|| CRITERIA_HEADINGS.contains(&title.as_str()), |named| *named == title)
    };
    let mut found = Vec::new();
    let mut read_to = 0;
    for (index, heading) in headings.iter().enumerate().filter(|(_, heading)| is_criteria(&heading.title)) {
        // A section in a section was read with the outer one.
        if heading.line < read_to {
            continue;
        }
        let end = section_end(headings, index);
        let from = lines.partition_point(|line| line.number < heading.body_line);
        let to = lines.partition_point(|line| line.number < end);
        read_items(&lines[from..to.max(from)], headings, &mut found);
        read_to = end;
    }
    found
}

static LIST_ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$").expect("a valid pattern")
});

fn read_items(lines: &[DocumentLine<'_>], headings: &[DocumentHeading], found: &mut Vec<WrittenCriterion>) {
    // The indentation of the items of the list, and whether a blank line follows the last line of an item.
    let mut open: Option<(usize, bool)> = None;
    for line in lines {
        let text = line.text.as_ref();
        let is_heading = headings.binary_search_by_key(&line.number, |heading| heading.line).is_ok();
        if line.kind == DocumentLineKind::Prose && is_heading {
            open = None;
            continue;
        }
        if line.kind != DocumentLineKind::Prose {
            continue;
        }
        if text.trim().is_empty() {
            open = open.map(|(indent, _)| (indent, true));
            continue;
        }
        let indent = indentation(text);
        if let Some(groups) = LIST_ITEM.captures(text) {
            let item = groups.get(2).map_or("", |group| group.as_str()).trim();
            match (open, found.last_mut()) {
                (Some((outer, _)), Some(parent)) if indent >= outer + 2 => append_line(parent, item),
                _ => {
                    if text::one_line(item).chars().any(char::is_alphanumeric) {
                        found.push(WrittenCriterion { line: line.number, text: text::one_line(item) });
                    }
                    open = Some((indent, false));
                    continue;
                }
            }
            open = open.map(|(indent, _)| (indent, false));
            continue;
        }
        match (open, found.last_mut()) {
            // The rest of a paragraph, or an indented one.
            (Some((outer, is_blank)), Some(parent)) if !is_blank || indent >= outer + 2 => append_line(parent, text),
            _ => open = None,
        }
    }
}

/// Columns before a line's text; a tab goes to the next multiple of four.
fn indentation(text: &str) -> usize {
    let blanks = text.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, blank| if blank == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

fn append_line(criterion: &mut WrittenCriterion, line: &str) {
    criterion.text.push(' ');
    criterion.text.push_str(text::one_line(line).trim());
}

fn digest_of(criteria: &[WrittenCriterion]) -> String {
    let mut hasher = blake3::Hasher::new();
    for criterion in criteria {
        let text = single_spaced(&criterion.text);
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    format!("blake3:{}", hasher.finalize().to_hex())
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

static LEADING_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^[*_`\[(]{0,4}AC-(\d{1,6})(?:\W|_|$)").expect("a valid pattern"));
static BRACKETED_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\[AC-(\d{1,6})\]").expect("a valid pattern"));
static ANY_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\bAC-(\d{1,6})\b").expect("a valid pattern"));

/// Gives each criterion its id: the one in its text, else the one of its position, or the next that is free.
fn name_criteria(written: &[WrittenCriterion]) -> (Vec<AcceptanceCriterion>, Vec<String>) {
    let number_by =
        |pattern: &Regex, text: &str| -> Option<u32> { pattern.captures(text)?.get(1)?.as_str().parse().ok() };
    let mut taken = BTreeSet::new();
    let mut numbers: BTreeMap<usize, u32> = BTreeMap::new();
    let mut repeated_ids = Vec::new();
    // First those at the start: an id within a text may refer to another criterion.
    for (pattern, is_own) in [(&LEADING_ID, true), (&BRACKETED_ID, false), (&ANY_ID, false)] {
        for (index, criterion) in written.iter().enumerate() {
            if numbers.contains_key(&index) {
                continue;
            }
            let Some(number) = number_by(pattern, &criterion.text) else { continue };
            if taken.insert(number) {
                numbers.insert(index, number);
            } else if is_own {
                repeated_ids.push(format!("AC-{number}"));
            }
        }
    }
    let mut criteria = Vec::with_capacity(written.len());
    for (index, criterion) in written.iter().enumerate() {
        let number = numbers.get(&index).copied();
        let position = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let id = number.unwrap_or_else(|| (position..u32::MAX).find(|free| taken.insert(*free)).unwrap_or(u32::MAX));
        let hash = blake3::hash(single_spaced(&criterion.text).as_bytes()).to_hex();
        criteria.push(AcceptanceCriterion {
            id: format!("AC-{id}"),
            is_positional: number.is_none(),
            number: id,
            text: inert(&single_spaced(&criterion.text), CRITERION_BYTES_MAX),
            text_hash: hash.as_str().chars().take(16).collect(),
            line: criterion.line,
        });
    }
    (criteria, repeated_ids)
}

#[cfg(test)]
#[path = "prp/tests.rs"]
mod tests;
