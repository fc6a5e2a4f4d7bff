//! How entries read.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::base::markdown;
use crate::base::text::{count, ellipsis, one_line};
use crate::knowledge::EntryType;
use crate::ops::knowledge::{EntryAddReply, EntryChangeReply, EntryList, EntryProposalList, KnowledgeLog};
use crate::ops::library::ServedPage;
use crate::retrieval::entry_measurement::EntryMeasurement;
use crate::retrieval::entry_page::EntryPage;
use crate::retrieval::entry_proposals::EntryProposal;
use crate::surface::cli::Output;
use crate::surface::cli::output::{StyledText, Tone};

/// A property on one line, bytes.
const LINE_BYTES_MAX: usize = 400;

/// What `knowledge types --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::cli) struct KnowledgeTypesReply<'a> {
    /// The types by their names.
    pub types: &'a BTreeMap<String, EntryType>,
}

/// What `knowledge decline --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::cli) struct KnowledgeDeclineReply<'a> {
    /// Id of the fix whose proposal was declined.
    pub declined: &'a str,
}

pub(super) fn added(added: &EntryAddReply, output: &mut Output) -> anyhow::Result<()> {
    let entry = &added.entry;
    match added.result {
        "merged" => {
            output.line(&format!("{}\tmerged: same as {}: {}", added.written, entry.id, one_line(&entry.title)))?;
        }
        _ => output.line(&format!("{}\tcreated, confidence {:.2}", entry.id, entry.confidence))?,
    }
    for similar in &added.similar {
        let title = one_line(&similar.title);
        output.note(&format!("similar ({:.2}): {} {title}", similar.similarity, similar.id));
    }
    Ok(())
}

pub(super) fn proposed(proposals: &EntryProposalList, output: &mut Output) -> anyhow::Result<()> {
    let cells = |it: &EntryProposal| [&it.fix, &it.task, &it.title, &it.accept].map(|text| one_line(text)).to_vec();
    let rows: Vec<Vec<String>> = proposals.proposals.iter().map(cells).collect();
    if rows.is_empty() {
        output.note("no proposals")
    } else {
        output.table(&["fix", "task", "what", "accept with"], &rows)?
    }
    Ok(())
}

pub(super) fn declined(reply: &KnowledgeDeclineReply<'_>, output: &mut Output) -> anyhow::Result<()> {
    output.line(&format!("declined to make a pattern of {}", reply.declined))
}

pub(super) fn changed(changed: &EntryChangeReply, output: &mut Output) -> anyhow::Result<()> {
    output.line(&format!("{}; confidence {:.2}", changed.done, changed.entry.confidence))
}

pub(super) fn found(found: &EntryList, output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = found
        .entries
        .iter()
        .map(|page| {
            let title = ellipsis(&one_line(page.example.as_ref().unwrap_or(&page.title)), LINE_BYTES_MAX);
            vec![page.id.clone(), one_line(&page.kind), format!("{:.2}", page.confidence), title]
        })
        .collect();
    if rows.is_empty() {
        if found.pages.is_empty() {
            output.note("no entries found");
        }
    } else {
        output.list_title(&count(rows.len(), "entry").replace("entrys", "entries"))?;
        output.table(&["id", "type", "confidence", "title"], &rows)?
    }
    if found.more {
        output.note("there are more\n\nhint: add `--page 2`");
    }
    if !found.pages.is_empty() {
        output.list_title(&format!("approved {}", count(found.pages.len(), "page")))?;
        let rows: Vec<Vec<String>> = found.pages.iter().map(page_row).collect();
        output.table(&["id", "evidence", "title", "file"], &rows)?;
    }
    Ok(())
}

fn page_row(page: &ServedPage) -> Vec<String> {
    vec![page.id.clone(), page.evidence.clone(), one_line(&page.title), page.path.clone()]
}

