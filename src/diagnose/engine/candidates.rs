//! Which rules may match which line: those with a literal in it.
//!
//! Lines of one output are much alike. Which literals a line has decides which rules are asked, and in which order, so
//! that is worked out once for all lines that have the same ones.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::diagnose::catalog::{Catalog, LiteralMeaning, Scanner};
use crate::diagnose::definition::DefinitionKind;

use super::drive;
use super::line::line_head;

/// A rule that may match a line, with what is asked about it before its regex.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleCandidate {
    pub rule: u16,
    pub tool: u16,
    pub kind: DefinitionKind,
    /// Whether it holds only in its section, or behind blank lines.
    pub conditional: bool,
}

/// For each line the rules that may match it, each once, those of the tools that the command names first. All layers'
/// rules together are far fewer than 65,536.
pub(super) struct RuleCandidates<'a> {
    literals: CandidateLiterals<'a>,
    named: &'a [bool],
    sets: Vec<Vec<RuleCandidate>>,
    /// By line: index of its set; [`NO_SET`] where there were too many.
    set_of: Vec<u32>,
    /// The set of a line that has none of its own.
    spare: Vec<RuleCandidate>,
}

/// Sets that are remembered; a line with yet another one is looked at again when its turn comes.
const SETS_MAX: usize = 4_096;
const NO_SET: u32 = u32::MAX;

/// Finds literals.
struct CandidateLiterals<'a> {
    catalog: &'a Catalog,
    scanner: Scanner<'a>,
    /// By literal: the last look that saw it.
    seen_in: Vec<usize>,
    looks: usize,
    found: Vec<u32>,
    /// Whether a line may have a path with a drive.
    drives: bool,
}

impl<'a> CandidateLiterals<'a> {
    /// For the literals of these lines.
    fn new(catalog: &'a Catalog, lines: &[&str], drives: bool) -> Self {
        let printed = lines.iter().map(|line| Cow::Borrowed(line_head(line).as_bytes()));
        let scanner = if drives {
            catalog.build_scanner(printed.chain(lines.iter().map(|line| drive::as_posix(line_head(line)))))
        } else {
            catalog.build_scanner(printed)
        };
        CandidateLiterals {
            catalog,
            scanner,
            seen_in: vec![0; catalog.literal_count()],
            looks: 0,
            found: Vec::new(),
            drives,
        }
    }

    /// The literals in a line, each once, in the order of their numbers.
    fn literals_in(&mut self, line: &str) -> &[u32] {
        self.looks += 1;
        self.found.clear();
        let line = line_head(line);
        let mut scan = |text: &[u8]| {
            self.scanner.scan_line(text, |literal| {
                if std::mem::replace(&mut self.seen_in[literal], self.looks) != self.looks {
                    self.found.extend(u32::try_from(literal));
                }
            });
        };
        scan(line.as_bytes());
        if self.drives {
            scan(&drive::as_posix(line));
        }
        self.found.sort_unstable();
        &self.found
    }
}

impl<'a> RuleCandidates<'a> {
    /// One look at the literals of all lines: which tools' output is here, and which rules may match where.
    pub(super) fn look_over(
        catalog: &'a Catalog,
        lines: &[&str],
        named: &'a [bool],
        drives: bool,
    ) -> (Vec<bool>, Self) {
        let mut literals = CandidateLiterals::new(catalog, lines, drives);
        let mut live: Vec<bool> =
            catalog.tools.iter().zip(named).map(|(tool, &named)| named || tool.markers.is_empty()).collect();
        let mut known: HashMap<Box<[u32]>, u32> = HashMap::new();
        let mut set_of = Vec::with_capacity(lines.len());
        // Most lines have what the line above has.
        let mut above: (Vec<u32>, u32) = (Vec::new(), NO_SET);
        for line in lines {
            let found = literals.literals_in(line);
            if above.1 != NO_SET && above.0 == found {
                set_of.push(above.1);
                continue;
            }
            if let Some(&set) = known.get(found) {
                above.0.clear();
                above.0.extend_from_slice(found);
                above.1 = set;
                set_of.push(set);
                continue;
            }
            for &literal in found {
                for what in catalog.meanings_of(literal as usize) {
                    if let LiteralMeaning::Marker(tool) = *what {
                        live[tool] = true;
                    }
                }
            }
            let set = u32::try_from(known.len()).ok().filter(|_| known.len() < SETS_MAX);
            if let Some(set) = set {
                known.insert(found.into(), set);
            }
            set_of.push(set.unwrap_or(NO_SET));
        }
        // Which rules count is known only now: what says whose output it is may be at its end.
        let mut sets = vec![Vec::new(); known.len()];
        for (literals, set) in known {
            fill_candidates(&mut sets[set as usize], catalog, &literals, &live, named);
        }
        (live, RuleCandidates { literals, named, sets, set_of, spare: Vec::new() })
    }

    /// The rules that may match the line with this index.
    pub(super) fn candidates_of_line(&mut self, index: usize, line: &str, live: &[bool]) -> &[RuleCandidate] {
        match self.sets.get(self.set_of[index] as usize) {
            Some(set) => set,
            None => {
                let catalog = self.literals.catalog;
                self.spare.clear();
                fill_candidates(&mut self.spare, catalog, self.literals.literals_in(line), live, self.named);
                &self.spare
            }
        }
    }
}

fn fill_candidates(set: &mut Vec<RuleCandidate>, catalog: &Catalog, literals: &[u32], live: &[bool], named: &[bool]) {
    for &literal in literals {
        for what in catalog.meanings_of(literal as usize) {
            let LiteralMeaning::Rule(index) = *what else { continue };
            let rule = &catalog.rules[index];
            if let (Ok(index), Ok(tool)) = (u16::try_from(index), u16::try_from(rule.tool))
                && live[rule.tool]
            {
                let conditional = rule.rule_text().blank_before > 0 || rule.rule_text().when.is_some();
                set.push(RuleCandidate { rule: index, tool, kind: rule.rule_text().kind, conditional });
            }
        }
    }
    set.sort_unstable_by_key(|candidate| (!named[usize::from(candidate.tool)], candidate.rule));
    set.dedup_by_key(|candidate| candidate.rule);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::catalog;

    #[test]
    fn a_line_has_the_same_candidates_however_many_sets_there_were_before_it() {
        let catalog = catalog::shipped_catalog();
        let literals: Vec<&str> =
            catalog.rules.iter().step_by(50).map(|rule| &*rule.rule_text().needs.as_slice()[0]).collect();
        let subset = |number: usize| -> String {
            literals.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1).map(|(_, text)| *text).collect()
        };
        let lines: Vec<String> = (0..2 * SETS_MAX).map(subset).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let named = vec![false; catalog.tools.len()];
        let rules = |set: &[RuleCandidate]| set.iter().map(|candidate| candidate.rule).collect::<Vec<_>>();
        let (live, mut many) = RuleCandidates::look_over(catalog, &lines, &named, false);
        assert_eq!(many.sets.len(), SETS_MAX);
        assert!(many.set_of.contains(&NO_SET));
        for index in (SETS_MAX - 10..SETS_MAX).chain(2 * SETS_MAX - 10..2 * SETS_MAX) {
            let mut alone = RuleCandidates::look_over(catalog, &lines[index..=index], &named, false).1;
            alone.set_of[0] = NO_SET;
            assert_eq!(
                rules(many.candidates_of_line(index, lines[index], &live)),
                rules(alone.candidates_of_line(0, lines[index], &live)),
                "{index}"
            );
        }
    }
}
