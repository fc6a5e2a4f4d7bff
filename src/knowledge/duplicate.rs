//! Whether two entries say the same.
//!
//! Jaccard of their normalised words decides how alike they are. Very alike is not yet the same: a number, a negation or
//! the one word that says which of two things is meant makes another entry of it, and so does "before" the other way
//! round. Such pairs are suggested, never merged.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::words::normalised;
use crate::config::KnowledgeSettings;

/// Words that turn a sentence into another one when only one of two has them.
const TELLING: [&str; 40] = [
    "not", "never", "without", "no", "non", "instead", "avoid", "only", "except", "unless", "befor", "after", "enabl",
    "disabl", "add", "remov", "start", "stop", "open", "clos", "up", "down", "first", "last", "allow", "deny",
    "forbid", "upgrad", "downgrad", "push", "pull", "read", "writ", "over", "under", "from", "into", "until", "old",
    "new",
];
/// Words around which it matters on which side the others are; normal forms, as those above.
const PIVOTS: [&str; 8] = ["befor", "after", "instead", "over", "from", "into", "never", "not"];
/// Of these also at the start of a sentence: "after this, that".
const LEADING: [&str; 2] = ["befor", "after"];
/// Two forms of one word begin alike, letters.
const FORM_LETTERS_MIN: usize = 4;

/// What is compared of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NormalisedWords {
    ordered: Vec<String>,
    set: BTreeSet<String>,
}

/// How two entries relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryLikeness {
    /// They say the same.
    Same,
    /// They may: a person should look.
    Alike,
    /// They don't.
    Different,
}

impl NormalisedWords {
    /// The words of a text.
    pub(crate) fn from_text(text: &str) -> Self {
        NormalisedWords::from_forms(normalised(text))
    }

    /// Words that are in their normal form already.
    pub(crate) fn from_forms(ordered: Vec<String>) -> Self {
        NormalisedWords { set: ordered.iter().cloned().collect(), ordered }
    }

    /// The words themselves, in their order.
    pub(crate) fn as_slice(&self) -> &[String] {
        &self.ordered
    }

    /// Shared words by all words, 0 to 1; 0 where there are none.
    pub(crate) fn jaccard(&self, other: &NormalisedWords) -> f64 {
        let shared = self.set.intersection(&other.set).count();
        let all = self.set.len() + other.set.len() - shared;
        shared as f64 / all.max(1) as f64
    }

    /// This many of its words at least has everything that is at least `least` alike.
    pub(crate) fn min_shared_words(&self, least: f64) -> usize {
        let all = self.set.len();
        // A whole number from 1 to the number of words.
        ((least * all as f64).ceil().max(1.0) as usize).min(all)
    }
}

/// How two entries of one type relate, and how alike their words are.
pub(crate) fn compare_entries(
    a: &NormalisedWords,
    b: &NormalisedWords,
    settings: &KnowledgeSettings,
) -> (f64, EntryLikeness) {
    let jaccard = a.jaccard(b);
    let likeness = match jaccard {
        same if same > settings.merged && !has_telling_difference(a, b) => EntryLikeness::Same,
        alike if alike >= settings.suggested => EntryLikeness::Alike,
        _ => EntryLikeness::Different,
    };
    (jaccard, likeness)
}

/// Whether what only one of them says makes the other a different thing.
fn has_telling_difference(a: &NormalisedWords, b: &NormalisedWords) -> bool {
    let only_a: Vec<&String> = a.set.difference(&b.set).collect();
    let only_b: Vec<&String> = b.set.difference(&a.set).collect();
    let is_telling =
        |word: &&String| TELLING.contains(&word.as_str()) || word.bytes().any(|byte| byte.is_ascii_digit());
    if only_a.iter().chain(&only_b).any(is_telling) {
        return true;
    }
    // A word in place of another: which of two things is meant. Other forms of one word are no other word.
    let is_form = |word: &String, others: &[&String]| others.iter().any(|other| has_common_stem(word, other));
    if !only_a.is_empty() && !only_b.is_empty() {
        let (fewer, more) = if only_a.len() <= only_b.len() { (&only_a, &only_b) } else { (&only_b, &only_a) };
        if fewer.iter().any(|word| !is_form(word, more)) {
            return true;
        }
    }
    PIVOTS.iter().any(|pivot| is_order_reversed(a, b, pivot))
}

