//! `verify-run [RUN OPTIONS] [--] COMMAND`, and a command through its shim: the path that has to cost nothing. No parser
//! library, no regex, no store.

mod hint;
mod meant;
mod options;
mod reuse;

use std::ffi::{OsString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Exit, Output};
use crate::base::refusal::NextStep;
use crate::base::text;
use crate::capture;
use crate::config::{Environment, Places, is_disabled};
use crate::host::ci::{CiJob, CiSystem};
use crate::ops::receipt::CheckedCommand;
use crate::ops::recording;
use crate::run::{self, Program, Shim};
use crate::surface::failure::hint_line;
use crate::whitelist::{self, Check, Whitelist};
use options::{Recording, RunOptions};
use reuse::ReusableRun;

/// Runs the command. Returns only when nothing was run: the code to exit with.
pub fn start(args: Vec<OsString>) -> c_int {
    be_silent();
    let options = match options::parse(args) {
        Ok(options) => options,
        Err(error) => {
            let mut output = Output::from_process();
            output.note(&format!("verify-run: {error}\n{}", hint_line(&error.next_step())));
            return Exit::Usage.code();
        }
    };
    let Some(program) = Program::new(&options.argv) else { return Exit::OwnFailure.code() };
    let code = run(&program, options);
    if code == Exit::NotFound.code()
        && let Some(meant) = meant::meant(program.name())
    {
        Output::from_process().hint(&NextStep::Run(meant.to_owned()));
    }
    code
}

/// Runs the program that `shim` represents, with the arguments behind `typed[0]`, as `verify-run -- NAME ARG…` does.
pub fn start_shim(shim: Shim, typed: Vec<OsString>) -> c_int {
    be_silent();
    let Some(program) = Program::behind(shim.clone(), &typed) else { return Exit::OwnFailure.code() };
    run(&program, RunOptions::of_command(run::as_command(&shim, typed)))
}

/// What goes wrong in us is ours: it must not appear between the lines of the command.
fn be_silent() {
    std::panic::set_hook(Box::new(|_| {}));
}

fn run(program: &Program, options: RunOptions) -> c_int {
    let bare = run::privileged() || options.recording == Recording::Never || is_disabled();
    if bare && !options.only_checks {
        return program.replace_process();
    }
    // Unwinding out of `main` would abort us before the command has run.
    let decided = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let here = RunPlaces::find();
        let check = here.check(&options);
        (here, check)
    }));
    let Ok((here, check)) = decided else {
        return if options.only_checks { refuse(&options, None) } else { program.replace_process() };
    };
    if options.only_checks {
        let confined = check.as_ref().is_some_and(|check| check.alone).then(|| here.confine(&options));
        if !matches!(confined, Some(Ok(()))) {
            return refuse(&options, confined.and_then(Result::err));
        }
    }
    let wanted = check.is_some() || options.recording == Recording::Always;
    match here.places {
        Some((cwd, places)) if wanted && !bare && !recording::is_recorded_above(&places, &here.environment) => {
            let reusable = options.reuse.then(|| CheckedCommand {
                argv: &options.argv,
                check: check.as_ref(),
                is_item: false,
                has_no_input: false,
                path: None,
            });
            let reusable = reusable.filter(CheckedCommand::may_have_receipt);
            let reusable = reusable.map(|command| ReusableRun::begin(&cwd, &places, &here.environment, &command));
            if reusable.as_ref().is_some_and(ReusableRun::is_covered) {
                return Exit::Ok.code();
            }
            supervise(program, options, check, cwd, places, reusable)
        }
        _ => program.replace_process(),
    }
}

/// Where the command runs; without places when the working directory is gone.
struct RunPlaces {
    environment: Environment,
    places: Option<(PathBuf, Places)>,
}

impl RunPlaces {
    fn find() -> Self {
        let environment = Environment::from_process();
        let places = std::env::current_dir().ok().map(|cwd| {
            let places = Places::find(&cwd, &environment);
            (cwd, places)
        });
        RunPlaces { environment, places }
    }

    fn whitelist(&self) -> Whitelist {
        match &self.places {
            Some((_, places)) => Whitelist::open(places, &self.environment),
            None => Whitelist::shipped_only(),
        }
    }

    /// Whether nothing but the project's check is run; why not.
    fn confine(&self, options: &RunOptions) -> Result<(), String> {
        let root = self.places.as_ref().map_or(Path::new("/"), |(_, places)| places.root.as_path());
        let argv: Vec<&[u8]> = options.argv.iter().map(|word| word.as_bytes()).collect();
        self.whitelist().ensure_confined(&argv, root)
    }

    fn check(&self, options: &RunOptions) -> Option<Check> {
        let whitelist = self.whitelist();
        match &options.line {
            Some(line) => whitelist.decide_line(line.to_str()?).into_check(),
            None => whitelist.decide_command(&options.argv).into_check(),
        }
    }
}

/// Runs and records. If that can't be set up the command runs bare: the lesson may be lost, the run never.
fn supervise(
    program: &Program,
    options: RunOptions,
    check: Option<Check>,
    cwd: PathBuf,
    places: Places,
    reusable: Option<ReusableRun>,
) -> c_int {
    let Ok(finished) = run::supervise(program) else { return program.replace_process() };
    let end_as = finished.end_as;
    let hinted = !finished.ended.passed() && hint::is_wanted(options.hint);
    let keep = std::panic::AssertUnwindSafe(|| {
        let variable = |name: &str| std::env::var(name).ok();
        let key_root = places.repository.as_ref().and_then(|repository| repository.worktree.clone());
        let key =
            whitelist::command_key(key_root.as_deref().unwrap_or(&places.root), &cwd, check.as_ref(), &options.argv);
        let identity = capture::identify(options.identity, variable, run::session());
        let sync = options.sync || !finished.ended.passed() && is_ephemeral();
        let argv = options.argv;
        let record = if sync { recording::record_now } else { recording::record_all };
        let checked_state = None;
        let mut run = capture::FinishedRun { argv, cwd, check, key, identity, places, sync, checked_state, record };
        if let Some(reusable) = reusable {
            run.checked_state = reusable.end(&run, &finished);
        }
        let copy = hinted.then(|| run.copy(&finished));
        run.hand_over(finished);
        // Only now: the record is safe, and the recorder was started by a process of one thread.
        if let Some(copy) = copy {
            hint::say(run.places, copy);
        }
    });
    let _ = std::panic::catch_unwind(keep);
    run::end_as(end_as)
}

/// In a job of a CI system, which ends what the job leaves behind, often with the machine. `CI` alone is not enough:
/// people and agents set it, too.
fn is_ephemeral() -> bool {
    CiJob::recognise(|name| std::env::var_os(name)).is_some_and(|job| job.host != CiSystem::Other)
}

fn refuse(options: &RunOptions, why: Option<String>) -> c_int {
    let line = match &options.line {
        Some(line) => line.to_string_lossy().into_owned(),
        None => shell_words::join(options.argv.iter().map(|word| word.to_string_lossy())),
    };
    let line = text::one_line(&line);
    let message = match &why {
        Some(why) => format!("verify-run: only a recognised check may run here: {line} ({})", text::one_line(why)),
        None => format!("verify-run: only a recognised check may run here: {line}"),
    };
    let mut output = Output::from_process();
    output.note(&message);
    if why.is_none() {
        output.hint(&NextStep::Run(format!("whitelist explain {}", shell_words::quote(&line))));
    }
    Exit::OwnFailure.code()
}
