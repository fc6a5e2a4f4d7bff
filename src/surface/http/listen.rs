//! The address of the dashboard, the file that names it, and its end.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
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
use crate::base::shared_heap::share_heap;
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
    /// A socket instead of a port.
    pub socket: Option<PathBuf>,
    /// The address is opened in a browser.
    pub open: bool,
}

/// Where a dashboard answers. What `dashboard --json` prints, and what its file has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface) struct DashboardAddress {
    /// The address with the token, for a browser; of a socket `unix:` and its path.
    pub url: String,
    /// What programs send as `Authorization: Bearer TOKEN`; `null` of a socket, which needs none.
    pub token: Option<String>,
    /// The port on 127.0.0.1; `null` of a socket.
    pub port: Option<u16>,
    /// The path of the socket.
    #[serde(default)]
    pub socket: Option<PathBuf>,
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

/// What a dashboard waits at.
#[derive(Debug)]
enum SiteListener {
    Port(TcpListener),
    Socket(UnixListener),
}

impl SiteListener {
    async fn serve(self, router: Router) -> std::io::Result<()> {
        match self {
            SiteListener::Port(listener) => {
                listener.set_nonblocking(true)?;
                axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
            }
            SiteListener::Socket(listener) => {
                listener.set_nonblocking(true)?;
                axum::serve(tokio::net::UnixListener::from_std(listener)?, router).await
            }
        }
    }
}

/// A dashboard that is bound to its port and does not answer yet.
pub(in crate::surface) struct RunningDashboard {
    /// Where it answers.
    pub address: DashboardAddress,
    /// For standard error.
    pub notes: Vec<String>,
    /// Blocked since before the address was known to anybody.
    signals: SigSet,
    listener: SiteListener,
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
        let token = random_token()?;
        let pid = std::process::id().cast_signed();
        let (listener, guard, address) = match &options.socket {
            Some(path) => {
                let path = request.cwd.join(path);
                let listener = bind_socket(&path)?;
                let url = format!("unix:{}", path.display());
                let guard = RequestGuard::of_socket(token, options.read_only);
                let address = DashboardAddress { url, token: None, port: None, socket: Some(path), pid };
                (SiteListener::Socket(listener), guard, address)
            }
            None => {
                let listener = bind_port(&request.places, options.port)?;
                let port = listener.local_addr().context("cannot read the own address")?.port();
                let url = format!("http://127.0.0.1:{port}/?token={token}");
                let address = DashboardAddress { url, token: Some(token.clone()), port: Some(port), socket: None, pid };
                let guard = RequestGuard::new(port, token, options.hosts, options.read_only);
                (SiteListener::Port(listener), guard, address)
            }
        };
        if let Some(port) = address.port.filter(|_| options.open) {
            let once = random_token()?;
            guard.let_in_once(once.clone());
            // A browser must not have blocked signals; no program knows the address yet.
            signals.thread_unblock().context("cannot wait for signals")?;
            let opened = open_in_browser(&format!("http://127.0.0.1:{port}/?token={once}"));
            signals.thread_block().context("cannot wait for signals")?;
            if let Err(error) = opened {
                notes.push(format!("cannot open a browser: {error}"));
            }
        }
        let file = request.places.state.dashboard();
        if let Err(error) = write_address(&file, &address, request.now()) {
            notes.push(format!("`verify-run dashboard url` will not find this one: {error}"));
        }
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
        share_heap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot serve")?;
        let served = runtime.block_on(async {
            let site = Arc::new(self.site);
            let server = tokio::spawn(self.listener.serve(build_router(Arc::clone(&site))));
            wait_for_end(&site, self.idle, ended).await;
            server.abort();
            anyhow::Ok(())
        });
        if let Some(path) = &self.address.socket {
            let _ = std::fs::remove_file(path);
        }
        remove_address(&self.file, &self.address);
        runtime.shutdown_background();
        served
    }
}

/// 256 random bits.
fn random_token() -> anyhow::Result<String> {
    let mut random = [0; 32];
    anyhow::ensure!(fill_random(&mut random), "cannot read random bytes for the token");
    Ok(data_encoding::BASE64URL_NOPAD.encode(&random))
}

/// A socket that only its user can open. One without a listener is replaced.
fn bind_socket(path: &Path) -> anyhow::Result<UnixListener> {
    let refused = |error: std::io::Error| Refusal::conflict(format!("cannot listen at {}: {error}", path.display()));
    let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket() && UnixStream::connect(path).is_err() {
        let _ = std::fs::remove_file(path);
    }
    // Between the two calls the folder's permissions hold alone: the mode is set before anybody is answered.
    let listener = UnixListener::bind(path).map_err(refused)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(refused)?;
    Ok(listener)
}

/// Starts what opens addresses on this system.
fn open_in_browser(address: &str) -> std::io::Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    #[allow(clippy::disallowed_methods, reason = "a browser is not a check, and nothing of it is recorded")]
    let mut command = Command::new(opener);
    // Standard output has the address of the dashboard, and nothing else.
    let mut child = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::spawn(move || child.wait());
    Ok(())
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
