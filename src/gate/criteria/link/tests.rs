use super::*;
use crate::gate::prp::Prp;

/// `AC-n name: selector` of each link.
fn links(path: &str, text: &str, package_json: Option<&str>) -> Vec<String> {
    let items: String = (1..=12).map(|n| format!("- AC-{n} item\n")).collect();
    let prp = Prp::parse(&format!("## Acceptance criteria\n{items}")).expect("a PRP");
    let index = index_tests(&[TestSource { path, text }], package_json);
    let (links, omitted) = find_links(&index, &prp.criteria, Some("pagination"));
    assert_eq!(omitted, 0);
    let test = |link: &CriterionLink| &index.tests[link.test];
    links
        .iter()
        .map(|link| format!("{}:{} {}", link.criterion, test(link).line, test(link).selector.join(" ")))
        .collect()
}

#[test]
fn python_tests_are_selected_with_their_classes() {
    let text = "import x\n\n# covers: AC-2\n@pytest.mark.slow\ndef test_size():\n    pass\n\nclass TestPages:\n    def test_ac_1_first(self):\n        pass\n\n    @pytest.mark.criterion(\"pagination/AC-3\")\n    async def test_other(self): ...\n\ndef helper_ac_4(): ...\n\n# AC-5\n\ndef test_far(): ...\n# other/AC-6\ndef test_foreign(): ...\n";
    assert_eq!(
        links("tests/test_api.py", text, None),
        [
            "AC-1:9 pytest tests/test_api.py::TestPages::test_ac_1_first",
            "AC-2:5 pytest tests/test_api.py::test_size",
            "AC-3:13 pytest tests/test_api.py::TestPages::test_other",
        ]
    );
    assert!(links("src/api.py", text, None).is_empty());
}

#[test]
fn javascript_tests_are_found_outside_of_comments_and_texts() {
    let text = "import { it } from 'vitest';\n// it('AC-9 in a comment', () => {})\n/* it('AC-9', f) */\nconst s = `it('AC-9 in a template ${f('`it(\"AC-9\")`')}', g)`;\nconst r = /it\\('AC-9'/;\ndescribe('pages (all)', () => {\n  it('AC-1: has a first page', async () => {\n    expect(a).toBe('AC-8');\n  });\n  describe(\"inner\", () => {\n    // covers: AC-2\n    it.only(\n      'works', () => {});\n  });\n  test.each([[1, 2], [3, 4]])('AC-3 %i', (a) => {});\n});\nx.it('AC-9', f);\nit.skip('AC-10 later', () => {});\n";
    assert_eq!(
        links("src/a.test.ts", text, None),
        [
            "AC-1:7 npx vitest run src/a.test.ts -t ^pages \\(all\\) AC-1: has a first page$",
            "AC-2:12 npx vitest run src/a.test.ts -t ^pages \\(all\\) inner works$",
            "AC-3:15 npx vitest run src/a.test.ts -t ^pages \\(all\\) AC-3 %i$",
            "AC-10:18 npx vitest run src/a.test.ts -t ^AC-10 later$",
        ]
    );
    let plain = "it('AC-1 a', () => {});\n";
    assert_eq!(
        links("a.test.js", plain, Some("{\"devDependencies\": {\"jest\": \"1\"}}")),
        ["AC-1:1 npx jest --runTestsByPath a.test.js -t ^AC-1 a$"]
    );
    assert_eq!(links("-a.test.js", plain, None), ["AC-1:1 node --test --test-name-pattern=^AC-1 a$ ./-a.test.js"]);
    let nested = "describe('p', () => {\n  it('AC-1 a', () => {});\n});\n";
    assert_eq!(links("a.test.js", nested, None), ["AC-1:2 node --test --test-name-pattern=^(p )?AC-1 a$ a.test.js"]);
    let tags = "test('a', { tags: ['AC-2'] }, () => f('AC-3'));\n";
    assert_eq!(links("a.test.js", tags, None).len(), 1);
}

#[test]
fn go_subtests_are_selected_below_their_test() {
    let text = "package api\n\nfunc TestSize(t *testing.T) {\n\tt.Run(\"AC-1 at/most (2)\", func(t *testing.T) {\n\t})\n}\n\n// AC-2\nfunc TestOther(t *testing.T) {\n}\nfunc TestAC10(t *testing.T) {}\n";
    assert_eq!(
        links("api/size_test.go", text, None),
        [
            "AC-1:4 go test -run ^TestSize$/^AC-1_at$/^most_\\(2\\)$ ./api",
            "AC-2:9 go test -run ^TestOther$ ./api",
            "AC-10:11 go test -run ^TestAC10$ ./api",
        ]
    );
}

