//! File patterns: whether a file matches.

/// Whether `path` (relative, with `/`) is of the pattern: `*` and `?` within a name, `**` for any number of folders,
/// `{a,b}`, `[ab]`, `[!ab]`; `!` in front turns it round.
pub fn matches(pattern: &str, path: &str) -> bool {
    fast_glob::glob_match(pattern, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_matched_by_folders_and_names() {
        let cases = [
            ("src/**", "src/a.rs", true),
            ("src/**", "src/a/b/c.rs", true),
            ("src/**", "src", false),
            ("src/**", "lib/src/a.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "x/y/a.rs", true),
            ("**/*.rs", "x/y/a.rst", false),
            ("**/user*", "db/models/user_name.py", true),
            ("**/user*", "db/user/name.py", false),
            ("a/**/b/**/c", "a/x/b/b/y/c", true),
            ("a/**/b/**/c", "a/x/y/c", false),
            ("a/**/c", "a/c", true),
            ("*.toml", "Cargo.toml", true),
            ("*.toml", "x/Cargo.toml", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "aXbYbZc", true),
            ("", "a", false),
            ("**", "a/b", true),
            ("src/*.{rs,toml}", "src/a.toml", true),
            ("src/*.{rs,toml}", "src/a.md", false),
            ("**/{,.}ruff.toml", ".ruff.toml", true),
            ("**/{,.}ruff.toml", "x/ruff.toml", true),
            ("**/{,.}ruff.toml", "x/my-ruff.toml", false),
            ("**/{,*[._-]}{skip,flaky*}{,[._-]*}.txt", "tests/known_skip.v2.txt", true),
            ("**/{,*[._-]}{skip,flaky*}{,[._-]*}.txt", "tests/skipper.txt", false),
        ];
        for (pattern, path, wanted) in cases {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }
}
