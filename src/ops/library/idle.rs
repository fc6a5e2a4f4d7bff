//! Jobs that run automatically: only where the user's own settings say so, once the machine has little else to do, not on
//! battery, and for a limited time a day.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::consent::read_consent;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::config::LearnWork;
use crate::event::JobState;
use crate::ops::request::Request;
use crate::recorder;
use crate::run;

/// Version of the file with the time that was used.
const DAY_SCHEMA: u32 = 1;
/// Size of that file, bytes.
const DAY_BYTES_MAX: u64 = 4 << 10;
/// How long a runner waits for a quiet moment.
const WAIT_MAX: Duration = Duration::from_secs(30 * 60);
/// Between two looks at the machine.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What the runners of a machine used of a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DayUse {
    schema: u32,
    /// `2026-11-26`, in UTC.
    day: String,
    ms: u64,
}

/// What decides whether the machine has little else to do.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MachineLoad {
    /// Processes that run or want to, on average over a minute; unknown on systems that do not say it.
    load: Option<f64>,
    cores: usize,
    is_on_battery: bool,
}

impl MachineLoad {
    fn now() -> Self {
        let load = fs::read_to_string("/proc/loadavg").ok();
        MachineLoad {
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            is_on_battery: is_on_battery(Path::new("/sys/class/power_supply")),
        }
    }

    /// Whether jobs may run automatically. `share` is the load, as a share of the cores, that they have to be below.
    fn is_quiet(self, share: f64) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "cores are few")]
        let bound = share * self.cores as f64;
        !self.is_on_battery && self.load.is_some_and(|load| load < bound)
    }
}

fn is_on_battery(supplies: &Path) -> bool {
    let says = |supply: &Path, file: &str, word: &str| {
        fs::read_to_string(supply.join(file)).is_ok_and(|text| text.trim().eq_ignore_ascii_case(word))
    };
    let supplies = fs::read_dir(supplies).into_iter().flatten().flatten().map(|entry| entry.path());
    supplies.into_iter().any(|supply| says(&supply, "type", "Battery") && says(&supply, "status", "Discharging"))
}

/// Starts a runner that waits for a quiet moment, where the settings and a person allow it and a job waits. The user's
/// commands are not touched by this: it is called by the process that keeps trees.
pub(super) fn start_idle_runner(request: &Request) {
    match may_start(request) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => return recorder::note(&request.places, &[format!("cannot start the runner: {error:#}")]),
    }
    let words = ["library", "work", "--background"];
    let started = std::env::current_exe().and_then(|own| run::start_detached(&own, &words, &request.places.root));
    if let Err(error) = started {
        recorder::note(&request.places, &[format!("cannot start the runner: {error}")]);
    }
}

fn may_start(request: &Request) -> anyhow::Result<bool> {
    if request.settings().learn.work != LearnWork::Idle || !read_consent(request)?.may_run {
        return Ok(false);
    }
    let Some(index) = request.open_as_it_is(&mut Vec::new())? else { return Ok(false) };
    Ok(!index.list_jobs(&[JobState::Queued], 1)?.is_empty() && time_left(request)? > Duration::ZERO)
}

/// Waits for a quiet moment; whether there was one, and time is left today.
///
/// # Errors
/// When the time that was used can't be read.
pub(super) fn wait_for_quiet(request: &Request) -> anyhow::Result<bool> {
    let until = Instant::now() + WAIT_MAX;
    loop {
        if time_left(request)?.is_zero() {
            return Ok(false);
        }
        if MachineLoad::now().is_quiet(request.settings().learn.idle_load) {
            return Ok(true);
        }
        if Instant::now() + LOOK_EVERY >= until {
            return Ok(false);
        }
        #[allow(clippy::disallowed_methods, reason = "nothing says when the load of a machine changes")]
        thread::sleep(LOOK_EVERY);
    }
}

