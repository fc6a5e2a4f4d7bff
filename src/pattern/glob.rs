//! File patterns: which ones describe a set of files.

/// A name's start represents a group of files from this many characters on.
const NAME_CHARS_MIN: usize = 3;
/// Folders above a file that are looked at.
const FOLDERS_MAX: usize = 12;

/// The patterns that a file is an example of, each once, itself first: `dir/name.ext`, `**/*.ext`, `dir/*.ext`, `dir/**` of
/// every folder above it, `**/name*`.
pub(crate) fn candidate_globs(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A file called so would be taken for a pattern.
    if path.is_empty() || path.contains(['*', '?']) {
        return found;
    }
    found.push(path.to_owned());
    let (dir, file) = path.rsplit_once('/').map_or((None, path), |(dir, file)| (Some(dir), file));
    let extension = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    if let Some(extension) = extension {
        found.push(format!("**/*.{extension}"));
        found.push(dir.map_or_else(|| format!("*.{extension}"), |dir| format!("{dir}/*.{extension}")));
    }
    let mut above = dir;
    for _ in 0..FOLDERS_MAX {
        let Some(folder) = above else { break };
        found.push(format!("{folder}/**"));
        above = folder.rsplit_once('/').map(|(parent, _)| parent);
    }
    let word = file.split(['.', '_', '-']).next().unwrap_or_default();
    if word.chars().count() >= NAME_CHARS_MIN {
        found.push(format!("**/{word}*"));
    }
    found
}

/// What people would rather say of patterns that match the same files: the file, its folder, the nearest one first,
/// and only then what files are called. The greatest is the best.
pub(crate) fn glob_rank(pattern: &str) -> (u8, usize, &str) {
    let kind = match pattern {
        _ if !pattern.contains('*') => 4,
        _ if pattern.starts_with("**/*.") => 0,
        _ if pattern.starts_with("**/") => 1,
        _ if pattern.ends_with("/**") => 3,
        _ => 2,
    };
    (kind, pattern.len(), pattern)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::base::glob::matches;

    #[test]
    fn a_file_is_an_example_of_its_folders_its_kind_and_its_name() {
        let wanted = ["db/models/user_name.test.py", "**/*.py", "db/models/*.py", "db/models/**", "db/**", "**/user*"];
        assert_eq!(candidate_globs("db/models/user_name.test.py"), wanted);
        assert_eq!(candidate_globs(".gitignore"), [".gitignore"]);
        assert!(candidate_globs("a*b").is_empty());
    }

    #[test]
    fn a_person_names_the_file_then_its_folder() {
        let mut found = candidate_globs("db/models/user.py");
        found.sort_by(|a, b| glob_rank(b).cmp(&glob_rank(a)));
        let wanted = ["db/models/user.py", "db/models/**", "db/**", "db/models/*.py", "**/user*", "**/*.py"];
        assert_eq!(found, wanted);
    }

    proptest! {
        #[test]
        fn every_candidate_matches_its_file_and_is_named_once(path in "[a-z._-]{1,8}(/[a-z._-]{1,8}){0,4}") {
            let found = candidate_globs(&path);
            for candidate in &found {
                prop_assert!(matches(candidate, &path), "{candidate} {path}");
            }
            prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
        }
    }
}
