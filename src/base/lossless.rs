//! Paths and arguments as JSON: UTF-8 as it is, anything else as `{"b64": "…"}`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes from the operating system that survive a round trip through JSON whatever they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Lossless(pub OsString);

impl Lossless {
    /// The value as text for people; invalid UTF-8 becomes U+FFFD.
    pub fn display(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }

    /// The value as a path.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for Lossless {
    fn from(value: &T) -> Self {
        Lossless(value.as_ref().to_owned())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes { b64: String },
}

impl Serialize for Lossless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => Wire::Text(text.to_owned()),
            None => Wire::Bytes { b64: BASE64.encode(self.0.as_bytes()) },
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Lossless {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lossless".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Text, or bytes in Base64 when they are not UTF-8",
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"b64": {"type": "string", "description": "The bytes in Base64"}}, "required": ["b64"]},
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Lossless {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Text(text) => Ok(Lossless(text.into())),
            Wire::Bytes { b64 } => BASE64
                .decode(b64.as_bytes())
                .map(|bytes| Lossless(OsString::from_vec(bytes)))
                .map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_survives_json() {
        for bytes in [&b"plain"[..], b"caf\xe9", b"", b"\xff\xfe"] {
            let value = Lossless(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&value).expect("serialises");
            assert_eq!(serde_json::from_str::<Lossless>(&json).expect("parses"), value);
        }
    }
}
