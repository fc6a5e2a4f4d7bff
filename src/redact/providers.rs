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
    /// This alphabet, in this many bytes.
    Of(Alphabet, usize, usize),
    /// The same behind a prefix.
    Behind(&'static str, Alphabet, usize, usize),
    Uuid,
}

use ProviderKey::{Behind, Of, Uuid};

const fn new_provider(name: &'static str, keys: &'static [ProviderKey]) -> Provider {
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
    new_provider("adafruit", &[Of(Url, 32, 32)]),
    new_provider("adobe", &[Of(AnyHex, 32, 32)]),
    new_provider("airtable", &[Of(Alnum, 17, 17)]),
    new_provider("algolia", &[Of(Alnum, 32, 32)]),
    new_provider("alibaba", &[Of(Alnum, 30, 30)]),
    new_provider("artifactory", JFROG),
    new_provider("asana", &[Of(Digits, 16, 16), Of(Alnum, 32, 32)]),
    new_provider("atlassian", ATLASSIAN),
    new_provider("confluence", ATLASSIAN),
    new_provider("jira", ATLASSIAN),
    new_provider("beamer", &[Behind("b_", UrlPadded, 44, 44)]),
    new_provider("bintray", JFROG),
    new_provider("bitbucket", &[Of(Alnum, 32, 32), Of(UrlPadded, 64, 64)]),
    new_provider("bittrex", &[Of(Alnum, 32, 32)]),
    new_provider("contribsys__com", CONTRIBSYS),
    new_provider("cloudflare", &[Of(Url, 40, 40), Of(AnyHex, 37, 37)]),
    new_provider("codecov", &[Of(Alnum, 32, 32), Uuid]),
    new_provider("cohere", &[Of(Alnum, 40, 40)]),
    new_provider("co_api_key", &[Of(Alnum, 40, 40)]),
    new_provider("coinbase", &[Of(Url, 64, 64)]),
    new_provider("confluent", &[Of(Alnum, 16, 16), Of(Alnum, 64, 64)]),
    new_provider("contentful", &[Of(UrlPadded, 43, 43)]),
    new_provider("datadog", &[Of(Alnum, 40, 40), Of(AnyHex, 32, 32)]),
    new_provider("dd_api_key", &[Of(AnyHex, 32, 32)]),
    new_provider("discord", &[Of(AnyHex, 64, 64), Of(Digits, 17, 19), Of(UrlPadded, 32, 32), Of(Dotted, 59, 72)]),
    new_provider("droneci", &[Of(Alnum, 32, 32)]),
    new_provider("dropbox", &[Of(Alnum, 15, 15), Of(UrlPadded, 64, 64), Behind("sl.", UrlPadded, 130, 1300)]),
    new_provider("etsy", &[Of(Alnum, 24, 24)]),
    new_provider("facebook", &[Of(AnyHex, 32, 32), Of(Joined, 43, 57)]),
    new_provider("fastly", &[Of(UrlPadded, 32, 32)]),
    new_provider("finicity", &[Of(AnyHex, 32, 32), Of(Alnum, 20, 20)]),
    new_provider("finnhub", &[Of(Alnum, 20, 20)]),
    new_provider("flickr", &[Of(Alnum, 32, 32)]),
    new_provider("freshbooks", &[Of(Alnum, 64, 64)]),
    new_provider("gitter", &[Of(Url, 40, 40)]),
    new_provider("gocardless", &[Behind("live_", UrlPadded, 40, 40), Behind("sandbox_", UrlPadded, 40, 40)]),
    new_provider("heroku", &[Uuid]),
    new_provider("hubspot", &[Uuid]),
    new_provider("intercom", &[Of(UrlPadded, 60, 60)]),
    new_provider("jfrog", JFROG),
    new_provider("xray", JFROG),
    new_provider("kraken", &[Of(Wide, 80, 90)]),
    new_provider("kucoin", &[Of(AnyHex, 24, 24), Uuid]),
    new_provider("launchdarkly", &[Of(UrlPadded, 40, 40), Uuid]),
    new_provider("linear", &[Of(AnyHex, 32, 32)]),
    new_provider("linkedin", LINKEDIN),
    new_provider("linked_in", LINKEDIN),
    new_provider("linked-in", LINKEDIN),
    new_provider("lob", &[
        Behind("live_", AnyHex, 35, 35), Behind("test_", AnyHex, 35, 35),
        Behind("live_pub_", AnyHex, 31, 31), Behind("test_pub_", AnyHex, 31, 31),
    ]),
    new_provider("mailgun", &[
        Behind("key-", AnyHex, 32, 32), Behind("pubkey-", AnyHex, 32, 32), Of(Url, 50, 50),
    ]),
    new_provider("mapbox", &[Behind("pk.", Dotted, 83, 83)]),
    new_provider("mattermost", &[Of(Alnum, 26, 26)]),
    new_provider("meraki", &[Of(AnyHex, 40, 40)]),
    new_provider("messagebird", MESSAGEBIRD),
    new_provider("message_bird", MESSAGEBIRD),
    new_provider("message-bird", MESSAGEBIRD),
    new_provider("netlify", &[Of(UrlPadded, 40, 46)]),
    new_provider("newrelic", NEW_RELIC),
    new_provider("new-relic", NEW_RELIC),
    new_provider("new_relic", NEW_RELIC),
    new_provider("nytimes", NYTIMES),
    new_provider("newyorktimes", NYTIMES),
    new_provider("new-york-times", NYTIMES),
    new_provider("okta", &[Behind("00", UrlPadded, 40, 40)]),
    new_provider("plaid", &[Of(Alnum, 24, 24), Of(Alnum, 30, 30)]),
    new_provider("privateai", PRIVATE_AI),
    new_provider("private_ai", PRIVATE_AI),
    new_provider("private-ai", PRIVATE_AI),
    new_provider("rapidapi", &[Of(Url, 50, 50)]),
    new_provider("sendbird", &[Uuid, Of(AnyHex, 40, 40)]),
    new_provider("sentry", &[Of(AnyHex, 64, 64)]),
    new_provider("snyk", &[Uuid]),
    new_provider("sonar", &[Of(UrlPadded, 40, 40)]),
    new_provider("sourcegraph", &[Of(AnyHex, 40, 40)]),
    new_provider("squarespace", &[Uuid]),
    new_provider("sumo", &[Behind("su", Alnum, 12, 12), Of(Alnum, 64, 64)]),
    new_provider("telegr", &[Of(Joined, 41, 52)]),
    new_provider("travis", &[Of(Alnum, 22, 22)]),
    new_provider("twitch", &[Of(Alnum, 30, 30)]),
    new_provider("twitter", &[
        Of(Alnum, 25, 25), Of(Alnum, 45, 45), Of(Alnum, 50, 50), Of(Url, 36, 66), Of(Percent, 102, 122),
    ]),
    new_provider("yandex", &[Behind("YC", Url, 38, 38)]),
    new_provider("zendesk", &[Of(Alnum, 40, 40)]),
];

