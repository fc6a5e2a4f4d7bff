use std::fs;

use proptest::prelude::*;

use super::sample::{HOSTILE, facts, hostile, many};
use super::*;
use crate::base::limits::{LESSON_BYTES_MAX, LESSON_LINES_BYTES_MAX};
use crate::config::{Environment, Places, Repository, Settings};
use crate::run::CommandEnd;

fn text_of(facts: &LessonFacts) -> String {
    render_lesson(facts, LESSON_LINES_BYTES_MAX)
}

fn assert_reads_back(facts: &LessonFacts) {
    let text = text_of(facts);
    let lesson = parse_lesson(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let front = lesson.front;
    assert_eq!(front.schema, LESSON_SCHEMA);
    assert_eq!((&front.id, front.recorded_at), (&facts.id, facts.recorded_at));
    assert_eq!((&front.tool, &front.command, &front.directory), (&facts.tool, &facts.command, &facts.dir));
    let (mut files, mut expected) = (front.files, facts.files.clone());
    files.sort();
    expected.sort();
    assert_eq!(files, expected);
    assert_eq!(front.patterns, facts.patterns);
    assert_eq!((front.task, front.agent), (facts.task.clone(), facts.agent.clone()));
    assert_eq!((front.branch, front.commit), (facts.branch.clone(), facts.commit.clone()));
    assert_eq!(front.redactions, facts.redactions as u64);
    assert_eq!(
        front.cut,
        front_matter::LessonCutCounts {
            output_bytes: facts.cut_bytes,
            items: facts.items_cut as u64,
            ..front_matter::LessonCutCounts::default()
        }
    );
    for empty in [front.cause, front.resolution, front.corrective_rule] {
        assert_eq!(empty, None);
    }
}

#[test]
fn a_lesson_reads_like_this() {
    insta::assert_snapshot!(text_of(&facts()));
}

#[test]
fn a_lesson_with_a_failing_test_reads_like_this() {
    let mut facts = many(1);
    facts.dir = "packages/my app".to_owned();
    facts.ended = CommandEnd::Signal(11);
    facts.lines.truncate(2);
    insta::assert_snapshot!(text_of(&facts));
}

#[test]
fn the_front_matter_reads_back_whatever_is_in_it() {
    assert_reads_back(&facts());
    for text in HOSTILE {
        assert_reads_back(&hostile(text));
    }
}

proptest! {
    #[test]
    fn any_text_reads_back(text in any::<String>(), other in r#"[ \n\t'"\\:#\-a-z0-9{}\[\],&*!|>%@`]{0,30}"#) {
        assert_reads_back(&hostile(&text));
        assert_reads_back(&hostile(&other));
    }
}

#[test]
fn hostile_output_closes_no_fence_and_carries_no_control_character() {
    for text in HOSTILE {
        let rendered = text_of(&hostile(text));
        assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "{text:?}:\n{rendered}");
        let (mut open, mut headings) = (None, 0);
        for line in parse_lesson(&rendered, None).expect("a lesson").body.lines() {
            let ticks = line.len() - line.trim_start_matches('`').len();
            let rest = &line[ticks..];
            match open {
                None if ticks >= 3 && !rest.contains('`') => open = Some(ticks),
                Some(n) if ticks >= n && rest.is_empty() => open = None,
                None => {
                    headings += usize::from(line.starts_with("# "));
                    assert!(
                        !line.starts_with("- a: b") && !line.starts_with('<')
                            || ["<!-- markdownlint-disable", "<!-- verify-run:", "<!-- /verify-run:fix -->"]
                                .iter()
                                .any(|own| line.starts_with(own))
                    );
                }
                Some(_) => {}
            }
        }
        assert_eq!((open, headings), (None, 1), "{text:?}:\n{rendered}");
    }
}

#[test]
fn many_failures_are_summed_up_and_every_file_is_kept() {
    for n in [3, 100, 400] {
        let facts = many(n);
        let text = text_of(&facts);
        assert!(text.len() <= LESSON_BYTES_MAX, "{n} failures take {} bytes", text.len());
        assert_reads_back(&facts);
    }
    let text = text_of(&many(100));
    assert!(text.contains("\n… and ") && text.contains(" more in "), "{text}");
    assert!(text.contains("lines left out …"), "{text}");
    // A thousand files are all there, at the price of the limit.
    assert_reads_back(&many(1_000));
    assert!(text_of(&many(1_000)).contains("## Reproduce"));
}

