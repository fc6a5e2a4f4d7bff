//! A review of a change by a program of the user's, such as a language model: what it is asked, what its answer means, and
//! whether its model differs from those that wrote the change. A review adds remarks; it never approves. Pure.
//!
//! - `families`: language models by vendor and line, as data
//! - `diversity`: whether a reviewer differs from the authors
//! - `request`, `answer`: the two documents of the protocol

mod answer;
mod diversity;
mod families;
mod request;

#[cfg(test)]
pub(crate) use answer::ReviewAnswer;
pub(crate) use answer::{ANSWER_BYTES_MAX, AnsweredReview, ReviewedLines, read_review};
pub(crate) use diversity::judge_diversity;
pub(crate) use request::{DIFF_BYTES_MAX, ReviewCriterion, ReviewPrp, ReviewRequest, ReviewText};
