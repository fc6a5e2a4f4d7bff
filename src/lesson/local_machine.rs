//! Traces of the local machine in a text: absolute paths, the user's name, the host's name. A lesson is read on other
//! machines, so none of it gets into one.

use std::collections::BTreeSet;
use std::path::Path;

/// Folders at the top of common systems; what begins like a path and has none of them (`/api/users`) is left alone.
const TOPS: [&str; 22] = [
    "bin",
    "build",
    "builds",
    "dev",
    "etc",
    "home",
    "lib",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "srv",
    "tmp",
    "usr",
    "var",
    "Users",
    "Volumes",
    "workspace",
    "workspaces",
];
/// Short paths below these are the same on every machine (`/dev/null`, `/bin/sh`).
const COMMON: [&str; 5] = ["bin", "dev", "etc", "proc", "usr"];
/// Components of another absolute path that are kept.
const KEPT_COMPONENTS: usize = 3;
/// A shorter host name may be any word, characters.
const HOST_CHARS_MIN: usize = 6;

/// What is known of this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalMachine {
    root: String,
    home: Option<String>,
    user: Option<String>,
    host: Option<String>,
    tops: BTreeSet<String>,
}

impl LocalMachine {
    /// Of a project at `root`. `tops` are the names of the folders at the top of the file system.
    pub fn new(root: &Path, home: Option<&Path>, host: Option<String>, tops: impl IntoIterator<Item = String>) -> Self {
        let text = |path: &Path| path.to_str().map(|path| path.trim_end_matches('/').to_owned());
        let home = home.and_then(text).filter(|home| home.len() > 1);
        LocalMachine {
            root: text(root).unwrap_or_default(),
            user: home.as_deref().and_then(|home| home.rsplit('/').next()).map(str::to_owned),
            home,
            host: host.filter(|host| host.len() > 2 && host != "localhost"),
            tops: tops.into_iter().chain(TOPS.map(str::to_owned)).collect(),
        }
    }

    /// `text` without anything of this machine: paths relative to the root, the home folder as `~`, other absolute paths by
    /// their last components.
    pub fn strip_local_names(&self, text: &str) -> String {
        self.strip_from(text, "")
    }

    /// As [`LocalMachine::strip_local_names`], of text that is read in `dir` below the root: a command.
    pub fn strip_local_names_in(&self, text: &str, dir: &str) -> String {
        let depth = if dir.starts_with('/') { 0 } else { dir.split('/').filter(|part| !part.is_empty()).count() };
        self.strip_from(text, &"../".repeat(depth))
    }

    fn strip_from(&self, text: &str, up: &str) -> String {
        if !text.contains('/') && !text.contains('@') && self.host.is_none() {
            return text.to_owned();
        }
        let mut text = text.to_owned();
        if self.root.len() > 1 {
            text = text.replace(&format!("file://{}", self.root), &self.root);
            text = replace_path(&text, &self.root, up.trim_end_matches('/'));
        }
        if let Some(home) = &self.home {
            text = replace_path(&text, home, "~");
        }
        self.without_host(&self.shorten_paths(&text))
    }

    /// Other absolute paths by their last components.
    fn shorten_paths(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('/') {
            let before = rest[..at].chars().next_back().or(out.chars().next_back());
            let path = leading_path(&rest[at..]);
            out.push_str(&rest[..at]);
            match before.is_none_or(is_path_boundary).then(|| self.shorten_path(path)).flatten() {
                Some(short) => out.push_str(&short),
                None => out.push_str(path),
            }
            rest = &rest[at + path.len()..];
        }
        out + rest
    }

    /// `None` where it is no path of this machine, or the same on every one.
    fn shorten_path(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (top, below) = parts.split_first()?;
        if path.starts_with("//") || !self.tops.contains(*top) || below.is_empty() {
            return None;
        }
        if COMMON.contains(top) && below.len() < KEPT_COMPONENTS {
            return None;
        }
        let below = if matches!(*top, "home" | "Users") { &below[1..] } else { below };
        let is_users = |part: &str| {
            let user = self.user.as_deref().unwrap_or_default();
            !user.is_empty() && (part == user || part.ends_with(&format!("-of-{user}")))
        };
        let below: Vec<&str> = below.iter().copied().filter(|part| !is_users(part)).collect();
        let kept = &below[below.len().saturating_sub(KEPT_COMPONENTS)..];
        Some(if kept.is_empty() { "…".to_owned() } else { format!("…/{}", kept.join("/")) })
    }

