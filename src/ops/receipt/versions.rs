//! What programs say that their versions are. Each is asked once, by a recorder after it ran as a check: no user waits for the
//! answer, and no program is started that was not.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::own::is_own_receipt;
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::limits::LOCK_WAIT_MS_MAX;
use crate::base::lossless::Lossless;
use crate::base::{private, text};
use crate::capture::ToolchainState;
use crate::config::{Places, ReceiptEnvironment};
use crate::event::Receipt;
use crate::fix::{self, CommandPrograms, InputSearch, ToolchainProgram, UnknownInput};
use crate::gate::receipt::{StatedToolchain, UnknownVersion};
use crate::host::process::{self, ProcessCall};
use crate::ops::request::Request;
use crate::redact;
use crate::store::{ReceiptFilter, lock_store};
use crate::whitelist::Whitelist;

/// Version of the file.
const VERSIONS_SCHEMA: u32 = 1;
/// Programs that are kept, those that were asked last.
const PROGRAMS_MAX: usize = 1000;
/// Size of the file, bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A version, bytes.
const VERSION_BYTES_MAX: usize = 200;
/// How long a program may take to say its version.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Receipts whose programs are asked: of the last ten minutes, microseconds.
const RECENT_US_MAX: u64 = 600_000_000;
/// … and of them the newest.
const RECEIPTS_MAX: usize = 64;

/// The versions that are known, as they are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct KnownVersions {
    schema: u32,
    /// By the keys of [`ToolchainProgram`].
    programs: BTreeMap<String, AskedProgram>,
}

/// A program that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AskedProgram {
    name: String,
    /// `None` when it said none.
    version: Option<String>,
    asked_at: Timestamp,
}

impl KnownVersions {
    /// Those that this state folder has; none when they can't be read.
    pub(super) fn read(places: &Places) -> Self {
        let read = private::read_start(&places.state.tool_versions(), FILE_BYTES_MAX).ok();
        let known: Option<KnownVersions> = read.and_then(|json| serde_json::from_slice(&json).ok());
        known.filter(|known| known.schema == VERSIONS_SCHEMA).unwrap_or_default()
    }

    /// The version of a program; `None` when it was not asked, or it said none.
    pub(super) fn version_of(&self, key: &str) -> Option<String> {
        self.programs.get(key)?.version.clone()
    }

