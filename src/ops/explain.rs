//! `pattern explain`: how a message becomes its keys.

use std::collections::HashMap;
use std::io::{BufRead, Read as _, Write};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::reply::Reply;
use super::request::Request;
use crate::base::limits::{EXPLAIN_LINE_BYTES_MAX, SIMILARITY_MIN};
use crate::diagnose::{Diagnostic, Severity};
use crate::event::DiagnosticRecord as StoredItem;
use crate::fingerprint::{self, Fingerprint, FingerprintExplanation, MessageComparison, PatternLeaders};
use crate::store::{Index, SegmentFolder, StoreError};

/// A message to explain; also a line that `pattern explain --jsonl` reads.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ExplainRequest {
    /// The message.
    pub text: String,
    /// The tool that printed it.
    #[serde(default)]
    pub tool: String,
    /// Rule code, error code or exception class.
    #[serde(default)]
    pub code: Option<String>,
}

/// What `pattern explain --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternExplanation {
    /// The pattern in the store that has this key.
    pub id: Option<String>,
    #[serde(flatten)]
    pub steps: FingerprintExplanation,
    /// Patterns in the store that may be near-duplicates, the most similar first; it itself is left out.
    pub near: Vec<NearPattern>,
}

/// A pattern that may be a near-duplicate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NearPattern {
    /// `p-…`.
    pub id: String,
    /// The family's text as it was compared: lower-case, bounded.
    pub text: String,
    /// Similarity and the guard's verdict.
    #[serde(flatten)]
    pub compared: MessageComparison,
    /// Bands of the sketch that are equal, of `fingerprint::BANDS`.
    pub bands: u64,
}

/// One line of `pattern explain --jsonl`.
#[derive(Debug, Serialize)]
struct ExplanationLine<'a> {
    family: &'a str,
    pattern: &'a str,
    masked: &'a str,
    masked_family: &'a str,
}

/// How a message becomes its keys.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn explain_message(
    request: &Request,
    asked: ExplainRequest,
    similarity_min: f64,
) -> Result<Reply<PatternExplanation>, StoreError> {
    let reading = request.open_for_reading()?;
    let explained = explain_diagnostic(reading.index.as_ref(), &asked.to_diagnostic(), similarity_min)?;
    Ok(Reply::new(explained, reading.notes))
}

/// How the message that describes the pattern whose id starts with `id` became its keys.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn explain_pattern(
    request: &Request,
    id: &str,
    similarity_min: f64,
) -> Result<Reply<PatternExplanation>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = reading.index else { return Err(StoreError::NoSuchId { id: id.to_owned() }) };
    let explained = explain_recorded(&index, &reading.segments, id, similarity_min)?;
    Ok(Reply::new(explained, reading.notes))
}

/// The same of an open store.
///
/// # Errors
/// As [`explain_pattern`].
pub(crate) fn explain_recorded(
    index: &Index,
    segments: &SegmentFolder,
    id: &str,
    similarity_min: f64,
) -> Result<PatternExplanation, StoreError> {
    let missing = || StoreError::NoSuchId { id: id.to_owned() };
    let member = index.find_member(id)?;
    let run = index.read_run(segments, &index.describing_run(member.number)?)?.ok_or_else(missing)?;
    let items = run.failure.map(|failure| failure.items).unwrap_or_default();
    let mut items = items.iter().map(StoredItem::to_diagnostic);
    let item = items.find(|item| fingerprint::compute_fingerprint(item).pattern == member.key).ok_or_else(missing)?;
    explain_diagnostic(Some(index), &item, similarity_min)
}

fn explain_diagnostic(
    index: Option<&Index>,
    item: &Diagnostic,
    similarity_min: f64,
) -> Result<PatternExplanation, StoreError> {
    let (keys, steps) = fingerprint::explain_fingerprint(item);
    let mut explained = PatternExplanation { id: None, steps, near: Vec::new() };
    let Some(index) = index else { return Ok(explained) };
    explained.id = index.pattern_id_of_key(&keys.pattern)?;
    let Some(near) = fingerprint::sketch_message(item) else { return Ok(explained) };
    let rows = index.near_patterns(&near)?.into_iter().filter(|row| row.key != keys.pattern);
    explained.near = rows
        .map(|row| {
            let compared = fingerprint::compare_messages(&near.text, &row.text, similarity_min);
            NearPattern { id: row.id, text: row.text, compared, bands: row.bands }
        })
        .collect();
    explained.near.sort_by(|a, b| b.compared.similarity.total_cmp(&a.compared.similarity));
    Ok(explained)
}

