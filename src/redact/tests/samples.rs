//! Random samples of every format and notation: how many are found.

use super::alphabet::Alphabet;
use super::formats::{BodyRequirement, EmbeddedFormat, INSIDE, PREFIXED, PrefixedFormat};
use super::providers::PROVIDERS;
use super::*;

/// Samples of one format.
const SAMPLES: usize = 8;

/// A small generator, the same numbers in every run (Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    fn text(&mut self, alphabet: Alphabet, length: usize) -> String {
        let bytes: Vec<u8> = (0..=127).filter(|&b| alphabet.has_byte(b)).collect();
        (0..length).map(|_| char::from(bytes[self.below(bytes.len())])).collect()
    }

    /// A body that meets the needs of its format.
    fn body(&mut self, alphabet: Alphabet, length: usize, needs: BodyRequirement) -> String {
        for _ in 0..10_000 {
            let mut body = self.text(alphabet, length);
            match needs {
                BodyRequirement::Dots(count) => (1..=usize::from(count)).for_each(|n| {
                    let at = n * length / (usize::from(count) + 1);
                    body.replace_range(at..=at, ".");
                }),
                BodyRequirement::Percent => body.replace_range(2..3, "%"),
                _ => {}
            }
            // Neither starts nor ends with what the sentence around it may have.
            let edges = [body.as_bytes().first(), body.as_bytes().last()];
            let is_clean = edges.iter().flatten().all(|b| b.is_ascii_alphanumeric());
            if is_clean && needs.are_met(body.as_bytes()) && !body.contains("..") {
                return body;
            }
        }
        panic!("no body of {length} bytes meets {needs:?}");
    }

    fn prefixed(&mut self, format: &PrefixedFormat) -> String {
        let length = if format.max == usize::MAX { format.min + self.below(4) } else { format.min };
        let body = self.body(format.body, length, format.needs);
        // A host's path.
        let lead = if format.prefix.contains('/') { "https://" } else { "" };
        format!("{lead}{}{body}", format.prefix)
    }

    fn inside(&mut self, format: &EmbeddedFormat) -> String {
        let before = self.body(format.before, format.before_min, format.needs);
        let after = if format.after_min == 0 {
            String::new()
        } else {
            self.body(format.after, format.after_min, BodyRequirement::Nothing)
        };
        let before = if format.literal == "Q~" { format!("{}7", &before[..3]) } else { before };
        format!("{before}{}{after}", format.literal)
    }
}

