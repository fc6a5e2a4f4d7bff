//! Secrets out: twice is once, what is left is a part of the text in its order, and arguments are judged like text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify_run::redact::{redact, redact_args};

fuzz_target!(|text: &str| {
    let (once, count) = redact(text);
    let (twice, none) = redact(&once);
    assert_eq!((twice.as_ref(), none), (once.as_ref(), 0), "redacting twice changes something");
    assert_eq!(count == 0, once.as_ref() == text, "the count says something else than the text");
    // Every piece between two markers is in the text, in the same order.
    let mut rest = text;
    for (index, piece) in once.split("[redacted:").enumerate() {
        let piece = if index == 0 { piece } else { piece.split_once(']').map_or("", |(_, behind)| behind) };
        let at = rest.find(piece).expect("a text that was not there");
        rest = &rest[at + piece.len()..];
    }
    let args: Vec<&str> = text.split(' ').collect();
    let (redacted, count) = redact_args(&args);
    assert_eq!(redacted.len(), args.len());
    assert_eq!(count == 0, redacted == args, "the count says something else than the arguments");
    assert_eq!(redact_args(&redacted), (redacted.clone(), 0), "redacting arguments twice changes something");
});
