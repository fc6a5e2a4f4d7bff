//! An output to its diagnosis. The first byte chooses the command and how the run ended.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify_run::base::limits::{ITEMS_MAX, LINE_KEEP_BYTES_MAX, MESSAGE_BYTES_MAX};
use verify_run::base::tree::NoTree;
use verify_run::diagnose::{Baseline, Definitions, Diagnosis, Input, diagnose, plain_text};
use verify_run::run::Ended;

const COMMANDS: [(&str, Option<&str>); 8] = [
    ("", None),
    ("npx eslint .", Some("eslint")),
    ("pytest", Some("pytest")),
    ("cargo test", Some("cargo-test")),
    ("go test ./...", Some("go-test")),
    ("make -j4 check", None),
    ("npx vitest run", Some("vitest")),
    ("npx tsc --noEmit", Some("tsc")),
];

fn of(output: &[u8], choice: u8, baseline: Option<&Baseline>) -> Diagnosis {
    let (command, tool) = COMMANDS[usize::from(choice & 7)];
    diagnose(&Input {
        output,
        command,
        tool,
        kind: None,
        ended: Ended::Exit(if choice & 8 == 0 { 1 } else { 2 }),
        dir: "",
        root: if choice & 16 == 0 { "" } else { "/home/dev/project" },
        tree: &NoTree,
        baseline,
        definitions: &Definitions::shipped(),
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, output)) = input.split_first() else { return };
    let baseline = (choice & 32 != 0).then(|| Baseline::of(&output[..output.len() / 2]));
    let said = of(output, choice, baseline.as_ref());
    assert!(said.category.is_some(), "a failed run without a category");
    assert!(said.items.len() <= ITEMS_MAX && said.others.len() <= ITEMS_MAX);
    let text = plain_text(output);
    // Wrapped lines (`go test -json`) are counted once they are unwrapped.
    let wrapped = text.contains("\"Action\":") || text.contains("\"reason\":");
    let lines = text.lines().count();
    for item in said.items.iter().chain(&said.others) {
        let (start, end) = item.span;
        assert!(start < end, "{item:?} covers nothing");
        assert!(wrapped || end <= lines, "{item:?} ends behind line {lines}");
        assert!(item.message.len() <= MESSAGE_BYTES_MAX + '…'.len_utf8(), "a message of {}", item.message.len());
        assert_ne!(item.line, Some(0), "{item:?}");
        assert!(item.file.as_ref().is_none_or(|file| !file.is_empty() && !file.contains('\n')), "{item:?}");
    }
    assert!(said.items.is_sorted_by_key(|item| item.span.0), "items are out of order");
    assert!(said.files.is_sorted(), "files are out of order");
    assert!(said.lines.iter().all(|line| line.len() <= LINE_KEEP_BYTES_MAX), "a kept line is too long");
    // What a terminal does with the output changes nothing, where there was no terminal control before.
    if choice & 64 != 0 && !output.iter().any(|&byte| (byte < b' ' && !b"\n\t".contains(&byte)) || byte >= 0x7f) {
        let text = String::from_utf8_lossy(output);
        let returns = text.replace('\n', "\r\n");
        assert_eq!(of(returns.as_bytes(), choice, baseline.as_ref()), said, "CRLF changes the diagnosis");
        let colours = text.replace(' ', "\x1b[31m \x1b[0m");
        assert_eq!(of(colours.as_bytes(), choice, baseline.as_ref()), said, "colour changes the diagnosis");
    }
});
