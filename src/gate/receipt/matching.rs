//! Whether a receipt's state is the present one, and what differs first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::base::text::one_line;
use crate::capture::{CheckedState, InputDigests};

/// Names that a message has.
const NAMES_MAX: usize = 3;

/// The first thing in which two states differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateDifference {
    /// The command, the folder or the work tree is another one.
    Command,
    /// The files of the work tree; which ones, git knows.
    Tree,
    /// Submodules, programs, variables or dependencies with these names.
    Inputs(Vec<String>),
}

/// What differs between a receipt's state and the present one; `None` when nothing does. Submodules, programs, variables
/// and dependencies are looked at in this order.
pub(crate) fn find_difference(receipt: &CheckedState, now: &CheckedState) -> Option<StateDifference> {
    if receipt == now {
        return None;
    }
    if receipt.command != now.command && Some(&receipt.command) != now.approved_command.as_ref() {
        return Some(StateDifference::Command);
    }
    if receipt.tree != now.tree {
        return Some(StateDifference::Tree);
    }
    if receipt.submodules != now.submodules {
        return Some(StateDifference::Inputs(different_names(&receipt.submodules, &now.submodules)));
    }
    let groups = [
        (&receipt.programs, &now.programs, "a program"),
        (&receipt.environment, &now.environment, "the environment"),
        (&receipt.dependencies, &now.dependencies, "a dependency"),
    ];
    let (receipt, now, group) = groups.into_iter().find(|(receipt, now, _)| receipt != now)?;
    Some(StateDifference::Inputs(names_of_group(receipt, now, group)))
}

/// In how many respects two states differ.
pub(crate) fn count_differences(receipt: &CheckedState, now: &CheckedState) -> usize {
    let differ = [
        receipt.tree != now.tree,
        receipt.submodules != now.submodules,
        receipt.programs != now.programs,
        receipt.environment != now.environment,
        receipt.dependencies != now.dependencies,
    ];
    differ.into_iter().filter(|&differs| differs).count()
}

pub(super) fn names_of_group(receipt: &InputDigests, now: &InputDigests, group: &str) -> Vec<String> {
    match different_names(&receipt.parts, &now.parts) {
        // The short digests are equal by chance, the whole ones are not.
        names if names.is_empty() => vec![group.to_owned()],
        names => names,
    }
}

fn different_names(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

impl fmt::Display for StateDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateDifference::Command => f.write_str("the command changed"),
            StateDifference::Tree => f.write_str("the files changed"),
            StateDifference::Inputs(names) => write!(f, "{} changed", list_some(names, names.len())),
        }
    }
}

/// The first of these names, of `count` in all: `a`, `a, b`, `a, b, c and 4 more`.
pub(crate) fn list_some(names: &[String], count: usize) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| one_line(name)).collect();
    let more = count - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::InputHasher;

    fn state(variables: &[(&str, &str)], programs: &[(&str, &str)]) -> CheckedState {
        let inputs = |added: &[(&str, &str)]| {
            let mut inputs = InputHasher::default();
            added.iter().for_each(|(name, content)| inputs.add(name, content.as_bytes()));
            inputs.finish()
        };
        CheckedState {
            tree: "t".into(),
            environment: inputs(variables),
            programs: inputs(programs),
            ..CheckedState::default()
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let receipt = state(&[("CI", "1"), ("TZ", "UTC")], &[("node", "20")]);
        let said = |now: &CheckedState| find_difference(&receipt, now).map(|difference| difference.to_string());
        assert_eq!(said(&receipt.clone()), None);
        assert_eq!(said(&state(&[("TZ", "UTC")], &[("node", "20")])).as_deref(), Some("CI changed"));
        assert_eq!(said(&state(&[], &[("node", "20")])).as_deref(), Some("CI, TZ changed"));
        assert_eq!(said(&state(&[], &[("node", "21")])).as_deref(), Some("node changed"));
        let other = CheckedState { tree: "u".into(), ..state(&[], &[]) };
        assert_eq!((count_differences(&receipt, &receipt), count_differences(&receipt, &other)), (0, 3));
        assert_eq!(said(&other).as_deref(), Some("the files changed"));
        let mut by_chance = receipt.clone();
        by_chance.environment.digest = "another".into();
        assert_eq!(said(&by_chance).as_deref(), Some("the environment changed"));
        let with_submodule = CheckedState { submodules: [("lib".into(), "1".into())].into(), ..receipt.clone() };
        assert_eq!(said(&with_submodule).as_deref(), Some("lib changed"));
        assert_eq!(list_some(&["a", "b", "c", "d"].map(str::to_owned), 9), "a, b, c and 6 more");
    }
}