/// The notations of a value beside a name.
fn notations(name: &str, value: &str) -> [(&'static str, String); 5] {
    [
        ("K = \"v\"", format!("{name} = \"{value}\"")),
        ("JSON", format!("  \"{name}\": \"{value}\",")),
        ("K=v", format!("{}={value}", name.to_uppercase())),
        ("key: value", format!("{name}: {value}")),
        ("argument", format!("deploy --{} {value} --verbose", name.replace('_', "-"))),
    ]
}

/// Whether neither half of the value is left.
fn is_gone(value: &str, text: &str) -> bool {
    let (first, second) = value.split_at(value.len() / 2);
    let redacted = redact_text(text).0;
    !redacted.contains(first) && !redacted.contains(second)
}

#[derive(Default)]
struct Share {
    found: usize,
    all: usize,
    missed: Vec<String>,
}

impl Share {
    fn add(&mut self, value: &str, text: String) {
        self.all += 1;
        if is_gone(value, &text) {
            self.found += 1;
        } else {
            self.missed.push(text);
        }
    }

    fn is_at_least(&self, percent: usize, what: &str) {
        assert!(
            self.all > 0 && self.found * 100 >= self.all * percent,
            "{what}: {}/{}: {:#?}",
            self.found,
            self.all,
            self.missed
        );
    }
}

#[test]
fn tokens_of_every_format_are_found_in_every_notation() {
    let mut random = Random(17);
    let mut shares: std::collections::BTreeMap<&str, Share> = Default::default();
    let mut samples: Vec<String> = Vec::new();
    for _ in 0..SAMPLES {
        samples.extend(PREFIXED.iter().map(|format| random.prefixed(format)));
        samples.extend(INSIDE.iter().map(|format| random.inside(format)));
    }
    for sample in &samples {
        shares.entry("bare").or_default().add(sample, format!("got {sample} here"));
        for (notation, text) in notations("some_value", sample) {
            shares.entry(notation).or_default().add(sample, text);
        }
    }
    shares.iter().for_each(|(notation, share)| share.is_at_least(99, notation));
}

#[test]
fn keys_of_every_provider_are_found_in_every_notation() {
    let mut random = Random(18);
    let mut shares: std::collections::BTreeMap<&str, Share> = Default::default();
    for provider in PROVIDERS {
        for (alphabet, prefix, length) in provider.sample_shapes() {
            for suffix in ["", "_key", "_token", "_secret", "_client_id"] {
                let needs = if alphabet == Alphabet::Hex { BodyRequirement::Nothing } else { BodyRequirement::Digit };
                let value = format!("{prefix}{}", random.body(alphabet, length, needs));
                for (notation, text) in notations(&format!("{}{suffix}", provider.name), &value) {
                    shares.entry(notation).or_default().add(&value, text);
                }
            }
        }
    }
    shares.iter().for_each(|(notation, share)| share.is_at_least(97, notation));
}

#[test]
fn named_values_are_found_in_every_notation() {
    let names =
        ["api_key", "acme_key", "deploy_token", "client_secret", "db_password", "acme_signing_key", "access_token"];
    let alphabets = [(Alphabet::AnyHex, 32), (Alphabet::Alnum, 20), (Alphabet::Url, 40), (Alphabet::Base64, 44)];
    let mut random = Random(19);
    let mut shares: std::collections::BTreeMap<&str, Share> = Default::default();
    for name in names {
        for (alphabet, length) in alphabets {
            for _ in 0..SAMPLES {
                let value = random.body(alphabet, length, BodyRequirement::Digit);
                for (notation, text) in notations(name, &value) {
                    shares.entry(notation).or_default().add(&value, text);
                }
                let title = name.replace('_', "-");
                let further = [
                    ("export", format!("export {}='{value}'", name.to_uppercase())),
                    ("k => v", format!("'{name}' => '{value}',")),
                    ("element", format!("<{name}>{value}</{name}>")),
                    ("attribute", format!("<add key=\"{name}\" value=\"{value}\" />")),
                    ("call", format!("setenv(\"{name}\", \"{value}\")")),
                    ("query", format!("GET /v1/items?page=2&{name}={value}&sort=asc")),
                    ("header", format!("curl -H \"X-{title}: {value}\" https://example.com")),
                    ("option=", format!("deploy --{title}={value}")),
                    ("escaped", format!("{{\\\"{name}\\\":\\\"{value}\\\"}}")),
                    ("indented", format!("services:\n    {name}: {value}\n")),
                ];
                for (notation, text) in further {
                    shares.entry(notation).or_default().add(&value, text);
                }
            }
        }
    }
    shares.iter().for_each(|(notation, share)| share.is_at_least(97, notation));
}

/// Credentials that their form gives away.
const CARRIED: [(&str, &str); 27] = [
    ("Cookie: theme=dark; sessionid=38afes7a8d9b", "38afes7a8d9b"),
    ("Set-Cookie: sid=s3Cr3tv4lue; Path=/; HttpOnly", "s3Cr3tv4lue"),
    (r#""set-cookie": ["session=a8Zk2LmQ; Path=/"]"#, "a8Zk2LmQ"),
    ("sessionid=38afes7a8djs", "38afes7a8djs"),
    ("curl -u deploy:hunter2 https://example.com", "hunter2"),
    ("$ curl -sS --user 'deploy:hunter2' https://example.com", "hunter2"),
    ("curl -fsSL \\\n  -u deploy:hunter2 \\\n  https://example.com", "hunter2"),
    ("mysql -h db -uroot -phunter2 app", "hunter2"),
    ("mysqldump -phunter2 app > x.sql", "hunter2"),
    ("sshpass -p hunter2 ssh app@host", "hunter2"),
    ("docker login -u me -p hunter2 registry.example.com", "hunter2"),
    ("redis-cli -h cache -a hunter2 ping", "hunter2"),
    ("machine api.example.com login me password hunter2", "hunter2"),
    ("machine api.example.com\n  login me\n  password hunter2\n", "hunter2"),
    ("https://x.blob.core.windows.net/c/f?sv=2022-11-02&se=2026-01-01&sig=a%2Bb3C4d5E6f7G8h9I0j1K2l3%3D", "C4d5E6f7"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=2c26b46b68ffc68ff99b453c1d304134", "2c26b46b68"),
    ("AccountName=a;AccountKey=Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRg==;EndpointSuffix=core.windows.net", "Zm9vYmFy"),
    ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRg=", "Zm9vYmFy"),
    ("Authorization: ApiKey Zm9vYmFyMTIzNDU2", "Zm9vYmFy"),
    ("proxy-authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("sent header Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpw"),
    ("X-Vault-Token: 0123456789abcdef0123", "0123456789ab"),
    ("Ocp-Apim-Subscription-Key: 0123456789abcdef0123456789abcdef", "0123456789ab"),
    ("The API key is: 0a1b2c3d4e5f60718293a4b5c6d7e8f9", "0a1b2c3d"),
    ("used token 0a1b2c3d4e5f60718293a4b5c6d7e8f9 for it", "0a1b2c3d"),
    ("config-test_ghp_0123456789abcdefghijABCDEFGHIJ456789.json", "ghp_0123"),
    (
        "PuTTY-User-Key-File-3: x\nPrivate-Lines: 2\nAAAAgQC7d3h2kl3jh4kjh5\nkjh34kjhkjh3k4jh5kjh\nPrivate-MAC: 1",
        "AAAAgQC7",
    ),
];

#[test]
fn credentials_are_found_by_what_carries_them() {
    for (text, secret) in CARRIED {
        let (redacted, count) = redact_text(text);
        assert!(count > 0 && !redacted.contains(secret), "{text:?} became {redacted:?}");
        assert_eq!(redact_text(&redacted), (Cow::Borrowed(&*redacted), 0), "{text:?}");
    }
}

#[test]
fn arguments_of_programs_lose_their_passwords() {
    let cases: [(&[&str], &str); 6] = [
        (&["curl", "-u", "me:hunter2", "x"], "curl -u me:[redacted:password] x"),
        (&["/usr/bin/mysql", "-uroot", "-phunter2"], "/usr/bin/mysql -uroot -p[redacted:password]"),
        (&["curl", "-H", "X-Acme-Token: abcdefgh1", "x"], "curl -H X-Acme-Token: [redacted:header] x"),
        (&["tool", "--key", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"], "tool --key [redacted:key]"),
        (&["pytest", "-k", "test_key", "-p", "no:cacheprovider"], "pytest -k test_key -p no:cacheprovider"),
        (&["tool", "--sort-key", "name", "--key", "main.go"], "tool --sort-key name --key main.go"),
    ];
    for (args, expected) in cases {
        let (redacted, _) = redact_args(args);
        assert_eq!(redacted.join(" "), expected);
        assert_eq!(redact_args(&redacted).1, 0, "{redacted:?}");
    }
}

#[test]
fn copies_go_too_though_a_tool_has_cut_them() {
    // As pytest prints a failed assertion about each: whole in one place, shortened in another, in either order.
    let whole = [
        ("postgres://admin:s3cr3tPassw0rd@db/x", "postgres://admin:s3cr3tPassw0r...", "s3cr3t"),
        ("GOOGLE_MAPS=AIzaSyD-1234567890abcdefghijklmnopqrstu", "AIzaSyD-1234567890abcdefghijklmn...", "AIzaSyD"),
        ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "'ghp_a1B2c3D4...2m3N4o5P6q7R8'", "N4o5P6"),
        ("client_secret = 'Correct9Horse8Battery7'", "assert 'Correct9Hor…' == ''", "Correct9"),
        ("DB_PASSWORD=hunter2Xy", "connect(hunter2Xy) failed", "hunter2Xy"),
    ];
    for (text, cut, secret) in whole {
        for both in [format!("{text}\n{cut}\n"), format!("{cut}\n{text}\n")] {
            let redacted = redact_text(&both).0;
            assert!(!redacted.contains(secret), "{both:?} became {redacted:?}");
        }
    }
    // One with a shape of its own needs no whole copy.
    for cut in [
        "AIzaSyD-1234567890abc...",
        "ghp_a1B2c3D4...2m3N4o5P6q7R8",
        "postgres://admin:s3cr3tPassw0r...",
        "eyJhbGciOiJIUzI1NiIsInR5...",
    ] {
        let redacted = redact_text(cut).0;
        assert!(redacted.contains("[redacted:") && !redacted.contains("m3N4"), "{cut:?} became {redacted:?}");
    }
    // What is no copy stays: the same first letters, or a word.
    let kept = "password=testing99x\nrunning test... ok\ntesting... ok\n";
    assert_eq!(redact_text(kept).0, "password=[redacted:password]\nrunning test... ok\ntesting... ok\n");
}
