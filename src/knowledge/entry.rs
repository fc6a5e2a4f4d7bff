//! Types of entries, and the properties that each has.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::schema::PropertySchema;
use crate::config::KnowledgeSettings;
use crate::event::EntryTypeName;

/// A text in a property, characters.
const TEXT_CHARS_MAX: u64 = 4_000;
/// A list in a property, items.
const ITEMS_MAX: u64 = 50;

/// A type of entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryType {
    /// What it is for.
    pub description: String,
    /// Whether two of it may be one.
    pub merges: bool,
    /// The JSON Schema of its properties.
    #[serde(serialize_with = "schema_value")]
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub schema: PropertySchema,
}

fn schema_value<S: serde::Serializer>(schema: &PropertySchema, serializer: S) -> Result<S::Ok, S::Error> {
    schema.value().serialize(serializer)
}

/// All types by their names: the shipped ones, and those of the settings, which may replace them.
pub(crate) fn entry_types(settings: &KnowledgeSettings) -> BTreeMap<String, EntryType> {
    let mut all = shipped_types();
    for (name, of_settings) in &settings.types {
        let schema = of_settings.schema.clone();
        let description = schema.value().get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        all.insert(name.clone(), EntryType { description, merges: of_settings.merges, schema });
    }
    all
}

fn shipped_types() -> BTreeMap<String, EntryType> {
    let text =
        |about: &str| json!({"type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX, "description": about});
    let list = json!({"type": "array", "maxItems": ITEMS_MAX, "items": text("")});
    let one = |description: &str, merges, required: &[&str], properties: Value| {
        let schema = json!({
            "type": "object", "required": required, "properties": properties, "additionalProperties": false,
            "description": description,
        });
        // The shipped schemas use what the checker knows: a test takes each of them.
        let schema = PropertySchema::new(&schema).ok()?;
        Some(EntryType { description: description.to_owned(), merges, schema })
    };
    let all = [
        (
            EntryTypeName::GOTCHA,
            one(
                "a mistake that happens here, and what to do instead",
                true,
                &["pitfall"],
                json!({"pitfall": text("what goes wrong"), "fix": text("what to do instead"), "cause": text("why")}),
            ),
        ),
        (
            EntryTypeName::PATTERN,
            one(
                "a way of doing something that works here",
                true,
                &["description"],
                json!({
                    "description": text("what it is"), "template": text("the code"), "usage": text("when and how"),
                    "examples": list,
                }),
            ),
        ),
        (
            EntryTypeName::DECISION,
            one(
                "what was chosen, and why",
                false,
                &["choice", "rationale"],
                json!({
                    "choice": text("what was chosen"), "context": text("where it mattered"),
                    "rationale": text("why"), "alternatives": list,
                }),
            ),
        ),
    ];
    all.into_iter().filter_map(|(name, one)| Some((name.to_string(), one?))).collect()
}

/// All text of an entry: what its words are taken from.
pub(crate) fn entry_text(title: &str, properties: &Value) -> String {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
            Value::Number(number) => found.push(number.to_string()),
            Value::Bool(_) | Value::Null => {}
        }
    }
    let mut found = vec![title.to_owned()];
    collect(properties, &mut found);
    found.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_types_have_the_properties_that_they_are_about() {
        let all = entry_types(&KnowledgeSettings::default());
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["decision", "gotcha", "pattern"]);
        let faults = |name: &str, value: Value| all[name].schema.faults(&value);
        assert_eq!(faults("gotcha", json!({"pitfall": "a", "fix": "b"})), [""; 0]);
        assert_eq!(faults("gotcha", json!({"fix": "b"})), ["pitfall: is missing"]);
        assert_eq!(faults("pattern", json!({"description": "a", "template": "b", "usage": "c"})), [""; 0]);
        assert_eq!(faults("decision", json!({"choice": "a", "context": "b", "rationale": "c"})), [""; 0]);
        assert!(
            faults("decision", json!({"choice": "a", "rationale": "c", "mood": "x"}))[0]
                .starts_with("mood: is not known")
        );
        assert!(!all["decision"].merges && all["gotcha"].merges);
    }

    #[test]
    fn all_text_counts() {
        let text = entry_text("Title", &json!({"a": ["one", {"b": 2}], "c": true}));
        assert_eq!(text, "Title\none\n2");
    }
}
