//! Files, written all together or not at all, and never over another program's change.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::InstallError;
use super::ledger::{Ledger, LedgerContent, LedgerEntry, hash, is_absent, missing_folders};
use crate::base::file::{Durability, read_start, write_atomic};
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::lossless::Lossless;
use crate::config::{Environment, Places};
use crate::host::document;
use crate::host::{ConfigFileChange, InstallScope};

/// Of a file that is new.
const MODE: u32 = 0o644;
/// What makes a file executable for those who may read it.
const EXECUTABLE: u32 = 0o111;

/// A file to write, and for which hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostedChange<'a> {
    pub hosts: &'a [String],
    pub change: &'a ConfigFileChange,
}

/// A file that is as it should be, and for which hosts.
#[derive(Debug, Clone)]
pub(super) struct FinishedFile {
    pub hosts: Vec<String>,
    pub path: PathBuf,
}

/// Writes `changes`, and remembers them; of what is `done` already it is remembered for whom.
///
/// # Errors
/// When a file was changed since it was planned, or can't be written. What was written until then is put back.
pub(super) fn install_changes(
    places: &Places,
    environment: &Environment,
    scope: InstallScope,
    changes: &[HostedChange<'_>],
    done: &[FinishedFile],
) -> Result<(), InstallError> {
    let known = Ledger::open_ledger(places, environment, scope)?;
    let news = done.iter().any(|file| known.find_entry(&file.path).is_some_and(|entry| !has_all(entry, &file.hosts)));
    if changes.is_empty() && !news {
        return Ok(());
    }
    let mut ledger = Ledger::open_for_change(places, environment, scope)?;
    for HostedChange { change, .. } in changes {
        let there = read_if_present(&change.path).map_err(InstallError::file("read", &change.path))?;
        if there != change.before {
            return Err(InstallError::Changed { path: change.path.clone() });
        }
    }
    let old = ledger.all_entries().to_vec();
    for HostedChange { hosts, change } in changes {
        let entry = ledger_entry(&ledger, hosts, change)?;
        ledger.set_entry(entry);
    }
    for FinishedFile { hosts, path } in done {
        if let Some(entry) = ledger.find_entry(path).filter(|entry| !has_all(entry, hosts)) {
            let mut entry = entry.clone();
            join_hosts(&mut entry.hosts, hosts);
            ledger.set_entry(entry);
        }
    }
    ledger.save_ledger()?;
    let mut written: Vec<&ConfigFileChange> = Vec::new();
    for HostedChange { change, .. } in changes {
        let mode = ledger.find_entry(&change.path).map_or(MODE, |entry| entry.after.mode);
        if let Err(source) = write_file(&change.path, &change.after, mode) {
            restore_files(&ledger, &written);
            ledger.find_entry(&change.path).iter().for_each(|entry| remove_folders(entry));
            ledger.replace_entries(old);
            ledger.save_ledger()?;
            return Err(InstallError::RolledBack { path: change.path.clone(), source });
        }
        written.push(change);
    }
    Ok(())
}

/// Gives files that were written just now what they had before, the last one first.
fn restore_files(ledger: &Ledger, written: &[&ConfigFileChange]) {
    for change in written.iter().rev() {
        let entry = ledger.find_entry(&change.path);
        let mode = entry.and_then(|entry| entry.before.as_ref()).map_or(MODE, |before| before.mode);
        let _ = match &change.before {
            Some(bytes) => write_file(&change.path, bytes, mode),
            None => fs::remove_file(&change.path),
        };
        entry.into_iter().for_each(remove_folders);
    }
}

fn has_all(entry: &LedgerEntry, hosts: &[String]) -> bool {
    hosts.iter().all(|host| entry.hosts.contains(host))
}

fn join_hosts(hosts: &mut Vec<String>, more: &[String]) {
    let new: Vec<String> = more.iter().filter(|host| !hosts.contains(host)).cloned().collect();
    hosts.extend(new);
}

/// What is remembered of a change: of a file that we wrote before, what it would be without us now.
fn ledger_entry(ledger: &Ledger, hosts: &[String], change: &ConfigFileChange) -> Result<LedgerEntry, InstallError> {
    let mode = mode_of(&change.path).unwrap_or(MODE);
    let after = if change.executable { mode | EXECUTABLE } else { mode };
    let known = ledger.find_entry(&change.path);
    let is_as_written =
        |entry: &LedgerEntry| change.before.as_deref().is_some_and(|bytes| hash(bytes) == entry.after.hash);
    let before = match (known, &change.before) {
        (Some(entry), _) if is_as_written(entry) => entry.before.clone(),
        (_, None) => None,
        (known, Some(bytes)) => {
            let rest = known.and_then(|entry| bytes_without_own(ledger, entry, bytes));
            let is_gone = rest.as_deref().is_some_and(<[u8]>::is_empty) && known.is_some_and(|it| it.before.is_none());
            if is_gone { None } else { Some(ledger.keep_content(rest.as_deref().unwrap_or(bytes), mode)?) }
        }
    };
    let mut all = known.map(|entry| entry.hosts.clone()).unwrap_or_default();
    join_hosts(&mut all, hosts);
    let mut folders = known.map(|entry| entry.folders.clone()).unwrap_or_default();
    let new = change.path.parent().map(missing_folders).unwrap_or_default();
    folders.extend(new.iter().map(|dir| Lossless::from(dir.as_path())));
    let after: LedgerContent = ledger.keep_content(&change.after, after)?;
    Ok(LedgerEntry { path: Lossless::from(change.path.as_path()), hosts: all, before, after, folders })
}

/// A file that was edited since we wrote it, without what we wrote.
fn bytes_without_own(ledger: &Ledger, entry: &LedgerEntry, bytes: &[u8]) -> Option<Vec<u8>> {
    let written = ledger.original_texts(entry.path.path())?;
    let current = std::str::from_utf8(bytes).ok()?;
    document::take_out(entry.path.path(), written.borrowed(), current).ok().map(String::into_bytes)
}

/// A file's bytes; `None` where there is no such file.
pub(super) fn read_if_present(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match read_start(path, CONFIG_FILE_BYTES_MAX * 2) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Its permission bits; `None` where there is no such file.
pub(super) fn mode_of(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|metadata| metadata.permissions().mode() & 0o7777)
}

/// Writes a file and the folders on the way to it.
pub(super) fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        // Folders of the user's, as their mask wants them.
        fs::create_dir_all(folder)?;
    }
    write_atomic(path, bytes, mode, Durability::Synced)
}

