use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::config::{Environment, Places};

#[derive(Deserialize)]
struct Examples {
    example: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    line: String,
    tool: String,
    kind: Option<CheckKind>,
}

fn argv(line: &str) -> Vec<OsString> {
    shell_words::split(line).expect("a line").into_iter().map(OsString::from).collect()
}

/// The check in a line; the reason when there is none.
fn of(line: &str) -> Result<Check, String> {
    match Whitelist::shipped_only().decide_line(line) {
        CheckDecision::Check(check) => Ok(check),
        CheckDecision::NotACheck { why } => Err(why),
    }
}

fn tool(line: &str) -> String {
    of(line).map(|check| check.tool).unwrap_or_default()
}

fn key_of(line: &str) -> String {
    let check = of(line).unwrap_or_else(|why| panic!("{line}: {why}"));
    command_key(Path::new("/repo"), Path::new("/repo"), Some(&check), &[])
}

#[test]
fn every_example_line_is_what_it_says() {
    let examples: Examples = toml::from_str(include_str!("../../tests/data/recognition.toml")).expect("the examples");
    let whitelist = Whitelist::shipped_only();
    let mut wrong = Vec::new();
    for Example { line, tool, kind } in &examples.example {
        let decision = whitelist.decide_line(line);
        let (found, found_kind) = match &decision {
            CheckDecision::Check(check) => (check.tool.as_str(), Some(check.kind)),
            CheckDecision::NotACheck { .. } => ("", None),
        };
        if found != tool || found_kind != *kind {
            wrong.push(format!("{line}\n  wanted {tool:?} {kind:?}\n  is {decision:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), examples.example.len(), wrong.join("\n"));
}

#[test]
fn the_shipped_list_is_long_enough_and_every_tool_answers_to_its_programs() {
    let whitelist = Whitelist::shipped_only();
    let listed = whitelist.list_rules();
    assert!(listed.len() >= 150, "{} tools", listed.len());
    for rule in &listed {
        assert_eq!(whitelist.tool_kind(&rule.tool), Some(rule.kind), "{}", rule.tool);
        assert!(rule.exit_codes.is_empty() || rule.exit_codes.starts_with("measured "), "{}", rule.tool);
    }
    let mut names: Vec<_> = listed.iter().map(|rule| &rule.tool).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), listed.len(), "a name occurs twice");
}

#[test]
fn exit_codes_are_known_only_where_they_were_measured() {
    let whitelist = Whitelist::shipped_only();
    let cases = [
        ("eslint", 1, ExitMeaning::Findings),
        ("eslint", 2, ExitMeaning::DidNotRun),
        ("pytest", 5, ExitMeaning::Empty),
        ("pytest", 2, ExitMeaning::Mixed),
        ("robot", 126, ExitMeaning::Findings),
        ("robot", 252, ExitMeaning::DidNotRun),
        ("pylint", 30, ExitMeaning::Findings),
        ("pylint", 1, ExitMeaning::Mixed),
        ("stylelint", 2, ExitMeaning::Findings),
        ("ctest", 8, ExitMeaning::Findings),
        ("jest", 1, ExitMeaning::Mixed),
        ("hadolint", 1, ExitMeaning::Mixed),
        ("script:test", 1, ExitMeaning::Mixed),
        ("eslint", 127, ExitMeaning::DidNotRun),
        ("missing", 1, ExitMeaning::Mixed),
    ];
    for (tool, code, meaning) in cases {
        assert_eq!(whitelist.exit_meaning(tool, code), meaning, "{tool} {code}");
    }
}

#[test]
fn an_option_of_a_runner_is_not_the_command() {
    assert_eq!(tool("timeout -s eslint 5 true"), "");
    assert_eq!(tool("env -u pytest true"), "");
    assert_eq!(tool("sudo -u eslint true"), "");
    assert_eq!(tool("nice -n 5 eslint ."), "eslint");
    assert_eq!(tool("uv run --with pytest python app.py"), "");
    assert_eq!(tool("docker run --rm node:20 node server.js"), "");
}

#[test]
fn what_belongs_to_a_script_is_not_its_interpreters() {
    assert_eq!(tool("node --test"), "node-test");
    assert_eq!(tool("node server.js --test"), "");
    assert_eq!(tool("bash deploy.sh -n"), "");
    assert_eq!(tool("ruby -I lib -c a.rb"), "ruby-syntax");
    assert_eq!(tool("perl report.pl -c"), "");
}

#[test]
fn versions_at_a_programs_end_are_seen_through() {
    assert_eq!(tool("python3.13 -Im pytest"), "pytest");
    assert_eq!(tool("clang-16 -c a.c"), "clang");
    assert_eq!(tool("php8.2 -l a.php"), "php-lint");
    assert_eq!(tool("eslint9 ."), "", "only where the rule says so");
}

#[test]
fn a_deny_word_is_a_sub_command_and_not_a_filter() {
    assert_eq!(tool("vitest watch"), "");
    assert_eq!(tool("vitest run watch"), "");
    assert_eq!(tool("vitest run src watch"), "vitest", "a filter that happens to be called so");
    assert_eq!(tool("jest --watch=false"), "jest");
    assert_eq!(tool("jest --watch=true"), "");
    assert_eq!(tool("npm audit fix"), "");
}

#[test]
fn script_names_are_read_part_by_part() {
    for name in ["test", "test:unit", "testUnit", "ci:lint", "my_check", "type-check", "lint2", "e2e.smoke"] {
        assert_eq!(tool(&format!("npm run {name}")), format!("script:{name}"));
    }
    for name in ["lintFix", "test:watch", "dev", "latest", "contest", "testify-run:fix", "type", "pre", "storybook"] {
        assert_eq!(tool(&format!("npm run {name}")), "", "{name}");
    }
    assert_eq!(of("npm run build:test").expect("a check").kind, CheckKind::Test);
    assert_eq!(of("npm run checkTypes").expect("a check").kind, CheckKind::Type);
    assert_eq!(of("make fmt-check").expect("a check").kind, CheckKind::Format);
    assert_eq!(of("npm run test:format").expect("a check").kind, CheckKind::Format);
    assert_eq!(of("npm run test:unit").expect("a check").kind, CheckKind::Test);
}

#[test]
fn a_program_named_by_a_package_runner_wins_over_a_script() {
    assert_eq!(tool("pnpm vitest run"), "vitest");
    assert_eq!(tool("pnpm prettier --write ."), "", "and its refusal remains");
    assert_eq!(tool("yarn coverage"), "script:coverage", "unless the program has no such use");
    assert_eq!(tool("npx @example/eslint ."), "", "a scope is part of the name");
}

#[test]
fn the_first_check_names_a_line_and_the_others_are_listed() {
    let check = of("eslint . && tsc --noEmit && vitest run").expect("a check");
    assert_eq!((check.tool.as_str(), check.also.as_slice()), ("eslint", &["tsc".to_owned(), "vitest".to_owned()][..]));
    assert!(check.status_is_own);
}

#[test]
fn a_lines_status_is_the_checks_own_only_behind_and() {
    for line in [
        "pytest",
        "cd a && pytest",
        "(cd a && pytest)",
        "{ pytest; }",
        "pytest > log 2>&1",
        "sh -c 'a && pytest'",
        "x=$(pytest)",
        "eval 'pytest -q'",
        "find . -name '*.sh' -exec shellcheck {} +",
    ] {
        assert!(of(line).expect("a check").status_is_own, "{line}");
    }
    let masked = [
        "pytest | tail",
        "pytest; true",
        "pytest || true",
        "! pytest",
        "pytest &",
        "cd a; pytest",
        "pytest\ntrue",
        "sh -c 'pytest; true'",
        "(pytest | tail) && true",
        "find . -name setup.py -execdir pytest \\;",
        "watchexec -- pytest",
        "cargo watch -x test",
        "git bisect run pytest",
        "git rebase -x 'make test' main",
        "test -z \"$(gofmt -l .)\"",
        "x=$(pytest | tail)",
        "eval 'pytest' | tail",
    ];
    for line in masked {
        assert!(!of(line).expect("a check").status_is_own, "{line}");
    }
}

#[test]
fn the_directory_follows_the_line() {
    let dir = |line: &str| of(line).expect("a check").dir;
    assert_eq!(dir("pytest"), None);
    assert_eq!(dir("cd web && cd app && npm test").as_deref(), Some("web/app"));
    assert_eq!(dir("cd /srv && make -C sub test").as_deref(), Some("/srv/sub"));
    assert_eq!(dir("(cd web && true) && pytest"), None);
    assert_eq!(dir("npm --prefix=web run lint").as_deref(), Some("web"));
    assert_eq!(dir("make test -C sub").as_deref(), Some("sub"));
    assert_eq!(dir("bash -lc 'cd app && npm run lint'").as_deref(), Some("app"));
}

#[test]
fn the_same_check_has_the_same_key() {
    let same = [
        ("npm test", "npm run test"),
        ("npm test", "yarn test"),
        ("pytest a.py b.py", "python -m pytest -q --color=yes ./b.py a.py"),
        ("pytest -n 4 --tb=short tests/", "uv run pytest -vv tests"),
        ("cargo test -p core", "cargo t -p=core --color always -j8"),
        ("eslint src -f json", "npx eslint@9 --format=unix src"),
        ("cd web && npm test", "npm --prefix web test"),
        ("nx run app:test", "nx test app"),
        ("vitest", "vitest run --reporter=dot"),
    ];
    for (one, other) in same {
        assert_eq!(key_of(one), key_of(other), "{one} / {other}");
    }
}

#[test]
fn another_check_has_another_key() {
    let different = [
        ("npm test", "make test"),
        ("npm test", "npm run test:unit"),
        ("npm test -w pkg", "npm test pkg"),
        ("pnpm test", "pnpm -r test"),
        ("pytest", "pytest a.py"),
        ("pytest -k 'a b'", "pytest -k a b"),
        ("cargo check", "cargo build"),
        ("npm test", "docker compose run app npm test"),
        ("cd a && pytest", "cd b && pytest"),
        ("eslint .", "eslint --fix ."),
        ("mix test", "mix credo"),
    ];
    for (one, other) in different {
        assert_ne!(key_of(one), key_of(other), "{one} / {other}");
    }
    let check = of("pytest").expect("a check");
    let here = |root: &str, cwd: &str| command_key(Path::new(root), Path::new(cwd), Some(&check), &[]);
    assert_ne!(here("/repo", "/repo"), here("/repo", "/repo/sub"));
    assert_ne!(here("/repo", "/repo"), here("/worktree", "/worktree"));
    assert_eq!(
        here("/repo", "/repo/sub"),
        command_key(Path::new("/repo"), Path::new("/repo"), Some(&of("cd sub && pytest").expect("a check")), &[])
    );
}

#[test]
fn a_command_that_is_no_check_is_known_by_program_and_arguments() {
    let key = |line: &str| command_key(Path::new("/repo"), Path::new("/repo"), None, &argv(line));
    assert_eq!(key("/bin/false a"), key("false a"));
    assert_ne!(key("false a b"), key("false b a"));
    assert_ne!(key("false 'a b'"), key("false a b"));
    assert_eq!(key("false").len(), 32);
}

#[test]
fn argv_that_is_not_utf8_is_decided_all_the_same() {
    let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let whitelist = Whitelist::shipped_only();
    let check = whitelist.decide_command(&[word(b"/b\xff/pytest"), word(b"caf\xe9.py")]).into_check().expect("a check");
    assert_eq!((check.tool.as_str(), check.selectors.len()), ("pytest", 1));
    assert!(whitelist.decide_command(&[word(b"pyt\xffest")]).into_check().is_none());
    assert!(whitelist.decide_command(&[]).into_check().is_none());
    assert!(whitelist.decide_command(&[OsString::new()]).into_check().is_none());
}

/// A project folder and a home folder with layers in them.
struct Layers {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Layers {
    fn new(repository: &str, user: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = Environment { home: Some(folder.path().join("home")), ..Environment::default() };
        let layers = Layers { folder, environment };
        layers.write("repo/whitelist.toml", repository);
        layers.write("home/.config/verify-run/whitelist.toml", user);
        layers
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the folders");
        crate::base::file::write_atomic(&path, text.as_ref(), 0o600, crate::base::file::Durability::Cached)
            .expect("the file");
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn load(&self) -> (Whitelist, Vec<crate::config::Problem>) {
        Whitelist::load(&Places::find(&self.root(), &self.environment), &self.environment)
    }

    /// What the run path, which parses on demand, makes of a line; it has to agree with the parsed layers.
    fn tool(&self, line: &str) -> String {
        let lazy = Whitelist::open(&Places::find(&self.root(), &self.environment), &self.environment);
        let decision = lazy.decide_line(line);
        assert_eq!(decision, self.load().0.decide_line(line), "{line}");
        decision.into_check().map(|check| check.tool).unwrap_or_default()
    }
}

const TOOL: &str = "verify_run_schema = 1\n[[tool]]\nname = \"acceptance\"\nkind = \"test\"\n";

#[test]
fn a_layer_adds_replaces_and_removes() {
    let repository = format!(
        "{TOOL}bins = [\"ci/accept.sh\", 'true']\n[[tool]]\nname = \"ruff-check\"\nkind = \"lint\"\nbins = [\"ruff\"]\nsub = [\"verify\"]\n"
    );
    let user = "verify_run_schema = 1\nremove = [\"eslint\", \"npx\", \"acceptance-of-nothing\"]\n";
    let layers = Layers::new(&repository, user);
    assert_eq!(layers.tool("ci/accept.sh"), "acceptance");
    assert_eq!(layers.tool("/repo/ci/accept.sh --all"), "acceptance");
    assert_eq!(layers.tool("bash ci/accept.sh"), "acceptance");
    assert_eq!(layers.tool("./accept.sh"), "", "its folder is part of the rule");
    assert_eq!(layers.tool("xci/accept.sh"), "");
    assert_eq!(layers.tool("true"), "acceptance");
    assert_eq!(layers.tool("ruff verify"), "ruff-check");
    assert_eq!(layers.tool("ruff check"), "", "replaced as a whole");
    assert_eq!(layers.tool("ruff format --check"), "ruff-format");
    assert_eq!(layers.tool("eslint ."), "");
    assert_eq!(layers.tool("npx prettier --check ."), "");
    assert_eq!(layers.tool("pytest"), "pytest");
    let (whitelist, problems) = layers.load();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].reason.contains("acceptance-of-nothing") && problems[0].line == Some(2) && problems[0].used);
    let listed = whitelist.list_rules();
    assert!(listed.iter().all(|rule| rule.tool != "eslint"));
    assert_eq!(listed.iter().filter(|rule| rule.tool == "ruff-check").count(), 1);
}

#[test]
fn the_repository_has_the_last_word() {
    let layers =
        Layers::new("verify_run_schema = 1\nremove = [\"acceptance\"]\n", &format!("{TOOL}bins = [\"accept\"]\n"));
    assert_eq!(layers.tool("accept"), "");
    let layers = Layers::new("", &format!("{TOOL}bins = [\"accept\"]\n"));
    assert_eq!(layers.tool("accept"), "acceptance");
}

#[test]
fn a_layer_adds_script_names_packages_and_runners() {
    let layers = Layers::new(
        "verify_run_schema = 1\n[scripts]\nwords = [\"prove-it\"]\ndeny = [\"nightly\"]\n[packages]\nmine = \"eslint\"\n\
         [[runner]]\nname = \"inside\"\nbins = [\"inside\"]\nthen = \"command\"\nskip = 1\n",
        "",
    );
    assert_eq!(layers.tool("npm run prove:it"), "script:prove:it");
    assert_eq!(layers.tool("npm run test:nightly"), "");
    assert_eq!(layers.tool("npx mine ."), "eslint");
    assert_eq!(layers.tool("inside box pytest"), "pytest");
}

#[test]
fn strings_written_in_other_ways_are_found_too() {
    for bins in ["[\"acc\\u0065pt\"]", "[\"\"\"\naccept\"\"\"]", "['''accept''']", "['accept']"] {
        let layers = Layers::new(&format!("{TOOL}bins = {bins}\n"), "");
        assert_eq!(layers.tool("accept"), "acceptance", "{bins}");
    }
}

#[test]
fn somebody_elses_file_is_left_alone() {
    for text in ["", "[allow]\nhosts = ['a']\n", "not toml at all: {{{", "# verify_run_schema\nallow = 1\n"] {
        let (whitelist, problems) = Layers::new(text, "").load();
        assert_eq!(problems, [], "{text}");
        assert_eq!(whitelist.decide_command(&argv("pytest")).into_check().expect("a check").tool, "pytest");
    }
}

#[test]
fn a_broken_file_is_left_out_and_named_with_line_and_reason() {
    let cases: [(&str, Option<usize>, &str); 8] = [
        ("verify_run_schema = 1\n[[tool]\nname = 3\n", Some(2), ""),
        ("verify_run_schema = 1\n\n[[tool]]\nname = \"x\"\nkind = \"tests\"\nbins = [\"x\"]\n", Some(5), "tests"),
        ("verify_run_schema = 1\n[[tool]]\nname = \"x\"\nkind = \"test\"\nbinz = [\"x\"]\n", Some(5), "binz"),
        ("verify_run_schema = 1\n[[tool]]\nname = \"x\"\nkind = \"test\"\n", Some(3), "neither"),
        ("verify_run_schema = 2\nnew_word = true\n", Some(1), "knows 1"),
        (
            "verify_run_schema = 1\n[[tool]]\nname = \"x\"\nkind = \"test\"\nbins = [\"x\"]\nexit = { findings = [\"9-1\"] }\n",
            Some(3),
            "range",
        ),
        ("verify_run_schema = 1\n[scripts.kinds]\ntests = [\"a\"]\n", Some(3), "unknown kind"),
        ("verify_run_schema = 1\n[[tool]]\nkind = \"test\"\nbins = [\"x\"]\n", Some(2), "name"),
    ];
    for (text, line, reason) in cases {
        let layers = Layers::new(text, &format!("{TOOL}bins = [\"accept\"]\n"));
        let (_, problems) = layers.load();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        let problem = &problems[0];
        assert_eq!(problem.file, layers.root().join("whitelist.toml"));
        assert_eq!(problem.line, line, "{text}: {problem:?}");
        assert!(problem.reason.contains(reason) && !problem.used, "{text}: {problem:?}");
        assert!(problem.hint.contains("verify-run whitelist check"));
        assert_eq!(layers.tool("accept"), "acceptance", "the other layers are in force");
        assert_eq!(layers.tool("pytest"), "pytest");
        assert_eq!(layers.tool("x"), "");
    }
    let layers = Layers::new("", "");
    layers.write("repo/whitelist.toml", b"verify_run_schema = 1\n# caf\xe9\n");
    let (_, problems) = layers.load();
    assert_eq!((problems[0].line, problems[0].reason.as_str()), (Some(2), "is not UTF-8"));
    let large = format!("verify_run_schema = 1\n{}", "#\n".repeat(600_000));
    assert!(Layers::new(&large, "").load().1[0].reason.contains("larger than"));
}

fn any_line() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "npm", "test", "run", "pytest", "cd", "&&", "||", ";", "|", "&", "(", ")", "{", "}", "'", "\"", "\\", "$(",
        "`", "<<", ">", "2>&1", "#", "\n", " ", "  ", "sh", "-c", "--", "-m", "python", "=", "A=1", "[[", "]]", "!",
        "nx", "-t", "docker", "compose", "eval", "é", "mix", "do", "+", ",", "-", "--watch", "@", "xargs", "env", "-S",
    ]);
    prop_oneof![
        prop::collection::vec(pieces.clone(), 0..14).prop_map(|pieces| pieces.join(" ")),
        prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_line_is_too_much(line in any_line()) {
        let _ = Whitelist::shipped_only().decide_line(&line);
    }

    #[test]
    fn no_argv_is_too_much(argv in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..5), program in prop::sample::select(vec!["npm", "docker", "nx", "sh", "mix", "python", "cargo", "make", "env"])) {
        let mut words = vec![OsString::from(program)];
        words.extend(argv.into_iter().map(OsString::from_vec));
        let _ = Whitelist::shipped_only().decide_command(&words);
    }

    #[test]
    fn a_line_is_its_argv(words in prop::collection::vec("[a-z./=@:-]{1,8}", 1..5), program in prop::sample::select(vec!["npm", "pytest", "npx", "cargo", "make", "uv"])) {
        let argv: Vec<String> = std::iter::once(program.to_owned()).chain(words).collect();
        let line = shell_words::join(&argv);
        let whitelist = Whitelist::shipped_only();
        let words: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let in_argv = whitelist.decide_command(&words).into_check();
        // Only the argv itself is known to be nothing but the check.
        prop_assert_eq!(whitelist.decide_line(&line).into_check(), in_argv.map(|check| Check { alone: false, ..check }));
    }
}

#[test]
fn cargos_own_options_may_stand_before_its_sub_command() {
    assert_eq!(tool("cargo --color always -C sub +nightly test"), "cargo-test");
    assert_eq!(of("cargo -C sub test").expect("a check").dir.as_deref(), Some("sub"));
}
