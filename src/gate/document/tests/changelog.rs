use super::{added, changed, shown_answer};
use crate::gate::document::ChangedDocument;
use crate::gate::document::changelog::{ChangelogInputs, find_generators, is_conventional_message, judge_changelog};

fn judge_all(
    changelogs: &[ChangedDocument<'_>],
    changes: &[ChangedDocument<'_>],
    files: &[(&str, &str)],
    messages: &[&str],
) -> String {
    let generators = find_generators(files);
    let places = ["CHANGELOG.md".to_owned()];
    let inputs =
        ChangelogInputs { changelogs, changes, generators: &generators, commit_messages: messages, places: &places };
    shown_answer(&judge_changelog(&inputs))
}

fn judge(before: &str, after: &str) -> String {
    judge_all(&[changed("CHANGELOG.md", before, after)], &[], &[], &[])
}

const KEEP: &str = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- old entry\n\n## [1.1.0] - 2026-01-02\n\n- b\n\n## [1.0.0] - 2026-01-01\n\n- a\n\n[1.1.0]: https://x\n";

#[test]
fn an_entry_is_a_new_line_below_unreleased() {
    assert_eq!(
        judge(KEEP, &KEEP.replace("- old entry\n", "- old entry\n- new\n")),
        "met: CHANGELOG.md:8 under \"[Unreleased]\""
    );
    let cases = [
        (KEEP.to_owned(), "not met: CHANGELOG.md the change adds no line"),
        (KEEP.replace("- old entry\n", "- old entry\n\n\n"), "adds only blank lines"),
        (KEEP.replace("- old entry", "-  old entry  "), "only moves or re-indents lines"),
        (KEEP.replace("- b\n", "").replace("- old entry\n", "- old entry\n- b\n"), "only moves or re-indents lines"),
        (
            KEEP.replace("- a\n", "- a\n- new\n"),
            "CHANGELOG.md:16 the change adds a line under an older version, \"[1.0.0] - 2026-01-01\"",
        ),
        (KEEP.replace("- b\n", "- b\n- new\n"), "under an older version, \"[1.1.0]"),
        (KEEP.replace("### Added\n", "### Added\n\n### Fixed\n"), "no entry"),
        (KEEP.replace("- old entry\n", "- old entry\n<!-- new -->\n"), "no entry"),
        (format!("{KEEP}[1.2.0]: https://y\n"), "no entry"),
        (KEEP.replace("# Changelog\n", "# Changelog\nAll changes.\n"), "above the first version"),
    ];
    for (after, reason) in cases {
        let found = judge(KEEP, &after);
        assert!(found.starts_with("not met: CHANGELOG.md") && found.contains(reason), "{reason}: {found}");
    }
}

#[test]
fn the_topmost_version_counts_in_many_forms() {
    for text in [
        "# Changes\n\n## 1.2.0 - 2026-01-01\n\n- a\n\n## 1.1.0\n\n- z\n",
        "# v1.2\n\n- a\n\n# v1.1\n\n- z\n",
        "1.2.0 / 2026-01-01\n==================\n\n- a\n\n1.1.0 / 2025-01-01\n==================\n\n- z\n",
        "= 1.2 =\n* a\n\n= 1.1 =\n* z\n",
        "Changelog\n=========\n\nVersion 1.2.0 (2026-01-01)\n--------------------------\n\n- a\n\nVersion 1.1\n-----------\n\n- z\n",
        "## [1.2.0](https://x/compare/v1...v2) (2026-01-01)\n\n* a\n\n### [1.1.9](https://x) (2025-01-01)\n\n* z\n",
        "## my-package@1.2.0\n\n- a\n\n## my-package@1.1.0\n\n- z\n",
        "1.2.0 (2026-01-01)\n\n* a\n\n1.1.0 (2025-01-01)\n\n* z\n",
        "News\n====\n\n## 2026-01-02\n\n- a\n\n## 2026-01-01\n\n- z\n",
        "## 1.2.0 (unreleased)\n\n- a\n\n## Release 1.1.0\n\n- z\n",
    ] {
        let (top, old) = (text.replace("a\n\n", "a\n- new thing\n\n"), text.replace(" z\n", " z\n- new thing\n"));
        assert!(judge(text, &top).starts_with("met: "), "{top}: {}", judge(text, &top));
        assert!(judge(text, &old).contains("under an older version"), "{old}: {}", judge(text, &old));
    }
    // A release moves the entries; a new entry in the new version counts.
    let released = KEEP.replace("## [1.1.0]", "## [1.2.0] - 2026-02-01\n\n- brand new\n\n## [1.1.0]");
    assert!(judge(KEEP, &released).contains("under \"[1.2.0]"));
    assert!(judge("Some news.\n", "Some news.\nMore news.\n").contains("no versions"));
}

#[test]
fn a_fragment_is_an_entry() {
    let text = "---\n\"pkg\": minor\n---\n\nAdds pages.\n";
    for (path, text) in [
        (".changeset/x.md", text),
        ("changelog.d/12.feature.md", "Adds pages."),
        ("newsfragments/+pages.bugfix", "Adds pages."),
        (".changes/unreleased/Added-1.yaml", "kind: Added\nbody: Adds pages\ntime: 2026-01-01T00:00:00Z\n"),
    ] {
        assert_eq!(judge_all(&[], &[added(path, text)], &[], &[]), format!("met: fragment {path}"));
    }
    for (path, text, reason) in [
        (".changeset/x.md", "---\n---\n", "has no text"),
        (".changeset/README.md", "x", "there is no changelog"),
        (".changeset/config.json", "{}", "there is no changelog"),
        ("changelog.d/12.feature.md", "  \n", "adds no line"),
        (".changes/unreleased/Added-1.yaml", "kind: Added\nbody: \"\"\n", "has no text"),
        (".changes/unreleased/Added-1.yaml", "kind: [\n", ".changes/unreleased/Added-1.yaml:"),
    ] {
        let found = judge_all(&[], &[added(path, text)], &[], &[]);
        assert!(found.starts_with("not met: ") && found.contains(reason), "{path}: {found}");
    }
}

#[test]
fn a_generated_changelog_is_the_commit_messages() {
    let generators: [(&str, &str); 7] = [
        ("release-please-config.json", "{}"),
        (".github/workflows/r.yml", "      - uses: googleapis/release-please-action@v4\n"),
        (".releaserc.json", "{}"),
        ("package.json", "{\"devDependencies\": {\"semantic-release\": \"1\"}}"),
        ("cliff.toml", ""),
        ("release.toml", "pre-release-hook = [\"git\", \"cliff\", \"-o\", \"CHANGELOG.md\"]\n"),
        ("pyproject.toml", "[tool.semantic_release]\n"),
    ];
    for file in generators {
        assert!(
            judge_all(&[], &[], &[file], &["feat(api)!: pages"])
                .starts_with("not applicable: commit messages are the changelog"),
            "{}",
            file.0
        );
        let found = judge_all(&[], &[], &[file], &["feat: x", "did things"]);
        assert!(found.contains("not conventional: did things") && !found.contains("feat: x"), "{found}");
    }
    assert!(judge_all(&[], &[], &[generators[0]], &[]).contains("no commit yet"));
    for other in [
        ("package.json", "{}"),
        ("release.toml", "sign = true"),
        (".github/workflows/r.yml", "# uses: release-please-action"),
    ] {
        assert!(judge_all(&[], &[], &[other], &["feat: x"]).contains("there is no changelog"), "{}", other.0);
    }
    assert!(
        is_conventional_message("Merge branch 'x'")
            && !is_conventional_message("feature: x")
            && !is_conventional_message("feat:x")
    );
}

#[test]
fn no_changelog_names_the_line_that_makes_it_inapplicable() {
    let found = judge_all(&[], &[], &[], &[]);
    assert!(
        found.contains("looked for CHANGELOG.md") && found.contains("not_applicable: {reason: \"…\", by: \"…\"}"),
        "{found}"
    );
    let gone = ChangedDocument::compare_texts("CHANGELOG.md", Some(KEEP), None);
    assert!(judge_all(&[gone], &[], &[], &[]).contains("removes this changelog"));
}
