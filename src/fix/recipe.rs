//! What makes changes of two tasks the same: its files, the shape of its hunks, the command.

use crate::base::text;
use crate::event::{FileChange, Recipe, RecipeKind, RecordedCommand};

/// Version of the shapes, in front of every key.
const RECIPE_VERSION: u32 = 1;
/// Hunks of one diff that give a recipe.
const HUNKS_MAX: usize = 8;
/// A change of more files is not a recipe.
const FILES_MAX: usize = 12;
/// Commands of one attempt that give a recipe.
const COMMANDS_MAX: usize = 4;
/// A label, bytes.
const LABEL_BYTES_MAX: usize = 120;
/// Letters and digits that a hunk's changed lines need to have: a brace that moved is no recipe.
const LETTERS_MIN: usize = 4;

/// The recipes of a change: each hunk's shape, the files together, each command that is not a check and passed, and what
/// else is known to have changed.
pub(crate) fn recipes_of_attempt(
    files: &[FileChange],
    files_cut: usize,
    diff: &str,
    commands: &[RecordedCommand],
    changed_dependencies: &[String],
) -> Vec<Recipe> {
    let mut found = diff_shapes(diff);
    if !files.is_empty() && files_cut == 0 && files.len() <= FILES_MAX {
        let mut paths: Vec<String> = files.iter().map(|file| file.path.display()).collect();
        paths.sort_unstable();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        found.push(new_recipe(RecipeKind::Files, &paths, &paths.join(", ")));
    }
    let changing = commands.iter().rev().filter(|command| command.passed && !command.check);
    for command in changing.take(COMMANDS_MAX) {
        found.push(new_recipe(RecipeKind::Command, &[&command.line], &command.line));
    }
    if commands.iter().all(|command| command.check || !command.passed) && !changed_dependencies.is_empty() {
        let names: Vec<&str> = changed_dependencies.iter().map(String::as_str).collect();
        let label = format!("{} changed by a command that was not recorded", names.join(", "));
        found.push(new_recipe(RecipeKind::Command, &[&["not recorded"], &names[..]].concat(), &label));
    }
    let mut known = std::collections::HashSet::new();
    found.retain(|recipe| known.insert((recipe.kind, recipe.key.clone())));
    found
}

/// A recipe for each hunk of a unified diff.
fn diff_shapes(diff: &str) -> Vec<Recipe> {
    let mut found = Vec::new();
    let mut kind = String::new();
    let mut hunk: Vec<String> = Vec::new();
    let mut label: Option<String> = None;
    let mut finish = |kind: &str, hunk: &mut Vec<String>, label: &mut Option<String>| {
        let lines = std::mem::take(hunk);
        let label = label.take();
        let letters: usize =
            lines.iter().map(|line| line.chars().filter(|letter| letter.is_alphanumeric()).count()).sum();
        if letters >= LETTERS_MIN && found.len() < HUNKS_MAX {
            let mut parts = vec![kind];
            parts.extend(lines.iter().map(String::as_str));
            found.push(new_recipe(RecipeKind::Shape, &parts, label.as_deref().unwrap_or_default()));
        }
    };
    let mut in_hunk = false;
    for line in diff.lines() {
        if line.starts_with("@@") {
            finish(&kind, &mut hunk, &mut label);
            in_hunk = true;
        } else if line.starts_with("diff ") {
            finish(&kind, &mut hunk, &mut label);
            in_hunk = false;
        } else if !in_hunk {
            if let Some(path) =
                line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")).filter(|path| *path != "/dev/null")
            {
                let name = path.trim().trim_matches('"').rsplit('/').next().unwrap_or_default();
                kind = name.rsplit_once('.').map_or("", |(_, kind)| kind).to_owned();
            }
        } else if let Some(changed) = line.strip_prefix('+').or_else(|| line.strip_prefix('-')) {
            let masked = mask_line(changed);
            if masked.is_empty() {
                continue;
            }
            let is_better = label.as_ref().is_none_or(|label| label.starts_with('-') && line.starts_with('+'));
            if is_better {
                label = Some(format!("{}{}", &line[..1], changed.trim()));
            }
            hunk.push(format!("{}{masked}", &line[..1]));
        }
    }
    finish(&kind, &mut hunk, &mut label);
    found
}

