//! `verify-run dashboard`.

use std::time::Duration;

use super::{CommandContext, Exit};
use crate::ops::reply::Reply;
use crate::surface::http::listen::find_running;
use crate::surface::http::openapi;
use crate::surface::http::{DashboardOptions, RunningDashboard};

/// Serve pages and an HTTP API about what is recorded
///
/// The printed address has a token and is for a browser; programs send `Authorization: Bearer TOKEN`. The server listens on
/// 127.0.0.1 only, and ends at Ctrl-C or after half an hour without a request (--idle).
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
}

/// How to serve
#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// Port on 127.0.0.1 (else the same for a store every time)
    #[arg(long, value_name = "N")]
    port: Option<u16>,
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
        Some(DashboardAction::Openapi) => context.output.text(openapi::DOCUMENT)?,
        None => serve(&args.serve, context)?,
    }
    Ok(Exit::Ok)
}

fn serve(args: &ServeArgs, context: &mut CommandContext) -> anyhow::Result<()> {
    let options = DashboardOptions {
        port: args.port,
        idle: args.idle.0,
        read_only: args.read_only,
        hosts: args.allow_host.clone(),
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
