//! Connections, limits, and the way of a request through the guard to its resource.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request as HttpRequest, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use serde_json::Value;

use super::ask::{HttpAsk, accepts, read_form};
use super::events;
use super::generation::generation_tag;
use super::guard::{CallerProof, is_safe};
use super::problem::HttpProblem;
use super::reply::{HttpReply, problem_status};
use super::resource::{HttpResource, ResourceForm};
use super::routes::RESOURCES;
use super::site::{HttpSite, open_request};
use super::theme::{PageTheme, take_theme};
use crate::base::shared_heap;
use crate::ops::board::changes::StorePosition;
use crate::ops::request::Request;
use crate::surface::failure::{FailureKind, FailureReport};

/// A document that is sent, bytes.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// An answer that takes so long has read much of a large store, or all lessons: what that took is not kept.
const LARGE_ANSWER_TIME: Duration = Duration::from_millis(100);

/// The addresses of all resources.
pub(super) fn build_router(site: Arc<HttpSite>) -> Router {
    let mut router = Router::new();
    for resource in RESOURCES {
        for (path, form) in [(resource.api, ResourceForm::Document), (resource.page, ResourceForm::Page)] {
            if !path.is_empty() {
                let handler = move |State(site): State<Arc<HttpSite>>, path: PathValues, request: HttpRequest| {
                    answer_request(site, Some((resource, form)), read_path(path), request)
                };
                router = router.route(path, any(handler));
            }
        }
        if resource.is_record() && !resource.page.contains('{') {
            let path = if resource.page == "/" { "/index.md".to_owned() } else { format!("{}.md", resource.page) };
            let handler = move |State(site): State<Arc<HttpSite>>, request: HttpRequest| {
                answer_request(site, Some((resource, ResourceForm::Markdown)), Vec::new(), request)
            };
            router = router.route(&path, any(handler));
        }
    }
    let unknown =
        |State(site): State<Arc<HttpSite>>, request: HttpRequest| answer_request(site, None, Vec::new(), request);
    router.fallback(unknown).with_state(site)
}

type PathValues = Result<RawPathParams, RawPathParamsRejection>;

/// The values in a path. What is no UTF-8 is the name of nothing.
fn read_path(path: PathValues) -> Vec<String> {
    match path {
        Ok(values) => values.iter().map(|(_, value)| value.to_owned()).collect(),
        Err(_) => vec![String::new()],
    }
}

