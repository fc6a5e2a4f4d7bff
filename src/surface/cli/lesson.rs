//! `verify-run lesson list|search|show|annotate|forget|prune|share`.

use std::path::Path;

use serde::Serialize;

use super::output::{StyledText, Tone};
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::text::{count, one_line, printable};
use crate::lesson::LessonFrontMatter;
use crate::ops::board::lessons::{BrokenLesson, LessonReply, LessonShowReply, LessonTableRow};
use crate::ops::lesson::{self, FoundLesson, LessonAnnotation, LessonPruneOptions, ListedLesson};
use crate::ops::reply::Reply;
use crate::ops::search::{self, LessonHits};

/// Read, annotate and share lessons
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: LessonCommand,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum LessonCommand {
    /// List lessons, oldest first
    List {
        /// Include lessons that were withdrawn after the fix
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Find lessons by words, best match first
    Search {
        /// Words, or an id prefix; without any, the newest lessons
        text: Vec<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 10, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a lesson
    Show {
        /// Id, or a unique prefix of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Annotate a lesson with the cause, the solution and a rule
    #[command(group = clap::ArgGroup::new("texts").required(true).multiple(true))]
    Annotate {
        /// Id, or a unique prefix of it
        id: String,
        /// Cause of the failure
        #[arg(long, group = "texts", value_name = "TEXT")]
        cause: Option<String>,
        /// Solution
        #[arg(long, group = "texts", value_name = "TEXT")]
        resolution: Option<String>,
        /// Rule that prevents it
        #[arg(long = "rule", group = "texts", value_name = "TEXT")]
        corrective_rule: Option<String>,
        /// Author (default: the agent)
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Remove a lesson and write none for its patterns again
    Forget {
        /// Id, or a unique prefix of it
        id: String,
    },
    /// Remove old lessons, except annotated ones
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Prune {
        /// Remove lessons older than N days
        #[arg(long, group = "which", value_name = "DAYS")]
        older_than: Option<u64>,
        /// Keep only the N newest lessons
        #[arg(long, group = "which", value_name = "N")]
        keep: Option<usize>,
        /// Include annotated lessons
        #[arg(long)]
        annotated: bool,
        /// Show what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Share the lessons, so that they can be committed
    Share,
}

/// What `lesson list --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LessonListReply {
    /// The lessons, oldest first.
    lessons: Vec<LessonTableRow>,
    /// Files that can't be read as lessons.
    broken: Vec<BrokenLesson>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.use_pager(args.paging.pager);
    match &args.command {
        LessonCommand::List { all, json } => {
            let listed = if *all { lesson::list_all(&context.request) } else { lesson::list_lessons(&context.request) };
            let lessons = listed.lessons.iter().map(LessonTableRow::from_found).collect();
            let broken = listed.broken.iter().map(|(file, reason)| BrokenLesson::new(file, reason)).collect();
            let reply = Reply::from(LessonListReply { lessons, broken });
            context.output.reply(&reply, *json, |_, output| print_list(&listed, *all, output))?;
            Ok(Exit::Ok)
        }
        LessonCommand::Search { text, limit, json } => {
            let hits = search::search_lessons(&context.request, &text.join(" "), *limit);
            context.output.reply(&hits, *json, print_hits)?;
            Ok(Exit::Ok)
        }
        LessonCommand::Show { id, json } => {
            let found = lesson::show_lesson(&context.request, id)?;
            let root = &context.request.places.root;
            let reply = Reply::from(LessonShowReply { lesson: LessonReply::from_found(&found) });
            context.output.reply(&reply, *json, |_, output| print_lesson(&found, root, output))?;
            Ok(Exit::Ok)
        }
        LessonCommand::Annotate { id, cause, resolution, corrective_rule, by } => {
            let annotation = LessonAnnotation {
                cause: cause.clone(),
                resolution: resolution.clone(),
                corrective_rule: corrective_rule.clone(),
                by: by.clone().or_else(|| context.request.identity.agent.clone()),
            };
            let found = lesson::annotate_lesson(&context.request, id, annotation)?;
            context.output.line(&one_line(&format!("annotated {}", found.path.display())))?;
            Ok(Exit::Ok)
        }
        LessonCommand::Forget { id } => {
            let forgotten = lesson::forget_lesson(&context.request, id)?;
            let patterns = count(forgotten.patterns.len(), "pattern");
            context.output.line(&format!("forgot {} and {patterns}", one_line(&forgotten.id)))?;
            Ok(Exit::Ok)
        }
        LessonCommand::Prune { older_than, keep, annotated, dry_run } => {
            let prune = LessonPruneOptions {
                older_than_days: *older_than,
                keep: *keep,
                annotated: *annotated,
                dry_run: *dry_run,
            };
            let removed = lesson::prune_lessons(&context.request, prune)?;
            for path in &removed {
                context.output.line(&one_line(&path.display().to_string()))?;
            }
            let done = if *dry_run { "would remove" } else { "removed" };
            context.output.note(&format!("{done} {}", count(removed.len(), "lesson")));
            Ok(Exit::Ok)
        }
        LessonCommand::Share => {
            let (dir, changed) = lesson::share_lessons(&context.request)?;
            let dir = one_line(&dir.display().to_string());
            let done = if changed { "shared" } else { "already shared" };
            context.output.line(&format!("{done}: {dir}; to commit the lessons worth keeping: git add {dir}"))?;
            Ok(Exit::Ok)
        }
    }
}

fn print_list(listed: &ListedLesson, all: bool, output: &mut Output) -> anyhow::Result<()> {
    if listed.lessons.is_empty() {
        let (why, next) = if all {
            ("no lessons yet: they come from failed checks", "npm test")
        } else {
            ("no lessons: a failed check gets one, which is withdrawn when the failure is gone", "lesson list --all")
        };
        output.note(&format!("{why}\n\nhint: run `verify-run {next}`"));
    }
    let annotated = listed.lessons.iter().filter(|found| is_annotated(&found.lesson.front)).count();
    if !listed.lessons.is_empty() {
        let annotated = if annotated > 0 { format!(", {annotated} annotated") } else { String::new() };
        output.list_title(&format!("{}{annotated}", count(listed.lessons.len(), "lesson")))?;
    }
    let row = |found: &FoundLesson| {
        let front = &found.lesson.front;
        let when = output.when(front.recorded_at);
        // On a terminal the title has the room: it begins with the tool.
        let (tool, category) =
            if output.terminal() { ("", "") } else { (front.tool.as_str(), front.category.as_str()) };
        [front.id.as_str(), &when, tool, category, found.lesson.title()].map(one_line).to_vec()
    };
    let rows: Vec<Vec<String>> = listed.lessons.iter().map(row).collect();
    output.table(&["id", "when", "tool", "category", "lesson"], &rows)?;
    for (_, reason) in &listed.broken {
        output.note(&one_line(&format!("verify-run: {reason}")));
    }
    Ok(())
}

fn print_hits(hits: &LessonHits, output: &mut Output) -> anyhow::Result<()> {
    if hits.lessons.is_empty() {
        output.note("no lesson has these words");
    }
    let rows: Vec<Vec<String>> = hits
        .lessons
        .iter()
        .map(|hit| {
            let why = hit.cause.clone().or_else(|| hit.rule.clone()).unwrap_or_default();
            vec![hit.id.clone(), output.when(hit.recorded_at), hit.tool.clone(), hit.title.clone(), why]
        })
        .collect();
    output.table(&["id", "when", "tool", "lesson", "cause or rule"], &rows)?;
    if hits.more > 0 {
        output.note(&format!("{} more", hits.more));
    }
    Ok(())
}

/// The title, what people wrote about it, and the page without the marks by which verify-run finds its parts.
fn print_lesson(found: &FoundLesson, root: &Path, output: &mut Output) -> anyhow::Result<()> {
    let front = &found.lesson.front;
    output.title(found.lesson.title())?;
    let when = output.when(front.recorded_at);
    let category = output.word(&front.category);
    output.spans(&[
        StyledText::new(Tone::Faint, format!("{}: ", one_line(&front.id))),
        StyledText::plain(format!("{category}, {when}")),
    ])?;
    let place = if found.withdrawn {
        "withdrawn after the fix".to_owned()
    } else {
        found.path.strip_prefix(root).unwrap_or(&found.path).display().to_string()
    };
    output.field("file", &place)?;
    let texts = [("cause", &front.cause), ("solution", &front.resolution), ("rule", &front.corrective_rule)];
    for (name, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) {
            output.field(name, text)?;
        }
    }
    print_body(&printable(&found.lesson.body), output)
}

fn print_body(body: &str, output: &mut Output) -> anyhow::Result<()> {
    // The fence that is open, such as ```` ```diff ````.
    let mut fence: Option<&str> = None;
    let mut is_blank = false;
    for line in body.lines() {
        let ticks = line.bytes().take_while(|&byte| byte == b'`').count();
        let is_mark = fence.is_none() && (line.starts_with("<!-- ") || line.starts_with("# "));
        if is_mark || (fence.is_none() && line.is_empty() && is_blank) {
            continue;
        }
        is_blank = line.is_empty();
        fence = match fence {
            None if ticks >= 3 => Some(line),
            Some(open) if ticks == line.len() && open.starts_with(line) && !is_blank => None,
            fence => fence,
        };
        match fence {
            Some(open) if open.ends_with("diff") && open != line => output.diff(line)?,
            None if line.starts_with("## ") => output.title(line)?,
            _ if is_blank => output.line("")?,
            _ => output.line(line)?,
        }
    }
    Ok(())
}

fn is_annotated(front: &LessonFrontMatter) -> bool {
    let texts = [&front.cause, &front.resolution, &front.corrective_rule];
    texts.into_iter().flatten().any(|text| !text.trim().is_empty())
}
