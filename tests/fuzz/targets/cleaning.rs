//! Terminal output to plain text: no control characters are left, and plain text stays what it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify_run::diagnose::{Baseline, plain_text, text_of};

fuzz_target!(|output: &[u8]| {
    let text = plain_text(output);
    assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "a control character is left");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no end");
    assert_eq!(plain_text(text.as_bytes()), text, "plain text is changed");
    let baseline = Baseline::of(output);
    let known = |line: &str| line.trim().is_empty() || baseline.contains(line);
    assert!(text_of(output).lines().all(known), "a line of the output is no line of its baseline");
});
