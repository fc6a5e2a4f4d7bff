//! The environment of a run: the variables that change what checks do, and where tools are. No others, so no tokens.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::capture::counted_variables;
use crate::run::is_shims_folder;

/// Variables that programs need to know their user, and how to print.
const PLAIN: [&str; 14] = [
    "USER",
    "LOGNAME",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "PY_COLORS",
    "CARGO_TERM_COLOR",
    "LC_IDENTIFICATION",
    "LC_MONETARY",
    "PYTHONDONTWRITEBYTECODE",
    "VERIFY_RUN_FEATURE",
];
/// Variables that say where a tool is, or what it has fetched.
const TOOL_PLACES: [&str; 11] = [
    "ASDF_DIR",
    "CYPRESS_CACHE_FOLDER",
    "GOCACHE",
    "GOMODCACHE",
    "GRADLE_USER_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PLAYWRIGHT_BROWSERS_PATH",
    "PYENV_ROOT",
    "SDKMAN_DIR",
    "UV_CACHE_DIR",
];
/// Runs in the lab are recorded from outside.
const NOT_RECORDED: &str = "VERIFY_RUN_DISABLE";

/// The variables of this process that a run gets, with `HOME`; `further` are those that the settings name.
pub(super) fn inside_variables(home: &Path, further: &[String]) -> BTreeMap<OsString, OsString> {
    let further: Vec<&str> = further.iter().map(String::as_str).collect();
    let mut variables: BTreeMap<OsString, OsString> = counted_variables(&further).collect();
    let plain = PLAIN.iter().chain(&TOOL_PLACES).filter_map(|name| Some((OsString::from(name), env::var_os(name)?)));
    variables.extend(plain);
    if let Some(path) = variables.get_mut(OsStr::new("PATH")) {
        *path = without_shims(path);
    }
    variables.insert("HOME".into(), home.into());
    variables.insert(NOT_RECORDED.into(), "1".into());
    variables
}

/// A PATH without the folders whose programs are verify-run.
fn without_shims(path: &OsStr) -> OsString {
    let folders = path.as_bytes().split(|byte| *byte == b':').filter(|folder| !is_shims_folder(folder));
    let folders: Vec<&OsStr> = folders.map(OsStr::from_bytes).collect();
    env::join_paths(folders).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_not_passed_on() {
        let variables = inside_variables(Path::new("/home/u"), &[]);
        assert_eq!(variables.get(OsStr::new("HOME")), Some(&OsString::from("/home/u")));
        assert_eq!(variables.contains_key(OsStr::new("PATH")), env::var_os("PATH").is_some());
        // Cargo sets it for every test, and no check asks for it.
        assert!(env::var_os("CARGO_PKG_NAME").is_some() && !variables.contains_key(OsStr::new("CARGO_PKG_NAME")));
        let named = inside_variables(Path::new("/home/u"), &["CARGO_PKG_NAME".to_owned()]);
        assert!(named.contains_key(OsStr::new("CARGO_PKG_NAME")));
    }

    #[test]
    fn shims_are_not_searched() {
        let path = OsStr::new("/home/u/.local/share/verify-run/shims:/usr/bin");
        assert_eq!(without_shims(path), "/usr/bin");
    }
}
