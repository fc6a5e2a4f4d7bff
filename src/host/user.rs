//! The user as git knows them.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::process::{self, ProcessCall};
use crate::redact::sanitize_name;

/// How long git may take to say a setting.
const GIT_LIMIT: Duration = Duration::from_secs(2);

/// The user's name as git knows it.
pub(crate) fn user_name(root: &Path) -> Option<String> {
    let argv = ["git", "config", "user.name"].map(OsString::from);
    let call = ProcessCall { argv: &argv, dir: root, variables: &[], input: b"", limit: GIT_LIMIT };
    let answer = process::run(call).ok().filter(|answer| answer.status.is_some_and(|status| status.success()))?;
    sanitize_name(&String::from_utf8_lossy(&answer.stdout))
}
