//! What every verb works with: places, settings, environment, identity and clock of one call.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

use super::kept::KeptReads;
use crate::base::clock::Timestamp;
use crate::capture::{self, Identity};
use crate::config::{Environment, Places, Problem, Settings};
use crate::recorder;
use crate::run;
use crate::store::{Index, StoreError};

/// The context of one call. A surface builds it once; verbs hand it on.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The working directory, absolute: paths of the call are relative to it.
    pub cwd: PathBuf,
    /// The places of the working directory.
    pub places: Places,
    /// The variables that decide places and settings.
    pub environment: Environment,
    /// The task, the session and the agent that the call belongs to.
    pub identity: Identity,
    clock: fn() -> Timestamp,
    /// The time now, whatever the clock says.
    moment: Option<Timestamp>,
    /// When whoever asks stops waiting.
    pub(super) until: Option<Instant>,
    /// What is kept from other calls; a surface that answers many hands it from one to the next.
    pub kept: KeptReads,
    /// Loaded at the first use: a hook or a run often needs none.
    settings: OnceLock<(Settings, Vec<Problem>)>,
}

impl Request {
    /// The request of a call in `cwd`.
    pub(crate) fn new(cwd: PathBuf, environment: Environment, identity: Identity) -> Self {
        let places = Places::find(&cwd, &environment);
        Request {
            cwd,
            places,
            environment,
            identity,
            clock: Timestamp::now,
            moment: None,
            until: None,
            kept: KeptReads::default(),
            settings: OnceLock::new(),
        }
    }

    /// The request of a recorder or a hint: at places that are known, without an identity.
    pub(crate) fn at_places(places: Places, environment: Environment) -> Self {
        Request {
            cwd: places.root.clone(),
            places,
            environment,
            identity: Identity::default(),
            clock: Timestamp::now,
            moment: None,
            until: None,
            kept: KeptReads::default(),
            settings: OnceLock::new(),
        }
    }

    /// The same request, with what others read before.
    pub(crate) fn with_kept(self, kept: &KeptReads) -> Self {
        Request { kept: kept.clone(), ..self }
    }

    /// The same request, whose questions to the index end at this moment.
    pub(crate) fn until(self, until: Instant) -> Self {
        Request { until: Some(until), ..self }
    }

    /// The same request at another time.
    #[cfg(test)]
    pub(crate) fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Request { clock, ..self }
    }

    /// The same request at a moment.
    pub(crate) fn at_moment(self, moment: Timestamp) -> Self {
        Request { moment: Some(moment), ..self }
    }

    /// The same request in another folder of the same places.
    pub(crate) fn with_cwd(self, cwd: PathBuf) -> Self {
        Request { cwd, ..self }
    }

    /// The same request for another folder, with that folder's places and settings.
    pub(crate) fn in_folder(&self, cwd: PathBuf) -> Self {
        let request = Request::new(cwd, self.environment.clone(), self.identity.clone());
        Request { clock: self.clock, moment: self.moment, ..request }
    }

    /// The same request for another task, session or agent.
    pub(crate) fn with_identity(&self, identity: Identity) -> Self {
        Request { identity, ..self.clone() }
    }

    /// Identifies the caller: by what the options name, else by the process's variables and terminal.
    pub(crate) fn identify_caller(options: Identity) -> Identity {
        capture::identify(options, |name| std::env::var(name).ok(), run::session())
    }

    /// The settings in force. The files are read at the first call.
    pub(crate) fn settings(&self) -> &Settings {
        &self.loaded_settings().0
    }

    /// What is wrong in the files of the settings.
    pub(crate) fn settings_problems(&self) -> &[Problem] {
        &self.loaded_settings().1
    }

    fn loaded_settings(&self) -> &(Settings, Vec<Problem>) {
        self.settings.get_or_init(|| Settings::load(&self.places, &self.environment))
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.moment.unwrap_or_else(self.clock)
    }

    /// The task that the caller works on; without an index the branch's or the day's.
    ///
    /// # Errors
    /// When the index can't be read.
    pub(crate) fn current_task(&self, index: Option<&Index>) -> Result<String, StoreError> {
        let hours = self.settings().fix.silence_hours;
        recorder::current_task(&self.places, index, &self.identity, self.now(), hours)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_are_those_of_the_folder_and_read_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
        for (folder, limit) in [(&one, 1), (&other, 2)] {
            fs::create_dir(folder).expect("a folder");
            fs::write(folder.join("verify-run.toml"), format!("[advice]\nlimit = {limit}\n")).expect("a file");
        }
        let request = Request::new(one.clone(), Environment::default(), Identity::default());
        assert_eq!(request.settings().advice.limit, 1);
        fs::write(one.join("verify-run.toml"), "[advice]\nlimit = 9\nunknown = 1\n").expect("a file");
        assert_eq!((request.settings().advice.limit, request.settings_problems().len()), (1, 0));
        assert_eq!(request.with_identity(Identity::default()).settings().advice.limit, 1);
        let elsewhere = request.in_folder(other.clone());
        assert_eq!((elsewhere.settings().advice.limit, &elsewhere.places.root), (2, &other));
        assert_eq!(request.in_folder(one).settings_problems().len(), 1);
    }
}