#[test]
fn the_command_can_be_pasted() {
    let mut facts = facts();
    facts.dir = "my app".to_owned();
    assert!(text_of(&facts).contains("```text\ncd 'my app' && npx eslint .\n```\n"));
}

#[test]
fn file_names_are_safe_bounded_and_follow_from_the_facts() {
    assert_eq!(facts().file_name(), "eslint-no-undef-l-0123abcd.md");
    for text in HOSTILE {
        let name = hostile(text).file_name();
        assert!(
            name.len() <= 100
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        );
        assert!(name.ends_with("-l-0123abcd.md") && !name.contains(".."), "{name}");
    }
}

#[test]
fn a_broken_lesson_names_its_line() {
    let error =
        |text: &str| parse_lesson(text, Some(std::path::Path::new("lessons/x.md"))).expect_err("broken").to_string();
    assert_eq!(error("# no front matter\n"), "lessons/x.md:1: no front matter between two lines `---`");
    let broken = text_of(&facts()).replace("schema: 1", "schema: 1\nredactions: [");
    assert!(error(&broken).starts_with("lessons/x.md:4"), "{}", error(&broken));
    let twice = text_of(&facts()).replace("schema: 1", "schema: 1\nschema: 1");
    assert!(error(&twice).contains("duplicate"), "{}", error(&twice));
    assert!(error(&text_of(&facts()).replace("schema: 1", "schema: 9")).contains("newer"));
    let bomb = "---\na: &a [x,x,x,x]\nb: [*a,*a,*a,*a]\n---\n";
    assert!(parse_lesson(bomb, None).is_err());
    assert!(parse_lesson(&format!("---\nschema: {}\n---\n", "[".repeat(20_000)), None).is_err());
}

#[test]
fn a_file_edited_on_another_system_is_read() {
    let text = text_of(&facts()).replace('\n', "\r\n");
    assert_eq!(parse_lesson(&format!("\u{feff}{text}"), None).expect("a lesson").front.id, "l-0123abcd");
}

#[test]
fn annotating_changes_one_key_and_nothing_else() {
    let text = text_of(&facts()) + "\nMy own words, kept.   \n";
    let set = set_front_matter_text(&text, "cause", "a \"typo\"\nin two lines").expect("front matter");
    assert_eq!(set.replace("# prettier-ignore\ncause: \"a \\\"typo\\\"\\nin two lines\"", "cause:"), text);
    assert_eq!(set_front_matter_text(&set, "cause", "a typo").expect("set"), text.replace("cause:", "cause: a typo"));
    let lesson = parse_lesson(&set, None).expect("a lesson");
    assert_eq!(lesson.front.cause.as_deref(), Some("a \"typo\"\nin two lines"));
    // A block that a person wrote is replaced whole; a key that was removed comes back.
    let block = text.replace("cause:\n", "cause: |\n  one\n\n  two\n");
    assert_eq!(set_front_matter_text(&block, "cause", "x"), set_front_matter_text(&text, "cause", "x"));
    let removed = text.replace("cause:\n", "");
    let lesson =
        parse_lesson(&set_front_matter_text(&removed, "cause", "x").expect("front matter"), None).expect("a lesson");
    assert_eq!(lesson.front.cause.as_deref(), Some("x"));
    let windows = text.replace('\n', "\r\n");
    assert_eq!(
        set_front_matter_text(&windows, "cause", "x").expect("front matter").matches('\n').count(),
        windows.matches('\n').count()
    );
}

/// A folder for a test with a git repository in it, by git itself.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn repository() -> Self {
        let scene = Scene { dir: tempfile::tempdir().expect("a folder") };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = std::process::Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.dir.path());
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        let output = command.args(identity).args(args).current_dir(self.dir.path()).output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn places(&self) -> Places {
        Places::find(self.dir.path(), &Environment::default())
    }

    fn folder(&self) -> LessonFolder {
        LessonFolder::find(&self.places(), &Settings::default())
    }

    fn share(&self) -> Option<std::path::PathBuf> {
        self.folder().share_lessons(&self.places(), &Settings::default()).expect("shared")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    fn exclude(&self) -> String {
        self.read(".git/info/exclude")
    }
}

