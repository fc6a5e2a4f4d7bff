//! The self-check: whether as many findings were read as the tool reports.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Severity;
use super::engine::{RawDiagnostic, ReportedCounts, Tally};

/// A tool's own count that is higher than what was read of its output. The lines that no rule knew are kept then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shortfall {
    /// The tool definition whose line it is (`eslint`).
    pub tool: String,
    /// Problems or failing tests that the tool counts.
    pub said: usize,
    /// How many of them were read.
    pub found: usize,
}

/// What `tally` says and what was found of it, where that is less. `first_of` gives the items that repeat an
/// earlier one, with that one; `generic` is the number of items that no definition but the generic layer found.
pub(super) fn compare_counts(
    tally: &Tally,
    items: &[RawDiagnostic<'_>],
    first_of: &HashMap<usize, usize>,
    generic: usize,
) -> Option<(usize, usize)> {
    let (before, behind) = &tally.items;
    let sides = [before.clone(), behind.clone()];
    let count = |range: &std::ops::Range<usize>, any_tool: bool, wanted: fn(&RawDiagnostic<'_>) -> bool| {
        let counts = |&index: &usize| {
            let found = &items[index];
            // Only tests are listed live and again at the end. Two equal diagnostics of a linter are two.
            let repeats = found.test.is_some() && first_of.get(&index).is_some_and(|first| range.contains(first));
            !repeats && !found.tentative && (any_tool || found.tool() == tally.tool) && wanted(found)
        };
        range.clone().filter(counts).count()
    };
    let best = |wanted: fn(&RawDiagnostic<'_>) -> bool| {
        let most = |any_tool| sides.iter().map(|range| count(range, any_tool, wanted)).max().unwrap_or(0);
        // "Found 2 errors" is the same sentence in several tools.
        match most(false) {
            0 => most(true).max(generic),
            own => own,
        }
    };
    let ReportedCounts { problems, errors, warnings } = tally.said;
    let short = [
        errors.map(|said| (said, best(|found| found.severity == Severity::Error))),
        warnings.map(|said| (said, best(|found| found.severity == Severity::Warning))),
        problems.map(|said| (said, best(|_| true))),
    ];
    short.into_iter().flatten().filter(|(said, found)| found < said).max_by_key(|(said, found)| said - found)
}
