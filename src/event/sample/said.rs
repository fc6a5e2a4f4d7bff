//! Events for tests: entries, strategies and memories.

use serde_json::json;

use super::{by, delivery, event, run_id};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::event::{
    AttemptOutcome, EntryChange, EntryNote, EntryOrigin, EntrySource, EntryUse, Event, EventAuthor, EventBody,
    KnowledgeEntry, MemoryChange, MemoryNote, MemoryType, StrategyChange, StrategyMatchKind, StrategyNote,
};

fn agent(n: u64) -> EventAuthor {
    EventAuthor {
        agent: Some(if n.is_multiple_of(2) { "codex" } else { "claude-code" }.into()),
        task: Some("one".into()),
        ..by()
    }
}

/// An entry `k-{n % 5}` that is written in second `n`.
pub(crate) fn entry(n: u64, title: &str) -> Event {
    let created = KnowledgeEntry {
        entry_type: ["gotcha", "pattern", "runbook"][usize::try_from(n % 3).unwrap_or(0)].into(),
        title: title.into(),
        properties: json!({"pitfall": format!("{title} is easily forgotten"), "level": n}),
        globs: vec!["src/**".into(), format!("src/{n}/*.js")],
        actions: vec!["CREATE".into()],
        tags: vec!["db".into()],
        sources: vec!["p-1".into()],
        origin: EntryOrigin { source: EntrySource::Check, prevented: n.is_multiple_of(2), fix_applied: true },
    };
    let change = EntryChange::Created(Box::new(created));
    event(n, 12_000, EventBody::Knowledge(EntryNote { entry: format!("k-{}", n % 5), change, by: agent(n) }))
}

/// A gotcha `k-{n % 5}` that is written in second `n`, about files in `src`.
pub(crate) fn gotcha(n: u64, pitfall: &str, sources: &[String]) -> Event {
    let mut event = entry(n, &format!("Gotcha {n}"));
    event.id = run_id(18_000 + n).0;
    if let EventBody::Knowledge(EntryNote { change: EntryChange::Created(entry), .. }) = &mut event.body {
        entry.entry_type = "gotcha".into();
        entry.properties = json!({"pitfall": pitfall});
        entry.actions = vec![if n.is_multiple_of(3) { "CREATE" } else { "UPDATE" }.into()];
        entry.sources = sources.to_vec();
    }
    event
}

/// Advice from the entry `k-{about}` in second `n`.
pub(crate) fn entry_delivery(n: u64, task: &str, about: u64) -> Event {
    let mut event = delivery(n, task, "");
    event.id = run_id(19_000 + n).0;
    if let EventBody::Delivery(delivery) = &mut event.body {
        (delivery.pattern, delivery.entry) = (None, Some(format!("k-{about}")));
        delivery.warning = format!("w-{n}-k");
    }
    event
}

/// What is said in second `n` of the entry `k-{about}`: which of the changes `n` decides.
pub(crate) fn entry_change(n: u64, about: u64, other: u64) -> Event {
    let other = format!("k-{other}");
    let change = match n % 6 {
        0 => EntryChange::Superseded { with: other },
        1 => EntryChange::ConfidenceSet { value_permille: 300, reason: "seen otherwise".into() },
        2 => EntryChange::Pinned { on: n.is_multiple_of(4) },
        3 | 4 => EntryChange::Merged { into: other },
        _ => EntryChange::Used { how: EntryUse::Applied, with: vec![other] },
    };
    event(n, 13_000, EventBody::Knowledge(EntryNote { entry: format!("k-{about}"), change, by: agent(n) }))
}

/// A strategy that a user proposes in second `n`.
pub(crate) fn said_strategy(n: u64, error: &str, technique: &str) -> Event {
    let strategy = ids::said_strategy("pattern", error, technique);
    let (matches, steps) = (StrategyMatchKind::Pattern, vec![format!("step {n}")]);
    let change =
        StrategyChange::Created { matches, text: error.into(), technique: technique.into(), steps, declared: false };
    event(n, 14_000, EventBody::Strategy(StrategyNote { strategy, change, by: agent(n) }))
}

/// A strategy of the settings, and its outcome, in turn.
pub(crate) fn declared_strategy(n: u64, outcome: AttemptOutcome) -> Event {
    let strategy = ids::declared_strategy("a regex", "", "tool", "do {{ this }}");
    let change = if n.is_multiple_of(2) {
        let (technique, steps) = ("do {{ this }}".into(), vec![format!("step {n}")]);
        StrategyChange::Created {
            matches: StrategyMatchKind::Regex,
            text: "a regex".into(),
            technique,
            steps,
            declared: true,
        }
    } else {
        StrategyChange::Attempted { outcome, category: None, file_type: None, note: None }
    };
    event(n, 18_000, EventBody::Strategy(StrategyNote { strategy, change, by: agent(n) }))
}

/// The outcome of it in second `n`.
pub(crate) fn strategy_report(n: u64, error: &str, technique: &str, outcome: AttemptOutcome) -> Event {
    let strategy = ids::said_strategy("pattern", error, technique);
    let (category, file_type) = (Some("bugfix".into()), Some("py".into()));
    let change = StrategyChange::Attempted { outcome, category, file_type, note: Some("so it went".into()) };
    event(n, 15_000, EventBody::Strategy(StrategyNote { strategy, change, by: agent(n) }))
}

/// A memory `m-{n % 5}` of second `n`.
pub(crate) fn memory(n: u64) -> Event {
    let change = MemoryChange::Remembered {
        memory_type: if n.is_multiple_of(2) { MemoryType::Learning } else { MemoryType::Context },
        text: format!("remembered in {n}"),
        importance_permille: 700,
        expires_at: n.is_multiple_of(3).then_some(Timestamp(5)),
    };
    event(n, 16_000, EventBody::Memory(MemoryNote { memory: format!("m-{}", n % 5), change, by: agent(n) }))
}

/// What is said in second `n` of the memory `m-{about}`.
pub(crate) fn memory_change(n: u64, about: u64) -> Event {
    let change = match n % 3 {
        0 => MemoryChange::Recalled { with: vec!["m-9".into()] },
        1 => MemoryChange::Validated,
        _ => MemoryChange::Promoted { entry: "k-1".into() },
    };
    event(n, 17_000, EventBody::Memory(MemoryNote { memory: format!("m-{about}"), change, by: agent(n) }))
}
