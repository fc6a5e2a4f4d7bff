//! Programs whose short options take a password: `curl -u user:password`, `mysql -ppassword`.

use std::ops::Range;

use super::{MARKER, Secret, run_end};

/// A command line's words are read this far behind the program's name, bytes.
const LINE_BYTES_MAX: usize = 1 << 10;

/// How an option has its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandForm {
    /// `user:password`, attached or as the next word.
    Pair,
    /// The next word or what is attached.
    Whole,
    /// Only what is attached: the next word is something else.
    Attached,
}

/// An option of a program whose value is a secret.
#[derive(Debug)]
struct SecretOption {
    program: &'static str,
    option: &'static str,
    form: CommandForm,
}

const fn new_row(program: &'static str, option: &'static str, form: CommandForm) -> SecretOption {
    SecretOption { program, option, form }
}

const OPTIONS: [SecretOption; 15] = [
    new_row("curl", "-u", CommandForm::Pair),
    new_row("curl", "--user", CommandForm::Pair),
    new_row("curl", "-U", CommandForm::Pair),
    new_row("curl", "--proxy-user", CommandForm::Pair),
    new_row("mysql", "-p", CommandForm::Attached),
    new_row("mysqldump", "-p", CommandForm::Attached),
    new_row("mysqladmin", "-p", CommandForm::Attached),
    new_row("mariadb", "-p", CommandForm::Attached),
    new_row("sshpass", "-p", CommandForm::Whole),
    new_row("redis-cli", "-a", CommandForm::Whole),
    new_row("ldapsearch", "-w", CommandForm::Whole),
    new_row("mongosh", "-p", CommandForm::Whole),
    new_row("mongodump", "-p", CommandForm::Whole),
    new_row("sqlcmd", "-P", CommandForm::Whole),
    // `docker login`, `podman login`, `helm registry login`.
    new_row("login", "-p", CommandForm::Whole),
];

/// The names of the programs, each once.
pub(super) fn program_names() -> impl Iterator<Item = &'static str> {
    let is_first = |at: usize| at == 0 || OPTIONS[at - 1].program != OPTIONS[at].program;
    (0..OPTIONS.len()).filter(move |&at| is_first(at)).map(|at| OPTIONS[at].program)
}

/// The first password among the words behind a program's name, as the number of its word and the bytes in it.
pub(super) fn password_in<W: AsRef<[u8]>>(program: &[u8], words: &[W]) -> Option<(usize, Range<usize>)> {
    let options: Vec<&SecretOption> = OPTIONS.iter().filter(|row| row.program.as_bytes() == program).collect();
    words.iter().enumerate().find_map(|(number, word)| {
        let word = word.as_ref();
        options.iter().find_map(|row| {
            let rest = word.strip_prefix(row.option.as_bytes())?;
            let attached = row.option.len() + usize::from(rest.first() == Some(&b'='));
            let is_long = row.option.starts_with("--");
            let (at, from) = match rest.first() {
                None if row.form == CommandForm::Attached => return None,
                None => (number + 1, 0),
                Some(first) if is_long && *first != b'=' => return None,
                Some(_) => (number, attached),
            };
            let value = words.get(at)?.as_ref().get(from..)?;
            let range = password_range(value, row.form)?;
            Some((at, from + range.start..from + range.end))
        })
    })
}

fn password_range(value: &[u8], form: CommandForm) -> Option<Range<usize>> {
    let open = usize::from(value.first().is_some_and(|b| b"\"'".contains(b)));
    let close = value.len() - usize::from(open == 1 && value.len() > 1 && value.last() == value.first());
    let start = match form {
        CommandForm::Pair => {
            let colon = memchr::memchr(b':', value)? + 1;
            // `-u token:` has it as the user's name.
            if colon >= close { open } else { run_end(value, colon, 1, |b| b"\"'".contains(&b)) }
        }
        CommandForm::Whole | CommandForm::Attached => open,
    };
    let shown = value.get(start..close)?;
    let is_shown = |b: &u8| b.is_ascii_digit() || *b == b':';
    let placeholder = shown.is_empty()
        || b"$<{[%-".contains(&shown[0])
        || shown.starts_with(MARKER)
        || shown.iter().all(|b| b"*xX.".contains(b))
        || form != CommandForm::Pair && shown.iter().all(is_shown);
    (!placeholder).then_some(start..close)
}

/// The password on the command line that begins with the program at `hit`.
pub(super) fn on_line(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let inside_a_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    if text[..hit.start].last().is_some_and(inside_a_word) || text.get(hit.end) != Some(&b' ') {
        return None;
    }
    let end = line_end(text, hit.end);
    let line = &text[hit.end..end];
    // Most lines that name the program have no option at all.
    memchr::memmem::find(line, b" -")?;
    let ranges = word_ranges(line);
    let shown: Vec<&[u8]> = ranges.iter().map(|range| &line[range.clone()]).collect();
    let program = text[hit.clone()].to_ascii_lowercase();
    let (number, range) = password_in(&program, &shown)?;
    let start = hit.end + ranges[number].start;
    Some(Secret { range: start + range.start..start + range.end, kind: "password" })
}

/// The end of a command's line; a backslash before its end continues it.
fn line_end(text: &[u8], start: usize) -> usize {
    let mut end = run_end(text, start, LINE_BYTES_MAX, |b| b != b'\n');
    while end < text.len() && end - start < LINE_BYTES_MAX && text[..end].trim_ascii_end().ends_with(b"\\") {
        end = run_end(text, end + 1, LINE_BYTES_MAX, |b| b != b'\n');
    }
    // The limit may lie inside a character.
    (start..=end).rev().find(|&at| at == text.len() || text[at] & 0xc0 != 0x80).unwrap_or(start)
}

/// The words of a line; quotes hold one together.
fn word_ranges(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, &b) in line.iter().enumerate() {
        match (quote, b) {
            (Some(open), b) if b == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => {
                quote = Some(b);
                start.get_or_insert(at);
            }
            (None, b) if b.is_ascii_whitespace() || b == b';' || b == b'|' => {
                found.extend(start.take().map(|start| start..at));
                if b == b';' || b == b'|' {
                    break;
                }
            }
            _ => drop(start.get_or_insert(at)),
        }
    }
    found.extend(start.map(|start| start..line.len()));
    found
}
