//! `verify-run pattern explain`.

use std::io::{BufWriter, stdin};

use crate::base::text::one_line;
use crate::ops::explain::{self, ExplainRequest, PatternExplanation};
use crate::surface::cli::{CommandContext, Output};

/// Show how a message becomes its keys, step by step
///
/// With --jsonl, each line of standard input is an object with `text`, `tool` and `code`, and the output has a line
/// with `family`, `pattern`, `masked` and `masked_family` for each, in order.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(super) struct Args {
    /// A pattern's id, or a unique start of it
    #[arg(group = "what")]
    id: Option<String>,
    /// A message
    #[arg(long, group = "what")]
    text: Option<String>,
    /// The tool that printed the message
    #[arg(long, requires = "text", default_value = "", hide_default_value = true)]
    tool: String,
    /// The message's rule code, error code or exception class
    #[arg(long, requires = "text")]
    code: Option<String>,
    /// Explain each line of standard input, an object with text, tool and code
    #[arg(long, group = "what")]
    jsonl: bool,
    /// Give nearly equal messages the keys of the first one
    #[arg(long, requires = "jsonl")]
    merge: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<()> {
    let similarity_min = context.request.settings().patterns.similarity;
    let explained = match (&args.id, &args.text) {
        (Some(id), _) => explain::explain_pattern(&context.request, id, similarity_min)?,
        (None, Some(text)) => {
            let asked = ExplainRequest { text: text.clone(), tool: args.tool.clone(), code: args.code.clone() };
            explain::explain_message(&context.request, asked, similarity_min)?
        }
        (None, None) => {
            return explain::explain_lines(stdin().lock(), BufWriter::new(context.output.stream()), args.merge);
        }
    };
    context.output.reply(&explained, args.json, print)
}

fn print(explained: &PatternExplanation, output: &mut Output) -> anyhow::Result<()> {
    let steps = &explained.steps;
    let mut line = |name: &str, value: &str| output.line(&one_line(&format!("{name:<13}{value}")));
    line("id", explained.id.as_deref().unwrap_or("(not in the store)"))?;
    line("text", &steps.text)?;
    line("tool class", &steps.tool_class)?;
    let from = serde_json::to_value(steps.code_from)?;
    match &steps.code {
        Some(code) => line("code", &format!("{code} (from the {})", from.as_str().unwrap_or_default()))?,
        None => line("code", "(none)")?,
    }
    line("context", steps.context)?;
    line(
        "masked",
        match steps.level {
            "all" => "everything",
            "quotes" => "all but bare names: nothing else would be left",
            _ => "all but names and quotes: nothing else would be left",
        },
    )?;
    for slot in &steps.slots {
        let kept = match slot.subjects.as_slice() {
            [] => "value".to_owned(),
            subjects => format!("subject {}", subjects.join(", ")),
        };
        line("slot", &format!("{:<9} {} -> {kept}", slot.class, slot.text))?;
    }
    if let Some(site) = &steps.site {
        line("site", &format!("{site} (the message says too little)"))?;
    }
    line("family", &format!("{} {}", steps.family, steps.family_text))?;
    line("pattern", &format!("{} {}", steps.pattern, steps.pattern_text))?;
    for near in &explained.near {
        let (similar, verdict) = (near.compared.similarity * 100.0, near.compared.verdict.describe());
        line("near", &format!("{} {similar:.0} % similar, {verdict}: {}", near.id, near.text))?;
    }
    Ok(())
}
