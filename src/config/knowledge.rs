//! `[knowledge]`: entries of people and agents, duplicates, and limits of attempts.

use std::collections::BTreeMap;

use super::learning::NumericSetting;
use crate::base::schema::PropertySchema;

/// A name of a type, bytes.
pub(super) const TYPE_NAME_BYTES_MAX: usize = 40;
/// User-defined types.
pub(super) const TYPES_MAX: usize = 50;

/// `[knowledge]`: knowledge entries, strategies and memory.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct KnowledgeSettings {
    /// `merged`: an entry whose words are more similar to another of its type is the same entry.
    pub merged: f64,
    /// `suggested`: similarity from which the other entry is named.
    pub suggested: f64,
    /// `from_person`: added to the confidence in an entry that a person wrote (`confidence.from_check` for a
    /// check).
    pub from_person: f64,
    /// `pattern_type`: added to entries of type `pattern`, which were seen more than once.
    pub pattern_type: f64,
    /// `prevented`: added when an entry prevented a mistake.
    pub prevented: f64,
    /// `superseded`: subtracted when an entry is superseded.
    pub superseded: f64,
    /// `limit`: maximum number of entries in a reply, unless a number is asked for.
    pub limit: u64,
    /// `escalate_attempts`: failed attempts with one strategy in one task after which the next is suggested.
    pub escalate_attempts: u64,
    /// `context_hours`: hours for which an agent's memory of a task's context is kept.
    pub context_hours: u64,
    /// `reuse_tokens`: tokens that an agent spends to find an entry's content without help, for the estimate of
    /// savings.
    pub reuse_tokens: u64,
    /// `[knowledge.types.NAME]`: user-defined types, and other properties for the shipped ones.
    #[cfg_attr(test, serde(skip))]
    pub types: BTreeMap<String, TypeSettings>,
}

/// `[knowledge.types.NAME]`: a JSON Schema of its properties; `description` says what it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeSettings {
    /// `merges = false`: two of it are never one, however alike their words.
    pub merges: bool,
    /// The rest of the table.
    pub schema: PropertySchema,
}

impl Default for KnowledgeSettings {
    fn default() -> Self {
        KnowledgeSettings {
            merged: 0.80,
            suggested: 0.60,
            from_person: 0.20,
            pattern_type: 0.05,
            prevented: 0.15,
            superseded: 0.20,
            limit: 10,
            escalate_attempts: 3,
            context_hours: 24,
            reuse_tokens: 2_000,
            types: BTreeMap::new(),
        }
    }
}

impl KnowledgeSettings {
    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        let share = |value| NumericSetting::Share(value, 0.0..=1.0);
        Some(match key {
            "merged" => share(&mut self.merged),
            "suggested" => share(&mut self.suggested),
            "from_person" => share(&mut self.from_person),
            "pattern_type" => share(&mut self.pattern_type),
            "prevented" => share(&mut self.prevented),
            "superseded" => share(&mut self.superseded),
            "limit" => NumericSetting::Count(&mut self.limit, 1..=1_000),
            "escalate_attempts" => NumericSetting::Count(&mut self.escalate_attempts, 1..=1_000),
            "context_hours" => NumericSetting::Count(&mut self.context_hours, 1..=8_760),
            "reuse_tokens" => NumericSetting::Count(&mut self.reuse_tokens, 0..=1_000_000),
            _ => return None,
        })
    }

    /// Takes the types of one layer; what is wrong with them: the name and the reason.
    pub(super) fn take_types(&mut self, value: &toml::Value) -> Vec<(String, String)> {
        let Some(tables) = value.as_table() else {
            return vec![("types".to_owned(), "not a table of types".to_owned())];
        };
        let mut faults = Vec::new();
        for (name, table) in tables {
            let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            let known = self.types.contains_key(name);
            if !plain || name.is_empty() || name.len() > TYPE_NAME_BYTES_MAX || !known && self.types.len() >= TYPES_MAX
            {
                let limits =
                    format!("at most {TYPES_MAX}, each with at most {TYPE_NAME_BYTES_MAX} letters a-z, 0-9, _");
                faults.push((name.clone(), format!("not the name of a type: {limits}")));
                continue;
            }
            match one_type(table) {
                Ok(settings) => drop(self.types.insert(name.clone(), settings)),
                Err(reason) => faults.push((name.clone(), reason)),
            }
        }
        faults
    }
}

fn one_type(table: &toml::Value) -> Result<TypeSettings, String> {
    let mut value = serde_json::to_value(table).map_err(|error| error.to_string())?;
    let keywords = value.as_object_mut().ok_or("not a table")?;
    let merges = match keywords.remove("merges") {
        None => true,
        Some(merges) => merges.as_bool().ok_or("merges is true or false")?,
    };
    keywords.entry("type").or_insert_with(|| "object".into());
    Ok(TypeSettings { merges, schema: PropertySchema::new(&value)? })
}
