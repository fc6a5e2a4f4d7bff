//! JSON Schema, as much of it as properties of entries need: `type`, `properties`, `required`, `additionalProperties`
//! (true or false), `items`, `enum`, `minLength`, `maxLength`, `minItems`, `maxItems`, `minimum`, `maximum`, and the
//! annotations `title`, `description`, `default`, `examples` (JSON Schema 2020-12, Validation). A schema with another
//! keyword is refused: what isn't checked must not look as if it were.

use serde_json::{Map, Value};

/// How deep a schema and a value go.
const DEPTH_MAX: usize = 16;
/// Maximum number of faults reported of one value; the rest is not looked for.
const FAULTS_MAX: usize = 20;

/// A schema that can be checked against.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertySchema(Map<String, Value>);

impl PropertySchema {
    /// Takes a schema.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn new(schema: &Value) -> Result<Self, String> {
        check_schema(schema, "", 0)?;
        match schema {
            Value::Object(keywords) => Ok(PropertySchema(keywords.clone())),
            _ => Err("a schema is an object".to_owned()),
        }
    }

    /// The schema itself.
    pub fn value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Names of properties that have to be there.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether a property's values are lists.
    pub fn is_list(&self, property: &str) -> bool {
        let kind = self.0.get("properties").and_then(|all| all.get(property)).and_then(|one| one.get("type"));
        kind.and_then(Value::as_str) == Some("array")
    }

    /// What is wrong with a value: `path: reason` each, in its order; nothing when it fits.
    pub fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        check(&self.0, value, "", 0, &mut faults);
        faults.truncate(FAULTS_MAX);
        faults
    }
}

fn check_schema(schema: &Value, path: &str, depth: usize) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Err(format!("{}: a schema is an object", named(path))) };
    if depth > DEPTH_MAX {
        return Err(format!("{}: deeper than {DEPTH_MAX}", named(path)));
    }
    for (keyword, value) in keywords {
        let fits = match keyword.as_str() {
            "title" | "description" => value.is_string(),
            "default" | "examples" => true,
            "type" => value.as_str().is_some_and(|kind| KINDS.contains(&kind)),
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "additionalProperties" => value.is_boolean(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "minimum" | "maximum" => value.is_number(),
            "items" => {
                check_schema(value, &join(path, "items"), depth + 1)?;
                true
            }
            "properties" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    check_schema(schema, &join(path, name), depth + 1)?;
                }
                value.is_object()
            }
            _ => return Err(format!("{}: unknown keyword {keyword:?}", named(path))),
        };
        if !fits {
            return Err(format!("{}: {keyword} can't be {value}", named(path)));
        }
    }
    Ok(())
}

const KINDS: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

fn check(schema: &Map<String, Value>, value: &Value, path: &str, depth: usize, faults: &mut Vec<String>) {
    if depth > DEPTH_MAX || faults.len() >= FAULTS_MAX {
        return;
    }
    let mut fault = |text: String| faults.push(format!("{}: {text}", named(path)));
    let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    if let Some(kind) = text("type")
        && !is_of(kind, value)
    {
        return fault(format!("must be {}", article(kind)));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        fault(format!("must be one of {}", allowed.join(", ")));
    }
    let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let length = match value {
        Value::String(text) => Some((text.chars().count() as u64, "Length", "character")),
        Value::Array(items) => Some((items.len() as u64, "Items", "item")),
        _ => None,
    };
    if let Some((length, keyword, unit)) = length {
        if count(&format!("min{keyword}")).is_some_and(|least| length < least) {
            fault(format!("has {}, too few", super::text::count(length, unit)));
        }
        if let Some(most) = count(&format!("max{keyword}")).filter(|most| length > *most) {
            fault(format!("has {}, at most {most}", super::text::count(length, unit)));
        }
    }
    if let Some(number) = value.as_f64() {
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        if bound("minimum").is_some_and(|least| number < least) || bound("maximum").is_some_and(|most| number > most) {
            fault(format!("{number} is out of range"));
        }
    }
    match value {
        Value::Object(fields) => check_fields(schema, fields, path, depth, faults),
        Value::Array(items) => {
            let Some(each) = schema.get("items").and_then(Value::as_object) else { return };
            for (index, item) in items.iter().enumerate() {
                check(each, item, &join(path, &index.to_string()), depth + 1, faults);
            }
        }
        _ => {}
    }
}

fn check_fields(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    path: &str,
    depth: usize,
    faults: &mut Vec<String>,
) {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| !fields.contains_key(*name)) {
        faults.push(format!("{}: is missing", named(&join(path, name))));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match known.and_then(|known| known.get(name)).and_then(Value::as_object) {
            Some(schema) => check(schema, value, &join(path, name), depth + 1, faults),
            None if is_closed => {
                let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                let path = join(path, name);
                faults.push(format!("{}: is not known; there are {}", named(&path), known.join(", ")));
            }
            None => {}
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}

fn article(kind: &str) -> String {
    match kind {
        "array" => "a list".to_owned(),
        "object" | "integer" => format!("an {kind}"),
        "null" => "null".to_owned(),
        kind => format!("a {kind}"),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn named(path: &str) -> &str {
    if path.is_empty() { "the properties" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_fault_is_named_with_its_path() {
        let schema = PropertySchema::new(&json!({
            "type": "object", "required": ["fix", "steps"], "additionalProperties": false,
            "properties": {
                "fix": {"type": "string", "minLength": 1, "maxLength": 5},
                "steps": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "level": {"enum": ["low", "high"]},
                "share": {"type": "number", "minimum": 0, "maximum": 1},
            },
        }))
        .expect("a schema");
        assert_eq!(schema.faults(&json!({"fix": "é1234", "steps": ["a"], "level": "low", "share": 1})), [""; 0]);
        let bad = json!({"fix": "", "steps": ["a", 1, "c"], "level": "mid", "share": 1.2, "more": 1});
        assert_eq!(
            schema.faults(&bad),
            [
                "fix: has 0 characters, too few",
                "level: must be one of \"low\", \"high\"",
                "more: is not known; there are fix, level, share, steps",
                "share: 1.2 is out of range",
                "steps: has 3 items, at most 2",
                "steps.1: must be a string",
            ]
        );
        assert_eq!(schema.faults(&json!({})), ["fix: is missing", "steps: is missing"]);
        assert_eq!(schema.faults(&json!([])), ["the properties: must be an object"]);
    }

    #[test]
    fn what_would_not_be_checked_is_refused() {
        for bad in [
            json!({"pattern": "^a"}),
            json!({"properties": {"a": {"format": "date"}}}),
            json!({"type": "text"}),
            json!({"required": "a"}),
            json!({"maxLength": -1}),
            json!([]),
        ] {
            assert!(PropertySchema::new(&bad).is_err(), "{bad}");
        }
    }
}
