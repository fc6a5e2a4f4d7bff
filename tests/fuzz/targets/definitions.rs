//! A file of tool definitions from a cloned repository, with one file that it names after a NUL byte.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use verify_run::config::Categories;
use verify_run::diagnose::{DefinitionFile, Definitions, attachments};

fuzz_target!(|text: &str| {
    let (text, attached) = text.split_once('\0').unwrap_or((text, ""));
    let names = attachments(text);
    let attached = names.into_iter().map(|name| (name, Ok(attached.to_owned()))).collect();
    let files = [DefinitionFile { file: PathBuf::from("a.toml"), layer: 0, text: text.to_owned(), attached }];
    let (definitions, faults) = Definitions::layered(&files, &Categories::default());
    let lines = 1 + text.matches('\n').count();
    for fault in faults.iter().chain(&definitions.check(&files)) {
        assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault:?} is behind the file");
        assert!(!fault.reason.is_empty());
    }
    assert!(definitions.names().next().is_some(), "everything is gone");
});
