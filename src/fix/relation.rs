//! How a changed file is related to a failure, and a diff with the related files first.

use crate::base::lossless::Lossless;
use crate::event::FileChange;

/// Settings of tools and packages by their names or the starts of them.
const SETTINGS: [&str; 24] = [
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements",
    "Pipfile",
    "Gemfile",
    "composer.json",
    "tox.ini",
    "pytest.ini",
    "mypy.ini",
    "ruff.toml",
    "tsconfig",
    "jsconfig",
    "Makefile",
    "CMakeLists.txt",
    "Dockerfile",
    "build.gradle",
    "pom.xml",
    "deno.json",
    "biome.json",
    "justfile",
];
/// Kinds of files that are settings at the top of a project.
const KINDS: [&str; 7] = ["toml", "ini", "cfg", "yaml", "yml", "json", "jsonc"];

/// What a changed file has to do with a failure, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileRelation {
    /// Something failed in it.
    Own,
    /// It is in a stack trace.
    Frame,
    /// A failing file imports it or is imported by it, or it is named in what was printed.
    Import,
    /// It says how tools run or which packages there are.
    Setting,
}

/// Whether a file says how tools run or which packages there are. The path is relative to the root.
pub(crate) fn is_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
    SETTINGS.iter().any(|setting| name.starts_with(setting))
        || name.contains(".config.")
        || name.contains(".setup.")
        || (name.starts_with('.') && name.contains("rc"))
        || (!path.contains('/') && KINDS.contains(&kind))
}

/// A unified diff with the texts of these files first, in their order; what is said at its end stays there.
pub(crate) fn related_first(diff: &str, related: &[Lossless], files: &[FileChange]) -> String {
    let (sections, end) = split_sections(diff);
    let rank = |section: &&str| {
        let path = path_of(section, files);
        let known = path.and_then(|path| related.iter().position(|other| *other == *path));
        known.unwrap_or_else(|| related.len() + usize::from(!path.is_some_and(|path| is_setting(&path.display()))))
    };
    let mut sections: Vec<&str> = sections;
    sections.sort_by_key(rank);
    sections.concat() + end
}

/// The texts of these files alone.
pub(crate) fn only_related(diff: &str, related: &[Lossless], files: &[FileChange]) -> String {
    let (sections, _) = split_sections(diff);
    let is_related = |section: &&str| path_of(section, files).is_some_and(|path| related.contains(path));
    sections.into_iter().filter(is_related).collect()
}

/// The text of each file, and the lines at the end that are about files without a text.
fn split_sections(diff: &str) -> (Vec<&str>, &str) {
    let mut starts: Vec<usize> = diff.starts_with("diff --git ").then_some(0).into_iter().collect();
    starts.extend(diff.match_indices("\ndiff --git ").map(|(at, _)| at + 1));
    let Some(last) = starts.last() else { return (Vec::new(), diff) };
    let is_of_diff = |line: &str| {
        line.starts_with(['+', '-', ' ', '@', '\\', '\n'])
            || [
                "diff ",
                "index ",
                "new ",
                "old ",
                "deleted ",
                "similarity ",
                "dissimilarity ",
                "rename ",
                "copy ",
                "Binary ",
            ]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let mut end = *last;
    for line in diff[*last..].split_inclusive('\n').take_while(|line| is_of_diff(line)) {
        end += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([end]);
    (starts.iter().zip(ends).map(|(start, end)| &diff[*start..end]).collect(), &diff[end..])
}

/// The file that a section of a diff is about: the one of them whose path ends its first line.
fn path_of<'a>(section: &str, files: &'a [FileChange]) -> Option<&'a Lossless> {
    let head = section.lines().next()?;
    let paths = files.iter().map(|file| &file.path);
    paths.filter(|path| head.ends_with(&format!(" b/{}", path.display()))).max_by_key(|path| path.display().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FileChangeKind;

    fn file(path: &str) -> FileChange {
        FileChange {
            path: Lossless::from(path),
            kind: FileChangeKind::Modified,
            from: None,
            added: 1,
            removed: 0,
            opaque: false,
        }
    }

    fn text(path: &str) -> String {
        format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n+{path}\n")
    }

    #[test]
    fn related_files_come_first_then_settings_and_what_has_no_text_last() {
        let files = ["a.py", "package.json", "z.py"].map(file);
        let end = "package-lock.json: 312 lines changed\n";
        let diff = files.iter().map(|file| text(&file.path.display())).collect::<String>() + end;
        let related = [Lossless::from("z.py")];
        let sorted = related_first(&diff, &related, &files);
        assert_eq!(sorted, [text("z.py"), text("package.json"), text("a.py"), end.to_owned()].concat());
        assert_eq!(only_related(&diff, &related, &files), text("z.py"));
        assert_eq!(related_first(end, &related, &files), end);
        assert_eq!(related_first("", &related, &files), "");
    }

    #[test]
    fn settings_are_known_by_their_names() {
        for path in
            ["package.json", "web/tsconfig.build.json", "vitest.config.ts", ".eslintrc.cjs", "ruff.toml", "config.yaml"]
        {
            assert!(is_setting(path), "{path}");
        }
        for path in ["src/config.ts", "data/prices.json", "src/settings.py", "README.md"] {
            assert!(!is_setting(path), "{path}");
        }
    }
}
