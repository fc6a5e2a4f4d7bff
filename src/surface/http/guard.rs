//! Who may ask: requests for this host, from no other site's page, with the token.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use super::problem::HttpProblem;

/// Headers of every answer.
pub(super) const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    // With `no-referrer` a browser sends `Origin: null` with a form of these pages, as with one of a sandboxed page.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
    ("cache-control", "private, no-cache"),
    ("x-frame-options", "DENY"),
];

/// The header without which a request with a cookie may not write.
const WRITE_HEADER: HeaderName = HeaderName::from_static("x-verify-run");

/// How a request that is answered has shown that it comes from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallerProof {
    /// Completely.
    Complete,
    /// By a cookie alone: to write, the form that was sent has to have its token.
    Cookie,
}

/// How long a token that works once is good.
const ONCE_TIME_MAX: Duration = Duration::from_secs(60);

/// Decides which requests are answered.
#[derive(Debug)]
pub(super) struct RequestGuard {
    token: String,
    /// The permissions of a socket decide who may ask: no token, no host.
    is_socket: bool,
    /// A token that works once, with the time from which on it does.
    once: Mutex<Option<(String, Instant)>>,
    port: u16,
    /// Further names of this host.
    hosts: Vec<String>,
    read_only: bool,
}

impl RequestGuard {
    /// For a port, a token, and further names of this host.
    pub(super) fn new(port: u16, token: String, hosts: Vec<String>, read_only: bool) -> Self {
        RequestGuard { token, is_socket: false, once: Mutex::new(None), port, hosts, read_only }
    }

    /// For a socket, which only its user can open.
    pub(super) fn of_socket(token: String, read_only: bool) -> Self {
        RequestGuard { is_socket: true, ..RequestGuard::new(0, token, Vec::new(), read_only) }
    }

    /// Lets a token in, once and soon.
    pub(super) fn let_in_once(&self, token: String) {
        *self.once.lock().unwrap_or_else(PoisonError::into_inner) = Some((token, Instant::now()));
    }

    /// Whether a text is the token that works once; it does not any more.
    pub(super) fn takes_once(&self, given: &str) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            once.as_ref().is_some_and(|(token, since)| is_same(given, token) && since.elapsed() < ONCE_TIME_MAX);
        is_it && once.take().is_some()
    }

    /// Whether a text is the token; takes as long whatever differs.
    pub(super) fn is_token(&self, given: &str) -> bool {
        is_same(given, &self.token)
    }

    /// The cookie that represents the token.
    pub(super) fn cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie_value())
    }

    /// Refuses what the page of another site, a request for another host, or a caller without the token sent.
    ///
    /// # Errors
    /// What the request gets instead of an answer.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        is_open: bool,
    ) -> Result<CallerProof, HttpProblem> {
        if !self.is_socket {
            self.check_host(headers)?;
        }
        self.check_origin(method, headers)?;
        let is_reading = is_safe(method);
        if !is_reading && self.read_only {
            let detail = "this server was started with --read-only";
            return Err(HttpProblem::new(StatusCode::FORBIDDEN, "read-only", detail));
        }
        if is_open || self.is_socket || has_bearer(headers, |given| self.is_token(given)) {
            return Ok(CallerProof::Complete);
        }
        if !self.has_cookie(headers) {
            let detail = "the address with the token is needed once, or the header `Authorization: Bearer TOKEN`";
            let problem = HttpProblem::new(StatusCode::UNAUTHORIZED, "unauthorised", detail);
            return Err(problem.with_hint("verify-run dashboard url"));
        }
        let is_complete = is_reading || headers.contains_key(WRITE_HEADER);
        Ok(if is_complete { CallerProof::Complete } else { CallerProof::Cookie })
    }

    /// The token of the forms on this server's pages; `None` where nothing can be written.
    pub(super) fn form_token(&self) -> Option<String> {
        (!self.read_only).then(|| self.derive_token("verify-run dashboard 2026 form"))
    }

    /// Refuses to write for a caller that has shown a cookie alone.
    ///
    /// # Errors
    /// When the form has no token of this server, or what was sent is no form.
    pub(super) fn check_form(&self, proof: CallerProof, given: Option<&str>) -> Result<(), HttpProblem> {
        let expected = self.form_token();
        let is_own = given.zip(expected.as_deref()).is_some_and(|(given, own)| is_same(given, own));
        if proof == CallerProof::Complete || is_own {
            return Ok(());
        }
        let detail = "a request with a cookie needs the header `X-Verify-Run: 1` or the token of a form to write";
        Err(HttpProblem::new(StatusCode::FORBIDDEN, "forbidden-origin", detail))
    }

    /// A name that resolves to this machine is not enough: a foreign one is how other sites' pages get here.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if self.is_own_host(host) {
            return Ok(());
        }
        let detail = "this server answers to 127.0.0.1 and localhost with its own port only";
        let problem = HttpProblem::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", detail);
        Err(problem.with_hint("verify-run dashboard --allow-host NAME"))
    }

    fn is_own_host(&self, host: &str) -> bool {
        let own = ["127.0.0.1", "localhost", "[::1]"].into_iter().chain(self.hosts.iter().map(String::as_str));
        let mut own = own.map(|name| format!("{name}:{}", self.port));
        own.any(|own| own.eq_ignore_ascii_case(host)) || self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
        let refuse = || {
            let detail = "the page of another site sent the request";
            Err(HttpProblem::new(StatusCode::FORBIDDEN, "forbidden-origin", detail))
        };
        if let Some(origin) = text("origin") {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if self.is_socket || !host.is_some_and(|host| self.is_own_host(host)) {
                return refuse();
            }
        }
        let is_navigation = *method == Method::GET && text("sec-fetch-mode") == Some("navigate");
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if is_navigation => Ok(()),
            Some(_) => refuse(),
        }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let expected = self.cookie_value();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let name = self.cookie_name();
        cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(given, value)| given == name && is_same(value, &expected))
    }

    fn cookie_name(&self) -> String {
        format!("verify_run_{}", self.port)
    }

    /// Not the token: what a browser keeps is of no use elsewhere.
    fn cookie_value(&self) -> String {
        self.derive_token("verify-run dashboard 2026 cookie")
    }

    fn derive_token(&self, purpose: &str) -> String {
        data_encoding::HEXLOWER.encode(&blake3::derive_key(purpose, self.token.as_bytes()))
    }
}