/// Removes the folders that were made for a file, as far as they are empty.
pub(super) fn remove_folders(entry: &LedgerEntry) {
    for folder in entry.folders.iter().rev() {
        if fs::remove_dir(folder.path()).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::install::removal::{self, RemovalOutcome};

    fn places(dir: &Path) -> Places {
        Places { root: dir.join("root"), repository: None, state: dir.join("state/deep").into(), fallbacks: Vec::new() }
    }

    fn change(path: PathBuf, before: Option<&str>, after: &str, executable: bool) -> ConfigFileChange {
        let bytes = |text: &str| text.as_bytes().to_vec();
        ConfigFileChange { path, why: "a test".into(), before: before.map(bytes), after: bytes(after), executable }
    }

    fn put_all(places: &Places, changes: &[ConfigFileChange]) -> Result<(), InstallError> {
        let hosts = ["claude".to_owned()];
        let all: Vec<HostedChange<'_>> = changes.iter().map(|change| HostedChange { hosts: &hosts, change }).collect();
        install_changes(places, &Environment::default(), InstallScope::Project, &all, &[])
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn files_are_written_together_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a folder");
        let places = places(dir.path());
        let (old, new, blocked) = (places.root.join("old"), places.root.join("a/new"), places.root.join("old/x"));
        fs::create_dir_all(&places.root).expect("a folder");
        fs::write(&old, "mine\n").expect("written");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).expect("a mode");
        let changes = [
            change(old.clone(), Some("mine\n"), "mine\nours\n", false),
            change(new.clone(), None, "ours\n", true),
            change(blocked, None, "below a file\n", false),
        ];
        let error = put_all(&places, &changes).expect_err("a file is not a folder");
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert_eq!((text(&old), places.root.join("a").exists()), ("mine\n".into(), false));
        assert!(!dir.path().join("state").exists(), "nothing is remembered, and nothing is left of the record");
        put_all(&places, &changes[..2]).expect("they can be written");
        assert_eq!((mode_of(&old), mode_of(&new)), (Some(0o640), Some(0o755)));
        let report = removal::uninstall_hosts(&places, &Environment::default(), InstallScope::Project, &[])
            .expect("it can be taken out");
        let outcomes: Vec<RemovalOutcome> = report.files.iter().map(|file| file.outcome).collect();
        assert_eq!(outcomes, [RemovalOutcome::Removed, RemovalOutcome::Restored]);
        assert_eq!((text(&old), mode_of(&old), places.root.join("a").exists()), ("mine\n".into(), Some(0o640), false));
        assert!(!dir.path().join("state").exists());
    }

    #[test]
    fn a_change_of_somebody_else_is_never_written_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let places = places(dir.path());
        fs::create_dir_all(&places.root).expect("a folder");
        let file = places.root.join("a");
        fs::write(&file, "theirs\n").expect("written");
        let error = put_all(&places, &[change(file.clone(), Some("as it was planned\n"), "ours\n", false)]);
        assert!(error.expect_err("it was changed").to_string().contains("changed meanwhile"));
        assert_eq!(text(&file), "theirs\n");
    }
}
