//! Tokens that have a shape of their own: a prefix that their issuer chose so that scanners find them.

use std::ops::Range;

use super::{Secret, VALUE_BYTES_MAX, run_end};

/// Bytes that a token's body is made of.
#[derive(Debug, Clone, Copy)]
enum Body {
    /// `[A-Z0-9]`
    Upper,
    /// `[0-9a-f]`
    Hex,
    /// `[A-Za-z0-9]`
    Alnum,
    /// `[A-Za-z0-9_]`
    Word,
    /// `[A-Za-z0-9_-]`
    Url,
    /// `[A-Za-z0-9_.-]`
    Dotted,
    /// `[A-Za-z0-9/]`
    Path,
}

impl Body {
    fn has(self, b: u8) -> bool {
        match self {
            Body::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Body::Hex => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
            Body::Alnum => b.is_ascii_alphanumeric(),
            Body::Word => b.is_ascii_alphanumeric() || b == b'_',
            Body::Url => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Body::Dotted => b.is_ascii_alphanumeric() || b"_-.".contains(&b),
            Body::Path => b.is_ascii_alphanumeric() || b == b'/',
        }
    }
}

/// One issuer's format.
#[derive(Debug)]
pub(super) struct Shape {
    /// What it starts with, in this very case.
    pub(super) prefix: &'static str,
    kind: &'static str,
    body: Body,
    /// Shortest body, bytes.
    min: usize,
}

const fn shape(prefix: &'static str, kind: &'static str, body: Body, min: usize) -> Shape {
    Shape { prefix, kind, body, min }
}

/// The formats, from the issuers' own documentation of their prefixes.
pub(super) const SHAPES: [Shape; 50] = [
    shape("AKIA", "aws-key", Body::Upper, 16),
    shape("ASIA", "aws-key", Body::Upper, 16),
    shape("ABIA", "aws-key", Body::Upper, 16),
    shape("ghp_", "github-token", Body::Alnum, 30),
    shape("gho_", "github-token", Body::Alnum, 30),
    shape("ghu_", "github-token", Body::Alnum, 30),
    shape("ghs_", "github-token", Body::Alnum, 30),
    shape("ghr_", "github-token", Body::Alnum, 30),
    shape("github_pat_", "github-token", Body::Word, 22),
    shape("glpat-", "gitlab-token", Body::Dotted, 18),
    shape("gldt-", "gitlab-token", Body::Dotted, 18),
    shape("glrt-", "gitlab-token", Body::Dotted, 18),
    shape("glcbt-", "gitlab-token", Body::Dotted, 18),
    shape("glptt-", "gitlab-token", Body::Dotted, 18),
    shape("xoxb-", "slack-token", Body::Url, 10),
    shape("xoxp-", "slack-token", Body::Url, 10),
    shape("xoxa-", "slack-token", Body::Url, 10),
    shape("xoxr-", "slack-token", Body::Url, 10),
    shape("xoxs-", "slack-token", Body::Url, 10),
    shape("xoxe-", "slack-token", Body::Url, 10),
    shape("xapp-", "slack-token", Body::Url, 20),
    shape("hooks.slack.com/services/", "slack-webhook", Body::Path, 20),
    shape("sk_live_", "stripe-key", Body::Word, 10),
    shape("sk_test_", "stripe-key", Body::Word, 10),
    shape("rk_live_", "stripe-key", Body::Word, 10),
    shape("rk_test_", "stripe-key", Body::Word, 10),
    shape("whsec_", "stripe-key", Body::Alnum, 24),
    shape("npm_", "npm-token", Body::Alnum, 36),
    shape("pypi-", "pypi-token", Body::Url, 60),
    shape("AIza", "google-key", Body::Url, 35),
    shape("ya29.", "google-token", Body::Url, 20),
    shape("GOCSPX-", "google-secret", Body::Url, 20),
    shape("sk-ant-", "anthropic-key", Body::Url, 16),
    shape("sk-proj-", "openai-key", Body::Url, 16),
    shape("sk-svcacct-", "openai-key", Body::Url, 16),
    shape("sk-or-v1-", "openrouter-key", Body::Alnum, 32),
    shape("sk-", "openai-key", Body::Alnum, 20),
    shape("SG.", "sendgrid-key", Body::Dotted, 60),
    shape("hf_", "huggingface-token", Body::Alnum, 34),
    shape("dop_v1_", "digitalocean-token", Body::Hex, 64),
    shape("dckr_pat_", "docker-token", Body::Url, 20),
    shape("dapi", "databricks-token", Body::Hex, 32),
    shape("shpat_", "shopify-token", Body::Alnum, 32),
    shape("shpss_", "shopify-token", Body::Alnum, 32),
    shape("hvs.", "vault-token", Body::Url, 24),
    shape("lin_api_", "linear-key", Body::Alnum, 32),
    shape("rubygems_", "rubygems-key", Body::Hex, 48),
    shape("ATATT3", "atlassian-token", Body::Url, 60),
    shape("AGE-SECRET-KEY-1", "age-key", Body::Upper, 50),
    shape("PRIVATE-TOKEN: ", "gitlab-token", Body::Dotted, 16),
];

/// The token that starts with this hit of `shape`'s prefix.
pub(super) fn shape_at(text: &[u8], hit: Range<usize>, shape: &Shape) -> Option<Secret> {
    // The automaton ignores case, issuers don't; and `disk-…` is no `sk-…`.
    let inside_a_word = text[..hit.start].last().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if &text[hit.clone()] != shape.prefix.as_bytes() || (inside_a_word && shape.prefix != "hooks.slack.com/services/") {
        return None;
    }
    let end = run_end(text, hit.end, usize::MAX, |b| shape.body.has(b));
    if end - hit.end < shape.min {
        return None;
    }
    let bare = shape.prefix == "sk-" && !text[hit.end..end].iter().any(u8::is_ascii_digit);
    (!bare).then_some(Secret { range: hit.start..end, kind: shape.kind })
}

/// `eyJ….eyJ….…`: header and payload are JSON objects, so both start the same; the signature may be empty.
pub(super) fn jwt(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    if &text[hit.clone()] != b"eyJ" || text[..hit.start].last().is_some_and(|&b| Body::Url.has(b)) {
        return None;
    }
    let header = run_end(text, hit.end, VALUE_BYTES_MAX, |b| Body::Url.has(b));
    if !text[header..].starts_with(b".eyJ") || header - hit.start < 10 {
        return None;
    }
    let end = run_end(text, header, usize::MAX, |b| Body::Dotted.has(b));
    Some(Secret { range: hit.start..end, kind: "jwt" })
}
