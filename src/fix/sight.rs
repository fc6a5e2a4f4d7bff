//! What a run could report, and whether two runs report in the same way: only then is a missing report evidence.

use std::collections::{HashMap, HashSet};

use super::atom::{self, RunAtoms};
use crate::event::{Atom, DiagnosticRecord, Run};

/// Options that colour the output and change nothing else, with their values.
const COLOURS: [&str; 8] =
    ["--color", "--colour", "--colors", "--no-color", "--no-colour", "--no-colors", "--pretty-colors", "--no-header"];

/// Whether the run failed without saying what is wrong: its only item says how it ended.
pub(crate) fn is_silent(run: &Run) -> bool {
    let items = run.failure.as_ref().map_or(&[][..], |failure| &failure.items);
    matches!(items, [only] if only.is_uninformative())
}

/// Whether all that the run printed was seen, so that what it doesn't report wasn't there.
pub(crate) fn is_seen_whole(run: &Run) -> bool {
    let has_own_status = run.scope.as_ref().is_none_or(|scope| !scope.foreign_status);
    let is_complete = |failure: &crate::event::Failure| {
        failure.items_cut == 0 && failure.lines_unread == 0 && failure.shortfalls.is_empty()
    };
    has_own_status
        && !run.partly_seen
        && run.cut_bytes == 0
        && !is_silent(run)
        && run.failure.as_ref().is_none_or(is_complete)
}

/// Whether two runs were started in the same way: in one folder, with equal arguments but for colours.
pub(crate) fn is_same_call(one: &Run, other: &Run) -> bool {
    let arguments = |run: &Run| -> Vec<String> {
        let all = run.argv.iter().map(crate::base::lossless::Lossless::display);
        all.filter(|argument| !COLOURS.contains(&argument.split('=').next().unwrap_or_default())).collect()
    };
    one.dir == other.dir && arguments(one) == arguments(other)
}

/// What an item says besides its message: items of two reports are compared when they have the same.
type DiagnosticForm = (String, bool, bool, bool);

fn diagnostic_form(item: &DiagnosticRecord) -> DiagnosticForm {
    (item.tool.clone(), item.file.is_some(), item.test.is_some(), item.code.is_some())
}

/// Which atoms of one run another one would have reported too.
pub(crate) enum AtomVisibility {
    /// All of them.
    All,
    /// None: it wasn't seen whole.
    Nothing,
    /// Those that are reported in a form that the other run has too.
    Forms {
        /// The forms of the other run.
        seen: HashSet<DiagnosticForm>,
        /// The form of each atom by its hash.
        of: HashMap<String, DiagnosticForm>,
    },
}

impl AtomVisibility {
    /// Whether `by` would have reported the atoms of `run`. A pass reports none, and that is its statement.
    pub(crate) fn of_run(run: &Run, by: &Run) -> Self {
        if by.failure.is_none() {
            return AtomVisibility::All;
        }
        if !is_seen_whole(by) {
            return AtomVisibility::Nothing;
        }
        if is_same_call(run, by) {
            return AtomVisibility::All;
        }
        let items = |run: &'_ Run| -> Vec<DiagnosticRecord> {
            run.failure.as_ref().map_or(Vec::new(), |found| found.items.clone())
        };
        AtomVisibility::Forms {
            seen: items(by).iter().map(diagnostic_form).collect(),
            of: items(run).iter().map(|item| (atom::of_item(item).hash, diagnostic_form(item))).collect(),
        }
    }

    /// Whether an atom would have been reported.
    pub(crate) fn covers_atom(&self, atom: &Atom) -> bool {
        match self {
            AtomVisibility::All => true,
            AtomVisibility::Nothing => false,
            AtomVisibility::Forms { seen, of } => of.get(&atom.hash).is_some_and(|form| seen.contains(form)),
        }
    }
}

/// The atoms of `after` that are known to be new: those that `before` would have reported.
pub(crate) fn known_as_new(introduced: RunAtoms, before: &Run, after: &Run) -> RunAtoms {
    if !is_seen_whole(before) || is_silent(after) {
        return RunAtoms::default();
    }
    let sight = AtomVisibility::of_run(after, before);
    RunAtoms(introduced.0.into_iter().filter(|atom| sight.covers_atom(atom)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::lossless::Lossless;
    use crate::event::{EventBody, NAMES_NO_PROBLEM, sample};

    fn run(argv: &[&str], change: impl Fn(&mut Run)) -> Run {
        let EventBody::Run(run) = sample::failed_run(1, "one", &["a"]).body else { panic!("a run") };
        let mut run = Run { argv: argv.iter().map(|argument| Lossless::from(*argument)).collect(), ..*run };
        change(&mut run);
        run
    }

    fn silence(run: &mut Run) {
        let failure = run.failure.as_mut().expect("it failed");
        let item = &mut failure.items[0];
        (item.file, item.test, item.code) = (None, None, None);
        item.message = format!("pytest ended with exit code 1 {NAMES_NO_PROBLEM}");
        failure.items.truncate(1);
    }

    #[test]
    fn what_was_cut_sent_to_a_device_or_says_nothing_is_not_seen_whole() {
        assert!(is_seen_whole(&run(&["x"], |_| {})));
        assert!(!is_seen_whole(&run(&["x"], |run| run.partly_seen = true)));
        assert!(!is_seen_whole(&run(&["x"], |run| run.cut_bytes = 1)));
        let silent = run(&["x"], silence);
        assert!(is_silent(&silent) && !is_seen_whole(&silent));
    }

    #[test]
    fn only_colours_make_no_difference_to_a_call() {
        let plain = run(&["ruff", "check", "."], |_| {});
        assert!(is_same_call(&plain, &run(&["ruff", "check", "--color=always", "."], |_| {})));
        assert!(!is_same_call(&plain, &run(&["ruff", "check", ".", "--statistics"], |_| {})));
        assert!(!is_same_call(&plain, &run(&["ruff", "check", "."], |run| run.dir = Lossless::from("app"))));
    }

    #[test]
    fn a_report_of_another_form_says_nothing_of_what_it_does_not_have() {
        let text = run(&["ruff", "check"], |_| {});
        let atoms = atom::of_run(&text);
        let json = run(&["ruff", "check", "--output-format", "json"], |run| {
            run.failure.as_mut().expect("it failed").items[0].tool = "generic".into();
        });
        assert!(!AtomVisibility::of_run(&text, &json).covers_atom(&atoms.0[0]));
        assert!(known_as_new(atom::of_run(&json), &text, &json).is_empty());
        let quiet = run(&["ruff", "check", "-q"], |_| {});
        assert!(AtomVisibility::of_run(&text, &quiet).covers_atom(&atoms.0[0]), "the same items in the same form");
        assert!(!AtomVisibility::of_run(&text, &run(&["ruff", "check"], silence)).covers_atom(&atoms.0[0]));
        assert!(
            AtomVisibility::of_run(&text, &run(&["ruff", "check"], |run| run.failure = None)).covers_atom(&atoms.0[0]),
            "it passed"
        );
    }
}
