//! Why a run can't be isolated better, and which setting of the machine decides it.

use serde::{Deserialize, Serialize};

use super::plan::EnterStep;

/// The numbers of errors, as Linux has them.
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;
/// Limits of the number of namespaces, with what they count.
const NAMESPACE_LIMITS: [&str; 6] = ["mnt", "pid", "net", "ipc", "uts", "cgroup"];

/// What keeps a run from being isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabObstacle {
    /// What happened, a lowercase fragment.
    pub what: String,
    /// What to change, imperative; `None` where no setting is known.
    pub setting: Option<String>,
}

impl LabObstacle {
    fn with_setting(what: impl Into<String>, setting: impl Into<String>) -> Self {
        LabObstacle { what: what.into(), setting: Some(setting.into()) }
    }
}

/// Explains a failed step. `read` reads a file of `/proc`, `None` where it is not there.
pub(super) fn explain_failure(
    step: EnterStep,
    errno: i32,
    what: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> LabObstacle {
    let value = |path: &str| read(path).map(|text| text.trim().to_owned());
    let is_refused = matches!(errno, EPERM | EACCES);
    match step {
        EnterStep::Landlock => LabObstacle::with_setting(
            "this kernel has no Landlock, or it is off",
            "boot with `landlock` in the kernel's `lsm=` list (Linux 5.19 or later)",
        ),
        EnterStep::Layers => LabObstacle::with_setting(
            format!("overlays are not possible here ({what})"),
            "use Linux 5.11 or later, with the module `overlay`",
        ),
        EnterStep::Processes if is_refused => LabObstacle::with_setting(
            "this container hides parts of /proc, so that no other one can be made",
            "start the container with `--security-opt systempaths=unconfined`",
        ),
        EnterStep::UserNamespace | EnterStep::Namespaces if errno == ENOSPC => explain_limit(&value),
        EnterStep::UserNamespace | EnterStep::Identity | EnterStep::Namespaces | EnterStep::Folders if is_refused => {
            explain_refusal(what, &value)
        }
        _ => LabObstacle { what: what.to_owned(), setting: None },
    }
}

/// The number of namespaces is limited.
fn explain_limit(value: &dyn Fn(&str) -> Option<String>) -> LabObstacle {
    let limits = std::iter::once("user").chain(NAMESPACE_LIMITS);
    let zero =
        limits.into_iter().find(|name| value(&format!("/proc/sys/user/max_{name}_namespaces")).as_deref() == Some("0"));
    let name = zero.unwrap_or("user");
    LabObstacle::with_setting(
        format!(
            "namespaces are limited: `sysctl user.max_{name}_namespaces` is {}",
            if zero.is_some() { "0" } else { "reached" }
        ),
        format!("run `sudo sysctl user.max_{name}_namespaces=10000`"),
    )
}

/// The kernel, a security module or a container refuses namespaces.
fn explain_refusal(what: &str, value: &dyn Fn(&str) -> Option<String>) -> LabObstacle {
    let is = |path: &str, wanted: &str| value(path).as_deref() == Some(wanted);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return explain_limit(value);
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return LabObstacle::with_setting(
            "user namespaces are for root only: `sysctl kernel.unprivileged_userns_clone` is 0",
            "run `sudo sysctl kernel.unprivileged_userns_clone=1`",
        );
    }
    let restriction = value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    if let Some(restriction) = restriction.filter(|restriction| restriction != "0") {
        return LabObstacle::with_setting(
            format!(
                "AppArmor restricts user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns` is {restriction}"
            ),
            "run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or load an AppArmor profile that allows \
             `userns` to verify-run",
        );
    }
    let status = value("/proc/self/status").unwrap_or_default();
    let filters = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    if filters == Some("2") {
        return LabObstacle::with_setting(
            "a seccomp filter refuses namespaces, as containers have it",
            "start the container with `--security-opt seccomp=unconfined`, or with a profile that allows `unshare` and `mount`",
        );
    }
    LabObstacle::with_setting(
        format!("the kernel refuses namespaces ({what})"),
        "look for a security module (SELinux, AppArmor) or a chroot that forbids user namespaces",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    type Files<'a> = &'a [(&'a str, &'a str)];

    /// The machine has these files.
    fn explain(step: EnterStep, errno: i32, files: Files<'_>) -> LabObstacle {
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| format!("{text}\n"));
        explain_failure(step, errno, "cannot make a user namespace: not permitted", &read)
    }

    #[test]
    fn the_setting_that_decides_is_named() {
        let cases: [(EnterStep, i32, Files<'_>, &str); 9] = [
            (
                EnterStep::UserNamespace,
                ENOSPC,
                &[("/proc/sys/user/max_user_namespaces", "0")],
                "user.max_user_namespaces",
            ),
            (EnterStep::Namespaces, ENOSPC, &[("/proc/sys/user/max_net_namespaces", "0")], "user.max_net_namespaces"),
            (
                EnterStep::UserNamespace,
                EPERM,
                &[("/proc/sys/kernel/unprivileged_userns_clone", "0")],
                "kernel.unprivileged_userns_clone",
            ),
            (
                EnterStep::Identity,
                EACCES,
                &[("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")],
                "kernel.apparmor_restrict_unprivileged_userns",
            ),
            (
                EnterStep::Folders,
                EACCES,
                &[("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "4")],
                "kernel.apparmor_restrict_unprivileged_userns",
            ),
            (EnterStep::UserNamespace, EPERM, &[("/proc/self/status", "Name:\tx\nSeccomp:\t2")], "seccomp=unconfined"),
            (EnterStep::UserNamespace, EPERM, &[], "security module"),
            (EnterStep::Processes, EPERM, &[], "systempaths=unconfined"),
            (EnterStep::Landlock, 0, &[], "`lsm=`"),
        ];
        for (step, errno, files, setting) in cases {
            let obstacle = explain(step, errno, files);
            assert!(
                obstacle.setting.as_ref().is_some_and(|it| it.contains(setting)),
                "{step:?} {files:?}: {obstacle:?}"
            );
        }
    }

    #[test]
    fn what_no_setting_decides_is_passed_on() {
        let obstacle = explain(EnterStep::Network, EPERM, &[]);
        assert_eq!(
            obstacle,
            LabObstacle { what: "cannot make a user namespace: not permitted".to_owned(), setting: None }
        );
    }
}
