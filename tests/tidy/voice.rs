//! Holds the voice of everything that people read: help, messages, documentation, comments. What a machine can check of it
//! is here; the rest is up to the reader.

use std::fs;

use super::vocabulary::{contains_phrase, pages};
use super::{files, report, sources, top};

/// Phrases that readers have to decode, with what to write instead.
const BANNED: [(&str, &str); 38] = [
    ("told", "shown, configured, reported, recognised by"),
    ("so many", "N, this many, the limit"),
    ("so much", "this many bytes, the limit"),
    ("anew", "again, rebuild"),
    ("put down", "recorded"),
    ("puts down", "records"),
    ("taken back", "reverted"),
    ("takes back", "reverts"),
    ("take back", "revert"),
    ("what came of", "the outcome of"),
    ("what comes of", "the effect of"),
    ("what became of", "the outcome of"),
    ("what becomes of", "what happens to"),
    ("somebody", "a user, a person, another task"),
    ("nobody", "no user, no person"),
    ("is believed", "has confidence"),
    ("are believed", "have confidence"),
    ("be believed", "be confirmed, have confidence"),
    ("how far", "how much, the confidence, the limit"),
    ("how surely", "how reliably"),
    ("most surely", "most reliably"),
    ("of one's own", "your own, user-defined"),
    ("of ours", "verify-run's"),
    ("of theirs", "the user's, another program's"),
    ("a fine answer", "often there is nothing"),
    ("says nothing", "is empty, proves nothing, has no message"),
    ("stands", "is, represents, precedes, follows"),
    ("by itself", "alone, on its own, automatically"),
    ("by themselves", "alone, on their own"),
    ("in vain", "without success"),
    ("lately", "recently"),
    ("for ever", "forever, without a limit"),
    ("leave away", "omit"),
    ("that there are", "known"),
    ("of its own accord", "automatically"),
    ("whatever that is", "(delete it)"),
    ("is no regex", "is not a regex"),
    ("is no check", "is not a check"),
];

/// Where a banned phrase is right: the file, the phrase, and why.
const ALLOWED: [(&str, &str, &str); 2] = [
    ("src/redact/tests.rs", "nobody", "source code of others, in which no secret may be found"),
    ("tests/integration/older.rs", "is believed", "words of an earlier version"),
];

/// Words that begin a message although they are capitalised: names.
const NAMES: [&str; 12] = [
    "Antigravity",
    "Claude",
    "Codex",
    "Cursor",
    "Droid",
    "Gemini",
    "JSON",
    "Kiro",
    "PATH",
    "TOML",
    "VERIFY_RUN_DISABLE",
    "Windsurf",
];

/// What a person reads in a source file: a comment, with the comments in the lines below it, or a text.
#[derive(Debug, PartialEq)]
struct Prose {
    line: usize,
    text: String,
    is_comment: bool,
}

#[test]
fn nothing_that_people_read_has_phrases_to_decode() {
    let mut findings = Vec::new();
    let mut look = |path: &str, line: usize, text: &str| {
        let text = text.to_lowercase();
        for (phrase, instead) in BANNED.iter().filter(|(phrase, _)| contains_phrase(&text, phrase)) {
            if !ALLOWED.iter().any(|(file, allowed, _)| *file == path && allowed == phrase) {
                findings.push(format!("{path}:{line}: \"{phrase}\": write {instead}"));
            }
        }
    };
    for source in sources("src").into_iter().chain(sources("tests")) {
        // The list itself, and outputs of other tools.
        if source.path == "tests/tidy/voice.rs" || source.path.starts_with("tests/corpus/") {
            continue;
        }
        for prose in prose_of(&source.text) {
            look(&source.path, prose.line, &prose.text);
        }
    }
    let has_prose = |path: &str| path.starts_with("hooks/") || path.starts_with("src/") && is_own_table(path);
    for page in pages().into_iter().chain(files(&top(), &has_prose)) {
        for (number, line) in page.text.lines().enumerate() {
            look(&page.path, number + 1, line);
        }
    }
    report(&findings);
}

#[test]
fn messages_are_lowercase_fragments() {
    const STARTS: [&str; 6] = ["#[error(\"", "bail!(\"", "anyhow!(\"", "ensure!(\"", ".context(\"", "|| format!(\""];
    let mut findings = Vec::new();
    for source in sources("src") {
        for (number, line) in source.code() {
            for start in STARTS {
                let Some((_, rest)) = line.split_once(start) else { continue };
                if start.starts_with("||") && !line.contains("with_context") {
                    continue;
                }
                let message = rest.split("\"").next().unwrap_or_default();
                let word = message.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                if word.starts_with(char::is_uppercase) && !NAMES.contains(&word) {
                    findings.push(format!("{}:{number}: begin the message in lower case: {message}", source.path));
                }
                if message.ends_with('.') && rest[message.len()..].starts_with("\")") {
                    findings.push(format!("{}:{number}: end the message without a full stop: {message}", source.path));
                }
            }
        }
    }
    report(&findings);
}

#[test]
fn help_is_imperative_and_short() {
    let page = fs::read_to_string(top().join("docs/cli.md")).expect("docs/cli.md");
    let (findings, summaries, flags) = help_findings(&page);
    report(&findings);
    assert!(summaries > 80 && flags > 200, "{summaries} summaries, {flags} flags");
}

