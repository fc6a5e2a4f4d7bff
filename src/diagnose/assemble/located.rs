//! Diagnostics with a place that no definition knows.

use memchr::{memchr, memchr3};

use crate::base::limits::{LINE_KEEP_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::base::text::{ellipsis, prefix};
use crate::diagnose::block::Block;
use crate::diagnose::engine::{self, LineRole};
use crate::diagnose::generic::{self, FailureStrength, looks_like_a_file};
use crate::diagnose::located::{self, LocatedLine};
use crate::diagnose::paths::{PathResolver, PathTrust};
use crate::diagnose::{Baseline, Category, Diagnostic, Severity};

use super::AssembledDiagnostics;

/// A diagnostic with the lines that belong to it.
struct LocationCandidate {
    said: LocatedLine,
    lines: (usize, usize),
}

/// Lines of one diagnostic.
const LOCATED_LINES_MAX: usize = 12;
/// Lines between a message and the place below it.
const MESSAGE_DISTANCE_MAX: usize = 3;
/// Lines between a message and the place below it, with a piece of source between them.
const SNIPPET_LINES_MAX: usize = 20;
/// Lines between a place and the message below it, with a piece of source between them.
const PLACE_DISTANCE_MAX: usize = 6;

impl AssembledDiagnostics<'_> {
    /// Takes the located diagnostics among the lines that no definition knows. `known` says whether something else is
    /// known to have failed: then only what calls itself an error counts, and the rest is beside it.
    pub(super) fn take_located(&mut self, known: bool, resolver: &PathResolver<'_>, baseline: Option<&Baseline>) {
        self.place_the_placeless(resolver);
        let mut candidates = self.location_candidates(resolver);
        candidates
            .retain(|candidate| !candidate.said.is_plain || resolver.exists_as_printed(candidate.said.file.as_deref()));
        candidates.retain(|candidate| baseline.is_none_or(|known| !known.contains_line(self.lines[candidate.lines.0])));
        let severity = |candidate: &LocationCandidate| candidate.said.severity.unwrap_or(Severity::Error);
        let worst = candidates.iter().map(severity).max().unwrap_or(Severity::Error);
        let errs =
            |candidate: &LocationCandidate| severity(candidate) == Severity::Error && candidate.said.file.is_some();
        let warns = candidates.iter().any(|candidate| severity(candidate) == Severity::Warning);
        let says_worse = || {
            let free = |&line: &usize| {
                self.outcome.roles[line] == LineRole::Free && located::read_located(self.lines[line]).is_none()
            };
            let mut free = (0..self.lines.len()).filter(free).map(|line| self.lines[line]);
            free.any(|line| generic::line_strength(line) == Some(FailureStrength::Strong) && !generic::is_wrapper(line))
        };
        let needed = match known {
            // What is only information is not why, where something else says that it failed.
            false if worst == Severity::Info && says_worse() => Severity::Error,
            _ if warns && !candidates.iter().any(errs) && generic::warnings_fail(self.lines) => Severity::Warning,
            true => Severity::Error,
            false => worst,
        };
        let said_elsewhere = candidates.iter().any(|candidate| candidate.said.severity.is_some());
        // What threw may have said before in which file it is wrong.
        let thrown = self
            .failing_diagnostics()
            .all(|item| self.catalog.tools[item.tool()].category == Some(Category::RuntimeError));
        let mut last = None;
        for candidate in candidates {
            let stands =
                thrown && candidate.said.col.is_some() && resolver.exists_as_printed(candidate.said.file.as_deref());
            let unsaid = known && candidate.said.severity.is_none() && !stands;
            // Without a word for it, a place in a known tool's output is more likely a frame than an error.
            if unsaid && !said_elsewhere {
                continue;
            }
            let fails = severity(&candidate) >= needed && !unsaid;
            let (start, end) = candidate.lines;
            self.outcome.roles[start..end].fill(if fails { LineRole::Summary } else { LineRole::Noise });
            let item = self.located_item(&candidate, fails, resolver);
            let key = (item.file.clone(), item.line, item.col, item.message.clone());
            if last.as_ref() == Some(&key) {
                continue;
            }
            last = Some(key);
            if fails {
                let sure = candidate.said.severity == Some(Severity::Error);
                let strength = if sure { FailureStrength::Strong } else { FailureStrength::Weak };
                let speaks = candidate.said.col.is_some() || generic::line_strength(self.lines[start]).is_some();
                let placed =
                    !known && speaks && !said_elsewhere && resolver.exists_as_printed(candidate.said.file.as_deref());
                self.blocks.push(Block { head: start, lines: (start..end).collect(), strength, placed, score: 0.0 });
                self.generic.push(item);
            } else {
                self.beside.push(item);
            }
        }
    }

    /// An item without a place whose block ended at a blank line may be followed by it (`error: …`, then `at a.nix:3:1:`).
    fn place_the_placeless(&mut self, resolver: &PathResolver<'_>) {
        for index in 0..self.outcome.items.len() {
            let found = &self.outcome.items[index];
            if !self.failing[index] || found.place.is_some() {
                continue;
            }
            let after = (found.span.1..self.lines.len()).take(SNIPPET_LINES_MAX);
            let mut after =
                after.filter(|&line| !self.lines[line].trim().is_empty() && !generic::is_drawing(self.lines[line]));
            let below = after.next().filter(|&line| self.lines[line].starts_with([' ', '\t']));
            // … or preceded by it, with the source between (gfortran).
            let before = (found.span.0.saturating_sub(PLACE_DISTANCE_MAX)..found.span.0).rev();
            let above = before.filter(|&line| self.lines[line].trim_end().ends_with(':'));
            let mut free = below.into_iter().chain(above).filter(|&line| self.outcome.roles[line] == LineRole::Free);
            let place = free.find_map(|line| Some((line, located::bare_place(self.lines[line])?.place)));
            let Some((line, place)) = place else { continue };
            self.files.extend(resolver.resolve_path(place.file, &[], PathTrust::Looks));
            self.places[index] = Some(resolver.shown_path(place.file, &[]).into());
            self.outcome.items[index].place = Some(place);
            let end = self.end_of(line);
            self.outcome.roles[line..end].fill(LineRole::Detail(index));
        }
    }

    fn located_item(&mut self, candidate: &LocationCandidate, fails: bool, resolver: &PathResolver<'_>) -> Diagnostic {
        let said = &candidate.said;
        if let Some(file) = said.file.as_ref().filter(|_| fails) {
            match resolver.resolve_path(file, &[], PathTrust::Looks) {
                Some(file) => {
                    self.files.insert(file);
                }
                None => self.missing.extend(resolver.missing_path(file)),
            }
        }
        let message = match said.message.as_str() {
            "" => ellipsis(self.lines[candidate.lines.0].trim(), LINE_KEEP_BYTES_MAX),
            message => prefix(message, MESSAGE_BYTES_MAX).to_owned(),
        };
        Diagnostic {
            tool: "generic".to_owned(),
            code: said.code.clone(),
            severity: said.severity.unwrap_or(Severity::Error),
            file: said.file.as_deref().map(|file| resolver.shown_path(file, &[])),
            line: Some(said.line),
            col: said.col,
            message,
            test: None,
            span: candidate.lines,
        }
    }

    fn location_candidates(&self, resolver: &PathResolver<'_>) -> Vec<LocationCandidate> {
        let mut candidates: Vec<LocationCandidate> = Vec::new();
        let mut header: Option<&str> = None;
        let mut index = 0;
        while index < self.lines.len() {
            let line = self.lines[index];
            if self.outcome.roles[index] != LineRole::Free {
                if let Some(said) = self.swallowed_location(index) {
                    candidates.push(LocationCandidate { said, lines: (index, index + 1) });
                }
                (header, index) = (None, index + 1);
                continue;
            }
            // Nearly every line has no place at all.
            let has_place = located::may_hold_place(line);
            let beside = if has_place { self.beside_message(index) } else { None };
            let said = beside.or_else(|| {
                let row = header.and_then(|file| Some(located::read_row(line)?.in_file(file)));
                let own = || if has_place { located::read_located(line) } else { None };
                row.or_else(own).map(|said| ((index, index), said))
            });
            let Some(((start, last), said)) = said else {
                header = heading_path(line, resolver).or(header.filter(|_| line.trim().is_empty()));
                index += 1;
                continue;
            };
            let taken = candidates.last().map_or(0, |before| before.lines.1);
            let mut end = self.end_of(last);
            // Where a line only says where and how bad, the next one says what.
            let next = Some(end).filter(|&next| next == last + 1 && is_mere(&said.message));
            let next = next.filter(|&next| self.outcome.roles.get(next) == Some(&LineRole::Free));
            let said = match next.map(|next| self.lines[next]).filter(|next| is_sentence(next)) {
                Some(message) => {
                    end += 1;
                    LocatedLine { message: message.trim().to_owned(), ..said }
                }
                None => said,
            };
            // The source that is shown for it, however deep.
            let is_shown =
                |line: usize| self.outcome.roles[line] == LineRole::Free && generic::is_drawn(self.lines[line]);
            if !is_mere(&said.message) {
                let shown = (end..self.lines.len()).take(LOCATED_LINES_MAX).take_while(|&line| is_shown(line));
                end += shown.count();
            }
            candidates.push(LocationCandidate { said, lines: (start.max(taken), end) });
            index = end;
        }
        candidates
    }

    /// A diagnostic of its own that the block of one without a place ran over (`error: linking failed`, then others).
    fn swallowed_location(&self, index: usize) -> Option<LocatedLine> {
        let LineRole::Detail(item) = self.outcome.roles[index] else { return None };
        let line = self.lines[index];
        if self.outcome.items[item].place.is_some() || line.starts_with([' ', '\t']) {
            return None;
        }
        located::read_located(line).filter(|said| said.severity.is_some() && said.file.is_some())
    }

    /// A line that is only a place belongs to the message above it, or to the one below it when that begins with how bad
    /// it is, or a colon says so. With it the first and the last of their lines.
    fn beside_message(&self, index: usize) -> Option<((usize, usize), LocatedLine)> {
        let bare = located::bare_place(self.lines[index])?;
        let said = |message: &str, severity| LocatedLine {
            file: Some(bare.place.file.to_owned()),
            is_plain: false,
            line: bare.place.line.unwrap_or(1),
            col: bare.place.col,
            severity,
            code: None,
            message: message.trim().to_owned(),
        };
        let is_free = |line: &usize| self.outcome.roles.get(*line) == Some(&LineRole::Free);
        let filled = |line: &usize| !self.lines[*line].trim().is_empty();
        let next = Some(index + 1).filter(is_free).map(|line| self.lines[line]);
        let begins = index.checked_sub(1).is_none_or(|above| !filled(&above));
        if let Some((next, severity)) =
            next.filter(|_| begins).and_then(|next| Some((next, located::said_first(next)?)))
        {
            return Some(((index, index + 1), said(next, Some(severity))));
        }
        let above = (0..index).rev().take(SNIPPET_LINES_MAX).take_while(is_free).filter(filled);
        let mut above = above.filter(|&line| !generic::is_drawing(self.lines[line])).take(MESSAGE_DISTANCE_MAX);
        if bare.framed
            && let Some(message) = index.checked_sub(1).filter(is_free).filter(filled)
        {
            let text = self.lines[message];
            let severity =
                located::said_first(text).or_else(|| generic::marked_severity(text)).unwrap_or(Severity::Error);
            return Some(((message, index), said(text, Some(severity))));
        }
        if let Some((line, severity)) = above.find_map(|line| Some((line, located::said_first(self.lines[line])?))) {
            return Some(((line, index), said(self.lines[line], Some(severity))));
        }
        // Alone below the first line of a paragraph, as linters print one finding each.
        let title = index.checked_sub(1).filter(is_free).filter(filled);
        let alone = |title: &usize| title.checked_sub(1).is_none_or(|above| !filled(&above));
        if let Some(title) = title.filter(alone).filter(|_| !bare.colon && is_sentence(self.lines[index - 1])) {
            return Some(((title, index), said(self.lines[title], None)));
        }
        let mut after = (index + 1..self.lines.len()).take(PLACE_DISTANCE_MAX);
        let announced = |line: &usize| bare.colon || begins && located::said_first(self.lines[*line]).is_some();
        let message = after.find(|line| filled(line) && !generic::is_drawing(self.lines[*line])).filter(announced)?;
        let drawn = (index + 1..message).any(|line| generic::is_drawing(self.lines[line]) && filled(&line));
        let last = if drawn && is_free(&message) { message } else { index };
        let message = self.lines[message];
        Some(((index, last), said(message, located::said_first(message))))
    }

    /// The end of a diagnostic's block: the lines below its first that are deeper and begin no other one.
    fn end_of(&self, start: usize) -> usize {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let depth = indent(self.lines[start]);
        let mut end = start + 1;
        while end < self.lines.len()
            && end - start < LOCATED_LINES_MAX
            && self.outcome.roles[end] == LineRole::Free
            && !self.lines[end].trim().is_empty()
            && indent(self.lines[end]) > depth
            && located::read_located(self.lines[end]).is_none()
        {
            end += 1;
        }
        end
    }
}

