//! A request as a resource gets it: where it works, the values of its path, and its checked parameters.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

use super::problem::HttpProblem;
use super::theme::PageTheme;
use crate::base::clock::{Timestamp, UtcDay};
use crate::base::refusal::Refusal;
use crate::ops::board::changes::StorePosition;
use crate::ops::board::{Board, BoardFilter};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::SumFilter;

/// A parameter's value, bytes.
const VALUE_BYTES_MAX: usize = 2_000;
/// Rows of a page, unless asked otherwise.
const ROWS: usize = 50;
/// Rows of a page at most.
const ROWS_MAX: usize = 1_000;

/// The parameters of [`HttpAsk::filter`].
pub(super) const FILTER: &[&str] = &["from", "to", "category", "agent", "tool"];

/// What was asked.
pub(super) struct HttpAsk {
    /// Where the verbs work, and for whom.
    pub request: Request,
    /// The values in the path, in its order.
    pub path: Vec<String>,
    /// The parameters that were given.
    pub parameters: BTreeMap<String, String>,
    /// The document that was sent; `None` with a request that only reads.
    pub body: Option<Value>,
    /// The address that a form was sent from, where it is not the record's own.
    pub back: Option<String>,
    /// The token of forms; `None` where nothing can be written.
    pub form_token: Option<String>,
    /// The scheme that the user chose.
    pub theme: PageTheme,
    /// The types that the caller accepts, as it sent them.
    pub accept: String,
    /// Where the store ended when it was read for the answer; empty before.
    pub end: OnceCell<StorePosition>,
}

/// Nothing was ever recorded here.
#[derive(Debug, thiserror::Error)]
#[error("nothing is recorded here yet")]
pub(super) struct NothingRecorded;

