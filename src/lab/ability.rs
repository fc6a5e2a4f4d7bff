//! How well this kernel lets this user isolate a run: asked by trying it, once as long as nothing that decides it changes.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::claim::ClaimedFolder;
use super::level::LabLevel;
use super::obstacle::{LabObstacle, explain_failure};
use super::plan::LabReport;
use super::start;
use super::view::plan_of_trial;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::config::StateDir;

/// The remembered answer, bytes.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// What decides about namespaces and Landlock, beside the kernel: files with one line.
const DECIDING: [&str; 11] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_ipc_namespaces",
    "/proc/sys/user/max_uts_namespaces",
    "/proc/sys/user/max_cgroup_namespaces",
];
/// Lines of `/proc/self/status` that decide too.
const DECIDING_STATUS: [&str; 4] = ["Uid:", "CapEff:", "NoNewPrivs:", "Seccomp:"];

/// What this kernel and this user can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabAbility {
    /// The best level.
    pub level: LabLevel,
    /// Why it is no better one.
    pub obstacle: Option<LabObstacle>,
}

/// The remembered answer with all that it depends on.
#[derive(Debug, Serialize, Deserialize)]
struct RememberedAbility {
    circumstances: String,
    ability: LabAbility,
}

impl LabAbility {
    /// Tries it, or remembers. What is tried leaves nothing behind but the answer.
    pub(crate) fn ask(state: &StateDir) -> Self {
        if !cfg!(target_os = "linux") {
            let what = format!("isolation needs Linux: there is none on {}", std::env::consts::OS);
            return LabAbility { level: LabLevel::None, obstacle: Some(LabObstacle { what, setting: None }) };
        }
        let circumstances = describe_circumstances();
        let path = state.lab_level();
        let remembered = private::read_start(&path, ANSWER_BYTES_MAX).ok();
        let remembered = remembered.and_then(|json| serde_json::from_slice::<RememberedAbility>(&json).ok());
        if let Some(remembered) = remembered.filter(|it| it.circumstances == circumstances) {
            return remembered.ability;
        }
        let (ability, is_sure) = try_levels(state);
        // Without a state folder nothing is recorded here, and there is nothing to remember it in.
        if is_sure && state.is_dir() && path.parent().is_some_and(|folder| create_private_dir(folder).is_ok()) {
            let json = serde_json::to_vec(&RememberedAbility { circumstances, ability: ability.clone() });
            let _ = write_atomic(&path, &json.unwrap_or_default(), 0o600, Durability::Cached);
        }
        ability
    }
}

/// A digest of everything that decides.
fn describe_circumstances() -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    DECIDING.iter().for_each(|path| add(&fs::read_to_string(path).unwrap_or_default()));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| DECIDING_STATUS.iter().any(|name| line.starts_with(name))).for_each(&mut add);
    for namespace in ["user", "mnt", "pid"] {
        let link = fs::read_link(format!("/proc/self/ns/{namespace}"));
        add(&link.map_or_else(|_| String::new(), |link| link.display().to_string()));
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Why a level was not reached.
enum TrialFailure {
    /// The process inside met it: it is so until something changes.
    Kernel(LabObstacle),
    /// The trial itself did not come to an end; the next one may.
    Trial(LabObstacle),
}

impl TrialFailure {
    fn into_obstacle(self) -> LabObstacle {
        match self {
            TrialFailure::Kernel(obstacle) | TrialFailure::Trial(obstacle) => obstacle,
        }
    }
}

impl From<io::Error> for TrialFailure {
    fn from(error: io::Error) -> Self {
        TrialFailure::Trial(LabObstacle { what: format!("cannot try it: {error}"), setting: None })
    }
}

/// Enters an empty lab, at the best level first. Whether the answer is the kernel's, which may be remembered, and not that
/// of a machine without memory or time.
fn try_levels(state: &StateDir) -> (LabAbility, bool) {
    let namespaces = match try_level(state, LabLevel::Namespaces) {
        Ok(()) => return (LabAbility { level: LabLevel::Namespaces, obstacle: None }, true),
        Err(failure) => failure,
    };
    let is_sure = matches!(namespaces, TrialFailure::Kernel(_));
    let namespaces = namespaces.into_obstacle();
    match try_level(state, LabLevel::Landlock) {
        Ok(()) => (LabAbility { level: LabLevel::Landlock, obstacle: Some(namespaces) }, is_sure),
        Err(landlock) => {
            let is_sure = is_sure && matches!(landlock, TrialFailure::Kernel(_));
            let what = format!("{}; {}", namespaces.what, landlock.into_obstacle().what);
            let obstacle = Some(LabObstacle { what, setting: namespaces.setting });
            (LabAbility { level: LabLevel::None, obstacle }, is_sure)
        }
    }
}

fn try_level(state: &StateDir, level: LabLevel) -> Result<(), TrialFailure> {
    // Nothing is made where nothing is recorded yet.
    let temporary = tempfile::tempdir()?;
    let labs = if state.is_dir() { state.labs() } else { temporary.path().join("lab") };
    let folder = ClaimedFolder::claim(&labs)?;
    let plan = plan_of_trial(level, folder.path())?;
    match start::ask_inside(&plan)? {
        LabReport::Failed { step, errno, what } => {
            Err(TrialFailure::Kernel(explain_failure(step, errno, &what, &|path| fs::read_to_string(path).ok())))
        }
        LabReport::Ready | LabReport::Ended(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circumstances_do_not_change_from_one_moment_to_the_next() {
        assert_eq!(describe_circumstances(), describe_circumstances());
    }
}