/// Whether a message says no more than how bad it is (`1: error`).
fn is_mere(message: &str) -> bool {
    let mut words = message.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let places = ["at", "on", "in", "line", "col", "column"];
    words.all(|word| {
        word.bytes().all(|byte| byte.is_ascii_digit())
            || places.contains(&word)
            || engine::severity_of_word(word).is_some()
    })
}

/// Whether a line may be the message of a finding: words, and no frame, place or title of a test.
fn is_sentence(line: &str) -> bool {
    let text = line.trim();
    text.len() == line.trim_end().len()
        && text.split_whitespace().count() > 2
        && !text.ends_with([':', ','])
        && !text.starts_with(['>', '$', '+', '#', '='])
        && !generic::is_frame(line)
        && located::bare_place(line).is_none()
}

/// The file that a line names for the rows below it: alone on its line, or after `File:`.
fn heading_path<'l>(line: &'l str, resolver: &PathResolver<'_>) -> Option<&'l str> {
    let text = line.trim();
    let text = ["FILE:", "File:", "file:"].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text).trim();
    let text = text.strip_suffix(':').unwrap_or(text);
    let is_other = |text: &[u8]| memchr3(b'"', b'(', b'=', text).is_some() || memchr(b'<', text).is_some();
    let may_be = text.len() < 400 && !is_other(text.as_bytes()) && looks_like_a_file(text);
    (may_be && (!text.contains(' ') || resolver.exists_as_printed(Some(text)))).then_some(text)
}

