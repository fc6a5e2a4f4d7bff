//! File patterns: which ones describe a set of files.

use std::collections::BTreeSet;

/// A name's start represents a group of files from this many characters on.
const NAME_CHARS_MIN: usize = 3;
/// Folders above a file that are looked at.
const FOLDERS_MAX: usize = 12;

/// The patterns that a file is an example of, itself first: `dir/name.ext`, `dir/*.ext`, `dir/**` of every folder above
/// it, `**/*.ext`, `**/name*`.
pub(crate) fn candidate_globs(path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // A file called so would be taken for a pattern.
    if path.is_empty() || path.contains(['*', '?']) {
        return found;
    }
    found.insert(path.to_owned());
    let (dir, file) = path.rsplit_once('/').map_or((None, path), |(dir, file)| (Some(dir), file));
    let extension = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    if let Some(extension) = extension {
        found.insert(format!("**/*.{extension}"));
        found.insert(dir.map_or_else(|| format!("*.{extension}"), |dir| format!("{dir}/*.{extension}")));
    }
    let mut above = dir;
    for _ in 0..FOLDERS_MAX {
        let Some(folder) = above else { break };
        found.insert(format!("{folder}/**"));
        above = folder.rsplit_once('/').map(|(parent, _)| parent);
    }
    let word = file.split(['.', '_', '-']).next().unwrap_or_default();
    if word.chars().count() >= NAME_CHARS_MIN {
        found.insert(format!("**/{word}*"));
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
    use proptest::prelude::*;

    use super::*;
    use crate::base::glob::matches;

    #[test]
    fn a_file_is_an_example_of_its_folders_its_kind_and_its_name() {
        let found: Vec<String> = candidate_globs("db/models/user_name.test.py").into_iter().collect();
        let wanted = ["**/*.py", "**/user*", "db/**", "db/models/**", "db/models/*.py", "db/models/user_name.test.py"];
        assert_eq!(found, wanted);
        assert_eq!(candidate_globs(".gitignore").into_iter().collect::<Vec<_>>(), [".gitignore"]);
        assert!(candidate_globs("a*b").is_empty());
    }

    #[test]
    fn a_person_names_the_file_then_its_folder() {
        let mut found: Vec<String> = candidate_globs("db/models/user.py").into_iter().collect();
        found.sort_by(|a, b| glob_rank(b).cmp(&glob_rank(a)));
        let wanted = ["db/models/user.py", "db/models/**", "db/**", "db/models/*.py", "**/user*", "**/*.py"];
        assert_eq!(found, wanted);
    }

    proptest! {
        #[test]
        fn every_candidate_matches_its_file(path in "[a-z._-]{1,8}(/[a-z._-]{1,8}){0,4}") {
            for candidate in candidate_globs(&path) {
                prop_assert!(matches(&candidate, &path), "{candidate} {path}");
            }
        }
    }
}
