//! Files that a line names without a line number: it says something of them (`a.py: unused imports`, `File "a.ts" is not
//! formatted`), or is nothing but their names (a formatter's list, a chain of imports, the head of a difference).

use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr2, memchr3, memchr3_iter};
use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;

use super::generic::{self, FailureStrength, looks_like_a_file};
use super::rule_regex::constant_regex;

/// Whether a line says that something is wrong with what it names.
pub(super) fn blames_files(line: &str) -> bool {
    static BLAME: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)\b(?:not [a-z -]{0,20}(?:formatted|sorted|up[ -]to[ -]date|in sync|valid|covered|allowed|licensed|found)|un(?:formatted|sorted|used|resolved|tidy|covered|licensed|tracked)|(?:would|should|must|needs?(?: to)?|could) (?:be )?(?:re-?)?(?:format|sort|writ|fix|chang|updat|generat|lint)[a-z]*|(?:requir(?:es?|ed)|needs?) (?:re)?formatting|(?:re)?formatting required|reformat|issues?|problems?|violations?|offen[sc]es?|differs?|differences?|mismatch(?:es)?|out[ -]of[ -](?:date|sync)|outdated|stale|malformed|broken|incorrect(?:ly)?|illegal|duplicates?|circular|imported (?:by|from)|required by|require stack|chang(?:ed|es)|modified|rewritten|rewriting|reformatt(?:ed|ing)|fix(?:ed|ing)|sorting|misspell[a-z]*|vulnerab[a-z]+|conflicts?|failing|lacks)\b",
        )
    });
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    match generic::line_strength(line) {
        Some(FailureStrength::Strong) => true,
        Some(FailureStrength::Weak) => !clears_files(line),
        None => BLAME.is_match(bytes) && !clears_files(line),
    }
}

/// Whether a line says that nothing is wrong, or only what is being done.
pub(super) fn clears_files(line: &str) -> bool {
    static CLEAR: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)^[ \t]*(?:✓|✔|√|\[?(?:ok|pass)\]?\b)|\b(?:no (?:[a-z]+ )?(?:issues?|problems?|errors?|changes?|warnings?|violations?|offen[sc]es?|differences?)|unchanged|unmodified|skipp(?:ed|ing)|ignoring|pass(?:ed|es|ing)|succe(?:ss|eded|ssful|ssfully)|already|left alone|(?:load|us|read|check|runn|compil|process|build|lint|scann|analy[sz]|writ|creat|generat|test|collect|download|install|upload)ing|wrote|created|generated|loaded|saved)\b|[ :.](?:ok|clean|valid|done)[.!]?$",
        )
    });
    CLEAR.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line only refers to more output elsewhere.
pub(super) fn refers_to_files(line: &str) -> bool {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(r"(?i)\b(?:see|refer to|details|reports?|logs?|documentation|transcript|saved)\b")
    });
    REFERENCE.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// A cheap look: whether a line may hold a name with an extension or a folder, or one of those that files without have.
pub(super) fn may_name(line: &str) -> bool {
    static NAMES: LazyLock<[Finder; 4]> =
        LazyLock::new(|| ["file", "BUILD", "WORKSPACE", "SConstruct"].map(Finder::new));
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    let parts = |at: usize| {
        let joins = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || b"_-.()[]{}@$".contains(byte);
        let next = bytes.get(at + 1);
        match bytes[at] {
            b'.' => next.is_some_and(u8::is_ascii_alphabetic),
            _ => next.is_some_and(joins),
        }
    };
    memchr3_iter(b'.', b'/', b'\\', bytes).any(parts) || NAMES.iter().any(|name| name.find(bytes).is_some())
}

