//! What every verb returns: the data with the version of its JSON document, and notes for people.

use serde::Serialize;

/// The version of the documents that `--json` prints.
const DOCUMENT_VERSION: u32 = 1;

/// The result of a verb. As JSON it is one document: `schema`, then the fields of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reply<T> {
    schema: u32,
    /// The document without its version.
    #[serde(flatten)]
    pub data: T,
    /// Notes for standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl<T> Reply<T> {
    /// A reply with notes for standard error.
    pub(crate) fn new(data: T, notes: Vec<String>) -> Self {
        Reply { schema: DOCUMENT_VERSION, data, notes }
    }

    /// The same reply with other data.
    pub(crate) fn map_data<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        Reply::new(change(self.data), self.notes)
    }

    /// Puts verify-run's name before each note, for output that is read among other tools'.
    pub(crate) fn sign_notes(&mut self) {
        self.notes.iter_mut().for_each(|note| *note = format!("verify-run: {note}"));
    }
}

impl<T> From<T> for Reply<T> {
    fn from(data: T) -> Self {
        Reply::new(data, Vec::new())
    }
}

/// The schema of the data with `schema` in front of its fields, under the name of the data.
#[cfg(test)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Reply<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        format!("Reply<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut version = generator.subschema_for::<u32>();
        version.insert("description".to_owned(), "Version of this shape.".into());
        let mut document = T::json_schema(generator);
        let fields = document.ensure_object();
        if let Some(properties) = fields.entry("properties").or_insert_with(|| serde_json::json!({})).as_object_mut() {
            properties.insert("schema".to_owned(), version.into());
        }
        if let Some(required) = fields.entry("required").or_insert_with(|| serde_json::json!([])).as_array_mut() {
            required.insert(0, "schema".into());
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Counted {
        share: f64,
        runs: u64,
    }

    #[test]
    fn a_document_is_the_version_then_the_data_without_notes() {
        let mut reply = Reply::new(Counted { share: 0.1, runs: u64::MAX }, vec!["a note".to_owned()]);
        let json = serde_json::to_string(&reply).expect("serialises");
        assert_eq!(json, r#"{"schema":1,"share":0.1,"runs":18446744073709551615}"#);
        reply.sign_notes();
        assert_eq!(reply.notes, ["verify-run: a note"]);
    }
}
