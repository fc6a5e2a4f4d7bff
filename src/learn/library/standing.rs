//! The standing of a page: what people decided about it, and whether its file is what they decided about.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::base::clock::Timestamp;
use crate::event::{LibraryFolderName, LibraryStep, WrittenPage};
use crate::store::LibraryStepRow;

/// A page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageFile {
    /// Its folder.
    pub folder: LibraryFolderName,
    /// Its name in the folder.
    pub name: String,
    /// `sha256:…` of its bytes.
    pub digest: String,
    /// The same bytes are in the tree of the default branch.
    pub is_in_default_branch: bool,
}

/// What a person decided about a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageDecision {
    /// Who.
    pub person: String,
    /// When.
    pub at: Timestamp,
    /// `approved`, `rejected`, `deprecated` or `restored`.
    pub what: &'static str,
    /// Why.
    pub reason: String,
}

/// A page as its steps tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LibraryPage {
    /// `a-…`
    pub id: String,
    /// The folder that the last step put it into; `None` of a page that was rejected, or that was not written here.
    pub folder: Option<LibraryFolderName>,
    /// As it was written here.
    pub written: Option<WrittenPage>,
    /// As another store says that it wrote it, and the writer that its event names. Of a page that was not written here.
    pub claimed: Option<(WrittenPage, String)>,
    /// When.
    pub written_at: Option<Timestamp>,
    /// `sha256:…` of the file that a person last approved or restored.
    pub approved: Option<String>,
    /// It was approved without proof.
    pub is_unproven: bool,
    /// What people decided, the oldest first.
    pub decisions: Vec<PageDecision>,
    /// Why it should be deprecated, since it was last approved.
    pub proposed: Option<String>,
    /// Whether its proof held when it was last run again, and when that was.
    pub verified: Option<(bool, Timestamp)>,
}

/// Why agents do not get to read a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageDoubt {
    /// It is not among the active ones.
    NotActive,
    /// No person approved it here, and the default branch does not have it.
    NotApproved,
    /// It is not what was approved.
    Edited,
}

impl PageDoubt {
    /// For people, a lowercase fragment.
    pub(crate) fn reason_text(self) -> &'static str {
        match self {
            PageDoubt::NotActive => "it is not active",
            PageDoubt::NotApproved => "no person approved it here, and the default branch does not have it",
            PageDoubt::Edited => "its file is not the one that was approved",
        }
    }
}

/// The pages of a library, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PagesFold {
    /// By id.
    pub pages: BTreeMap<String, LibraryPage>,
}

impl PagesFold {
    /// Folds steps, the oldest first. Of what another store recorded only the text of a page is taken, as its claim.
    pub(crate) fn from_steps(steps: &[LibraryStepRow]) -> PagesFold {
        let mut fold = PagesFold::default();
        for step in steps {
            let id = &step.note.artifact;
            let page = fold.pages.entry(id.clone()).or_default();
            page.id.clone_from(id);
            match &step.note.step {
                _ if step.is_own => page.apply(step),
                LibraryStep::Written(written) => page.claimed = Some(((**written).clone(), step.writer.clone())),
                _ => {}
            }
        }
        fold
    }
}

impl LibraryPage {
    fn apply(&mut self, row: &LibraryStepRow) {
        match &row.note.step {
            LibraryStep::Written(page) => {
                (self.written, self.written_at) = (Some((**page).clone()), Some(row.at));
                self.folder = Some(LibraryFolderName::Candidates);
            }
            LibraryStep::Approved { reason, digest, unproven, .. } => {
                (self.folder, self.approved) = (Some(LibraryFolderName::Active), Some(digest.clone()));
                (self.is_unproven, self.proposed) = (*unproven, None);
                self.decide(row, "approved", reason);
            }
            LibraryStep::Restored { reason, digest } => {
                (self.folder, self.approved) = (Some(LibraryFolderName::Active), Some(digest.clone()));
                self.proposed = None;
                self.decide(row, "restored", reason);
            }
            LibraryStep::Rejected { reason } => {
                (self.folder, self.approved) = (None, None);
                self.decide(row, "rejected", reason);
            }
            LibraryStep::Deprecated { reason, .. } => {
                (self.folder, self.approved, self.proposed) = (Some(LibraryFolderName::Deprecated), None, None);
                self.decide(row, "deprecated", reason);
            }
            LibraryStep::Moved { to, .. } => {
                self.folder = Some(*to);
                if *to == LibraryFolderName::Deprecated {
                    self.approved = None;
                }
            }
            LibraryStep::DeprecationProposed { why } => self.proposed = Some(why.clone()),
            LibraryStep::Verified { holds, .. } => self.verified = Some((*holds, row.at)),
            LibraryStep::Edited { .. } => {}
        }
    }

    fn decide(&mut self, row: &LibraryStepRow, what: &'static str, reason: &str) {
        let person = row.note.by.person.clone().unwrap_or_default();
        self.decisions.push(PageDecision { person, at: row.at, what, reason: reason.to_owned() });
    }

