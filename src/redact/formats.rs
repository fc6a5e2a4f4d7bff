//! The formats of tokens by which their issuers let them be recognised: a literal and its surroundings. From the
//! issuers' own documentation of their prefixes and lengths.

use super::alphabet::Alphabet::{self, *};

/// Longer bodies belong to the token too.
const OPEN: usize = usize::MAX;

/// What a body must have beside its alphabet and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyRequirement {
    /// Nothing: the literal says it all.
    Nothing,
    /// A digit.
    Digit,
    /// Capitals, small letters and digits.
    Mixed,
    /// A percent sign.
    Percent,
    /// This many dots.
    Dots(u8),
}

/// A format that begins with a literal.
#[derive(Debug)]
pub(super) struct PrefixedFormat {
    /// What it begins with, in this very case.
    pub(super) prefix: &'static str,
    /// What to call it.
    pub(super) kind: &'static str,
    pub(super) body: Alphabet,
    /// The body's length, bytes.
    pub(super) min: usize,
    /// A longer run of these bytes is something else.
    pub(super) max: usize,
    pub(super) needs: BodyRequirement,
}

/// A format with a literal inside.
#[derive(Debug)]
pub(super) struct EmbeddedFormat {
    /// The literal, in this very case.
    pub(super) literal: &'static str,
    pub(super) kind: &'static str,
    pub(super) before: Alphabet,
    pub(super) before_min: usize,
    pub(super) before_max: usize,
    pub(super) after: Alphabet,
    pub(super) after_min: usize,
    pub(super) after_max: usize,
    pub(super) needs: BodyRequirement,
}

const fn open_format(prefix: &'static str, kind: &'static str, body: Alphabet, min: usize) -> PrefixedFormat {
    PrefixedFormat { prefix, kind, body, min, max: OPEN, needs: BodyRequirement::Nothing }
}

const fn exact_format(prefix: &'static str, kind: &'static str, body: Alphabet, length: usize) -> PrefixedFormat {
    PrefixedFormat { prefix, kind, body, min: length, max: length, needs: BodyRequirement::Digit }
}

const fn with_needs(needs: BodyRequirement, format: PrefixedFormat) -> PrefixedFormat {
    PrefixedFormat { needs, ..format }
}

