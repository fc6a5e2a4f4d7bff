//! `verify-run --reuse`: a receipt instead of a run, or the reason why not.

use std::ffi::OsString;

use super::observe::{
    CheckedCommand, ObservedState, TreeState, changed_files, changed_files_text, has_input, observe_isolated_state,
    observe_state, path_outside, state_over,
};
use super::signed::{find_signed_cover, has_signed};
use super::{ReceiptBrief, doubt_text};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::capture::{CheckedState, SpooledRun};
use crate::config::ReceiptEnvironment;
use crate::event::Receipt;
use crate::fix;
use crate::fix::snapshot::TakenSnapshot;
use crate::gate::receipt::{StateDifference, count_differences, find_difference};
use crate::lab::LabLevel;
use crate::ops::reading::StoreReader;
use crate::ops::request::Request;
use crate::recorder;
use crate::store::{Index, ReceiptFilter, SegmentFolder, StoreError, own_writer};
use crate::whitelist::{CheckKind, Whitelist};

/// Receipts of one command that are looked at, the newest.
pub(super) const RECEIPTS_MAX: usize = 32;
/// Receipts of all commands of a work tree that may be reused by an evaluation, the newest.
const RECEIPTS_OF_ROOT_MAX: usize = 1_000;
/// A receipt whose run ended later than this after now, microseconds: the clock was set back.
const FUTURE_US_MAX: u64 = 60_000_000;
/// Words of commands that look at what is staged or at the last commits, which no tree has.
const HISTORY_COMMANDS: [&str; 6] = ["lint-staged", "pre-commit", "lefthook", "commitlint", "danger", "overcommit"];

/// The answer to `--reuse` before the command runs.
#[derive(Debug)]
pub(crate) struct ReuseOffer {
    /// A receipt covers the command: the line to say.
    pub reused: Option<String>,
    /// None does, although the command passed before: the line to say.
    pub not_reused: Option<String>,
    /// What a receipt of the run would be about; else why it can have none.
    pub before: Result<ObservedState, String>,
}

/// Programs of commands that are no known tools, behind which a container or another machine is.
const ELSEWHERE_COMMANDS: [&str; 20] = [
    "chroot",
    "ddev",
    "devcontainer",
    "docker",
    "docker-compose",
    "docksal",
    "fin",
    "kubectl",
    "lando",
    "limactl",
    "machinectl",
    "nerdctl",
    "nsenter",
    "oc",
    "podman",
    "podman-compose",
    "sail",
    "ssh",
    "vagrant",
    "wsl",
];
/// Words of such commands whose answer depends on the network, on what is known of packages today, or on commits.
const ASKING_COMMANDS: [&str; 14] =
    ["audit", "curl", "dig", "ftp", "gh", "git", "glab", "http", "nc", "outdated", "ping", "rsync", "scp", "wget"];

/// Where receipts are read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiptStore<'a> {
    pub index: &'a Index,
    pub segments: &'a SegmentFolder,
}

/// A receipt of a command, and what keeps it from being reused.
pub(super) struct ReceiptCover {
    /// `None` of one that no accepted key signed: what it says counts for nothing.
    pub receipt: Option<ReceiptBrief>,
    /// The key that signed it, shortened; `None` of this machine's own.
    pub signer: Option<String>,
    pub obstacle: Option<ReuseObstacle>,
}

impl ReceiptCover {
    /// A receipt of this machine.
    fn own(receipt: &Receipt, obstacle: Option<ReuseObstacle>) -> Self {
        ReceiptCover { receipt: Some(ReceiptBrief::from_receipt(receipt)), signer: None, obstacle }
    }

    /// A receipt that is not looked at.
    pub(super) fn refused(why: String) -> Self {
        ReceiptCover { receipt: None, signer: None, obstacle: Some(why.into()) }
    }

    /// Whether it is about this tree.
    fn is_of(&self, tree: &str) -> bool {
        self.receipt.as_ref().is_some_and(|receipt| receipt.tree == tree)
    }

