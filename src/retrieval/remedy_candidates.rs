//! What may help against an error: what is recorded, and what the settings declare.

use crate::advice::similarity::telling_words;
use crate::advice::strategy::{
    DeclaredStrategy, RenderedStrategy, StrategyDiagnostic, StrategySubject, declared_strategies,
};
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::config::{Problem, Settings};
use crate::diagnose;
use crate::event::{DiagnosticRecord, Run, Technique};
use crate::knowledge::duplicate::NormalisedWords;
use crate::knowledge::remedy::{self, RemedyCandidate, compile_error_regex};
use crate::store::{Index, RemedyRow, StoreError};

/// Patterns that an error may be.
const PATTERNS_MAX: usize = 20;
/// Strategies that are ranked.
const CANDIDATES_MAX: usize = 100;
/// A shown line, bytes.
const LINE_BYTES_MAX: usize = 400;

/// What is known against an error with these patterns; without any, with those whose messages read like it.
pub(crate) fn recoveries_against(
    index: &Index,
    settings: &Settings,
    error: &str,
    keys: Vec<String>,
) -> Result<Vec<RemedyRow>, StoreError> {
    let keys = if keys.is_empty() { patterns_like(index, settings, error)? } else { keys };
    let mut rows = index.remedies_of_patterns(&keys)?;
    rows.extend(index.remedies_in_text(&error.to_lowercase())?);
    let is_match = |row: &RemedyRow| compile_error_regex(&row.error).is_ok_and(|regex| regex.is_match(error));
    rows.extend(index.remedies_by_regex()?.into_iter().filter(is_match));
    // Agents ask this when something failed; the steps of a stranger are not for them.
    rows.retain(|row| !row.imported);
    // What was changed in a failing attempt, and what only a flake seemed to need, is no proposal.
    rows.retain(|row| !remedy::is_learnt(row) || row.successes > 0);
    Ok(rows)
}

/// What a text is found to be: its category, and what is wrong.
pub(crate) type DiagnosedText = (Option<String>, Vec<diagnose::Diagnostic>);

/// The strategies of the settings that fit, as they read for this failure, and what is wrong with others.
pub(crate) fn fitting_declared(
    index: Option<&Index>,
    settings: &Settings,
    error: &str,
    run: Option<&Run>,
    found: Option<DiagnosedText>,
) -> Result<(Vec<RemedyCandidate>, Vec<Problem>), StoreError> {
    let command = run.map(|run| shell_words::join(run.argv.iter().map(Lossless::display)));
    let failure = run.and_then(|run| run.failure.as_ref());
    let subject = StrategySubject {
        text: error,
        category: failure.map(|failure| failure.category.as_str()),
        tool: run.and_then(|run| run.tool.as_deref()),
        command: command.as_deref(),
        items: failure.iter().flat_map(|failure| failure.items.iter().map(recorded_diagnostic)).collect(),
    };
    let printed = found.as_ref().filter(|(_, items)| !items.is_empty()).map(|(category, items)| StrategySubject {
        text: error,
        category: category.as_deref(),
        items: items.iter().map(printed_diagnostic).collect(),
        ..StrategySubject::default()
    });
    let (known, mut problems) = declared_strategies(settings);
    let mut candidates = Vec::new();
    for known in known {
        // A text that fits as what a tool printed; else as a text, of which nothing but its words is known.
        let proposal = match printed.as_ref().map(|printed| known.render_for_subject(printed)) {
            Some(Ok(Some(proposal))) => Ok(Some(proposal)),
            Some(Err(problem)) => Err(problem),
            _ => known.render_for_subject(&subject),
        };
        match proposal {
            Ok(Some(proposal)) => candidates.push(declared_candidate(index, &known, proposal)?),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    Ok((candidates, problems))
}

fn recorded_diagnostic(item: &DiagnosticRecord) -> StrategyDiagnostic<'_> {
    StrategyDiagnostic {
        tool: &item.tool,
        code: item.code.as_deref(),
        message: &item.message,
        file: item.file.as_deref(),
    }
}

fn printed_diagnostic(item: &diagnose::Diagnostic) -> StrategyDiagnostic<'_> {
    StrategyDiagnostic {
        tool: &item.tool,
        code: item.code.as_deref(),
        message: &item.message,
        file: item.file.as_deref(),
    }
}

/// A strategy of the settings with its reported outcomes; untried when there are none.
pub(crate) fn declared_candidate(
    index: Option<&Index>,
    declared: &DeclaredStrategy,
    proposal: RenderedStrategy,
) -> Result<RemedyCandidate, StoreError> {
    let mut row = RemedyRow { id: declared.id.clone(), technique: Technique::Declared, ..RemedyRow::default() };
    let mut attempts = Vec::new();
    if let Some(index) = index
        && let Some(recorded) = index.declared_remedy(&declared.id)?
    {
        attempts = index.attempts_of_remedy(recorded.number)?;
        row = recorded;
    }
    row.label = ellipsis(&proposal.technique, LINE_BYTES_MAX);
    row.steps = proposal.steps.iter().map(|step| ellipsis(step, LINE_BYTES_MAX)).collect();
    row.matches = declared.match_kind();
    Ok(RemedyCandidate { row, attempts, declared: Some(declared.name().to_owned()) })
}

/// Adds what is recorded, each once.
pub(crate) fn add_recorded_candidates(
    index: &Index,
    rows: impl IntoIterator<Item = RemedyRow>,
    candidates: &mut Vec<RemedyCandidate>,
) -> Result<(), StoreError> {
    for mut row in rows.into_iter().take(CANDIDATES_MAX) {
        if candidates.iter().any(|known| known.row.id == row.id) {
            continue;
        }
        let attempts = index.attempts_of_remedy(row.number)?;
        // What was imported may be anybody's text.
        row.label = ellipsis(one_line(&row.label).trim(), LINE_BYTES_MAX);
        row.steps = row.steps.iter().map(|step| ellipsis(one_line(step).trim(), LINE_BYTES_MAX)).collect();
        candidates.push(RemedyCandidate { row, attempts, declared: None });
    }
    Ok(())
}

/// Keys of known patterns that a text reads like.
pub(crate) fn patterns_like(index: &Index, settings: &Settings, error: &str) -> Result<Vec<String>, StoreError> {
    let asked = NormalisedWords::from_text(error);
    let mut keys = Vec::new();
    for (pattern, _) in index.patterns_with_words(&telling_words(error))? {
        let row = index.pattern_at(pattern)?;
        if NormalisedWords::from_text(&row.masked).jaccard(&asked) >= settings.knowledge.suggested {
            keys.push(row.key);
        }
    }
    keys.truncate(PATTERNS_MAX);
    Ok(keys)
}
