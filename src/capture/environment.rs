//! The environment of a run: a digest of the variables that affect checks, and the search path. Taken from the
//! wrapper's own environment, which is the command's.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checked_state::InputHasher;
use crate::base::bytes;
use crate::base::file::{self, Durability};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::config::StateDir;
use crate::run::is_shims_folder;

/// The variables that count without a setting, sorted: modes, compilers' and interpreters' options and search paths,
/// language and time zone. None that a sitting or a terminal sets again each time.
const VARIABLES: [&str; 72] = [
    "APP_ENV",
    "BUNDLE_GEMFILE",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CC",
    "CFLAGS",
    "CGO_ENABLED",
    "CI",
    "CLASSPATH",
    "CONDA_PREFIX",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "DJANGO_SETTINGS_MODULE",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOARCH",
    "GODEBUG",
    "GOEXPERIMENT",
    "GOFLAGS",
    "GOMAXPROCS",
    "GOOS",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_OPTS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAKEFLAGS",
    "MAVEN_OPTS",
    "MIX_ENV",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONDEVMODE",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "RACK_ENV",
    "RAILS_ENV",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUST_MIN_STACK",
    "RUST_TEST_THREADS",
    "TZ",
    "VIRTUAL_ENV",
    "ZONEINFO",
];

/// The variables that count for receipts beside [`VARIABLES`]: where tools look for their settings, and what chooses
/// the version behind a version manager's name.
const RECEIPT_VARIABLES: [&str; 11] = [
    "ASDF_DATA_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "GOENV",
    "GOPATH",
    "HOME",
    "NODENV_VERSION",
    "PYENV_VERSION",
    "RBENV_VERSION",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// The variables among them that say where something is on this machine, or that it is a CI system: they do not count for
/// receipts of other machines. What they lead to counts: versions of programs and contents of packages.
const PLACE_VARIABLES: [&str; 17] = [
    "ASDF_DATA_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CI",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOENV",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "PATH",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// The names that a project adds, as the last recorder left them for the wrapper; bytes of the file that are read.
const NAMES_BYTES_MAX: u64 = 16 << 10;

/// Digest of a run's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EnvironmentDigest {
    /// BLAKE3 over the variables that count, 32 hex digits: a line `NAME=value` of each that is set, `NAME` of each
    /// that isn't, by name, ended by NUL. The values are nowhere else.
    #[serde(alias = "environment")]
    pub digest: String,
    /// `PATH`. `None` when it is not set, or had to be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Lossless>,
}

impl EnvironmentDigest {
    /// Of this process. `state` is where [`remember`] put further names.
    pub fn now(state: &StateDir) -> Self {
        // The wrapper reads no settings, and only this file of a run that is kept.
        let names = state.environment_names();
        let further = fs::metadata(&names)
            .ok()
            .filter(|metadata| metadata.len() <= NAMES_BYTES_MAX)
            .and_then(|_| private::read_to_string(&names).ok())
            .unwrap_or_default();
        let further: Vec<&str> = further.lines().collect();
        EnvironmentDigest {
            digest: digest(env::vars_os(), &further),
            path: env::var_os("PATH").map(|path| (&path).into()),
        }
    }
}

/// The digest of [`EnvironmentDigest::digest`].
fn digest(variables: impl Iterator<Item = (OsString, OsString)>, further: &[&str]) -> String {
    let names = VARIABLES.iter().chain(further);
    let mut counted: BTreeMap<&OsStr, Option<OsString>> = names.map(|name| (OsStr::new(*name), None)).collect();
    for (name, value) in variables {
        // Of a name that is there twice the first counts, as getenv has it.
        if let Some(unset @ None) = counted.get_mut(name.as_os_str()) {
            *unset = Some(value);
        }
    }
    let mut hasher = blake3::Hasher::new();
    for (name, value) in counted {
        hasher.update(name.as_bytes());
        if let Some(value) = value {
            hasher.update(b"=");
            hasher.update(value.as_bytes());
        }
        hasher.update(b"\0");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Adds the variables of this process that count for a receipt, those of `further` among them, with another `PATH` where
/// the command has one. Of PATH, the folders that verify-run and git put in front of it for their own programs are left
/// out: a git hook sees the same programs.
pub fn add_variables(inputs: &mut InputHasher, further: &[&str], path: Option<&OsStr>) {
    for name in receipt_variables(further) {
        let other = path.filter(|_| name == "PATH").map(OsStr::to_owned);
        let Some(value) = other.or_else(|| env::var_os(name)) else { continue };
        match name {
            "PATH" => searched_folders(&value).for_each(|folder| inputs.add(name, folder)),
            _ => inputs.add(name, value.as_bytes()),
        }
    }
}

/// The variables of this process that count for a receipt, those of `further` among them, with their values.
pub fn counted_variables(further: &[&str]) -> impl Iterator<Item = (OsString, OsString)> {
    receipt_variables(further).into_iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?)))
}

