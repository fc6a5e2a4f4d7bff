//! `verify-run parse`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::base::text::{printable, visible_json};
use crate::base::tree::{EmptyTree, FileTree, FsTree};
use crate::diagnose::{
    Baseline, Category, Diagnosis, DiagnosisInput, Diagnostic, Severity, Shortfall, diagnose_output,
};
use crate::ops::reply::Reply;
use crate::recorder;
use crate::run::CommandEnd;
use crate::whitelist::Whitelist;

use super::{CommandContext, Exit};

/// Show what verify-run makes of an output
///
/// Reads the output of a check and prints its category, affected files, relevant lines and diagnostics. Nothing is
/// recorded.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the project, for relative paths
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Command line that printed the output
    #[arg(long, value_name = "LINE", default_value = "")]
    command: String,
    /// Exit code of the command; 0 means that nothing failed
    #[arg(long, value_name = "N", default_value_t = 1)]
    exit_code: u8,
    /// Output of the last passing run of the same command; its lines are not news
    #[arg(long, value_name = "PASSING_LOG")]
    baseline: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = ParseFormat::Json)]
    print: ParseFormat,
    /// File with the output; `-` reads standard input
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ParseFormat {
    /// One document with everything
    Json,
    /// The relevant lines
    Lines,
    /// One JSON object per diagnostic and line
    Diagnostics,
}

/// The document that `--print json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ParseDocument<'a> {
    /// The category of the failure; `null` when nothing failed.
    category: Option<&'a Category>,
    /// Files that are affected.
    files: &'a [String],
    /// The relevant lines.
    lines: &'a [String],
    /// What was found.
    diagnostics: Vec<ParsedDiagnostic<'a>>,
    /// Where a tool's own count is higher than what was read; absent when nowhere.
    #[serde(skip_serializing_if = "<[Shortfall]>::is_empty")]
    shortfalls: &'a [Shortfall],
}

/// One item as programs read it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ParsedDiagnostic<'a> {
    /// The definition that read it, or the tool that was called where only its form was known; `generic` for neither.
    tool: &'a str,
    /// The file as printed.
    file: Option<&'a str>,
    /// Line, from 1.
    line: Option<u32>,
    /// Column, from 1.
    col: Option<u32>,
    /// How bad it is.
    severity: Severity,
    /// The rule or error code.
    code: Option<&'a str>,
    /// The message.
    message: &'a str,
    /// Name of the failing test.
    test: Option<&'a str>,
}

impl<'a> From<&'a Diagnostic> for ParsedDiagnostic<'a> {
    fn from(item: &'a Diagnostic) -> Self {
        ParsedDiagnostic {
            tool: &item.tool,
            file: item.file.as_deref(),
            line: item.line,
            col: item.col,
            severity: item.severity,
            code: item.code.as_deref(),
            message: &item.message,
            test: item.test.as_deref(),
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let output = read(&args.file)?;
    let baseline = args.baseline.as_deref().map(read).transpose()?.map(|passing| Baseline::from_output(&passing));
    let root = match &args.root {
        Some(root) => Some(root.canonicalize().with_context(|| format!("cannot open the folder {}", root.display()))?),
        None => None,
    };
    let in_root = root.as_ref().map(|root| context.request.in_folder(root.clone()));
    let request = in_root.as_ref().unwrap_or(&context.request);
    let categories = &request.settings().categories;
    let loaded = recorder::definitions::load_definitions(&request.places, &request.environment, categories);
    for problem in &loaded.problems {
        let line = problem.line.map_or_else(String::new, |line| format!("{line}:"));
        context.output.note(&format!("verify-run: {}:{line} {}", problem.file.display(), problem.reason));
    }
    let tree: Box<dyn FileTree> = match &root {
        Some(root) => Box::new(FsTree::new(root)),
        None => Box::new(EmptyTree),
    };
    let root = root.as_deref().and_then(Path::to_str).unwrap_or_default();
    let whitelist = Whitelist::open(&context.request.places, &context.request.environment);
    let check = whitelist.decide_line(&args.command).into_check();
    let dir = check.as_ref().and_then(|check| check.dir.clone()).unwrap_or_default();
    let diagnosis = diagnose_output(&DiagnosisInput {
        output: &output,
        command: &args.command,
        tool: check.as_ref().map(|check| check.tool.as_str()),
        kind: check.as_ref().map(|check| check.kind),
        ended: CommandEnd::Exit(args.exit_code),
        dir: &dir,
        root,
        tree: tree.as_ref(),
        baseline: baseline.as_ref(),
        definitions: &loaded.definitions,
    });
    print(&diagnosis, args.print, context)
}

fn print(diagnosis: &Diagnosis, what: ParseFormat, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let mut items: Vec<&Diagnostic> = diagnosis.items.iter().chain(&diagnosis.others).collect();
    items.sort_by_key(|item| item.span);
    let diagnostics = items.into_iter().map(ParsedDiagnostic::from);
    match what {
        ParseFormat::Json => context.output.json(&Reply::from(ParseDocument {
            category: diagnosis.category.as_ref(),
            files: &diagnosis.files,
            lines: &diagnosis.lines,
            diagnostics: diagnostics.collect(),
            shortfalls: &diagnosis.shortfalls,
        }))?,
        ParseFormat::Lines => {
            let lines: String = diagnosis.lines.iter().map(|line| format!("{}\n", printable(line))).collect();
            context.output.text(&lines)?;
        }
        ParseFormat::Diagnostics => {
            let mut lines = String::new();
            for diagnostic in diagnostics {
                lines.push_str(&visible_json(serde_json::to_string(&diagnostic)?));
                lines.push('\n');
            }
            context.output.text(&lines)?;
        }
    }
    Ok(Exit::Ok)
}

/// The bytes of a file, or of standard input for `-`.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
