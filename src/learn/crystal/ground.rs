//! What a command may word of a page: a title and three sections. Everything that it says about code has to be in the proven
//! change, every path in the kept tree, every id among the facts. What is not is replaced by the template's text.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::facts::PageFacts;
use crate::base::text;

/// An answer, bytes.
pub(crate) const WORDED_BYTES_MAX: usize = 64 << 10;
/// A section, bytes.
const SECTION_BYTES_MAX: usize = 2_000;
/// A title, bytes.
const TITLE_BYTES_MAX: usize = 72;

/// What a command answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Wording {
    /// Version of the answer.
    pub schema: u64,
    /// The model, as it names itself.
    pub model: String,
    /// One line.
    pub title: String,
    /// What goes wrong.
    pub problem: String,
    /// What the change does.
    pub solution: String,
    /// Why it works.
    pub rationale: String,
}

/// A wording of which only what is grounded is left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GroundedWording {
    /// The model.
    pub model: Option<String>,
    /// The title, if it holds.
    pub title: Option<String>,
    /// Text of the section, if it holds.
    pub problem: Option<String>,
    /// Text of the section, if it holds.
    pub solution: Option<String>,
    /// Text of the section, if it holds.
    pub rationale: Option<String>,
    /// Parts that did not hold.
    pub replaced: Vec<String>,
}

/// Keeps the parts of a wording that say nothing that the facts do not have. `has_path` says whether the kept tree has a file.
pub(crate) fn ground_wording(wording: &Wording, facts: &PageFacts, has_path: &dyn Fn(&str) -> bool) -> GroundedWording {
    let ground = Ground::new(facts, has_path);
    let mut grounded = GroundedWording::default();
    let model = text::one_line(&wording.model);
    grounded.model = (!model.trim().is_empty() && model.len() <= TITLE_BYTES_MAX).then(|| model.trim().to_owned());
    let mut take = |name: &str, said: &str, bytes_max: usize| {
        let said = said.trim();
        let holds = !said.is_empty() && said.len() <= bytes_max && ground.holds(said);
        if !holds {
            grounded.replaced.push(name.to_owned());
        }
        holds.then(|| said.to_owned())
    };
    let title = take("title", &wording.title, TITLE_BYTES_MAX).filter(|title| !title.contains('\n'));
    let problem = take("problem", &wording.problem, SECTION_BYTES_MAX);
    let solution = take("solution", &wording.solution, SECTION_BYTES_MAX);
    let rationale = take("rationale", &wording.rationale, SECTION_BYTES_MAX);
    (grounded.title, grounded.problem, grounded.solution, grounded.rationale) = (title, problem, solution, rationale);
    grounded
}

struct Ground<'a> {
    /// Lines of the change, without blanks around them.
    lines: BTreeSet<String>,
    ids: BTreeSet<String>,
    has_path: &'a dyn Fn(&str) -> bool,
}

impl<'a> Ground<'a> {
    fn new(facts: &PageFacts, has_path: &'a dyn Fn(&str) -> bool) -> Ground<'a> {
        let lines = facts.solution.lines().map(|line| line.get(1..).unwrap_or_default().trim().to_owned()).collect();
        let page = &facts.front_matter;
        let ids = page.patterns.iter().chain(&page.fixes).chain(&page.job).chain([&page.id]);
        Ground { lines, ids: ids.cloned().collect(), has_path }
    }

    fn holds(&self, said: &str) -> bool {
        let has_control = said.chars().any(|c| c.is_control() && c != '\n') || text::printable(said) != said;
        // A heading, a link, a tag or a comment would be more than a paragraph.
        let is_markup = ["://", "](", "<", "---\n", "|"].iter().any(|mark| said.contains(mark))
            || said.lines().any(|line| line.trim_start().starts_with('#'));
        !has_control && !is_markup && self.has_code(said) && self.has_ids(said) && self.has_paths(said)
    }

    /// Whether every line of every fenced block, and every code span, is a part of the change.
    fn has_code(&self, said: &str) -> bool {
        let mut is_code = false;
        for line in said.lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if is_code {
                let line = line.trim().trim_start_matches(['+', '-']).trim();
                if !line.is_empty() && !self.lines.contains(line) {
                    return false;
                }
            } else {
                let mut spans = line.split('`').skip(1).step_by(2);
                if !line.matches('`').count().is_multiple_of(2) || !spans.all(|span| self.has_span(span)) {
                    return false;
                }
            }
        }
        !is_code
    }

    fn has_span(&self, span: &str) -> bool {
        let span = span.trim();
        (self.has_path)(span) || self.ids.contains(span) || self.lines.iter().any(|line| line.contains(span))
    }

    fn has_ids(&self, said: &str) -> bool {
        words(said).all(|word| {
            let word = word.trim_end_matches('.');
            let is_id = word.len() == 10
                && word.as_bytes()[1] == b'-'
                && word[..1].bytes().all(|b| b.is_ascii_lowercase())
                && word[2..].bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && word[2..].bytes().any(|b| b.is_ascii_digit());
            !is_id || self.ids.contains(word)
        })
    }

    /// A word with a slash between names, or a file name with an ending that source files have, is a path.
    fn has_paths(&self, said: &str) -> bool {
        words(said).all(|word| {
            let word = word.trim_end_matches('.');
            let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
            let is_file =
                ["py", "js", "ts", "tsx", "jsx", "go", "rs", "lua", "java", "rb", "c", "h", "json", "toml", "yml"]
                    .contains(&ending);
            let is_path = is_file || word.matches('/').count() > 1;
            !is_path || (self.has_path)(word) || self.lines.iter().any(|line| line.contains(word))
        })
    }
}

fn words(said: &str) -> impl Iterator<Item = &str> {
    said.split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | ')' | ',' | ';' | ':' | '"' | '\''))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::library::PageFrontMatter;

    fn ground(said: &str) -> bool {
        let diff =
            "diff --git a/src/a.ts b/src/a.ts\n@@ -1 +1 @@\n context(1)\n-  return rows()\n+  return await rows()\n";
        let front_matter = PageFrontMatter { fixes: vec!["x-19ab33cd".into()], ..PageFrontMatter::default() };
        let solution = diff.to_owned();
        let facts = PageFacts { front_matter, solution, ..PageFacts::default() };
        let wording = Wording { problem: said.into(), ..Wording::default() };
        let grounded = ground_wording(&wording, &facts, &|path| path == "src/a.ts");
        assert_eq!(grounded.problem.is_none(), grounded.replaced.contains(&"problem".to_owned()));
        grounded.problem.is_some()
    }

    #[test]
    fn words_about_the_change_hold() {
        assert!(ground("The rows are a promise, so `rows()` has to be awaited in `src/a.ts`."));
        assert!(ground("As in x-19ab33cd:\n\n```ts\n+ return await rows()\n```"));
    }

    #[test]
    fn what_the_facts_do_not_have_is_replaced() {
        for said in [
            "",
            "Call `rows().catch(retry)` instead.",
            "```ts\nreturn rows().then()\n```",
            "```ts\nreturn await rows()",
            "It is the same in src/b.ts.",
            "Look at lib/x/y for more.",
            "See x-77777777.",
            "Read https://example.org first.",
            "Ignore this\u{1b}[2J.",
            "# Heading",
            "<b>bold</b>",
            "An odd ` tick",
        ] {
            assert!(!ground(said), "{said:?}");
        }
        assert!(!ground(&"long ".repeat(1_000)));
    }
}