/// Answers a request, whatever happens.
async fn answer_request(
    site: Arc<HttpSite>,
    found: Option<(&'static HttpResource, ResourceForm)>,
    values: Vec<String>,
    request: HttpRequest,
) -> Response {
    site.note_request();
    let began = Instant::now();
    let (parts, body) = request.into_parts();
    let (found, values) = choose_form(found, values, &parts.headers);
    let is_page = found.map_or(!parts.uri.path().starts_with("/api/"), |(_, form)| form == ResourceForm::Page);
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let reply = match exchange_token(&site, found, &query, &parts.method, &parts.headers) {
        Some(reply) => reply,
        None => {
            let asked = AskedResource {
                found,
                values,
                uri_path: parts.uri.path(),
                query,
                method: parts.method.clone(),
                headers: &parts.headers,
            };
            find_reply(&site, asked, body).await
        }
    };
    let reply = reply.unwrap_or_else(|problem| render_problem(&site, &problem, is_page));
    let response = reply.into_response(&parts.headers, parts.method == Method::HEAD);
    let route = found.map_or("unknown", |(resource, form)| resource.path(form));
    site.counts.add_request(route, response.status().as_u16(), began.elapsed());
    response
}

/// Markdown, where the caller asks for it, or the last value of the path ends so.
fn choose_form(
    found: Option<(&'static HttpResource, ResourceForm)>,
    mut values: Vec<String>,
    headers: &HeaderMap,
) -> (Option<(&'static HttpResource, ResourceForm)>, Vec<String>) {
    let Some((resource, ResourceForm::Page)) = found.filter(|(resource, _)| resource.is_record()) else {
        return (found, values);
    };
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    // A task may be named like a file.
    let last = values.last_mut().filter(|_| resource.name != "task");
    let mut is_suffixed = false;
    if let Some(last) = last
        && let Some(id) = last.strip_suffix(".md").map(str::to_owned)
    {
        *last = id;
        is_suffixed = true;
    }
    let is_markdown = is_suffixed || accepts(accept, "text/markdown");
    (Some((resource, if is_markdown { ResourceForm::Markdown } else { ResourceForm::Page })), values)
}

/// A token in the printed address is exchanged for a cookie, so that it stays in no history.
fn exchange_token(
    site: &HttpSite,
    found: Option<(&'static HttpResource, ResourceForm)>,
    query: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Result<HttpReply, HttpProblem>> {
    let given = query.strip_prefix("token=").filter(|_| *method == Method::GET)?;
    found.filter(|(resource, form)| resource.path(*form) == "/")?;
    if let Err(problem) = site.guard.check(method, headers, true) {
        return Some(Err(problem));
    }
    if site.guard.is_token(given) || site.guard.takes_once(given) {
        return Some(Ok(HttpReply::see_other("/").with_header(header::SET_COOKIE, site.guard.cookie())));
    }
    let problem = HttpProblem::new(StatusCode::UNAUTHORIZED, "unauthorised", "the token is not the one of this server");
    Some(Err(problem.with_hint("verify-run dashboard url")))
}

/// A request without its body.
struct AskedResource<'a> {
    found: Option<(&'static HttpResource, ResourceForm)>,
    values: Vec<String>,
    uri_path: &'a str,
    query: String,
    method: Method,
    headers: &'a HeaderMap,
}

async fn find_reply(
    site: &Arc<HttpSite>,
    asked: AskedResource<'_>,
    body: axum::body::Body,
) -> Result<HttpReply, HttpProblem> {
    let AskedResource { found, values, uri_path, query, method, headers } = asked;
    let is_open = found.is_some_and(|(resource, _)| resource.is_open);
    let proof = site.guard.check(&method, headers, is_open)?;
    let Some((resource, form)) = found else {
        let problem = HttpProblem::new(StatusCode::NOT_FOUND, "unknown-path", "there is nothing at this address");
        return Err(problem);
    };
    let allowed = if resource.is_write { "POST, OPTIONS" } else { "GET, HEAD, OPTIONS" };
    if method == Method::OPTIONS {
        let reply = HttpReply::text("text/plain; charset=utf-8", "").with_status(StatusCode::NO_CONTENT);
        return Ok(reply.with_header(header::ALLOW, allowed));
    }
    if is_safe(&method) == resource.is_write || !(is_safe(&method) || method == Method::POST) {
        let detail = format!("this address answers to {allowed}");
        let problem = HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", &detail);
        return Ok(render_problem(site, &problem, form == ResourceForm::Page).with_header(header::ALLOW, allowed));
    }
    let (theme, query) = if form == ResourceForm::Page { take_theme(&query) } else { (None, query) };
    if let Some(theme) = theme {
        let path = uri_path.to_owned();
        let address = if query.is_empty() { path } else { format!("{path}?{query}") };
        return Ok(HttpReply::see_other(&address).with_header(header::SET_COOKIE, theme.cookie()));
    }
    let parameters = HttpAsk::read_parameters(&query, resource.parameters)?;
    if values.iter().any(|value| value.is_empty() || value.contains('\0')) {
        return Err(HttpProblem::new(StatusCode::NOT_FOUND, "unknown-id", "there is no record of this name"));
    }
    if resource.api == events::ADDRESS {
        return events::listen(site, headers, parameters.get("page").map(String::as_str));
    }
    let sent = if resource.is_write { Some(read_sent(site, proof, headers, body, form).await?) } else { None };
    let (sent, back) = sent.map_or((None, None), |sent| (Some(sent.document), sent.back));
    let Ok(permit) = tokio::time::timeout(ANSWER_TIME_MAX, Arc::clone(&site.questions).acquire_owned()).await else {
        return Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many questions are being answered"));
    };
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default().to_owned();
    let chosen = PageTheme::from_cookies(headers);
    let known = known_tags(headers);
    let on_thread = Arc::clone(site);
    answer_in_time(move || {
        let _permit = permit;
        let started = Instant::now();
        // An answer that comes too late would hold the place of the next question.
        let request = open_request(&on_thread.root).with_kept(&on_thread.kept).until(started + ANSWER_TIME_MAX);
        let form_token = on_thread.guard.form_token();
        let ask = HttpAsk {
            request,
            path: values,
            parameters,
            body: sent,
            back,
            form_token,
            theme: chosen,
            accept,
            end: OnceCell::new(),
        };
        let reply = read_reply(&on_thread, resource, form, &ask, &known);
        if started.elapsed() >= LARGE_ANSWER_TIME {
            shared_heap::give_back_freed();
        }
        reply
    })
    .await
}

/// The tags of the answers that the caller has.
fn known_tags(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|tags| tags.split(',')).map(|tag| tag.trim().to_owned()).collect()
}

/// The answer of a resource; without a question to the store where the caller has it already.
fn read_reply(
    site: &HttpSite,
    resource: &'static HttpResource,
    form: ResourceForm,
    ask: &HttpAsk,
    known: &[String],
) -> Result<HttpReply, HttpProblem> {
    let before = generation_tag(resource, form, ask);
    if before.as_ref().is_some_and(|tag| known.contains(tag)) {
        return Ok(HttpReply::text("text/plain", "").with_tag(before));
    }
    let reply = (resource.reply)(site, resource, form, ask).map_err(|error| find_problem(&ask.request, &error))?;
    // What was recorded while it was read may be in it or not.
    let tag = before.filter(|before| generation_tag(resource, form, ask).as_ref() == Some(before));
    Ok(reply.with_tag(tag))
}

/// The answer of a thread, unless it takes too long or panics.
async fn answer_in_time(
    work: impl FnOnce() -> Result<HttpReply, HttpProblem> + Send + 'static,
) -> Result<HttpReply, HttpProblem> {
    let work = tokio::task::spawn_blocking(work);
    match tokio::time::timeout(ANSWER_TIME_MAX, work).await {
        Ok(Ok(reply)) => reply,
        // A panic is a defect of verify-run, and ends this request alone.
        Ok(Err(_)) => {
            let detail = "verify-run has a defect: report what was asked";
            Err(HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail))
        }
        Err(_) => {
            let detail = format!("the answer takes longer than {} s", ANSWER_TIME_MAX.as_secs());
            Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", &detail))
        }
    }
}

/// The problem behind an error. A damaged index is rebuilt from the events.
fn find_problem(request: &Request, error: &anyhow::Error) -> HttpProblem {
    let report = FailureReport::new(error);
    if report.kind == FailureKind::IndexDamaged && crate::ops::store::heal_index(request, &report.message).is_ok() {
        let detail = "the index was damaged and has been rebuilt from the events";
        return HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).with_hint("ask again");
    }
    HttpProblem::from_error(error)
}

/// What was sent, without what is not for the verb.
struct SentBody {
    document: Value,
    /// The page that the form was on.
    back: Option<String>,
}

/// Reads what was sent, if its sender may write.
async fn read_sent(
    site: &HttpSite,
    proof: CallerProof,
    headers: &HeaderMap,
    body: axum::body::Body,
    form: ResourceForm,
) -> Result<SentBody, HttpProblem> {
    let mut document = read_body(headers, body, form).await?;
    let mut take = |name: &str| match form {
        ResourceForm::Page => document.as_object_mut()?.remove(name)?.as_str().map(str::to_owned),
        ResourceForm::Document | ResourceForm::Markdown => None,
    };
    let (token, back) = (take("form_token"), take("back"));
    site.guard.check_form(proof, token.as_deref())?;
    Ok(SentBody { document, back })
}

/// What was sent: a document to the address of a document, a form to that of a page.
async fn read_body(headers: &HeaderMap, body: axum::body::Body, form: ResourceForm) -> Result<Value, HttpProblem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let expected = match form {
        ResourceForm::Document | ResourceForm::Markdown => "application/json",
        ResourceForm::Page => "application/x-www-form-urlencoded",
    };
    if !kind.eq_ignore_ascii_case(expected) {
        let detail = format!("what is sent has to be `{expected}`");
        return Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", &detail));
    }
    let reading = tokio::time::timeout(ANSWER_TIME_MAX, axum::body::to_bytes(body, BODY_BYTES_MAX)).await;
    let Ok(read) = reading else {
        return Err(HttpProblem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the document did not arrive in time"));
    };
    let bytes = read.map_err(|_| {
        let detail = format!("the document has more than {BODY_BYTES_MAX} bytes, or ended early");
        HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", &detail)
    })?;
    if form == ResourceForm::Page {
        return read_form(&bytes).map(Value::Object);
    }
    let document: Value = serde_json::from_slice(&bytes)
        .map_err(|error| HttpProblem::new(StatusCode::BAD_REQUEST, "bad-body", &format!("no JSON: {error}")))?;
    Ok(document)
}

/// A problem as the caller reads it: a page for people, else a document.
fn render_problem(site: &HttpSite, problem: &HttpProblem, is_page: bool) -> HttpReply {
    if !is_page {
        return HttpReply::problem(problem);
    }
    // Before the first run there is nothing wrong, and all that comes is news.
    let is_start = problem.kind == "/problems/no-records";
    let end = is_start.then(|| site.ends.keep(&StorePosition::default()));
    match site.view.render_problem(problem, end.as_deref()) {
        Ok(html) => HttpReply::page(html).with_status(if is_start { StatusCode::OK } else { problem_status(problem) }),
        Err(_) => HttpReply::problem(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_problem_of_one_request() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(answers_after_a_panic());
    }

    async fn answers_after_a_panic() {
        let problem = answer_in_time(|| panic!("a defect")).await.expect_err("it panics");
        assert_eq!((problem.status, problem.kind.as_str()), (500, "/problems/internal"));
        let response = HttpReply::problem(&problem).into_response(&HeaderMap::new(), false);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let reply = answer_in_time(|| Ok(HttpReply::text("text/plain", "fine"))).await.expect("it goes on");
        assert_eq!(reply.into_response(&HeaderMap::new(), false).status(), StatusCode::OK);
    }
}
