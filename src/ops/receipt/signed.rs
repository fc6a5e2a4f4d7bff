//! Passes of other machines: receipts that an accepted key signed, compared by versions of programs and contents of packages.

use super::ReceiptBrief;
use super::keys::accepted_keys;
use super::observe::{CheckedCommand, ObservedState, changed_files, changed_files_text};
use super::reuse::{ReceiptCover, ReceiptStore, ReuseObstacle, age_refusal};
use super::versions::stated_toolchain;
use super::{doubt_text, reuse::RECEIPTS_MAX};
use crate::base::lossless::Lossless;
use crate::base::text::one_line;
use crate::config::ReceiptEnvironment;
use crate::event::SignedReceipt;
use crate::gate::receipt::dsse::{Envelope, PublicKey};
use crate::gate::receipt::{
    CheckStatement, StatedCheck, StatedCommand, StatedToolchain, Statement, ToolchainDifference,
};
use crate::ops::request::Request;
use crate::store::{SignedSubject, StoreError};
use crate::whitelist::{Check, CheckKind};

/// What a line says of a signature, digits of the key's id.
const KEY_DIGITS: usize = 12;
/// Why nothing that is not signed as it has to be is looked at.
const NOT_ACCEPTED: &str = "no accepted key signed the receipt of another machine";
/// What begins a line about a receipt that says too little, or whose counterpart here is not known.
const NOT_COMPARED: &str = "the receipt of another machine cannot be compared";

/// A pass, as an accepted key signed it.
#[derive(Debug)]
pub(super) struct SignedPass {
    /// What was signed.
    pub statement: CheckStatement,
    /// The run that it is about.
    pub check: StatedCheck,
    /// The programs, variables and dependencies.
    pub toolchain: StatedToolchain,
    /// The id of the key, hex.
    pub key: String,
}

/// Why an envelope is no pass that could count on another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPass {
    /// None of the keys signed it, or it was changed since.
    #[error("no accepted key signed it")]
    NotAccepted,
    /// It is about something else, or the check did not pass.
    #[error("it is not about a check that passed")]
    NotOfCheck,
    /// It says too little to be compared.
    #[error("it does not say with which versions and contents the check passed")]
    NoToolchain,
}

impl SignedPass {
    /// Opens an envelope. Nothing is read from it before one of the keys has verified it.
    ///
    /// # Errors
    /// [`NoPass`]
    pub(super) fn open(envelope: &str, keys: &[PublicKey]) -> Result<Self, NoPass> {
        let envelope = Envelope::parse(envelope.as_bytes()).map_err(|_| NoPass::NotAccepted)?;
        let opened = keys.iter().find_map(|key| Some((envelope.open(key).ok()?, key.key_id())));
        let (payload, key) = opened.ok_or(NoPass::NotAccepted)?;
        let Ok(Statement::Check(statement)) = Statement::parse(&payload) else { return Err(NoPass::NotOfCheck) };
        statement.prove(None, None).map_err(|_| NoPass::NotOfCheck)?;
        let check = statement.check().ok_or(NoPass::NoToolchain)?;
        let toolchain = statement.toolchain().ok_or(NoPass::NoToolchain)?;
        Ok(SignedPass { statement, check, toolchain, key })
    }

    /// The receipt, as lists and answers have it.
    pub(super) fn brief(&self) -> ReceiptBrief {
        ReceiptBrief {
            id: self.check.receipt.clone(),
            command: self.statement.command_line(),
            dir: self.check.dir.clone(),
            tree: self.statement.tree().unwrap_or_default().to_owned(),
            tests: self.check.tests,
            ended_at: self.check.ended_at,
        }
    }

    /// The key's id, shortened for people.
    pub(super) fn short_key(&self) -> &str {
        self.key.get(..KEY_DIGITS).unwrap_or(&self.key)
    }
}

/// The signed pass that covers the command, else the one that comes closest with what keeps it from that; `None` where
/// there is none, and where the settings count only this machine's own.
///
/// # Errors
/// When the store can't be read.
pub(super) fn find_signed_cover(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    observed: &ObservedState,
) -> Result<Option<ReceiptCover>, StoreError> {
    let Some((check, stated)) = portable_command(request, command) else { return Ok(None) };
    let search = SignedSearch { request, store, command, check, stated, observed };
    let signed = store.index.list_signed_receipts(
        store.segments,
        &search.stated.digest(),
        &observed.state.tree,
        RECEIPTS_MAX,
    )?;
    if signed.is_empty() {
        return Ok(None);
    }
    search.find(&signed)
}

/// Whether there is a signed pass of the command that may count here, whatever it is about.
///
/// # Errors
/// When the store can't be read.
pub(super) fn has_signed(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
) -> Result<bool, StoreError> {
    let Some((_, stated)) = portable_command(request, command) else { return Ok(false) };
    Ok(!store.index.list_signed_receipts(store.segments, &stated.digest(), "", 1)?.is_empty())
}

/// A command whose passes on other machines count, with what a statement calls it.
fn portable_command<'a>(request: &Request, command: &CheckedCommand<'a>) -> Option<(&'a Check, StatedCommand)> {
    if request.settings().receipts.environment != ReceiptEnvironment::Toolchain || command.counts_by_exit_code() {
        return None;
    }
    // What a build is for is what it writes, and that is elsewhere.
    let check = command.check.filter(|check| check.kind != CheckKind::Build)?;
    Some((check, stated_command(request, command)?))
}

