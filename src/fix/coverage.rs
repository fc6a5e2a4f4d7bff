//! Which atoms of a failure a later run looked at, by the selectors of both: `pytest a.py` failing is closed by a
//! passing `pytest`, not the other way round.

use std::path::{Component, Path, PathBuf};

use crate::base::lossless::Lossless;
use crate::event::{Atom, Scope};

/// Options that make a check smaller: a run without them looks at more. By name, with or without a value.
const NARROWING: &str = " -k -m -p --package --test --lib --bin --bins --example --bench -t --testNamePattern \
    --test-name-pattern -run --run --grep -g --fgrep -f --filter --only --deselect --ignore --exclude --last-failed \
    --lf --failed-first --ff --shard --changed --onlyChanged --findRelatedTests --testPathPattern \
    --testPathPatterns --selectProjects --tests --testsuite --group --tags -skip --ignore-pattern ";
/// Tools that mean something else by `-p`: a plugin, a configuration.
const OTHER_P: &str = " pytest tsc vue-tsc phpunit ";
/// Options that make a check larger: a run that has them looks at all that one without them did.
const WIDENING: &str = " --workspace --all --all-targets --include-ignored --doc ";
/// Options whose value is part of a test's name.
const NAME_FILTERS: &str = " -k -t --testNamePattern --test-name-pattern -run --grep -g --fgrep ";
/// Tools that walk down from where they are started, and whose words are paths.
const WALKERS: &str = " pytest ruff ruff-check ruff-format eslint flake8 mypy pylint pyright biome prettier vitest jest \
    stylelint markdownlint rubocop rspec phpunit phpstan black isort bandit oxlint ava mocha ";
/// Test runners whose words are part of a file's path.
const FILE_FILTERS: &str = " vitest jest ";
/// Test runners whose words are part of a test's name.
const TEST_FILTERS: &str = " cargo-test cargo-nextest ";
/// Folders above a failing check in which a passing one is waited for.
const FOLDERS_MAX: usize = 8;

/// Stars in a selector that is read as a pattern; one with more matches nothing.
const STARS_MAX: usize = 6;

/// How much of a failure a later run covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureCoverage {
    /// Everything.
    All,
    /// What these selectors name.
    Named {
        /// Paths relative to the root, and `path::test`.
        paths: Vec<String>,
        /// Parts of a file's path.
        files: Vec<String>,
        /// Parts of a test's name.
        tests: Vec<String>,
    },
    /// Nothing, or unknown.
    Nothing,
}

impl FailureCoverage {
    /// Whether it looked at this atom.
    pub(crate) fn covers_atom(&self, atom: &Atom) -> bool {
        match self {
            FailureCoverage::All => true,
            FailureCoverage::Nothing => false,
            FailureCoverage::Named { paths, files, tests } => {
                let file = atom.file.as_deref().unwrap_or_default();
                let test = atom.test.as_deref().unwrap_or_default();
                paths.iter().any(|path| is_at(path, file, test))
                    || (!file.is_empty() && files.iter().any(|part| file.contains(part)))
                    || (!test.is_empty() && tests.iter().any(|part| test.contains(part)))
            }
        }
    }
}

/// The selectors of a scope by kind.
#[derive(Default)]
struct SelectorParts<'a> {
    words: Vec<&'a str>,
    options: Vec<&'a str>,
    /// Workspaces, containers, other machines.
    places: Vec<&'a str>,
}

impl<'a> SelectorParts<'a> {
    fn from_scope(scope: &'a Scope) -> Self {
        let mut parts = SelectorParts::default();
        for selector in &scope.selectors {
            match selector.as_bytes().first() {
                Some(b'-' | b'+') if selector.len() > 1 => parts.options.push(selector),
                Some(b'@') => parts.places.push(selector),
                _ => parts.words.push(selector),
            }
        }
        parts
    }
}

/// What a run with the scope `later` looked at of a failure with the scope `earlier`. If unknown, it is nothing: a
/// failure that stays open too long is mended by the next run of the same check.
pub(crate) fn compare_scopes(later: &Scope, earlier: &Scope) -> FailureCoverage {
    if later.class != earlier.class
        || later.sub != earlier.sub
        || earlier.also.iter().any(|tool| !later.also.contains(tool))
    {
        return FailureCoverage::Nothing;
    }
    if later.dir == earlier.dir && later.selectors == earlier.selectors {
        return FailureCoverage::All;
    }
    // The arguments of what is not a check have no meaning that is known.
    if later.subject.starts_with("command:") {
        return FailureCoverage::Nothing;
    }
    let (more, less) = (SelectorParts::from_scope(later), SelectorParts::from_scope(earlier));
    if more.places != less.places {
        return FailureCoverage::Nothing;
    }
    let dropped = less.options.iter().filter(|option| !more.options.contains(option));
    if dropped.into_iter().any(|option| !narrows_subject(&later.subject, option)) {
        return FailureCoverage::Nothing;
    }
    let mut tests = Vec::new();
    for option in more.options.iter().filter(|option| !less.options.contains(option)) {
        match option.split_once('=').filter(|(name, value)| list_contains(NAME_FILTERS, name) && is_name(value)) {
            Some((_, value)) => tests.push(value.to_owned()),
            None if list_contains(WIDENING, option) => {}
            None => return FailureCoverage::Nothing,
        }
    }
    if !tests.is_empty() {
        // A filter within a choice of files: what it leaves out of them is unknown.
        let plain = more.words == less.words && later.dir == earlier.dir;
        return if plain {
            FailureCoverage::Named { paths: Vec::new(), files: Vec::new(), tests }
        } else {
            FailureCoverage::Nothing
        };
    }
    by_words(later, earlier, &more.words, &less.words)
}