#[rustfmt::skip]
pub(super) const PREFIXED: &[PrefixedFormat] = &[
    // Clouds.
    with_needs(BodyRequirement::Nothing, exact_format("AKIA", "aws-key", Upper, 16)),
    exact_format("ASIA", "aws-key", Base32, 16),
    exact_format("ABIA", "aws-key", Base32, 16),
    exact_format("ACCA", "aws-key", Base32, 16),
    exact_format("A3T", "aws-key", Upper, 17),
    open_format("ABSKQmVkcm9ja0FQSUtleS", "aws-key", Base64, 40),
    exact_format("LTAI", "alibaba-key", Alnum, 20),
    exact_format("LTAI", "alibaba-key", Alnum, 12),
    exact_format("AKID", "tencent-key", Alnum, 32),
    with_needs(BodyRequirement::Nothing, open_format("AIza", "google-key", Url, 35)),
    open_format("ya29.", "google-token", Url, 20),
    open_format("GOCSPX-", "google-secret", Url, 20),
    with_needs(BodyRequirement::Mixed, open_format("1//0", "google-token", Url, 30)),
    open_format("doo_v1_", "digitalocean-token", Hex, 64),
    open_format("dop_v1_", "digitalocean-token", Hex, 64),
    open_format("dor_v1_", "digitalocean-token", Hex, 64),
    open_format("HRKU-", "heroku-key", Url, 36),
    open_format("fo1_", "fly-token", Url, 43),
    open_format("fm1a_", "fly-token", Base64, 100),
    open_format("fm1r_", "fly-token", Base64, 100),
    open_format("fm2_", "fly-token", Base64, 100),
    open_format("v1.0-", "cloudflare-key", HexDash, 171),
    open_format("cfut_", "cloudflare-key", Url, 40),
    open_format("tk-us-", "scalingo-token", Url, 48),
    open_format("AQVN", "yandex-key", Url, 35),
    with_needs(BodyRequirement::Dots(1), open_format("t1.", "yandex-token", Dotted, 88)),
    open_format("4b1d", "clickhouse-key", Alnum, 38).limited_to(38, BodyRequirement::Digit),
    open_format("dapi", "databricks-token", HexDash, 32),
    open_format("dt0c01.", "dynatrace-token", Dotted, 89),
    open_format("dt0s01.", "dynatrace-token", Dotted, 40),
    open_format("nfp_", "netlify-token", Alnum, 36),
    open_format("rnd_", "render-key", Alnum, 28),
    open_format("vcp_", "vercel-token", Alnum, 24),
    open_format("pscale_tkn_", "planetscale-token", Dotted, 32),
    open_format("pscale_oauth_", "planetscale-token", Dotted, 32),
    open_format("pscale_pw_", "planetscale-password", Dotted, 32),
    open_format("sbp_", "supabase-token", Hex, 40),
    open_format("sb_secret_", "supabase-key", Url, 20),
    open_format("tskey-", "tailscale-key", Url, 20),
    open_format("dnkey-", "defined-networking-key", UrlPadded, 79),
    open_format("pul-", "pulumi-token", Hex, 40),
    open_format("dp.pt.", "doppler-token", Alnum, 40),
    open_format("dp.ct.", "doppler-token", Alnum, 40),
    open_format("dp.sa.", "doppler-token", Alnum, 40),
    open_format("dp.scim.", "doppler-token", Alnum, 40),
    open_format("dp.audit.", "doppler-token", Alnum, 40),
    open_format("dp.st.", "doppler-token", Dotted, 40),
    open_format("hvs.", "vault-token", Url, 24),
    open_format("hvb.", "vault-token", Url, 24),
    open_format("hvr.", "vault-token", Url, 24),
    exact_format("s.", "vault-token", Alnum, 24),
    open_format("ops_eyJ", "1password-token", Base64, 100),
    open_format("A3-", "1password-key", UpperDash, 31).limited_to(37, BodyRequirement::Digit),
    open_format("AGE-SECRET-KEY-1", "age-key", Upper, 50),
    open_format("AGE-SECRET-KEY-PQ-1", "age-key", Upper, 50),
    open_format("sha256~", "openshift-token", Url, 43),
    open_format("ico-", "infracost-key", Alnum, 32).limited_to(32, BodyRequirement::Digit),
    // Where code is kept, built and published.
    open_format("ghp_", "github-token", Alnum, 30),
    open_format("gho_", "github-token", Alnum, 30),
    open_format("ghu_", "github-token", Alnum, 30),
    open_format("ghs_", "github-token", Alnum, 30),
    open_format("ghr_", "github-token", Alnum, 30),
    open_format("github_pat_", "github-token", Word, 22),
    open_format("glpat-", "gitlab-token", Dotted, 18),
    open_format("gldt-", "gitlab-token", Dotted, 18),
    open_format("glrt-", "gitlab-token", Dotted, 18),
    open_format("glrtr-", "gitlab-token", Dotted, 18),
    open_format("glcbt-", "gitlab-token", Dotted, 18),
    open_format("glptt-", "gitlab-token", Dotted, 18),
    open_format("glffct-", "gitlab-token", Dotted, 18),
    open_format("glft-", "gitlab-token", Dotted, 18),
    open_format("glimt-", "gitlab-token", Dotted, 18),
    open_format("glagent-", "gitlab-token", Dotted, 18),
    open_format("gloas-", "gitlab-token", Dotted, 18),
    open_format("glsoat-", "gitlab-token", Dotted, 18),
    open_format("glwt-", "gitlab-token", Dotted, 18),
    open_format("GR1348941", "gitlab-token", Url, 20),
    open_format("PRIVATE-TOKEN: ", "gitlab-token", Dotted, 16),
    open_format("ATATT3", "atlassian-token", UrlPadded, 60),
    open_format("ATCTT3", "atlassian-token", UrlPadded, 60),
    open_format("ATBB", "bitbucket-password", Alnum, 28).limited_to(40, BodyRequirement::Mixed),
    open_format("BBDC-", "bitbucket-token", Base64, 40),
    open_format("npm_", "npm-token", Alnum, 36),
    open_format("pypi-", "pypi-token", Url, 60),
    open_format("rubygems_", "rubygems-key", Hex, 48),
    open_format("cio", "crates-token", Alnum, 32).limited_to(32, BodyRequirement::Mixed),
    open_format("oy2", "nuget-key", Alnum, 43).limited_to(43, BodyRequirement::Digit),
    open_format("CLOJARS_", "clojars-token", Alnum, 60),
    open_format("dckr_pat_", "docker-token", Url, 20),
    open_format("dckr_oat_", "docker-token", Url, 20),
    open_format("AKCp", "artifactory-key", Alnum, 69),
    open_format("cmVmd", "artifactory-token", Alnum, 59),
    open_format("CCIPAT_", "circleci-token", Word, 40),
    open_format("CCIPRJ_", "circleci-token", Word, 40),
    open_format("bkua_", "buildkite-token", Hex, 40),
    open_format("sgp_", "sourcegraph-token", Word, 40),
    open_format("API-", "octopus-key", Upper, 26).limited_to(30, BodyRequirement::Digit),
    with_needs(BodyRequirement::Dots(2), open_format("pat.", "harness-token", Dotted, 68)),
    with_needs(BodyRequirement::Dots(2), open_format("sat.", "harness-token", Dotted, 68)),
    open_format("sonar_", "sonar-token", Hex, 40),
    open_format("squ_", "sonar-token", Hex, 40),
    open_format("sqp_", "sonar-token", Hex, 40),
    open_format("sqa_", "sonar-token", Hex, 40),
    open_format("lin_api_", "linear-key", Alnum, 32),
    open_format("lin_oauth_", "linear-key", Alnum, 32),
    open_format("figd_", "figma-token", Url, 40),
    open_format("PMAK-", "postman-key", HexDash, 59),
    open_format("PMAT-", "postman-token", Alnum, 26),
    open_format("rdme_", "readme-key", Alnum, 70),
    open_format("ntn_", "notion-token", Alnum, 43),
    open_format("secret_", "notion-token", Alnum, 43).limited_to(43, BodyRequirement::Mixed),
    with_needs(BodyRequirement::Dots(1), open_format("pat", "airtable-token", Dotted, 79).limited_to(79, BodyRequirement::Dots(1))),
    open_format("s-s4t2ud-", "42-secret", Hex, 64),
    open_format("s-s4t2af-", "42-secret", Hex, 64),
    open_format("fio-u-", "frameio-token", UrlPadded, 64),
    open_format("p8e-", "adobe-secret", Alnum, 32),
    // Messages and mail.
    open_format("xoxb-", "slack-token", Url, 10),
    open_format("xoxp-", "slack-token", Url, 10),
    open_format("xoxa-", "slack-token", Url, 8),
    open_format("xoxr-", "slack-token", Url, 8),
    open_format("xoxs-", "slack-token", Url, 10),
    open_format("xoxo-", "slack-token", Url, 10),
    open_format("xoxd-", "slack-token", Percent, 30),
    open_format("xoxe-", "slack-token", Url, 10),
    open_format("xoxe.", "slack-token", Url, 20),
    open_format("xapp-", "slack-token", Url, 20),
    open_format("SG.", "sendgrid-key", Dotted, 60),
    open_format("xkeysib-", "brevo-key", Url, 64),
    open_format("xsmtpsib-", "brevo-key", Url, 64),
    exact_format("SK", "twilio-key", AnyHex, 32),
    open_format("re_", "resend-key", Word, 32).limited_to(36, BodyRequirement::Mixed),
    // Payment and shops.
    open_format("sk_live_", "stripe-key", Word, 10),
    open_format("sk_test_", "stripe-key", Word, 10),
    open_format("sk_prod_", "stripe-key", Word, 10),
    open_format("rk_live_", "stripe-key", Word, 10),
    open_format("rk_test_", "stripe-key", Word, 10),
    open_format("rk_prod_", "stripe-key", Word, 10),
    open_format("whsec_", "stripe-key", Base64, 24),
    open_format("sq0atp-", "square-token", Url, 22),
    open_format("sq0csp-", "square-secret", Url, 22),
    open_format("EAAA", "square-token", Url, 22).limited_to(60, BodyRequirement::Mixed),
    open_format("EAA", "facebook-token", Alnum, 100),
    open_format("shpat_", "shopify-token", Alnum, 32),
    open_format("shpca_", "shopify-token", Alnum, 32),
    open_format("shppa_", "shopify-token", Alnum, 32),
    open_format("shpss_", "shopify-token", Alnum, 32),
    open_format("shptka_", "shopify-token", Alnum, 32),
    open_format("FLWSECK_TEST-", "flutterwave-key", Url, 12),
    open_format("FLWPUBK_TEST-", "flutterwave-key", Url, 32),
    open_format("FLWSECK-", "flutterwave-key", Url, 32),
    open_format("shippo_live_", "shippo-token", AnyHex, 40),
    open_format("shippo_test_", "shippo-token", AnyHex, 40),
    open_format("EZAK", "easypost-key", Alnum, 54),
    open_format("EZTK", "easypost-key", Alnum, 54),
    open_format("duffel_live_", "duffel-token", UrlPadded, 43),
    open_format("duffel_test_", "duffel-token", UrlPadded, 43),
    open_format("pdl_live_apikey_", "paddle-key", Word, 26),
    open_format("pdl_sdbx_apikey_", "paddle-key", Word, 26),
    open_format("access-sandbox-", "plaid-token", HexDash, 36),
    open_format("access-development-", "plaid-token", HexDash, 36),
    open_format("access-production-", "plaid-token", HexDash, 36),
    open_format("amzn.mws.", "amazon-mws-token", HexDash, 36),
    // Models.
    open_format("sk-ant-", "anthropic-key", Url, 16),
    open_format("sk-proj-", "openai-key", Url, 16),
    open_format("sk-svcacct-", "openai-key", Url, 16),
    open_format("sk-admin-", "openai-key", Url, 16),
    open_format("sk-or-v1-", "openrouter-key", Alnum, 32),
    open_format("sk-lf-", "langfuse-key", HexDash, 36),
    with_needs(BodyRequirement::Digit, open_format("sk-", "openai-key", Alnum, 20)),
    open_format("hf_", "huggingface-token", Alnum, 34),
    open_format("api_org_", "huggingface-token", Alnum, 34),
    open_format("r8_", "replicate-token", Alnum, 37),
    open_format("gsk_", "groq-key", Alnum, 48),
    open_format("xai-", "xai-key", Alnum, 70),
    open_format("pplx-", "perplexity-key", Alnum, 40),
    open_format("pcsk_", "pinecone-key", Word, 50),
    open_format("lsv2_pt_", "langsmith-key", Word, 32),
    open_format("lsv2_sk_", "langsmith-key", Word, 32),
    open_format("nvapi-", "nvidia-key", Url, 60),
    open_format("jina_", "jina-key", Url, 50),
    open_format("tvly-", "tavily-key", Url, 30).limited_to(64, BodyRequirement::Digit),
    open_format("rpa_", "runpod-key", Alnum, 40),
    open_format("pnu_", "prefect-token", Alnum, 36),
    open_format("sm_aat_", "settlemint-token", Alnum, 16),
    open_format("sm_pat_", "settlemint-token", Alnum, 16),
    open_format("sm_sat_", "settlemint-token", Alnum, 16),
    // What watches.
    open_format("sntrys_", "sentry-token", Wide, 60),
    open_format("sntryu_", "sentry-token", Hex, 64),
    open_format("glc_", "grafana-token", Base64, 32),
    open_format("glsa_", "grafana-token", Word, 41),
    open_format("eyJrIjoi", "grafana-key", Base64, 60),
    open_format("NRAK-", "newrelic-key", Alnum, 27),
    open_format("NRJS-", "newrelic-key", Alnum, 19),
    open_format("NRII-", "newrelic-key", Url, 32),
    open_format("NRIQ-", "newrelic-key", Url, 32),
    open_format("NRRA-", "newrelic-key", Alnum, 42),
    open_format("phx_", "posthog-key", Alnum, 40),
    open_format("tfp_", "typeform-token", Dotted, 44),
    open_format("aio_", "adafruit-key", Alnum, 28).limited_to(28, BodyRequirement::Digit),
    with_needs(BodyRequirement::Dots(1), open_format("sk.eyJ", "mapbox-token", Dotted, 60)),
    with_needs(BodyRequirement::Dots(1), open_format("pk.eyJ", "mapbox-token", Dotted, 60)),
    with_needs(BodyRequirement::Percent, open_format("AAAAAAAAAAAAAAAAAAAAA", "twitter-token", Percent, 60)),
    // Where messages are posted to.
    open_format("hooks.slack.com/services/", "slack-webhook", Base64, 20),
    open_format("hooks.slack.com/workflows/", "slack-webhook", Base64, 20),
    open_format("hooks.slack.com/triggers/", "slack-webhook", Base64, 20),
    open_format("discord.com/api/webhooks/", "discord-webhook", Address, 40),
    open_format("discordapp.com/api/webhooks/", "discord-webhook", Address, 40),
    open_format("webhook.office.com/webhookb2/", "teams-webhook", Address, 80),
];