/// As [`add_variables`], without what is the machine's own: the places in [`PLACE_VARIABLES`], unless `further` names them,
/// and where the work tree is.
pub fn add_portable_variables(inputs: &mut InputHasher, further: &[&str], root: &Path) {
    for name in receipt_variables(further) {
        let is_place = PLACE_VARIABLES.contains(&name) && !further.contains(&name);
        let Some(value) = env::var_os(name).filter(|_| !is_place) else { continue };
        inputs.add(name, &bytes::replace_path(value.as_bytes(), root.as_os_str().as_bytes(), b"."));
    }
}

/// The names of the variables that count for receipts, sorted, each once.
fn receipt_variables<'a>(further: &[&'a str]) -> Vec<&'a str> {
    let mut names: Vec<&str> = VARIABLES.iter().chain(&RECEIPT_VARIABLES).chain(further).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The folders of a PATH, without those of shims and of git's own programs.
fn searched_folders(path: &OsStr) -> impl Iterator<Item = &[u8]> {
    path.as_bytes()
        .split(|byte| *byte == b':')
        .filter(|folder| !is_shims_folder(folder) && !folder.ends_with(b"/git-core"))
}

/// Leaves the names that the settings add for the wrappers to come. Writes only what has changed.
///
/// # Errors
/// The operating system's.
pub fn remember(state: &StateDir, names: &[String]) -> io::Result<()> {
    let file = state.environment_names();
    let text = names.join("\n");
    match private::read_to_string(&file) {
        Ok(known) if known == text => Ok(()),
        Ok(_) if text.is_empty() => fs::remove_file(&file),
        Err(_) if text.is_empty() => Ok(()),
        _ => file::write_atomic(&file, text.as_bytes(), 0o600, Durability::Cached),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], further: &[&str]) -> String {
        digest(variables.iter().map(|(name, value)| (name.into(), value.into())), further)
    }

    #[test]
    fn what_changes_checks_changes_the_digest_and_nothing_else_does() {
        let plain = of(&[("TZ", "UTC"), ("LANG", "C")], &[]);
        assert_eq!(plain.len(), 32);
        assert_eq!(plain, of(&[("LANG", "C"), ("TERM", "dumb"), ("TZ", "UTC")], &[]));
        let others: [&[(&str, &str)]; 5] = [
            &[("TZ", "Asia/Tokyo"), ("LANG", "C")],
            &[("LANG", "C")],
            &[("TZ", ""), ("LANG", "C")],
            &[("TZ", "UTC"), ("LANG", "C"), ("NODE_ENV", "test")],
            &[("TZ", "UTC\0LANG=C")],
        ];
        for other in others {
            assert_ne!(plain, of(other, &[]), "{other:?}");
        }
    }

    #[test]
    fn a_project_can_name_further_variables() {
        let [one, two] = [[("SHOP_DB", "one")], [("SHOP_DB", "two")]];
        assert_eq!(of(&one, &[]), of(&two, &[]));
        assert_ne!(of(&one, &["SHOP_DB"]), of(&two, &["SHOP_DB"]));
        // Its earlier state is unknown.
        assert_ne!(of(&[], &[]), of(&[], &["SHOP_DB"]));
        assert_eq!(of(&one, &["TZ"]), of(&one, &[]));
    }

    #[test]
    fn the_names_are_left_for_the_wrapper_and_taken_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let state = StateDir::from(dir.path());
        let without = EnvironmentDigest::now(&state);
        remember(&state, &["SHOP_DB".to_owned(), "SHOP_KEY".to_owned()]).expect("written");
        assert_ne!(EnvironmentDigest::now(&state).digest, without.digest);
        remember(&state, &[]).expect("removed");
        assert_eq!(EnvironmentDigest::now(&state), without);
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn the_folders_of_hooks_and_shims_are_not_searched() {
        let of = |path: &'static str| searched_folders(OsStr::new(path)).collect::<Vec<_>>();
        let plain = of("/usr/local/bin:/usr/bin");
        assert_eq!(of("/usr/lib/git-core:/home/u/.local/share/verify-run/shims:/usr/local/bin:/usr/bin"), plain);
        assert_ne!(of("/opt/node/bin:/usr/local/bin:/usr/bin"), plain);
    }

    #[test]
    fn the_names_are_sorted_and_each_is_there_once() {
        assert!(VARIABLES.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(PLACE_VARIABLES.windows(2).all(|pair| pair[0] < pair[1]));
        let known = receipt_variables(&[]);
        assert!(PLACE_VARIABLES.iter().all(|name| known.contains(name)));
    }
}
