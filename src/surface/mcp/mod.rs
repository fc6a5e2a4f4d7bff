//! The verbs for agents: the Model Context Protocol over standard input and output.
//!
//! Both generations of the protocol are spoken: sessions that begin with `initialize` (up to 2025-11-25), and requests
//! that each say all that is needed (2026-07-28). Which one it is, versions and shapes are rmcp's; what is here is what
//! the tools do.
//!
//! - `lines`: one JSON document a line, from standard input and to standard output, which nothing else is written to
//! - `server`: the requests and their answers
//! - `request`: where and for whom a call works; made again for each, so nothing is kept from one to the next
//! - `tools`, `resources`, `prompt`: what is offered
//! - `answer`: what is bounded and cleaned on its way out
//!
//! A bad call is a tool's error, for the model to read. A panic of verify-run is one, too.

mod answer;
mod lines;
mod prompt;
mod request;
mod resources;
mod server;
mod tools;

use std::path::PathBuf;

use anyhow::Context as _;
use rmcp::ServiceExt as _;

pub use request::root;

/// Answers requests until standard input ends. `root` is the project's folder, absolute.
///
/// # Errors
/// When no runtime can be had.
pub fn serve(root: PathBuf) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().context("cannot begin to serve")?;
    runtime.block_on(async {
        // An end before the first request is an end like any other.
        if let Ok(service) = server::McpServer::new(root).serve(lines::LineTransport::of_process()).await {
            let _ = service.waiting().await;
        }
    });
    // A thread that still waits for input has nothing to wait for.
    runtime.shutdown_background();
    Ok(())
}
