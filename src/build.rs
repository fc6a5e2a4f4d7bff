//! Build script: converts the shipped tables into forms that need no TOML parser at each start.
//!
//! `whitelist.toml` becomes a lookup table. The tables that every recorder reads become JSON, without their inline
//! tests and examples, which are a third of them and which only the test suite reads.

#![allow(unreachable_pub, reason = "modules that the library has, too")]

#[path = "whitelist/encode.rs"]
mod encode;
#[path = "whitelist/kind.rs"]
mod kind;
#[path = "whitelist/layer.rs"]
mod layer;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

/// The tables: a file or a folder of files, their list, and what of an entry is read by tests alone.
const TABLES: [(&str, &str, &[&str]); 3] = [
    ("src/diagnose/definitions", "tool", &["test"]),
    ("src/fix/weakened/rules", "rule", &["path", "add", "keep", "marked", "clean"]),
    ("src/fix/weakened/languages.toml", "language", &[]),
];

fn main() -> ExitCode {
    for read in ["whitelist.toml", "src/build.rs", "src/whitelist"].into_iter().chain(TABLES.map(|(path, ..)| path)) {
        println!("cargo::rerun-if-changed={read}");
    }
    let Some(out) = env::var_os("OUT_DIR") else { return report_failure("OUT_DIR is missing") };
    match build_whitelist(Path::new(&out)).and_then(|()| build_tables(Path::new(&out))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => report_failure(&reason),
    }
}

fn report_failure(reason: &str) -> ExitCode {
    println!("cargo::error={reason}");
    ExitCode::FAILURE
}

fn build_whitelist(out: &Path) -> Result<(), String> {
    let fault = |line: Option<usize>, reason: &str| format!("whitelist.toml: line {}: {reason}", line.unwrap_or(0));
    let text = fs::read_to_string("whitelist.toml").map_err(|error| format!("whitelist.toml: {error}"))?;
    let layer = layer::WhitelistLayer::parse(&text)
        .map_err(|error| fault(error.line, &error.reason))?
        .ok_or("whitelist.toml: verify_run_schema is missing")?;
    if let Some(error) = layer.find_errors(&text).first() {
        return Err(fault(error.line, &error.reason));
    }
    for tool in &layer.tool {
        let codes = &tool.exit;
        let known = !(codes.findings.is_empty() && codes.did_not_run.is_empty() && codes.empty.is_empty());
        if known && !tool.evidence.starts_with("measured ") {
            return Err(format!("whitelist.toml: `{}` states exit codes that were not measured", tool.name));
        }
    }
    write_file(&out.join("whitelist.bin"), &encode::encode_layer(&layer)?)
}

fn build_tables(out: &Path) -> Result<(), String> {
    for (path, list, examples) in TABLES {
        let path = Path::new(path);
        if path.is_file() {
            build_table(path, out, list, examples)?;
            continue;
        }
        let out = out.join(path.file_name().unwrap_or_default());
        fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        for entry in fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))? {
            build_table(&entry.map_err(|error| format!("{}: {error}", path.display()))?.path(), &out, list, examples)?;
        }
    }
    Ok(())
}

fn build_table(path: &Path, out: &Path, list: &str, examples: &[&str]) -> Result<(), String> {
    let fault = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let text = fs::read_to_string(path).map_err(|error| fault(&error))?;
    let mut file: toml::Table = toml::from_str(&text).map_err(|error| fault(&error))?;
    let entries = file.get_mut(list).and_then(toml::Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        for example in examples {
            entry.remove(*example);
        }
        if list == "tool" {
            split_tool_rules(entry);
        }
    }
    let json = serde_json::to_vec(&file).map_err(|error| fault(&error))?;
    write_file(&out.join(path.file_stem().unwrap_or_default()).with_extension("json"), &json)
}

/// Puts the rules of a tool beside it, each with what it needs: the rest of a rule is read only where that is in an output.
fn split_tool_rules(tool: &mut toml::Table) {
    let rules = match tool.remove("rule") {
        Some(toml::Value::Array(rules)) => rules,
        _ => Vec::new(),
    };
    let pair = |rule: toml::Value| {
        let needs = rule.get("needs").map(|needs| ("needs".to_owned(), needs.clone()));
        toml::Value::Table(needs.into_iter().chain([("rule".to_owned(), rule)]).collect())
    };
    let rules = toml::Value::Array(rules.into_iter().map(pair).collect());
    let own = toml::Value::Table(std::mem::take(tool));
    tool.extend([("tool".to_owned(), own), ("rules".to_owned(), rules)]);
}

#[allow(clippy::disallowed_methods, reason = "the file is read only after the build script has ended")]
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