/// What is left of today for jobs that run automatically.
///
/// # Errors
/// When the time that was used can't be read.
pub(super) fn time_left(request: &Request) -> anyhow::Result<Duration> {
    let allowed = Duration::from_secs(request.settings().learn.day_minutes * 60);
    let used = read_day(request)?.filter(|used| used.day == today(request));
    Ok(allowed.saturating_sub(Duration::from_millis(used.map_or(0, |used| used.ms))))
}

/// Adds to the time that jobs used today. The caller holds the runner's lock.
///
/// # Errors
/// When it can't be written.
pub(super) fn add_used_time(request: &Request, took: Duration) -> anyhow::Result<()> {
    let today = today(request);
    let before = read_day(request)?.filter(|used| used.day == today).map_or(0, |used| used.ms);
    let ms = before.saturating_add(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let path = day_path(request)?;
    if let Some(folder) = path.parent() {
        create_private_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let used = serde_json::to_vec(&DayUse { schema: DAY_SCHEMA, day: today, ms })?;
    write_atomic(&path, &used, 0o600, Durability::Cached).with_context(|| format!("cannot write {}", path.display()))
}

fn read_day(request: &Request) -> anyhow::Result<Option<DayUse>> {
    let path = day_path(request)?;
    let bytes = match private::read_start(&path, DAY_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let used: DayUse = serde_json::from_slice(&bytes).with_context(|| format!("cannot read {}", path.display()))?;
    anyhow::ensure!(used.schema <= DAY_SCHEMA, "{} was written by a newer verify-run", path.display());
    Ok(Some(used))
}

fn day_path(request: &Request) -> anyhow::Result<PathBuf> {
    let folder = request.environment.state_dir().context("cannot run jobs: HOME is not set")?;
    Ok(folder.join("runner-day.json"))
}

fn today(request: &Request) -> String {
    request.now().rfc3339().chars().take("2026-11-26".len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Places};

    #[test]
    fn a_machine_is_quiet_below_its_share_of_load_and_on_mains() {
        let load = |load, is_on_battery| MachineLoad { load, cores: 2, is_on_battery };
        assert!(load(Some(1.3), false).is_quiet(0.7));
        assert!(!load(Some(1.4), false).is_quiet(0.7));
        assert!(!load(Some(0.1), true).is_quiet(0.7));
        assert!(!load(None, false).is_quiet(0.7), "unknown is not quiet");
    }

    #[test]
    fn a_discharging_battery_is_battery_power() {
        let dir = tempfile::tempdir().expect("a folder");
        let supply = |name: &str, kind: &str, status: &str| {
            let folder = dir.path().join(name);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("type"), kind).expect("a file");
            fs::write(folder.join("status"), status).expect("a file");
        };
        supply("AC", "Mains\n", "");
        supply("BAT0", "Battery\n", "Charging\n");
        assert!(!is_on_battery(dir.path()));
        supply("BAT0", "Battery\n", "Discharging\n");
        assert!(is_on_battery(dir.path()));
        assert!(!is_on_battery(&dir.path().join("none")));
    }

    #[test]
    fn the_time_of_a_day_is_used_up_and_comes_back_the_next_day() {
        let home = tempfile::tempdir().expect("a folder");
        let environment = Environment { home: Some(home.path().to_owned()), ..Environment::default() };
        let request = |clock| {
            let root = home.path().join("project");
            Request::at_places(Places::find(&root, &environment), environment.clone()).with_clock(clock)
        };
        let first = request(|| crate::base::clock::Timestamp(1_000_000_000_000_000));
        assert_eq!(time_left(&first).expect("readable"), Duration::from_secs(30 * 60));
        add_used_time(&first, Duration::from_secs(60)).expect("writable");
        add_used_time(&first, Duration::from_secs(60)).expect("writable");
        assert_eq!(time_left(&first).expect("readable"), Duration::from_secs(28 * 60));
        add_used_time(&first, Duration::from_secs(3_600)).expect("writable");
        assert_eq!(time_left(&first).expect("readable"), Duration::ZERO);
        let next = request(|| crate::base::clock::Timestamp(1_000_000_000_000_000 + 86_400_000_000));
        assert_eq!(time_left(&next).expect("readable"), Duration::from_secs(30 * 60));
    }
}
