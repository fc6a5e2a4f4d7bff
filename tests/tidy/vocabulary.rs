//! Holds the words of the code and of its documentation: names that mean one thing, links that lead somewhere.
//! `cargo test --test vocabulary -- --nocapture` prints the counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Source, files, report, sources, top};

/// Names of types that more than one module may have, each with its reason.
const HOMONYMS_ALLOWED: [(&str, &str); 2] = [
    ("Args", "the arguments of a subcommand, always behind the subcommand's name"),
    ("Error", "the error of a module, always behind the module's name"),
];

/// Of 100 types, the largest number that share their name with another type.
const HOMONYMS_PERCENT_MAX: usize = 8;

/// Of 100 functions, the largest number with a name of one word.
const ONE_WORD_PERCENT_MAX: usize = 30;

/// Names that Rust itself or a foreign trait gives, and the constructor's.
const GIVEN_NAMES: [&str; 13] =
    ["new", "run", "fmt", "from", "parse", "default", "main", "drop", "next", "eq", "cmp", "hash", "deref"];

/// A type or a function, and the file that defines it.
struct Definition {
    name: String,
    file: String,
}

#[test]
fn a_type_name_means_one_thing() {
    let mut files_by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let types = definitions(&["struct", "enum", "trait"]);
    for definition in &types {
        files_by_name.entry(definition.name.clone()).or_default().insert(definition.file.clone());
    }
    let is_allowed = |name: &str| HOMONYMS_ALLOWED.iter().any(|(allowed, _)| *allowed == name);
    let total = types.iter().filter(|definition| !is_allowed(&definition.name)).count();
    let homonyms: Vec<_> = files_by_name.iter().filter(|(name, files)| files.len() > 1 && !is_allowed(name)).collect();
    let count: usize = homonyms.iter().map(|(_, files)| files.len()).sum();
    let list: Vec<String> = homonyms.iter().map(|(name, files)| format!("{name}: {files:?}")).collect();
    assert!(count * 100 <= total * HOMONYMS_PERCENT_MAX, "{count} of {total}:\n{}", list.join("\n"));
}

#[test]
fn most_functions_say_what_they_act_on() {
    let functions = definitions(&["fn"]);
    let named: Vec<_> = functions.iter().filter(|function| !GIVEN_NAMES.contains(&function.name.as_str())).collect();
    let one_word = named.iter().filter(|function| !function.name.contains('_')).count();
    assert!(one_word * 100 <= named.len() * ONE_WORD_PERCENT_MAX, "{one_word} of {}", named.len());
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let mut findings = Vec::new();
    for page in pages() {
        let page_path = top().join(&page.path);
        for target in link_targets(&page.text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let path = if file.is_empty() { page_path.clone() } else { page_path.with_file_name("").join(file) };
            if !path.exists() {
                findings.push(format!("{}: {target}: no such file", page.path));
            } else if !anchor.is_empty() && path.extension().is_some_and(|extension| extension == "md") {
                let headings = anchors(&fs::read_to_string(&path).expect("the page that is linked to"));
                if !headings.contains(anchor) {
                    findings.push(format!("{}: {target}: no such heading", page.path));
                }
            }
        }
    }
    report(&findings);
}

#[test]
fn the_glossary_names_types_that_exist() {
    let page = fs::read_to_string(top().join("docs/glossary.md")).expect("docs/glossary.md");
    let types: BTreeSet<String> =
        definitions(&["struct", "enum", "trait"]).into_iter().map(|definition| definition.name).collect();
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.split('|').nth(3).unwrap_or_default();
        for name in cell.split('`').skip(1).step_by(2) {
            assert!(types.contains(name), "docs/glossary.md: no type is called {name}");
            named += 1;
        }
    }
    assert!(named >= 35, "only {named} types are named");
}

#[test]
fn the_readme_stays_short() {
    let bytes = fs::metadata(top().join("README.md")).expect("README.md").len();
    assert!(bytes <= 8 << 10, "{bytes} bytes: move parts of it to docs/");
}

#[test]
fn links_and_headings_are_found() {
    let text = "[a](b.md#c-d) `[x](y)` ![p](q.svg)\n```text\n[n](o)\n```\n## C *d*, `e`!\n";
    assert_eq!(link_targets(text), ["b.md#c-d", "q.svg"]);
    assert!(anchors(text).contains("c-d-e"));
}

/// The definitions of the code that is not test code.
fn definitions(keywords: &[&str]) -> Vec<Definition> {
    let mut found = Vec::new();
    for source in sources("src") {
        if source.path.contains("/tests/") || source.path.ends_with("/tests.rs") {
            continue;
        }
        let code = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let words: Vec<&str> = line.split([' ', '(', '<', ':', ';', '{']).filter(|word| !word.is_empty()).collect();
            let start = words.iter().position(|word| keywords.contains(word));
            let is_definition = |at: usize| {
                words[..at].iter().all(|word| {
                    word.starts_with("pub")
                        || ["crate)", "super)", "in", "const", "unsafe", "async", "extern", "\"C\""].contains(word)
                })
            };
            if let Some(name) = start.filter(|at| is_definition(*at)).and_then(|at| words.get(at + 1)) {
                found.push(Definition { name: (*name).to_owned(), file: source.path.clone() });
            }
        }
    }
    found
}

/// The Markdown pages for people, and the texts that agents are given.
pub(super) fn pages() -> Vec<Source> {
    const FOLDERS: [&str; 3] = ["docs/", ".github/", "hooks/agent/"];
    files(&top(), &|path| {
        path.ends_with(".md") && (!path.contains('/') || FOLDERS.iter().any(|folder| path.starts_with(folder)))
    })
}

/// The targets of inline links, outside of code.
fn link_targets(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        for part in line.split('`').step_by(2) {
            targets.extend(part.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        }
    }
    targets
}

/// The anchors that forges give to the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix('#').map(|line| line.trim_start_matches('#').trim()))
        .map(|heading| {
            heading
                .to_lowercase()
                .chars()
                .filter(|character| character.is_alphanumeric() || [' ', '-', '_'].contains(character))
                .map(|character| if character == ' ' { '-' } else { character })
                .collect()
        })
        .collect()
}

/// Whether `line` has the phrase as words of their own.
pub(super) fn contains_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let is_letter = |character: Option<char>| {
            character.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        !is_letter(line[..at].chars().next_back()) && !is_letter(line[at + phrase.len()..].chars().next())
    })
}
