use super::{added, changed, shown_answer};
use crate::gate::document::public_name::{PublicName, find_public_names};
use crate::gate::document::readme::{ReadmeFeature, judge_readme};

fn judge(before: &str, after: &str, names: &[PublicName]) -> String {
    let aliases = ["paging".to_owned()];
    let feature =
        ReadmeFeature { name: "Page size limit", slug: Some("page-size"), aliases: &aliases, public_names: names };
    shown_answer(&judge_readme(&feature, &[changed("README.md", before, after)]))
}

#[test]
fn the_feature_and_the_new_line_are_in_one_section() {
    let before = "# App\n\nIntro.\n\n## Use\n\nRun it.\n\n## Licence\n\nMIT\n";
    let cases = [
        (
            before.replace("Run it.\n", "Run it.\nThe page-size limit is 100.\n"),
            "met: README.md:8 names \"Page size limit\" (section \"Use\")",
        ),
        (
            before.replace("Run it.\n", "Run it.\nNow with Paging.\n"),
            "met: README.md:8 names \"paging\" (section \"Use\")",
        ),
        (
            before.replace("Run it.\n", "Run it.\nFaster.\n"),
            "not met: README.md:8 the change adds lines, but none of them is in a section that names \"Page size limit\"",
        ),
        (before.replace("Run it.\n", "Run it.\n\n\n"), "not met: README.md does not name the feature"),
        (
            before.replace("Run it.\n", "Run it.\n<!-- page size limit -->\n"),
            "not met: README.md does not name the feature",
        ),
    ];
    for (after, wanted) in cases {
        let found = judge(before, &after, &[]);
        assert!(found.starts_with(wanted), "{found}\n{wanted}");
    }
}

#[test]
fn a_name_elsewhere_or_without_a_new_line_is_not_enough() {
    let before = "# App\n\n## Page size\n\nText.\n\n## Licence\n\nMIT\n";
    let found = judge(before, before, &[]);
    assert!(found.contains("README.md:3 names \"page-size\", but the change adds no line to it"), "{found}");
    let found = judge(before, &before.replace("MIT\n", "MIT\nApache\n"), &[]);
    assert!(found.contains("other sections only"), "{found}");
    // Below a heading that names the feature everything is about it.
    let found = judge(before, &before.replace("Text.\n", "Text.\n\n### More\n\nSet it.\n"), &[]);
    assert_eq!(found, "met: README.md:3 names \"page-size\" (section \"Page size\")");
    let feature = ReadmeFeature { name: "x", slug: None, aliases: &[], public_names: &[] };
    assert_eq!(shown_answer(&judge_readme(&feature, &[])), "not met: - there is no README");
}

#[test]
fn public_names_of_the_change_count() {
    let source = "/** x */\nexport function pageSizeOf(x) {}\nfunction inner() {}\nconst a = process.env.PAGE_SIZE_MAX;\nrouter.get('/api/pages/:id', f);\ncli.option('--page-size <n>');\n// --commented-out\n";
    let names = find_public_names(&[added("src/a.ts", source)]);
    let shown: Vec<String> = names.iter().map(|it| format!("{}:{}", it.line, it.name)).collect();
    assert_eq!(shown, ["2:pageSizeOf", "4:PAGE_SIZE_MAX", "5:/api/pages/:id", "6:--page-size"]);
    let before = "# App\n\n## Options\n\nNone.\n";
    assert!(
        judge(before, &before.replace("None.\n", "```\nx --page-size 3\n```\n"), &names)
            .starts_with("met: README.md:6")
    );
    assert!(judge(before, &before.replace("None.\n", "x --page-sizeable\n"), &names).starts_with("not met"));
    for (path, line, wanted) in [
        ("a.py", "def list_pages(x):", "list_pages"),
        ("a.py", "@app.get(\"/pages\")", "/pages"),
        ("a.go", "func (s *Server) ListPages(w http.ResponseWriter) {", "ListPages"),
        ("a.rs", "    pub async fn list_pages() {", "list_pages"),
        ("a.rs", "    #[arg(long = \"page-size\")]", "--page-size"),
        ("A.java", "  public static List<String> listPages(int a) {", "listPages"),
        ("a.lua", "function M.list_pages(a)", "list_pages"),
    ] {
        let names = find_public_names(&[added(path, line)]);
        assert_eq!(names.first().map(|it| it.name.as_str()), Some(wanted), "{path} {line}");
    }
    assert!(find_public_names(&[added("a.py", "def _hidden(x):\n    def inner_one(): pass\n")]).is_empty());
}
