//! How well commands can be isolated on this machine.

use crate::config::StateDir;
use crate::lab::{LabAbility, LabLevel};

use super::finding::{CheckStatus, Finding, new_finding, with_hint};

/// The best walls for `gate run --isolated`, and the setting that keeps better ones away.
pub(crate) fn check_isolation(state: &StateDir) -> Finding {
    let ability = LabAbility::ask(state);
    let message = match ability.level {
        LabLevel::Namespaces => "commands can be isolated (namespaces)".to_owned(),
        LabLevel::Landlock => "commands can be isolated in part (landlock)".to_owned(),
        LabLevel::None => "commands cannot be isolated".to_owned(),
    };
    let Some(obstacle) = ability.obstacle else {
        return new_finding("isolation", CheckStatus::Ok, message, None);
    };
    // Nothing is wrong: every command works, `gate run --isolated` excepted.
    let finding = new_finding("isolation", CheckStatus::Ok, format!("{message}: {}", obstacle.what), None);
    match obstacle.setting {
        Some(setting) => with_hint(finding, setting),
        None => finding,
    }
}
