//! `.pre-commit-config.yaml` (pre-commit and prek): the hooks that have their command in it.

use super::EditedFile;
use super::yaml::{self, Node, Scalar, ScalarInsertions};
use crate::whitelist::Whitelist;

/// Before an `entry`, which no shell reads: one that runs what follows, recorded where that is possible.
pub(super) const GUARD: &str =
    "sh -c 'command -v verify-run >/dev/null && exec verify-run -- \"$@\"; exec \"$@\"' verify-run ";

/// Languages whose entry is no command on this machine, or not the whole of one.
const OTHER_LANGUAGES: [&str; 6] = ["docker", "docker_image", "fail", "pygrep", "script", "unsupported_script"];

/// The file with the recognised checks of its local hooks recorded.
///
/// # Errors
/// Where it is no YAML.
pub(super) fn wrap(text: &str, whitelist: &Whitelist) -> Result<EditedFile, yaml::YamlFault> {
    let Some(root) = yaml::parse(text)? else { return Ok(EditedFile::default()) };
    let mut insertions = ScalarInsertions::default();
    let mut edited = EditedFile::default();
    let mut elsewhere = 0;
    for repository in root.get("repos").into_iter().flat_map(Node::items) {
        let hooks = repository.get("hooks").into_iter().flat_map(Node::items);
        if repository.get("repo").and_then(Node::text) != Some("local") {
            elsewhere += hooks.filter(|hook| hook.get("entry").is_none()).count();
            continue;
        }
        for entry in hooks.filter_map(|hook| check(hook, whitelist)) {
            if !insertions.put(text, entry, 0, GUARD) {
                edited.left.push((entry.line, "the entry is written in a form that takes no insertion".into()));
            }
        }
    }
    edited.text = (!insertions.is_empty()).then(|| insertions.apply(text));
    edited.elsewhere = elsewhere;
    Ok(edited)
}

/// The entry of a hook whose command is a check and not recorded yet.
fn check<'a>(hook: &'a Node, whitelist: &Whitelist) -> Option<&'a Scalar> {
    let language = hook.get("language").and_then(Node::text).unwrap_or_default();
    if OTHER_LANGUAGES.contains(&language) {
        return None;
    }
    let entry = hook.get("entry")?.scalar()?;
    let mut words = shell_words::split(&entry.value).ok()?;
    if words.iter().any(|word| word.contains("verify-run")) {
        return None;
    }
    let arguments = hook.get("args").into_iter().flat_map(Node::items);
    words.extend(arguments.filter_map(|argument| argument.text().map(str::to_owned)));
    let argv: Vec<_> = words.into_iter().map(Into::into).collect();
    whitelist.decide_command(&argv).into_check().map(|_| entry)
}
