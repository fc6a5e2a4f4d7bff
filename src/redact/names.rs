//! The names that announce a secret, and the words that don't.

/// How much a name alone says about the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
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
pub(super) const NAMES: &[(&str, Weight)] = &[
    ("password", Weight::Strong),
    ("passwd", Weight::Strong),
    ("passphrase", Weight::Strong),
    ("passcode", Weight::Strong),
    ("storepass", Weight::Strong),
    ("keypass", Weight::Strong),
    ("pwd", Weight::Strong),
    ("_pass", Weight::Strong),
    ("secret", Weight::Strong),
    ("secret_key", Weight::Strong),
    ("secret-key", Weight::Strong),
    ("secretkey", Weight::Strong),
    ("secret_key_base", Weight::Strong),
    ("api_key", Weight::Strong),
    ("api-key", Weight::Strong),
    ("apikey", Weight::Strong),
    ("access_key", Weight::Strong),
    ("access-key", Weight::Strong),
    ("accesskey", Weight::Strong),
    ("account_key", Weight::Strong),
    ("accountkey", Weight::Strong),
    ("private_key", Weight::Strong),
    ("privatekey", Weight::Strong),
    ("signing_key", Weight::Strong),
    ("encryption_key", Weight::Strong),
    ("master_key", Weight::Strong),
    ("auth_token", Weight::Strong),
    ("authtoken", Weight::Strong),
    ("access_token", Weight::Strong),
    ("accesstoken", Weight::Strong),
    ("refresh_token", Weight::Strong),
    ("token", Weight::Weak),
    ("_auth", Weight::Weak),
    ("credential", Weight::Weak),
    ("credentials", Weight::Weak),
    ("creds", Weight::Weak),
    ("jwt", Weight::Weak),
    ("sessionid", Weight::Weak),
    ("sessid", Weight::Weak),
    ("connect.sid", Weight::Weak),
    ("_session", Weight::Weak),
    ("key", Weight::Key),
    ("auth", Weight::Hint),
    ("access", Weight::Hint),
    ("api", Weight::Hint),
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