    /// What is said of a run that it replaces: `passed 3 min ago on this tree (e-…), 41 tests`; else why it doesn't.
    fn say(&self, request: &Request) -> Result<String, String> {
        let receipt = match (&self.obstacle, &self.receipt) {
            (None, Some(receipt)) => receipt,
            (Some(obstacle), _) => return Err(obstacle.text.clone()),
            (None, None) => return Err("nothing is known of it".to_owned()),
        };
        let age = receipt.ended_at.age_at(request.now());
        let tests = receipt.tests.map(|tests| format!(", {}", text::count(tests, "test"))).unwrap_or_default();
        let (place, signer) = match &self.signer {
            Some(key) => (" elsewhere", format!(" signed by {key}")),
            None => ("", String::new()),
        };
        let id = text::one_line(&receipt.id);
        Ok(format!("passed {age}{place} on this tree ({id}{signer}){tests}"))
    }
}

/// Why a receipt is not reused.
pub(super) struct ReuseObstacle {
    /// For people, a lowercase fragment.
    pub text: String,
    /// The files that differ.
    pub files: Vec<String>,
}

impl From<String> for ReuseObstacle {
    fn from(text: String) -> Self {
        ReuseObstacle { text, files: Vec::new() }
    }
}

/// Looks for a receipt that covers the command as it would run now. Whatever is unknown counts as different.
pub(crate) fn offer_reuse(request: &Request, command: &CheckedCommand<'_>) -> ReuseOffer {
    offer_for_state(request, command, || observe_state(request, command))
}

/// As [`offer_reuse`], of a command that would run in the lab on a tree.
pub(crate) fn offer_isolated_reuse(
    request: &Request,
    command: &CheckedCommand<'_>,
    tree: &str,
    level: LabLevel,
) -> ReuseOffer {
    offer_for_state(request, command, || observe_isolated_state(request, command, tree, level))
}

fn offer_for_state(
    request: &Request,
    command: &CheckedCommand<'_>,
    observe: impl FnOnce() -> Result<ObservedState, String>,
) -> ReuseOffer {
    let before = match refusal_of_command(request, command) {
        Some(why) => Err(why),
        None => observe(),
    };
    let found = find_recorded(request, command, before.as_ref());
    let (reused, not_reused) = match found {
        Ok(None) => (None, None),
        Ok(Some(cover)) => match cover.say(request) {
            Ok(text) => (Some(format!("verify-run: reused: {text}")), None),
            Err(text) => (None, Some(format!("verify-run: not reused: {text}"))),
        },
        Err(error) => (None, Some(format!("verify-run: not reused: {}", text::one_line(&error.to_string())))),
    };
    ReuseOffer { reused, not_reused, before }
}

/// Receipts of several commands over one state of the work tree, which nothing may have changed since.
#[derive(Debug)]
pub(crate) struct ReceiptLookup {
    trees: TreeState,
    /// Whether a receipt over these files was there when it was made.
    has_receipts: bool,
}

impl ReceiptLookup {
    /// For the work tree of which this snapshot was taken, and everything that was recorded of it.
    ///
    /// # Errors
    /// Why receipts cannot be compared with it, a lowercase fragment.
    pub(crate) fn over_snapshot(request: &Request, taken: &TakenSnapshot) -> Result<ReceiptLookup, String> {
        let trees = TreeState::of_snapshot(request, taken)?;
        record_pending(request).map_err(|error| error.to_string())?;
        let has_receipts = has_receipts_on(request, &taken.tree).map_err(|error| error.to_string())?;
        Ok(ReceiptLookup { trees, has_receipts })
    }

    /// Whether there may be a receipt over these files: after an edit there is none, and nothing needs to be asked.
    pub(crate) fn has_receipts(&self) -> bool {
        self.has_receipts
    }

    /// The line about the receipt that covers a command in this state, without input in the folder of `request`: `passed 3
    /// min ago on this tree (e-…), 41 tests`. `None` where there is none, or where that cannot be known.
    pub(crate) fn find_cover(
        &self,
        request: &Request,
        command: &CheckedCommand<'_>,
        state: &ObservedState,
    ) -> Option<String> {
        let cover = find_in_store(request, command, Ok(state), WantedCover::Reusable).ok()??;
        cover.say(request).ok()
    }

    /// What a command without input in the folder of `request` depends on now, over these files. `None` where it can have no
    /// receipt, or where that is not known.
    pub(crate) fn observe(&self, request: &Request, command: &CheckedCommand<'_>) -> Option<ObservedState> {
        if !command.may_have_receipt() || refusal_of_command(request, command).is_some() {
            return None;
        }
        state_over(request, command, &self.trees).ok()
    }