fn by_words(later: &Scope, earlier: &Scope, more: &[&str], less: &[&str]) -> FailureCoverage {
    let same_dir = later.dir == earlier.dir;
    let walks = list_contains(WALKERS, &later.subject);
    if same_dir && (more.is_empty() || (!less.is_empty() && less.iter().all(|word| more.contains(word)))) {
        return FailureCoverage::All;
    }
    if !same_dir && !walks {
        return FailureCoverage::Nothing;
    }
    if more.is_empty() {
        let inside = earlier.dir.path().starts_with(later.dir.path());
        return if inside { FailureCoverage::All } else { FailureCoverage::Nothing };
    }
    let dir = later.dir.display();
    let paths = more.iter().map(|word| path_below(&dir, word)).collect();
    let among_words = |tools: &str| -> Vec<String> {
        let parts = more.iter().filter(|word| list_contains(tools, &later.subject) && !word.contains('*'));
        parts.map(|word| (*word).to_owned()).collect()
    };
    FailureCoverage::Named { paths, files: among_words(FILE_FILTERS), tests: among_words(TEST_FILTERS) }
}

/// The scopes whose pass would close a failure of `scope` that are worth waiting for: the same check of everything, in
/// its folder and in those above, and of the folders around each of its paths. Without `scope` itself.
pub(crate) fn covering_scopes(scope: &Scope) -> Vec<Scope> {
    let with = |dir: &Lossless, selectors: Vec<String>| Scope { dir: dir.clone(), selectors, ..scope.clone() };
    let kept: Vec<String> = {
        let parts = SelectorParts::from_scope(scope);
        let options = parts.options.iter().filter(|option| !narrows_subject(&scope.subject, option));
        options.chain(&parts.places).map(|selector| (*selector).to_owned()).collect()
    };
    let mut found = Vec::new();
    if scope.subject.starts_with("command:") {
        return found;
    }
    found.push(with(&scope.dir, kept.clone()));
    let parts = SelectorParts::from_scope(scope);
    if let [word] = parts.words[..] {
        let file = word.split("::").next().unwrap_or(word);
        for folder in Path::new(file).ancestors().filter(|path| !path.as_os_str().is_empty()).take(FOLDERS_MAX) {
            let mut selectors = kept.clone();
            selectors.push(folder.to_string_lossy().into_owned());
            selectors.sort();
            found.push(with(&scope.dir, selectors));
        }
        let mut here = kept.clone();
        here.push(".".to_owned());
        here.sort();
        found.push(with(&scope.dir, here));
    }
    if list_contains(WALKERS, &scope.subject) && !scope.dir.path().is_absolute() {
        for folder in scope.dir.path().ancestors().skip(1).take(FOLDERS_MAX) {
            found.push(with(&Lossless::from(folder), kept.clone()));
        }
    }
    found.retain(|other| other != scope);
    found.dedup();
    found
}

fn list_contains(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|item| item == word)
}

/// Whether a check is larger without this option.
fn narrows_subject(subject: &str, option: &str) -> bool {
    let name = option_name(option);
    list_contains(NARROWING, name) && !(name == "-p" && list_contains(OTHER_P, subject))
}

/// An option without its value.
fn option_name(option: &str) -> &str {
    let name = option.split('=').next().unwrap_or(option);
    // `-kname`, but not `-run`.
    if !name.starts_with("--") && !list_contains(NARROWING, name) { name.get(..2).unwrap_or(name) } else { name }
}

/// No expression: what it selects is what has it in its name.
fn is_name(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word as a path relative to the root. `...` is Go's everything below.
fn path_below(dir: &str, word: &str) -> String {
    let (path, test) = word.split_once("::").map_or((word, None), |(path, test)| (path, Some(test)));
    let path = path.strip_suffix("...").unwrap_or(path);
    let mut clean = PathBuf::new();
    for component in Path::new(dir).join(path).components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    let clean = clean.to_string_lossy().into_owned();
    test.map_or(clean.clone(), |test| format!("{clean}::{test}"))
}

/// Whether an item is at a path (`src`, `src/**/*.ts`, `a.py::test_x`); the empty path is the root.
fn is_at(path: &str, file: &str, test: &str) -> bool {
    if let Some((path, name)) = path.split_once("::") {
        let last = name.rsplit("::").next().unwrap_or(name);
        let in_file = file.is_empty() || is_at(path, file, "");
        let is_named = test.match_indices(last).any(|(at, _)| {
            let end = test[at + last.len()..].chars().next();
            let start = test[..at].chars().next_back();
            let apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
            apart(start) && apart(end)
        });
        return in_file && is_named;
    }
    let file = if file.is_empty() { test.split("::").next().unwrap_or_default() } else { file };
    if file.is_empty() {
        return path.is_empty();
    }
    if path.contains('*') {
        // Each star multiplies the ways to match.
        return path.matches('*').count() <= STARS_MAX && matches_glob(path.as_bytes(), file.as_bytes());
    }
    path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `*` within a folder, `**` across folders; other characters match themselves.
fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            (0..=text.len()).any(|at| matches_glob(rest, &text[at..]))
        }
        [b'*', rest @ ..] => {
            let end = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=end).any(|at| matches_glob(rest, &text[at..]))
        }
        [first, rest @ ..] => text.first() == Some(first) && matches_glob(rest, &text[1..]),
    }
}
