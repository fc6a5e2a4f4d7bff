//! What kind of failure a run is: the shipped categories and those that `[categories]` declares.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::text::one_line;

/// A category's name, bytes.
pub(super) const CATEGORY_NAME_BYTES_MAX: usize = 40;
/// User-defined categories.
pub(super) const CATEGORIES_MAX: usize = 50;
/// What one means, bytes.
const MEANING_BYTES_MAX: usize = 200;

/// What kind of failure a run is; the reference table's rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Tests ran and failed, or a coverage threshold was missed.
    TestFailure,
    /// A compiler or bundler found an error.
    BuildError,
    /// A linter or formatter found something.
    LintError,
    /// A type checker found something.
    TypeError,
    /// A program crashed.
    RuntimeError,
    /// Something that should be installed is not.
    MissingDependency,
    /// The tool did not do its job: configuration, usage, nothing to check.
    ConfigError,
    /// None of these.
    Other,
    /// User-defined, declared here or in another clone.
    Declared(DeclaredCategory),
}

/// The name of a category that isn't shipped; made by [`Category::named`] alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeclaredCategory(Arc<str>);

impl Category {
    /// The shipped ones.
    pub const SHIPPED: [Category; 8] = [
        Category::TestFailure,
        Category::BuildError,
        Category::LintError,
        Category::TypeError,
        Category::RuntimeError,
        Category::MissingDependency,
        Category::ConfigError,
        Category::Other,
    ];

    /// The category of this name, declared or not; `None` when it is the name of none.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(shipped) = Category::SHIPPED.iter().find(|shipped| shipped.as_str() == name) {
            return Some(shipped.clone());
        }
        let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let fits = plain && (1..=CATEGORY_NAME_BYTES_MAX).contains(&name.len());
        fits.then(|| Category::Declared(DeclaredCategory(name.into())))
    }

    /// The word that definitions, events, lessons and the reference table use.
    pub fn as_str(&self) -> &str {
        match self {
            Category::TestFailure => "test_failure",
            Category::BuildError => "build_error",
            Category::LintError => "lint_error",
            Category::TypeError => "type_error",
            Category::RuntimeError => "runtime_error",
            Category::MissingDependency => "missing_dependency",
            Category::ConfigError => "config_error",
            Category::Other => "other",
            Category::Declared(DeclaredCategory(name)) => name,
        }
    }
}

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Category {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Category".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "Name of a category, such as `test_failure`"})
    }
}

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CategoryNameVisitor;
        impl Visitor<'_> for CategoryNameVisitor {
            type Value = Category;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a category")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Category, E> {
                Category::named(name).ok_or_else(|| E::custom(format!("{name:?} is {NOT_A_NAME}")))
            }
        }
        deserializer.deserialize_str(CategoryNameVisitor)
    }
}

const NOT_A_NAME: &str = "not the name of a category: use at most 40 letters a-z, digits and _";

/// `[categories]`: `name = "what it means"`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryTable(BTreeMap<Category, String>);

impl CategoryTable {
    /// Takes one of a layer.
    ///
    /// # Errors
    /// Why it can't be one.
    pub(super) fn declare(&mut self, name: &str, meaning: &toml::Value) -> Result<(), String> {
        let category = Category::named(name).ok_or(NOT_A_NAME)?;
        if !matches!(category, Category::Declared(_)) {
            return Err("is a built-in category: choose another name".to_owned());
        }
        let meaning = meaning.as_str().map(|meaning| one_line(meaning.trim()));
        let meaning = meaning.filter(|meaning| (1..=MEANING_BYTES_MAX).contains(&meaning.len()));
        let meaning = meaning.ok_or_else(|| format!("needs a meaning of 1 to {MEANING_BYTES_MAX} bytes"))?;
        if self.0.len() >= CATEGORIES_MAX && !self.0.contains_key(&category) {
            return Err(format!("exceeds the limit of {CATEGORIES_MAX} categories"));
        }
        self.0.insert(category, meaning);
        Ok(())
    }

    /// These, declared.
    #[cfg(test)]
    pub fn of(declared: &[(&str, &str)]) -> Self {
        let mut categories = CategoryTable::default();
        for &(name, meaning) in declared {
            categories.declare(name, &meaning.into()).expect("can be declared");
        }
        categories
    }

    /// Those that are declared, with what they mean.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(category, meaning)| (category.as_str(), meaning.as_str()))
    }

    /// What one that is declared means.
    pub fn meaning(&self, name: &str) -> Option<&str> {
        self.declared().find(|(declared, _)| *declared == name).map(|(_, meaning)| meaning)
    }

    /// Why nothing here may be of this category; `None` when it is shipped or declared.
    pub fn refusal(&self, category: &Category) -> Option<String> {
        if !matches!(category, Category::Declared(_)) || self.0.contains_key(category) {
            return None;
        }
        let known: Vec<&str> = Category::SHIPPED.iter().chain(self.0.keys()).map(Category::as_str).collect();
        let name = category.as_str();
        Some(format!(
            "unknown category `{name}`; known are {}; to declare it, write in verify-run.toml: \
             [categories] {name} = \"what it means\"",
            known.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_of_at_most_40_bytes_and_keeps_its_spelling() {
        for shipped in Category::SHIPPED {
            assert_eq!(Category::named(shipped.as_str()), Some(shipped.clone()));
            assert_eq!(serde_json::to_value(&shipped).expect("writes"), shipped.as_str());
        }
        let own = Category::named("security_issue").expect("a name");
        assert!(matches!(own, Category::Declared(_)));
        assert_eq!(
            serde_json::from_value::<Category>(serde_json::to_value(&own).expect("writes")).expect("reads"),
            own
        );
        for bad in ["", "Security", "security-issue", "é", "a b", &"a".repeat(41)] {
            assert_eq!(Category::named(bad), None, "{bad}");
            let error = serde_json::from_value::<Category>(bad.into()).expect_err("no name").to_string();
            assert!(error.contains("not the name of a category"), "{error}");
        }
        assert!(Category::named(&"a".repeat(40)).is_some());
    }

    #[test]
    fn what_is_not_declared_is_refused_with_what_is() {
        let mut categories = CategoryTable::default();
        let own = Category::named("security_issue").expect("a name");
        let refusal = categories.refusal(&own).expect("not declared");
        assert!(refusal.contains("`security_issue`") && refusal.contains("lint_error, type_error"), "{refusal}");
        categories.declare("security_issue", &"A scanner found\na vulnerability".into()).expect("declares");
        assert_eq!((categories.refusal(&own), categories.refusal(&Category::Other)), (None, None));
        assert_eq!(categories.meaning("security_issue"), Some("A scanner found a vulnerability"));
        let other = categories.refusal(&Category::named("odd").expect("a name")).expect("not declared");
        assert!(other.contains("other, security_issue;"), "{other}");
    }

    #[test]
    fn there_are_so_many_and_each_says_what_it_means() {
        let mut categories = CategoryTable::default();
        for n in 0..CATEGORIES_MAX {
            categories.declare(&format!("c{n}"), &"x".into()).expect("declares");
        }
        assert!(categories.declare("one_more", &"x".into()).is_err());
        categories.declare("c7", &"y".into()).expect("a later layer has the last word");
        assert_eq!(categories.meaning("c7"), Some("y"));
        for bad in [toml::Value::from(1), "".into(), " ".into(), "x".repeat(201).into()] {
            assert!(categories.declare("c1", &bad).is_err(), "{bad}");
        }
        assert!(
            categories.declare("lint_error", &"x".into()).is_err() && categories.declare("A", &"x".into()).is_err()
        );
    }
}
