//! What is recorded as one file: the pages of the dashboard without a server, without script, the same bytes for the same
//! records.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::Context as _;
use data_encoding::BASE64;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::ask::HttpAsk;
use super::assets::STYLE;
use super::markdown::render_markdown;
use super::masking::mask_document;
use super::resource::HttpResource;
use super::routes::RESOURCES;
use super::theme::PageTheme;
use super::view::{ExportFrame, PageView};
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::ops::board::Board;
use crate::ops::request::Request;

/// A file, bytes; fewer patterns and fixes are in it where it would be longer.
const FILE_BYTES_MAX: usize = 3 << 20;
/// Fixes with their diffs.
const FIXES_MAX: usize = 50;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::surface) enum ExportFormat {
    Html,
    Json,
    Markdown,
}

/// What is exported.
#[derive(Debug, Clone)]
pub(in crate::surface) struct ExportRequest {
    pub format: ExportFormat,
    /// Days, category, agent and tool, as parameters of the pages.
    pub filter: BTreeMap<String, String>,
    /// Patterns with a page of their own, those with the most failures.
    pub patterns: usize,
    /// Without messages, paths, names and diffs.
    pub is_masked: bool,
    /// The moment that ages are counted from; that of the last event without.
    pub moment: Option<Timestamp>,
}

/// An exported file.
#[derive(Debug)]
pub(in crate::surface) struct ExportedFile {
    pub bytes: Vec<u8>,
    /// What was left out, for standard error.
    pub notes: Vec<String>,
}

/// A page of the file with its value.
struct ExportPart {
    resource: &'static HttpResource,
    ask: HttpAsk,
    address: String,
    value: Value,
}

/// Reads the records and renders the file.
///
/// # Errors
/// When nothing is recorded, or it can't be read.
pub(in crate::surface) fn export_records(request: &Request, asked: &ExportRequest) -> anyhow::Result<ExportedFile> {
    let moment = asked.moment.map_or_else(|| last_moment(request), Ok)?;
    let request = request.clone().at_moment(moment);
    let mut parts = read_parts(&request, asked)?;
    if asked.is_masked {
        parts.iter_mut().for_each(|part| mask_document(&mut part.value));
    }
    let mut dropped = 0;
    loop {
        let bytes = match asked.format {
            ExportFormat::Json => render_json(&parts),
            ExportFormat::Markdown => render_text(&parts),
            ExportFormat::Html => render_html(&parts, asked, moment, dropped)?,
        };
        // Pages of single records are at the end, those of fixes last: what is left out first is what says least.
        let details = parts.iter().filter(|part| !part.ask.path.is_empty()).count();
        if bytes.len() <= FILE_BYTES_MAX || details == 0 {
            let notes = (dropped > 0).then(|| left_out(dropped)).into_iter().collect();
            return Ok(ExportedFile { bytes, notes });
        }
        let cut = details.div_ceil(4);
        dropped += cut;
        parts.truncate(parts.len() - cut);
    }
}

fn left_out(dropped: usize) -> String {
    format!("{dropped} pages of patterns and fixes were left out: a file has at most {} MiB", FILE_BYTES_MAX >> 20)
}

/// The time of the last event.
fn last_moment(request: &Request) -> anyhow::Result<Timestamp> {
    let opened = Board::open(request)?;
    let last = opened.board.as_ref().map(|board| board.last_event_at()).transpose()?.flatten();
    Ok(last.ok_or_else(|| Refusal::not_found("nothing is recorded here yet").then_run("COMMAND"))?)
}

fn read_parts(request: &Request, asked: &ExportRequest) -> anyhow::Result<Vec<ExportPart>> {
    let limit = [("limit".to_owned(), asked.patterns.clamp(1, 1_000).to_string())];
    let by_failures = [("order".to_owned(), "failures".to_owned())];
    let mut parts = Vec::new();
    for (page, own) in [
        ("/", Vec::new()),
        ("/effect", Vec::new()),
        ("/patterns", [&limit[..], &by_failures[..]].concat()),
        ("/fixes", Vec::from([("limit".to_owned(), FIXES_MAX.to_string())])),
        ("/flakes", Vec::new()),
        ("/promotions", Vec::new()),
    ] {
        parts.push(ExportPart::read(request, page, None, asked, own)?);
    }
    for (list, rows, page) in [(2, "patterns", "/patterns/{id}"), (3, "fixes", "/fixes/{id}")] {
        let rows: &Value = &parts[list].value[rows];
        let ids = rows.as_array().into_iter().flatten().filter_map(|row| row["id"].as_str().map(str::to_owned));
        for id in ids.collect::<Vec<_>>() {
            parts.push(ExportPart::read(request, page, Some(&id), asked, Vec::new())?);
        }
    }
    Ok(parts)
}