/// The keys of each line of `input`, a line each in the same order.
///
/// # Errors
/// When a line is no JSON object with a `text` (its number is named), or `output` can't be written.
pub(crate) fn explain_lines(mut input: impl BufRead, mut output: impl Write, merge: bool) -> anyhow::Result<()> {
    let mut line = Vec::new();
    let mut merging = MergeSimulation::default();
    for number in 1.. {
        line.clear();
        let room = EXPLAIN_LINE_BYTES_MAX + 1;
        let read = (&mut input).take(room).read_until(b'\n', &mut line).with_context(|| format!("line {number}"))?;
        if read == 0 {
            break;
        }
        anyhow::ensure!(
            read as u64 <= EXPLAIN_LINE_BYTES_MAX,
            "line {number} is longer than {EXPLAIN_LINE_BYTES_MAX} bytes"
        );
        if line.trim_ascii().is_empty() {
            continue;
        }
        let asked: ExplainRequest = serde_json::from_slice(&line).with_context(|| {
            format!("line {number} is not like {{\"text\": \"…\", \"tool\": \"…\", \"code\": \"…\"}}")
        })?;
        let item = asked.to_diagnostic();
        let mut keys = fingerprint::compute_fingerprint(&item);
        if merge {
            keys = merging.find_leader(&item, keys);
        }
        let answer = ExplanationLine {
            family: &keys.family,
            pattern: &keys.pattern,
            masked: &keys.masked,
            masked_family: &keys.masked_family,
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
    }
    Ok(output.flush()?)
}

/// Patterns merged as the recorder merges them: each new one with the most similar one before it that may be the same.
#[derive(Default)]
struct MergeSimulation {
    leaders: PatternLeaders,
    keys: Vec<Fingerprint>,
    known: HashMap<String, Fingerprint>,
}

impl MergeSimulation {
    /// The keys of the pattern that `keys` was merged into, else they themselves.
    fn find_leader(&mut self, item: &Diagnostic, keys: Fingerprint) -> Fingerprint {
        if let Some(known) = self.known.get(&keys.pattern) {
            return known.clone();
        }
        let leader = match fingerprint::sketch_message(item) {
            Some(near) => match self.leaders.find_nearest(&near, SIMILARITY_MIN) {
                Some((leader, _)) => self.keys[leader].clone(),
                None => {
                    self.leaders.push(near);
                    self.keys.push(keys.clone());
                    keys.clone()
                }
            },
            None => keys.clone(),
        };
        self.known.insert(keys.pattern, leader.clone());
        leader
    }
}

impl ExplainRequest {
    fn to_diagnostic(&self) -> Diagnostic {
        Diagnostic {
            tool: self.tool.clone(),
            code: self.code.clone().filter(|code| !code.is_empty()),
            severity: Severity::Error,
            file: None,
            line: None,
            col: None,
            message: self.text.clone(),
            test: None,
            span: (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str) -> anyhow::Result<Vec<serde_json::Value>> {
        let mut out = Vec::new();
        explain_lines(input.as_bytes(), &mut out, false)?;
        Ok(out.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    #[test]
    fn each_line_gets_its_keys_in_order() {
        let input = "{\"text\":\"Cannot find module 'a'\",\"tool\":\"tsc\"}\n\n{\"text\":\"Cannot find module 'b'\",\
                     \"tool\":\"tsc\",\"code\":\"TS2307\"}\n{\"text\":\"Cannot find module 'b'\",\"tool\":\"tsc\"}";
        let answers = answers(input).expect("are lines");
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[0]["family"], answers[2]["family"]);
        assert_ne!(answers[0]["pattern"], answers[2]["pattern"]);
        assert_ne!(answers[0]["family"], answers[1]["family"]);
        assert_eq!(answers[1]["masked"], "Cannot find module 'b'");
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = answers("{\"text\":\"a\"}\n{\"tool\":\"x\"}\n").expect_err("no text");
        assert!(format!("{error:#}").starts_with("line 2 is not like"), "{error:#}");
    }
}
