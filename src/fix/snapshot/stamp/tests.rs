use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::config::{Environment, Places};
use crate::fix::snapshot::take_snapshot;

#[allow(clippy::disallowed_methods, reason = "a repository for a test")]
fn git_in(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").args([
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.invalid",
    ]);
    assert!(command.args(arguments).status().expect("git").success(), "{arguments:?}");
}

/// A repository with ignored folders, a cache that ignores itself, an ignored list of patterns, and a link.
struct Project {
    folder: tempfile::TempDir,
    places: Places,
    excluded: Vec<PathBuf>,
    /// State of a linear congruential generator (Knuth, MMIX).
    random: u64,
    made: usize,
}

impl Project {
    fn new(random: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        git_in(&root, &["init", "--quiet"]);
        let places = Places::find(&root, &Environment::default());
        let project = Project { folder, places, excluded: Vec::new(), random, made: 0 };
        for (path, text) in [
            (".gitignore", "ignored/\n*.log\n"),
            ("src/a.txt", "one\n"),
            ("src/deep/b.txt", "two\n"),
            ("docs/c.txt", "three\n"),
            ("docs/.gitignore", "*.out\n"),
            ("ignored/x/y.txt", "no\n"),
            ("cache/.gitignore", "*\n"),
            ("cache/v/z.txt", "no\n"),
            ("empty/quiet.log", "no\n"),
        ] {
            project.write(path, text);
        }
        symlink("a.txt", project.path("src/link")).expect("a link");
        project.git(&["add", "--all"]);
        project
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn git(&self, arguments: &[&str]) {
        git_in(self.folder.path(), arguments);
    }

    fn stamp_file(&self) -> PathBuf {
        let folders = fs::read_dir(self.places.state.snapshots()).expect("a folder");
        let mut folders = folders.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        folders.next().expect("a work tree").join(STAMP_FILE)
    }

    fn take(&self) -> TakenSnapshot {
        let options = SnapshotOptions {
            time_max: Duration::from_secs(60),
            file_bytes_max: 1 << 20,
            excluded: self.excluded.clone(),
        };
        take_snapshot(&self.places, &options).expect("a snapshot")
    }

    /// Looks until nothing is too young for a stamp.
    fn take_with_stamp(&self) -> TakenSnapshot {
        std::iter::repeat_with(|| self.take()).take(10_000).find(|taken| taken.stamp.is_some()).expect("a stamp")
    }

    /// As git sees it, without a stamp.
    fn take_anew(&self) -> TakenSnapshot {
        let _ = fs::remove_file(self.stamp_file());
        self.take()
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).expect("31 bits") % below
    }

