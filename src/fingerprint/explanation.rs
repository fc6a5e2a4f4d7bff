//! How an item came by its keys, step by step, for people who wonder why two failures are the same or aren't.

use serde::Serialize;

use super::mask::MaskedSlot;
use super::scan::{MaskLevel, SlotClass};
use super::subject::MessageContext;
use super::{FINGERPRINT_VERSION, Fingerprint, FingerprintSteps};
use crate::diagnose::Diagnostic;

/// Where the part of the key before the message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum CodeOrigin {
    /// The tool's rule or error code.
    Code,
    /// The exception class that the message begins with.
    Exception,
    /// There is none.
    Neither,
}

/// A masked part of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExplainedSlot {
    /// What it was taken for (`path`, `num`, `name` …), `several` for several things in one.
    pub class: &'static str,
    /// What stands there.
    pub text: String,
    /// What of it the pattern keeps, in the form that is the same on every machine; empty for a value.
    pub subjects: Vec<String>,
}

/// All steps from an item to its keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FingerprintExplanation {
    /// The algorithm's version.
    pub version: u32,
    /// The tools that share keys with this one.
    pub tool_class: String,
    /// The rule code, error code or exception class.
    pub code: Option<String>,
    /// Where the code comes from.
    pub code_from: CodeOrigin,
    /// The words that are keyed: the first line with words, without what every message begins with.
    pub text: String,
    /// What the message does with its names: `comparison`, `absence`,
    /// `connection`, `other`.
    pub context: &'static str,
    /// What was masked, in order.
    pub slots: Vec<ExplainedSlot>,
    /// The subjects, at most two.
    pub subjects: Vec<String>,
    /// How much was masked so that a word of content is left: `all`, `quotes` (bare names stay), `values` (quotes stay
    /// too).
    pub level: &'static str,
    /// The test or file that stands in for a message that says too little.
    pub site: Option<String>,
    /// The message with everything masked: the family's text.
    pub family_text: String,
    /// The message with its subjects kept: the pattern's text.
    pub pattern_text: String,
    /// Key of the family.
    pub family: String,
    /// Key of the pattern.
    pub pattern: String,
}

/// The keys of `item`, and how they came about.
pub(crate) fn explain_fingerprint(item: &Diagnostic) -> (Fingerprint, FingerprintExplanation) {
    let steps = FingerprintSteps::from_diagnostic(item);
    let keys = steps.to_fingerprint();
    let masked = steps.masked;
    let explanation = FingerprintExplanation {
        version: FINGERPRINT_VERSION,
        tool_class: steps.class.to_owned(),
        code: steps.code,
        code_from: steps.code_from,
        text: steps.text,
        context: match masked.context {
            MessageContext::Comparison => "comparison",
            MessageContext::Absence => "absence",
            MessageContext::Connection => "connection",
            MessageContext::Other => "other",
        },
        slots: masked.slots.into_iter().map(explain_slot).collect(),
        subjects: masked.subjects,
        level: match masked.level {
            MaskLevel::All => "all",
            MaskLevel::Quotes => "quotes",
            MaskLevel::Values => "values",
        },
        site: Some(steps.site).filter(|site| !site.is_empty()),
        family_text: keys.masked_family.clone(),
        pattern_text: keys.masked.clone(),
        family: keys.family.clone(),
        pattern: keys.pattern.clone(),
    };
    (keys, explanation)
}

fn explain_slot(slot: MaskedSlot) -> ExplainedSlot {
    let class = slot.class.map_or("several", SlotClass::name);
    ExplainedSlot { class, text: slot.text, subjects: slot.subjects }
}