/// Words between a service's name and its value, bytes.
const BETWEEN_BYTES_MAX: usize = 24;

/// The key behind a service's name, if the value is one of its kind.
pub(super) fn key_beside(text: &[u8], hit: Range<usize>, provider: &Provider) -> Option<Secret> {
    let starts = [behind_sign(text, &hit), behind_option(text, &hit)];
    let key_at = |start: usize| provider.keys.iter().find_map(|key| key.match_at(text, start));
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
    fn match_at(self, text: &[u8], start: usize) -> Option<Range<usize>> {
        let (body, alphabet, min, max) = match self {
            Uuid => return is_uuid(text.get(start..start + 36)?).then_some(start..start + 36),
            Of(alphabet, min, max) => (start, alphabet, min, max),
            Behind(prefix, alphabet, min, max) => {
                let has_prefix = text[start..].starts_with(prefix.as_bytes());
                (has_prefix.then_some(start + prefix.len())?, alphabet, min, max)
            }
        };
        let end = run_end(text, body, max + 1, |b| alphabet.has_byte(b));
        let is_long_enough = (min..=max).contains(&(end - body));
        let is_word = |at: usize| text.get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || b"_-/(".contains(&b));
        let goes_on = is_word(end) || text.get(end) == Some(&b'.') && is_word(end + 1);
        let found = &text[start..end];
        (is_long_enough && !goes_on && found.iter().any(u8::is_ascii_digit)).then_some(start..end)
    }
}

#[cfg(test)]
impl Provider {
    /// For each format an alphabet, what precedes it, and a length.
    pub(super) fn sample_shapes(&self) -> Vec<(Alphabet, &'static str, usize)> {
        let sample = |key: &ProviderKey| match *key {
            Of(alphabet, min, _) => (alphabet, "", min),
            Behind(prefix, alphabet, min, _) => (alphabet, prefix, min),
            Uuid => (Alphabet::Hex, "0a1b2c3d-0a1b-0a1b-0a1b-", 12),
        };
        self.keys.iter().map(sample).collect()
    }
}
