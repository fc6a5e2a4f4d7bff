//! What is in a snapshot.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{changed, fail, files_of, pass, paths_of, run_in, untouched};
use crate::sandbox::Sandbox;

fn blob(content: &str) -> (String, String) {
    ("100644".to_owned(), content.to_owned())
}

#[test]
fn a_snapshot_is_the_work_tree_without_what_git_ignores() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "*.log\n/build/\n");
    sandbox.write("changed", "before\n");
    sandbox.write("removed", "x\n");
    sandbox.write("run.sh", "true\n");
    sandbox.write("forced.log", "kept although ignored\n");
    sandbox.commit("Files");
    sandbox.git(["add", "--force", "forced.log"]);
    sandbox.commit("One more");
    sandbox.write("changed", "after\n");
    fs::remove_file(sandbox.path("removed")).expect("removes");
    fs::set_permissions(sandbox.path("run.sh"), fs::Permissions::from_mode(0o755)).expect("permissions");
    sandbox.write("new/deep/file", "new\n");
    sandbox.write("staged", "staged\n");
    sandbox.git(["add", "staged"]);
    sandbox.write("staged", "and changed again\n");
    sandbox.write("ignored.log", "x");
    sandbox.write("build/out", "x");
    symlink("nowhere", sandbox.path("link")).expect("a link");
    sandbox.git(["config", "--local", "core.excludesFile", "../home/ignored"]);
    fs::write(sandbox.home().join("ignored"), "*.mine\n").expect("a file");
    sandbox.write("a.mine", "x");
    let event = untouched(&sandbox, || fail(&sandbox));
    let files = files_of(&sandbox, &event);
    let wanted = [
        (".gitignore", blob("*.log\n/build/\n")),
        ("README", blob("a project\n")),
        ("changed", blob("after\n")),
        ("forced.log", blob("kept although ignored\n")),
        ("link", ("120000".to_owned(), "nowhere".to_owned())),
        ("new/deep/file", blob("new\n")),
        ("run.sh", ("100755".to_owned(), "true\n".to_owned())),
        ("staged", blob("and changed again\n")),
    ];
    assert_eq!(files, wanted.map(|(path, content)| (path.to_owned(), content)).into());
    assert_eq!(changed(&event), ["changed", "link", "new/deep/file", "removed", "run.sh", "staged"]);
    assert_eq!((&event["exact"], &event["base"]["what"]), (&true.into(), &"head".into()));
}

#[test]
fn the_content_of_files_with_secrets_is_in_no_snapshot() {
    let sandbox = Sandbox::repository();
    sandbox.write(".env.production", "TOKEN=committed\n");
    sandbox.write(".env.example", "TOKEN=\n");
    sandbox.commit("Settings");
    let secret = |n: usize| format!("no known shape: hunter{n}\n");
    let names = [".env", ".env.production", "certs/server.key", "id_rsa", ".npmrc", "credentials.json"];
    for (n, name) in names.iter().enumerate() {
        sandbox.write(name, secret(n));
    }
    sandbox.write(".env.example", "TOKEN=yours\n");
    symlink("../secret", sandbox.path("link.pem")).expect("a link");
    let first = fail(&sandbox);
    let files = files_of(&sandbox, &first);
    for name in names {
        let content = &files[name].1;
        assert!(content.contains("a file with secrets") && !content.contains("hunter"), "{name}: {content}");
    }
    assert_eq!((&*files[".env.example"].1, &*files["link.pem"].1), ("TOKEN=yours\n", "../secret"));
    // A change of one is a change of the tree.
    assert_eq!(changed(&fail(&sandbox)), changed(&first));
    let same = fail(&sandbox);
    sandbox.write(".env", secret(7));
    let other = fail(&sandbox);
    assert_eq!((&first["tree"], same["tree"] == other["tree"]), (&same["tree"], false));
    let objects = sandbox.state().join("objects");
    assert!(!objects_hold(&sandbox, &objects, "hunter"), "a secret is in an object");
}

