//! The description of the API (OpenAPI 3.1).
//!
//! It is generated from the table of resources and the types that they print (`UPDATE_DOCS=1 cargo nextest run --lib openapi`).

/// The document.
pub(in crate::surface) const DOCUMENT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use serde_json::{Map, Value, json};

    use super::*;
    use crate::ops;
    use crate::ops::board;
    use crate::surface::cli::json_reference::{reply, schema};
    use crate::surface::http::problem::HttpProblem;
    use crate::surface::http::records::FixesDocument;
    use crate::surface::http::resource::HttpResource;
    use crate::surface::http::routes::RESOURCES;
    use crate::surface::http::specified::{failures, knowledge};

    type SchemaSource = fn() -> Value;

    /// The schema of the document of each resource that has one.
    const SHAPES: &[(&str, SchemaSource)] = &[
        ("overview", reply::<board::overview::Overview>),
        ("figures", reply::<board::figures::FigureList>),
        ("figure", reply::<board::figures::BoardFigure>),
        ("inbox", reply::<board::inbox::InboxPage>),
        ("patterns", reply::<board::patterns::PatternLines>),
        ("pattern", reply::<board::pattern::PatternDetail>),
        ("occurrences", reply::<board::pattern::OccurrenceLines>),
        ("failures", reply::<board::failures::FailureLines>),
        ("failure", reply::<board::failure::FailurePage>),
        ("run", reply::<ops::last::LastRun>),
        ("run-output", reply::<ops::last::RunOutput>),
        ("first-runs", reply::<board::first_runs::FirstRunLines>),
        ("fixes", reply::<FixesDocument>),
        ("fix", reply::<ops::fix::FixPage>),
        ("flakes", reply::<ops::fix::FlakeList>),
        ("files", reply::<board::files::FileHeat>),
        ("effect", reply::<board::effect::EffectPage>),
        ("warnings", reply::<board::warnings::WarningLines>),
        ("knowledge", reply::<ops::knowledge::EntryList>),
        ("entry", reply::<crate::retrieval::entry_page::EntryPage>),
        ("promotions", reply::<ops::promote::PromotionList>),
        ("promotion", reply::<ops::promote::PromotionDetail>),
        ("gate", reply::<board::gate::GateCycleLines>),
        ("gate-cycle", reply::<board::gate::GateCyclePage>),
        ("gate-report", reply::<board::gate::GateReportPage>),
        ("library", reply::<board::library::LibraryBoard>),
        ("library-page", reply::<ops::library::PageDetail>),
        ("library-jobs", reply::<ops::library::JobList>),
        ("library-job", reply::<ops::library::JobPage>),
        ("tasks", reply::<board::tasks::TaskLines>),
        ("task", reply::<board::tasks::TaskDetail>),
        ("lessons", reply::<board::lessons::LessonLines>),
        ("lesson", reply::<board::lessons::LessonShowReply>),
        ("audit", reply::<board::audit::AuditLines>),
        ("search", reply::<board::search::SearchPage>),
        ("pattern-change", reply::<ops::curate::CurationReply>),
        ("promotion-decision", reply::<ops::promote::review::DecisionReply>),
        ("warning-rating", reply::<ops::outcome::AcknowledgementReply>),
        ("library-decision", reply::<ops::library::PageDecisionReply>),
        ("entry-change", reply::<ops::knowledge::EntryChangeReply>),
        ("specified-dashboard", reply::<failures::DashboardDocument>),
        ("specified-patterns", reply::<failures::PatternsDocument>),
        ("specified-entry", reply::<knowledge::EntryDocument>),
        ("specified-relevant", reply::<knowledge::EntriesDocument>),
        ("specified-strategy", schema::<knowledge::StrategyDocument>),
        ("specified-stats", reply::<knowledge::EntryStatsDocument>),
    ];

    /// The fields of a document that is sent: name, whether it has to be there, and its schema.
    fn sent_fields(api: &str) -> Vec<(&'static str, bool, Value)> {
        let text = || json!({"type": "string", "minLength": 1});
        if api.starts_with("/api/v1/") {
            return decided_fields(api);
        }
        let list = json!({"type": "array", "items": {"type": "string"}});
        let action = json!({"type": "string", "pattern": "^[A-Z_]{1,40}$"});
        let own = match api {
            "/api/knowledge/gotcha" => vec![
                ("fix", true, text()),
                ("pitfall", false, text()),
                ("filePattern", true, text()),
                ("actionType", true, action),
            ],
            "/api/knowledge/pattern" => vec![
                ("description", true, text()),
                ("codeTemplate", true, text()),
                ("filePattern", true, text()),
                ("actionType", true, action),
            ],
            _ => vec![("decision", true, text()), ("context", true, text()), ("rationale", false, text())],
        };
        let all = [
            ("agentId", true, text()),
            ("taskId", false, text()),
            ("executionId", false, text()),
            ("title", false, text()),
            ("tags", false, list),
        ];
        own.into_iter().chain(all).collect()
    }

    /// As [`sent_fields`], of a decision.
    fn decided_fields(api: &str) -> Vec<(&'static str, bool, Value)> {
        let text = || json!({"type": "string", "minLength": 1});
        let verb = api.rsplit('/').next().unwrap_or_default();
        // Who decides, and why, may be left out where it can be reverted.
        let is_pattern = api.starts_with("/api/v1/patterns/");
        let mut fields = match verb {
            "merge" => vec![("into", true, text())],
            "confidence" => vec![("value", true, json!({"type": "number", "minimum": 0, "maximum": 1}))],
            "supersede" => return vec![("with", true, text())],
            "pin" | "unpin" => return Vec::new(),
            "ack" => return vec![("useful", false, json!({"type": "boolean"})), ("by", false, text())],
            "note" | "annotate" => {
                let solution = if verb == "note" { "approach" } else { "resolution" };
                return ["cause", solution, "rule", "by"].map(|name| (name, false, text())).into();
            }
            "requeue" => vec![("digest", true, text())],
            "approve" if api.starts_with("/api/v1/library/") => {
                vec![("digest", true, text()), ("accept_unproven", false, json!({"type": "boolean"}))]
            }
            "approve" | "rollback" => vec![("change", true, text())],
            _ => Vec::new(),
        };
        fields.extend([("by", !is_pattern, text()), ("reason", !is_pattern, text())]);
        fields
    }

    /// A field that may be left out may also be sent as `null` or as an empty text, as forms do.
    fn sent(required: bool, mut schema: Value) -> Value {
        if !required {
            schema["type"] = json!([schema["type"], "null"]);
            schema.as_object_mut().expect("a schema").remove("minLength");
        }
        schema
    }

    fn sent_schema(api: &str) -> Value {
        let fields = sent_fields(api);
        let required: Vec<&str> =
            fields.iter().filter(|(_, required, _)| *required).map(|(name, _, _)| *name).collect();
        let properties: Map<String, Value> =
            fields.into_iter().map(|(name, required, schema)| (name.to_owned(), sent(required, schema))).collect();
        let mut schema =
            json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false});
        if api.ends_with("/note") || api.ends_with("/annotate") {
            // One of its texts has to be there.
            let given =
                |name: &String| json!({"required": [name], "properties": {name: {"type": "string", "minLength": 1}}});
            let names = schema["properties"].as_object().expect("properties").keys().filter(|name| *name != "by");
            schema["anyOf"] = names.map(given).collect();
        }
        schema
    }

    /// A document as a caller would send it.
    fn sent_example(api: &str) -> Value {
        let value = |name: &str| match name {
            "actionType" => json!("UPDATE"),
            "agentId" => json!("claude-code"),
            "by" => json!("Ada"),
            "cause" => json!("The migration that adds the column was not run"),
            "change" | "digest" => json!("sha256:9f2c4b7d"),
            "filePattern" => json!("api/**"),
            "into" => json!("p-7f3k2m9q"),
            "reason" => json!("We all run into it"),
            "rule" => json!("Run `make migrate` before the tests"),
            "tags" => json!(["database"]),
            "accept_unproven" | "useful" => json!(true),
            "value" => json!(0.9),
            "with" => json!("k-7f3k2m9q"),
            name => json!(format!("the {name}")),
        };
        let fields = sent_fields(api).into_iter().map(|(name, _, _)| (name.to_owned(), value(name)));
        Value::Object(fields.collect())
    }

    /// The words of the states of jobs.
    fn job_states() -> Vec<Value> {
        let schema = schema::<crate::event::JobState>();
        let states = schema["oneOf"].as_array().expect("a state has a description each");
        states.iter().map(|state| state["const"].clone()).collect()
    }

    fn parameter_schema(name: &str, api: &str) -> Value {
        match name {
            "limit" => json!({"type": "integer", "minimum": 1, "maximum": 1000}),
            "minConfidence" => json!({"type": "number", "minimum": 0, "maximum": 1}),
            "recurring" | "failed" | "all" | "counted" => json!({"type": "string", "enum": ["true", "false"]}),
            "from" | "to" => json!({"anyOf": [
                {"type": "string", "format": "date"},
                {"type": "string", "format": "date-time"},
                {"type": "string", "pattern": "^(today|[0-9]{1,4}[dw])?$"},
            ]}),
            "order" => json!({
                "type": "string",
                "enum": ["trending", "tasks", "failures", "last-seen", "confidence", "least-effective"],
            }),
            "state" if api.ends_with("patterns") => json!({"type": "string", "enum": ["open", "silenced", "all"]}),
            "state" if api.ends_with("jobs") => json!({"type": "string", "enum": job_states()}),
            "state" if api.ends_with("failures") => {
                json!({"type": "string", "enum": ["counted", "open", "not-counted"]})
            }
            "state" if api.ends_with("first-runs") => json!({"type": "string", "enum": ["passed", "failed"]}),
            "state" if api.ends_with("warnings") => {
                json!({"type": "string", "enum": ["all", "known", "prevented", "failed-anyway"]})
            }
            "state" => json!({
                "type": "string",
                "enum": ["success", "weakened", "undone", "flaky", "partial", "failure"],
            }),
            _ => json!({"type": "string", "maxLength": 2000}),
        }
    }

    fn describe_operation(resource: &HttpResource) -> Value {
        let in_path = resource.api.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path =
            in_path.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        let in_query = resource
            .parameters
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": parameter_schema(name, resource.api)}));
        let content = if resource.name.is_empty() {
            json!({"text/plain": {}})
        } else {
            json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{}", resource.name)}}})
        };
        let problem = json!({
            "description": "A problem",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}}},
        });
        let mut operation = json!({
            "summary": resource.title,
            "operationId": resource.api.trim_start_matches("/api/").replace(['/', '{', '}', '.'], "_"),
            "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
            "responses": {"200": {"description": resource.title, "content": content}, "default": problem},
        });
        if resource.is_write {
            let sent = json!({"application/json": {
                "schema": sent_schema(resource.api), "example": sent_example(resource.api),
            }});
            operation["requestBody"] = json!({"required": true, "content": sent});
        }
        operation
    }

    /// The schema as a component: its definitions become components, too.
    fn add_schema(components: &mut Map<String, Value>, name: &str, mut schema: Value) {
        let definitions = schema.as_object_mut().and_then(|fields| fields.remove("$defs"));
        for (inner, definition) in definitions.iter().filter_map(Value::as_object).flatten() {
            components.insert(inner.clone(), moved(definition.clone()));
        }
        if let Some(fields) = schema.as_object_mut() {
            fields.remove("$schema");
        }
        components.insert(name.to_owned(), moved(schema));
    }

    fn moved(schema: Value) -> Value {
        let text = schema.to_string().replace("#/$defs/", "#/components/schemas/");
        serde_json::from_str(&text).expect("it stays JSON")
    }

    fn document() -> Value {
        let mut components = Map::new();
        add_schema(&mut components, "problem", schema::<HttpProblem>());
        for (name, shape) in SHAPES {
            add_schema(&mut components, name, shape());
        }
        let mut paths = Map::new();
        for resource in RESOURCES.iter().filter(|resource| !resource.api.is_empty()) {
            // A program that asks for a stream as for a document waits for its end: docs/dashboard.md describes it.
            if resource.api == crate::surface::http::events::ADDRESS {
                continue;
            }
            let method = if resource.is_write { "post" } else { "get" };
            paths.insert(resource.api.to_owned(), json!({method: describe_operation(resource)}));
        }
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "verify-run",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "What verify-run has recorded. The server listens on 127.0.0.1 only.",
                "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "schemas": components,
            },
        })
    }

    #[test]
    fn the_description_is_up_to_date() {
        let text = serde_json::to_string(&document()).expect("serialises") + "\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/surface/http/openapi.json");
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &text).expect("writes the description");
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "openapi.json is out of date: UPDATE_DOCS=1 cargo nextest run --lib openapi");
    }

    #[test]
    fn every_document_has_a_schema() {
        for resource in RESOURCES.iter().filter(|resource| !resource.api.is_empty() && !resource.name.is_empty()) {
            assert!(SHAPES.iter().any(|(name, _)| *name == resource.name), "{}", resource.name);
        }
        assert!(DOCUMENT.starts_with('{'));
    }
}
