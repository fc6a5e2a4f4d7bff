//! The names that added source lines make public: what a README may call the feature.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::ChangedDocument;
use super::route::find_route;
use crate::base::text;

/// Names of a change; further ones are not looked for.
pub(crate) const PUBLIC_NAMES_MAX: usize = 200;
/// A line is read up to here, bytes.
const LINE_BYTES_MAX: usize = 1_000;
/// Shortest name that is looked for, bytes: shorter ones occur everywhere.
const NAME_BYTES_MIN: usize = 4;

/// What a public name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublicNameKind {
    /// An exported function, type or constant.
    Definition,
    /// `--page-size`.
    CliOption,
    /// `/users/{id}`.
    Route,
    /// `PAGE_SIZE`.
    EnvironmentVariable,
}

/// A name that a change makes public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicName {
    /// What it names.
    pub kind: PublicNameKind,
    /// The name as written.
    pub name: String,
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// A pattern whose first group is a name.
type NamePattern = LazyLock<Regex>;

macro_rules! name_pattern {
    ($pattern:literal) => {
        LazyLock::new(|| Regex::new($pattern).expect("a valid pattern"))
    };
}

static JAVASCRIPT: NamePattern = name_pattern!(
    r"^\s*(?:export\s+(?:default\s+)?(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\b\*?|class|const|let|var|interface|type|enum)\s+|(?:module\.)?exports\.)([A-Za-z_$][\w$]*)"
);
static PYTHON: NamePattern = name_pattern!(r"^(?:(?:async\s+)?def|class)\s+([A-Za-z]\w*)");
static GO: NamePattern = name_pattern!(r"^(?:func\s+(?:\([^)]*\)\s*)?|type\s+)(\p{Lu}\w*)");
static RUST: NamePattern = name_pattern!(
    r#"^\s*pub\s+(?:(?:const|async|unsafe|extern\s+"C")\s+)*(?:fn|struct|enum|trait|mod|const|static|type)\s+(?:r#)?([A-Za-z]\w*)"#
);
static JAVA: NamePattern = name_pattern!(
    r"^\s*public\s+(?:(?:static|final|abstract|sealed|synchronized)\s+)*(?:(?:class|interface|enum|record)\s+|[\w.<>\[\], ?]+\s+)(\w+)\s*(?:[({<]|extends|implements|$)"
);
static LUA: NamePattern = name_pattern!(r"^function\s+(?:[\w.]*[.:])?([A-Za-z]\w*)\s*\(");
static CLI_OPTION: NamePattern = name_pattern!(r#"["'`\s,|](--[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"#);
static CLAP_OPTION: NamePattern = name_pattern!(r#"\blong\s*(?:=|\()\s*"([a-z][a-z0-9-]*)""#);
static ENVIRONMENT: NamePattern = name_pattern!(
    r#"(?:process\.env\.|import\.meta\.env\.|process\.env\[["']|os\.environ(?:\.get)?[\[(]\s*["']|os\.getenv\(\s*["']|os\.(?:Getenv|LookupEnv)\("|env::var(?:_os)?\("|System\.getenv\("|ENV\[["'])([A-Z][A-Z0-9_]{2,})"#
);

/// The public names in the added lines of source files, each once. The caller leaves out tests.
pub(crate) fn find_public_names(sources: &[ChangedDocument<'_>]) -> Vec<PublicName> {
    let mut found: Vec<PublicName> = Vec::new();
    let mut seen = HashSet::new();
    for source in sources {
        for (line, text) in source.fresh_texts() {
            for (kind, name) in names_of_line(source.path, text::prefix(text, LINE_BYTES_MAX)) {
                if found.len() == PUBLIC_NAMES_MAX {
                    return found;
                }
                if name.len() >= NAME_BYTES_MIN && seen.insert(name.clone()) {
                    found.push(PublicName { kind, name, path: source.path.to_owned(), line });
                }
            }
        }
    }
    found
}

fn names_of_line(path: &str, line: &str) -> Vec<(PublicNameKind, String)> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let definition = match extension {
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => &JAVASCRIPT,
        "py" => &PYTHON,
        "go" => &GO,
        "rs" => &RUST,
        "java" | "kt" => &JAVA,
        "lua" => &LUA,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut add = |kind, pattern: &Regex, prefix: &str| {
        let names = pattern.captures_iter(line).filter_map(|groups| groups.get(1));
        found.extend(names.map(|name| (kind, format!("{prefix}{}", name.as_str()))));
    };
    add(PublicNameKind::Definition, definition, "");
    let trimmed = line.trim_start();
    if !["//", "#!", "# ", "*", "-- "].iter().any(|comment| trimmed.starts_with(comment)) {
        add(PublicNameKind::CliOption, &CLI_OPTION, "");
        add(PublicNameKind::CliOption, &CLAP_OPTION, "--");
        add(PublicNameKind::EnvironmentVariable, &ENVIRONMENT, "");
    }
    if let Some(route) = find_route(path, line).and_then(|route| route.target) {
        found.push((PublicNameKind::Route, route));
    }
    found
}