#[test]
fn the_first_write_keeps_git_status_clean_and_the_second_changes_nothing() {
    let scene = Scene::repository();
    let exclude = scene.exclude();
    let written = scene.folder().write_lesson(&facts()).expect("written");
    assert!(written.new && written.path.ends_with(".lessons/eslint-no-undef-l-0123abcd.md"));
    assert_eq!(scene.git(&["status", "--porcelain", "-uall"]), "");
    assert_eq!(scene.read(".lessons/.gitignore"), "*\n");
    assert_eq!(scene.exclude(), exclude, "git's own exclude file is the user's");
    fs::write(&written.path, "edited by hand").expect("written");
    let again = scene.folder().write_lesson(&facts()).expect("written");
    assert_eq!(again, WrittenLesson { path: written.path.clone(), new: false });
    assert_eq!(fs::read_to_string(&written.path).expect("read"), "edited by hand");
}

#[test]
fn what_changed_last_is_read_in_the_order_of_its_names() {
    let scene = Scene::repository();
    scene.folder().write_lesson(&facts()).expect("written");
    let names = ["c-l-00000001.md", "a-l-00000002.md", "b-l-00000003.md"];
    for name in names {
        // The clock of a file system goes on in ticks.
        std::thread::sleep(std::time::Duration::from_millis(20));
        scene.file(&format!(".lessons/{name}"), "x");
    }
    let read = |max| scene.folder().read_changed_last(max).map(|file| file.path).collect::<Vec<_>>();
    let path = |name| scene.dir.path().join(".lessons").join(name);
    assert_eq!(read(2), [path(names[1]), path(names[2])]);
    assert_eq!(read(9).len(), 4);
}

#[test]
fn a_lesson_that_was_renamed_is_not_written_again() {
    let scene = Scene::repository();
    let written = scene.folder().write_lesson(&facts()).expect("written");
    let renamed = written.path.with_file_name("mine-l-0123abcd.md");
    fs::rename(&written.path, &renamed).expect("renamed");
    assert_eq!(scene.folder().write_lesson(&facts()).expect("left").path, renamed);
}

#[test]
fn shared_lessons_are_in_a_folder_that_git_sees() {
    let scene = Scene::repository();
    let private = scene.folder().write_lesson(&facts()).expect("written").path;
    assert!(scene.folder().is_hidden());
    assert_eq!(scene.share(), Some(scene.dir.path().join("lessons")));
    assert!(!scene.folder().is_hidden() && !private.exists() && !scene.dir.path().join(".lessons").exists());
    assert_eq!(scene.share(), None, "already");
    let mut other = facts();
    other.id = "l-00000001".to_owned();
    scene.folder().write_lesson(&other).expect("written");
    let seen = scene.git(&["status", "--porcelain", "-uall", "lessons"]);
    assert_eq!(seen.lines().filter(|line| line.ends_with(".md")).count(), 2, "{seen}");
    // Without a lesson at the moment the folder is still the team's.
    for lesson in scene.folder().read_lesson_files() {
        scene.folder().remove(&lesson.path).expect("removed");
    }
    assert!(scene.folder().dir.ends_with("lessons") && !scene.folder().dir.ends_with(".lessons"));
    // A clone has the committed lessons, and nothing else says that they are shared.
    let clone = Scene::repository();
    clone.file("lessons/2026-01-01-x-l-00000000.md", "x");
    let written = clone.folder().write_lesson(&facts()).expect("written").path;
    assert!(written.starts_with(clone.dir.path().join("lessons")));
    assert_eq!(clone.git(&["status", "--porcelain", "-uall"]).lines().count(), 2);
}

#[test]
fn somebody_elses_lessons_folder_is_left_alone() {
    let course = Scene::repository();
    course.file("lessons/01-introduction.md", "# Lesson one");
    let in_the_way = Scene::repository();
    in_the_way.file("lessons", "a file");
    let linked = Scene::repository();
    std::os::unix::fs::symlink("/tmp", linked.dir.path().join("lessons")).expect("a link");
    for scene in [course, in_the_way, linked] {
        assert!(scene.folder().dir.ends_with(".lessons"));
        scene.folder().write_lesson(&facts()).expect("written");
        assert_eq!(scene.share(), Some(scene.dir.path().join(".lessons")), "where they are");
        let seen = scene.git(&["status", "--porcelain", "-uall"]);
        assert!(seen.contains(".lessons/eslint-no-undef-l-0123abcd.md"), "{seen}");
    }
    let empty = Scene::repository();
    empty.file("lessons/.gitkeep", "");
    assert!(empty.folder().dir.ends_with(".lessons"), "nothing is shared yet");
}

