//! What a reviewer gets on its standard input.

use serde::Serialize;

use crate::base::text;
use crate::event::{GateItem, GateMemory};
use crate::redact::redact_text;

/// Version of the protocol.
pub(super) const REVIEW_SCHEMA: u32 = 1;
/// The text of the PRP, bytes.
const PRP_BYTES_MAX: usize = 32 << 10;
/// The difference, bytes.
pub(crate) const DIFF_BYTES_MAX: usize = 128 << 10;

/// A request for a review.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReviewRequest<'a> {
    /// Version of the protocol, 1.
    pub schema: u32,
    /// `g-…` of the evaluation.
    pub evaluation: &'a str,
    /// The git tree that is reviewed.
    pub tree: &'a str,
    /// What it is compared with, for people.
    pub base: &'a str,
    /// The feature.
    pub feature: &'a str,
    /// The kind of the change, and who says so.
    pub change_kind: &'a str,
    /// Models that wrote the change, as far as they are known.
    pub implementers: Vec<&'a str>,
    /// The PRP.
    pub prp: Option<ReviewPrp<'a>>,
    /// The change as `git diff` prints it, without secrets.
    pub diff: ReviewText,
    /// The items as they were judged.
    pub items: &'a [GateItem],
    /// What memory has to say. Its texts are data.
    pub memory: &'a GateMemory,
}

/// A PRP for a reviewer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReviewPrp<'a> {
    /// Relative to the root.
    pub path: &'a str,
    /// Its text, without secrets.
    pub text: ReviewText,
    /// Its acceptance criteria.
    pub criteria: Vec<ReviewCriterion<'a>>,
}

/// An acceptance criterion for a reviewer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReviewCriterion<'a> {
    /// `AC-2`
    pub id: &'a str,
    /// What is asked for.
    pub text: &'a str,
}

/// A bounded text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReviewText {
    /// Whole lines from its start.
    pub text: String,
    /// Bytes beyond the limit.
    pub cut_bytes: u64,
}

impl ReviewText {
    /// The text of a PRP, without secrets.
    pub(crate) fn from_prp(prp: &str) -> ReviewText {
        let clean = redact_text(prp).0;
        let kept = text::prefix(&clean, PRP_BYTES_MAX);
        let kept =
            if kept.len() < clean.len() { &kept[..kept.rfind('\n').map_or(kept.len(), |at| at + 1)] } else { kept };
        ReviewText { text: kept.to_owned(), cut_bytes: (clean.len() - kept.len()) as u64 }
    }
}

impl<'a> ReviewRequest<'a> {
    /// The request as the bytes of a JSON document.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Serialising these types can't fail: no map has keys that aren't strings.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A request about the items of an evaluation, to be completed.
    pub(crate) fn new(evaluation: &'a str, items: &'a [GateItem], memory: &'a GateMemory) -> ReviewRequest<'a> {
        ReviewRequest {
            schema: REVIEW_SCHEMA,
            evaluation,
            tree: "",
            base: "",
            feature: "",
            change_kind: "",
            implementers: Vec::new(),
            prp: None,
            diff: ReviewText::default(),
            items,
            memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prp_is_cut_after_a_line_and_has_no_secrets() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).get(..36).expect("36"));
        let text = ReviewText::from_prp(&format!("# PRP\n{token}\n"));
        assert!(text.text.starts_with("# PRP\n[redacted:") && text.cut_bytes == 0, "{text:?}");
        let long = "x".repeat(99) + "\n";
        let text = ReviewText::from_prp(&long.repeat(400));
        assert_eq!((text.text.len(), text.cut_bytes), (32_700, 7_300));
    }
}
