//! What a resource gives back, as bytes with their headers.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use super::guard;
use super::problem::HttpProblem;
use crate::base::text::visible_json;

/// Bytes of an entity tag's digest that are kept.
const TAG_BYTES: usize = 16;

/// What an answer consists of.
#[derive(Debug)]
enum ReplyContent {
    Bytes(Vec<u8>),
    /// It goes on while the caller listens.
    Stream(Body),
}

/// What a resource gives back.
#[derive(Debug)]
pub(super) struct HttpReply {
    status: StatusCode,
    content_type: &'static str,
    content: ReplyContent,
    /// The entity tag; else one of the content.
    tag: Option<String>,
    /// Further headers.
    headers: Vec<(header::HeaderName, String)>,
}

impl HttpReply {
    /// A text of a type.
    pub(super) fn text(content_type: &'static str, text: impl Into<Vec<u8>>) -> Self {
        HttpReply::new(content_type, ReplyContent::Bytes(text.into()))
    }

    /// What goes on while the caller listens.
    pub(super) fn stream(content_type: &'static str, body: Body) -> Self {
        HttpReply::new(content_type, ReplyContent::Stream(body))
    }

    fn new(content_type: &'static str, content: ReplyContent) -> Self {
        HttpReply { status: StatusCode::OK, content_type, content, tag: None, headers: Vec::new() }
    }

    /// A page.
    pub(super) fn page(html: String) -> Self {
        HttpReply::text("text/html; charset=utf-8", html)
    }

    /// A document. Characters that no screen shows are escaped in it.
    ///
    /// # Errors
    /// When it is nothing that JSON can say.
    pub(super) fn json(document: &impl Serialize) -> anyhow::Result<Self> {
        Ok(HttpReply::text("application/json", visible_json(serde_json::to_string(document)?)))
    }

    /// A problem as a document.
    pub(super) fn problem(problem: &HttpProblem) -> Self {
        let document = serde_json::to_string(problem).unwrap_or_default();
        HttpReply::text("application/problem+json", visible_json(document)).with_status(problem_status(problem))
    }

    /// Another address to ask.
    pub(super) fn see_other(address: &str) -> Self {
        HttpReply::text("text/plain; charset=utf-8", "")
            .with_status(StatusCode::SEE_OTHER)
            .with_header(header::LOCATION, address)
    }

    /// The same with a tag of its own: one of what the content is made of, not of the content.
    pub(super) fn with_tag(self, tag: Option<String>) -> Self {
        HttpReply { tag, ..self }
    }

    /// The same with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        HttpReply { status, ..self }
    }

    /// The same with one more header, which takes the place of what every answer has under this name.
    pub(super) fn with_header(mut self, name: header::HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with the address of the next page.
    pub(super) fn with_next(self, next: Option<String>) -> Self {
        match next {
            Some(next) => self.with_header(header::LINK, format!("<{next}>; rel=\"next\"")),
            None => self,
        }
    }

    /// The answer to a request with these headers; without the content where it is known to the caller already.
    pub(super) fn into_response(self, asked: &HeaderMap, is_head: bool) -> Response {
        let tag = match &self.content {
            ReplyContent::Bytes(bytes) if self.status == StatusCode::OK => {
                Some(self.tag.unwrap_or_else(|| format!("\"{}\"", digest_text(bytes))))
            }
            _ => None,
        };
        let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut known = known.flat_map(|tags| tags.split(','));
        let is_known = tag.as_deref().is_some_and(|tag| known.any(|known| known.trim() == tag || known.trim() == "*"));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { self.status };
        let headers = response.headers_mut();
        if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
            headers.insert(header::ETAG, tag);
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(name, value);
            }
        }
        for (name, value) in guard::HEADERS {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        if !is_known {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            match self.content {
                ReplyContent::Bytes(bytes) => {
                    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
                    *response.body_mut() = if is_head { Body::empty() } else { Body::from(bytes) };
                }
                ReplyContent::Stream(body) if !is_head => *response.body_mut() = body,
                ReplyContent::Stream(_) => {}
            }
        }
        response
    }
}

/// What names exactly this content.
pub(super) fn digest_text(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&blake3::hash(bytes).as_bytes()[..TAG_BYTES])
}

/// The status of a problem.
pub(super) fn problem_status(problem: &HttpProblem) -> StatusCode {
    StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_document_is_not_sent_again_and_every_answer_is_guarded() {
        let reply = || HttpReply::json(&serde_json::json!({"a": "\u{202e}"})).expect("JSON");
        let first = reply().into_response(&HeaderMap::new(), false);
        let tag = first.headers()[header::ETAG].clone();
        for (known, status) in [(tag.to_str().expect("text"), 304), ("\"other\"", 200)] {
            let asked = HeaderMap::from_iter([(header::IF_NONE_MATCH, known.parse().expect("a value"))]);
            let response = reply().into_response(&asked, false);
            assert_eq!(response.status(), status);
            assert!(
                response.headers()["content-security-policy"].to_str().expect("text").contains("default-src 'none'")
            );
        }
        let problem = HttpReply::problem(&HttpProblem::bad_parameter("no")).into_response(&HeaderMap::new(), false);
        assert_eq!((problem.status(), problem.headers().contains_key(header::ETAG)), (StatusCode::BAD_REQUEST, false));
    }
}
