//! The one runner of a machine, and the isolation that it needs.

use anyhow::Context as _;

use crate::base::file::create_private_dir;
use crate::base::lock::{self, Lock};
use crate::config::LearnIsolation;
use crate::lab::LabLevel;
use crate::ops::request::Request;

/// One runner on a machine. The lock ends with its process, however that ends.
pub(super) fn take_runner_lock(request: &Request) -> anyhow::Result<Option<Lock>> {
    let folder = request.environment.state_dir().context("cannot run jobs: HOME is not set")?;
    create_private_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("runner.lock");
    lock::try_exclusive(&path).with_context(|| format!("cannot lock {}", path.display()))
}

/// The level of the settings.
pub(super) fn wanted_level(isolation: LearnIsolation) -> LabLevel {
    match isolation {
        LearnIsolation::Namespaces => LabLevel::Namespaces,
        LearnIsolation::Landlock => LabLevel::Landlock,
        LearnIsolation::None => LabLevel::None,
    }
}
