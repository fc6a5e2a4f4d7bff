//! The part of JSON Schema (2020-12) that the schemas of the replies use. Another keyword is an error: what is not
//! checked must not look as if it were.

use serde_json::{Map, Value};

/// A schema document with its definitions.
pub(crate) struct ReplySchema {
    root: Value,
}

impl ReplySchema {
    pub(crate) fn new(root: Value) -> Self {
        ReplySchema { root }
    }

    /// What is wrong with a document, each fault with its path; nothing when it fits.
    pub(crate) fn faults(&self, document: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.root, document, "$", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                faults.push(format!("{path}: nothing is allowed here"));
            }
            return;
        };
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" | "format" | "properties" => {}
                "$ref" => self.check(self.definition(wanted), value, path, faults),
                "type" => check_type(wanted, value, path, faults),
                "enum" if wanted.as_array().is_none_or(|all| !all.contains(value)) => {
                    faults.push(format!("{path}: {value} is not one of {wanted}"));
                }
                "const" if wanted != value => faults.push(format!("{path}: {value} is not {wanted}")),
                "enum" | "const" => {}
                "minimum" if value.is_number() && value.as_f64() < wanted.as_f64() => {
                    faults.push(format!("{path}: {value} < {wanted}"))
                }
                "maximum" if value.is_number() && value.as_f64() > wanted.as_f64() => {
                    faults.push(format!("{path}: {value} > {wanted}"))
                }
                "minItems" if value.is_array() && items(value).len() < size(wanted) => {
                    faults.push(format!("{path}: too few items"))
                }
                "maxItems" if items(value).len() > size(wanted) => faults.push(format!("{path}: too many items")),
                "required" => {
                    let missing = items(wanted)
                        .iter()
                        .filter(|_| value.is_object())
                        .filter(|name| value.get(name.as_str().unwrap_or("")).is_none());
                    faults.extend(missing.map(|name| format!("{path}: {name} is missing")));
                }
                "minimum" | "maximum" | "minItems" | "maxItems" => {}
                "uniqueItems" => {
                    let all = items(value);
                    let mut repeated = all.iter().enumerate().filter(|(index, item)| all[..*index].contains(item));
                    faults.extend(repeated.next().map(|(_, item)| format!("{path}: {item} is there twice")));
                }
                "items" => {
                    for (index, item) in items(value).iter().enumerate() {
                        self.check(wanted, item, &format!("{path}[{index}]"), faults);
                    }
                }
                "prefixItems" => {
                    for (index, (schema, item)) in items(wanted).iter().zip(items(value)).enumerate() {
                        self.check(schema, item, &format!("{path}[{index}]"), faults);
                    }
                }
                "allOf" => items(wanted).iter().for_each(|one| self.check(one, value, path, faults)),
                "anyOf" | "oneOf" => self.check_alternatives(keyword, items(wanted), value, path, faults),
                "additionalProperties" | "unevaluatedProperties" => {
                    let known = self.known_properties(schema, value);
                    for (name, field) in value.as_object().into_iter().flatten() {
                        if !known.contains(name) {
                            self.check(wanted, field, &format!("{path}.{name}"), faults);
                        }
                    }
                }
                other => faults.push(format!("{path}: the keyword {other:?} is not known to this test")),
            }
        }
        for (name, schema) in keywords.get("properties").and_then(Value::as_object).unwrap_or(&Map::new()) {
            if let Some(field) = value.get(name) {
                self.check(schema, field, &format!("{path}.{name}"), faults);
            }
        }
    }

    fn check_alternatives(
        &self,
        keyword: &str,
        alternatives: &[Value],
        value: &Value,
        path: &str,
        faults: &mut Vec<String>,
    ) {
        let tried: Vec<Vec<String>> = alternatives.iter().map(|one| self.faults_of(one, value, path)).collect();
        match tried.iter().filter(|faults| faults.is_empty()).count() {
            0 => {
                let closest = tried.into_iter().min_by_key(Vec::len).unwrap_or_default();
                faults.push(format!("{path}: {value} fits no alternative: {}", closest.join("; ")));
            }
            1 => {}
            fitting if keyword == "oneOf" => faults.push(format!("{path}: {value} fits {fitting} alternatives")),
            _ => {}
        }
    }

    fn faults_of(&self, schema: &Value, value: &Value, path: &str) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(schema, value, path, &mut faults);
        faults
    }

    /// Fields that the schema, or an alternative that fits, describes.
    fn known_properties(&self, schema: &Value, value: &Value) -> Vec<String> {
        let own = schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned();
        let referred = schema.get("$ref").map(|name| self.definition(name));
        let parts = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| items(&schema[keyword]));
        let fitting = parts.filter(|part| self.faults_of(part, value, "").is_empty()).chain(referred);
        let theirs = fitting.flat_map(|part| self.known_properties(part, value));
        own.chain(theirs).collect()
    }

    fn definition(&self, reference: &Value) -> &Value {
        let reference = reference.as_str().expect("a reference");
        if reference == "#" {
            return &self.root;
        }
        let name = reference.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("{reference} leads elsewhere"));
        self.root["$defs"].get(name).unwrap_or_else(|| panic!("no definition {name}"))
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn size(value: &Value) -> usize {
    value.as_u64().and_then(|size| usize::try_from(size).ok()).expect("a size")
}

fn check_type(wanted: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let is_kind = |kind: &Value| match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    };
    let kinds = if wanted.is_array() { items(wanted) } else { std::slice::from_ref(wanted) };
    if !kinds.iter().any(is_kind) {
        faults.push(format!("{path}: {value} is no {wanted}"));
    }
}

#[test]
fn the_checker_finds_what_a_schema_forbids() {
    let schema = ReplySchema::new(serde_json::json!({
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"$ref": "#/$defs/B"}},
        "required": ["a"],
        "additionalProperties": false,
        "$defs": {"B": {"oneOf": [{"type": "null"}, {"const": "x"}]}},
    }));
    for (document, fault) in [
        (r#"{"a": 1, "b": "x"}"#, None),
        (r#"{"a": 1, "b": null}"#, None),
        (r#"{"b": null}"#, Some("\"a\" is missing")),
        (r#"{"a": -1}"#, Some("$.a: -1 < 0")),
        (r#"{"a": 1, "c": 1}"#, Some("$.c: nothing is allowed here")),
        (r#"{"a": 1, "b": "y"}"#, Some("$.b: \"y\" fits no alternative")),
        ("[]", Some("$: [] is no \"object\"")),
    ] {
        let faults = schema.faults(&serde_json::from_str(document).expect("JSON"));
        match fault {
            Some(fault) => assert!(faults.iter().any(|it| it.contains(fault)), "{document}: {faults:?}"),
            None => assert_eq!(faults, [""; 0], "{document}"),
        }
    }
    let twice = ReplySchema::new(serde_json::json!({"oneOf": [{"type": "integer"}, {"minimum": 1}]}));
    assert_eq!(twice.faults(&Value::from(1)), ["$: 1 fits 2 alternatives"]);
    assert_eq!(twice.faults(&Value::from(0)), [""; 0]);
    let unknown = ReplySchema::new(serde_json::json!({"pattern": "x"}));
    assert_eq!(unknown.faults(&Value::Null).len(), 1, "an unknown keyword is a fault");
}
