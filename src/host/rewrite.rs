//! A shell line with the wrapper before its checks.

use std::env;
use std::path::{Path, PathBuf};

use crate::base::file::is_program;
use crate::config::{Environment, Places, is_disabled};
use crate::host::Permissions;
use crate::host::dialect::{Dialect, HookCall, RewritePolicy, UnmatchedPolicy};
use crate::whitelist::{Whitelist, WrapperPosition};

/// What comes between us and the command, so that a command of any name is one.
const PLAIN: &str = "--";
/// The same where a rule lets only this run unasked.
const ONLY_CHECKS: &str = "--only-checks --";

/// A shell line that an agent is about to run.
pub(crate) struct LineToRewrite<'a> {
    /// The line.
    pub line: &'a str,
    /// The agent's dialect.
    pub dialect: &'a Dialect,
    /// The call that has the line.
    pub call: &'a HookCall,
    /// Where it is run.
    pub cwd: &'a Path,
    /// The project.
    pub places: &'a Places,
    /// The user's environment.
    pub environment: &'a Environment,
    /// Whether lines are replaced even if that allows them.
    pub rewrite: bool,
}

/// The line that is to be run instead; `None` where this one is.
///
/// What is run without being asked about stays so, and what is asked about is asked about: the wrapper is left out where
/// the host's rules would judge the new line otherwise than the old one.
pub(crate) fn rewritten_line(asked: &LineToRewrite<'_>) -> Option<String> {
    let line = asked.line;
    let wanted = match asked.dialect.rewriting {
        RewritePolicy::Asks => true,
        RewritePolicy::Allows => asked.rewrite,
        RewritePolicy::Never => false,
    };
    if !wanted || is_disabled() {
        return None;
    }
    let whitelist = Whitelist::open(asked.places, asked.environment);
    let openings = whitelist.wrapper_positions(line);
    let us = our_name()?;
    let rules = match asked.dialect.name {
        "claude" => Permissions::read(&asked.places.root, asked.environment.home.as_deref()),
        _ => Permissions::default(),
    };
    let mut text = line.to_owned();
    for opening in openings.iter().rev() {
        if !opening.prepared && !can_be_found(asked.cwd, opening) {
            return None;
        }
        let words: Vec<&[u8]> = opening.words.iter().map(String::as_bytes).collect();
        let is_alone = opening.check.alone && whitelist.ensure_confined(&words, &asked.places.root).is_ok();
        text.insert_str(opening.at, &allowed_before(opening, is_alone, &us, &rules, unruled_policy(asked))?);
    }
    (!openings.is_empty()).then_some(text)
}

/// What is put before a command; `None` where nothing may be.
fn allowed_before(
    opening: &WrapperPosition,
    is_alone: bool,
    us: &str,
    rules: &Permissions,
    unruled: UnmatchedPolicy,
) -> Option<String> {
    let command = opening.words.join(" ");
    if rules.is_against(&command) {
        return None;
    }
    let with = |options: &str| format!("{us} {options} ");
    let allowed = |options: &str| rules.allows(&format!("{}{command}", with(options)));
    // The user lets exactly this run.
    if is_alone && !allowed(PLAIN) && allowed(ONLY_CHECKS) {
        return Some(with(ONLY_CHECKS));
    }
    let is_the_same = match unruled {
        UnmatchedPolicy::Run => true,
        UnmatchedPolicy::Asked | UnmatchedPolicy::Judged => !rules.allows(&command) || allowed(PLAIN),
        // It may be allowed by a rule that hooks don't see (`claude -p --allowedTools`), and the new line would be
        // refused.
        UnmatchedPolicy::Refused => allowed(PLAIN),
    };
    is_the_same.then(|| with(PLAIN))
}

/// What happens to a command without a rule: Claude Code says in the environment of its hooks that it is not attended
/// (`-p`, its SDK).
fn unruled_policy(asked: &LineToRewrite<'_>) -> UnmatchedPolicy {
    let is_unattended = || {
        env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_some_and(|value| value == "0")
            || env::var("CLAUDE_CODE_ENTRYPOINT").is_ok_and(|value| value.starts_with("sdk"))
    };
    match asked.call.unruled {
        UnmatchedPolicy::Asked if asked.dialect.name == "claude" && is_unattended() => UnmatchedPolicy::Refused,
        told => told,
    }
}

/// What the agent's shell can call us by: the name, if that is found here and is us, else the whole path.
fn our_name() -> Option<String> {
    let own = env::current_exe().ok()?.canonicalize().ok()?;
    let named = path_folders().map(|dir| dir.join("verify-run")).find(|path| is_program(path));
    if named.and_then(|path| path.canonicalize().ok()) == Some(own.clone()) {
        return Some("verify-run".to_owned());
    }
    Some(shell_words::quote(own.to_str()?).into_owned())
}

/// Whether a program is there that the shell would run by this name. Where it isn't, the name may be a function of the
/// shell's, which we could not run.
fn can_be_found(cwd: &Path, opening: &WrapperPosition) -> bool {
    let name = opening.words[0].as_str();
    let dir = opening.dir.as_deref().unwrap_or_default();
    if name.contains('/') {
        dir.contains(['$', '~', '`']) || is_program(&cwd.join(dir).join(name))
    } else {
        path_folders().any(|dir| is_program(&dir.join(name)))
    }
}

fn path_folders() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect::<Vec<_>>().into_iter().filter(|dir| dir.is_absolute())
}