    /// A digest of what a command without input in the folder of `request` depends on but for the files of the tree: its
    /// words, programs, dependencies and environment, in the lab or in the work tree, hex. `None` where that is not known.
    pub(crate) fn digest_surroundings(
        &self,
        request: &Request,
        argv: &[OsString],
        level: Option<LabLevel>,
    ) -> Option<String> {
        let whitelist = Whitelist::open(&request.places, &request.environment);
        let check = whitelist.decide_command(argv).into_check();
        let command = CheckedCommand { argv, check: check.as_ref(), is_item: false, has_no_input: true, path: None };
        if refusal_of_command(request, &command).is_some() {
            return None;
        }
        let observed = state_over(request, &command, &self.trees).ok()?;
        let state = match level {
            Some(level) => observed.in_lab("", level).state,
            None => CheckedState { tree: String::new(), ..observed.state },
        };
        Some(blake3::hash(&serde_json::to_vec(&state).ok()?).to_hex().to_string())
    }
}

/// What a receipt of the run that ended is about.
///
/// # Errors
/// Why it can have none, a lowercase fragment.
pub(crate) fn state_after(
    request: &Request,
    command: &CheckedCommand<'_>,
    before: ObservedState,
    finished: &SpooledRun,
) -> Result<CheckedState, String> {
    check_finished(command, finished)?;
    state_between(request, before, observe_state(request, command)?)
}

/// Whether a run that ended may have a receipt.
///
/// # Errors
/// Why it can have none, a lowercase fragment.
pub(crate) fn check_finished(command: &CheckedCommand<'_>, finished: &SpooledRun) -> Result<(), String> {
    let header = &finished.header;
    // What is cut here may be whole for the recorder, which decides.
    let ran = recorder::ran_from_header(header, &finished.output);
    let by_exit_code = command.counts_by_exit_code();
    let refusal = recorder::refusal_of_run(header, ran.tests, ran.stopped_early, by_exit_code);
    refusal.map_or(Ok(()), |why| Err(why.to_owned()))
}

/// What a run is evidence about, between these states.
///
/// # Errors
/// Why about nothing, a lowercase fragment.
pub(crate) fn state_between(
    request: &Request,
    before: ObservedState,
    after: ObservedState,
) -> Result<CheckedState, String> {
    match find_difference(&before.state, &after.state) {
        None if after.changed_at <= before.changed_at => {
            // Other machines get no toolchain that changed meanwhile.
            let toolchain =
                before.state.toolchain.filter(|toolchain| after.state.toolchain.as_ref() == Some(toolchain));
            Ok(CheckedState { toolchain, ..before.state })
        }
        None => Err("a file was written while it ran".to_owned()),
        Some(StateDifference::Tree) => {
            let (files, count) = changed_files(request, &before.state.tree, &after.state.tree);
            Err(format!("{} while it ran", changed_files_text(&files, count)))
        }
        Some(difference) => Err(format!("{difference} while it ran")),
    }
}

/// The receipt that covers the command, else the newest one of it with what keeps it from that; `None` when there is none.
fn find_recorded(
    request: &Request,
    command: &CheckedCommand<'_>,
    before: Result<&ObservedState, &String>,
) -> Result<Option<ReceiptCover>, StoreError> {
    if !record_pending(request)? {
        return Ok(None);
    }
    find_in_store(request, command, before, WantedCover::Closest)
}

/// Records what waits: a pass of a moment ago, or a failure. Whether nothing waits any more.
fn record_pending(request: &Request) -> Result<bool, StoreError> {
    let places = &request.places;
    Ok(recorder::pending_entries(places).is_empty() || !recorder::drain_for_reading(places)?.busy)
}

/// Which receipt is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedCover {
    /// One that replaces a run.
    Reusable,
    /// If there is none, the one that says best why not.
    Closest,
}

/// Whether a receipt of any command is over a tree; those of others are not looked at.
fn has_receipts_on(request: &Request, tree: &str) -> Result<bool, StoreError> {
    if request.settings().receipts.environment == ReceiptEnvironment::Toolchain {
        return Ok(true);
    }
    let Some(index) = Index::open_read(&request.places.state.index())? else { return Ok(false) };
    index.has_receipts_on(&Lossless::from(&request.places.root), tree, RECEIPTS_OF_ROOT_MAX)
}

