//! From proven facts to a page. No language model is needed; a command may word the text, and whatever code it shows must be
//! lines of the proven change.

mod facts;
mod ground;
mod page;
mod title;

pub(crate) use facts::{CauseFacts, EvidenceRow, PageFacts, ProblemFacts};
pub(crate) use ground::{GroundedWording, WORDED_BYTES_MAX, Wording, ground_wording};
pub(crate) use page::{page_file_name, render_library_page};
pub(crate) use title::{title_of_change, title_of_failure, words_of_page};
