use super::*;

fn ids(text: &str) -> Vec<String> {
    let prp = Prp::parse(text).expect("a PRP");
    prp.criteria.iter().map(|it| format!("{} {}", it.id, it.text)).collect()
}

#[test]
fn the_shape_of_the_seed_is_read() {
    let text = "# PRP: Page size\n\n## What\n\n### Success Criteria\n\n- [x] The size is at most 100\n- [ ] The default is 20\n  \
                continued here\n  - nested item\n\n---\n\n## All Needed Context\n\n- [ ] other\n";
    let prp = Prp::parse(text).expect("a PRP");
    assert_eq!(prp.feature_name(), Some("Page size"));
    assert_eq!(prp.slug("docs/prps/page-size.md"), "page-size");
    let texts: Vec<&str> = prp.criteria.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["The size is at most 100", "The default is 20 continued here nested item"]);
    assert_eq!((prp.criteria[0].id.as_str(), prp.criteria[0].is_positional, prp.criteria[0].line), ("AC-1", true, 7));
}

#[test]
fn a_ticked_box_changes_nothing_and_another_text_everything() {
    let parse = |text: &str| Prp::parse(text).expect("a PRP");
    let open = parse("# T\n## Acceptance Criteria\n- [ ] one\n- [ ] two\n");
    let ticked = parse("# T\n## Acceptance Criteria\n- [x] one\n- [X]   two\n");
    let other = parse("# T\n## Acceptance Criteria\n- [ ] one\n- [ ] too\n");
    assert_eq!(open, ticked);
    assert_ne!(open.criteria_digest, other.criteria_digest);
    assert_ne!(open.criteria[1].text_hash, other.criteria[1].text_hash);
    assert!(open.criteria_digest.starts_with("blake3:"));
}

#[test]
fn ids_come_from_the_text_else_from_the_position() {
    let text =
        "## Critérios de aceite:\n1. **AC-3**: three\n2. [AC-01] one\n3. as fast as AC-3\n4. named at the end [ac-9]\n";
    assert_eq!(
        ids(text),
        ["AC-3 **AC-3**: three", "AC-1 [AC-01] one", "AC-4 as fast as AC-3", "AC-9 named at the end [ac-9]"]
    );
    let prp = Prp::parse("## Acceptance criteria\n- AC-1 a\n- AC-1 b\n- c\n").expect("a PRP");
    assert_eq!(prp.criteria.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["AC-1", "AC-2", "AC-3"]);
    assert_eq!(prp.repeated_ids, ["AC-1"]);
    assert_eq!(prp.criterion("ac-02").map(|it| it.text.as_str()), Some("AC-1 b"));
    assert_eq!((id_number("AC-+1"), id_number("AC-"), id_number("XC-1")), (None, None, None));
}

#[test]
fn fences_and_comments_hold_no_criteria() {
    let text = "## Success Criteria\n```md\n- fenced\n## Other\n```\n<!-- - hidden\n- hidden too\n-->\n- seen <!-- not this -->\n~~~\n- open fence\n";
    assert_eq!(ids(text), ["AC-1 seen"]);
    assert!(ids("# T\n- a\n").is_empty());
}

#[test]
fn sub_headings_belong_to_the_section_and_paragraphs_do_not() {
    let text = "## Success Criteria\nAll of these:\n\n- a\n\nA remark.\n\n### Speed\n* b\n\n\tmore of b\n## End\n- c\n";
    assert_eq!(ids(text), ["AC-1 a", "AC-2 b more of b"]);
}

#[test]
fn the_front_matter_has_a_small_fixed_set() {
    let text = "---\nbase: develop\ntype: fix\nstack: lua\ntitle: \"Pages\"\nslug: pages\naliases: [paging, \"page size\"]\ncriteria: Done when\nother: {a: 1}\n---\n# X\n## Done when\n- a\n## Success Criteria\n- b\n";
    let prp = Prp::parse(text).expect("a PRP");
    let matter = &prp.front_matter;
    assert_eq!(
        (matter.base.as_deref(), matter.kind.as_deref(), matter.stack.as_deref()),
        (Some("develop"), Some("fix"), Some("lua"))
    );
    assert_eq!((prp.feature_name(), prp.slug("x.md"), matter.aliases.len()), (Some("Pages"), "pages", 2));
    assert_eq!(prp.criteria.len(), 1);
    let error = Prp::parse("---\na: 1\nbase: --upload-pack=x\n---\n").expect_err("an option");
    assert_eq!(error.to_string(), "front matter: line 3: base must not begin with `-`");
    assert!(Prp::parse("---\na: 1\na: 2\n---\n").expect_err("twice").to_string().contains("line 3"));
}

#[test]
fn hostile_text_stays_text() {
    let text = "# x'; touch pwned; '\u{1b}[31m\u{202e}\n## Acceptance criteria\n- $(touch pwned) `|<script>|`\u{7}\n";
    let prp = Prp::parse(text).expect("a PRP");
    assert_eq!(prp.title.as_deref(), Some("x'; touch pwned; '[31m"));
    assert_eq!(prp.criteria[0].text, "$(touch pwned) `|<script>|`");
}

#[test]
fn criteria_beyond_the_limit_are_counted() {
    let mut text = "## Acceptance criteria\n".to_owned();
    (0..250).for_each(|n| text.push_str(&format!("- item {n}\n")));
    let prp = Prp::parse(&text).expect("a PRP");
    assert_eq!((prp.criteria.len(), prp.omitted_criteria), (200, 50));
    text.push_str("- one more\n");
    assert_ne!(prp.criteria_digest, Prp::parse(&text).expect("a PRP").criteria_digest);
    assert!(matches!(Prp::parse(&"x".repeat(PRP_BYTES_MAX + 1)), Err(PrpError::TooLarge { .. })));
}
