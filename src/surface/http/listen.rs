//! The address of the dashboard, the file that names it, and its end.

use std::future::IntoFuture as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::guard::RequestGuard;
use super::server::build_router;
use super::site::HttpSite;
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::ids::fill_random;
use crate::base::refusal::Refusal;
use crate::config::Places;
use crate::ops::request::Request;

/// The first of the ports that no service has, and how many there are.
const PORTS: (u16, u16) = (49_152, 16_384);
/// How often the time since the last request is compared with the limit.
const IDLE_CHECK: Duration = Duration::from_millis(250);
/// The version of the file.
const FILE_VERSION: u32 = 1;

/// How a dashboard is started.
#[derive(Debug, Clone)]
pub(in crate::surface) struct DashboardOptions {
    /// The port; else the one of the store.
    pub port: Option<u16>,
    /// How long it waits for a request before it ends; `None` never.
    pub idle: Option<Duration>,
    /// It changes nothing.
    pub read_only: bool,
    /// Further names of this host.
    pub hosts: Vec<String>,
}

/// Where a dashboard answers. What `dashboard --json` prints, and what its file has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface) struct DashboardAddress {
    /// The address with the token, for a browser.
    pub url: String,
    /// What programs send as `Authorization: Bearer TOKEN`.
    pub token: String,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The process.
    pub pid: i32,
}

/// The file that names a running dashboard.
#[derive(Debug, Serialize, Deserialize)]
struct AddressFile {
    schema: u32,
    #[serde(flatten)]
    address: DashboardAddress,
    started_at: String,
}

/// A dashboard that is bound to its port and does not answer yet.
pub(in crate::surface) struct RunningDashboard {
    /// Where it answers.
    pub address: DashboardAddress,
    /// For standard error.
    pub notes: Vec<String>,
    /// Blocked since before the address was known to anybody.
    signals: SigSet,
    listener: TcpListener,
    site: HttpSite,
    file: PathBuf,
    idle: Option<Duration>,
}

impl RunningDashboard {
    /// Binds the port and writes the file that names it.
    ///
    /// # Errors
    /// When the port that was asked for is taken, or there is no randomness.
    pub(in crate::surface) fn bind(request: &Request, options: DashboardOptions) -> anyhow::Result<Self> {
        let mut notes = Vec::new();
        let signals = block_signals().context("cannot wait for signals")?;
        let listener = bind_port(&request.places, options.port)?;
        let port = listener.local_addr().context("cannot read the own address")?.port();
        let mut random = [0; 32];
        anyhow::ensure!(fill_random(&mut random), "cannot read random bytes for the token");
        let token = data_encoding::BASE64URL_NOPAD.encode(&random);
        let url = format!("http://127.0.0.1:{port}/?token={token}");
        let pid = std::process::id().cast_signed();
        let address = DashboardAddress { url, token: token.clone(), port, pid };
        let file = request.places.state.dashboard();
        if let Err(error) = write_address(&file, &address, request.now()) {
            notes.push(format!("`verify-run dashboard url` will not find this one: {error}"));
        }
        let guard = RequestGuard::new(port, token, options.hosts, options.read_only);
        let site = HttpSite::new(request.cwd.clone(), guard);
        Ok(RunningDashboard { address, notes, signals, listener, site, file, idle: options.idle })
    }

    /// Answers requests until a signal ends it, or no request comes any more.
    ///
    /// # Errors
    /// When no runtime can be had.
    pub(in crate::surface) fn serve(self) -> anyhow::Result<()> {
        let (end, ended) = tokio::sync::oneshot::channel();
        let signals = self.signals;
        std::thread::spawn(move || {
            let _ = signals.wait();
            let _ = end.send(());
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot serve")?;
        let served = runtime.block_on(async {
            self.listener.set_nonblocking(true).context("cannot wait for connections")?;
            let listener = tokio::net::TcpListener::from_std(self.listener).context("cannot wait for connections")?;
            let site = Arc::new(self.site);
            let server = tokio::spawn(axum::serve(listener, build_router(Arc::clone(&site))).into_future());
            wait_for_end(&site, self.idle, ended).await;
            server.abort();
            anyhow::Ok(())
        });
        remove_address(&self.file, &self.address);
        runtime.shutdown_background();
        served
    }
}

/// The signals that end the server, blocked in this thread and in those that it starts.
fn block_signals() -> nix::Result<SigSet> {
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    signals.thread_block()?;
    Ok(signals)
}

async fn wait_for_end(site: &HttpSite, idle: Option<Duration>, mut ended: tokio::sync::oneshot::Receiver<()>) {
    let Some(idle) = idle else {
        let _ = ended.await;
        return;
    };
    while site.idle_time() < idle {
        // Also ends when the thread that waits for signals is gone.
        if tokio::time::timeout(IDLE_CHECK.min(idle), &mut ended).await.is_ok() {
            return;
        }
    }
}

/// Binds the port that was asked for, else the one of the store, else any.
fn bind_port(places: &Places, wanted: Option<u16>) -> anyhow::Result<TcpListener> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    if let Some(port) = wanted {
        let refused =
            |error| Refusal::conflict(format!("cannot listen on 127.0.0.1:{port}: {error}")).then_run("dashboard url");
        return Ok(bind(port).map_err(refused)?);
    }
    let own = store_port(places);
    bind(own).or_else(|_| bind(0)).context("cannot listen on 127.0.0.1")
}

/// The port of a store: the same every time, so that a bookmark holds.
fn store_port(places: &Places) -> u16 {
    let digest = blake3::hash(places.state.index().as_os_str().as_encoded_bytes());
    PORTS.0 + u16::from_le_bytes([digest.as_bytes()[0], digest.as_bytes()[1]]) % PORTS.1
}

fn write_address(file: &std::path::Path, address: &DashboardAddress, now: Timestamp) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        create_private_dir(folder)?;
    }
    let content = AddressFile { schema: FILE_VERSION, address: address.clone(), started_at: now.rfc3339() };
    write_atomic(file, &serde_json::to_vec(&content)?, 0o600, Durability::Cached)?;
    Ok(())
}

/// Removes the file, unless it is another one's by now.
fn remove_address(file: &std::path::Path, address: &DashboardAddress) {
    if read_file(file).is_some_and(|found| found.address.pid == address.pid) {
        let _ = std::fs::remove_file(file);
    }
}

fn read_file(file: &std::path::Path) -> Option<AddressFile> {
    let content: AddressFile = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    (content.schema == FILE_VERSION).then_some(content)
}

/// The dashboard that runs for the store of a request.
///
/// # Errors
/// When there is none.
pub(in crate::surface) fn find_running(request: &Request) -> anyhow::Result<DashboardAddress> {
    let found = read_file(&request.places.state.dashboard()).map(|found| found.address);
    let is_running = |address: &DashboardAddress| nix::sys::signal::kill(Pid::from_raw(address.pid), None).is_ok();
    found
        .filter(is_running)
        .ok_or_else(|| Refusal::not_found("no dashboard is running for this store").then_run("dashboard").into())
}