/// The command as a statement has it; `None` where a text can't say it exactly.
fn stated_command(request: &Request, command: &CheckedCommand<'_>) -> Option<StatedCommand> {
    let argv = command.argv.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    let dir = request.places.relative(&request.cwd).unwrap_or_default();
    Some(StatedCommand { argv, dir: Lossless::from(&dir).0.into_string().ok()? })
}

/// A command whose signed passes are looked at.
struct SignedSearch<'a> {
    request: &'a Request,
    store: ReceiptStore<'a>,
    command: &'a CheckedCommand<'a>,
    check: &'a Check,
    stated: StatedCommand,
    observed: &'a ObservedState,
}

impl SignedSearch<'_> {
    fn find(&self, signed: &[SignedReceipt]) -> Result<Option<ReceiptCover>, StoreError> {
        let keys = accepted_keys(self.request);
        let mut closest: Option<ReceiptCover> = None;
        for signed in signed {
            let cover = match SignedPass::open(&signed.envelope, &keys) {
                Ok(pass) => self.cover(&pass)?,
                Err(NoPass::NotAccepted) => ReceiptCover::refused(NOT_ACCEPTED.to_owned()),
                Err(why) => ReceiptCover::refused(format!("{NOT_COMPARED}: {why}")),
            };
            if cover.obstacle.is_none() {
                return Ok(Some(cover));
            }
            // The order of the list has the present tree first, then the newest.
            let says_more = closest.as_ref().is_none_or(|closest| closest.receipt.is_none() && cover.receipt.is_some());
            if says_more {
                closest = Some(cover);
            }
        }
        Ok(closest)
    }

    /// A verified pass, with what keeps it from counting here.
    fn cover(&self, pass: &SignedPass) -> Result<ReceiptCover, StoreError> {
        let obstacle = match self.obstacle_of_statement(pass) {
            Some(obstacle) => Some(obstacle),
            None => match self.doubt_of(pass)? {
                Some(doubt) => Some(doubt.into()),
                None => self.obstacle_of_toolchain(pass).map(ReuseObstacle::from),
            },
        };
        Ok(ReceiptCover { receipt: Some(pass.brief()), signer: Some(pass.short_key().to_owned()), obstacle })
    }

    /// What of the statement itself speaks against it here.
    fn obstacle_of_statement(&self, pass: &SignedPass) -> Option<ReuseObstacle> {
        let state = &self.observed.state;
        if let Err(mismatch) = pass.statement.prove(None, Some(&self.stated)) {
            return Some(mismatch.to_string().into());
        }
        let tree = pass.statement.tree().unwrap_or_default();
        if tree != state.tree {
            let (files, count) = changed_files(self.request, tree, &state.tree);
            return Some(ReuseObstacle { text: changed_files_text(&files, count), files });
        }
        let submodules = pass.statement.submodules();
        if submodules != state.submodules {
            let names = submodules.keys().chain(state.submodules.keys());
            let mut names: Vec<String> =
                names.filter(|name| submodules.get(*name) != state.submodules.get(*name)).cloned().collect();
            names.dedup();
            return Some(ToolchainDifference::Submodules(names).to_string().into());
        }
        if pass.check.version != env!("CARGO_PKG_VERSION") {
            // Another version may compare other things.
            let version = one_line(&pass.check.version);
            return Some(format!("verify-run is {version} where it passed").into());
        }
        let is_test = self.check.kind == CheckKind::Test;
        if is_test && pass.check.tests.is_none_or(|tests| tests == 0) {
            return Some("the receipt of another machine does not say that a test ran".to_owned().into());
        }
        age_refusal(self.request, pass.check.ended_at).map(ReuseObstacle::from)
    }

    /// What was recorded here that speaks against it.
    fn doubt_of(&self, pass: &SignedPass) -> Result<Option<String>, StoreError> {
        let subject = SignedSubject {
            command_key: &self.command.key(self.request),
            run: &pass.check.run,
            tree: &self.observed.state.tree,
            ended_at: pass.check.ended_at,
        };
        Ok(self.store.index.doubt_of_signed(subject)?.map(|doubt| doubt_text(doubt).to_owned()))
    }

    /// The first of programs, variables and dependencies that is another one here, or that is not known.
    fn obstacle_of_toolchain(&self, pass: &SignedPass) -> Option<String> {
        let Some(state) = &self.observed.state.toolchain else {
            let why = self.observed.no_toolchain.as_deref().unwrap_or("what it depends on is not known");
            return Some(format!("{NOT_COMPARED}: {why}"));
        };
        // No program is asked for its version while something else differs.
        let inputs = StatedToolchain {
            versions: pass.toolchain.versions.clone(),
            environment: state.environment.clone(),
            dependencies: state.dependencies.clone(),
        };
        if let Some(difference) = pass.toolchain.find_difference(&inputs) {
            return Some(difference.to_string());
        }
        match stated_toolchain(self.request, self.command.argv, &self.request.cwd, state) {
            Ok(here) => pass.toolchain.find_difference(&here).map(|difference| difference.to_string()),
            Err(unknown) => Some(unknown.to_string()),
        }
    }
}
