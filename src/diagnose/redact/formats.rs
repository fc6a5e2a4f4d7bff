//! The formats of tokens by which their issuers let them be recognised: a literal and what stands around it. From the
//! issuers' own documentation of their prefixes and lengths.

use super::alphabet::Alphabet::{self, *};

/// Longer bodies belong to the token too.
const OPEN: usize = usize::MAX;

/// What a body must have beside its alphabet and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: the literal says it all.
    Nothing,
    /// A digit.
    Digit,
    /// Capitals, small letters and digits.
    Mixed,
    /// A percent sign.
    Percent,
    /// So many dots.
    Dots(u8),
}

/// A format that begins with a literal.
#[derive(Debug)]
pub(super) struct Prefixed {
    /// What it begins with, in this very case.
    pub(super) prefix: &'static str,
    /// What to call it.
    pub(super) kind: &'static str,
    pub(super) body: Alphabet,
    /// The body's length, bytes.
    pub(super) min: usize,
    /// A longer run of these bytes is something else.
    pub(super) max: usize,
    pub(super) needs: Needs,
}

/// A format with a literal inside.
#[derive(Debug)]
pub(super) struct Inside {
    /// The literal, in this very case.
    pub(super) literal: &'static str,
    pub(super) kind: &'static str,
    pub(super) before: Alphabet,
    pub(super) before_min: usize,
    pub(super) before_max: usize,
    pub(super) after: Alphabet,
    pub(super) after_min: usize,
    pub(super) after_max: usize,
    pub(super) needs: Needs,
}

const fn open(prefix: &'static str, kind: &'static str, body: Alphabet, min: usize) -> Prefixed {
    Prefixed { prefix, kind, body, min, max: OPEN, needs: Needs::Nothing }
}

const fn exact(prefix: &'static str, kind: &'static str, body: Alphabet, length: usize) -> Prefixed {
    Prefixed { prefix, kind, body, min: length, max: length, needs: Needs::Digit }
}

const fn with(needs: Needs, format: Prefixed) -> Prefixed {
    Prefixed { needs, ..format }
}

