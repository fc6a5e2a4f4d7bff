//! D1: whether a README describes the feature of a change.

use std::collections::HashMap;

use super::heading::{DocumentHeading, DocumentLine, DocumentLineKind, document_lines, find_headings, section_end};
use super::public_name::PublicName;
use super::{ChangedDocument, DocumentAnswer, DocumentFinding};

/// Words of a name that are compared.
const PHRASE_WORDS_MAX: usize = 12;
/// Names that are looked for.
const PHRASES_MAX: usize = 300;
/// Words that a text may have or leave out.
const ARTICLES: [&str; 10] = ["a", "an", "the", "o", "os", "as", "um", "uma", "de", "of"];

/// What a README may call the feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadmeFeature<'a> {
    /// The name of the feature.
    pub name: &'a str,
    /// The slug of the PRP.
    pub slug: Option<&'a str>,
    /// Other names, from the PRP.
    pub aliases: &'a [String],
    /// The names that the change makes public.
    pub public_names: &'a [PublicName],
}

/// A section of a README with new lines, and how to find it.
struct UpdatedSection {
    /// Its title; `None` above the first heading.
    title: Option<String>,
    /// Its first line, from 1.
    start: u32,
    /// The line after its last.
    end: u32,
    /// A new line in it.
    fresh_line: u32,
}

/// Judges the READMEs near a change (the nearest one upwards of each touched project, and the root's).
///
/// One of them has to name the feature, and the change has to add a line to the same section: the lines from a heading to
/// the next one, or, where the heading itself names the feature, all that is below it.
pub(crate) fn judge_readme(feature: &ReadmeFeature<'_>, readmes: &[ChangedDocument<'_>]) -> DocumentAnswer {
    let present: Vec<_> = readmes.iter().filter(|readme| readme.after.is_some()).collect();
    if present.is_empty() {
        return DocumentAnswer::not_met(vec![DocumentFinding::new("there is no README")]);
    }
    let phrases = FeaturePhrases::new(feature);
    let mut findings = Vec::new();
    for readme in present {
        let lines = document_lines(readme.after.unwrap_or_default());
        let headings = find_headings(&lines);
        let sections = updated_sections(readme, &lines, &headings);
        for section in &sections {
            let text = lines_between(&lines, section.start, section.end);
            if let Some((line, name)) = phrases.find_in(text) {
                let place = section.title.as_ref().map_or_else(String::new, |title| format!(" (section \"{title}\")"));
                return DocumentAnswer::met(format!("{}:{line} names \"{name}\"{place}", readme.path));
            }
        }
        let mention = phrases.find_in(&lines);
        let (line, message) = match (mention, sections.first()) {
            (Some((line, name)), Some(_)) => {
                (Some(line), format!("names \"{name}\", but the change adds lines to other sections only"))
            }
            (Some((line, name)), None) => (Some(line), format!("names \"{name}\", but the change adds no line to it")),
            (None, Some(section)) => (
                Some(section.fresh_line),
                format!("the change adds lines, but none of them is in a section that names {}", phrases.listed()),
            ),
            (None, None) => (None, format!("does not name the feature: looked for {}", phrases.listed())),
        };
        findings.push(DocumentFinding::in_file(readme.path, line, message));
    }
    DocumentAnswer::not_met(findings)
}

fn lines_between<'l, 'a>(lines: &'l [DocumentLine<'a>], start: u32, end: u32) -> &'l [DocumentLine<'a>] {
    let from = lines.partition_point(|line| line.number < start);
    let to = lines.partition_point(|line| line.number < end);
    &lines[from..to.max(from)]
}

