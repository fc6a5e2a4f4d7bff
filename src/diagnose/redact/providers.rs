//! Services whose keys have no mark of their own: beside the service's name a value of the right alphabet and length is
//! one of its keys. Lengths from the services' documentation.

use std::ops::Range;

use super::alphabet::Alphabet::{self, *};
use super::alphabet::is_uuid;
use super::{Secret, run_end, run_start};

/// A service's keys.
#[derive(Debug)]
pub(super) struct Provider {
    /// The name, in any case.
    pub(super) name: &'static str,
    keys: &'static [ProviderKey],
}

/// One format of key.
#[derive(Debug, Clone, Copy)]
enum ProviderKey {
    /// This alphabet, in so many bytes.
    Of(Alphabet, usize, usize),
    /// The same behind a prefix.
    Behind(&'static str, Alphabet, usize, usize),
    Uuid,
}

use ProviderKey::{Behind, Of, Uuid};

const fn provider(name: &'static str, keys: &'static [ProviderKey]) -> Provider {
    Provider { name, keys }
}

const JFROG: &[ProviderKey] = &[Of(Alnum, 64, 64), Of(Alnum, 73, 73)];
const ATLASSIAN: &[ProviderKey] = &[Of(Alnum, 24, 24)];
const LINKEDIN: &[ProviderKey] = &[Of(Alnum, 14, 14), Of(Alnum, 16, 16)];
const MESSAGEBIRD: &[ProviderKey] = &[Of(Alnum, 25, 25), Uuid];
const NEW_RELIC: &[ProviderKey] = &[Of(Alnum, 64, 64), Of(Alnum, 40, 40)];
const NYTIMES: &[ProviderKey] = &[Of(UrlPadded, 32, 32)];
const PRIVATE_AI: &[ProviderKey] = &[Of(Alnum, 32, 32)];
const CONTRIBSYS: &[ProviderKey] = &[Of(Joined, 17, 17)];

#[rustfmt::skip]
pub(super) const PROVIDERS: &[Provider] = &[
    provider("adafruit", &[Of(Url, 32, 32)]),
    provider("adobe", &[Of(AnyHex, 32, 32)]),
    provider("airtable", &[Of(Alnum, 17, 17)]),
    provider("algolia", &[Of(Alnum, 32, 32)]),
    provider("alibaba", &[Of(Alnum, 30, 30)]),
    provider("artifactory", JFROG),
    provider("asana", &[Of(Digits, 16, 16), Of(Alnum, 32, 32)]),
    provider("atlassian", ATLASSIAN),
    provider("confluence", ATLASSIAN),
    provider("jira", ATLASSIAN),
    provider("beamer", &[Behind("b_", UrlPadded, 44, 44)]),
    provider("bintray", JFROG),
    provider("bitbucket", &[Of(Alnum, 32, 32), Of(UrlPadded, 64, 64)]),
    provider("bittrex", &[Of(Alnum, 32, 32)]),
    provider("contribsys__com", CONTRIBSYS),
    provider("cloudflare", &[Of(Url, 40, 40), Of(AnyHex, 37, 37)]),
    provider("codecov", &[Of(Alnum, 32, 32), Uuid]),
    provider("cohere", &[Of(Alnum, 40, 40)]),
    provider("co_api_key", &[Of(Alnum, 40, 40)]),
    provider("coinbase", &[Of(Url, 64, 64)]),
    provider("confluent", &[Of(Alnum, 16, 16), Of(Alnum, 64, 64)]),
    provider("contentful", &[Of(UrlPadded, 43, 43)]),
    provider("datadog", &[Of(Alnum, 40, 40), Of(AnyHex, 32, 32)]),
    provider("dd_api_key", &[Of(AnyHex, 32, 32)]),
    provider("discord", &[Of(AnyHex, 64, 64), Of(Digits, 17, 19), Of(UrlPadded, 32, 32), Of(Dotted, 59, 72)]),
    provider("droneci", &[Of(Alnum, 32, 32)]),
    provider("dropbox", &[Of(Alnum, 15, 15), Of(UrlPadded, 64, 64), Behind("sl.", UrlPadded, 130, 1300)]),
    provider("etsy", &[Of(Alnum, 24, 24)]),
    provider("facebook", &[Of(AnyHex, 32, 32), Of(Joined, 43, 57)]),
    provider("fastly", &[Of(UrlPadded, 32, 32)]),
    provider("finicity", &[Of(AnyHex, 32, 32), Of(Alnum, 20, 20)]),
    provider("finnhub", &[Of(Alnum, 20, 20)]),
    provider("flickr", &[Of(Alnum, 32, 32)]),
    provider("freshbooks", &[Of(Alnum, 64, 64)]),
    provider("gitter", &[Of(Url, 40, 40)]),
    provider("gocardless", &[Behind("live_", UrlPadded, 40, 40), Behind("sandbox_", UrlPadded, 40, 40)]),
    provider("heroku", &[Uuid]),
    provider("hubspot", &[Uuid]),
    provider("intercom", &[Of(UrlPadded, 60, 60)]),
    provider("jfrog", JFROG),
    provider("xray", JFROG),
    provider("kraken", &[Of(Wide, 80, 90)]),
    provider("kucoin", &[Of(AnyHex, 24, 24), Uuid]),
    provider("launchdarkly", &[Of(UrlPadded, 40, 40), Uuid]),
    provider("linear", &[Of(AnyHex, 32, 32)]),
    provider("linkedin", LINKEDIN),
    provider("linked_in", LINKEDIN),
    provider("linked-in", LINKEDIN),
    provider("lob", &[
        Behind("live_", AnyHex, 35, 35), Behind("test_", AnyHex, 35, 35),
        Behind("live_pub_", AnyHex, 31, 31), Behind("test_pub_", AnyHex, 31, 31),
    ]),
    provider("mailgun", &[
        Behind("key-", AnyHex, 32, 32), Behind("pubkey-", AnyHex, 32, 32), Of(Url, 50, 50),
    ]),
    provider("mapbox", &[Behind("pk.", Dotted, 83, 83)]),
    provider("mattermost", &[Of(Alnum, 26, 26)]),
    provider("meraki", &[Of(AnyHex, 40, 40)]),
    provider("messagebird", MESSAGEBIRD),
    provider("message_bird", MESSAGEBIRD),
    provider("message-bird", MESSAGEBIRD),
    provider("netlify", &[Of(UrlPadded, 40, 46)]),
    provider("newrelic", NEW_RELIC),
    provider("new-relic", NEW_RELIC),
    provider("new_relic", NEW_RELIC),
    provider("nytimes", NYTIMES),
    provider("newyorktimes", NYTIMES),
    provider("new-york-times", NYTIMES),
    provider("okta", &[Behind("00", UrlPadded, 40, 40)]),
    provider("plaid", &[Of(Alnum, 24, 24), Of(Alnum, 30, 30)]),
    provider("privateai", PRIVATE_AI),
    provider("private_ai", PRIVATE_AI),
    provider("private-ai", PRIVATE_AI),
    provider("rapidapi", &[Of(Url, 50, 50)]),
    provider("sendbird", &[Uuid, Of(AnyHex, 40, 40)]),
    provider("sentry", &[Of(AnyHex, 64, 64)]),
    provider("snyk", &[Uuid]),
    provider("sonar", &[Of(UrlPadded, 40, 40)]),
    provider("sourcegraph", &[Of(AnyHex, 40, 40)]),
    provider("squarespace", &[Uuid]),
    provider("sumo", &[Behind("su", Alnum, 12, 12), Of(Alnum, 64, 64)]),
    provider("telegr", &[Of(Joined, 41, 52)]),
    provider("travis", &[Of(Alnum, 22, 22)]),
    provider("twitch", &[Of(Alnum, 30, 30)]),
    provider("twitter", &[
        Of(Alnum, 25, 25), Of(Alnum, 45, 45), Of(Alnum, 50, 50), Of(Url, 36, 66), Of(Percent, 102, 122),
    ]),
    provider("yandex", &[Behind("YC", Url, 38, 38)]),
    provider("zendesk", &[Of(Alnum, 40, 40)]),
];

/// Words between a service's name and its value, bytes.
const BETWEEN_BYTES_MAX: usize = 24;

/// The key behind a service's name, if the value is one of its kind.
pub(super) fn key_beside(text: &[u8], hit: Range<usize>, provider: &Provider) -> Option<Secret> {
    let starts = [behind_sign(text, &hit), behind_option(text, &hit)];
    let key_at = |start: usize| provider.keys.iter().find_map(|key| key.matches(text, start));
    let range = starts.into_iter().flatten().find_map(key_at)?;
    Some(Secret { range, kind: "key" })
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.".contains(&b)
}

fn is_quote(b: u8) -> bool {
    b"\"'`".contains(&b)
}

/// Where the value begins in `adafruit_key = "…"`, `adafruit: …`, `"adafruit-key", "…"`.
fn behind_sign(text: &[u8], hit: &Range<usize>) -> Option<usize> {
    let between = run_end(text, hit.end, BETWEEN_BYTES_MAX, |b| is_name(b) || b == b' ' || b == b'\t');
    let about = &text[hit.end..between];
    let names_a_digest = |word: &str| about.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    if ["sha", "md5", "hash", "digest", "checksum", "commit", "rev", "etag"].iter().any(|word| names_a_digest(word)) {
        return None;
    }
    let closed = run_end(text, between, 3, |b| is_quote(b) || b" \t]\\".contains(&b));
    let join = run_end(text, closed, 3, |b| b"=:>,|?".contains(&b));
    (join > closed).then(|| run_end(text, join, 6, |b| is_quote(b) || b" \t=\\".contains(&b)))
}

/// Where it begins in `--adafruit-key …`.
fn behind_option(text: &[u8], hit: &Range<usize>) -> Option<usize> {
    let end = run_end(text, hit.end, BETWEEN_BYTES_MAX, is_name);
    let start = run_start(text, hit.start, BETWEEN_BYTES_MAX, is_name);
    let is_option = text[start..end].starts_with(b"-") && text.get(end) == Some(&b' ');
    is_option.then(|| run_end(text, end, 2, |b| is_quote(b) || b == b' '))
}

impl ProviderKey {
    /// The key that starts there and ends where it should.
    fn matches(self, text: &[u8], start: usize) -> Option<Range<usize>> {
        let (body, alphabet, min, max) = match self {
            Uuid => return is_uuid(text.get(start..start + 36)?).then_some(start..start + 36),
            Of(alphabet, min, max) => (start, alphabet, min, max),
            Behind(prefix, alphabet, min, max) => {
                let has_prefix = text[start..].starts_with(prefix.as_bytes());
                (has_prefix.then_some(start + prefix.len())?, alphabet, min, max)
            }
        };
        let end = run_end(text, body, max + 1, |b| alphabet.has(b));
        let is_long_enough = (min..=max).contains(&(end - body));
        let is_word = |at: usize| text.get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || b"_-/(".contains(&b));
        let goes_on = is_word(end) || text.get(end) == Some(&b'.') && is_word(end + 1);
        let found = &text[start..end];
        (is_long_enough && !goes_on && found.iter().any(u8::is_ascii_digit)).then_some(start..end)
    }
}

#[cfg(test)]
impl Provider {
    /// For each format an alphabet, what stands before it, and a length.
    pub(super) fn samples(&self) -> Vec<(Alphabet, &'static str, usize)> {
        let sample = |key: &ProviderKey| match *key {
            Of(alphabet, min, _) => (alphabet, "", min),
            Behind(prefix, alphabet, min, _) => (alphabet, prefix, min),
            Uuid => (Alphabet::Hex, "0a1b2c3d-0a1b-0a1b-0a1b-", 12),
        };
        self.keys.iter().map(sample).collect()
    }
}
