//! What the output of a failing run says.

use std::path::{Path, PathBuf};

use super::definitions::load_definitions;
use super::{assemble, reports};
use crate::base::private;
use crate::base::tree::FsTree;
use crate::capture::{SpoolHeader, SpooledRun};
use crate::command::KeyParts;
use crate::config::{Environment, Places, Settings, StateDir};
use crate::diagnose::{self, Baseline, DefinitionSet, Diagnosis, DiagnosisInput};
use crate::event::DiagnosticRecord;

/// A failing run's diagnosis, and what failed in it.
pub(super) struct DiagnosedFailure {
    pub diagnosis: Diagnosis,
    /// In the order of the output.
    pub items: Vec<DiagnosticRecord>,
}

impl DiagnosedFailure {
    pub(super) fn from_spooled(places: &Places, definitions: &DefinitionSet, spooled: &SpooledRun) -> Self {
        let mut diagnosis = diagnose_spooled(places, definitions, spooled);
        if spooled.header.reader_left {
            diagnosis.items.retain(|item| !is_of_the_reader(&item.message));
        }
        DiagnosedFailure { items: assemble::diagnostic_records(&spooled.header, &diagnosis), diagnosis }
    }
}

/// Whether a program complains about a closed output (`| head`), which no edit mends.
fn is_of_the_reader(message: &str) -> bool {
    let message = message.to_lowercase();
    ["epipe", "broken pipe", "brokenpipe", "sigpipe"].iter().any(|complaint| message.contains(complaint))
}

/// The keys of what failed in a run that isn't recorded yet, in the order of the output.
pub(crate) fn pattern_keys(places: &Places, definitions: &DefinitionSet, spooled: &SpooledRun) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for item in DiagnosedFailure::from_spooled(places, definitions, spooled).items {
        if !item.is_uninformative() && !keys.contains(&item.pattern) {
            keys.push(item.pattern);
        }
    }
    keys
}

/// What fails in a run that isn't recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RecordedItems {
    /// In the order of the output, as a run has them.
    pub items: Vec<DiagnosticRecord>,
    /// Whether there is more than them.
    pub is_cut: bool,
}

/// Reads what fails in a run as its record would have it.
pub(crate) fn diagnose_items(
    places: &Places,
    environment: &Environment,
    settings: &Settings,
    spooled: &SpooledRun,
) -> RecordedItems {
    let definitions = load_definitions(places, environment, &settings.categories).definitions;
    let found = DiagnosedFailure::from_spooled(places, &definitions, spooled);
    RecordedItems { items: found.items, is_cut: found.diagnosis.items_cut > 0 || spooled.header.cut_bytes > 0 }
}

fn diagnose_spooled(places: &Places, definitions: &DefinitionSet, spooled: &SpooledRun) -> Diagnosis {
    let header = &spooled.header;
    let command = header.argv.iter().map(|arg| arg.display()).collect::<Vec<_>>();
    let command = shell_words::join(command);
    let root = header.repository.root.path();
    // `cd web && npm test` prints paths as seen from there.
    let changed = header.check.as_ref().and_then(|check| check.dir.as_ref()).map(Path::new);
    let dir = KeyParts::directory(root, header.cwd.path(), changed);
    let baseline = read_baseline(&baseline_path(places, header));
    let input = DiagnosisInput {
        output: &spooled.output,
        command: &command,
        tool: header.check.as_ref().map(|check| check.tool.as_str()),
        kind: header.check.as_ref().map(|check| check.kind),
        ended: header.ended,
        dir: &dir.to_string_lossy(),
        root: &root.to_string_lossy(),
        tree: &FsTree::new(root),
        baseline: baseline.as_ref(),
        definitions,
    };
    let diagnosis = diagnose::diagnose_output(&input);
    // What a definition knows of the printed text is more than a report says: context, the lines as people saw them.
    if diagnosis.items.iter().any(|item| item.tool != "generic") {
        return diagnosis;
    }
    let Some(reports) = reports::read_report(header, &spooled.output) else { return diagnosis };
    let output = [spooled.output.as_slice(), b"\n", &reports].concat();
    let reported = diagnose::diagnose_output(&DiagnosisInput { output: &output, ..input });
    if reported.items.len() > diagnosis.items.len() { reported } else { diagnosis }
}

/// Where the text of the last passing run of a check is kept.
pub(super) fn baseline_path(places: &Places, header: &SpoolHeader) -> PathBuf {
    places.state.baseline(&StateDir::key_name(&header.key))
}

fn read_baseline(path: &Path) -> Option<Baseline> {
    let json = zstd::decode_all(private::read(path).ok()?.as_slice()).ok()?;
    serde_json::from_slice(&json).ok()
}