#[cfg(test)]
mod tests {
    use crate::base::tree::EmptyTree;
    use crate::diagnose::{DefinitionSet, DiagnosisInput, diagnose_output};
    use crate::run::CommandEnd;

    fn of(output: &str) -> (Vec<String>, Vec<String>) {
        let said = diagnose_output(&DiagnosisInput {
            output: output.as_bytes(),
            command: "",
            tool: None,
            kind: None,
            ended: CommandEnd::Exit(1),
            dir: "",
            root: "",
            tree: &EmptyTree,
            baseline: None,
            definitions: &DefinitionSet::shipped_only(),
        });
        let shown = |item: &crate::diagnose::Diagnostic| {
            format!("{}:{}", item.file.as_deref().unwrap_or("-"), item.line.unwrap_or(0))
        };
        (said.items.iter().map(shown).collect(), said.others.iter().map(shown).collect())
    }

    #[test]
    fn errors_fail_and_warnings_stand_beside_them() {
        let (failing, others) = of("a.zz(1,2): warning W1: w\nb.zz(3,4): error Q1: e\nc.zz(5): note: n\n");
        assert_eq!(failing, ["b.zz:3"]);
        assert_eq!(others, ["a.zz:1", "c.zz:5"]);
        assert_eq!(of("a.zz(1,2): warning W1: w\n").0, ["a.zz:1"]);
    }

