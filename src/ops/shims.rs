//! `shims install|uninstall|status`.

use super::reply::Reply;
use super::request::Request;
use crate::host::shims::{self, ShimFolder, ShimOptions, ShimStatus, ShimsReply};
use crate::whitelist::Whitelist;

/// The user's folder of shims, with the virtual environments of the project.
///
/// # Errors
/// When there is no home folder, or one that can't be on a `PATH`.
pub(crate) fn find_folder(request: &Request) -> anyhow::Result<ShimFolder> {
    Ok(ShimFolder::from_process(&request.environment)?.in_project(&request.places.root))
}

/// Makes the shims that are asked for, and repairs those that are there.
///
/// # Errors
/// When a name is no program of the whitelist (nothing is done then), or a link can't be made.
pub(crate) fn install_shims(
    request: &Request,
    folder: &ShimFolder,
    options: &ShimOptions,
) -> anyhow::Result<Reply<ShimsReply>> {
    Ok(shims::install_shims(folder, &Whitelist::open(&request.places, &request.environment), options)?.into())
}

/// Removes the shims called `names`, all of them if none is named.
///
/// # Errors
/// When a name has no shim (nothing is done then), or one can't be removed.
pub(crate) fn uninstall_shims(folder: &ShimFolder, names: &[String]) -> anyhow::Result<Reply<ShimsReply>> {
    Ok(shims::uninstall_shims(folder, names)?.into())
}

/// Every shim, and every program that would get one.
pub(crate) fn shim_status(request: &Request, folder: &ShimFolder) -> Reply<ShimStatus> {
    shims::find_status(folder, &Whitelist::open(&request.places, &request.environment)).into()
}