/// Whether one of the objects in a folder has the text.
fn objects_hold(sandbox: &Sandbox, objects: &std::path::Path, text: &str) -> bool {
    let ask =
        |arguments: &[&str]| sandbox.bare("git").args(arguments).env("GIT_OBJECT_DIRECTORY", objects).outcome().stdout;
    let listed = ask(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    let ids = String::from_utf8(listed).expect("names");
    assert!(ids.lines().count() > 8, "{ids}");
    ids.lines().any(|id| String::from_utf8_lossy(&ask(&["cat-file", "-p", id])).contains(text))
}

#[test]
fn what_verify_run_writes_is_in_no_snapshot() {
    let sandbox = Sandbox::repository();
    sandbox.write(".agent/patterns/active/p.md", "ours");
    sandbox.write(".agent/other", "not ours");
    sandbox.write("verify-run.toml", "[lesson]\nwrite = \"always\"\n");
    let first = fail(&sandbox);
    // The first failure wrote a lesson; committed or not, it is no change of the project.
    sandbox.verify_run(["lesson", "share"]).prints();
    let second = fail(&sandbox);
    sandbox.commit("Lessons");
    let third = fail(&sandbox);
    assert_eq!(sandbox.lessons().len(), 1);
    assert_eq!(paths_of(&sandbox, &first), [".agent/other", "README", "verify-run.toml"]);
    assert_eq!((&first["tree"], &first["tree"]), (&second["tree"], &third["tree"]));
    // Their removal from the tree is not a change of them.
    assert_eq!(changed(&third), Vec::<&str>::new(), "{third}");
    // A folder of that name with other things in it is the project's.
    let other = Sandbox::repository();
    other.write("lessons/one.rs", "fn main() {}\n");
    let event = fail(&other);
    assert_eq!(paths_of(&other, &event), ["README", "lessons/one.rs"]);
    assert_eq!(paths_of(&other, &fail(&other)), ["README", "lessons/one.rs"]);
}

#[test]
fn names_that_are_not_text_are_kept_as_they_are() {
    let sandbox = Sandbox::repository();
    let names: [&[u8]; 6] =
        [b"caf\xe9", b"with space", b"tab\tand\nline", "\u{fc}ber/\u{202e}x".as_bytes(), b"\"quoted\"", b":(top)x"];
    for name in names {
        sandbox.write(OsStr::from_bytes(name), "x\n");
    }
    let event = fail(&sandbox);
    let mut wanted: Vec<String> =
        names.iter().map(|name| name.iter().map(|&byte| char::from(byte)).collect()).collect();
    wanted.push("README".into());
    wanted.sort();
    assert_eq!(paths_of(&sandbox, &event), wanted);
    let paths = event["files"].as_array().expect("files").iter().map(|file| &file["path"]);
    assert!(paths.clone().any(|path| path["b64"].is_string()) && paths.clone().any(|path| path == "tab\tand\nline"));
    assert!(!event["diff"].as_str().expect("text").contains('\u{202e}'));
    fs::remove_file(sandbox.path(OsStr::from_bytes(names[0]))).expect("removes");
    assert_eq!(paths_of(&sandbox, &fail(&sandbox)).len(), 6);
}

#[test]
fn files_folders_and_links_take_each_others_place() {
    let sandbox = Sandbox::repository();
    for name in ["file", "folder/a", "folder/b/c", "linked/x", "fifo"] {
        sandbox.write(name, format!("{name}\n"));
    }
    sandbox.write("elsewhere/x", "another x\n");
    sandbox.commit("Files");
    let first = pass(&sandbox);
    for gone in ["folder", "linked"] {
        fs::remove_dir_all(sandbox.path(gone)).expect("removes");
    }
    for gone in ["file", "fifo"] {
        fs::remove_file(sandbox.path(gone)).expect("removes");
    }
    sandbox.write("file/inside", "now a folder\n");
    sandbox.write("folder", "now a file\n");
    symlink("elsewhere", sandbox.path("linked")).expect("a link");
    nix::unistd::mkfifo(&sandbox.path("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let second = untouched(&sandbox, || fail(&sandbox));
    assert_eq!(paths_of(&sandbox, &second), ["README", "elsewhere/x", "file/inside", "folder", "linked"]);
    // And back.
    fs::remove_file(sandbox.path("fifo")).expect("removes");
    sandbox.git(["clean", "-d", "--force", "--quiet"]);
    sandbox.git(["reset", "--hard", "--quiet"]);
    let third = fail(&sandbox);
    assert_eq!(third["tree"], first["tree"], "{third}");
    assert_eq!(changed(&third), Vec::<&str>::new());
}

#[test]
fn a_file_that_is_too_large_or_cannot_be_read_is_counted() {
    let sandbox = Sandbox::repository();
    sandbox.write("known", "small\n");
    sandbox.commit("Files");
    sandbox.write("verify-run.toml", "[snapshot]\nfile_bytes = 1000\n");
    sandbox.write("large", "x".repeat(1001));
    sandbox.write("fits", "x".repeat(1000));
    let event = fail(&sandbox);
    assert_eq!(paths_of(&sandbox, &event), ["README", "fits", "known", "verify-run.toml"]);
    assert_eq!((&event["left_out"], &event["exact"]), (&1.into(), &true.into()));
    // One that git knows stays as it was, so an unchanged tree can't be claimed.
    sandbox.write("known", "y".repeat(2000));
    let event = fail(&sandbox);
    assert_eq!(files_of(&sandbox, &event)["known"].1, "small\n");
    assert_eq!((&event["left_out"], &event["exact"]), (&2.into(), &serde_json::Value::Null));
}

#[test]
fn a_run_that_changes_the_tree_has_no_exact_one() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "cache\n");
    sandbox.write("a", "x\n");
    sandbox.commit("Files");
    let exact = |script: &str| {
        let event = run_in(&sandbox, "", &format!("sleep 0.03; {script}; exit 3"), 3);
        assert!(event["tree"].is_string(), "{event}");
        event["exact"] == true
    };
    assert!(exact("true"));
    assert!(exact("echo >> cache"));
    assert!(!exact("echo >> a"));
    assert!(exact("true"));
    assert!(!exact("echo > new"));
    assert!(!exact("rm new"));
    assert!(!exact("chmod +x a"));
    assert!(!exact("touch -d 2001-01-01 a"), "its time is old, but when that was set is not");
    assert!(exact("true"));
}

#[test]
fn a_known_file_that_git_was_told_to_overlook_is_seen() {
    let sandbox = Sandbox::repository();
    for name in ["assumed", "skipped", "intended"] {
        sandbox.write(name, "before\n");
    }
    sandbox.git(["add", "assumed", "skipped"]);
    sandbox.git(["commit", "--quiet", "--message", "Files"]);
    sandbox.git(["add", "--intent-to-add", "intended"]);
    sandbox.git(["update-index", "--assume-unchanged", "assumed"]);
    sandbox.git(["update-index", "--skip-worktree", "skipped"]);
    for name in ["assumed", "skipped"] {
        sandbox.write(name, "and after\n");
    }
    let event = untouched(&sandbox, || fail(&sandbox));
    assert_eq!(changed(&event), ["assumed", "intended", "skipped"]);
    sandbox.write("assumed", "once more\n");
    assert_ne!(fail(&sandbox)["tree"], event["tree"]);
}

#[test]
fn a_change_in_the_moment_in_which_the_index_was_written_is_seen() {
    let sandbox = Sandbox::repository();
    for round in 0..8 {
        // The same size, and as likely as not the same time as the index.
        sandbox.write("racy", format!("{round}a\n"));
        sandbox.git(["add", "racy"]);
        sandbox.write("racy", format!("{round}b\n"));
        let event = fail(&sandbox);
        assert_eq!(files_of(&sandbox, &event)["racy"].1, format!("{round}b\n"));
    }
}

#[test]
fn line_ends_are_what_the_user_has_git_make_of_them() {
    let sandbox = Sandbox::repository();
    sandbox.git(["config", "--global", "core.autocrlf", "input"]);
    sandbox.write("windows", "a\r\nb\r\n");
    sandbox.write("kept", "a\r\nb\r\n");
    fs::write(sandbox.path(".git/info/attributes"), "kept -text\n").expect("a file");
    sandbox.git(["add", "windows", "kept"]);
    sandbox.git(["commit", "--quiet", "--message", "Files"]);
    for name in ["windows", "kept"] {
        sandbox.write(name, "a\r\nb\r\nc\r\n");
    }
    let event = fail(&sandbox);
    let files = files_of(&sandbox, &event);
    assert_eq!((files["windows"].1.as_str(), files["kept"].1.as_str()), ("a\nb\nc\n", "a\r\nb\r\nc\r\n"));
}
