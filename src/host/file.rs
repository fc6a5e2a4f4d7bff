//! Files of the user's, as far as they may be changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::text::line_number;
use crate::config::Problem;
use crate::host::document::EditError;

/// A file that may be changed, or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditableFile {
    /// Where it really is; behind a link that is another place.
    pub path: PathBuf,
    /// What is in it; `None` where there is no such file.
    pub text: Option<String>,
}

/// The file `relative` below `top`, if it may be changed: a regular one of a readable size, in UTF-8, that its owner lets
/// be written and that isn't outside of `top`.
///
/// # Errors
/// A sentence for the person who wanted it changed, with what to type.
pub fn editable(top: &Path, relative: &Path) -> Result<EditableFile, Problem> {
    let path = top.join(relative);
    let problem = |reason: String, hint: String| problem(&path, None, reason, hint);
    let looked_at = |reason: String| problem(reason, format!("ls -ld {}", quoted(&path)));
    if fs::symlink_metadata(&path).is_err() {
        let above = path.ancestors().skip(1).find(|dir| fs::symlink_metadata(dir).is_ok()).unwrap_or(top);
        if !above.is_dir() {
            let reason = format!("{} is not a folder", above.display());
            return Err(problem(reason, format!("ls -ld {}", quoted(above))));
        }
        let real = inside(top, above).map_err(looked_at)?;
        if !may_write(&real) {
            let reason = format!("nothing can be written into {}", above.display());
            return Err(problem(reason, format!("ls -ld {}", quoted(above))));
        }
        let rest = path.strip_prefix(above).unwrap_or(relative);
        return Ok(EditableFile { path: real.join(rest), text: None });
    }
    let real = inside(top, &path).map_err(looked_at)?;
    let metadata = fs::metadata(&real).map_err(|error| looked_at(format!("it can't be read: {error}")))?;
    if !metadata.is_file() {
        return Err(looked_at("it is not a regular file".to_owned()));
    }
    if metadata.len() > CONFIG_FILE_BYTES_MAX {
        let reason = format!("it has {} bytes; the limit is {CONFIG_FILE_BYTES_MAX}", metadata.len());
        return Err(problem(reason, format!("ls -l {}", quoted(&path))));
    }
    if metadata.permissions().mode() & 0o222 == 0 || !may_write(&real) || !real.parent().is_some_and(may_write) {
        return Err(problem("it is read-only".to_owned(), format!("chmod u+w {} && verify-run init", quoted(&path))));
    }
    let bytes = read_start(&real, CONFIG_FILE_BYTES_MAX)
        .map_err(|error| problem(format!("it can't be read: {error}"), format!("chmod u+r {}", quoted(&path))))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(EditableFile { path: real, text: Some(text) }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = line_number(error.as_bytes(), at);
            Err(self::problem(&path, Some(line), "it is not UTF-8".to_owned(), format!("file {}", quoted(&path))))
        }
    }
}

/// What is wrong with a document that was read.
pub fn troubled(path: &Path, trouble: EditError) -> Problem {
    let line = trouble.line.map_or_else(String::new, |line| format!("+{line} "));
    let hint = format!("${{EDITOR:-vi}} {line}{} && verify-run init", quoted(path));
    Problem { warning: trouble.by_hand, ..problem(path, trouble.line, trouble.reason, hint) }
}

fn problem(path: &Path, line: Option<usize>, reason: String, hint: String) -> Problem {
    let reason = format!("left alone: {reason}");
    Problem { file: path.to_owned(), line, reason, hint, used: false, warning: false }
}

/// Where `path`, which is there, really is. A link in a cloned repository must not decide where else we write.
fn inside(top: &Path, path: &Path) -> Result<PathBuf, String> {
    let place = |path: &Path| path.canonicalize().map_err(|error| format!("it can't be followed: {error}"));
    let (real_top, real) = (place(top)?, place(path)?);
    let Ok(rest) = real.strip_prefix(&real_top) else {
        return Err(format!("a link leads out of {}, to {}", top.display(), real.display()));
    };
    if rest.components().any(|part| part.as_os_str() == ".git") {
        return Err("a link leads into .git".to_owned());
    }
    // By the name that the top was asked for with.
    Ok(if rest.as_os_str().is_empty() { top.to_owned() } else { top.join(rest) })
}

fn may_write(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn reason(top: &Path, name: &str) -> String {
        let problem = editable(top, Path::new(name)).expect_err(name);
        assert!(problem.file.ends_with(name) && !problem.hint.is_empty(), "{problem:?}");
        problem.reason
    }

    #[test]
    fn what_may_be_changed_is_read_and_what_is_new_is_inside() {
        let dir = tempfile::tempdir().expect("a folder");
        let top = dir.path();
        fs::create_dir_all(top.join("real/deep")).expect("a folder");
        fs::write(top.join("real/a.json"), "{}\n").expect("written");
        symlink("real", top.join("link")).expect("a link");
        let found = editable(top, Path::new("link/a.json")).expect("editable");
        assert_eq!(found, EditableFile { path: top.join("real/a.json"), text: Some("{}\n".into()) });
        let new = editable(top, Path::new("link/x/y.json")).expect("editable");
        assert_eq!(new, EditableFile { path: top.join("real/x/y.json"), text: None });
        assert_eq!(editable(top, Path::new("b.json")).expect("editable").path, top.join("b.json"));
    }

    #[test]
    fn what_may_not_be_changed_is_left_alone_with_the_reason() {
        let (dir, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let top = dir.path();
        fs::write(elsewhere.path().join("theirs"), "x").expect("written");
        symlink(elsewhere.path().join("theirs"), top.join("out")).expect("a link");
        symlink(elsewhere.path(), top.join("outside")).expect("a link");
        symlink("nowhere", top.join("broken")).expect("a link");
        fs::create_dir_all(top.join("folder")).expect("a folder");
        fs::create_dir_all(top.join(".git")).expect("a folder");
        symlink(".git", top.join("git")).expect("a link");
        fs::write(top.join("latin"), b"a\nb\xe9\n").expect("written");
        fs::write(top.join("large"), vec![b' '; 10 << 20]).expect("written");
        fs::write(top.join("fixed"), "{}").expect("written");
        fs::set_permissions(top.join("fixed"), fs::Permissions::from_mode(0o444)).expect("a mode");
        nix::unistd::mkfifo(&top.join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        assert!(reason(top, "out").contains("a link leads out of"));
        assert!(reason(top, "outside/new.json").contains("a link leads out of"));
        assert!(reason(top, "broken").contains("can't be followed"));
        assert!(reason(top, "git/hooks").contains("into .git"));
        assert!(["folder", "pipe"].iter().all(|name| reason(top, name).contains("not a regular file")));
        assert!(reason(top, "fixed/a.json").contains("fixed is not a folder"));
        assert_eq!(reason(top, "fixed"), "left alone: it is read-only");
        assert!(reason(top, "large").starts_with("left alone: it has 10485760 bytes"));
        assert_eq!(editable(top, Path::new("latin")).expect_err("not UTF-8").line, Some(2));
    }
}