/// A line with its numbers and the insides of its strings masked, and its blanks made one.
fn mask_line(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' | '\'' | '`' => {
                // An apostrophe without a partner in the line is no string.
                let rest: String = letters.clone().collect();
                out.push(letter);
                if let Some(end) = rest.find(letter) {
                    for _ in rest[..end].chars() {
                        letters.next();
                    }
                    letters.next();
                    out.push(letter);
                }
            }
            letter if letter.is_ascii_digit() => {
                while letters.peek().is_some_and(|next| next.is_ascii_digit() || *next == '_' || *next == '.') {
                    letters.next();
                }
                out.push('0');
            }
            letter if letter.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            letter => out.push(letter),
        }
    }
    out
}

fn new_recipe(kind: RecipeKind, parts: &[&str], label: &str) -> Recipe {
    let mut hasher = blake3::Hasher::new();
    for part in [kind.as_str()].iter().chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    Recipe {
        kind,
        key: format!("{RECIPE_VERSION}:{}", &hasher.finalize().to_hex()[..32]),
        label: text::ellipsis(text::one_line(label).trim(), LABEL_BYTES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(diff: &str) -> Vec<String> {
        diff_shapes(diff).into_iter().map(|recipe| recipe.key).collect()
    }

    fn diff(path: &str, hunk: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,4 @@ fn x\n{hunk}"
        )
    }

    #[test]
    fn the_same_change_elsewhere_has_the_same_shape() {
        let one = diff("src/a.py", " import os\n-timeout = 5\n+timeout = 30  \n");
        let other = diff("lib/b.py", "-timeout   = 7\n+timeout = 120\n context\n");
        assert_eq!(keys(&one), keys(&other));
        assert_eq!(diff_shapes(&one)[0].label, "+timeout = 30");
        let strings =
            [diff("a.py", "+run('a', 1)\n"), diff("a.py", "+run('other', 1)\n"), diff("a.py", "+ran('a', 1)\n")];
        assert_eq!(keys(&strings[0]), keys(&strings[1]));
        assert_ne!(keys(&strings[0]), keys(&strings[2]));
        assert_ne!(keys(&one), keys(&one.replace(".py", ".rb")), "another language");
    }

    #[test]
    fn each_hunk_counts_and_braces_do_not() {
        let two = diff("a.c", "+int first;\n@@ -9 +10 @@\n-int second;\n@@ -20 +20 @@\n-}\n+  }\n");
        assert_eq!(keys(&two).len(), 2);
        assert!(keys("").is_empty());
        // A removed line that begins with two dashes is no file.
        assert_eq!(keys(&diff("a.sql", "--- the old comment\n+select 1\n")).len(), 1);
    }

    #[test]
    fn commands_and_files_are_recipes_too() {
        let file = |path: &str| FileChange {
            path: crate::base::lossless::Lossless::from(path),
            kind: crate::event::FileChangeKind::Modified,
            from: None,
            added: 1,
            removed: 0,
            opaque: false,
        };
        let run = |line: &str, passed, check| RecordedCommand {
            run: crate::base::ids::RunId(uuid::Uuid::nil()),
            line: line.into(),
            passed,
            check,
        };
        let commands = [run("npm install", true, false), run("npm test", false, true), run("make", false, false)];
        let found = recipes_of_attempt(&[file("b"), file("a")], 0, "", &commands, &["node_modules".into()]);
        let labels: Vec<&str> = found.iter().map(|recipe| recipe.label.as_str()).collect();
        assert_eq!(labels, ["a, b", "npm install"]);
        let unseen = recipes_of_attempt(&[], 0, "", &[], &["node_modules".into()]);
        assert_eq!(unseen[0].label, "node_modules changed by a command that was not recorded");
        assert_eq!(recipes_of_attempt(&[file("a"), file("b")], 0, "", &[], &[])[0].key, found[0].key);
    }
}
