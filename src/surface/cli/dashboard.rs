//! `verify-run dashboard`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use super::filter::FilterArgs;
use super::{CommandContext, Exit};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::ops::reply::Reply;
use crate::surface::http::export::{ExportFormat, ExportRequest, export_records};
use crate::surface::http::listen::find_running;
use crate::surface::http::openapi;
use crate::surface::http::{DashboardOptions, RunningDashboard};

/// Serve pages and an HTTP API about what is recorded
///
/// The printed address has a token and is for a browser; programs send `Authorization: Bearer TOKEN`. The server listens on
/// 127.0.0.1 only, or at a socket (--socket), and ends at Ctrl-C or after half an hour without a request (--idle).
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<DashboardAction>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, clap::Subcommand)]
enum DashboardAction {
    /// Print the address of the dashboard that runs for this store
    Url {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the description of the HTTP API (OpenAPI)
    Openapi,
    Export(ExportArgs),
}

/// Write what is recorded as one file: HTML without script, or JSON or Markdown by its ending
///
/// The same records give the same bytes: ages are counted from the last event, or from SOURCE_DATE_EPOCH.
#[derive(Debug, clap::Args)]
struct ExportArgs {
    /// The file to write, such as report.html
    file: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
    /// Maximum number of patterns with a page of their own
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    patterns: u64,
    /// Leave out messages, paths, names and diffs
    #[arg(long)]
    masked: bool,
}

/// How to serve
#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// Port on 127.0.0.1 (else the same for a store every time)
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Listen at this socket instead of a port; only its user can open it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "allow_host", "open"])]
    socket: Option<PathBuf>,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// End after this time without a request (`90s`, `30m`, `2h`; `0` for never)
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = idle_time)]
    idle: IdleTime,
    /// Refuse everything that writes
    #[arg(long)]
    read_only: bool,
    /// Answer to this name of the machine as well
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long to wait for a request; `None` never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdleTime(Option<Duration>);

fn idle_time(typed: &str) -> Result<IdleTime, String> {
    if typed == "0" {
        return Ok(IdleTime(None));
    }
    let expected = "expected a time such as `90s`, `30m` or `2h`, or `0`";
    let (number, unit) = typed.split_at(typed.len() - typed.chars().last().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(expected.into()),
    };
    let number: u64 = number.parse().ok().filter(|number| (1..=100_000).contains(number)).ok_or(expected)?;
    Ok(IdleTime(Some(Duration::from_secs(number * seconds))))
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        Some(DashboardAction::Url { json }) => {
            let address = Reply::from(find_running(&context.request)?);
            context.output.reply(&address, *json, |address, output| output.line(&address.url))?;
        }
        Some(DashboardAction::Export(args)) => export(args, context)?,
        Some(DashboardAction::Openapi) => context.output.text(openapi::DOCUMENT)?,
        None => serve(&args.serve, context)?,
    }
    Ok(Exit::Ok)
}

fn export(args: &ExportArgs, context: &mut CommandContext) -> anyhow::Result<()> {
    let format = match args.file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => ExportFormat::Json,
        Some("md") => ExportFormat::Markdown,
        _ => ExportFormat::Html,
    };
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse::<i64>().ok());
    let asked = ExportRequest {
        format,
        filter: args.filter.parameters()?,
        patterns: usize::try_from(args.patterns).unwrap_or(usize::MAX),
        is_masked: args.masked,
        moment: epoch.map(|seconds| Timestamp(seconds.saturating_mul(1_000_000))),
    };
    let file = export_records(&context.request, &asked)?;
    let path = context.request.cwd.join(&args.file);
    write_atomic(&path, &file.bytes, 0o644, Durability::Cached)
        .with_context(|| format!("cannot write {}", args.file.display()))?;
    file.notes.iter().for_each(|note| context.output.note(note));
    Ok(())
}

fn serve(args: &ServeArgs, context: &mut CommandContext) -> anyhow::Result<()> {
    let options = DashboardOptions {
        port: args.port,
        idle: args.idle.0,
        read_only: args.read_only,
        hosts: args.allow_host.clone(),
        socket: args.socket.clone(),
        open: args.open,
    };
    let dashboard = RunningDashboard::bind(&context.request, options)?;
    let address = Reply::new(dashboard.address.clone(), dashboard.notes.clone());
    context.output.reply(&address, args.json, |address, output| output.line(&address.url))?;
    dashboard.serve()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_time_has_a_unit() {
        let seconds = |typed: &str| idle_time(typed).map(|IdleTime(time)| time.map(|time| time.as_secs()));
        assert_eq!([seconds("90s"), seconds("30m"), seconds("2h")], [Ok(Some(90)), Ok(Some(1_800)), Ok(Some(7_200))]);
        assert_eq!(seconds("0"), Ok(None));
        for wrong in ["", "30", "m", "0s", "-1s", "1.5h", "30min", "5ü"] {
            assert!(idle_time(wrong).is_err(), "{wrong}");
        }
    }
}
