//! `init` and `hook install|uninstall|status`: sets hosts up, and gives them back what they had.

use super::reply::Reply;
use super::request::Request;
use crate::host::InstallScope;
use crate::host::install::{self, InstallOptions, InstallPlan, InstallStatus, RemovalReport};

/// What setting up would write.
///
/// # Errors
/// When a name is no host's, a command to allow is not a check, or there is no home folder.
pub(crate) fn plan_installation(request: &Request, options: &InstallOptions) -> anyhow::Result<InstallPlan> {
    Ok(install::plan_installation(&request.places, &request.environment, options)?)
}

/// Writes what was planned; all of it or none.
///
/// # Errors
/// When a file was changed since it was planned, or can't be written: then nothing is.
pub(crate) fn apply_plan(request: &Request, plan: &mut InstallPlan) -> anyhow::Result<()> {
    Ok(install::apply_plan(&request.places, &request.environment, plan)?)
}

/// What is installed in the project and in the home folder.
///
/// # Errors
/// When the record of it can't be read.
pub(crate) fn installation_status(request: &Request) -> anyhow::Result<Reply<InstallStatus>> {
    Ok(install::find_status(&request.places, &request.environment)?.into())
}

/// Takes out what was installed for the hosts of these names; for all of them where none is named.
///
/// # Errors
/// When a name is no host's, or what was installed can't be read.
pub(crate) fn uninstall_hosts(
    request: &Request,
    scope: InstallScope,
    names: &[String],
) -> anyhow::Result<Reply<RemovalReport>> {
    Ok(install::uninstall_hosts(&request.places, &request.environment, scope, names)?.into())
}
