//! `docs/configuration.md` and `docs/schema/settings.json`: every key with its default, from the settings' own types.

use std::fmt::Write;
use std::{env, fs, path::Path};

use serde_json::{Value, json};

use super::Settings;

/// The files whose types are settings, in the order of the page.
const SOURCES: [&str; 12] = [
    include_str!("lesson.rs"),
    include_str!("settings.rs"),
    include_str!("learning.rs"),
    include_str!("advice.rs"),
    include_str!("knowledge.rs"),
    include_str!("promotion.rs"),
    include_str!("receipt.rs"),
    include_str!("gate.rs"),
    include_str!("lab.rs"),
    include_str!("learn.rs"),
    include_str!("dashboard.rs"),
    include_str!("hooks.rs"),
];

const HEAD: &str = "\
# Configuration

Settings are in `verify-run.toml`, in two layers: `~/.config/verify-run/verify-run.toml` holds for the user, a file at the
root of a repository for the project, and the project's values win. Unknown keys and wrong values are reported by
`verify-run doctor`; the default stays in force.

The tables are generated from the settings' types; a test fails when they are out of date
(`UPDATE_DOCS=1 cargo nextest run --lib reference` writes them again). Editors can validate and complete the file with
[schema/settings.json](schema/settings.json), a JSON Schema.

Which commands are checks is in [`whitelist.toml`](formats.md#whitelisttoml). Tool definitions and detectors are files of
[their own](formats.md#tool-definitions).
";

/// One documented key.
struct SettingsKey {
    name: String,
    text: String,
}

/// A table of the settings: its name, what it is for, and its keys.
struct SettingsSection {
    name: String,
    text: String,
    keys: Vec<SettingsKey>,
}

/// Reads `pub struct …Settings` with a doc of the form "`[section]`: text", and its fields' docs of the form
/// "`key`: text".
fn read_sections(source: &str) -> Vec<SettingsSection> {
    let mut sections = Vec::new();
    let mut doc = String::new();
    let mut in_section = false;
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            let separator = if doc.is_empty() { "" } else { " " };
            let _ = write!(doc, "{separator}{}", text.trim());
            continue;
        }
        if line.starts_with("pub struct") {
            in_section = false;
            let head = doc.strip_prefix("`[").and_then(|doc| doc.split_once("]`: "));
            if let Some((name, text)) = head.filter(|(name, _)| !name.contains(".NAME")) {
                sections.push(SettingsSection { name: name.to_owned(), text: text.to_owned(), keys: Vec::new() });
                in_section = true;
            }
        } else if in_section && line.starts_with("pub ") && !doc.starts_with("`[") {
            let (head, text) = doc.split_once(": ").expect("a documented key");
            let name = head.split('`').nth(1).expect("a key in backquotes").to_owned();
            let others = head.split_once(&format!("`{name}`")).map_or("", |(_, rest)| rest).trim();
            let text = if others.is_empty() { text.to_owned() } else { format!("{text} {others}") };
            if let Some(section) = sections.last_mut().filter(|_| !name.starts_with('[')) {
                section.keys.push(SettingsKey { name, text });
            }
        } else if line == "}" {
            in_section = false;
        }
        if !line.starts_with("#[") {
            doc.clear();
        }
    }
    sections
}

fn all_sections() -> Vec<SettingsSection> {
    SOURCES.iter().flat_map(|source| read_sections(source)).collect()
}

/// The defaults as TOML has them: by section and key.
fn default_values() -> Value {
    let settings = Settings::default();
    let (lesson, raw, snapshot, fix) = (&settings.lesson, &settings.raw, &settings.snapshot, &settings.fix);
    // The tables below it are sections of their own.
    let without_tables = |mut section: Value| {
        section.as_object_mut().expect("a table").retain(|_, value| !value.is_object());
        section
    };
    json!({
        "lesson": {
            "write": "new", "lines_bytes": lesson.lines_bytes, "cancelled": lesson.cancelled,
            "attempts": lesson.attempts, "minutes": lesson.minutes, "dir": lesson.dir,
        },
        "raw": { "days": raw.days, "bytes": raw.bytes },
        "snapshot": {
            "enabled": snapshot.enabled, "time_ms": snapshot.time_ms, "file_bytes": snapshot.file_bytes,
            "days": snapshot.days, "bytes": snapshot.bytes,
        },
        "fix": {
            "open_days": fix.open_days, "quick_attempts": fix.quick_attempts, "silence_hours": fix.silence_hours,
            "environment": fix.environment,
        },
        "patterns": settings.patterns,
        "confidence": settings.confidence,
        "advice": settings.advice,
        "knowledge": settings.knowledge,
        "promotion": settings.promotion,
        "receipts": settings.receipts,
        "gate": without_tables(json!(settings.gate)),
        "lab": settings.lab,
        "gate.breaker": settings.gate.breaker,
        "gate.memory": settings.gate.memory,
        "gate.review": settings.gate.review,
        "gate.ship": settings.gate.ship,
        "learn": without_tables(json!(settings.learn)),
        "learn.crystallise": settings.learn.crystallise,
        "library": settings.library,
        "dashboard": settings.dashboard,
        "hooks": settings.hooks,
    })
}

