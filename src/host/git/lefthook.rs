//! `lefthook.yml`: the jobs of its hooks.

use super::yaml::{self, Node, Scalar, ScalarInsertions};
use super::{EditedFile, GUARD, script};

/// The file with the recognised checks of its hooks recorded. Only `run` of `commands` and `jobs` is a job; `files`,
/// `skip` and `only` have commands too, whose output is the point.
///
/// # Errors
/// Where it is no YAML.
pub(super) fn wrap(text: &str, is_check: &dyn Fn(&str) -> bool) -> Result<EditedFile, yaml::YamlFault> {
    let Some(root) = yaml::parse(text)? else { return Ok(EditedFile::default()) };
    let mut jobs = Vec::new();
    root.entries().for_each(|(_, hook)| collect(hook, &mut jobs));
    let mut insertions = ScalarInsertions::default();
    let mut edited = EditedFile::default();
    for job in jobs {
        let is_put = |at: &usize| insertions.put(text, job, *at, GUARD);
        if !script::commands(&job.value, is_check).unwrap_or_default().iter().all(is_put) {
            edited.left.push((job.line, "the command is written in a form that takes no insertion".into()));
        }
    }
    edited.text = (!insertions.is_empty()).then(|| insertions.apply(text));
    Ok(edited)
}

/// The `run` of every job below a hook, or below a group of jobs.
fn collect<'a>(hook: &'a Node, jobs: &mut Vec<&'a Scalar>) {
    let commands = hook.get("commands").into_iter().flat_map(Node::entries).map(|(_, command)| command);
    for job in commands.chain(hook.get("jobs").into_iter().flat_map(Node::items)) {
        jobs.extend(job.get("run").and_then(Node::scalar));
        if let Some(group) = job.get("group") {
            collect(group, jobs);
        }
    }
}

/// The file with `commands` as a hook of that name. `None` where it has one already, or isn't a map on lines of its own.
pub(super) fn add(text: &str, hook: &str, commands: &[String]) -> Option<String> {
    match yaml::parse(text).ok()? {
        None => {}
        Some(Node::Map { entries, is_block: true }) => {
            // A map that is indented can't be continued at its end, and neither can a document that was ended.
            let is_flush = entries.iter().all(|(key, _)| key.scalar().is_some_and(|key| key.column == 0));
            let is_taken = entries.iter().any(|(key, _)| key.text() == Some(hook));
            if !is_flush || is_taken || text.lines().any(|line| line.starts_with("...")) {
                return None;
            }
        }
        Some(_) => return None,
    }
    let mut added = text.to_owned();
    if !added.is_empty() && !added.ends_with('\n') {
        added.push('\n');
    }
    added.push_str(&format!("{hook}:\n  jobs:\n"));
    for command in commands {
        // A block keeps every character of the command.
        added.push_str(&format!("    - run: |\n        {command}\n"));
    }
    Some(added)
}
