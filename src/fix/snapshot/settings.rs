//! The settings of verify-run's git folder: its own, and those of the user that decide about contents and files.
//!
//! They are in its `config` file, not on command lines: git then reads them once, not also from a variable that every
//! start of it has to take apart.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, GitError, GitView};

/// What our git does whatever the user's does. Nothing that starts a program, asks, or writes more than it must.
const OWN: [&str; 23] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.pager=cat",
    "core.fsync=none",
    // Whatever the mask of the user.
    "core.sharedRepository=0600",
    "core.compression=1",
    "core.safecrlf=false",
    "core.commitGraph=false",
    "core.quotePath=false",
    // Without a pattern file it only means: what is marked as not checked out and is there anyhow, is there.
    "core.sparseCheckout=true",
    "index.sparse=false",
    "index.skipHash=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "credential.helper=",
    "diff.renameLimit=400",
    "pack.threads=1",
    "submodule.recurse=false",
];

/// The user's that hold for ours too.
const CARRIED: &str = "^(core\\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|protecthfs|protectntfs|\
                       excludesfile|attributesfile|trustctime|checkstat|bigfilethreshold)|index\\.sparse|\
                       extensions\\.objectformat)$";

/// The user's settings that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitSettings {
    /// Key and value.
    carried: Vec<(Vec<u8>, Vec<u8>)>,
    /// The repository's object format.
    pub format: String,
    /// Whether the user's index may have folders in place of the files in them.
    pub has_sparse_index: bool,
}

impl GitSettings {
    /// Asks the user's git for them.
    pub(super) fn ask_git(git: &Git) -> Result<Self, GitError> {
        let arguments = ["config", "--null", "--type=path", "--get-regexp", CARRIED];
        let answer = match git.run(GitView::User, arguments, None) {
            Ok(answer) => answer,
            // It says so with its exit code alone when there is none of them.
            Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Vec::new(),
            Err(trouble) => return Err(trouble),
        };
        Ok(GitSettings::read_answer(&answer))
    }

    /// Reads `key`, a line end, `value`, a NUL, and so on.
    fn read_answer(answer: &[u8]) -> Self {
        let mut settings = GitSettings { carried: Vec::new(), format: "sha1".to_owned(), has_sparse_index: false };
        for entry in answer.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            let (key, value) = match entry.iter().position(|&byte| byte == b'\n') {
                Some(end) => (&entry[..end], &entry[end + 1..]),
                None => (entry, &b"true"[..]),
            };
            if key == b"extensions.objectformat" {
                // It comes from the user's configuration and goes into ours.
                let plain = String::from_utf8_lossy(value);
                settings.format = plain.chars().filter(char::is_ascii_alphanumeric).collect();
            } else if key == b"index.sparse" {
                settings.has_sparse_index = value == b"true";
            } else {
                settings.carried.push((key.to_owned(), value.to_owned()));
            }
        }
        settings
    }

    /// Files outside of the work tree and of git folders from which git reads what it ignores and converts: those of these
    /// settings, else those that it looks for without any (gitignore(5), gitattributes(5)). Each may be missing.
    pub(super) fn rule_files(&self, git: &Git) -> Vec<PathBuf> {
        let carried = |name: &[u8]| self.carried.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        let of_user = |key: &[u8], name: &str| match carried(key) {
            Some(value) => Some(git.root_path().join(OsStr::from_bytes(value))),
            None => Some(usual.as_ref()?.join("git").join(name)),
        };
        let prefix = git.program_path().parent().and_then(Path::parent);
        let of_system = prefix.map(|prefix| prefix.join("etc/gitattributes"));
        let files = [of_user(b"core.excludesfile", "ignore"), of_user(b"core.attributesfile", "attributes"), of_system];
        files.into_iter().flatten().chain([PathBuf::from("/etc/gitattributes")]).collect()
    }

    /// The content of our git folder's `config`.
    pub(super) fn config_file(&self) -> Vec<u8> {
        let mut text = b"[core]\n\trepositoryformatversion = 1\n\tbare = false\n".to_vec();
        if self.format != "sha1" {
            text.extend(format!("[extensions]\n\tobjectformat = {}\n", self.format).as_bytes());
        }
        let own = OWN.iter().filter_map(|setting| setting.split_once('='));
        let own = own.map(|(key, value)| (key.as_bytes(), value.as_bytes()));
        // A later one of the same name holds.
        let carried = self.carried.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
        for (key, value) in carried.chain(own) {
            let Some(dot) = key.iter().position(|&byte| byte == b'.') else { continue };
            text.extend([b"[", &key[..dot], b"]\n\t", &key[dot + 1..], b" = ", &quoted_value(value), b"\n"].concat());
        }
        text
    }
}

/// A value as git's configuration files have it.
fn quoted_value(value: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for &byte in value {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b'\n' => text.extend(b"\\n"),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_users_stands_before_what_is_ours_and_no_value_ends_its_line() {
        let answer = b"core.autocrlf\ninput\0core.filemode\0core.excludesfile\n/a \"b\"\\c\n[core]\n\tpager = x\0\
                       index.sparse\ntrue\0extensions.objectformat\nsha256]\0";
        let settings = GitSettings::read_answer(answer);
        assert_eq!((settings.format.as_str(), settings.has_sparse_index), ("sha256", true));
        let file = String::from_utf8(settings.config_file()).expect("text");
        let after = file.split_once("objectformat = sha256\n").expect("the format").1;
        let carried = "[core]\n\tautocrlf = \"input\"\n[core]\n\tfilemode = \"true\"\n\
                       [core]\n\texcludesfile = \"/a \\\"b\\\"\\\\c\\n[core]\\n\tpager = x\"\n[core]\n\tfsmonitor = \"false\"\n";
        assert!(after.starts_with(carried), "{file}");
        assert!(after.contains("[credential]\n\thelper = \"\"\n"), "{file}");
        assert!(!GitSettings::read_answer(b"").config_file().windows(9).any(|bytes| bytes == b"extension"));
    }
}