    #[test]
    fn warnings_fail_where_the_output_says_so() {
        let warned = "a.zz:3: warning: old\nb.zz:7: warning: older\n";
        let strict = "error: warnings found and -Werror specified\n1 error\n";
        let (failing, others) = of(&format!("{warned}{strict}"));
        assert!(["a.zz:3", "b.zz:7"].iter().all(|place| failing.contains(&(*place).to_owned())), "{failing:?}");
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(of(&format!("{warned}c.zz:9: error: bad\n{strict}")).1, ["a.zz:3", "b.zz:7"]);
        let java = "src/A.java:3: warning: [deprecation] f() in B has been deprecated\n        b.f();\n         ^\n";
        assert!(of(&format!("{java}{strict}1 warning\n")).0.contains(&"src/A.java:3".to_owned()));
    }

    #[test]
    fn a_place_belongs_to_the_message_above_or_below_it() {
        assert_eq!(of("error: bad thing\n\n   at /p/x.zz:18:23:\n   17| a\n").0, ["/p/x.zz:18"]);
        assert_eq!(of("[WARNING] deprecated\n\t/p/A.zz:12\nimport x;\n").0, ["/p/A.zz:12"]);
        assert_eq!(of("a.zz:3:12:\n\n  x = y\n\nError: no type\n").0, ["a.zz:3"]);
        let two = of("./a.zz:3:20\nType error: bad\n\n> 3 | x\n\n./b.zz:1:2\nWarning: meh\n");
        assert_eq!(two, (vec!["a.zz:3".to_owned()], vec!["b.zz:1".to_owned()]));
        assert_eq!(of("[transform] no brace\n   ╭─[ src/a.zz:2:13 ]\n   │\n 1 │ x\n").0, ["src/a.zz:2"]);
        let drawn = "Error: no variable.\n  ╷\n2 │ .a { b: c; }\n  │         ^\n  ╵\n  a/b.zz 2:13  root stylesheet\n";
        assert_eq!(of(drawn).0, ["a/b.zz:2"]);
    }

