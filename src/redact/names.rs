//! The names that announce a secret, and the words that don't.

/// How much a name alone says about the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameWeight {
    /// Almost any value is a secret (`password`).
    Strong,
    /// The value must not be a plain word (`token`).
    Weak,
    /// The value must be one that does not look like a name: there are keys of maps and caches, too (`key`).
    Key,
    /// Only a value that looks random (`access`).
    Hint,
}

/// The names; each must end the identifier it is in, digits aside, to have its weight. Inside one it is a hint.
#[rustfmt::skip]
pub(super) const NAMES: &[(&str, NameWeight)] = &[
    ("password", NameWeight::Strong),
    ("passwd", NameWeight::Strong),
    ("passphrase", NameWeight::Strong),
    ("passcode", NameWeight::Strong),
    ("storepass", NameWeight::Strong),
    ("keypass", NameWeight::Strong),
    ("pwd", NameWeight::Strong),
    ("_pass", NameWeight::Strong),
    ("secret", NameWeight::Strong),
    ("secret_key", NameWeight::Strong),
    ("secret-key", NameWeight::Strong),
    ("secretkey", NameWeight::Strong),
    ("secret_key_base", NameWeight::Strong),
    ("api_key", NameWeight::Strong),
    ("api-key", NameWeight::Strong),
    ("apikey", NameWeight::Strong),
    ("access_key", NameWeight::Strong),
    ("access-key", NameWeight::Strong),
    ("accesskey", NameWeight::Strong),
    ("account_key", NameWeight::Strong),
    ("accountkey", NameWeight::Strong),
    ("private_key", NameWeight::Strong),
    ("privatekey", NameWeight::Strong),
    ("signing_key", NameWeight::Strong),
    ("encryption_key", NameWeight::Strong),
    ("master_key", NameWeight::Strong),
    ("auth_token", NameWeight::Strong),
    ("authtoken", NameWeight::Strong),
    ("access_token", NameWeight::Strong),
    ("accesstoken", NameWeight::Strong),
    ("refresh_token", NameWeight::Strong),
    ("token", NameWeight::Weak),
    ("_auth", NameWeight::Weak),
    ("credential", NameWeight::Weak),
    ("credentials", NameWeight::Weak),
    ("creds", NameWeight::Weak),
    ("jwt", NameWeight::Weak),
    ("sessionid", NameWeight::Weak),
    ("sessid", NameWeight::Weak),
    ("connect.sid", NameWeight::Weak),
    ("_session", NameWeight::Weak),
    ("key", NameWeight::Key),
    ("auth", NameWeight::Hint),
    ("access", NameWeight::Hint),
    ("api", NameWeight::Hint),
];

/// Words before `key` and `token`, apart from them, that make them a secret's name (`API key: …`).
pub(super) const BEFORE_KEY: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "client",
    "master",
    "signing",
    "encryption",
    "license",
    "subscription",
    "bearer",
    "refresh",
    "deploy",
    "service",
];

/// Parts of identifiers and of the words before them that say which key it is: one that anybody may see.
pub(super) const HARMLESS_KEYS: &[&str] = &[
    "public",
    "pub_",
    "pubkey",
    "primary",
    "foreign",
    "partition",
    "sort",
    "cache",
    "row",
    "column",
    "index",
    "idx",
    "natural",
    "sequence",
    "schema",
    "bucket",
    "object",
    "group",
    "dedup",
    "idempot",
    "lookup",
    "unique",
    "duplicate",
    "hot",
    "restor",
    "lock",
    "host",
    "fingerprint",
    "registry",
    "project",
    "issue",
    "component",
    "query",
    "state",
    "storage",
    "hash",
    "sha",
    "map",
    "event",
    "message",
    "translation",
    "locale",
    "i18n",
    "commit",
    "known",
];

/// Words behind a name that say something about the value instead of being it: placeholders, types, verdicts.
#[rustfmt::skip]
pub(super) const NOT_VALUES: &[&str] = &[
    "null", "nil", "none", "undefined", "true", "false", "string", "str", "text", "number", "int", "bool",
    "boolean", "any", "unknown", "bytes", "object", "char", "varchar", "required", "optional", "missing",
    "invalid", "empty", "expired", "wrong", "incorrect", "failed", "fail", "passed", "pass", "ok", "error",
    "warning", "not", "is", "was", "must", "should", "cannot", "can", "has", "needs", "requires", "and",
    "or", "the", "a", "an", "in", "on", "to", "from", "with", "for", "if", "when", "argument", "option",
    "flag", "value", "changeme", "dummy", "placeholder", "redacted", "hidden", "masked", "example",
];