    fn draw_from(&mut self, list: &[&'static str]) -> &'static str {
        list[self.draw(list.len())]
    }

    fn new_name(&mut self) -> String {
        self.made += 1;
        let ending = self.draw_from(&["txt", "txt", "log", "out"]);
        format!("n{}.{ending}", self.made)
    }

    /// Changes one thing; what.
    fn change(&mut self) -> String {
        let files = ["src/a.txt", "src/deep/b.txt", "docs/c.txt", ".gitignore", "docs/.gitignore", "cache/.gitignore"];
        let folders = ["", "src", "src/deep", "docs", "ignored", "ignored/x", "cache", "cache/v", "empty"];
        let (file, folder) = (self.draw_from(&files), self.draw_from(&folders));
        let path = self.path(file);
        match self.draw(15) {
            0 => {
                let name = self.new_name();
                self.write(format!("{folder}/{name}").trim_start_matches('/'), "new\n");
                format!("{name} in {folder:?}")
            }
            1 => {
                let text = format!("{}x\n", fs::read_to_string(&path).unwrap_or_default());
                self.write(file, &text);
                format!("{file} is longer")
            }
            2 => {
                // The same size and time: only the time of the change of its attributes tells.
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "one\n".to_owned());
                let time = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok();
                let turned: String = text.chars().map(|it| if it == 'e' { 'o' } else { it }).collect();
                self.write(file, &turned);
                if let Some(time) = time {
                    let opened = fs::File::options().write(true).open(&path).expect("a file");
                    opened.set_modified(time).expect("a time");
                }
                format!("{file} is as long and as old")
            }
            3 => {
                let mode = if self.draw(2) == 0 { 0o755 } else { 0o644 };
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                format!("{file} has mode {mode:o}")
            }
            4 => {
                let _ = fs::remove_file(&path);
                format!("{file} is gone")
            }
            5 => {
                let _ = fs::rename(self.path("src/deep"), self.path("docs/deep"));
                "a folder moved".to_owned()
            }
            6 => {
                let _ = fs::rename(self.path("docs/deep"), self.path("src/deep"));
                "a folder moved back".to_owned()
            }
            number @ 7..=13 => self.change_around(number, folder),
            _ => "nothing".to_owned(),
        }
    }

    /// Changes a link, what is ignored, what is staged, or what is asked for; what.
    fn change_around(&mut self, number: usize, folder: &str) -> String {
        match number {
            7 => {
                let _ = fs::remove_file(self.path("src/link"));
                let target = self.draw_from(&["a.txt", "deep", "nothing"]);
                let _ = symlink(target, self.path("src/link"));
                format!("the link leads to {target}")
            }
            8 => {
                let text = self.draw_from(&["", "*\n", "*.out\n", "ignored/\n*.log\n", "!*.log\n"]);
                let list = self.draw_from(&[".gitignore", "docs/.gitignore", "cache/.gitignore", "src/.gitignore"]);
                self.write(list, text);
                format!("{list} is {text:?}")
            }
            9 => {
                let text = self.draw_from(&["", "*.txt\n", ".gitignore\n", "src\n"]);
                self.write(".git/info/exclude", text);
                format!("info/exclude is {text:?}")
            }
            10 => {
                self.git(&["add", "--all"]);
                "everything is staged".to_owned()
            }
            11 => {
                self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
                "a commit".to_owned()
            }
            12 => {
                let _ = fs::create_dir_all(self.path(folder).join("more/below"));
                format!("folders in {folder:?}")
            }
            _ => {
                self.excluded = vec![PathBuf::from(self.draw_from(&["docs", "nothing"]))];
                format!("without {:?}", self.excluded)
            }
        }
    }
}

/// What has to be equal of two looks.
fn seen(taken: &TakenSnapshot) -> (&str, bool, u64) {
    (&taken.tree, taken.blind, taken.left_out)
}

#[test]
fn a_stamped_work_tree_is_seen_as_git_sees_it() {
    let mut at_a_glance = 0;
    for seed in 0..8 {
        let mut project = Project::new(seed);
        let mut done = Vec::new();
        for _ in 0..40 {
            let before = project.take_with_stamp();
            done.push(project.change());
            let now = project.take();
            at_a_glance += usize::from(now.stamp == before.stamp);
            let anew = project.take_anew();
            assert_eq!(seen(&now), seen(&anew), "{seed}: {done:?}");
            // The second look in a row knows no more what was in a folder that is left out now.
            assert!(now.has_excluded || !anew.has_excluded, "{seed}: {done:?}");
            assert!(now.changed_at >= anew.changed_at, "{seed}: {done:?}");
        }
    }
    assert!(at_a_glance >= 16, "{at_a_glance} looks were none of git's");
}

#[test]
fn what_nothing_was_changed_in_needs_no_second_look() {
    let project = Project::new(1);
    let before = project.take_with_stamp();
    // What git ignores may change.
    project.write("ignored/x/more.txt", "x\n");
    project.write("cache/v/more.txt", "x\n");
    project.write("cache/more.txt", "x\n");
    assert_eq!(project.take().stamp, before.stamp);
    project.write("src/deep/b.txt", "other\n");
    assert_ne!(project.take().tree, before.tree);
}

#[test]
fn an_ignored_list_of_patterns_is_asked_about_folders_that_are_as_they_were() {
    let project = Project::new(1);
    project.write(".git/info/exclude", ".gitignore\n");
    project.write("src/deep/ignored/quiet.log", "no\n");
    project.take_with_stamp();
    // It reverts what the list above it says of a folder in which git sees nothing yet.
    project.write("src/.gitignore", "!ignored/\n");
    let before = project.take_with_stamp();
    project.write("src/deep/ignored/seen.txt", "yes\n");
    assert_ne!(project.take().tree, before.tree);
}

#[test]
fn a_stamp_that_cannot_be_written_is_none() {
    let project = Project::new(1);
    let before = project.take_with_stamp();
    fs::remove_file(project.stamp_file()).expect("a stamp");
    fs::create_dir(project.stamp_file()).expect("something in its place");
    let now = project.take();
    assert_eq!((&now.tree, now.stamp), (&before.tree, None));
}

#[test]
fn a_repository_or_a_submodule_inside_has_no_stamp() {
    let project = Project::new(1);
    project.take_with_stamp();
    fs::create_dir_all(project.path("docs/inner/.git")).expect("a folder");
    project.write("docs/inner/.git/HEAD", "ref: refs/heads/main\n");
    for _ in 0..3 {
        assert_eq!(project.take().stamp, None);
    }
}

#[test]
fn a_time_that_a_later_change_may_have_too_is_none() {
    let look = Timestamp(10_000_000);
    let newest = |at: i64, is_coarse: bool| NewestChange { at, is_coarse }.is_before(look, 4_000);
    assert!(newest(9_995_999, false) && !newest(9_996_000, false) && !newest(10_000_001, false));
    assert!(newest(7_999_999, true) && !newest(8_000_000, true));
    assert!(!newest(i64::MAX, false));
}

#[test]
fn only_a_list_of_one_star_ignores_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join(".gitignore");
    for (text, does) in [("*\n", true), ("# by a tool\n*", true), ("*\n!a\n", false), ("* \n", false), ("", false)] {
        fs::write(&list, text).expect("a file");
        assert_eq!(ignores_everything(&list), does, "{text:?}");
    }
}