    /// Whether agents get to read this file of the page.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_served(page: Option<&LibraryPage>, file: &PageFile) -> Result<(), PageDoubt> {
        if file.folder != LibraryFolderName::Active {
            return Err(PageDoubt::NotActive);
        }
        let approved = page.and_then(|page| page.approved.as_deref());
        let was_ended = page.is_some_and(|page| {
            let ended = [Some(LibraryFolderName::Deprecated), None];
            !page.decisions.is_empty() && ended.contains(&page.folder)
        });
        match approved {
            Some(digest) if digest == file.digest => Ok(()),
            // A person said that it is not wanted; a branch that still has it does not bring it back.
            _ if was_ended => Err(PageDoubt::NotActive),
            _ if file.is_in_default_branch => Ok(()),
            Some(_) => Err(PageDoubt::Edited),
            None => Err(PageDoubt::NotApproved),
        }
    }
}

/// `sha256:…` of a page's bytes.
pub(crate) fn digest_page(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventAuthor, LibraryNote};

    fn fold(steps: Vec<(&str, LibraryStep)>) -> LibraryPage {
        let row = |(n, (writer, step)): (usize, (&str, LibraryStep))| LibraryStepRow {
            at: Timestamp(i64::try_from(n).expect("small")),
            writer: writer.to_owned(),
            is_own: writer == "me",
            note: LibraryNote {
                artifact: "a-1".into(),
                step,
                by: EventAuthor { person: Some("Ada".into()), ..EventAuthor::default() },
            },
        };
        let rows: Vec<LibraryStepRow> = steps.into_iter().enumerate().map(row).collect();
        PagesFold::from_steps(&rows).pages.remove("a-1").expect("the page")
    }

    fn approved(digest: &str) -> LibraryStep {
        let (reason, digest) = ("good".to_owned(), digest.to_owned());
        LibraryStep::Approved { reason, digest, supersedes: Vec::new(), unproven: false }
    }

    fn written() -> LibraryStep {
        LibraryStep::Written(Box::default())
    }

    fn file(folder: LibraryFolderName, digest: &str, is_in_default_branch: bool) -> PageFile {
        PageFile { folder, name: "a-1.md".into(), digest: digest.into(), is_in_default_branch }
    }

    #[test]
    fn agents_read_what_a_person_approved_or_the_default_branch_has() {
        let active = |digest: &str| file(LibraryFolderName::Active, digest, false);
        let page = fold(vec![("me", written()), ("me", approved("d"))]);
        assert_eq!(LibraryPage::check_served(Some(&page), &active("d")), Ok(()));
        assert_eq!(LibraryPage::check_served(Some(&page), &active("e")), Err(PageDoubt::Edited));
        let candidate = file(LibraryFolderName::Candidates, "d", true);
        assert_eq!(LibraryPage::check_served(Some(&page), &candidate), Err(PageDoubt::NotActive));
        assert_eq!(LibraryPage::check_served(None, &active("d")), Err(PageDoubt::NotApproved));
        let merged = file(LibraryFolderName::Active, "d", true);
        assert_eq!(LibraryPage::check_served(None, &merged), Ok(()));
        let stranger = fold(vec![("me", written()), ("other", approved("d"))]);
        assert_eq!(LibraryPage::check_served(Some(&stranger), &active("d")), Err(PageDoubt::NotApproved));
    }

    #[test]
    fn a_page_that_a_person_ended_does_not_come_back_by_a_branch() {
        let deprecated = LibraryStep::Deprecated { reason: "it harms".into(), replaced_by: None };
        let merged = file(LibraryFolderName::Active, "d", true);
        let page = fold(vec![("me", written()), ("me", approved("d")), ("me", deprecated)]);
        assert_eq!(page.folder, Some(LibraryFolderName::Deprecated));
        assert_eq!(LibraryPage::check_served(Some(&page), &merged), Err(PageDoubt::NotActive));
        let rejected = LibraryStep::Rejected { reason: "wrong".into() };
        let page = fold(vec![("me", written()), ("me", rejected)]);
        assert_eq!((page.folder, page.decisions.len()), (None, 1));
        assert_eq!(LibraryPage::check_served(Some(&page), &merged), Err(PageDoubt::NotActive));
        let restored = LibraryStep::Restored { reason: "sorry".into(), digest: "d".into() };
        let deprecated = LibraryStep::Deprecated { reason: "it harms".into(), replaced_by: None };
        let page = fold(vec![("me", approved("d")), ("me", deprecated), ("me", restored)]);
        assert_eq!(LibraryPage::check_served(Some(&page), &merged), Ok(()));
    }

    #[test]
    fn what_another_store_wrote_is_a_claim() {
        let moved =
            LibraryStep::Moved { from: LibraryFolderName::Candidates, to: LibraryFolderName::Deprecated, commit: None };
        let page = fold(vec![("other", written()), ("other", moved.clone())]);
        assert_eq!((&page.written, page.folder), (&None, None));
        assert_eq!(page.claimed.map(|(_, writer)| writer), Some("other".into()));
        let page = fold(vec![("me", written()), ("other", moved)]);
        assert_eq!((page.written.is_some(), page.folder), (true, Some(LibraryFolderName::Candidates)));
    }
}
