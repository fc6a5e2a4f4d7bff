//! What a person says of a task: the files that are named in it, and which of its words are the person's.

/// Files that are taken from one text.
const FILES_MAX: usize = 20;
/// A file's name, bytes.
const NAME_BYTES_MAX: usize = 300;
/// An ending such as `.py` or `.component.ts`, letters after the last dot.
const ENDING_LETTERS_MAX: usize = 10;

/// What may be the name of a file in a text, as it is written there: whether there is one is for others to say.
pub(crate) fn mentioned_files(text: &str) -> Vec<String> {
    let is_edge = |letter: char| letter.is_whitespace() || "\"'`()[]{}<>,;|*".contains(letter);
    let mut found: Vec<String> = Vec::new();
    for word in text.split(is_edge) {
        let word = word.trim_start_matches('@').trim_start_matches("./");
        let word = strip_line_numbers(word.trim_end_matches(['.', ':', '!', '?']));
        let is_name = word.len() <= NAME_BYTES_MAX && !word.contains("://") && is_like_file(word);
        if is_name && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found.truncate(FILES_MAX);
    found
}

/// `src/a.py:12:3` without the numbers.
fn strip_line_numbers(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((file, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => strip_line_numbers(file),
        _ => word,
    }
}

fn is_like_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=ENDING_LETTERS_MAX).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    has_ending || word.contains('/') && !name.is_empty()
}

/// What a person said of a prompt: without the blocks that hosts put into one (`<task-notification>…`,
/// `<system-reminder>…`), which they also send without a prompt of a person.
pub(crate) fn strip_host_blocks(prompt: &str) -> String {
    let mut said = String::with_capacity(prompt.len());
    let mut rest = prompt;
    while let Some(start) = rest.find('<') {
        said.push_str(&rest[..start]);
        rest = &rest[start..];
        let name_end = rest[1..].find(|letter: char| !letter.is_ascii_lowercase() && letter != '-').map(|end| end + 1);
        let name = name_end.map_or("", |end| &rest[1..end]);
        let is_block = name.contains('-') && name_end.is_some_and(|end| rest[end..].starts_with(['>', ' ']));
        if !is_block {
            said.push('<');
            rest = &rest[1..];
            continue;
        }
        let end = format!("</{name}>");
        // One that is cut off goes to the end.
        rest = rest.find(&end).map_or("", |at| &rest[at + end.len()..]);
    }
    said.push_str(rest);
    said.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_as_people_and_agents_write_them() {
        let text = "Please move the check from `src/validation.py:12` to @web/src/util.js, (see ./docs/notes.md). \
                    Not https://example.com/a.py, e.g. this one, 3.14, and/or that; Makefile, Cargo.toml!";
        let found = mentioned_files(text);
        assert_eq!(found[..3], ["src/validation.py", "web/src/util.js", "docs/notes.md"]);
        assert!(found.contains(&"Cargo.toml".to_owned()), "{found:?}");
        assert!(
            !found.iter().any(|name| name.contains("example") || name == "3.14" || name == "Makefile"),
            "{found:?}"
        );
        assert_eq!(mentioned_files(&"a.py ".repeat(9)), ["a.py"]);
        assert_eq!(mentioned_files(&(0..90).map(|n| format!("f{n}.py ")).collect::<String>()).len(), FILES_MAX);
    }

    #[test]
    fn what_a_host_puts_into_a_prompt_was_said_by_nobody() {
        let notification = "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n</task-notification>";
        assert_eq!(strip_host_blocks(notification), "");
        assert_eq!(
            strip_host_blocks(&format!("{notification}\nNow fix a.py <system-reminder kind=\"x\">y</system-reminder>")),
            "Now fix a.py"
        );
        assert_eq!(strip_host_blocks("if a < b and <b>c</b> <Foo-Bar>"), "if a < b and <b>c</b> <Foo-Bar>");
        assert_eq!(strip_host_blocks("<system-reminder>cut off"), "");
    }
}