    #[test]
    fn rows_belong_to_the_file_above_them() {
        let (failing, others) =
            of("docs/a.zz\n  1:5-1:9  warning  w  rule\n  7:1  error  e  rule\n\nb.zz:\n  line 4: bad\n");
        assert_eq!(failing, ["docs/a.zz:7", "b.zz:4"]);
        assert_eq!(others, ["docs/a.zz:1"]);
        let leading = of("src/a.zz\nERROR: 3:1   no-console  not allowed\nWARNING: 1:1  order  e\n");
        assert_eq!(leading, (vec!["src/a.zz:3".to_owned()], vec!["src/a.zz:1".to_owned()]));
    }

    #[test]
    fn what_a_test_says_of_further_places_stands_beside_it() {
        let (failing, others) = of(
            "=== RUN   TestA\n=== PAUSE TestA\n=== CONT  TestA\n    a_test.go:7: first\n    a_test.go:9: second\n--- FAIL: TestA (0.00s)\nFAIL\n",
        );
        assert_eq!(failing, ["a_test.go:7"]);
        assert_eq!(others, ["a_test.go:9"]);
    }

    #[test]
    fn a_block_without_a_place_does_not_swallow_other_diagnostics() {
        let said = of("error: linking failed\n\"a.zz\", line 3: error: no such symbol\n");
        assert!(said.0.contains(&"a.zz:3".to_owned()), "{said:?}");
    }
}
