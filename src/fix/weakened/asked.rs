//! What else a diff says about the rules that it makes exceptions from: that it asks for them and did not before, or that
//! they have another name.

use std::sync::LazyLock;

use regex::Regex;

use super::hit::{LineHit, same_rule};
use super::lazy::compile_regex;
use super::renamed::has_other_prefix;
use super::view::{DiffLine, DiffSide, FileView};

/// Lines that ask for rules and are looked at on a side.
const ASKING_LINES_MAX: usize = 200;
/// Groups of clippy's lints that are off by default.
const CLIPPY_GROUPS: [&str; 4] = ["cargo", "nursery", "pedantic", "restriction"];
/// Letters that the name of a group has at least.
const GROUP_BYTES_MIN: usize = 4;

/// Asks for a rule by its name.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r#"\bplugin:[@\w]|\beslint:recommended\b|\bselect\s*=|(?:^|[\s"'=])-[WDF][\w: ]|\b(?:deny|warn|forbid)\b|["'](?:error|warn)["']|["'][A-Z]{1,4}["']|^\s*[\w-]+-\*,?\s*$|\bseverity\s*=\s*(?:error|warning|suggestion)|<module\s+name="#,
    )
    .expect("a regex")
});

/// The check that an element leaves out.
static CHECKED_BY: LazyLock<Regex> = LazyLock::new(|| compile_regex(r#"\bchecks="(\w+)""#).expect("a regex"));

/// The changed lines that ask for rules, before and after.
pub(super) struct AskingLines<'v, 'p> {
    old: Vec<&'v DiffLine<'p>>,
    new: Vec<&'v DiffLine<'p>>,
}

impl<'v, 'p> AskingLines<'v, 'p> {
    pub(super) fn from_views(views: &'v [FileView<'p>]) -> Self {
        let of = |side| {
            let lines = views.iter().flat_map(move |view| view.changed_lines(side));
            let asks = |line: &&DiffLine<'_>| {
                ASKS.is_match(line.raw) && !line.path.contains("ignore") || line.path.ends_with("linters.enable")
            };
            lines.filter(asks).take(ASKING_LINES_MAX).collect()
        };
        AskingLines { old: of(DiffSide::Old), new: of(DiffSide::New) }
    }

    /// Whether the diff asks for the same rules elsewhere and did not before: an exception to them makes nothing laxer.
    /// `old` is what the old side had of exceptions.
    pub(super) fn ask_for(&self, hit: &LineHit<'_, '_>, old: &[LineHit<'_, '_>]) -> bool {
        let names = |line: &DiffLine<'_>, unit: &str| {
            let unit = CHECKED_BY.captures(unit).map_or(unit, |groups| groups.get(1).map_or("", |name| name.as_str()));
            let mut words = line.raw.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '/' | ':' | '@'));
            words.any(|word| {
                let bare = word.trim_start_matches("-W").trim_start_matches("-D");
                bare == unit || bare.strip_suffix("Check") == Some(unit) || is_group_of(word, unit)
            })
        };
        let count = |lines: &[&DiffLine<'_>], unit: &str| {
            lines.iter().filter(|line| !std::ptr::eq(**line, hit.line) && names(line, unit)).count()
        };
        let is_asked = |unit: &String| !unit.is_empty() && count(&self.new, unit) > count(&self.old, unit);
        // Others of the same line may have been exceptions before.
        let was_off = |unit: &String| {
            old.iter().any(|other| other.file == hit.file && same_rule(hit, other) && other.units.contains(unit))
        };
        let mut new = hit.units.iter().filter(|unit| !was_off(unit)).peekable();
        !self.new.is_empty() && new.peek().is_some() && new.all(is_asked)
    }
}

/// Whether a rule is one of those that a word asks for: `B` has `B008`, `ALL` has every code, `bugprone-*` what begins so.
fn is_group_of(word: &str, unit: &str) -> bool {
    let is_code = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
    let digits = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit());
    let family = || is_code(word) && unit.strip_prefix(word).is_some_and(digits);
    let prefix =
        || word.len() > GROUP_BYTES_MIN && word.ends_with('-') && unit.trim_start_matches('-').starts_with(word);
    // `plugin:cart/recommended` asks for all `cart/…`, `eslint:recommended` for what is no plugin's.
    let preset = || {
        let asked = word.strip_prefix("plugin:").and_then(|preset| preset.rsplit_once('/')).map(|(plugin, _)| plugin);
        match unit.rsplit_once('/') {
            Some((plugin, _)) => asked == Some(plugin),
            None => word == "eslint:recommended" && !unit.contains(char::is_uppercase),
        }
    };
    let lints = || CLIPPY_GROUPS.contains(&word) && unit.contains('_') && !unit.contains(char::is_uppercase);
    word == "ALL" && is_code(unit) || family() || prefix() || preset() || lints()
}

/// Whether each rule that is off now was off before, under another name: `TC003` was `TCH003`, `n/no-x` was `node/no-x`.
/// `old` is what the old side had of exceptions.
pub(super) fn is_renamed(hit: &LineHit<'_, '_>, old: &[LineHit<'_, '_>]) -> bool {
    let was: Vec<&String> = old
        .iter()
        .filter(|other| other.file == hit.file && other.hunk == hit.hunk && other.line.changed && same_rule(hit, other))
        .flat_map(|other| &other.units)
        .collect();
    let own = |unit: &String| was.iter().any(|old| has_other_prefix(old, unit));
    !hit.units.is_empty() && hit.units.iter().all(own)
}