impl PrefixedFormat {
    /// With a longest body.
    const fn limited_to(self, max: usize, needs: BodyRequirement) -> PrefixedFormat {
        PrefixedFormat { max, needs, ..self }
    }
}

/// A body of this many bytes before and behind the literal.
const fn inside_format(
    literal: &'static str,
    kind: &'static str,
    before: (Alphabet, usize, usize),
    after: (Alphabet, usize, usize),
    needs: BodyRequirement,
) -> EmbeddedFormat {
    let ((before, before_min, before_max), (after, after_min, after_max)) = (before, after);
    EmbeddedFormat { literal, kind, before, before_min, before_max, after, after_min, after_max, needs }
}

pub(super) const INSIDE: &[EmbeddedFormat] = &[
    inside_format("Q~", "azure-secret", (Tilde, 4, 4), (Tilde, 31, 34), BodyRequirement::Nothing),
    inside_format(".atlasv1.", "terraform-token", (Alnum, 14, 14), (UrlPadded, 60, OPEN), BodyRequirement::Nothing),
    inside_format("_mmk", "maxmind-key", (Word, 36, 36), (Alnum, 0, 0), BodyRequirement::Digit),
    inside_format("-us", "mailchimp-key", (AnyHex, 32, 32), (Digits, 1, 2), BodyRequirement::Digit),
    inside_format(":AA", "telegram-token", (Digits, 8, 10), (Url, 33, 33), BodyRequirement::Nothing),
    inside_format(".acc_", "authress-key", (Dotted, 12, 64), (Wide, 40, OPEN), BodyRequirement::Dots(1)),
    inside_format(".acc-", "authress-key", (Dotted, 12, 64), (Wide, 40, OPEN), BodyRequirement::Dots(1)),
];
