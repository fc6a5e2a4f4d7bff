//! What holds for every output: the recorded ones of real tools, and generated text.
//!
//! Diagnosis takes a whole output; what takes it in pieces is the transcript, and its borders must not show.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::base::limits::{
    CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX, ITEMS_MAX, LINE_KEEP_BYTES_MAX, MESSAGE_BYTES_MAX,
};
use crate::diagnose::{Diagnosis, catalog, clean, redact, text_of};
use crate::run::Transcript;

use super::diagnosed;

/// Every recorded output with its command line.
fn recorded() -> Vec<(String, String, Vec<u8>)> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/cases");
    let mut recorded = Vec::new();
    for case in fs::read_dir(cases).expect("the corpus").flatten() {
        let command = fs::read_to_string(case.path().join("command")).expect("a command");
        for variant in ["output.txt", "output.tty"] {
            // Two outputs of megabytes are only made where they are measured.
            let Ok(output) = fs::read(case.path().join(variant)) else { continue };
            if output.len() < 1 << 20 {
                recorded.push((format!("{}/{variant}", case.file_name().display()), command.clone(), output));
            }
        }
    }
    assert!(recorded.len() > 200, "{} outputs", recorded.len());
    recorded
}

/// What is wrong with any diagnosis that is like this.
fn check(said: &Diagnosis, output: &[u8]) -> Result<(), String> {
    let text = text_of(output);
    let lines = redact::redact_text(&text).0.lines().count();
    if said.items.len() > ITEMS_MAX || said.others.len() > ITEMS_MAX {
        return Err(format!("{} items", said.items.len()));
    }
    for item in said.items.iter().chain(&said.others) {
        let (start, end) = item.span;
        let sound = start < end && end <= lines && item.message.len() <= MESSAGE_BYTES_MAX && item.line != Some(0);
        if !sound || item.file.as_ref().is_some_and(|file| file.is_empty() || file.contains('\n')) {
            return Err(format!("of {lines} lines: {item:?}"));
        }
    }
    let control = |line: &String| line.chars().any(|c| c.is_control() && c != '\t');
    if let Some(line) = said.lines.iter().find(|line| line.len() > LINE_KEEP_BYTES_MAX || control(line)) {
        return Err(format!("kept: {line:?}"));
    }
    if !said.items.is_sorted_by_key(|item| item.span) || !said.files.is_sorted() {
        return Err("out of order".to_owned());
    }
    Ok(())
}

/// `text` as a terminal gets it: every word painted, some links, and a line's end erased.
fn painted(text: &str) -> String {
    let mut painted = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        for (at, word) in body.split_inclusive([' ', ':', '(', '/']).enumerate() {
            let half = word.floor_char_boundary(word.len() / 2);
            let (first, second) = word.split_at(half);
            let piece = match (index + at) % 4 {
                0 => format!("\x1b[1;31m{word}\x1b[0m"),
                1 => format!("{first}\x1b[38;5;12m{second}\x1b[39m"),
                2 => format!("\x1b]8;;file:///a(b)/{at}\x1b\\{word}\x1b]8;;\x07"),
                _ => word.to_owned(),
            };
            painted.push_str(&piece);
        }
        painted.push_str("\x1b[K");
        painted.push_str(end);
    }
    painted
}

#[test]
fn recorded_outputs_are_the_same_in_colour_and_with_other_line_ends() {
    let mut wrong = Vec::new();
    for (name, command, output) in recorded() {
        let said = diagnosed(&command, &output);
        if let Err(reason) = check(&said, &output) {
            wrong.push(format!("{name}: {reason}"));
        }
        let text = clean::clean_output(&output);
        let variants = [("CRLF", text.replace('\n', "\r\n")), ("colour", painted(&text))];
        for (variant, output) in variants {
            if diagnosed(&command, output) != said {
                wrong.push(format!("{name}: {variant} changes the diagnosis"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of the outputs that definitions are tested with.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tools = catalog::tested_tools();
    let inputs =
        tools.iter().flat_map(|tool| &tool.tests).map(|test| clean::clean_output(test.input.as_bytes()).into_owned());
    inputs.flat_map(|input| input.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
});

/// A line of some tool's output, whole or torn, or anything else that is printable.
fn line() -> impl Strategy<Value = String> {
    let known = || any::<Index>().prop_map(|index| index.get(&LINES).clone());
    prop_oneof![
        6 => known(),
        1 => (known(), any::<Index>()).prop_map(|(line, at)| {
            line[..line.floor_char_boundary(at.index(line.len() + 1))].to_owned()
        }),
        1 => (known(), known()).prop_map(|(a, b)| format!("{a} {b}")),
        1 => known().prop_map(|line| format!("    {line}")),
        1 => "[ -~\t«äß✖→你]{0,60}",
        1 => r"[a-z/.]{1,8}(:[0-9]{1,3}){1,2}: (error|warning|note|E[0-9]{3})?:? [a-z' ]{0,20}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    vec(line(), 0..40).prop_map(|lines| lines.into_iter().map(|line| line + "\n").collect())
}

fn command() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "make", "npx eslint .", "pytest", "go test -v ./...", "cargo test", "npx vitest run"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_have_a_diagnosis(output in vec(prop_oneof![any::<u8>(), prop::sample::select(b"\x1b[]0;1mAJKPX:\n\r\t\x07\\ e".to_vec())], 0..400)) {
        let said = diagnosed("make", &output);
        prop_assert_eq!(check(&said, &output), Ok(()));
    }

    #[test]
    fn torn_and_mixed_outputs_have_a_diagnosis(text in text(), command in command(), cut in any::<Index>()) {
        let output = &text.as_bytes()[cut.index(text.len() + 1)..];
        let said = diagnosed(command, output);
        prop_assert_eq!(check(&said, output), Ok(()));
    }

    #[test]
    fn colour_and_line_ends_change_nothing(text in text(), command in command()) {
        let said = diagnosed(command, &text);
        prop_assert_eq!(&diagnosed(command, text.replace('\n', "\r\n")), &said);
        prop_assert_eq!(&diagnosed(command, painted(&text)), &said);
    }

    #[test]
    fn chunk_borders_change_nothing(text in text(), command in command(), borders in vec(any::<Index>(), 0..30)) {
        let mut borders: Vec<usize> = borders.iter().map(|border| border.index(text.len() + 1)).collect();
        borders.extend([0, text.len()]);
        borders.sort_unstable();
        let mut transcript = Transcript::with_limits(CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX);
        for piece in borders.windows(2) {
            transcript.append(&text.as_bytes()[piece[0]..piece[1]]);
        }
        prop_assert_eq!(diagnosed(command, transcript.pieces().concat()), diagnosed(command, &text));
    }
}
