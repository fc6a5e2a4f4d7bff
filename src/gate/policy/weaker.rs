//! What of a checklist is weaker than it was. Pure.

use super::checklist::{Checklist, ChecklistItem, JudgedScope};
use super::expression::{Comparison, Expression};

/// What `now` demands less of than `base` did, each a phrase: `D5 does not block any more`.
pub(crate) fn weaker_items(base: &Checklist, now: &Checklist) -> Vec<String> {
    let mut weaker = Vec::new();
    for before in base.items() {
        let id = &before.id;
        let Some(after) = now.items().find(|item| item.id == *id) else {
            weaker.push(format!("{id} is gone"));
            continue;
        };
        weaker.extend(weaker_parts(before, after).into_iter().map(|part| format!("{id} {part}")));
    }
    weaker
}

fn weaker_parts(before: &ChecklistItem, after: &ChecklistItem) -> Vec<&'static str> {
    let narrower_kinds = !after.applies_to.is_empty()
        && (before.applies_to.is_empty() || before.applies_to.iter().any(|kind| !after.applies_to.contains(kind)));
    let conditions = [
        (before.blocking && !after.blocking, "does not block any more"),
        (!is_as_strict(&before.expression, &after.expression), "has a weaker or another condition"),
        (before.source != after.source, "is measured in another way"),
        (before.scope == JudgedScope::All && after.scope == JudgedScope::Changed, "judges only what changed"),
        (narrower_kinds, "applies to fewer kinds of change"),
        (before.not_applicable.is_none() && after.not_applicable.is_some(), "is said not to apply"),
        (after.red_evidence < before.red_evidence, "asks less whether tests were seen failing"),
        (before.has_guards && !after.has_guards, "ignores weakened checks"),
        (!before.holds_the_line && after.holds_the_line, "admits findings of the base"),
        (after.reuses && !before.reuses, "may be answered by an earlier pass"),
        (after.complex_from > before.complex_from, "asks for comments in fewer functions"),
    ];
    conditions.into_iter().filter(|(is_weaker, _)| *is_weaker).map(|(_, words)| words).collect()
}

/// Whether a condition is the same one, or the same comparison with a stricter number. Anything else may be weaker.
fn is_as_strict(before: &Expression, after: &Expression) -> bool {
    if before == after {
        return true;
    }
    let (
        Expression::Compare { metric, comparison, number: old },
        Expression::Compare { metric: same_metric, comparison: same_comparison, number: new },
    ) = (before, after)
    else {
        return false;
    };
    let is_stricter = match comparison {
        Comparison::Less | Comparison::LessOrEqual => new <= old,
        Comparison::Greater | Comparison::GreaterOrEqual => new >= old,
        Comparison::Equal | Comparison::NotEqual => false,
    };
    metric == same_metric && comparison == same_comparison && is_stricter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::policy::SHIPPED_CHECKLIST;

    #[test]
    fn a_lower_demand_is_weaker_and_a_higher_one_is_not() {
        let parse = |text: &str| Checklist::parse(text, "c").expect("a checklist");
        let base = parse(SHIPPED_CHECKLIST);
        let cases = [
            ("max_complexity < 10", "max_complexity < 100", vec!["C2 has a weaker or another condition"]),
            ("max_complexity < 10", "max_complexity < 5", vec![]),
            ("scope: changed", "scope: all", vec![]),
            ("complex_from: 6", "complex_from: 60", vec!["D4 asks for comments in fewer functions"]),
            (
                "grep_changelog\"\n        blocking: true",
                "grep_changelog\"\n        blocking: false",
                vec!["D5 does not block any more"],
            ),
            ("\n      - id: D5", "\n      - id: D6", vec!["D5 is gone"]),
        ];
        for (old, new, expected) in cases {
            assert!(SHIPPED_CHECKLIST.contains(old), "{old}");
            assert_eq!(weaker_items(&base, &parse(&SHIPPED_CHECKLIST.replacen(old, new, 1))), expected, "{new}");
        }
    }
}