/// As [`find_recorded`], of what is recorded.
fn find_in_store(
    request: &Request,
    command: &CheckedCommand<'_>,
    before: Result<&ObservedState, &String>,
    wanted: WantedCover,
) -> Result<Option<ReceiptCover>, StoreError> {
    let Some(index) = Index::open_read(&request.places.state.index())? else { return Ok(None) };
    let segments = SegmentFolder::new(request.places.state.events());
    let store = ReceiptStore { index: &index, segments: &segments };
    match before {
        Ok(before) => {
            let cover = find_cover(request, store, command, before, wanted)?;
            Ok(cover.map(|cover| refuse_build(command, cover)))
        }
        Err(why) => {
            let newest = receipts_of(request, store, command, (None, 1))?.pop();
            Ok(newest.map(|receipt| ReceiptCover::own(&receipt, Some(why.clone().into()))))
        }
    }
}

/// What a build is for is what it writes, and git ignores that.
fn refuse_build(command: &CheckedCommand<'_>, cover: ReceiptCover) -> ReceiptCover {
    if command.check.is_none_or(|check| check.kind != CheckKind::Build) || cover.obstacle.is_some() {
        return cover;
    }
    let obstacle = Some("what a build writes may be gone".to_owned().into());
    ReceiptCover { obstacle, ..cover }
}

/// As [`find_recorded`], in an open store and about a state: this machine's own receipts, then those of others, where the
/// settings count them.
pub(super) fn find_cover(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    observed: &ObservedState,
    wanted: WantedCover,
) -> Result<Option<ReceiptCover>, StoreError> {
    if let Some(why) = refusal_of_command(request, command) {
        let newest = receipts_of(request, store, command, (None, 1))?.pop();
        return Ok(newest.map(|receipt| ReceiptCover::own(&receipt, Some(why.into()))));
    }
    let own = find_own_cover(request, store, command, &observed.state, wanted)?;
    if own.as_ref().is_some_and(|cover| cover.obstacle.is_none()) {
        return Ok(own);
    }
    let signed = find_signed_cover(request, store, command, observed)?;
    Ok(match (own, signed) {
        (Some(own), Some(signed)) if signed.obstacle.is_some() => {
            // Of the same files it says what would have to be the same on any machine.
            Some(if signed.is_of(&observed.state.tree) { signed } else { own })
        }
        (own, signed) => signed.or(own),
    })
}

fn find_own_cover(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    state: &CheckedState,
    wanted: WantedCover,
) -> Result<Option<ReceiptCover>, StoreError> {
    let mut closest = None;
    let mut distance = usize::MAX;
    // Only one of the same tree can replace a run.
    let tree = (wanted == WantedCover::Reusable).then_some(state.tree.as_str());
    for receipt in receipts_of(request, store, command, (tree, RECEIPTS_MAX))? {
        let differences = count_differences(&receipt.state, state);
        if differences >= distance {
            continue;
        }
        let obstacle = if differences == 0 { obstacle_of(request, store.index, &receipt)? } else { None };
        if differences == 0 && obstacle.is_none() {
            return Ok(Some(ReceiptCover::own(&receipt, None)));
        }
        // One with the same state says most, even if it does not count.
        distance = differences.max(1) - usize::from(obstacle.is_some());
        closest = Some((receipt, obstacle));
    }
    Ok(closest.filter(|_| wanted == WantedCover::Closest).map(|(receipt, obstacle)| {
        let obstacle = obstacle.unwrap_or_else(|| describe_difference(request, &receipt.state, state));
        ReceiptCover::own(&receipt, Some(obstacle))
    }))
}

/// Whether the command has a receipt, whatever it is about.
///
/// # Errors
/// When the store can't be read.
pub(super) fn has_receipt(
    request: &Request,
    reading: &StoreReader,
    command: &CheckedCommand<'_>,
) -> Result<bool, StoreError> {
    let Some(index) = &reading.index else { return Ok(false) };
    let store = ReceiptStore { index, segments: &reading.segments };
    Ok(!receipts_of(request, store, command, (None, 1))?.is_empty() || has_signed(request, store, command)?)
}