/// Whether two texts are the same; takes as long whatever differs.
fn is_same(given: &str, expected: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(expected.as_bytes())
}

/// Whether a method only reads.
pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn has_bearer(headers: &HeaderMap, is_token: impl Fn(&str) -> bool) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| is_token(given.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &Method, headers: &[(&'static str, &str)]) -> u16 {
        let guard = RequestGuard::new(7, "secret".into(), vec!["box.lan".into()], false);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a value"));
        }
        let checked = guard
            .check(method, &map, false)
            .and_then(|proof| if is_safe(method) { Ok(()) } else { guard.check_form(proof, None) });
        checked.err().map_or(200, |problem| problem.status)
    }

    #[test]
    fn host_origin_and_token_decide_each_alone() {
        const HOST: (&str, &str) = ("host", "127.0.0.1:7");
        const BEARER: (&str, &str) = ("authorization", "Bearer secret");
        let get = |headers: &[(&'static str, &str)]| status(&Method::GET, headers);
        assert_eq!(get(&[HOST, BEARER]), 200);
        for host in ["localhost:7", "LOCALHOST:7", "[::1]:7", "box.lan:7", "box.lan"] {
            assert_eq!(get(&[("host", host), BEARER]), 200, "{host}");
        }
        for host in ["evil.example", "evil.example:7", "127.0.0.1", "127.0.0.1:8", "localhost.evil.example:7", ""] {
            assert_eq!(get(&[("host", host), BEARER]), 421, "{host}");
        }
        assert_eq!(get(&[BEARER]), 421, "no host at all");
        assert_eq!(get(&[HOST, BEARER, ("origin", "http://127.0.0.1:7")]), 200);
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8", "file://"] {
            assert_eq!(get(&[HOST, BEARER, ("origin", origin)]), 403, "{origin}");
        }
        assert_eq!(get(&[HOST, BEARER, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(get(&[HOST, BEARER, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), 200);
        let post = |headers: &[(&'static str, &str)]| status(&Method::POST, headers);
        assert_eq!(post(&[HOST, BEARER, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), 403);
        for wrong in ["Bearer secre", "Bearer secrets", "secret", "Basic secret"] {
            assert_eq!(get(&[HOST, ("authorization", wrong)]), 401, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_reads_and_writes_with_the_header_only() {
        let guard = RequestGuard::new(7, "secret".into(), Vec::new(), false);
        let cookie = guard.cookie();
        assert!(!cookie.contains("secret"), "{cookie}");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let headers = [("host", "localhost:7"), ("cookie", &*format!("a=b; {cookie}"))];
        assert_eq!(status(&Method::GET, &headers), 200);
        assert_eq!(status(&Method::POST, &headers), 403);
        assert_eq!(status(&Method::POST, &[headers[0], headers[1], ("x-verify-run", "1")]), 200);
        assert_eq!(status(&Method::GET, &[headers[0], ("cookie", "verify_run_7=secret")]), 401);
    }

    #[test]
    fn a_token_works_once() {
        let guard = RequestGuard::new(7, "secret".into(), Vec::new(), false);
        assert!(!guard.takes_once("once") && !guard.takes_once(""));
        guard.let_in_once("once".into());
        assert!(!guard.takes_once("other") && guard.takes_once("once") && !guard.takes_once("once"));
    }

    #[test]
    fn who_can_open_the_socket_may_ask_and_no_page_of_a_site_can() {
        let guard = RequestGuard::of_socket("secret".into(), false);
        assert_eq!(guard.check(&Method::POST, &HeaderMap::new(), false).ok(), Some(CallerProof::Complete));
        let foreign = HeaderMap::from_iter([(header::ORIGIN, "http://evil.example".parse().expect("a value"))]);
        assert_eq!(guard.check(&Method::GET, &foreign, false).err().map(|problem| problem.status), Some(403));
    }

    #[test]
    fn a_form_with_its_token_writes() {
        let guard = RequestGuard::new(7, "secret".into(), Vec::new(), false);
        let token = guard.form_token().expect("it writes");
        assert!(!guard.cookie().contains(&token) && token != "secret");
        assert!(guard.check_form(CallerProof::Cookie, Some(&token)).is_ok());
        for wrong in [None, Some(""), Some("secret"), Some(&*token.to_uppercase())] {
            assert!(guard.check_form(CallerProof::Cookie, wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(RequestGuard::new(7, "secret".into(), Vec::new(), true).form_token(), None);
    }

    #[test]
    fn a_read_only_server_writes_nothing() {
        let guard = RequestGuard::new(7, "secret".into(), Vec::new(), true);
        let mut headers = HeaderMap::new();
        headers.insert("host", "localhost:7".parse().expect("a value"));
        headers.insert("authorization", "Bearer secret".parse().expect("a value"));
        assert_eq!(guard.check(&Method::POST, &headers, false).expect_err("refuses").kind, "/problems/read-only");
        assert!(guard.check(&Method::GET, &headers, false).is_ok());
    }
}