fn render_page(defaults: &Value) -> String {
    let mut page = HEAD.to_owned();
    for section in all_sections() {
        let _ = write!(page, "\n## `[{}]`\n\n{}\n\n", section.name, sentence(&section.text));
        page.push_str("| key | default | meaning |\n| --- | --- | --- |\n");
        for key in &section.keys {
            let default = &defaults[&section.name][&key.name];
            let default = if default.is_null() { String::new() } else { format!("`{default}`") };
            let _ = writeln!(page, "| `{}` | {default} | {} |", key.name, sentence(&key.text));
        }
    }
    page.push_str(include_str!("reference/tables.md"));
    page
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + characters.as_str())
}

/// JSON Schema, draft 2020-12.
fn render_schema(defaults: &Value) -> String {
    let mut sections = serde_json::Map::new();
    for section in all_sections() {
        let mut keys = serde_json::Map::new();
        for key in &section.keys {
            let default = &defaults[&section.name][&key.name];
            let mut schema = match default {
                Value::Bool(_) => json!({ "type": "boolean" }),
                Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
                Value::Number(_) => json!({ "type": "integer", "minimum": 0 }),
                Value::Array(items) if items.iter().any(Value::is_number) => {
                    json!({ "type": "array", "items": { "type": "number" } })
                }
                Value::Array(_) => json!({ "type": "array", "items": { "type": "string" } }),
                _ => json!({ "type": "string" }),
            };
            schema["description"] = sentence(&key.text).into();
            if !default.is_null() {
                schema["default"] = default.clone();
            }
            keys.insert(key.name.clone(), schema);
        }
        if section.name == "knowledge" {
            let text = "Entry types of your own: a JSON Schema each";
            keys.insert("types".into(), json!({ "type": "object", "description": text }));
        }
        let text = sentence(&section.text);
        let schema =
            json!({ "type": "object", "description": text, "properties": keys, "additionalProperties": false });
        match section.name.split_once('.') {
            Some((parent, name)) => sections[parent]["properties"][name] = schema,
            None => {
                sections.insert(section.name, schema);
            }
        }
    }
    let text = "Categories of your own: a name and its meaning";
    sections.insert(
        "categories".into(),
        json!({ "type": "object", "description": text, "additionalProperties": { "type": "string" } }),
    );
    let text = "Templates of what to do against an error";
    sections.insert("strategies".into(), json!({ "type": "object", "description": text }));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "verify-run.toml",
        "type": "object",
        "properties": sections,
        "additionalProperties": false,
    });
    serde_json::to_string_pretty(&schema).expect("serializes") + "\n"
}

#[test]
fn the_configuration_page_and_its_schema_are_up_to_date() {
    let defaults = default_values();
    for (file, text) in
        [("configuration.md", render_page(&defaults)), ("schema/settings.json", render_schema(&defaults))]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes docs");
            fs::write(&path, &text).expect("writes the page");
        }
        let written = fs::read_to_string(&path).expect("reads the page");
        assert!(written == text, "docs/{file} is out of date: UPDATE_DOCS=1 cargo nextest run --lib reference");
    }
}

#[test]
fn every_setting_is_documented_and_every_documented_setting_is_read() {
    let defaults = default_values();
    let sections = all_sections();
    for (name, keys) in defaults.as_object().expect("sections") {
        let section = sections.iter().find(|section| section.name == *name).expect("a documented section");
        let mut documented: Vec<&str> = section.keys.iter().map(|key| key.name.as_str()).collect();
        let mut known: Vec<&str> = keys.as_object().expect("keys").keys().map(String::as_str).collect();
        documented.sort_unstable();
        known.sort_unstable();
        assert_eq!(documented, known, "[{name}]");
        for key in documented {
            let value = match &keys[key] {
                Value::Null => json!("some/path"),
                value => value.clone(),
            };
            let (_, problems) = Settings::of(&format!("[{name}]\n{key} = {value}\n"));
            assert!(problems.is_empty(), "{name}.{key}: {problems:?}");
        }
    }
    assert_eq!(sections.len(), defaults.as_object().expect("sections").len());
}