/// What of a line may be the name of a file, the longest first: what is quoted, what precedes or follows a sentence,
/// words.
pub(super) fn candidate_names(line: &str) -> Vec<&str> {
    let line = prefix(line, LINE_MATCH_BYTES_MAX).trim();
    let mut found: Vec<&str> = quoted_names(line).collect();
    let text = without_label(line);
    for mark in ["::", ": ", " - ", " > ", "\t", " (", " # "] {
        found.extend(text.split_once(mark).map(|(head, _)| head));
        found.extend(text.rsplit_once(mark).map(|(_, tail)| tail));
    }
    for mark in
        [" is ", " has ", " needs ", " failed", " would ", " should ", " must ", " contains ", " differs", " not "]
    {
        found.extend(text.split_once(mark).map(|(head, _)| head));
    }
    for mark in [" file ", " in ", " for ", " from ", " reformat ", " format ", " of "] {
        found.extend(text.rsplit_once(mark).map(|(_, tail)| tail));
    }
    found.extend(text.split_whitespace());
    let trimmed = found.into_iter().map(bare_name).filter(|name| is_name(name));
    let mut names: Vec<&str> = Vec::new();
    for name in trimmed {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
}

/// The files of a line that is nothing but their names: one, or several in a chain (`a.js > b.js`), maybe behind a mark and before
/// the time that it took.
pub(super) fn listed_names(line: &str) -> Option<Vec<&str>> {
    static TIME: LazyLock<Regex> =
        LazyLock::new(|| constant_regex(r"[ \t]+\(?(?:[0-9.,]+[ ]?(?:ms|s|µs|m)|[0-9]+[a-z ]*)\)?$"));
    let line = prefix(line, LINE_MATCH_BYTES_MAX).trim();
    if line.len() > LIST_LINE_BYTES_MAX {
        return None;
    }
    let text = without_label(line);
    let end = TIME.find(text.as_bytes()).map_or(text.len(), |time| time.start());
    let text = text.get(..end)?.trim_end_matches([':', ',']);
    let arrow = [" > ", " → ", " -> ", " => "].into_iter().find(|arrow| text.contains(arrow));
    let names: Vec<&str> = arrow.map_or_else(|| vec![text], |arrow| text.split(arrow).collect());
    let names: Vec<&str> = names.into_iter().map(bare_name).collect();
    names.iter().all(|name| is_name(name)).then_some(names)
}

/// Whether a line says that what it names is a file, as headings of findings do (`; file: src/a.lisp`, `FILE: docs/a.md`).
pub(super) fn is_headed(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['#', ';', '/', '=', '-', '*', ' ']);
    ["file:", "File:", "FILE:"].iter().any(|word| text.starts_with(word))
}

/// The file that the head of a difference names, without what tools put before and behind it (`--- a/x.py`, `--- x.py<TAB>(original)`).
pub(super) fn differing_files<'a>(line: &'a str, next: Option<&str>) -> Option<Vec<&'a str>> {
    let next = next.unwrap_or_default();
    let side = match line.strip_prefix("--- ").filter(|_| next.starts_with("+++ ")) {
        Some(side) => side,
        None => line.strip_prefix("diff --git ")?.split(' ').next()?,
    };
    let path = side.split('\t').next()?.trim_end();
    let path = path.rsplit_once(" (").filter(|_| path.ends_with(')')).map_or(path, |(path, _)| path);
    let below = path.split_once('/').map(|(_, below)| below);
    Some([Some(path), below, path.strip_suffix(".orig")].into_iter().flatten().filter(|name| is_name(name)).collect())
}

/// The longest line that is a list, bytes.
const LIST_LINE_BYTES_MAX: usize = 500;

/// A line without what a list puts before its entries: a mark, a number, a label.
fn without_label(line: &str) -> &str {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:(?:[-*+>!~;#]|·|•|✖|✗|✘|×|//|→|[0-9]{1,6}[.)]|\[[A-Za-z-]{1,12}\]|(?i:error|warning|warn|fail|failed|file|path|M|A|U|E|W|F):?)[ \t]+(?i:(?:file|path|in|source)[:=]?[ \t]+)?)",
        )
    });
    let end = LABEL.find(line.as_bytes()).map_or(0, |label| label.end());
    line.get(end..).unwrap_or(line)
}