/// Whether a word that both have is on one side of `pivot` in the one and on the other side in the other.
fn is_order_reversed(a: &NormalisedWords, b: &NormalisedWords, pivot: &str) -> bool {
    let split = |words: &NormalisedWords, other: &NormalisedWords| -> Option<(Vec<String>, Vec<String>)> {
        let shared = words.ordered.iter().filter(|word| other.set.contains(*word));
        let shared: Vec<String> = shared.cloned().collect();
        let at = shared.iter().position(|word| word == pivot)?;
        Some((shared[..at].to_vec(), shared[at + 1..].to_vec()))
    };
    let (Some(mut a), Some(mut b)) = (split(a, b), split(b, a)) else { return false };
    if a.0.is_empty() && b.0.is_empty() {
        // "After this, that" twice: what comes first must be the same, whatever its order.
        let half = a.1.len() / 2;
        return LEADING.contains(&pivot) && a.1[..half].iter().all(|word| !b.1[..half].contains(word));
    }
    // "After this, that" is "that after this".
    let (right_of_a, right_of_b) = (a.1.len(), b.1.len());
    for (one, right) in [(&mut a, right_of_b), (&mut b, right_of_a)] {
        if one.0.is_empty() && LEADING.contains(&pivot) {
            one.0 = one.1.split_off(right.min(one.1.len()));
        }
    }
    a.0.iter().any(|word| b.1.contains(word)) || a.1.iter().any(|word| b.0.contains(word))
}