impl ExportPart {
    fn read(
        request: &Request,
        page: &str,
        id: Option<&str>,
        asked: &ExportRequest,
        own: Vec<(String, String)>,
    ) -> anyhow::Result<Self> {
        let resource = RESOURCES.iter().find(|resource| resource.page == page && !resource.is_write);
        let resource = resource.context("a page of the file is none of the dashboard")?;
        let is_known = |(name, _): &(&String, &String)| resource.parameters.contains(&name.as_str());
        let filter = asked.filter.iter().filter(is_known).map(|(name, value)| (name.clone(), value.clone()));
        let ask = HttpAsk {
            request: request.clone(),
            path: id.map(str::to_owned).into_iter().collect(),
            parameters: filter.chain(own).collect(),
            body: None,
            back: None,
            form_token: None,
            theme: PageTheme::default(),
            accept: String::new(),
            end: OnceCell::new(),
        };
        let value = (resource.read)(&ask)?;
        let address = id.map_or_else(|| page.to_owned(), |id| page.replace("{id}", id));
        Ok(ExportPart { resource, ask, address, value })
    }

    /// Where it is in the file.
    fn anchor(&self) -> String {
        match self.address.rsplit('/').next().unwrap_or_default() {
            "" => "overview".to_owned(),
            last => last.to_owned(),
        }
    }
}

/// All values by their addresses.
fn render_json(parts: &[ExportPart]) -> Vec<u8> {
    let pages: Map<String, Value> = parts.iter().map(|part| (part.address.clone(), part.value.clone())).collect();
    let mut text = serde_json::json!({"schema": 1, "pages": pages}).to_string();
    text.push('\n');
    text.into_bytes()
}

fn render_text(parts: &[ExportPart]) -> Vec<u8> {
    let pages = parts.iter().map(|part| render_markdown(part.resource.title, &part.address, &part.value));
    pages.collect::<Vec<_>>().join("\n").into_bytes()
}

fn render_html(
    parts: &[ExportPart],
    asked: &ExportRequest,
    moment: Timestamp,
    dropped: usize,
) -> anyhow::Result<Vec<u8>> {
    let view = PageView::for_export(moment);
    let anchors: BTreeMap<&str, String> = parts.iter().map(|part| (part.address.as_str(), part.anchor())).collect();
    let mut body = String::new();
    for part in parts {
        let html = view.render_page(part.resource, &part.ask, &part.value, None, None)?;
        body.push_str(&format!("<section class=\"part\" id=\"{}\">\n", part.anchor()));
        body.push_str(&without_server(&html, &anchors));
        body.push_str("\n</section>\n");
    }
    let contents: Vec<[String; 2]> = parts
        .iter()
        .filter(|part| part.ask.path.is_empty())
        .map(|part| [format!("#{}", part.anchor()), part.resource.title.to_owned()])
        .collect();
    let mut notes = Vec::new();
    if asked.is_masked {
        notes.push("Messages, paths, names and diffs are masked.".to_owned());
    }
    if dropped > 0 {
        notes.push(format!("{}.", left_out(dropped)));
    }
    let digest = BASE64.encode(Sha256::digest(STYLE.as_bytes()).as_slice());
    let root = (!asked.is_masked).then(|| parts.first().map(|part| part.ask.request.places.root.display().to_string()));
    let frame = ExportFrame { style: STYLE, digest: &digest, root: root.flatten(), moment, contents, notes, body };
    Ok(view.render_export(&frame)?.into_bytes())
}

/// A page without what needs a server: forms and tabs go, links lead to what is in the file or become text.
fn without_server(html: &str, anchors: &BTreeMap<&str, String>) -> String {
    let html = without_elements(html, "<form", "</form>");
    let html = without_elements(&html, "<p class=\"tabs\">", "</p>");
    let html = without_elements(&html, "<p class=\"more\">", "</p>");
    let html = without_elements(&html, " <a class=\"why\"", "</a>");
    let mut out = String::with_capacity(html.len());
    let (mut rest, mut is_text) = (html.as_str(), false);
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('>').map_or(rest.len(), |end| at + end + 1);
        let tag = &rest[at..end];
        rest = &rest[end..];
        if tag.starts_with("<a ") {
            let target = attribute(tag, "href").and_then(|href| anchors.get(href.replace("&amp;", "&").as_str()));
            is_text = target.is_none();
            match target {
                Some(anchor) => out.push_str(&format!("<a href=\"#{anchor}\">")),
                None => out.push_str("<span>"),
            }
        } else if tag == "</a>" {
            out.push_str(if is_text { "</span>" } else { "</a>" });
        } else {
            out.push_str(&without_attribute(tag, "id"));
        }
    }
    out.push_str(rest);
    out
}

fn without_elements(html: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(open) {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(close).map_or(rest.len(), |end| at + end + close.len());
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

/// An id would be in the file once for each page.
fn without_attribute(tag: &str, name: &str) -> String {
    match attribute(tag, name) {
        Some(value) => tag.replacen(&format!(" {name}=\"{value}\""), "", 1),
        None => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_into_the_file_and_forms_are_gone() {
        let anchors = BTreeMap::from([("/patterns/p-1", "p-1".to_owned())]);
        let html = "<h1 id=\"x\">T</h1><p class=\"tabs\"><a href=\"/\">a</a></p><form><input></form>\
                    <a class=\"good\" href=\"/patterns/p-1\">one</a> <a href=\"/tasks/t\">two</a>";
        assert_eq!(without_server(html, &anchors), "<h1>T</h1><a href=\"#p-1\">one</a> <span>two</span>");
    }
}