#[rustfmt::skip]
pub(super) const PREFIXED: &[Prefixed] = &[
    // Clouds.
    with(Needs::Nothing, exact("AKIA", "aws-key", Upper, 16)),
    exact("ASIA", "aws-key", Base32, 16),
    exact("ABIA", "aws-key", Base32, 16),
    exact("ACCA", "aws-key", Base32, 16),
    exact("A3T", "aws-key", Upper, 17),
    open("ABSKQmVkcm9ja0FQSUtleS", "aws-key", Base64, 40),
    exact("LTAI", "alibaba-key", Alnum, 20),
    exact("LTAI", "alibaba-key", Alnum, 12),
    exact("AKID", "tencent-key", Alnum, 32),
    with(Needs::Nothing, open("AIza", "google-key", Url, 35)),
    open("ya29.", "google-token", Url, 20),
    open("GOCSPX-", "google-secret", Url, 20),
    with(Needs::Mixed, open("1//0", "google-token", Url, 30)),
    open("doo_v1_", "digitalocean-token", Hex, 64),
    open("dop_v1_", "digitalocean-token", Hex, 64),
    open("dor_v1_", "digitalocean-token", Hex, 64),
    open("HRKU-", "heroku-key", Url, 36),
    open("fo1_", "fly-token", Url, 43),
    open("fm1a_", "fly-token", Base64, 100),
    open("fm1r_", "fly-token", Base64, 100),
    open("fm2_", "fly-token", Base64, 100),
    open("v1.0-", "cloudflare-key", HexDash, 171),
    open("cfut_", "cloudflare-key", Url, 40),
    open("tk-us-", "scalingo-token", Url, 48),
    open("AQVN", "yandex-key", Url, 35),
    with(Needs::Dots(1), open("t1.", "yandex-token", Dotted, 88)),
    open("4b1d", "clickhouse-key", Alnum, 38).only(38, Needs::Digit),
    open("dapi", "databricks-token", HexDash, 32),
    open("dt0c01.", "dynatrace-token", Dotted, 89),
    open("dt0s01.", "dynatrace-token", Dotted, 40),
    open("nfp_", "netlify-token", Alnum, 36),
    open("rnd_", "render-key", Alnum, 28),
    open("vcp_", "vercel-token", Alnum, 24),
    open("pscale_tkn_", "planetscale-token", Dotted, 32),
    open("pscale_oauth_", "planetscale-token", Dotted, 32),
    open("pscale_pw_", "planetscale-password", Dotted, 32),
    open("sbp_", "supabase-token", Hex, 40),
    open("sb_secret_", "supabase-key", Url, 20),
    open("tskey-", "tailscale-key", Url, 20),
    open("dnkey-", "defined-networking-key", UrlPadded, 79),
    open("pul-", "pulumi-token", Hex, 40),
    open("dp.pt.", "doppler-token", Alnum, 40),
    open("dp.ct.", "doppler-token", Alnum, 40),
    open("dp.sa.", "doppler-token", Alnum, 40),
    open("dp.scim.", "doppler-token", Alnum, 40),
    open("dp.audit.", "doppler-token", Alnum, 40),
    open("dp.st.", "doppler-token", Dotted, 40),
    open("hvs.", "vault-token", Url, 24),
    open("hvb.", "vault-token", Url, 24),
    open("hvr.", "vault-token", Url, 24),
    exact("s.", "vault-token", Alnum, 24),
    open("ops_eyJ", "1password-token", Base64, 100),
    open("A3-", "1password-key", UpperDash, 31).only(37, Needs::Digit),
    open("AGE-SECRET-KEY-1", "age-key", Upper, 50),
    open("AGE-SECRET-KEY-PQ-1", "age-key", Upper, 50),
    open("sha256~", "openshift-token", Url, 43),
    open("ico-", "infracost-key", Alnum, 32).only(32, Needs::Digit),
    // Where code is kept, built and published.
    open("ghp_", "github-token", Alnum, 30),
    open("gho_", "github-token", Alnum, 30),
    open("ghu_", "github-token", Alnum, 30),
    open("ghs_", "github-token", Alnum, 30),
    open("ghr_", "github-token", Alnum, 30),
    open("github_pat_", "github-token", Word, 22),
    open("glpat-", "gitlab-token", Dotted, 18),
    open("gldt-", "gitlab-token", Dotted, 18),
    open("glrt-", "gitlab-token", Dotted, 18),
    open("glrtr-", "gitlab-token", Dotted, 18),
    open("glcbt-", "gitlab-token", Dotted, 18),
    open("glptt-", "gitlab-token", Dotted, 18),
    open("glffct-", "gitlab-token", Dotted, 18),
    open("glft-", "gitlab-token", Dotted, 18),
    open("glimt-", "gitlab-token", Dotted, 18),
    open("glagent-", "gitlab-token", Dotted, 18),
    open("gloas-", "gitlab-token", Dotted, 18),
    open("glsoat-", "gitlab-token", Dotted, 18),
    open("glwt-", "gitlab-token", Dotted, 18),
    open("GR1348941", "gitlab-token", Url, 20),
    open("PRIVATE-TOKEN: ", "gitlab-token", Dotted, 16),
    open("ATATT3", "atlassian-token", UrlPadded, 60),
    open("ATCTT3", "atlassian-token", UrlPadded, 60),
    open("ATBB", "bitbucket-password", Alnum, 28).only(40, Needs::Mixed),
    open("BBDC-", "bitbucket-token", Base64, 40),
    open("npm_", "npm-token", Alnum, 36),
    open("pypi-", "pypi-token", Url, 60),
    open("rubygems_", "rubygems-key", Hex, 48),
    open("cio", "crates-token", Alnum, 32).only(32, Needs::Mixed),
    open("oy2", "nuget-key", Alnum, 43).only(43, Needs::Digit),
    open("CLOJARS_", "clojars-token", Alnum, 60),
    open("dckr_pat_", "docker-token", Url, 20),
    open("dckr_oat_", "docker-token", Url, 20),
    open("AKCp", "artifactory-key", Alnum, 69),
    open("cmVmd", "artifactory-token", Alnum, 59),
    open("CCIPAT_", "circleci-token", Word, 40),
    open("CCIPRJ_", "circleci-token", Word, 40),
    open("bkua_", "buildkite-token", Hex, 40),
    open("sgp_", "sourcegraph-token", Word, 40),
    open("API-", "octopus-key", Upper, 26).only(30, Needs::Digit),
    with(Needs::Dots(2), open("pat.", "harness-token", Dotted, 68)),
    with(Needs::Dots(2), open("sat.", "harness-token", Dotted, 68)),
    open("sonar_", "sonar-token", Hex, 40),
    open("squ_", "sonar-token", Hex, 40),
    open("sqp_", "sonar-token", Hex, 40),
    open("sqa_", "sonar-token", Hex, 40),
    open("lin_api_", "linear-key", Alnum, 32),
    open("lin_oauth_", "linear-key", Alnum, 32),
    open("figd_", "figma-token", Url, 40),
    open("PMAK-", "postman-key", HexDash, 59),
    open("PMAT-", "postman-token", Alnum, 26),
    open("rdme_", "readme-key", Alnum, 70),
    open("ntn_", "notion-token", Alnum, 43),
    open("secret_", "notion-token", Alnum, 43).only(43, Needs::Mixed),
    with(Needs::Dots(1), open("pat", "airtable-token", Dotted, 79).only(79, Needs::Dots(1))),
    open("s-s4t2ud-", "42-secret", Hex, 64),
    open("s-s4t2af-", "42-secret", Hex, 64),
    open("fio-u-", "frameio-token", UrlPadded, 64),
    open("p8e-", "adobe-secret", Alnum, 32),
    // Messages and mail.
    open("xoxb-", "slack-token", Url, 10),
    open("xoxp-", "slack-token", Url, 10),
    open("xoxa-", "slack-token", Url, 8),
    open("xoxr-", "slack-token", Url, 8),
    open("xoxs-", "slack-token", Url, 10),
    open("xoxo-", "slack-token", Url, 10),
    open("xoxd-", "slack-token", Percent, 30),
    open("xoxe-", "slack-token", Url, 10),
    open("xoxe.", "slack-token", Url, 20),
    open("xapp-", "slack-token", Url, 20),
    open("SG.", "sendgrid-key", Dotted, 60),
    open("xkeysib-", "brevo-key", Url, 64),
    open("xsmtpsib-", "brevo-key", Url, 64),
    exact("SK", "twilio-key", AnyHex, 32),
    open("re_", "resend-key", Word, 32).only(36, Needs::Mixed),
    // Payment and shops.
    open("sk_live_", "stripe-key", Word, 10),
    open("sk_test_", "stripe-key", Word, 10),
    open("sk_prod_", "stripe-key", Word, 10),
    open("rk_live_", "stripe-key", Word, 10),
    open("rk_test_", "stripe-key", Word, 10),
    open("rk_prod_", "stripe-key", Word, 10),
    open("whsec_", "stripe-key", Base64, 24),
    open("sq0atp-", "square-token", Url, 22),
    open("sq0csp-", "square-secret", Url, 22),
    open("EAAA", "square-token", Url, 22).only(60, Needs::Mixed),
    open("EAA", "facebook-token", Alnum, 100),
    open("shpat_", "shopify-token", Alnum, 32),
    open("shpca_", "shopify-token", Alnum, 32),
    open("shppa_", "shopify-token", Alnum, 32),
    open("shpss_", "shopify-token", Alnum, 32),
    open("shptka_", "shopify-token", Alnum, 32),
    open("FLWSECK_TEST-", "flutterwave-key", Url, 12),
    open("FLWPUBK_TEST-", "flutterwave-key", Url, 32),
    open("FLWSECK-", "flutterwave-key", Url, 32),
    open("shippo_live_", "shippo-token", AnyHex, 40),
    open("shippo_test_", "shippo-token", AnyHex, 40),
    open("EZAK", "easypost-key", Alnum, 54),
    open("EZTK", "easypost-key", Alnum, 54),
    open("duffel_live_", "duffel-token", UrlPadded, 43),
    open("duffel_test_", "duffel-token", UrlPadded, 43),
    open("pdl_live_apikey_", "paddle-key", Word, 26),
    open("pdl_sdbx_apikey_", "paddle-key", Word, 26),
    open("access-sandbox-", "plaid-token", HexDash, 36),
    open("access-development-", "plaid-token", HexDash, 36),
    open("access-production-", "plaid-token", HexDash, 36),
    open("amzn.mws.", "amazon-mws-token", HexDash, 36),
    // Models.
    open("sk-ant-", "anthropic-key", Url, 16),
    open("sk-proj-", "openai-key", Url, 16),
    open("sk-svcacct-", "openai-key", Url, 16),
    open("sk-admin-", "openai-key", Url, 16),
    open("sk-or-v1-", "openrouter-key", Alnum, 32),
    open("sk-lf-", "langfuse-key", HexDash, 36),
    with(Needs::Digit, open("sk-", "openai-key", Alnum, 20)),
    open("hf_", "huggingface-token", Alnum, 34),
    open("api_org_", "huggingface-token", Alnum, 34),
    open("r8_", "replicate-token", Alnum, 37),
    open("gsk_", "groq-key", Alnum, 48),
    open("xai-", "xai-key", Alnum, 70),
    open("pplx-", "perplexity-key", Alnum, 40),
    open("pcsk_", "pinecone-key", Word, 50),
    open("lsv2_pt_", "langsmith-key", Word, 32),
    open("lsv2_sk_", "langsmith-key", Word, 32),
    open("nvapi-", "nvidia-key", Url, 60),
    open("jina_", "jina-key", Url, 50),
    open("tvly-", "tavily-key", Url, 30).only(64, Needs::Digit),
    open("rpa_", "runpod-key", Alnum, 40),
    open("pnu_", "prefect-token", Alnum, 36),
    open("sm_aat_", "settlemint-token", Alnum, 16),
    open("sm_pat_", "settlemint-token", Alnum, 16),
    open("sm_sat_", "settlemint-token", Alnum, 16),
    // What watches.
    open("sntrys_", "sentry-token", Wide, 60),
    open("sntryu_", "sentry-token", Hex, 64),
    open("glc_", "grafana-token", Base64, 32),
    open("glsa_", "grafana-token", Word, 41),
    open("eyJrIjoi", "grafana-key", Base64, 60),
    open("NRAK-", "newrelic-key", Alnum, 27),
    open("NRJS-", "newrelic-key", Alnum, 19),
    open("NRII-", "newrelic-key", Url, 32),
    open("NRIQ-", "newrelic-key", Url, 32),
    open("NRRA-", "newrelic-key", Alnum, 42),
    open("phx_", "posthog-key", Alnum, 40),
    open("tfp_", "typeform-token", Dotted, 44),
    open("aio_", "adafruit-key", Alnum, 28).only(28, Needs::Digit),
    with(Needs::Dots(1), open("sk.eyJ", "mapbox-token", Dotted, 60)),
    with(Needs::Dots(1), open("pk.eyJ", "mapbox-token", Dotted, 60)),
    with(Needs::Percent, open("AAAAAAAAAAAAAAAAAAAAA", "twitter-token", Percent, 60)),
    // Where messages are posted to.
    open("hooks.slack.com/services/", "slack-webhook", Base64, 20),
    open("hooks.slack.com/workflows/", "slack-webhook", Base64, 20),
    open("hooks.slack.com/triggers/", "slack-webhook", Base64, 20),
    open("discord.com/api/webhooks/", "discord-webhook", Address, 40),
    open("discordapp.com/api/webhooks/", "discord-webhook", Address, 40),
    open("webhook.office.com/webhookb2/", "teams-webhook", Address, 80),
];