#[test]
fn a_folder_that_a_setting_names_is_hidden_only_when_it_is_ours() {
    let mut settings = Settings::default();
    settings.lesson.dir = Some("docs/notes".into());
    let scene = Scene::repository();
    let folder = || LessonFolder::find(&Places::find(scene.dir.path(), &Environment::default()), &settings);
    folder().write_lesson(&facts()).expect("written");
    assert_eq!(scene.git(&["status", "--porcelain", "-uall"]), "");
    let scene = Scene::repository();
    scene.file("docs/notes/mine.md", "# Mine");
    let folder = LessonFolder::find(&Places::find(scene.dir.path(), &Environment::default()), &settings);
    folder.write_lesson(&facts()).expect("written");
    assert_eq!(scene.git(&["status", "--porcelain", "-uall"]).lines().count(), 2);
}

#[test]
fn what_older_versions_excluded_moves_to_the_hidden_folder() {
    let scene = Scene::repository();
    scene.file("lessons/2026-01-01-x-l-00000000.md", "x");
    scene.file(".git/info/exclude", "mine\n/lessons/\n");
    let settle = |scene: &Scene| LessonFolder::migrate_lessons(&scene.places(), &Settings::default()).expect("settled");
    settle(&scene);
    assert_eq!((scene.exclude().as_str(), scene.read(".lessons/.gitignore").as_str()), ("mine\n", "*\n"));
    assert!(scene.dir.path().join(".lessons/2026-01-01-x-l-00000000.md").exists());
    assert!(!scene.dir.path().join("lessons").exists());
    // The same of lessons that were shared: they stay.
    let scene = Scene::repository();
    scene.file("lessons/2026-01-01-x-l-00000000.md", "x");
    scene.file(".git/info/exclude", "mine\n# verify-run: lessons are shared\n");
    settle(&scene);
    assert_eq!(scene.exclude(), "mine\n");
    assert!(scene.folder().dir.join("2026-01-01-x-l-00000000.md").exists() && !scene.folder().is_hidden());
}

#[test]
fn a_link_that_came_with_a_clone_leads_no_lesson_out_of_it() {
    let outside = tempfile::tempdir().expect("a folder");
    let scene = Scene::repository();
    scene.file("lessons", "a file");
    std::os::unix::fs::symlink(outside.path(), scene.dir.path().join(".lessons")).expect("a link");
    assert!(scene.folder().write_lesson(&facts()).expect_err("refused").to_string().contains("link"));
    assert_eq!(fs::read_dir(outside.path()).expect("reads").count(), 0);
}

#[test]
fn outside_git_in_a_work_tree_and_in_a_bare_repository() {
    let dir = tempfile::tempdir().expect("a folder");
    let places = Places::find(dir.path(), &Environment::default());
    let folder = LessonFolder::find(&places, &Settings::default());
    assert_eq!(folder.dir, places.state.join("lessons"));
    assert!(!folder.dir.starts_with(dir.path()), "the folder may be the home folder");

    let scene = Scene::repository();
    scene.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    scene.git(&["worktree", "add", "-q", "tree"]);
    let places = Places::find(&scene.dir.path().join("tree"), &Environment::default());
    let written = LessonFolder::find(&places, &Settings::default()).write_lesson(&facts()).expect("written");
    assert!(written.path.starts_with(scene.dir.path().join("tree/.lessons")));

    let bare = Repository { worktree: None, git_dir: dir.path().to_owned(), common_dir: dir.path().to_owned() };
    let places = Places { repository: Some(bare), state: dir.path().join("verify-run").into(), ..places };
    assert_eq!(LessonFolder::find(&places, &Settings::default()).dir, dir.path().join("verify-run/lessons"));
}

#[test]
fn a_lesson_is_untouched_until_somebody_but_the_recorder_edits_it() {
    let text = text_of(&facts());
    let fixed = set_fix(&text, &LessonFixSection::Fixed(Box::new(fix()))).expect("its own part");
    assert!(is_untouched(&text) && is_untouched(&fixed));
    for text in HOSTILE {
        assert!(is_untouched(&text_of(&hostile(text))), "{text}");
    }
    for edited in [
        set_front_matter_text(&text, "cause", "a typo").expect("set"),
        text.replace("no-undef", "no-such"),
        text.replace("Not known yet.", "I know it."),
        text.clone() + "\nMy notes.\n",
        text.replacen("<!-- verify-run:lesson ", "<!-- verify-run:lesson 0", 1),
        String::new(),
    ] {
        assert!(!is_untouched(&edited), "{edited}");
    }
}

