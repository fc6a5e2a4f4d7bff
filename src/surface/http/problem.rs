//! Why a request gets no answer: problem documents (RFC 9457), as JSON and as a page.

use axum::http::StatusCode;
use serde::Serialize;

use super::ask::NothingRecorded;
use crate::base::refusal::NextStep;
use crate::base::text::{ellipsis, one_line};
use crate::surface::failure::{FailureKind, FailureReport};

/// A detail, bytes.
const DETAIL_BYTES_MAX: usize = 2_000;

/// The kinds of problems: the last part of their `type`, and what each is.
pub(super) const PROBLEM_KINDS: [(&str, &str); 17] = [
    ("bad-parameter", "A parameter is unknown or has a value that is not allowed."),
    ("bad-body", "The document that was sent is not what is expected here."),
    ("changed-meanwhile", "The state of what was named does not allow it any more."),
    ("unknown-id", "There is nothing of this name or id."),
    ("unknown-path", "There is no page or resource at this address."),
    ("wrong-method", "The resource does not answer to this method."),
    ("unauthorised", "The request has no valid token."),
    ("forbidden-origin", "The request comes from the page of another site."),
    ("misdirected", "The request is for another host."),
    ("read-only", "The server was started with --read-only."),
    ("too-large", "The document that was sent is too large."),
    ("unsupported-media-type", "What was sent has another type than is expected here."),
    ("no-records", "Nothing is recorded here yet."),
    ("newer-store", "A newer version of verify-run wrote the records."),
    ("busy", "The store or the server is busy."),
    ("timeout", "The answer took too long."),
    ("internal", "Something went wrong in verify-run."),
];

/// A problem document.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct HttpProblem {
    /// `/problems/` and the kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the kind is.
    pub title: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// What happened.
    pub detail: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What is wrong with the document that was sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<BodyFault>,
}

/// A fault of a document that was sent.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BodyFault {
    /// Where: a JSON pointer.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
}

impl HttpProblem {
    /// A problem of a kind that [`PROBLEM_KINDS`] has.
    pub(super) fn new(status: StatusCode, kind: &str, detail: &str) -> Self {
        let title = PROBLEM_KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, title)| title);
        HttpProblem {
            kind: format!("/problems/{kind}"),
            title,
            status: status.as_u16(),
            detail: ellipsis(&one_line(detail), DETAIL_BYTES_MAX),
            hint: None,
            errors: Vec::new(),
        }
    }

    /// The same with what helps.
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        HttpProblem { hint: Some(hint.into()), ..self }
    }

    /// A bad parameter.
    pub(super) fn bad_parameter(detail: &str) -> Self {
        HttpProblem::new(StatusCode::BAD_REQUEST, "bad-parameter", detail)
    }

    /// A bad document.
    pub(super) fn bad_body(errors: Vec<BodyFault>) -> Self {
        let detail = errors.first().map_or("the document has faults", |fault| &fault.detail);
        let problem = HttpProblem::new(StatusCode::BAD_REQUEST, "bad-body", detail);
        HttpProblem { errors, ..problem }
    }

    /// The problem behind an error of a verb.
    pub(super) fn from_error(error: &anyhow::Error) -> Self {
        if let Some(problem) = error.downcast_ref::<ProblemError>() {
            return problem.0.clone();
        }
        if error.downcast_ref::<NothingRecorded>().is_some() {
            let problem = HttpProblem::new(StatusCode::NOT_FOUND, "no-records", "nothing is recorded here yet");
            return problem.with_hint("verify-run COMMAND, such as verify-run npm test");
        }
        let FailureReport { kind, message, next } = FailureReport::new(error);
        let (status, word) = match kind {
            FailureKind::Usage => (StatusCode::BAD_REQUEST, "bad-parameter"),
            FailureKind::NotFound => (StatusCode::NOT_FOUND, "unknown-id"),
            FailureKind::Conflict => (StatusCode::CONFLICT, "changed-meanwhile"),
            FailureKind::NewerFormat => (StatusCode::SERVICE_UNAVAILABLE, "newer-store"),
            FailureKind::StoreBusy | FailureKind::IndexDamaged => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            FailureKind::GitMissing | FailureKind::NoRepository | FailureKind::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal")
            }
        };
        let problem = HttpProblem::new(status, word, &message);
        match next {
            Some(NextStep::Run(arguments)) => problem.with_hint(format!("verify-run {arguments}")),
            Some(NextStep::Do(step)) => problem.with_hint(step),
            None => problem,
        }
    }
}

/// A problem on its way through code that has other errors.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.detail)]
pub(super) struct ProblemError(pub HttpProblem);

impl From<HttpProblem> for anyhow::Error {
    fn from(problem: HttpProblem) -> Self {
        ProblemError(problem).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::refusal::Refusal;
    use crate::store::StoreError;

    #[test]
    fn an_error_becomes_the_problem_of_its_kind() {
        let of = |error: anyhow::Error| {
            let problem = HttpProblem::from_error(&error);
            (problem.status, problem.kind, problem.hint)
        };
        let unknown = StoreError::NoSuchId { id: "p-zz".into() };
        assert_eq!(of(unknown.into()), (404, "/problems/unknown-id".into(), Some("verify-run pattern list".into())));
        assert_eq!(of(Refusal::usage("no").into()), (400, "/problems/bad-parameter".into(), None));
        assert_eq!(of(anyhow::anyhow!("no")), (500, "/problems/internal".into(), None));
        assert_eq!(of(NothingRecorded.into()).0, 404);
    }

    #[test]
    fn every_kind_has_a_title() {
        for (kind, _) in PROBLEM_KINDS {
            assert!(HttpProblem::new(StatusCode::BAD_REQUEST, kind, "").title.ends_with('.'), "{kind}");
        }
    }
}
