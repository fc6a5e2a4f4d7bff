use super::*;

const DIFF: &str = r#"commit 0123
    A message with
    --- a dash

diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,4 +10,4 @@ fn outer() {
 one
-- two
++ two
 three
 four
@@ -30 +30,2 @@
-x
+y
+z
\ No newline at end of file
diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git "a/t\303\244st.py" "b/t\303\244st.py"
new file mode 100644
--- /dev/null
+++ "b/t\303\244st.py"
@@ -0,0 +1 @@
+pass
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"#;

#[test]
fn every_kind_of_change_is_read() {
    let patch = Patch::parse(DIFF.as_bytes());
    let seen: Vec<_> = patch.files.iter().map(|file| (file.change, file.old.as_str(), file.new.as_str())).collect();
    assert_eq!(
        seen,
        [
            (PatchChange::Modified, "src/a.rs", "src/a.rs"),
            (PatchChange::Renamed, "old name.py", "new name.py"),
            (PatchChange::Deleted, "gone.txt", "gone.txt"),
            (PatchChange::Added, "täst.py", "täst.py"),
            (PatchChange::Modified, "logo.png", "logo.png"),
            (PatchChange::Modified, "run.sh", "run.sh"),
        ]
    );
    assert!(patch.files[4].binary);
    assert_eq!(patch.cut, 0);
}

#[test]
fn lines_have_the_numbers_of_their_sides_whatever_they_look_like() {
    let patch = Patch::parse(DIFF.as_bytes());
    let file = &patch.files[0];
    assert_eq!(file.hunks[0].heading, "fn outer() {");
    let changed =
        |kind| file.lines_of_kind(kind).map(|line| (line.old, line.new, line.text.as_str())).collect::<Vec<_>>();
    assert_eq!(changed(PatchKind::Removed), [(11, 11, "- two"), (30, 30, "x")]);
    assert_eq!(changed(PatchKind::Added), [(12, 11, "+ two"), (31, 30, "y"), (31, 31, "z")]);
}

#[test]
fn a_plain_diff_and_a_cut_one_are_read_as_far_as_they_go() {
    let plain = "--- a.c\t2026-01-01 00:00:00\n+++ a.c\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n--- b.c\n+++ b.c\n@@ -1 +1,9 @@\n-c\n+d\n";
    let patch = Patch::parse(plain.as_bytes());
    let names: Vec<_> = patch.files.iter().map(|file| (file.new.as_str(), file.all_lines().count())).collect();
    // The newline at the end of a cut hunk reads as an empty line of context.
    assert_eq!(names, [("a.c", 2), ("b.c", 3)]);
    assert_eq!(Patch::parse(b"nothing of the kind\n@@ -1 +1 @@\n+x\n"), Patch::default());
}

#[test]
fn no_prefix_of_a_diff_makes_it_fail() {
    for end in 0..DIFF.len() {
        Patch::parse(&DIFF.as_bytes()[..end]);
    }
}