#[test]
fn thousands_of_files_and_patterns_are_counted_not_listed() {
    let mut facts = many(40_000);
    facts.patterns = (0..2_000).map(|n| format!("p-{n:08}")).collect();
    let text = text_of(&facts);
    assert!(text.len() <= 64 << 10, "{} bytes", text.len());
    let front = parse_lesson(&text, None).expect("a lesson").front;
    assert_eq!(front.files.len() + usize::try_from(front.cut.files).expect("small"), 40_000);
    assert!(front.files.len() > 100 && front.patterns.len() == 500);
    facts.files = (0..40_000).map(|n| format!("/outside-{n}")).collect();
    let text = text_of(&facts);
    assert!(text.len() <= 64 << 10, "{} bytes", text.len());
}

fn fix() -> LessonFixFacts {
    LessonFixFacts {
        id: "x-0123abcd".into(),
        attempt: 2,
        seconds: 260,
        status_reason: "its task is not over yet".into(),
        files: vec![("src/a.js".into(), Some(2), Some(1)), ("logo.png".into(), None, None)],
        commands: vec!["npm install".into()],
        changed_dependencies: vec!["node_modules".into()],
        diff: "--- a/src/a.js\n+++ b/src/a.js\n@@ -1 +1,2 @@\n-let x = 1;\n+import y from 'y';\n+let x = y;\n".into(),
        tried: vec!["src/b.js".into()],
        came_with_base: 3,
        ..LessonFixFacts::default()
    }
}

#[test]
fn the_fix_is_filled_in_and_reads_like_this() {
    let text = text_of(&facts());
    let fixed = set_fix(&text, &LessonFixSection::Fixed(Box::new(fix()))).expect("its own part");
    let (before, after) = fixed.split_once("## Fix\n").expect("a heading");
    assert!(text.starts_with(before), "nothing else changes");
    insta::assert_snapshot!(after);
    let flake = LessonFixSection::Flake { proof: "proven".into(), why: "the same tree passed".into() };
    let flaky = set_fix(&fixed, &flake).expect("still its own");
    assert!(
        flaky.ends_with(
            "\n```text\nNone: this is a proven flake.\nthe same tree passed\n```\n\n<!-- /verify-run:fix -->\n"
        ),
        "{flaky}"
    );
    assert_eq!(set_fix(&flaky, &LessonFixSection::Fixed(Box::new(fix()))).expect("and again"), fixed);
}

#[test]
fn what_people_wrote_is_never_overwritten() {
    let part = LessonFixSection::Fixed(Box::new(fix()));
    let text = text_of(&facts());
    let annotated = set_front_matter_text(&text, "cause", "a typo").expect("set") + "\nMy own notes.\n";
    let fixed = set_fix(&annotated, &part).expect("the part itself is untouched");
    assert!(fixed.contains("cause: a typo\n") && fixed.ends_with("<!-- /verify-run:fix -->\n\nMy own notes.\n"));
    for edited in [
        text.replace("Not known yet.", "I know it."),
        fixed.replace("let x = y", "let x = z"),
        text.replace("<!-- /verify-run:fix -->", ""),
        text.replace('\n', "\r\n"),
        "no lesson".to_owned(),
    ] {
        assert_eq!(set_fix(&edited, &part), None, "{edited}");
    }
}

#[test]
fn a_hostile_fix_stays_in_its_part_and_a_large_one_in_its_bounds() {
    for text in HOSTILE.iter().copied().chain(["<!-- /verify-run:fix -->\n", "```\n<!-- /verify-run:fix -->\n# x\n"]) {
        let hostile = LessonFixFacts {
            diff: format!("@@ -1 +1 @@\n+{text}\n{text}\n"),
            commands: vec![text.into()],
            status_reason: text.into(),
            files: vec![(text.into(), None, None)],
            ..fix()
        };
        let fixed = set_fix(&text_of(&facts()), &LessonFixSection::Fixed(Box::new(hostile))).expect("fits");
        assert!(!fixed.contains('\x1b'));
        assert_eq!(fixed.matches("<!-- /verify-run:fix -->").count(), 1, "{fixed}");
        assert!(set_fix(&fixed, &LessonFixSection::Fixed(Box::new(fix()))).is_some(), "still ours: {fixed}");
    }
    let large = LessonFixFacts { diff: "+a line of the diff\n".repeat(4000), ..fix() };
    for facts in [facts(), many(2_000)] {
        let text = set_fix(&text_of(&facts), &LessonFixSection::Fixed(Box::new(large.clone()))).expect("fits");
        assert!(text.len() <= LESSON_BYTES_MAX.max(text_of(&facts).len() + 2048), "{}", text.len());
        assert!(text.contains(" of the diff left out\n"), "{text}");
    }
}