fn has_common_stem(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    shared >= FORM_LETTERS_MIN && shared * 2 >= a.chars().count().max(b.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> (f64, EntryLikeness) {
        compare_entries(&NormalisedWords::from_text(a), &NormalisedWords::from_text(b), &KnowledgeSettings::default())
    }

    /// Pairs that people would call one entry, as two agents that know nothing of each other would write them.
    const DUPLICATES: [(&str, &str); 30] = [
        ("Run npm ci before the tests in CI", "Always run `npm ci` before tests in CI."),
        (
            "The database migration must run before the server starts",
            "Run the DB migrations before starting the server",
        ),
        ("Don't edit generated files in src/gen by hand", "Do not hand edit generated files in `src/gen`"),
        ("Mock the clock in tests of token expiry", "In token expiry tests, the clock should be mocked"),
        ("Prices are integers in cents, never floats", "prices: integers in cents, never float"),
        ("cargo test needs the postgres container running", "`cargo test` needs a running Postgres container"),
        ("eslint fails on unused imports in test files", "ESLint failed on unused imports in the test file"),
        ("Set NODE_ENV=test when running the jest suite", "When the jest suite runs, set NODE_ENV=test"),
        (
            "Close the database connection in the teardown of each test",
            "In each test's teardown, close the DB connection",
        ),
        (
            "Use the fetchUser helper for loading users in components",
            "Components use the fetch_user helper for loading a user",
        ),
        ("The cache directory has to be writable for the build", "The build needs a writable cache dir"),
        ("Timezone of the tests is UTC: set TZ=UTC", "tests' timezone is UTC, so set TZ=UTC"),
        ("Install dependencies with pnpm, not with npm", "Install deps with pnpm, not npm!"),
        ("mypy needs the stubs package types-requests installed", "mypy needs stubs: install package types-requests"),
        ("Snapshots are updated with jest -u only after review", "Update snapshots with `jest -u` only after a review"),
        (
            "The linter config is shared; change it in config/eslint.json",
            "linter configuration is shared, change it in config/eslint.json",
        ),
        (
            "Regenerate the protobuf code after changing a proto file",
            "After a proto file changed, regenerate protobuf code",
        ),
        (
            "Integration tests share one port and cannot run in parallel",
            "Integration tests can't run in parallel: they share one port",
        ),
        (
            "Use transactions when writing orders and invoices together",
            "Use a transaction when orders and invoices are written together",
        ),
        ("The staging environment has no outgoing network access", "Staging env has no outgoing network access"),
        (
            "Secrets are read from the vault, never from env files",
            "secrets are read from the vault; never from .env files",
        ),
        (
            "Wrap async handlers so that rejected promises reach the error handler",
            "Async handlers: wrap them so rejected promises reach the error handler",
        ),
        (
            "Feature flags default to off in production configuration",
            "In production config, feature flags default to off",
        ),
        ("The order of middleware matters: auth comes first", "Middleware order matters: authentication comes first"),
        (
            "pytest fixtures with session scope must not change the database",
            "Session scope pytest fixtures mustn't change the DB",
        ),
        (
            "Rebase feature branches before opening a pull request",
            "Rebase a feature branch before you open the pull request",
        ),
        ("Docker build fails when the lock file is stale", "docker builds fail when lock files are stale"),
        ("The API returns dates as ISO strings in UTC", "Dates are returned by the API as ISO strings, in UTC"),
        // Too far apart in words for any rule about words.
        ("Never commit straight to the release branch", "Release branches only get changes through pull requests"),
        ("The build is flaky when memory is low", "Out of memory makes builds fail now and then"),
    ];

    /// Pairs that read alike and are not the same: what holds for one is wrong for the other.
    const NEAR_MISSES: [(&str, &str); 22] = [
        ("After starting the server, run the migration", "After running the migration, start the server"),
        ("Prices are integers in cents, never floats", "Prices are floats in cents, never integers"),
        (
            "The API server listens on port 8080 during local tests",
            "The API server listens on port 9090 during local tests",
        ),
        ("Run the migration before starting the server", "Start the server before running the migration"),
        (
            "Use transactions when writing orders and invoices together",
            "Don't use transactions when writing orders and invoices together",
        ),
        (
            "The staging deploy needs the VPN and a fresh token from the vault",
            "The production deploy needs the VPN and a fresh token from the vault",
        ),
        (
            "Enable strict mode in the TypeScript config of the web package",
            "Disable strict mode in the TypeScript config of the web package",
        ),
        (
            "Use fetchUser to load the profile page data in the web client",
            "Use fetchOrder to load the profile page data in the web client",
        ),
        (
            "Add the package to the allow list before the release build runs",
            "Remove the package from the allow list before the release build runs",
        ),
        (
            "Python 3.11 is required for the worker image and its tests",
            "Python 3.12 is required for the worker image and its tests",
        ),
        (
            "Prefer pnpm over npm for installing the workspace packages",
            "Prefer npm over pnpm for installing the workspace packages",
        ),
        (
            "Prices are stored as integers in cents in the orders table",
            "Prices are stored as integers in cents in the invoices table",
        ),
        (
            "Cache the session lookups in the auth middleware for speed",
            "Cache the session lookups in the billing middleware for speed",
        ),
        (
            "Only admins may call the export endpoint of the reports API",
            "Admins may call the export endpoint of the reports API",
        ),
        (
            "Tests of the importer need the network and a running broker",
            "Tests of the importer need a running broker without the network",
        ),
        (
            "Open the connection in the setup of every integration test",
            "Close the connection in the setup of every integration test",
        ),
        (
            "The retry limit of the mail queue is 3 attempts per message",
            "The retry limit of the mail queue is 5 attempts per message",
        ),
        (
            "Read the feature flags from the config service at startup",
            "Write the feature flags to the config service at startup",
        ),
        (
            "Install libpq before building the psycopg wheel on Debian",
            "Install libpq before building the psycopg wheel on Alpine",
        ),
        (
            "Old migrations must be kept for the upgrade tests to pass",
            "New migrations must be kept for the upgrade tests to pass",
        ),
        (
            "Pull the base image before the nightly build of the worker",
            "Push the base image after the nightly build of the worker",
        ),
        (
            "Downgrade eslint to version 8 until the plugin is ported",
            "Upgrade eslint to version 8 until the plugin is ported",
        ),
    ];

    #[test]
    fn at_least_80_percent_of_labelled_duplicates_are_merged_and_no_near_miss() {
        let missed: Vec<_> = DUPLICATES
            .iter()
            .map(|(a, b)| (likeness(a, b), a))
            .filter(|((_, likeness), _)| *likeness != EntryLikeness::Same)
            .collect();
        let wrong: Vec<_> = NEAR_MISSES
            .iter()
            .map(|(a, b)| (likeness(a, b), a))
            .filter(|((_, likeness), _)| *likeness == EntryLikeness::Same)
            .collect();
        assert_eq!(wrong, [], "merged, and not the same");
        assert!(missed.len() * 5 <= DUPLICATES.len(), "missed: {missed:#?}");
        // Which way round doesn't matter.
        for (a, b) in DUPLICATES.iter().chain(&NEAR_MISSES) {
            assert_eq!(likeness(a, b), likeness(b, a));
        }
    }

    #[test]
    fn between_060_and_080_a_duplicate_is_suggested() {
        let (jaccard, found) = likeness("alpha bravo cargo delta echo", "alpha bravo cargo delta foxtrot");
        assert!((jaccard - 4.0 / 6.0).abs() < 1e-9);
        assert_eq!(found, EntryLikeness::Alike);
        // Exactly 0.80 is not above it.
        assert_eq!(likeness("alpha bravo cargo delta", "alpha bravo cargo delta echo"), (0.8, EntryLikeness::Alike));
        assert_eq!(likeness("alpha bravo cargo", "alpha delta echo").1, EntryLikeness::Different);
        assert_eq!(likeness("", "").1, EntryLikeness::Different);
    }

    #[test]
    fn whatever_is_alike_shares_so_many_words() {
        let words =
            |count: usize| NormalisedWords::from_text(&(0..count).map(|n| format!("w{n} ")).collect::<String>());
        for all in 1..40 {
            let one = words(all);
            let shared = one.min_shared_words(0.6);
            assert!(shared >= 1 && shared <= all);
            // One word fewer is too few.
            assert!(((shared - 1) as f64) < 0.6 * all as f64, "{all}: {shared}");
        }
    }
}
