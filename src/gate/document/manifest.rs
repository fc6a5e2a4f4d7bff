//! The names of the dependencies that a manifest declares: package.json, pyproject.toml, requirements, go.mod, Cargo.toml,
//! pom.xml, Gradle and rockspecs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// Dependencies of a manifest; further ones are not compared.
const DEPENDENCIES_MAX: usize = 10_000;

/// The format of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ManifestFormat {
    /// `package.json`.
    PackageJson,
    /// `Cargo.toml` and `pyproject.toml`.
    Toml,
    /// `requirements.txt`.
    Requirements,
    /// `go.mod`.
    GoMod,
    /// `pom.xml`.
    Maven,
    /// `build.gradle`.
    Gradle,
    /// `*.rockspec`.
    Rockspec,
}

impl ManifestFormat {
    /// The format of a file by its name; `None` for what is no manifest.
    pub(crate) fn of_path(path: &str) -> Option<ManifestFormat> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "package.json" => Some(ManifestFormat::PackageJson),
            "Cargo.toml" | "pyproject.toml" => Some(ManifestFormat::Toml),
            "go.mod" => Some(ManifestFormat::GoMod),
            "pom.xml" => Some(ManifestFormat::Maven),
            "build.gradle" | "build.gradle.kts" => Some(ManifestFormat::Gradle),
            _ if name.starts_with("requirements") && name.ends_with(".txt") => Some(ManifestFormat::Requirements),
            _ if name.ends_with(".rockspec") => Some(ManifestFormat::Rockspec),
            _ => None,
        }
    }
}

/// The names of the dependencies in a manifest.
pub(crate) fn dependency_names(format: ManifestFormat, text: &str) -> BTreeSet<String> {
    let names = match format {
        ManifestFormat::PackageJson => names_of_package_json(text),
        ManifestFormat::Toml => names_of_toml(text),
        ManifestFormat::Requirements => text.lines().filter_map(requirement_name).collect(),
        ManifestFormat::GoMod => names_of_go_mod(text),
        ManifestFormat::Maven => names_of_pattern(&MAVEN, text),
        ManifestFormat::Gradle => names_of_pattern(&GRADLE, text),
        ManifestFormat::Rockspec => names_of_rockspec(text),
    };
    names.into_iter().take(DEPENDENCIES_MAX).collect()
}

static MAVEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)<dependency>.{0,500}?<artifactId>\s*([^<\s]+)").expect("a valid pattern"));
static GRADLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?m)^\s*(?:api|implementation|compileOnly|runtimeOnly|kapt|annotationProcessor|test\w+)\s*\(?\s*(?:platform\()?["']([^"':]+:[^"':]+)"#;
    Regex::new(pattern).expect("a valid pattern")
});
static GO_MODULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:require\s+)?([\w.~-]+\.[\w.~/-]+)\s+v\d").expect("a valid pattern"));
static REQUIREMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)").expect("a valid pattern"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"["']([^"']*)["']"#).expect("a valid pattern"));

fn names_of_pattern(pattern: &Regex, text: &str) -> Vec<String> {
    pattern.captures_iter(text).filter_map(|groups| Some(groups.get(1)?.as_str().to_owned())).collect()
}

fn names_of_package_json(text: &str) -> Vec<String> {
    let Ok(serde_json::Value::Object(manifest)) = serde_json::from_str(text) else { return Vec::new() };
    let tables = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let tables = tables.iter().filter_map(|key| manifest.get(*key)?.as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// The name at the start of `name[extra]>=1; marker`, in the normal form of Python packages.
fn requirement_name(line: &str) -> Option<String> {
    let groups = REQUIREMENT.captures(line)?;
    Some(groups.get(1)?.as_str().to_lowercase().replace(['_', '.'], "-"))
}

fn names_of_go_mod(text: &str) -> Vec<String> {
    let direct = text.lines().filter(|line| !line.contains("// indirect") && !line.trim_start().starts_with("//"));
    direct.filter_map(|line| Some(GO_MODULE.captures(line)?.get(1)?.as_str().to_owned())).collect()
}

fn names_of_rockspec(text: &str) -> Vec<String> {
    let tables = text.split("dependencies").skip(1);
    let tables = tables.filter_map(|rest| rest.trim_start().strip_prefix('=')?.split('}').next());
    tables.flat_map(|table| names_of_pattern(&QUOTED, table)).filter_map(|entry| requirement_name(&entry)).collect()
}

/// What the lines below a header of a TOML file declare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TomlSection {
    /// `name = …` for each dependency.
    Table,
    /// Keys that hold lists of requirements.
    Lists,
    /// `[project]`, whose key `dependencies` is a list.
    Project,
    Other,
}

fn names_of_toml(text: &str) -> Vec<String> {
    let mut section = TomlSection::Other;
    let mut is_list = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if is_list {
            found.extend(names_of_pattern(&QUOTED, line).iter().filter_map(|entry| requirement_name(entry)));
            is_list = !ends_list(line);
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
            section = toml_section(header);
            if let Some((table, name)) = header.rsplit_once('.')
                && toml_section(table) == TomlSection::Table
            {
                found.push(name.trim_matches(['"', '\'', ' ']).to_owned());
                section = TomlSection::Other;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().trim_matches(['"', '\'']);
        match section {
            TomlSection::Table if key != "python" => found.push(key.split('.').next().unwrap_or(key).to_owned()),
            TomlSection::Project if key != "dependencies" => {}
            TomlSection::Lists | TomlSection::Project if value.trim_start().starts_with('[') => {
                found.extend(names_of_pattern(&QUOTED, value).iter().filter_map(|entry| requirement_name(entry)));
                is_list = !ends_list(value);
            }
            _ => {}
        }
    }
    found
}

/// Whether the list ends in this line: `]` outside of quotes (extras of a requirement have brackets too).
fn ends_list(line: &str) -> bool {
    QUOTED.replace_all(line, "").contains(']')
}

fn toml_section(header: &str) -> TomlSection {
    let last = header.rsplit('.').next().unwrap_or(header);
    if ["dependencies", "dev-dependencies", "build-dependencies"].contains(&last) {
        return TomlSection::Table;
    }
    match header {
        "project" => TomlSection::Project,
        "project.optional-dependencies" | "dependency-groups" => TomlSection::Lists,
        _ => TomlSection::Other,
    }
}
