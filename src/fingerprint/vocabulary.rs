//! Words that decide what a masked token means.

/// Extensions that make a bare `name.ext` a file.
pub(super) const EXTENSIONS: [&str; 82] = [
    "astro", "bash", "bat", "c", "cc", "cfg", "cjs", "class", "cmake", "conf", "cpp", "cs", "css", "csv", "cts", "cxx",
    "dart", "db", "dll", "ex", "exe", "exs", "gemspec", "go", "gradle", "h", "hh", "hpp", "html", "ini", "ipynb",
    "jar", "java", "jpg", "js", "json", "jsx", "kt", "kts", "less", "lock", "log", "lua", "m", "md", "mjs", "mk", "mm",
    "mts", "o", "out", "php", "pl", "png", "pm", "proto", "ps1", "py", "pyc", "pyi", "pyx", "rb", "rlib", "rs", "rst",
    "sass", "scala", "scss", "sh", "so", "sql", "svelte", "svg", "swift", "tmp", "toml", "ts", "tsx", "txt", "vue",
    "xml", "yaml",
];

/// Tokens with digits that are words.
pub(super) const WORDS_WITH_DIGITS: [&str; 34] = [
    "utf-8", "utf8", "utf-16", "utf16", "x86_64", "x86", "arm64", "aarch64", "amd64", "i8", "i16", "i32", "i64",
    "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "int32", "int64", "h2", "http2", "ipv4", "ipv6", "sha1",
    "sha256", "sha512", "md5", "base64", "python3", "iso8601",
];

/// Words of a programming language: in quotes they are what the message is about grammatically, not a name.
pub(super) const KEYWORDS: [&str; 64] = [
    "abstract",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
    "extern",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "global",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "match",
    "mod",
    "move",
    "mut",
    "new",
    "not",
    "package",
    "pub",
    "raise",
    "return",
    "self",
    "static",
    "super",
    "switch",
    "throw",
    "trait",
    "try",
    "type",
    "typeof",
    "use",
    "var",
    "while",
    "with",
    "yield",
];

/// A message with one of these compares two values: quoted parts are values at both levels.
pub(super) const COMPARISON: [&str; 12] = [
    "expected",
    "actual",
    "received",
    "but got",
    "left:",
    "assert",
    "tobe",
    "toequal",
    "to equal",
    "assignable",
    "mismatch",
    "to be",
];

/// A message with one of these is about something that is not there or not as it should be: its name is the subject.
pub(super) const ABSENCE: [&str; 44] = [
    "cannot find",
    "can't find",
    "could not find",
    "couldn't find",
    "not found",
    "no such",
    "unresolved",
    "undefined",
    "not defined",
    "undeclared",
    "unknown",
    "missing",
    "no module named",
    "has no attribute",
    "no member",
    "has no field",
    "no field",
    "not exported",
    "no exported member",
    "not a function",
    "not iterable",
    "not a constructor",
    "permission denied",
    "failed to load",
    "failed to import",
    "failed to resolve",
    "cannot resolve",
    "can't resolve",
    "could not resolve",
    "deprecated",
    "unused",
    "never used",
    "never read",
    "cannot import",
    "does not exist",
    "doesn't exist",
    "not installed",
    "is required",
    "already in use",
    "no rule to make target",
    "not in std",
    "cannot read propert",
    "has no exported",
    "unable to resolve",
];

/// Numbers behind these words are part of what happened.
pub(super) const NUMBER_KEEPERS: [&str; 9] =
    ["exit code", "exit status", "exited with", "code", "status", "errno", "signal", "http", "status code"];

/// Words that carry no content of their own.
pub(super) const STOP_WORDS: [&str; 40] = [
    "a",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "for",
    "from",
    "has",
    "have",
    "in",
    "is",
    "it",
    "its",
    "of",
    "on",
    "or",
    "that",
    "the",
    "this",
    "to",
    "was",
    "were",
    "will",
    "with",
    "error",
    "failed",
    "failure",
    "got",
    "expected",
    "received",
    "actual",
    "left",
    "right",
    "assertion",
    "assert",
];

/// A message with one of these is about syntax.
pub(super) const SYNTAX: [&str; 11] = [
    "expect",
    "syntax",
    "token",
    "delimiter",
    "keyword",
    "unterminated",
    "unclosed",
    "unmatched",
    "operator",
    "reserved",
    "illegal",
];

/// Words that say of which kind a literal in a message about syntax is.
pub(super) const SYNTAX_NOUNS: [&str; 10] =
    ["token", "tokens", "delimiter", "keyword", "operator", "character", "symbol", "bracket", "separator", "statement"];

/// Letters before a quote that belong to the string: bytes, raw and Unicode strings of Python, C++ and Rust.
pub(super) const STRING_PREFIXES: [&str; 11] = ["b", "B", "u", "U", "r", "R", "f", "br", "rb", "L", "u8"];

/// A host follows these words, with its port if there is one.
pub(super) const HOST_KEEPERS: [&str; 16] = [
    "to",
    "from",
    "at",
    "host",
    "server",
    "proxy",
    "peer",
    "address",
    "connect",
    "connection",
    "econnrefused",
    "econnreset",
    "etimedout",
    "enotfound",
    "ehostunreach",
    "tcp",
];

/// Words that are reserved in the languages that have them, so that nothing can be named by them: in quotes they are
/// part of what a message says, wherever they are.
pub(super) const RESERVED_WORDS: [&str; 34] = [
    "None",
    "True",
    "False",
    "null",
    "undefined",
    "nil",
    "true",
    "false",
    "void",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "break",
    "continue",
    "return",
    "try",
    "catch",
    "except",
    "finally",
    "throw",
    "raise",
    "yield",
    "await",
    "lambda",
    "import",
    "class",
    "def",
    "const",
    "var",
];

/// Generic types whose value is there only after an `await`, in Python, TypeScript, Rust, Java, C# and Dart.
pub(super) const AWAITABLES: [&str; 8] =
    ["Awaitable", "CompletableFuture", "Coroutine", "CoroutineType", "Future", "Promise", "PromiseLike", "Task"];

/// A name follows these words.
pub(super) const NAMING_NOUNS: [&str; 18] = [
    "argument",
    "attribute",
    "export",
    "field",
    "function",
    "identifier",
    "import",
    "key",
    "member",
    "method",
    "module",
    "name",
    "named",
    "parameter",
    "property",
    "symbol",
    "variable",
    "binding",
];

/// A message with one of these is about a host that can't be reached or trusted.
pub(super) const CONNECTION: [&str; 14] = [
    "econnrefused",
    "econnreset",
    "enotfound",
    "etimedout",
    "getaddrinfo",
    "connection refused",
    "connection reset",
    "connection timed out",
    "could not resolve host",
    "name resolution",
    "name or service not known",
    "certificate",
    "tls handshake",
    "ssl handshake",
];

/// A version behind one of these is part of what the message is about.
pub(super) const VERSION_KEEPERS: [&str; 9] =
    ["requires", "require", "required", "needs", "engine", "node", "python", "rustc", "version"];

/// Words that may be there or not without a difference.
pub(super) const ARTICLES: [&str; 9] = ["a", "an", "the", "is", "are", "was", "were", "be", "been"];

/// A word of these on one side only turns what is said.
pub(super) const POLARITY: [&str; 16] = [
    "not", "no", "never", "without", "cannot", "non", "un", "none", "neither", "nor", "except", "unless", "only",
    "disabled", "off", "nothing",
];