/// The sections in which the change adds a line that readers see.
fn updated_sections(
    readme: &ChangedDocument<'_>,
    lines: &[DocumentLine<'_>],
    headings: &[DocumentHeading],
) -> Vec<UpdatedSection> {
    let mut found: Vec<UpdatedSection> = Vec::new();
    for (fresh_line, _) in readme.fresh_texts() {
        let is_visible = lines.get(fresh_line as usize - 1).is_some_and(DocumentLine::is_visible);
        if !is_visible || found.last().is_some_and(|last| fresh_line < last.end && fresh_line >= last.start) {
            continue;
        }
        let after = headings.partition_point(|heading| heading.line <= fresh_line);
        let end = headings.get(after).map_or(u32::MAX, |next| next.line);
        let heading = after.checked_sub(1).map(|index| &headings[index]);
        let start = heading.map_or(1, |heading| heading.line);
        found.push(UpdatedSection { title: heading.map(|heading| heading.title.clone()), start, end, fresh_line });
    }
    // The headings around a section are part of what it is about, but for the document's own title.
    let mut around = Vec::new();
    for (index, heading) in headings.iter().enumerate().filter(|(_, heading)| heading.level > 1) {
        let end = section_end(headings, index);
        let inner = found.partition_point(|section| section.start <= heading.line);
        if let Some(section) = found.get(inner).filter(|section| section.start < end) {
            let (title, fresh_line) = (Some(heading.title.clone()), section.fresh_line);
            around.push(UpdatedSection { title, start: heading.line, end: heading.body_line, fresh_line });
        }
    }
    found.extend(around);
    found
}

/// The names of a feature, ready to be looked for.
struct FeaturePhrases<'a> {
    /// Words in order, by the first one.
    by_first_word: HashMap<String, Vec<(Vec<String>, &'a str)>>,
    /// Names that are looked for as they are written.
    literal: Vec<&'a str>,
    names: Vec<&'a str>,
}

impl<'a> FeaturePhrases<'a> {
    fn new(feature: &ReadmeFeature<'a>) -> Self {
        let mut phrases = FeaturePhrases { by_first_word: HashMap::new(), literal: Vec::new(), names: Vec::new() };
        let written = [Some(feature.name), feature.slug].into_iter().flatten();
        for name in written.chain(feature.aliases.iter().map(String::as_str)).take(PHRASES_MAX) {
            let words: Vec<String> = words_of(name).take(PHRASE_WORDS_MAX).collect();
            let Some(first) = words.first() else { continue };
            phrases.by_first_word.entry(first.clone()).or_default().push((words, name));
            phrases.names.push(name);
        }
        for public in feature.public_names.iter().take(PHRASES_MAX) {
            phrases.literal.push(&public.name);
            phrases.names.push(&public.name);
        }
        phrases
    }

    /// The first line that has a name, with the name.
    fn find_in(&self, lines: &[DocumentLine<'_>]) -> Option<(u32, &'a str)> {
        let lines = || lines.iter().filter(|line| line.kind != DocumentLineKind::Hidden);
        let literal = lines().find_map(|line| {
            let name = self.literal.iter().find(|name| has_literal(&line.text, name))?;
            Some((line.number, *name))
        });
        let words: Vec<(u32, String)> =
            lines().flat_map(|line| words_of(&line.text).map(|word| (line.number, word))).collect();
        let phrase = (0..words.len()).find_map(|at| {
            let phrases = self.by_first_word.get(&words[at].1)?;
            let is_here = |wanted: &[String]| {
                words.len() - at >= wanted.len()
                    && wanted.iter().zip(&words[at..]).all(|(word, (_, here))| word == here)
            };
            phrases.iter().find(|(wanted, _)| is_here(wanted)).map(|(_, name)| (words[at].0, *name))
        });
        phrase.or(literal)
    }

    /// The first names, for people.
    fn listed(&self) -> String {
        let mut names: Vec<String> = self.names.iter().take(5).map(|name| format!("\"{name}\"")).collect();
        if self.names.len() > names.len() {
            names.push(format!("{} more names", self.names.len() - names.len()));
        }
        if names.is_empty() { "a name of the feature".to_owned() } else { names.join(", ") }
    }
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.filter(|word| !ARTICLES.contains(&word.as_str()))
}

/// Whether a text has the name where no longer name surrounds it.
fn has_literal(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + name.len()..].chars().next().is_some_and(is_part)
    })
}