#[test]
fn a_lesson_is_ours_while_nobody_edits_or_commits_it() {
    let scene = Scene::repository();
    let written = scene.folder().write_lesson(&facts()).expect("written").path;
    assert!(scene.folder().is_own_lesson(&written).expect("reads"));
    let text = fs::read_to_string(&written).expect("reads");
    fs::write(&written, set_front_matter_text(&text, "cause", "mine").expect("set")).expect("writes");
    assert!(!scene.folder().is_own_lesson(&written).expect("reads"));
    fs::write(&written, &text).expect("writes");
    scene.share();
    let shared = scene.dir.path().join("lessons/eslint-no-undef-l-0123abcd.md");
    assert!(scene.folder().is_own_lesson(&shared).expect("reads"), "not committed yet");
    scene.git(&["add", "lessons"]);
    assert!(!scene.folder().is_own_lesson(&shared).expect("reads"));
    assert!(scene.folder().is_own_lesson(&written).is_err(), "is gone");
}

/// Options of prettier that change Markdown or YAML.
const PRETTIER_OPTIONS: [&[&str]; 8] = [
    &[],
    &["--prose-wrap=always"],
    &["--prose-wrap=never", "--single-quote"],
    &["--tab-width=4"],
    &["--use-tabs", "--print-width=120"],
    &["--print-width=40", "--prose-wrap=always"],
    &["--print-width=40", "--prose-wrap=always", "--single-quote", "--tab-width=4", "--use-tabs"],
    &["--tab-width=8", "--no-bracket-spacing", "--quote-props=consistent"],
];

/// The tools of this repository's own `.tools`, where they are installed.
fn tool(name: &str) -> Option<std::path::PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/bin").join(name);
    path.exists().then_some(path)
}

#[test]
fn no_option_of_a_formatter_changes_a_lesson_and_no_linter_complains() {
    let (Some(prettier), Some(markdownlint)) = (tool("prettier"), tool("markdownlint")) else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let samples = HOSTILE.iter().map(|text| hostile(text)).chain([facts(), many(1), many(100), many(400), many(5_000)]);
    for (n, facts) in samples.enumerate() {
        let text = text_of(&facts);
        let fixed = set_fix(&text, &LessonFixSection::Fixed(Box::new(fix()))).expect("its own part");
        let long =
            "a cause that is much longer than any line: it goes on, and on, and \"on\", beyond every width that is set";
        let annotated = set_front_matter_text(&text, "cause", long)
            .and_then(|text| set_front_matter_text(&text, "resolution", "import it"));
        fs::write(dir.path().join(format!("{n}.md")), text).expect("written");
        fs::write(dir.path().join(format!("{n}-fixed.md")), fixed).expect("written");
        fs::write(dir.path().join(format!("{n}-annotated.md")), annotated.expect("front matter")).expect("written");
    }
    let run = |program: &std::path::Path, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        let path = std::env::join_paths(
            program
                .parent()
                .map(std::path::Path::to_owned)
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        command.args(args).current_dir(dir.path()).env("PATH", path.expect("folders"));
        let output = command.output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said));
    };
    for options in PRETTIER_OPTIONS {
        run(&prettier, &[&["--check", "."], options].concat());
    }
    run(&markdownlint, &["."]);
}

#[test]
fn what_a_tool_says_of_a_merge_is_no_conflict_of_the_lesson() {
    let mut facts = facts();
    facts.lines = ["<<<<<<< HEAD", "one", "=======", "two", ">>>>>>> other"].map(str::to_owned).to_vec();
    let annotated = set_front_matter_text(&text_of(&facts), "cause", "a merge").expect("set");
    assert_eq!(conflict::parse_conflict(&annotated), None, "{annotated}");
    assert!(parse_lesson(&annotated, None).expect("a lesson").body.contains("\ntwo\n"));
}
