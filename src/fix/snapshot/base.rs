//! The commit that a change is compared with.

use super::git::{Git, GitError, GitView};
use super::history::{fork_point, open_git};
use super::prune::is_hash;
use super::{SkippedSnapshot, SnapshotOptions};
use crate::config::Places;

/// Branches that a change may start from, the first one that exists.
const BASE_BRANCHES: [&str; 4] =
    ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/develop"];

/// The base of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseCommit {
    /// The commit; `None` before the first one.
    pub commit: Option<String>,
    /// Its tree.
    pub tree: String,
    /// What it is, for people: `merge base with main, 1f2e3d4c5b6a`.
    pub name: String,
}

/// Finds the base of the work tree's change: where it left `given`, else where it left the first of the usual branches; on
/// such a branch the commit that is checked out; before the first commit the tree without files.
///
/// # Errors
/// When `given` names no commit, and when git can't be asked.
pub(crate) fn find_base(
    places: &Places,
    given: Option<&str>,
    options: &SnapshotOptions,
) -> Result<BaseCommit, SkippedSnapshot> {
    let git = open_git(places, options)?;
    let found = match given {
        Some(revision) => match find_given(&git, revision) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => return Err(SkippedSnapshot::with_reason(format!("{revision:?} names no commit"))),
            Err(trouble) => Err(trouble),
        },
        None => find_usual(&git),
    };
    found.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
}

/// The commit messages between the base and the commit that is checked out, the newest first, at most 200.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn messages_since(
    places: &Places,
    base: &BaseCommit,
    options: &SnapshotOptions,
) -> Result<Vec<String>, SkippedSnapshot> {
    let Some(commit) = &base.commit else { return Ok(Vec::new()) };
    let git = open_git(places, options)?;
    let range = format!("{commit}..HEAD");
    let asked = git.run(GitView::User, ["log", "-z", "--format=%B", "--max-count=200", &range, "--"], None);
    let listed = asked.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
    let messages = listed.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).trim().to_owned());
    Ok(messages.filter(|message| !message.is_empty()).collect())
}

/// The name of the branch that changes go into: what `origin/HEAD` names, else the first that exists of `main`, `master`
/// and `develop`.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn find_default_branch(
    places: &Places,
    options: &SnapshotOptions,
) -> Result<Option<String>, SkippedSnapshot> {
    let git = open_git(places, options)?;
    let remote = git.run(GitView::User, ["symbolic-ref", "--quiet", BASE_BRANCHES[0]], None).unwrap_or_default();
    let remote = String::from_utf8_lossy(&remote);
    if let Some(name) = remote.trim().strip_prefix("refs/remotes/origin/") {
        return Ok(Some(name.to_owned()));
    }
    for branch in &BASE_BRANCHES[1..] {
        let found = find_commit(&git, branch).map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
        if found.is_some() {
            return Ok(branch.strip_prefix("refs/heads/").map(str::to_owned));
        }
    }
    Ok(None)
}

fn find_given(git: &Git, revision: &str) -> Result<Option<BaseCommit>, GitError> {
    let found = ask_commits(git, &["HEAD", revision])?;
    let [head, Some(named)] = &found[..] else { return Ok(None) };
    let fork = match head {
        Some(head) => fork_point(git, &head.commit, &named.commit)?,
        None => None,
    };
    let name = format!("merge base with {revision}");
    let fork = fork.unwrap_or_else(|| named.commit.clone());
    describe_base(git, fork, &name, &found).map(Some)
}

fn find_usual(git: &Git) -> Result<BaseCommit, GitError> {
    let revisions: Vec<&str> = std::iter::once("HEAD").chain(BASE_BRANCHES).collect();
    let found = ask_commits(git, &revisions)?;
    let Some(Some(head)) = found.first() else {
        let tree = git.run(GitView::User, ["hash-object", "-t", "tree", "--stdin"], None)?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        return Ok(BaseCommit { commit: None, tree, name: "nothing: there is no commit yet".to_owned() });
    };
    let current = git.current_branch();
    for (branch, tip) in BASE_BRANCHES.iter().zip(&found[1..]) {
        let Some(tip) = tip.as_ref().filter(|_| Some(*branch) != current.as_deref()) else { continue };
        if let Some(fork) = fork_point(git, &head.commit, &tip.commit)? {
            let short = branch.trim_start_matches("refs/heads/").trim_start_matches("refs/remotes/");
            return describe_base(git, fork, &format!("merge base with {short}"), &found);
        }
    }
    describe_base(git, head.commit.clone(), "the last commit", &found)
}

/// A commit with its tree.
struct KnownCommit {
    commit: String,
    tree: String,
}

/// The commits that these revisions name, by one git.
fn ask_commits(git: &Git, revisions: &[&str]) -> Result<Vec<Option<KnownCommit>>, GitError> {
    let line = |revision: &&str| {
        // Something that is never there: answers come in order.
        let is_none = revision.contains(['\n', '\0']) || revision.is_empty();
        let name = if is_none { "-" } else { *revision };
        format!("{name}^{{commit}}\n{name}^{{tree}}\n")
    };
    let input: String = revisions.iter().map(line).collect();
    let format = "--batch-check=%(objecttype) %(objectname)";
    let answer = git.run(GitView::User, ["cat-file", format], Some(input.as_bytes()))?;
    let answer = String::from_utf8_lossy(&answer);
    let mut lines = answer.lines();
    let mut next = |kind: &str| {
        let id = lines.next()?.strip_prefix(kind)?.strip_prefix(' ')?;
        is_hash(id).then(|| id.to_owned())
    };
    let mut read = || {
        let (commit, tree) = (next("commit"), next("tree"));
        Some(KnownCommit { commit: commit?, tree: tree? })
    };
    Ok(revisions.iter().map(|_| read()).collect())
}

fn find_commit(git: &Git, revision: &str) -> Result<Option<String>, GitError> {
    let name = format!("{revision}^{{commit}}");
    match git.run(GitView::User, ["rev-parse", "--verify", "--quiet", "--end-of-options", &name], None) {
        Ok(answer) => Ok(Some(String::from_utf8_lossy(&answer).trim().to_owned()).filter(|hash| !hash.is_empty())),
        Err(GitError::Failed(_)) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// The base with its tree, which is asked for where none of the commits that are `known` is it.
fn describe_base(git: &Git, commit: String, name: &str, known: &[Option<KnownCommit>]) -> Result<BaseCommit, GitError> {
    let tree = match known.iter().flatten().find(|known| known.commit == commit) {
        Some(known) => known.tree.clone(),
        None => {
            let tree = format!("{commit}^{{tree}}");
            let answer = git.run(GitView::User, ["rev-parse", "--verify", "--quiet", &tree], None)?;
            String::from_utf8_lossy(&answer).trim().to_owned()
        }
    };
    let short = commit.get(..12).unwrap_or(&commit);
    Ok(BaseCommit { name: format!("{name}, {short}"), tree, commit: Some(commit) })
}