/// What is wrong with the help pages in `page`, and how many summaries and flags were looked at.
fn help_findings(page: &str) -> (Vec<String>, usize, usize) {
    let (mut findings, mut summaries, mut flags) = (Vec::new(), 0, 0);
    for section in page.split("\n## ").skip(1) {
        let name = section.lines().next().unwrap_or_default();
        if !section.contains("\n```text\n") {
            continue;
        }
        let body = section.split_once("```text\n").map(|(_, rest)| rest.split("\n```").next().unwrap_or_default());
        let mut lines = body.unwrap_or_default().lines().peekable();
        let summary = lines.next().unwrap_or_default();
        summaries += 1;
        let verb = summary.split(' ').next().unwrap_or_default();
        let is_imperative = verb.starts_with(char::is_uppercase)
            && (!verb.ends_with('s') || verb.ends_with("ss"))
            && !["The", "A", "An", "What", "Whether", "Which", "How"].contains(&verb);
        if summary.ends_with('.') || !is_imperative {
            findings.push(format!("{name}: begin the summary with a verb and end it without a full stop: {summary}"));
        }
        // A flag on a line of its own, its help below, then a blank line.
        while let Some(line) = lines.next() {
            if !line.trim_start().starts_with('-')
                || line.trim_start().starts_with("- ")
                || line.trim_start().contains("  ")
            {
                continue;
            }
            let Some(help) = lines.next_if(|next| next.starts_with("          ")) else { continue };
            flags += 1;
            if lines.peek().is_some_and(|next| next.starts_with("          ")) {
                findings.push(format!("{name}: keep the help of {} on one line", line.trim()));
            }
            if help.trim_end().ends_with('.') {
                findings.push(format!("{name}: end the help of {} without a full stop", line.trim()));
            }
        }
    }
    (findings, summaries, flags)
}

/// Whether it is a table with comments of its own, not one that quotes tools.
fn is_own_table(path: &str) -> bool {
    path.ends_with(".toml") && !path.starts_with("src/diagnose/definitions/")
}

/// The comments and texts of Rust source. A text without a blank is a key, not prose; what a text has in braces is code.
fn prose_of(source: &str) -> Vec<Prose> {
    let bytes = source.as_bytes();
    let mut found: Vec<Prose> = Vec::new();
    let (mut at, mut line, mut last_comment) = (0, 1, 0);
    while at < bytes.len() {
        let rest = &source[at..];
        let end = if rest.starts_with("//") {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            let text = source[at..end].trim_start_matches(['/', '!']).trim();
            match found.last_mut().filter(|prose| prose.is_comment && last_comment + 1 == line) {
                Some(prose) => prose.text.extend([" ", text]),
                None => found.push(Prose { line, text: text.to_owned(), is_comment: true }),
            }
            last_comment = line;
            end
        } else if let Some(end) = text_end(rest) {
            let text = without_code(&source[at..at + end]);
            if text.trim_matches('"').trim().contains(' ') {
                found.push(Prose { line, text, is_comment: false });
            }
            at + end
        } else if rest.starts_with('\'') {
            at + char_end(rest)
        } else {
            let mut end = at + 1;
            // A name that ends in `r` or `b` does not begin a raw text.
            if is_word(bytes[at]) {
                while end < bytes.len() && is_word(bytes[end]) {
                    end += 1;
                }
            }
            while !source.is_char_boundary(end) {
                end += 1;
            }
            end
        };
        line += source[at..end].matches('\n').count();
        at = end;
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where the text at the start of `rest` ends; `None` where none starts.
fn text_end(rest: &str) -> Option<usize> {
    let prefix = ["br", "r", "b", "c", ""]
        .iter()
        .find(|prefix| rest.strip_prefix(**prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"')))?;
    let hashes = rest[prefix.len()..].bytes().take_while(|byte| *byte == b'#').count();
    if hashes > 0 && !prefix.ends_with('r') {
        return None;
    }
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        return Some(rest[start..].find(&close).map_or(rest.len(), |end| start + end + close.len()));
    }
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// Where the character at the start of `rest` ends, or the lifetime's quote.
fn char_end(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 3),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1),
        None => 1,
    }
}

/// A text on one line, without what is in braces.
fn without_code(text: &str) -> String {
    let text = text.replace("\\n", " ").replace("\\\n", " ");
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn prose_is_found_and_code_is_not() {
    let source = "//! One\n//! phrase.\nfn told<'a>(c: char) -> &'a str {\n    let t = ['\"', '\\'', '/']; // so\n    \
                  f(\"key\", r#\"a \"b\" c\"#, \"x {told} \\\n        \\\"y\\\" z\")\n}\n";
    let found: Vec<(usize, String)> = prose_of(source).into_iter().map(|prose| (prose.line, prose.text)).collect();
    assert_eq!(
        found,
        [
            (1, "One phrase.".to_owned()),
            (4, "so".to_owned()),
            (5, "r#\"a \"b\" c\"#".to_owned()),
            (5, "\"x \\\"y\\\" z\"".to_owned()),
        ]
    );
    assert!(contains_phrase("only so many of", "so many") && !contains_phrase("also manyfold", "so many"));
    assert!(!contains_phrase("stands_for", "stands"));
    let page =
        "# x\n\n## a b\n\n```text\nLists things.\n\nOptions:\n      --flag <F>\n          One.\n          Two\n```\n";
    assert_eq!(help_findings(page).0.len(), 3, "{:?}", help_findings(page).0);
}