impl HttpAsk {
    /// The parameters of a query, each known and given once.
    ///
    /// # Errors
    /// When one is unknown, given twice, too long, or is no text.
    pub(super) fn read_parameters(query: &str, known: &[&str]) -> Result<BTreeMap<String, String>, HttpProblem> {
        let mut found = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode_text(name), decode_text(value)) else {
                return Err(HttpProblem::bad_parameter("a parameter is not percent-encoded UTF-8"));
            };
            if !known.contains(&name.as_str()) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let detail = format!("there is no parameter `{}` here; there are {known}", cut_name(&name));
                return Err(HttpProblem::bad_parameter(&detail));
            }
            if value.len() > VALUE_BYTES_MAX {
                return Err(HttpProblem::bad_parameter(&format!("`{name}` has more than {VALUE_BYTES_MAX} bytes")));
            }
            // An empty field of a form is one that was not filled in.
            if !value.is_empty() && found.insert(name.clone(), value).is_some() {
                return Err(HttpProblem::bad_parameter(&format!("`{name}` is given twice")));
            }
        }
        Ok(found)
    }

    /// Whether the caller asks for a type by its name.
    pub(super) fn accepts(&self, kind: &str) -> bool {
        accepts(&self.accept, kind)
    }

    /// A parameter that was given.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The `number`th value in the path.
    pub(super) fn path_value(&self, number: usize) -> &str {
        self.path.get(number).map_or("", String::as_str)
    }

    /// Days, category, agent and tool.
    ///
    /// # Errors
    /// When a day is none, or the last one comes before the first.
    pub(super) fn filter(&self) -> anyhow::Result<BoardFilter> {
        let day = |name: &str| -> anyhow::Result<Option<UtcDay>> {
            let Some(typed) = self.parameter(name) else { return Ok(None) };
            let day = UtcDay::parse(typed, Timestamp::now());
            let expected = "expected a day such as 2026-11-01, an age such as 30d, or today";
            Ok(Some(day.ok_or_else(|| Refusal::usage(format!("`{name}`: {expected}")))?))
        };
        let text = |name: &str| self.parameter(name).map(str::to_owned);
        let whom = SumFilter { category: text("category"), agent: text("agent"), tool: text("tool") };
        let filter = BoardFilter { from: day("from")?, to: day("to")?, whom };
        anyhow::ensure!(!filter.is_empty(), Refusal::usage("the last day (`to`) comes before the first (`from`)"));
        Ok(filter)
    }

    /// Rows of a page.
    ///
    /// # Errors
    /// When it is no number from 1 to 1,000.
    pub(super) fn limit(&self) -> anyhow::Result<usize> {
        let Some(typed) = self.parameter("limit") else { return Ok(ROWS) };
        let limit = typed.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
        limit.ok_or_else(|| Refusal::usage(format!("`limit`: expected a number from 1 to {ROWS_MAX}")).into())
    }

    /// Whether a parameter is switched on.
    ///
    /// # Errors
    /// When it is neither `true` nor `false`.
    pub(super) fn is_on(&self, name: &str) -> anyhow::Result<bool> {
        match self.parameter(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::usage(format!("`{name}`: expected true or false")).into()),
        }
    }

    /// A word of a list; `None` where none was given.
    ///
    /// # Errors
    /// When it is not in the list.
    pub(super) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> anyhow::Result<Option<T>> {
        let Some(typed) = self.parameter(name) else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == typed).map(|(_, value)| *value);
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let found = found.ok_or_else(|| Refusal::usage(format!("`{name}`: expected one of {}", known.join(", "))))?;
        Ok(Some(found))
    }

    /// The document of a question to the store.
    ///
    /// # Errors
    /// [`NothingRecorded`], and when the store can't be read or refuses.
    pub(super) fn read_board<T: Serialize>(
        &self,
        read: impl FnOnce(&Board<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<Value> {
        let opened = Board::open(&self.request)?;
        let Some(board) = &opened.board else { return Err(NothingRecorded.into()) };
        let _ = self.end.set(board.position()?);
        Ok(serde_json::to_value(Reply::from(read(board)?))?)
    }
}

fn cut_name(name: &str) -> String {
    crate::base::text::ellipsis(&crate::base::text::one_line(name), 60)
}

/// Whether what a caller accepts has a type by its name.
pub(super) fn accepts(accept: &str, kind: &str) -> bool {
    accept.split(',').any(|part| part.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind))
}

/// The fields of a form, each given once and with a value.
///
/// # Errors
/// When one is no text, or given twice.
pub(super) fn read_form(bytes: &[u8]) -> Result<Map<String, Value>, HttpProblem> {
    let bad = |detail: &str| HttpProblem::new(StatusCode::BAD_REQUEST, "bad-body", detail);
    let text = std::str::from_utf8(bytes).map_err(|_| bad("the form is not percent-encoded"))?;
    let mut fields = Map::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (decode_text(name), decode_text(value)) else {
            return Err(bad("a field is not percent-encoded UTF-8"));
        };
        if !value.is_empty() && fields.insert(name, Value::String(value)).is_some() {
            return Err(bad("a field is given twice"));
        }
    }
    Ok(fields)
}

/// A percent-encoded part of a query; `None` when it is no UTF-8.
fn decode_text(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A text as a part of an address.
pub(super) fn encode_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_known_single_and_decoded() {
        let read = |query: &str| HttpAsk::read_parameters(query, &["q", "limit"]);
        let found = read("q=a%20b+%C3%BC&limit=").expect("is fine");
        assert_eq!(found, BTreeMap::from([("q".to_owned(), "a b ü".to_owned())]), "an empty field is not given");
        let long = format!("q={}", "x".repeat(2_001));
        for wrong in ["x=1", "q=1&q=2", "q=%ff", "q=%0", "q=%zz", "q=%00", &long] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_of_an_address_has_no_character_with_a_meaning() {
        assert_eq!(encode_text("feature/ü?a=1&\"<"), "feature%2F%C3%BC%3Fa%3D1%26%22%3C");
    }
}
