//! How an item came by its keys, step by step, for people who wonder why two failures are the same or aren't.

use serde::Serialize;

use super::mask::Slot;
use super::scan::{Class, Level};
use super::subject::Context;
use super::{FINGERPRINT_VERSION, Keys, Steps};
use crate::diagnose::Item;

/// Where the part of the key before the message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeFrom {
    /// The tool's rule or error code.
    Code,
    /// The exception class that the message begins with.
    Exception,
    /// There is none.
    Neither,
}

/// A masked part of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlotSeen {
    /// What it was taken for (`path`, `num`, `name` …), `several` for several things in one.
    pub class: &'static str,
    /// What stands there.
    pub text: String,
    /// What of it the pattern keeps, in the form that is the same on every machine; empty for a value.
    pub subjects: Vec<String>,
}

/// All steps from an item to its keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The algorithm's version.
    pub version: u32,
    /// The tools that share keys with this one.
    pub tool_class: String,
    /// The rule code, error code or exception class.
    pub code: Option<String>,
    /// Where the code comes from.
    pub code_from: CodeFrom,
    /// The words that are keyed: the first line with words, without what every message begins with.
    pub text: String,
    /// What the message does with its names: `comparison`, `absence`,
    /// `connection`, `other`.
    pub context: &'static str,
    /// What was masked, in order.
    pub slots: Vec<SlotSeen>,
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
pub fn explain(item: &Item) -> (Keys, Explanation) {
    let steps = Steps::of(item);
    let keys = steps.keys();
    let masked = steps.masked;
    let explanation = Explanation {
        version: FINGERPRINT_VERSION,
        tool_class: steps.class.to_owned(),
        code: steps.code,
        code_from: steps.code_from,
        text: steps.text,
        context: match masked.context {
            Context::Comparison => "comparison",
            Context::Absence => "absence",
            Context::Connection => "connection",
            Context::Other => "other",
        },
        slots: masked.slots.into_iter().map(seen).collect(),
        subjects: masked.subjects,
        level: match masked.level {
            Level::All => "all",
            Level::Quotes => "quotes",
            Level::Values => "values",
        },
        site: Some(steps.site).filter(|site| !site.is_empty()),
        family_text: keys.masked_family.clone(),
        pattern_text: keys.masked.clone(),
        family: keys.family.clone(),
        pattern: keys.pattern.clone(),
    };
    (keys, explanation)
}

fn seen(slot: Slot) -> SlotSeen {
    let class = slot.class.map_or("several", Class::name);
    SlotSeen { class, text: slot.text, subjects: slot.subjects }
}