    /// Adds what was asked to what another process may have written meanwhile.
    fn add(places: &Places, asked: BTreeMap<String, AskedProgram>) -> anyhow::Result<()> {
        let _lock = lock_store(&places.state, Duration::from_millis(LOCK_WAIT_MS_MAX))?;
        let mut known = KnownVersions::read(places);
        known.schema = VERSIONS_SCHEMA;
        known.programs.extend(asked);
        while known.programs.len() > PROGRAMS_MAX {
            let oldest = known.programs.iter().min_by_key(|(_, program)| program.asked_at).map(|(key, _)| key.clone());
            known.programs.remove(&oldest.unwrap_or_default());
        }
        let path = places.state.tool_versions();
        let json = serde_json::to_vec(&known).unwrap_or_default();
        write_atomic(&path, &json, 0o600, Durability::Cached)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The toolchain of a command that ran, or will run, in `dir`. Programs of it whose version is not known are asked now: the
/// command starts them anyway.
///
/// # Errors
/// [`UnknownVersion`]
pub(super) fn stated_toolchain(
    request: &Request,
    argv: &[OsString],
    dir: &Path,
    state: &ToolchainState,
) -> Result<StatedToolchain, UnknownVersion> {
    let mut known = KnownVersions::read(&request.places);
    let unknown: BTreeSet<&String> = state.programs.keys().filter(|key| known.version_of(key).is_none()).collect();
    if !unknown.is_empty() {
        let mut asked = ask_programs(request, argv, dir, &unknown);
        // One that was too slow to answer may be quicker the next time.
        asked.retain(|_, program| program.version.is_some());
        known.programs.extend(asked.clone());
        // Where they can't be kept they are asked again.
        let _ = KnownVersions::add(&request.places, asked);
    }
    StatedToolchain::from_state(state, |key| known.version_of(key))
}

/// Asks those of a command's programs that have one of these keys.
fn ask_programs(
    request: &Request,
    argv: &[OsString],
    dir: &Path,
    keys: &BTreeSet<&String>,
) -> BTreeMap<String, AskedProgram> {
    // What is there now may be another program than the one that ran: then it has another key.
    let programs = programs_of(request, argv, dir).unwrap_or_default();
    let asked = programs.into_iter().filter(|program| keys.contains(&program.key)).map(|program| {
        let version = ask_program(&program, dir);
        (program.key, AskedProgram { name: program.name, version, asked_at: request.now() })
    });
    asked.collect()
}

/// Asks the programs of the checks that just left receipts here, where those are for other machines, too.
///
/// # Errors
/// When the store can't be read, or the answers can't be written.
pub(crate) fn ask_versions(request: &Request) -> anyhow::Result<()> {
    if request.settings().receipts.environment != ReceiptEnvironment::Toolchain {
        return Ok(());
    }
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { return Ok(()) };
    let root = Lossless::from(&request.places.root);
    let known = KnownVersions::read(&request.places);
    let mut asked = BTreeMap::new();
    for receipt in index.list_receipts(&reading.segments, ReceiptFilter::Root(&root), RECEIPTS_MAX)? {
        let is_recent = request.now().micros_since(receipt.ended_at) <= RECENT_US_MAX;
        let Some(toolchain) = receipt.state.toolchain.as_ref().filter(|_| is_recent) else { continue };
        let is_unknown = |key: &&String| !known.programs.contains_key(*key) && !asked.contains_key(*key);
        let unknown: BTreeSet<&String> = toolchain.programs.keys().filter(is_unknown).collect();
        if unknown.is_empty() || !is_own_receipt(&request.places, index, &reading.segments, &receipt)? {
            continue;
        }
        let (argv, dir) = place_of(request, &receipt);
        asked.extend(ask_programs(request, &argv, &dir, &unknown));
    }
    if asked.is_empty() { Ok(()) } else { KnownVersions::add(&request.places, asked) }
}

/// The words of a receipt's command, and the folder where it ran.
pub(super) fn place_of(request: &Request, receipt: &Receipt) -> (Vec<OsString>, PathBuf) {
    let argv = receipt.argv.iter().map(|word| word.path().as_os_str().to_owned()).collect();
    (argv, request.places.root.join(receipt.dir.path()))
}

/// The programs that a check would start now in `cwd`.
fn programs_of(request: &Request, argv: &[OsString], cwd: &Path) -> Result<Vec<ToolchainProgram>, UnknownInput> {
    let check = Whitelist::open(&request.places, &request.environment).decide_command(argv).into_check();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = CommandPrograms { argv, check: check.as_ref(), path: &path, cwd, root: &request.places.root };
    fix::toolchain_programs(&InputSearch { programs, home: request.environment.home.as_deref(), files: &[] })
}

/// What a program says that its version is, or what its content is: the first line. `None` of one that is too
/// long, or holds a secret.
fn ask_program(program: &ToolchainProgram, dir: &Path) -> Option<String> {
    let Some(argument) = program.argument else {
        return fix::digest_program(&program.path).ok().map(|digest| format!("content {digest}"));
    };
    let variables = [
        ("LC_ALL", Some(OsStr::new("C"))),
        ("VERIFY_RUN_DISABLE", Some(OsStr::new("1"))),
        ("PYTHONDONTWRITEBYTECODE", Some(OsStr::new("1"))),
        ("NO_UPDATE_NOTIFIER", Some(OsStr::new("1"))),
        ("NPM_CONFIG_UPDATE_NOTIFIER", Some(OsStr::new("false"))),
        ("NO_COLOR", Some(OsStr::new("1"))),
    ];
    let argv = [program.path.clone().into_os_string(), argument.into()];
    let call = ProcessCall { argv: &argv, dir, variables: &variables, input: b"", limit: ANSWER_TIME };
    let answer = process::run(call).ok()?;
    answer.status.filter(|status| status.success())?;
    let streams = [answer.stdout, answer.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let line = streams.iter().flat_map(|text| text.lines()).map(str::trim).find(|line| !line.is_empty())?;
    let version = text::one_line(line);
    // Two versions that differ in what is left out would be one.
    let is_whole = version.len() <= VERSION_BYTES_MAX && redact::redact_text(&version).1 == 0;
    is_whole.then_some(version)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::config::Environment;

    #[test]
    fn a_program_is_asked_for_one_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("tool");
        let said = |script: &str| {
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
            let (name, argument) = ("tool".to_owned(), Some("--version"));
            ask_program(&ToolchainProgram { name, path: path.clone(), key: String::new(), argument }, dir.path())
        };
        assert_eq!(said("echo; echo \"  tool 1.2 $1\"; echo more"), Some("tool 1.2 --version".to_owned()));
        assert_eq!(said("echo tool 3 >&2"), Some("tool 3".to_owned()));
        assert_eq!(said("echo tool 3; exit 1"), None);
        assert_eq!(said("true"), None);
        assert_eq!(said("echo token=ghp_0123456789012345678901234567890123456"), None);
        assert_eq!(said("printf '%0201d' 7"), None);
        assert_eq!(said("printf '%0200d' 7").map(|version| version.len()), Some(VERSION_BYTES_MAX));
    }

    #[test]
    fn the_programs_that_were_asked_last_are_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = Environment { home: Some(dir.path().to_owned()), ..Environment::default() };
        let places = Places::find(dir.path(), &environment);
        let asked = |numbers: std::ops::Range<usize>| {
            let program = |number: usize| AskedProgram {
                name: "go".into(),
                version: Some(format!("go {number}")),
                asked_at: Timestamp(i64::try_from(number).expect("small")),
            };
            KnownVersions::add(&places, numbers.map(|number| (format!("{number:05}"), program(number))).collect())
        };
        asked(0..PROGRAMS_MAX).expect("written");
        asked(PROGRAMS_MAX..PROGRAMS_MAX + 2).expect("written");
        let known = KnownVersions::read(&places);
        assert_eq!((known.programs.len(), known.version_of("00001")), (PROGRAMS_MAX, None));
        assert_eq!(known.version_of("00002").as_deref(), Some("go 2"));
        std::fs::write(places.state.tool_versions(), "{\"schema\": 2, \"programs\": {}}").expect("written");
        assert!(KnownVersions::read(&places).programs.is_empty());
    }
}
