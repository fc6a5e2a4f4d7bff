//! Arbitrary texts: nothing panics, and twice the text takes about twice the time.

use std::time::Instant;

use super::changed;
use crate::gate::criteria::file::CriteriaFile;
use crate::gate::document::adr::{AdrInputs, judge_adr};
use crate::gate::document::changelog::{ChangelogInputs, judge_changelog};
use crate::gate::document::openapi::judge_openapi;
use crate::gate::document::public_name::find_public_names;
use crate::gate::document::readme::{ReadmeFeature, judge_readme};
use crate::gate::document::route::find_route_changes;
use crate::gate::prp::Prp;

const PARTS: [&str; 34] = [
    "# ",
    "\n",
    "---\n",
    "===\n",
    "```\n",
    "<!--",
    "-->",
    "## [Unreleased]\n",
    "## 1.2.0\n",
    "- a\n",
    "a a a ",
    "$ref: '#/a'\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\u{1f980}",
    "\0",
    "\r",
    "\u{202e}",
    "  ",
    ": ",
    "/{a",
    "ADR-1 ",
    "a/0001-a.md ",
    "status: ",
    "&x ",
    "*x ",
    "? ",
    "`",
    "| ",
    "dependencies = [\n",
];

/// Gives the texts to everything that reads documents.
fn read_everywhere(before: &str, after: &str) {
    for path in [
        "a.md",
        "openapi.yaml",
        "openapi.json",
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "go.mod",
        "pom.xml",
        "a.rockspec",
        "a.ts",
        "a.py",
        ".changeset/a.md",
        ".changes/unreleased/a.yaml",
    ] {
        let document = [changed(path, before, after)];
        let (aliases, base_paths) = (["a a a a b".to_owned()], ["a/b.py".to_owned()]);
        let names = find_public_names(&document);
        let feature = ReadmeFeature { name: "a a b", slug: Some("a"), aliases: &aliases, public_names: &names };
        if path.starts_with("openapi") {
            judge_openapi(&document, &[]);
            continue;
        }
        judge_readme(&feature, &document);
        find_route_changes(&document);
        judge_changelog(&ChangelogInputs {
            changelogs: &document,
            changes: &document,
            generators: &[],
            commit_messages: &[after],
            places: &[],
        });
        judge_adr(&AdrInputs {
            places: &[],
            records: &document,
            prp: Some(after),
            commit_messages: &[after],
            changes: &document,
            base_paths: &base_paths,
        });
    }
    let _ = Prp::parse(after);
    let _ = CriteriaFile::parse(after, "qa-criteria.yml");
}

#[test]
fn nothing_panics() {
    for seed in 0..60_usize {
        let mut state = seed * 2_654_435_761 + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            PARTS[(state >> 33) % PARTS.len()]
        };
        let before: String = (0..60).map(|_| next()).collect();
        let after: String = (0..120).map(|_| next()).collect();
        read_everywhere(&before, &after);
        read_everywhere("", &after);
    }
}

#[test]
fn times_grow_with_the_text_alone() {
    for part in PARTS {
        let text = format!("## 1.0\n{}", part.repeat((24 << 10) / part.len()));
        let started = Instant::now();
        read_everywhere("", &text);
        let took = started.elapsed();
        assert!(took.as_secs() < 20, "{part:?}: {took:?}");
    }
}

#[test]
fn large_changes_are_compared_as_sets() {
    let before: String = (0..30_000).map(|n| format!("line {n}\n")).collect();
    let after: String = (0..30_000).rev().map(|n| format!("line {n}\n")).collect();
    assert!(changed("a", &before, &after).fresh_texts().is_empty());
    let other: String = (0..30_000).map(|n| format!("other {n}\n")).collect();
    assert_eq!(changed("a", &before, &other).added_lines.len(), 30_000);
}

#[test]
fn many_paths_may_share_one_item() {
    let mut text = "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    parameters:\n".to_owned();
    (0..5_000).for_each(|n| text.push_str(&format!("      - {{name: p{n}, in: path}}\n")));
    text.push_str("    get: {}\n");
    (0..5_000).for_each(|n| text.push_str(&format!("  /b{n}/{{p{n}}}: {{$ref: '#/paths/~1a'}}\n")));
    let started = Instant::now();
    let answer = judge_openapi(&[changed("openapi.yaml", &text, &text)], &[]);
    assert!(super::shown_answer(&answer).starts_with("met"), "{answer:?}");
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}