#[test]
fn rust_tests_are_selected_by_their_whole_path() {
    let text = "mod tests {\n    // covers: AC-1\n    #[test]\n    fn size() {}\n\n    #[tokio::test]\n    async fn ac_2_other() {}\n    fn ac_3_helper() {}\n}\n";
    assert_eq!(
        links("src/api/mod.rs", text, None),
        ["AC-1:4 cargo test api::tests::size -- --exact", "AC-2:7 cargo test api::tests::ac_2_other -- --exact"]
    );
    assert_eq!(
        links("crates/x/tests/api.rs", "#[test]\nfn ac_1() {}\n", None),
        ["AC-1:2 cargo test --manifest-path crates/x/Cargo.toml --test api ac_1 -- --exact"]
    );
    let in_one_line = "#[test] fn ac_1() { assert!([1][0] == 1); }\n#[cfg(feature = \"a[]\")] #[test] fn ac_2() {}\n#[inline] fn ac_3() {}\n";
    assert_eq!(
        links("tests/api.rs", in_one_line, None),
        ["AC-1:1 cargo test --test api ac_1 -- --exact", "AC-2:2 cargo test --test api ac_2 -- --exact"]
    );
}

#[test]
fn lua_and_java_tests_are_found() {
    let lua = "describe(\"pages\", function()\n  it('AC-1 (first)', function() end)\n  -- AC-2\n  it(\"x\", function() end)\nend)\n";
    assert_eq!(
        links("spec/a_spec.lua", lua, None),
        ["AC-1:2 busted --filter AC%-1 %(first%)$ spec/a_spec.lua", "AC-2:4 busted --filter x$ spec/a_spec.lua"]
    );
    let java = "class ApiTest {\n  @Test\n  @DisplayName(\"AC-1 size\")\n  void size() {}\n\n  @Test void ac2() {}\n  void ac_3() {}\n}\n";
    assert_eq!(
        links("src/test/java/ApiTest.java", java, None),
        ["AC-1:4 mvn -q -B test -Dtest=ApiTest#size", "AC-2:6 mvn -q -B test -Dtest=ApiTest#ac2"]
    );
}

#[test]
fn a_selector_of_the_file_names_its_tests() {
    let text = "class TestA:\n    def test_x(self): ...\n\nclass TestB:\n    def test_x(self): ...\n";
    let index = index_tests(&[TestSource { path: "tests/test_a.py", text }], None);
    assert_eq!(find_selected(&index, "tests/test_a.py::TestB::test_x"), [1]);
    assert_eq!(find_selected(&index, "./tests/test_a.py::test_x"), [0, 1]);
    assert!(find_selected(&index, "test_a.py::test_x").is_empty() && find_selected(&index, "test_x").is_empty());
}

#[test]
fn no_name_becomes_a_shell_line() {
    let text = "it('AC-1 $(touch pwned); `x` \\n y', () => {});\n";
    let index = index_tests(&[TestSource { path: "$(touch pwned).test.js", text }], None);
    let test = &index.tests[0];
    assert_eq!(test.selector.len(), 4);
    assert_eq!(test.selector[3], "$(touch pwned).test.js");
    assert!(!test.shown_name.contains('\n') && test.name.contains('\n'));
}

#[test]
fn arbitrary_text_is_read_in_linear_time() {
    let parts = [
        "it('",
        "describe(`",
        "${",
        "}",
        "/",
        "*/",
        "/*",
        "\\",
        "\"",
        "(",
        ")",
        "def test_a(",
        "class A",
        "#[test]\n",
        "fn a(",
        "\u{1f980}",
        "AC-1",
        "\n",
        "  ",
        "\0",
        ".each",
    ];
    for seed in 0..40_usize {
        let mut state = seed * 2_654_435_761 + 1;
        let mut text = String::new();
        for _ in 0..400 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(state >> 33) % parts.len()]);
        }
        for path in ["a.test.ts", "test_a.py", "a_test.go", "a_spec.lua", "src/a.rs", "ATest.java"] {
            index_tests(&[TestSource { path, text: &text }], None);
        }
    }
    for part in parts {
        let text = part.repeat((1 << 20) / part.len());
        for path in ["a.test.ts", "test_a.py", "a_test.go", "a_spec.lua", "src/a.rs", "ATest.java"] {
            let started = std::time::Instant::now();
            index_tests(&[TestSource { path, text: &text }], None);
            let took = started.elapsed();
            assert!(took.as_secs() < 5, "{path} {part:?}: {took:?}");
        }
    }
}