    fn without_host(&self, text: &str) -> String {
        let Some(host) = &self.host else { return text.to_owned() };
        let user = self.user.as_deref().unwrap_or_default();
        let mut text = text.replace(&format!("{user}@{host}"), "user@host").replace(&format!("@{host}"), "@host");
        // Many a short name is a word too.
        if host.len() >= HOST_CHARS_MIN && host.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            text = text.replace(host.as_str(), "host");
        }
        text
    }
}

/// `text` with `path`, where it is a whole path or the start of one, replaced by `with`; nothing is a path to here.
fn replace_path(text: &str, path: &str, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let after = &rest[at + path.len()..];
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let is_whole =
            after.chars().next().is_none_or(|c| !is_path_char(c) || c == '/') && before.is_none_or(is_path_boundary);
        out.push_str(&rest[..at]);
        rest = after;
        if !is_whole {
            out.push_str(path);
            continue;
        }
        out.push_str(with);
        let below = after.trim_start_matches('/');
        let is_file = after.starts_with('/') && below.chars().next().is_some_and(is_path_char);
        match (with.is_empty(), is_file) {
            (true, true) => rest = below,
            (true, false) => out.push('.'),
            _ => {}
        }
    }
    out + rest
}

/// The path that `text` begins with.
fn leading_path(text: &str) -> &str {
    &text[..text.find(|c: char| !is_path_char(c)).unwrap_or(text.len())]
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@~%$#…".contains(c)
}

/// Whether an absolute path may begin after `c`.
fn is_path_boundary(c: char) -> bool {
    !c.is_alphanumeric() && !"/._-~…@%+".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> LocalMachine {
        let tops = ["data".to_owned()];
        LocalMachine::new(Path::new("/home/ada/my-app"), Some(Path::new("/home/ada")), Some("ada-laptop".into()), tops)
    }

    #[test]
    fn a_text_names_no_path_user_or_host_of_this_machine() {
        for (text, expected) in [
            ("/home/ada/my-app/src/a.ts:3:7: no", "src/a.ts:3:7: no"),
            ("at f (file:///home/ada/my-app/src/a.ts:3:7)", "at f (src/a.ts:3:7)"),
            ("in '/home/ada/my-app'", "in '.'"),
            ("/home/ada/my-app-2/x and /home/ada/.cache/x", "~/my-app-2/x and ~/.cache/x"),
            ("PATH=/home/ada/my-app/bin:/home/ada/bin", "PATH=bin:~/bin"),
            ("/usr/lib/python3.12/unittest/case.py", "…/python3.12/unittest/case.py"),
            ("/home/bob/x.py", "…/x.py"),
            ("/tmp/pytest-of-ada/pytest-3/test_x0/out", "…/pytest-3/test_x0/out"),
            ("/tmp/ada/x", "…/x"),
            ("/data/a/b/c/d", "…/b/c/d"),
            ("cannot open /dev/null, /bin/sh", "cannot open /dev/null, /bin/sh"),
            ("GET /api/users/1/posts/2 404, a/b/c and 1/2", "GET /api/users/1/posts/2 404, a/b/c and 1/2"),
            ("http://localhost:3000/home/x/y", "http://localhost:3000/home/x/y"),
            ("ada@ada-laptop: no route to ada-laptop", "user@host: no route to host"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(local().strip_local_names(text), expected, "{text}");
        }
    }

    #[test]
    fn a_command_still_works_where_it_was_typed() {
        assert_eq!(local().strip_local_names_in("eslint /home/ada/my-app/src", "packages/web"), "eslint ../../src");
        assert_eq!(local().strip_local_names_in("eslint /home/ada/my-app/src /home/ada/my-app", ""), "eslint src .");
        assert_eq!(local().strip_local_names_in("eslint /home/ada/my-app", "web"), "eslint ..");
    }
}
