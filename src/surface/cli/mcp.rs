//! `verify-run mcp`.

use std::path::PathBuf;

use super::{CommandContext, Exit};
use crate::surface::mcp;

/// Serve agents over the Model Context Protocol on stdin and stdout
///
/// For a host's configuration: `{"mcpServers": {"verify-run": {"command": "verify-run", "args": ["mcp"]}}}`. Tools:
/// warnings, known_failure, lessons_search, record_fix, remember, recall, recent_failures, check_diff. Resources: each
/// lesson (verify-run://lessons/ID), recurring patterns (verify-run://patterns/active). Prompt: before-work.
///
/// Every call runs in the project's folder: --root, else CLAUDE_PROJECT_DIR or CURSOR_PROJECT_DIR, else the working
/// directory. Nothing is kept between calls. Each reply has a text and the same content as `structuredContent` with
/// `"schema": 1`: the documents that the commands print with --json, cut to a length for models ("truncated": true). An
/// invalid call is a tool error. The server exits with 0 at the end of standard input.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the project
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(super) fn run(args: &Args, _context: &mut CommandContext) -> anyhow::Result<Exit> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    mcp::serve(mcp::root(args.root.as_deref(), &std::env::current_dir()?, variable))?;
    Ok(Exit::Ok)
}