impl Prefixed {
    /// With a longest body.
    const fn only(self, max: usize, needs: Needs) -> Prefixed {
        Prefixed { max, needs, ..self }
    }
}

/// A body of so many bytes before and behind the literal.
const fn inside(
    literal: &'static str,
    kind: &'static str,
    before: (Alphabet, usize, usize),
    after: (Alphabet, usize, usize),
    needs: Needs,
) -> Inside {
    let ((before, before_min, before_max), (after, after_min, after_max)) = (before, after);
    Inside { literal, kind, before, before_min, before_max, after, after_min, after_max, needs }
}

pub(super) const INSIDE: &[Inside] = &[
    inside("Q~", "azure-secret", (Tilde, 4, 4), (Tilde, 31, 34), Needs::Nothing),
    inside(".atlasv1.", "terraform-token", (Alnum, 14, 14), (UrlPadded, 60, OPEN), Needs::Nothing),
    inside("_mmk", "maxmind-key", (Word, 36, 36), (Alnum, 0, 0), Needs::Digit),
    inside("-us", "mailchimp-key", (AnyHex, 32, 32), (Digits, 1, 2), Needs::Digit),
    inside(":AA", "telegram-token", (Digits, 8, 10), (Url, 33, 33), Needs::Nothing),
    inside(".acc_", "authress-key", (Dotted, 12, 64), (Wide, 40, OPEN), Needs::Dots(1)),
    inside(".acc-", "authress-key", (Dotted, 12, 64), (Wide, 40, OPEN), Needs::Dots(1)),
];
