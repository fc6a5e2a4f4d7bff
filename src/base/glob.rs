//! File patterns: whether a file is of one.

/// Whether `path` (relative, with `/`) is of the pattern: `*` and `?` within a name, `**` for any number of folders.
///
/// There are no braces and no classes: a second pattern says the same.
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    folders(&pattern, &path)
}

fn folders(pattern: &[&str], path: &[&str]) -> bool {
    // Where the last `**` stood and how much of the path it has taken: only that one is ever tried again.
    let (mut p, mut t, mut again) = (0, 0, None);
    while t < path.len() {
        if pattern.get(p) == Some(&"**") {
            // At the end it stands for something, not for nothing: `src/**` is what is in `src`.
            if p + 1 == pattern.len() {
                return true;
            }
            again = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|part| name(part.as_bytes(), path[t].as_bytes())) {
            p += 1;
            t += 1;
        } else if let Some((star, taken)) = again {
            again = Some((star, taken + 1));
            p = star + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    p == pattern.len()
}

fn name(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut again) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                again = Some((p, t));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match again {
                Some((star, taken)) => {
                    again = Some((star, taken + 1));
                    p = star + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
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
        ];
        for (pattern, path, wanted) in cases {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }
}
