//! Measures duplicated code: the new lines of a change against the sources of the whole tree. Which files may hold a copy
//! is known from hashes that are kept for each content, so that a tree is not read again for each change.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use super::measurement::Measurement;
use super::measures::is_source_of;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::event::GateFinding;
use crate::gate::judge::ItemEvidence;
use crate::gate::measure::{
    ChangedFile, CopyCandidates, DuplicationIndex, DuplicationMeasure, KeptRows, ROWS_BYTES_MAX, RowHashes, RowKey,
    SourceLanguage, hash_rows,
};
use crate::gate::plan::PlannedItem;
use crate::gate::policy::{ChecklistItem, JudgedScope, Metric, MetricValue};

/// With fewer new lines a share of them proves nothing: SonarQube's quality gates have the same limit.
const NEW_LINES_MIN: usize = 20;

/// The new lines of each changed source file.
type NewLines<'a> = BTreeMap<&'a str, BTreeSet<u32>>;

/// A source file of the tree.
struct SourceFile<'a> {
    path: &'a String,
    language: SourceLanguage,
    key: RowKey,
}

impl Measurement<'_> {
    /// The evidence for an item about duplicated code: the new lines of a project's sources against the whole tree.
    pub(super) fn measure_duplication(&self, item: &ChecklistItem, planned: &PlannedItem) -> ItemEvidence {
        let dir = planned.dir.as_deref().unwrap_or_default();
        let stack = planned.stack.as_deref();
        let is_judged = |path: &str| is_source_of(path, dir, stack) && !is_generated(path);
        if let Some(unread) = self.change.files.iter().find(|file| file.is_unread && is_judged(&file.path)) {
            return ItemEvidence::unknown(item, format!("{} is larger than 2 MiB or no text", unread.path));
        }
        let lines: NewLines<'_> = self
            .change
            .files
            .iter()
            .filter(|file| file.after.is_some() && is_judged(&file.path))
            .map(|file| (file.path.as_str(), file.added.iter().copied().collect()))
            .collect();
        let new_lines: usize = lines.values().map(BTreeSet::len).sum();
        let is_all = item.scope == JudgedScope::All;
        if !is_all && new_lines < NEW_LINES_MIN {
            return ItemEvidence::without_application(format!("too few new lines to judge ({new_lines})"));
        }
        let sources: Vec<SourceFile<'_>> = self
            .change
            .paths
            .iter()
            .zip(&self.change.blobs)
            .filter(|(path, _)| is_judged(path))
            .filter_map(|(path, id)| {
                let language = SourceLanguage::from_path(path)?;
                Some(SourceFile { path, language, key: RowKey::new(id, language) })
            })
            .collect();
        let measured = if is_all {
            self.index_sources(&sources.iter().collect::<Vec<_>>()).map(|mut index| index.measure_tree())
        } else {
            self.measure_new_lines(&sources, &lines)
        };
        match measured {
            Ok(measure) => evidence_of(measure),
            Err(error) => ItemEvidence::unknown(item, format!("{error:#}")),
        }
    }

    /// Compares the changed files with those that share a row of tokens with them.
    fn measure_new_lines(
        &self,
        sources: &[SourceFile<'_>],
        lines: &NewLines<'_>,
    ) -> anyhow::Result<DuplicationMeasure> {
        let place = self.request.places.state.gate_rows();
        let mut kept = private::read_start(&place, ROWS_BYTES_MAX as u64 * 2)
            .map_or_else(|_| KeptRows::default(), |bytes| KeptRows::from_bytes(&bytes));
        let is_changed = |source: &&SourceFile<'_>| lines.contains_key(source.path.as_str());
        let mut changed: BTreeMap<&str, RowHashes> = BTreeMap::new();
        for source in sources.iter().filter(is_changed) {
            let text = self.change.changed_file(source.path).and_then(|file| file.after.as_deref()).unwrap_or_default();
            let rows = hash_rows(source.language, text).with_context(|| format!("cannot measure {}", source.path))?;
            changed.insert(source.path, rows);
        }
        let unknown: Vec<&SourceFile<'_>> =
            sources.iter().filter(|it| !is_changed(it) && kept.find(&it.key).is_none()).collect();
        self.for_each_text(&unknown, |source, text| {
            kept.add(source.key.clone(), hash_rows(source.language, text)?);
            Ok(())
        })?;
        let mut candidates = CopyCandidates::new(changed.values());
        let mut compared = Vec::new();
        let nothing = RowHashes::new();
        for source in sources {
            let own = changed.get(source.path.as_str());
            let rows = own.or_else(|| kept.find(&source.key)).unwrap_or(&nothing);
            if candidates.includes(rows)? || own.is_some() {
                compared.push(source);
            }
        }
        let keys: Vec<RowKey> = sources.iter().filter(|it| !is_changed(it)).map(|it| it.key.clone()).collect();
        if kept.is_grown()
            && let Some(bytes) = kept.to_bytes(&keys)
        {
            // Without them the next evaluation takes longer, and nothing else.
            let folder = place.parent().map(create_private_dir);
            let _ = folder.map(|_| write_atomic(&place, &bytes, 0o600, Durability::Cached));
        }
        let changed: Vec<ChangedFile<'_>> = lines.iter().map(|(path, lines)| ChangedFile { path, lines }).collect();
        Ok(self.index_sources(&compared)?.measure_change(&changed))
    }

    /// The tokens of these files.
    fn index_sources(&self, sources: &[&SourceFile<'_>]) -> anyhow::Result<DuplicationIndex> {
        let mut index = DuplicationIndex::default();
        self.for_each_text(sources, |source, text| Ok(index.add_file(source.path, source.language, text)?))?;
        Ok(index)
    }

    /// Reads these files, in their order, within the time of a measure. Files that are no text are left out.
    fn for_each_text<'a, 'b>(
        &self,
        sources: &'a [&'a SourceFile<'b>],
        mut measure: impl FnMut(&'a SourceFile<'b>, &str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let deadline = self.measure_deadline();
        let paths: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
        self.change.read_each_text(self.request, &paths, |at, text| {
            anyhow::ensure!(std::time::Instant::now() < deadline, self.out_of_time());
            let source = sources[at];
            measure(source, text).with_context(|| format!("cannot measure {}", source.path))
        })
    }
}

fn evidence_of(measure: DuplicationMeasure) -> ItemEvidence {
    let mut evidence = ItemEvidence::default();
    let percentage = measure.percentage();
    evidence.values.insert(Metric::DuplicationPercentage, MetricValue::Number(percentage));
    evidence.values.insert(Metric::DuplicatedLines, MetricValue::Number(measure.duplicated_lines as f64));
    evidence.details.push(format!("{percentage:.1}% ({} of {} lines)", measure.duplicated_lines, measure.lines));
    evidence.findings.extend(measure.blocks.into_iter().map(|block| GateFinding {
        message: format!(
            "lines {} to {} are also {}:{}-{}",
            block.place.first_line,
            block.place.last_line,
            block.other.path,
            block.other.first_line,
            block.other.last_line
        ),
        path: Some(block.place.path),
        line: Some(block.place.first_line),
        ..GateFinding::default()
    }));
    evidence
}

/// Files that no person writes.
fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders: BTreeSet<&str> = path.split('/').collect();
    [".min.js", "_pb2.py", ".pb.go", ".generated.ts", ".d.ts"].iter().any(|ending| name.ends_with(ending))
        || ["fixtures", "testdata", "snapshots", "__snapshots__", "generated"].iter().any(|it| folders.contains(it))
}
