//! References to decision records in a PRP or a commit message: `ADR-0007`, `docs/adr/0007-use-postgres.md`.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::adr::DecisionRecord;

/// Words that could be a file's name, of one text; further ones are not compared.
const MENTIONS_MAX: usize = 200_000;

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\bADR[-_ #]{0,2}0*(\d{1,6})\b").expect("a valid pattern"));
static FILE_NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:[\w.-]+/)*[\w.-]*[\w-]").expect("a valid pattern"));

/// The records that a text names, in their order.
pub(crate) fn find_referenced<'r>(text: &str, records: &'r [DecisionRecord]) -> Vec<&'r DecisionRecord> {
    let mut by_number: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut by_stem: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        if let Some(number) = record.number {
            by_number.entry(number).or_default().push(index);
        }
        by_stem.entry(stem_of(&record.path)).or_default().push(index);
    }
    let mut named = vec![false; records.len()];
    for groups in NUMBER.captures_iter(text) {
        let number = groups.get(1).and_then(|number| number.as_str().parse().ok());
        // Two records of one number: the reference names neither of them for certain.
        if let Some([index]) = number.and_then(|number| by_number.get(&number)).map(Vec::as_slice) {
            named[*index] = true;
        }
    }
    for mention in FILE_NAME.find_iter(text).take(MENTIONS_MAX) {
        let path = mention.as_str().trim_start_matches("./").trim_start_matches("../");
        for index in by_stem.get(stem_of(path)).into_iter().flatten() {
            let record = &records[*index];
            let has_folder = path.contains('/');
            // A bare word is a reference only with a number or an extension: `index` is none.
            if ends_with_path(&record.path, path) && (has_folder || path.ends_with(".md") || record.number.is_some()) {
                named[*index] = true;
            }
        }
    }
    records.iter().zip(named).filter(|(_, is_named)| *is_named).map(|(record, _)| record).collect()
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".md", ".markdown", ".adoc", ".rst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Whether `path` (with or without its extension) is the end of `whole`, at a folder.
fn ends_with_path(whole: &str, path: &str) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    match (folder(whole), folder(path)) {
        (_, None) => true,
        (Some(whole), Some(end)) => whole == end || whole.ends_with(&format!("/{end}")),
        (None, Some(_)) => false,
    }
}