/// A name without the marks around it.
fn bare_name(name: &str) -> &str {
    let name = name.trim().trim_start_matches(['(', '[', '<', '{', '"', '\'', '`', '‘', '“']);
    name.trim_end_matches([')', ']', '>', '}', '"', '\'', '`', '’', '”', ',', ';', ':', '.', '!', '?'])
}

/// Whether a text may be the name of a file.
pub(super) fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let marked = memchr3(b'"', b'=', b'*', bytes).or_else(|| memchr3(b'<', b'>', b'|', bytes));
    text.len() < 400 && marked.or_else(|| memchr2(b'?', b'\t', bytes)).is_none() && looks_like_a_file(text)
}

/// What is between quotes.
fn quoted_names(line: &str) -> impl Iterator<Item = &str> {
    [('"', '"'), ('\'', '\''), ('`', '`'), ('‘', '’'), ('“', '”')].into_iter().flat_map(move |(open, close)| {
        let pieces = line.match_indices(open).filter_map(move |(at, mark)| {
            let rest = &line[at + mark.len()..];
            rest.find(close).map(|end| &rest[..end])
        });
        pieces.filter(|piece| !piece.is_empty() && !piece.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_that_something_is_wrong_with_a_file() {
        for (line, file) in [
            ("src/gen.py: Unused imports detected", "src/gen.py"),
            ("File \"src/a b.ts\" is not formatted", "src/a b.ts"),
            ("src/a b.sql failed formatting check.", "src/a b.sql"),
            ("docs/a.md invalid", "docs/a.md"),
            ("would reformat lib/a b.py", "lib/a b.py"),
            ("Invalid configuration for file \"/p/.rc.json\":", "/p/.rc.json"),
            ("Cannot find module './x' imported from /p/src/main.js", "/p/src/main.js"),
            ("The given `pyproject.toml` file is invalid and would be ignored.", "pyproject.toml"),
            ("Files with failing tests: list.test", "list.test"),
            ("[error] lib/a.c: wrong header", "lib/a.c"),
        ] {
            assert!(blames_files(line), "{line}");
            assert!(candidate_names(line).contains(&file), "{line}: {:?}", candidate_names(line));
        }
    }

    #[test]
    fn what_passes_and_what_is_being_done_blames_nothing() {
        for line in [
            "src/ok.py: No issues detected!",
            "ok src/a.test.ts",
            "Checking src/a.py",
            "src/a.py unchanged",
            "Wrote 3 problems to out.json",
            "Using config file .rc.json",
        ] {
            assert!(!blames_files(line), "{line}");
        }
    }

    #[test]
    fn a_line_may_be_nothing_but_names() {
        for (line, files) in [
            ("  src/a b.ts (0ms)", vec!["src/a b.ts"]),
            ("- src/a.c", vec!["src/a.c"]),
            ("[warn] src/a.js", vec!["src/a.js"]),
            ("1) util/a.js > util/b.js", vec!["util/a.js", "util/b.js"]),
            ("; file: /p/src/calc.lisp", vec!["/p/src/calc.lisp"]),
            ("./package.json", vec!["./package.json"]),
        ] {
            assert_eq!(listed_names(line), Some(files), "{line}");
        }
        for line in ["Done in 3.2s", "src/a.c and more", "> eslint src", "3 files", "total: 7", "v1.2.3"] {
            assert_eq!(listed_names(line), None, "{line}");
        }
    }

    #[test]
    fn the_head_of_a_difference_names_its_file() {
        assert_eq!(differing_files("--- a/src/x.py", Some("+++ b/src/x.py")), Some(vec!["a/src/x.py", "src/x.py"]));
        assert_eq!(
            differing_files("--- sub dir/x.py\t(original)", Some("+++ y")).map(|all| all[0]),
            Some("sub dir/x.py")
        );
        assert_eq!(differing_files("--- x.py (before)", Some("+++ y")), Some(vec!["x.py"]));
        assert_eq!(differing_files("--- Expected", Some("+++ Received")), Some(vec![]));
        assert_eq!(differing_files("--- FAIL: TestA", Some("x")), None);
    }
}
