//! Whether the shells that hosts use find the program, and the shims where they are installed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::finding::{CheckStatus, Finding, new_finding, with_hint};
use crate::config::{Environment, Places};
use crate::host::file::quoted;
use crate::host::process::{ProcessCall, find_on_path, run};
use crate::host::shims::{ShimFolder, ShimStanding};
use crate::whitelist::Whitelist;

/// How long a shell may take to start, milliseconds.
const SHELL_MS_MAX: u64 = 5_000;
/// What each is asked. PATH is printed by a program: fish has a list.
const QUESTION: &str = "command -v verify-run; printenv PATH";

/// A way in which hosts start a shell.
struct ShellForm {
    shell: &'static str,
    option: &'static str,
    /// The file that decides what it finds, below the home folder; empty: it has the host's PATH.
    file: &'static str,
    /// The agent that starts it so; empty: many do.
    agent: &'static str,
}

const FORMS: [ShellForm; 6] = [
    ShellForm { shell: "sh", option: "-c", file: "", agent: "" },
    ShellForm { shell: "bash", option: "-c", file: "", agent: "" },
    ShellForm { shell: "bash", option: "-lc", file: ".profile", agent: "codex" },
    ShellForm { shell: "zsh", option: "-c", file: ".zshenv", agent: "" },
    ShellForm { shell: "zsh", option: "-lc", file: ".zprofile", agent: "codex" },
    ShellForm { shell: "fish", option: "-c", file: ".config/fish/config.fish", agent: "" },
];

/// The shims' folder, where shims are installed.
pub(super) fn shims_folder(environment: &Environment) -> Option<PathBuf> {
    let dir = environment.shims_dir()?;
    fs::read_dir(&dir).ok()?.next().is_some().then_some(dir)
}

/// Whether programs are found before their shims where we were started; nothing where the folder isn't on that PATH,
/// which the shells tell.
pub(super) fn check_front(environment: &Environment) -> Option<Finding> {
    let folder = ShimFolder::from_process(environment).ok()?;
    let found = |status, message| new_finding("shims", status, message, Some(&folder.folder));
    match folder.path_status() {
        ShimStanding::NotInstalled | ShimStanding::NotOnPath => None,
        ShimStanding::InFront => Some(found(CheckStatus::Ok, "the shims come first on PATH")),
        ShimStanding::Shadowed => {
            let found = found(CheckStatus::Warning, "some programs are found on PATH before their shims");
            Some(with_hint(found, "verify-run shims status"))
        }
    }
}

/// Programs of the project's virtual environments that are called without a shim, where shims are installed.
pub(super) fn check_environments(places: &Places, environment: &Environment) -> Option<Finding> {
    let folder = ShimFolder::from_process(environment).ok()?.in_project(&places.root);
    if folder.path_status() == ShimStanding::NotInstalled {
        return None;
    }
    let names = folder.unshimmed_programs(&Whitelist::load(places, environment).0);
    let message = format!("{} of the virtual environment have no shim: their runs are not recorded", names.join(", "));
    let found = new_finding("shims", CheckStatus::Warning, message, folder.environments.first().map(PathBuf::as_path));
    (!names.is_empty()).then(|| with_hint(found, "verify-run shims install"))
}

/// What each form of shell finds; one line where all is well. A form that only an agent uses that isn't among `agents`
/// is no reason to worry.
pub(super) fn shell_findings(environment: &Environment, shims: Option<&Path>, agents: &[&str]) -> Vec<Finding> {
    let (mut findings, mut fine) = (Vec::new(), Vec::new());
    for form in FORMS {
        let Some(shell) = find_on_path(form.shell).filter(|_| form.shell != "fish" || has_fish(environment)) else {
            continue;
        };
        let name = format!("{} {}", form.shell, form.option);
        let argv = [shell.as_os_str(), OsStr::new(form.option), OsStr::new(QUESTION)].map(OsStr::to_owned);
        let worry =
            if form.agent.is_empty() || agents.contains(&form.agent) { CheckStatus::Warning } else { CheckStatus::Ok };
        match ask_shell(&argv) {
            None => {
                let message = format!("`{name}` doesn't start within {SHELL_MS_MAX} ms");
                findings
                    .push(with_hint(new_finding("shells", worry, message, Some(&shell)), format!("time {name} true")));
            }
            Some((None, _)) => findings.push(missing_shim(&form, &name, worry)),
            Some((Some(_), path)) => match shims.filter(|dir| !std::env::split_paths(&path).any(|it| it == *dir)) {
                None => fine.push(name),
                Some(dir) => {
                    let message = format!("`{name}` does not search the shims");
                    findings.push(with_hint(new_finding("shells", worry, message, Some(dir)), repair_line(&form, dir)));
                }
            },
        }
    }
    if !fine.is_empty() {
        let message = format!("verify-run is found by {}", fine.join(", "));
        findings.insert(0, new_finding("shells", CheckStatus::Ok, message, None));
    }
    findings
}

/// Whether fish is used here: it makes folders in the home folder when it starts.
fn has_fish(environment: &Environment) -> bool {
    let below_home = |dir: &str| environment.home.as_ref().map(|home| home.join(dir));
    let folders = [
        environment.xdg_config_home.clone().or_else(|| below_home(".config")),
        environment.xdg_data_home.clone().or_else(|| below_home(".local/share")),
    ];
    folders.iter().flatten().filter(|dir| dir.join("fish").is_dir()).count() == folders.len()
}

/// What the shell calls verify-run, and its PATH; `None` when it does not answer in time.
fn ask_shell(argv: &[OsString]) -> Option<(Option<PathBuf>, OsString)> {
    let limit = Duration::from_millis(SHELL_MS_MAX);
    let answer = run(ProcessCall { argv, dir: Path::new("/"), variables: &[], input: b"", limit }).ok()?;
    answer.status?;
    let lines: Vec<&[u8]> = answer.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let (path, rest) = lines.split_last()?;
    // Files of the user's may print something first.
    let found = rest.last().filter(|line| line.ends_with(b"verify-run"));
    Some((found.map(|line| PathBuf::from(OsStr::from_bytes(line))), OsStr::from_bytes(path).to_owned()))
}

fn missing_shim(form: &ShellForm, name: &str, worry: CheckStatus) -> Finding {
    // Hooks are started by this one.
    let status = if form.shell == "sh" { CheckStatus::Problem } else { worry };
    let message = format!("`{name}` doesn't find verify-run");
    let own = std::env::current_exe().ok();
    let dir = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("/usr/local/bin"));
    with_hint(new_finding("shells", status, message, own.as_deref()), repair_line(form, dir))
}

/// The command after which that form of shell looks into `dir`.
fn repair_line(form: &ShellForm, dir: &Path) -> String {
    let dir = quoted(dir);
    match (form.shell, form.file) {
        ("fish", _) => format!("fish -c 'fish_add_path {dir}'"),
        // It has what its host was started with.
        (_, "") => format!("echo 'export PATH={dir}:\"$PATH\"' >>~/.profile && export PATH={dir}:\"$PATH\""),
        (_, file) => format!("echo 'export PATH={dir}:\"$PATH\"' >>~/{file}"),
    }
}
