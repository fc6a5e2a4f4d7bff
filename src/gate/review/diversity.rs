//! Whether the model of a reviewer differs from those that wrote the change: a model agrees with itself.

use std::collections::BTreeSet;

use super::families::ModelFamily;
use crate::config::{ModelDiversity, UnknownAuthor};
use crate::event::GateDiversity;

/// Names of models to review with, the first ones first.
const REVIEWERS: [&str; 4] = ["sonnet", "opus", "gpt", "gemini"];

/// How the reviewer compares with the authors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiversityFinding {
    /// The outcome.
    pub diversity: GateDiversity,
    /// Why the change cannot be approved because of it, with what to do.
    pub issue: Option<String>,
}

/// Compares the model of a review with those of the authors; `None` where no review took place.
pub(crate) fn judge_diversity(
    implementers: &BTreeSet<String>,
    reviewer: Option<&str>,
    (rule, unknown): (ModelDiversity, UnknownAuthor),
) -> DiversityFinding {
    let found = |diversity, issue| DiversityFinding { diversity, issue };
    let Some(reviewer) = reviewer else { return found(GateDiversity::NotNeeded, None) };
    if implementers.is_empty() {
        let issue = "it is not known which model wrote the change: name it with --implementer-model";
        let is_blocking = unknown == UnknownAuthor::Block;
        return found(GateDiversity::UnknownImplementer, is_blocking.then(|| issue.to_owned()));
    }
    let own = ModelFamily::from_name(reviewer);
    let is_same = |author: &&String| {
        let family = ModelFamily::from_name(author);
        family.vendor == own.vendor && (rule == ModelDiversity::Vendor || family.line == own.line)
    };
    let Some(author) = implementers.iter().find(is_same) else { return found(GateDiversity::Enforced, None) };
    let shared = match rule {
        ModelDiversity::Family => own.to_string(),
        ModelDiversity::Vendor => own.vendor.clone(),
    };
    let advice = match suggest_reviewer(implementers, rule) {
        Some(name) => format!("review with {name}"),
        None => "review with a model of another vendor".to_owned(),
    };
    found(
        GateDiversity::SameFamily,
        Some(format!("{reviewer} reviews what {author} wrote, and both are {shared}: {advice}")),
    )
}

/// A model that differs from all authors: Opus where Sonnet wrote, else Sonnet where it did not.
fn suggest_reviewer(implementers: &BTreeSet<String>, rule: ModelDiversity) -> Option<&'static str> {
    let authors: Vec<ModelFamily> = implementers.iter().map(|author| ModelFamily::from_name(author)).collect();
    let differs = |name: &&&str| {
        let family = ModelFamily::from_name(name);
        !authors.iter().any(|author| match rule {
            ModelDiversity::Family => *author == family,
            ModelDiversity::Vendor => author.vendor == family.vendor,
        })
    };
    REVIEWERS.iter().find(differs).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(implementers: &[&str], reviewer: Option<&str>, rule: ModelDiversity) -> (GateDiversity, Option<String>) {
        let implementers = implementers.iter().map(|name| (*name).to_owned()).collect();
        let found = judge_diversity(&implementers, reviewer, (rule, UnknownAuthor::Warn));
        (found.diversity, found.issue)
    }

    #[test]
    fn a_reviewer_of_the_same_family_is_an_issue_with_another_one_to_take() {
        let family = |implementers: &[&str], reviewer| judge(implementers, Some(reviewer), ModelDiversity::Family);
        assert_eq!(family(&["claude-opus-4-1"], "claude-sonnet-5"), (GateDiversity::Enforced, None));
        let (diversity, issue) = family(&["gpt-5", "claude-opus-4-1"], "claude-opus-4");
        let said = "claude-opus-4 reviews what claude-opus-4-1 wrote, and both are anthropic/opus: review with sonnet";
        assert_eq!((diversity, issue.as_deref()), (GateDiversity::SameFamily, Some(said)));
        let advice = |implementers: &[&str], reviewer| family(implementers, reviewer).1.expect("an issue");
        assert!(advice(&["claude-sonnet-5"], "sonnet").ends_with("review with opus"));
        assert!(advice(&["opus", "sonnet"], "opus").ends_with("review with gpt"));
        assert!(advice(&["thinker"], "Thinker").ends_with("both are thinker: review with sonnet"));
    }

    #[test]
    fn another_vendor_can_be_asked_for() {
        let vendor = |implementers: &[&str], reviewer| judge(implementers, Some(reviewer), ModelDiversity::Vendor);
        assert_eq!(vendor(&["claude-opus-4-1"], "gpt-5"), (GateDiversity::Enforced, None));
        let (diversity, issue) = vendor(&["claude-opus-4-1"], "claude-sonnet-5");
        assert_eq!(diversity, GateDiversity::SameFamily);
        assert!(issue.is_some_and(|issue| issue.ends_with("both are anthropic: review with gpt")));
        let all = ["opus", "gpt-5", "gemini-3-pro"];
        assert!(vendor(&all, "sonnet").1.is_some_and(|issue| issue.ends_with("a model of another vendor")));
    }

    #[test]
    fn nothing_is_compared_without_a_review_and_an_unknown_author_blocks_on_request() {
        assert_eq!(judge(&["opus"], None, ModelDiversity::Family), (GateDiversity::NotNeeded, None));
        assert_eq!(judge(&[], Some("opus"), ModelDiversity::Family), (GateDiversity::UnknownImplementer, None));
        let rules = (ModelDiversity::Family, UnknownAuthor::Block);
        let found = judge_diversity(&BTreeSet::new(), Some("opus"), rules);
        assert!(found.issue.is_some_and(|issue| issue.contains("--implementer-model")));
    }
}
