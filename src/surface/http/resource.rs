//! Something that has an address: a page, its JSON form, or what has one form only.

use serde_json::Value;

use super::ask::HttpAsk;
use super::reply::HttpReply;
use super::site::HttpSite;

/// The form in which something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceForm {
    /// For programs.
    Document,
    /// For people.
    Page,
    /// For agents, at the address of the page.
    Markdown,
}

/// Something that has an address.
pub(super) struct HttpResource {
    /// The address of its document; empty where it has none.
    pub api: &'static str,
    /// The address of its page; empty where it has none.
    pub page: &'static str,
    /// The name of its template, and of its schema.
    pub name: &'static str,
    /// What it is, one line.
    pub title: &'static str,
    /// The parameters of its query.
    pub parameters: &'static [&'static str],
    /// It takes a document and records something.
    pub is_write: bool,
    /// Everybody on this machine may have it.
    pub is_open: bool,
    /// Its value.
    pub read: fn(&HttpAsk) -> anyhow::Result<Value>,
    /// Its answer in a form.
    pub reply: fn(&HttpSite, &'static HttpResource, ResourceForm, &HttpAsk) -> anyhow::Result<HttpReply>,
}

impl HttpResource {
    /// Whether it is a record or a list of them, with a page.
    pub(super) fn is_record(&self) -> bool {
        !self.page.is_empty() && !self.name.is_empty() && !self.is_write
    }

    /// Its address in a form.
    pub(super) fn path(&self, form: ResourceForm) -> &'static str {
        match form {
            ResourceForm::Document => self.api,
            ResourceForm::Page | ResourceForm::Markdown => self.page,
        }
    }
}
