//! A JSON value that is kept up to a limit: a document of a few megabytes takes forty times as much as a tree.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::base::limits::{DOCUMENT_TEXT_BYTES_MAX, DOCUMENT_VALUES_MAX};
use crate::base::text::prefix;

thread_local! {
    /// Values that may still be kept of the document that is read.
    static ROOM: Cell<usize> = const { Cell::new(0) };
    /// Elements of lists that were left out of it.
    static LEFT_OUT: Cell<usize> = const { Cell::new(0) };
}

/// A value, and how many elements of its lists are not in it.
pub(crate) struct BoundedValue {
    /// The value; texts in it are bounded.
    pub value: Value,
    /// Elements left out.
    pub left_out: usize,
}

impl<'de> Deserialize<'de> for BoundedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ROOM.set(DOCUMENT_VALUES_MAX);
        LEFT_OUT.set(0);
        let value = XmlPart.deserialize(deserializer)?;
        Ok(BoundedValue { value, left_out: LEFT_OUT.get() })
    }
}

struct XmlPart;

impl<'de> DeserializeSeed<'de> for XmlPart {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        ROOM.set(ROOM.get().saturating_sub(1));
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for XmlPart {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(prefix(value, DOCUMENT_TEXT_BYTES_MAX).into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while ROOM.get() > 0 {
            match list.next_element_seed(XmlPart)? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            LEFT_OUT.set(LEFT_OUT.get() + 1);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if ROOM.get() == 0 {
                map.next_value::<IgnoredAny>()?;
            } else {
                object.insert(name, map.next_value_seed(XmlPart)?);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_whole_and_what_is_large_is_counted() {
        let text = r#"{"a": [1, -2, 3.5, null, true, "x\n"], "b": {"c": []}}"#;
        let lean: BoundedValue = serde_json::from_str(text).expect("JSON");
        assert_eq!((lean.value, lean.left_out), (serde_json::from_str(text).expect("JSON"), 0));
        let text = format!("[{}0]", "{\"line\": 1},".repeat(DOCUMENT_VALUES_MAX));
        let lean: BoundedValue = serde_json::from_str(&text).expect("JSON");
        let kept = lean.value.as_array().map_or(0, Vec::len);
        assert_eq!(kept + lean.left_out, DOCUMENT_VALUES_MAX + 1);
        assert!(kept < DOCUMENT_VALUES_MAX && kept > DOCUMENT_VALUES_MAX / 3, "{kept}");
    }
}
