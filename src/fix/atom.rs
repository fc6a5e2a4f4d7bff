//! An atom: one thing that is wrong, without line numbers. A run's failure is a set of atoms.

use crate::base::text;
use crate::diagnose;
use crate::event::{Atom, AtomList, DiagnosticRecord, Run};
use crate::fingerprint::{self, FINGERPRINT_VERSION};

/// Atoms that an event lists of each set; the others are counted.
pub(super) const ATOMS_MAX: usize = 200;
/// What an atom says, bytes.
const TEXT_BYTES_MAX: usize = 160;
/// Hex digits of an atom's hash. 64 bits: two of a run's at most 2,000 atoms meet once in 10^13 runs.
const HASH_DIGITS: usize = 16;

/// The atoms of one run in the order of its output, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunAtoms(pub Vec<Atom>);

impl RunAtoms {
    /// The list for an event.
    pub(crate) fn to_list(&self) -> AtomList {
        AtomList { count: self.0.len(), first: self.0.iter().take(ATOMS_MAX).cloned().collect() }
    }

    /// None at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What failed in a run; nothing in one that passed.
pub(crate) fn of_run(run: &Run) -> RunAtoms {
    of_items(run.failure.as_ref().map_or(&[][..], |failure| &failure.items))
}

/// The atoms of what failed in a run.
pub(crate) fn of_items(items: &[DiagnosticRecord]) -> RunAtoms {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for item in items {
        let atom = of_item(item);
        if known.insert(atom.hash.clone()) {
            atoms.push(atom);
        }
    }
    RunAtoms(atoms)
}

/// Tool, code, file, test and masked message make the identity: the pattern key has the tool's class, the code and the
/// message without what changes from run to run.
pub(crate) fn of_item(item: &DiagnosticRecord) -> Atom {
    let pattern = pattern_of(item);
    let mut hasher = blake3::Hasher::new();
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    for part in [&item.tool, &optional(&item.code), &optional(&item.file), &optional(&item.test), &pattern] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let says =
        [item.message.as_str(), item.test.as_deref().unwrap_or_default(), item.code.as_deref().unwrap_or_default()];
    let says = says.into_iter().find(|text| !text.trim().is_empty()).unwrap_or("a failure without a message");
    Atom {
        hash: hasher.finalize().to_hex()[..HASH_DIGITS].to_owned(),
        pattern,
        file: item.file.clone(),
        test: item.test.clone(),
        text: text::ellipsis(text::one_line(says).trim(), TEXT_BYTES_MAX),
    }
}

/// The pattern key as this version computes it, so that runs recorded by different versions can be compared.
fn pattern_of(item: &DiagnosticRecord) -> String {
    if item.pattern.split(':').next() == Some(FINGERPRINT_VERSION.to_string().as_str()) {
        return item.pattern.clone();
    }
    fingerprint::compute_fingerprint(&diagnose::Diagnostic {
        tool: item.tool.clone(),
        code: item.code.clone(),
        severity: item.severity,
        file: item.file.clone(),
        line: item.line,
        col: item.col,
        message: item.message.clone(),
        test: item.test.clone(),
        span: (0, 0),
    })
    .pattern
}