fn receipts_of(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    (tree, limit): (Option<&str>, usize),
) -> Result<Vec<Receipt>, StoreError> {
    let Some(writer) = own_writer(&request.places.state) else { return Ok(Vec::new()) };
    let digests = [Some(command.digest(request)), command.approved_digest(request)];
    let mut receipts = Vec::new();
    for digest in digests.into_iter().flatten() {
        let filter = match tree {
            Some(tree) => ReceiptFilter::CommandOnTree { digest: &digest, writer: &writer, tree },
            None => ReceiptFilter::Command { digest: &digest, writer: &writer },
        };
        receipts.extend(store.index.list_receipts(store.segments, filter, limit)?);
    }
    Ok(receipts)
}

/// What keeps a receipt of the present state from being reused.
fn obstacle_of(request: &Request, index: &Index, receipt: &Receipt) -> Result<Option<ReuseObstacle>, StoreError> {
    if let Some(why) = age_refusal(request, receipt.ended_at) {
        return Ok(Some(why.into()));
    }
    let doubt = index.doubt_of_receipt(receipt)?;
    Ok(doubt.map(|doubt| doubt_text(doubt).to_owned().into()))
}

/// Why the receipt of a run that ended then is too old, or not old at all.
pub(crate) fn age_refusal(request: &Request, ended_at: Timestamp) -> Option<String> {
    const DAY_US: u64 = 86_400_000_000;
    let now = request.now();
    let days = request.settings().receipts.days;
    if ended_at.micros_since(now) > FUTURE_US_MAX {
        return Some("it passed in the future: the clock was set back".to_owned());
    }
    let is_old = now.micros_since(ended_at) > days.saturating_mul(DAY_US);
    is_old.then(|| format!("it passed {} (setting `receipts.days` = {days})", ended_at.age_at(now)))
}

fn describe_difference(request: &Request, receipt: &CheckedState, now: &CheckedState) -> ReuseObstacle {
    match find_difference(receipt, now) {
        Some(StateDifference::Tree) => {
            let (files, count) = changed_files(request, &receipt.tree, &now.tree);
            ReuseObstacle { text: changed_files_text(&files, count), files }
        }
        Some(difference) => difference.to_string().into(),
        None => "something changed".to_owned().into(),
    }
}

/// Why no run of the command can have a receipt.
fn refusal_of_command(request: &Request, command: &CheckedCommand<'_>) -> Option<String> {
    let words = || command.argv.iter().map(|word| word.to_string_lossy().into_owned());
    let looks_back = |word: String| HISTORY_COMMANDS.iter().any(|name| word.contains(name));
    let is_unknown = command.counts_by_exit_code();
    let is_elsewhere =
        command.check.is_some_and(|check| check.elsewhere) || is_unknown && names_one_of(command, &ELSEWHERE_COMMANDS);
    let asks_others = is_unknown && names_one_of(command, &ASKING_COMMANDS);
    let fixed = [
        (is_elsewhere, "it runs in a container or on another machine"),
        (command.check.is_some_and(|check| !check.status_is_own), "its exit code is not the check's own"),
        (asks_others, "it asks the network or looks at commits"),
        (fix::has_choosing_option(words()), "it chooses each time what it checks"),
        (words().any(looks_back), "it looks at commits or at what is staged"),
        (has_input(command), "it may read its standard input"),
    ];
    let refusal = fixed.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why.to_owned());
    refusal.or_else(|| {
        path_outside(request, command).map(|path| format!("it reads {}, outside of the work tree", text::path(&path)))
    })
}

/// Whether a word of the command is one of these: `audit` of `npm audit`, and of `cargo-audit`.
fn names_one_of(command: &CheckedCommand<'_>, names: &[&str]) -> bool {
    let words = command.argv.iter().flat_map(|word| {
        let text = word.to_string_lossy().into_owned();
        // A shell line is one word.
        if text.contains(' ') { shell_words::split(&text).unwrap_or_else(|_| vec![text]) } else { vec![text] }
    });
    let is_one = |word: String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        names.iter().any(|known| *known == name || name.rsplit('-').next() == Some(known))
    };
    words.into_iter().any(is_one)
}