pub(super) fn shown(page: &EntryPage, output: &mut Output) -> anyhow::Result<()> {
    let title = page.example.as_ref().unwrap_or(&page.title);
    output.title(title)?;
    let pinned = if page.pinned { ", pinned" } else { "" };
    let seen = count(page.occurrences, "occurrence");
    output.spans(&[
        StyledText::new(Tone::Faint, format!("{}: ", page.id)),
        StyledText::plain(format!("{}, confidence {:.2}{pinned}, {seen}", one_line(&page.kind), page.confidence)),
    ])?;
    for (name, value) in page.properties.as_object().into_iter().flatten() {
        // What was learnt has the masked title as its pitfall.
        if !page.learnt || name != "pitfall" {
            output.field(name, &flat(value))?;
        }
    }
    for (label, values) in
        [("files", &page.globs), ("actions", &page.actions), ("tags", &page.tags), ("from", &page.sources)]
    {
        if !values.is_empty() {
            output.field(label, &ellipsis(&values.join(", "), LINE_BYTES_MAX))?;
        }
    }
    if let Some(better) = &page.superseded_by {
        output.field("superseded by", better)?;
    }
    if page.from_shared_lesson {
        output.field("imported", "from a lesson that the team shares")?;
    } else if page.imported {
        output.field("imported", "not given to agents; to trust it, import it again with --trust")?;
    }
    if let Some(measured) = &page.measured {
        output.field("effect", &came_of(measured))?;
    }
    print_ledger(page, output)
}

fn came_of(measured: &EntryMeasurement) -> String {
    let warned = measured.prevented + measured.failed_anyway;
    match &measured.not_measurable {
        Some(why) => why.clone(),
        None if warned == 0 => "no warned task is measured yet".to_owned(),
        None => format!("{} of {} avoided the mistake", measured.prevented, count(warned, "warned task")),
    }
}

fn print_ledger(page: &EntryPage, output: &mut Output) -> anyhow::Result<()> {
    for step in page.ledger.iter().flat_map(|ledger| &ledger.steps) {
        let what = ellipsis(&one_line(&step.what), LINE_BYTES_MAX);
        let (tone, when) = (if step.delta < 0.0 { Tone::Bad } else { Tone::Good }, output.when(step.at));
        output.spans(&[
            StyledText::new(tone, format!("  {:+.2}", step.delta)),
            StyledText::plain(format!(" {what}")),
            StyledText::new(Tone::Faint, format!(", {when}")),
        ])?;
    }
    Ok(())
}

pub(super) fn exported(found: &EntryList, output: &mut Output) -> anyhow::Result<()> {
    let mut text = "# Knowledge\n".to_owned();
    for page in &found.entries {
        let superseded = page.superseded_by.as_ref().map(|id| format!(", superseded by {}", markdown::code(id)));
        text.push_str(&format!("\n## {}\n\n", markdown::code(&page.title)));
        text.push_str(&format!(
            "- {} {}, confidence {:.2}{}\n",
            markdown::code(&page.kind),
            markdown::code(&page.id),
            page.confidence,
            superseded.unwrap_or_default()
        ));
        for (label, values) in [("files", &page.globs), ("actions", &page.actions), ("tags", &page.tags)] {
            if !values.is_empty() {
                text.push_str(&format!("- {label}: {}\n", markdown::code(&values.join(", "))));
            }
        }
        for (name, value) in page.properties.as_object().into_iter().flatten() {
            match value {
                Value::String(many) if many.contains('\n') => {
                    text.push_str(&format!("- {}:\n\n{}\n", markdown::code(name), markdown::fence("", many, false)));
                }
                value => text.push_str(&format!("- {}: {}\n", markdown::code(name), markdown::code(&flat(value)))),
            }
        }
    }
    output.text(&text)?;
    Ok(())
}

pub(super) fn logged(log: &KnowledgeLog, output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = log
        .events
        .iter()
        .map(|event| {
            let agent = one_line(event.agent.as_deref().unwrap_or("-"));
            vec![output.when(event.at), event.event.clone(), event.entry.clone(), agent]
        })
        .collect();
    output.table(&["when", "event", "entry", "agent"], &rows)?;
    Ok(())
}

pub(super) fn listed(reply: &KnowledgeTypesReply<'_>, output: &mut Output) -> anyhow::Result<()> {
    for (name, entry_type) in reply.types {
        let required: Vec<&str> = entry_type.schema.required().collect();
        let value = entry_type.schema.value();
        let all = value.get("properties").and_then(Value::as_object).into_iter().flatten();
        let optional: Vec<String> =
            all.map(|(name, _)| name.clone()).filter(|name| !required.contains(&name.as_str())).collect();
        output.line(&format!("{name}: {}", one_line(&entry_type.description)))?;
        output.line(&format!("  needs {}; may have {}", required.join(", "), optional.join(", ")))?;
    }
    Ok(())
}

/// A value on one line.
fn flat(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    };
    ellipsis(&one_line(&text), LINE_BYTES_MAX)
}
