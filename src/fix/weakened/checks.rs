//! Commands of scripts and pipelines: a check whose exit status no longer counts, and one that is no longer there.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use crate::fix::patch::PatchChange;
use crate::whitelist::{CheckKind, Whitelist};

/// Commands looked at on one side.
const COMMANDS_MAX: usize = 2_000;
/// A command, bytes.
const COMMAND_BYTES_MAX: usize = 2_000;

/// A command that may be found in a comment, bytes without blanks.
const COMMENTED_BYTES_MIN: usize = 5;

/// Whatever came before, the line succeeds.
static SWALLOWED: LazyLock<Regex> = LazyLock::new(|| {
    let always = r"(?:(?:/bin/)?true|:|exit\s+0|echo\b[^&;]*|printf\b[^&;]*)";
    compile_regex(&format!(r"^(?P<command>.+?)\s*(?:\|\||;)\s*(?P<always>{always})\s*$")).expect("a regex")
});
/// A program or script whose name says that it checks, though the whitelist doesn't know it.
static CHECK_BY_NAME: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^(?:\S*/)?\w*[\w.-]*(?:tests?|lint|checks?|verify|typecheck|coverage|specs?)(?:[._-]\w+)*$")
        .expect("a regex")
});
/// Keys of pipelines and task files that contain commands.
static COMMAND_KEY: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?:^|\.)(?:run|(?:\w+_)?scripts?|cmd|cmds|command|commands|entry|tasks|test|bash|pwsh)(?:\.[\w:.-]+)?$",
    )
    .expect("a regex")
});

/// Keys of files, below a section whose name is that of a command.
static LISTS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\.(?:omit|include|source|exclude\w*|plugins|data_file)$").expect("a regex"));
/// An action of a pipeline that checks something, without its version.
static ACTION: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^(?:[\w.-]+/[\w./-]*)?(?:lint|test|codeql|ruff|black|mypy|pyright|prettier|clippy|pre-commit|flake8|rubocop|phpstan|psalm|shellcheck|hadolint|cypress|semgrep|trivy|audit|cargo-deny|typos|sonar|codacy|coverity|snyk|dependency-review|gitleaks|trufflehog|checkov|detekt|ktlint|eslint|biome|bandit|zizmor|reviewdog|scorecard|reuse-action|pip-audit|codespell|spell-?check|staticcheck|govulncheck|lychee|link-check|fuzz|semver-check)[\w./-]*")
        .expect("a regex")
});
/// A linter that a container runs.
static LINTER_IMAGE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^(?:sudo\s+)?(?:docker|podman)\s+run\s.*\s(?:[\w.-]+/)+([\w.-]*lint[\w.-]*)(?:[:@]\S+)?(?:\s|$)")
        .expect("a regex")
});
/// A program that is asked to check: `nsp check`.
static ASKED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^(?:[a-z][a-z-]*\s(?:check|lint|audit|verify)|coverage\srun)(?:\s|$)").expect("a regex")
});
/// Words in front of the program that is meant.
const RUNNERS: [&str; 19] = [
    "xargs", "env", "sudo", "time", "exec", "python", "python3", "-m", "poetry", "pipenv", "uv", "uvx", "npx", "bunx",
    "bundle", "xvfb-run", "bash", "sh", "uses:",
];

/// A script of a manifest whose name says that it checks.
static NAMED_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*"(?P<name>(?:test|lint|check|coverage|typecheck|verify)[\w:.-]*)"\s*:\s*"(?P<command>[^"&|;]+)"\s*,?\s*$"#)
        .expect("a regex")
});
/// Does nothing.
static IDLE: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^(?:echo|exit|true|false|:|printf|sleep|node\s+-e)\b").expect("a regex"));
/// A session of a runner of sessions.
static SESSION: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\b(?:nox|tox)\s(?:run\s)?.*?-(?:s|e|-session|-env)[ =]\S+").expect("a regex"));
/// A command on a changed line.
struct CheckCommand<'v, 'p> {
    file: usize,
    line: &'v DiffLine<'p>,
    /// Without what swallows its status.
    text: String,
    /// Whether its status counts for nothing.
    swallowed: bool,
    check: Option<CheckKind>,
    /// Whether it is a check by its name alone.
    by_name: bool,
    /// How many commands its line has.
    links: usize,
}

/// Marks swallowed and removed checks.
pub(super) fn mark_checks(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    if !views.iter().any(holds_commands) {
        return;
    }
    let whitelist = Whitelist::shipped_only();
    let (old, new) = (list_commands(views, DiffSide::Old, &whitelist), list_commands(views, DiffSide::New, &whitelist));
    mark_swallowed(sheet, &old, &new);
    let bare_lines = |all: bool| -> Vec<String> {
        let lines = views.iter().filter(|view| holds_commands(view)).flat_map(|view| view.all_lines(DiffSide::New));
        lines.filter(|line| all || line.changed).map(|line| bare_command(&line.masked.text)).collect()
    };
    let (kept, added) = (bare_lines(true), bare_lines(false));
    let pipeline_added = views.iter().any(|view| {
        matches!(view.file.change, PatchChange::Added | PatchChange::Renamed) && view.is("yaml") && holds_commands(view)
    });
    let commented = list_comments(views);
    let mut told = Vec::new();
    for command in old.iter().filter(|command| !command.swallowed) {
        let view = &views[command.file];
        let job_gone = in_removed_job(view, command.line);
        let is_check =
            |kind: &CheckKind| (job_gone || !matches!(kind, CheckKind::Build)) && !FOR_PEOPLE.is_match(&command.text);
        let Some(kind) = command.check.filter(is_check) else { continue };
        // What another job runs it ran before, unless it has more to run now.
        let is_folded = || {
            view.changed_lines(DiffSide::New).any(|line| line.raw.contains("matrix") || line.path.contains("matrix"))
        };
        let kept = if job_gone && !is_folded() { &added } else { &kept };
        let own = bare_command(&command.text);
        // `lint:types` may lint types, or check them.
        let lints = command.text.contains("lint");
        let like = |other: &CheckCommand<'_, '_>| {
            other.check.is_some_and(|other| is_like(kind, other) || lints && is_like(CheckKind::Lint, other))
        };
        let there = new.iter().any(like) && !command.is_linked_in(&old, &new)
            || kept.iter().any(|line| line.contains(&own))
            || command.program_of_kind(kind).is_some_and(|program| kept.iter().any(|line| line.contains(&program)));
        let deleted = view.file.change == PatchChange::Deleted;
        let there = there || is_replaced(view, command.line, &new) || runs_elsewhere(views, command.file);
        let is_comment = |(file, text): &(usize, String)| *file == command.file && text.ends_with(&own);
        let there = there && !(own.len() >= COMMENTED_BYTES_MIN && commented.iter().any(is_comment));
        if there || deleted && (told.contains(&command.file) || !is_pipeline(view)) {
            continue;
        }
        told.push(command.file);
        // Another service's pipeline may have taken over long ago.
        let stays = if deleted { view.file.old.contains("/workflows/") && !pipeline_added } else { is_pipeline(view) };
        let severity = if stays { RuleSeverity::Certain } else { RuleSeverity::Likely };
        sheet.add_named("check-removed", command_place(command, DiffSide::Old), severity, &command.text);
    }
}

/// Marks checks whose status counts for nothing now.
fn mark_swallowed(
    sheet: &mut WeakenedCheckCollector<'_, '_>,
    old: &[CheckCommand<'_, '_>],
    new: &[CheckCommand<'_, '_>],
) {
    let views = sheet.views;
    for command in new.iter().filter(|command| command.swallowed && !is_new_script(command, &views[command.file])) {
        let same = |other: &&CheckCommand<'_, '_>| without_whitespace(&other.text) == without_whitespace(&command.text);
        // One with other arguments is still the one that was swallowed.
        let program = |command: &CheckCommand<'_, '_>| command.text.split_whitespace().next().map(str::to_owned);
        let alike = |other: &&CheckCommand<'_, '_>| {
            same(other)
                || other.file == command.file && other.check == command.check && program(other) == program(command)
        };
        let before = old.iter().filter(alike).filter(|other| other.swallowed).count();
        let after = new.iter().filter(alike).filter(|other| other.swallowed).count();
        if command.check.is_none() || after <= before {
            continue;
        }
        let counted = old.iter().any(|other| !other.swallowed && (same(&other) || other.check == command.check));
        let severity = if counted && !command.by_name { RuleSeverity::Certain } else { RuleSeverity::Likely };
        sheet.add_named("status-swallowed", command_place(command, DiffSide::New), severity, &command.text);
    }
}

/// Begins a job of a pipeline.
static JOB: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^ {2,4}[\w-]+:\s*$").expect("a regex"));
/// Ships what is built.
static SHIPS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)deploy|publish|release|upload|docker|pages|docs|bench").expect("a regex"));

/// Whether a command belongs to a job that is gone as a whole, of a workflow that stays; and doesn't ship anything.
fn in_removed_job(view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    if view.file.change != PatchChange::Modified || !view.file.new.contains("/workflows/") {
        return false;
    }
    let place = |sides: &HunkSides<'_>| sides.old.iter().position(|old| std::ptr::eq(old, line));
    let Some((sides, at)) = view.hunks.iter().find_map(|sides| Some((sides, place(sides)?))) else { return false };
    let above = &sides.old[..at];
    let runs_on = |line: &DiffLine<'_>| line.changed && line.masked.text.trim_start().starts_with("runs-on:");
    let Some(runs) = above.iter().rposition(runs_on) else { return false };
    let is_head = |line: &DiffLine<'_>| line.indent < above[runs].indent && JOB.is_match(&line.masked.text);
    let Some(head) = above[..runs].iter().rposition(|line| !line.changed || is_head(line)) else { return false };
    let job = &sides.old[head..];
    let inside = job[1..].iter().take_while(|line| line.is_idle() || line.indent > job[0].indent);
    let mut lines = inside.filter(|line| !line.is_idle());
    job[0].changed && lines.all(|line| line.changed && !SHIPS.is_match(&line.masked.text))
}

/// Whether another file has a new line on checks that names the package whose manifest this is: they run from there.
fn runs_elsewhere(views: &[FileView<'_>], file: usize) -> bool {
    let folder = views[file].file.old.strip_suffix("/package.json").unwrap_or_default();
    let others = views.iter().enumerate().filter(|(other, view)| *other != file && view.part != FileRole::Document);
    let names = |line: &DiffLine<'_>| {
        line.raw.contains(folder) && ["test", "spec", "lint", "check"].iter().any(|word| line.raw.contains(word))
    };
    folder.contains('/') && others.flat_map(|(_, view)| view.changed_lines(DiffSide::New)).any(names)
}

/// The new lines that are comments, without blanks, and their files: a command may be one now.
fn list_comments(views: &[FileView<'_>]) -> Vec<(usize, String)> {
    let files = views.iter().enumerate().filter(|(_, view)| holds_commands(view));
    let lines = files.flat_map(|(file, view)| view.changed_lines(DiffSide::New).map(move |line| (file, line)));
    let comments = lines.filter(|(_, line)| line.masked.text.trim().is_empty() && !line.masked.comment.is_empty());
    comments.map(|(file, line)| (file, bare_command(&line.masked.comment))).collect()
}

/// Runs a script whose name says that it checks something.
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:-\s+)?(?:run:\s*)?(?P<program>python[0-9.]*|node|bash|sh|ruby|perl)\s+(?:-m\s+)?\S*(?i:lint|check|test|verify|audit|valid)")
        .expect("a regex")
});
/// Gives a makefile's variable its value.
static ASSIGNS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^[\w.$(){}-]+\s*(?:[:+?!]|::)?=").expect("a regex"));
/// What people do with a check by hand: they watch it, look into it, read its report.
static FOR_PEOPLE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"\s--(?:watch\w*(?:$|\s+[^f\s]|\s*[&|;]|=t)|(?:inspect(?:-brk)?|debug|ui|open|headed)\b)|\bcoverage\s+(?:html|xml|json|lcov|combine|erase|annotate)\b",
    )
    .expect("a regex")
});

/// Whether a command is one more among the scripts of a manifest: nothing was stricter before.
fn is_new_script(command: &CheckCommand<'_, '_>, view: &FileView<'_>) -> bool {
    if view.is("make") {
        return is_of_new_target(command.line, view);
    }
    let same_key = |line: &DiffLine<'_>| line.path == command.line.path;
    view.is("json")
        && !view.all_lines(DiffSide::Old).any(same_key)
        && !view.changed_lines(DiffSide::Old).any(|line| line.has_code() && command_on(view, line).is_some())
}

/// Whether a recipe's line is of a target that comes with the change, under no name that went.
fn is_of_new_target(line: &DiffLine<'_>, view: &FileView<'_>) -> bool {
    let is_target = |line: &DiffLine<'_>| {
        !line.raw.starts_with(['\t', ' ', '#', '.']) && line.has_code() && line.masked.code.contains(':')
    };
    let above = view.all_lines(DiffSide::New).take_while(|other| other.number != line.number);
    let owner = above.filter(|other| is_target(other)).last();
    owner.is_some_and(|owner| owner.changed) && !view.changed_lines(DiffSide::Old).any(is_target)
}

/// Whether a check of the one kind may take over what one of the other did: linters format, and formatters lint.
fn is_like(kind: CheckKind, other: CheckKind) -> bool {
    let style = |kind| matches!(kind, CheckKind::Lint | CheckKind::Format);
    kind == other || style(kind) && style(other)
}

/// A command without blanks and what lists put around its words.
fn bare_command(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | ',' | '[' | ']')).collect()
}

impl CheckCommand<'_, '_> {
    /// Whether its chain is still there without it: nothing has come that could do the same.
    fn is_linked_in(&self, old: &[CheckCommand<'_, '_>], new: &[CheckCommand<'_, '_>]) -> bool {
        let is_here = |other: &&CheckCommand<'_, '_>| other.file == self.file && other.line.path == self.line.path;
        let chain: Vec<String> = new.iter().filter(is_here).map(|other| bare_command(&other.text)).collect();
        let before: Vec<String> = old.iter().filter(is_here).map(|other| bare_command(&other.text)).collect();
        self.links > 1
            && chain.len() + 1 == self.links
            && chain.iter().all(|command| before.contains(command) && *command != bare_command(&self.text))
    }

    /// The program of the last command and its first argument, without blanks: `cargotest`, and a script that it
    /// runs: `npmrune2e`. What only compiles is done by whatever else the same program does.
    fn program_of_kind(&self, kind: CheckKind) -> Option<String> {
        let last = self.text.rsplit(['|', ';', '&']).find(|part| !part.trim().is_empty())?;
        if let Some(session) = SESSION.find(last) {
            return Some(bare_command(session.as_str()));
        }
        let words = last.split_whitespace().filter(|word| !RUNNERS.contains(word));
        let words: Vec<&str> = words
            .skip_while(|word| word.contains('=') || word.starts_with('-'))
            .take_while(|word| !word.starts_with(['-', '{', '$']) && (!word.contains(['.', '/']) || self.by_name))
            .collect();
        let words_max = match words.get(1) {
            _ if kind == CheckKind::Type && !self.by_name && !runs_scripts(words.first()) => 1,
            Some(&("run" | "run-script")) if words.first() != Some(&"coverage") => 3,
            _ => 2,
        };
        let words = &words[..words.len().min(words_max)];
        (!words.is_empty()).then(|| bare_command(&words.concat()))
    }
}

/// Whether a program runs what the project names, and programs that it has installed.
fn runs_scripts(program: Option<&&str>) -> bool {
    program.is_some_and(|program| matches!(*program, "npm" | "yarn" | "pnpm" | "bun"))
}

fn command_place<'v, 'p>(command: &CheckCommand<'v, 'p>, side: DiffSide) -> (usize, DiffSide, &'v DiffLine<'p>) {
    (command.file, side, command.line)
}

fn holds_commands(view: &FileView<'_>) -> bool {
    let known = ["json", "yaml", "shell", "make", "toml", "ini", "docker"];
    view.part != FileRole::Foreign
        && view.part != FileRole::Test
        // What Cargo calls a test is no command.
        && !view.file.new.ends_with("Cargo.toml")
        && (is_jenkinsfile(view) || view.language.is_some_and(|own| known.contains(&own.name.as_str())))
}

/// Whether a file is a pipeline of Jenkins: a program with commands in quotes.
fn is_jenkinsfile(view: &FileView<'_>) -> bool {
    let name = view.file.new.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    view.is("java") && name.contains("jenkinsfile")
}

/// A step of Jenkins that runs a command.
static JENKINS_STEP: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r#"\b(?:sh|bat|powershell|pwsh)\s*\(?\s*(?:\w+:\s*[^'"]*,\s*)?(?:script:\s*)?(?:'([^']+)'|"([^"]+)")"#,
    )
    .expect("a regex")
});

/// Whether a file alone decides what is checked: pipelines, hooks, manifests with scripts.
fn is_pipeline(view: &FileView<'_>) -> bool {
    let path = view.path_of_side(DiffSide::Old);
    let name = path.rsplit('/').next().unwrap_or(path);
    view.is("yaml")
        || is_jenkinsfile(view)
        || matches!(name, "package.json" | "composer.json" | "tox.ini" | "deno.json")
        || path.contains(".husky/")
}

fn list_commands<'v, 'p>(
    views: &'v [FileView<'p>],
    side: DiffSide,
    whitelist: &Whitelist,
) -> Vec<CheckCommand<'v, 'p>> {
    let mut found = Vec::new();
    for (file, view) in views.iter().enumerate().filter(|(_, view)| holds_commands(view)) {
        let assigned = assigned_lines(view, side);
        for line in view.changed_lines(side).filter(|line| !assigned.contains(&line.number)) {
            let Some((text, ignored)) = command_on(view, line) else { continue };
            if found.len() >= COMMANDS_MAX || text.len() > COMMAND_BYTES_MAX {
                continue;
            }
            let groups = SWALLOWED.captures(&text);
            // `|| echo …` alone tells; with an exit behind it the status counts again.
            let groups = groups.filter(|groups| !groups["always"].contains("exit 1"));
            let swallowed = ignored || groups.is_some();
            let text = groups.map_or(text.clone(), |groups| groups["command"].to_owned());
            let chain: Vec<&str> = if swallowed { vec![text.as_str()] } else { text.split(" && ").collect() };
            for &text in &chain {
                let known = check_kind_of(text, whitelist);
                let check = known.or_else(|| named_check(text));
                let by_name = known.is_none() && check.is_some();
                found.push(CheckCommand {
                    file,
                    line,
                    text: text.trim().to_owned(),
                    swallowed,
                    check,
                    by_name,
                    links: chain.len(),
                });
            }
        }
    }
    found
}

/// Whether a script that checks something runs in the place of another one, by the same interpreter: a hunk has as many
/// new lines as old ones.
fn script_in_its_place(view: &FileView<'_>, old: &DiffLine<'_>) -> bool {
    let program = |line: &DiffLine<'_>| SCRIPT.captures(&line.masked.text).map(|groups| groups["program"].to_owned());
    let Some(own) = program(old) else { return false };
    view.hunks.iter().any(|sides| {
        let changed = |line: &&DiffLine<'_>| line.changed;
        let was: Vec<&DiffLine<'_>> = sides.old.iter().filter(changed).collect();
        let is: Vec<&DiffLine<'_>> = sides.new.iter().filter(changed).collect();
        let at = was.iter().position(|line| std::ptr::eq(*line, old));
        let new = at.and_then(|at| is.get(at)).filter(|_| was.len() == is.len());
        new.is_some_and(|new| program(new).is_some_and(|program| program == own))
    })
}

/// Whether something else that checks is where a check was.
fn is_replaced(view: &FileView<'_>, old: &DiffLine<'_>, commands: &[CheckCommand<'_, '_>]) -> bool {
    script_in_its_place(view, old) || is_renewed(view, old, commands)
}

/// Whether the script that a check is the whole of has another program now that isn't known: by the script's name it
/// checks as much.
fn is_renewed(view: &FileView<'_>, old: &DiffLine<'_>, commands: &[CheckCommand<'_, '_>]) -> bool {
    let Some(own) = NAMED_SCRIPT.captures(&old.masked.text) else { return false };
    let is_unknown = |line: &DiffLine<'_>| {
        commands.iter().filter(|command| std::ptr::eq(command.line, line)).all(|command| command.check.is_none())
    };
    view.changed_lines(DiffSide::New).any(|line| {
        let script = NAMED_SCRIPT.captures(&line.masked.text);
        script.is_some_and(|script| script["name"] == own["name"] && !IDLE.is_match(&script["command"]))
            && is_unknown(line)
    })
}

/// The numbers of the lines of a makefile that go on with a variable's value.
fn assigned_lines(view: &FileView<'_>, side: DiffSide) -> HashSet<u32> {
    let (mut goes_on, mut found) = (false, HashSet::new());
    for line in view.all_lines(side).filter(|_| view.is("make")) {
        let text = line.masked.text.trim_end();
        if goes_on {
            found.insert(line.number);
        }
        goes_on = text.ends_with('\\') && (goes_on || ASSIGNS.is_match(text) || text.starts_with(".PHONY"));
    }
    found
}

/// The command of a line, and whether the file's own syntax ignores its status.
fn command_on(view: &FileView<'_>, line: &DiffLine<'_>) -> Option<(String, bool)> {
    let language = view.language?.name.as_str();
    let text = line.masked.text.trim();
    match language {
        "shell" => Some((text.to_owned(), false)),
        "docker" => Some((text.strip_prefix("RUN ")?.to_owned(), false)),
        "java" => match JENKINS_STEP.captures(text) {
            Some(groups) => Some((groups.get(1).or_else(|| groups.get(2))?.as_str().to_owned(), false)),
            // Lines of a script in three quotes.
            None => (!text.ends_with(['{', '}', '(', ')', '\'', '"', ','])).then(|| (text.to_owned(), false)),
        },
        "make" => {
            let recipe = line.masked.text.strip_prefix('\t').or_else(|| line.masked.text.strip_prefix("    "))?.trim();
            let command = recipe.trim_start_matches(['@', '+', '-']);
            Some((command.to_owned(), recipe.trim_start_matches(['@', '+']).starts_with('-')))
        }
        "yaml" if text.trim_start_matches("- ").starts_with("uses:") => {
            let action = text.trim_start_matches("- ").trim_start_matches("uses:").trim().trim_matches(['"', '\'']);
            Some((format!("uses: {}", action.split('@').next().unwrap_or_default()), false))
        }
        _ if !COMMAND_KEY.is_match(&line.path) => None,
        "json" => {
            let (_, value) = text.split_once("\":")?;
            let value: String = serde_json::from_str(value.trim().trim_end_matches(',')).ok()?;
            Some((value, false))
        }
        // What a coverage report leaves out.
        "toml" | "ini" if LISTS.is_match(&line.path) => None,
        "toml" | "ini" => {
            let value = text.split_once('=').map_or(text, |(_, value)| value).trim();
            let quoted = value.trim_matches([',', '[', ']', ' ']);
            let command = quoted.trim_matches(['"', '\'']);
            // tox lets a command fail that a dash precedes.
            let is_command = !command.starts_with("--");
            Some((command.trim_start_matches(['-', ' ']).to_owned(), is_command && command.starts_with('-')))
        }
        _ => {
            let text = text.trim_start_matches("- ").trim();
            let key = ["run:", "script:", "cmd:", "command:", "entry:", "bash:", "pwsh:", "test:"];
            let value = key.iter().find_map(|key| text.strip_prefix(key)).unwrap_or(text).trim();
            Some((value.trim_matches(['"', '\'']).to_owned(), false))
        }
    }
}

/// What a command line checks, if anything: any of the commands in it.
fn check_kind_of(text: &str, whitelist: &Whitelist) -> Option<CheckKind> {
    let whole = || whitelist.decide_line(text).into_check();
    let parts = || text.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    whole().or_else(|| parts().find_map(|part| whitelist.decide_line(part).into_check())).map(|check| check.kind)
}

/// What an action or the last command's program checks, if its name says so. `test` is the shell's own.
fn named_check(text: &str) -> Option<CheckKind> {
    let name = match text.strip_prefix("uses:").map(str::trim) {
        Some(action) => ACTION.find(action)?.as_str(),
        None => named_program(text).or_else(|| Some(ASKED.find(text)?.as_str()))?,
    };
    let name = name.to_ascii_lowercase();
    let tests = ["test", "spec", "coverage", "cypress", "bench"].iter().any(|word| name.contains(word));
    Some(if tests { CheckKind::Test } else { CheckKind::Lint })
}

fn named_program(text: &str) -> Option<&str> {
    let last = text.rsplit(['|', ';', '&']).map(str::trim).find(|part| !part.is_empty()).unwrap_or_default();
    let mut words = last
        .split_whitespace()
        .skip_while(|word| word.contains('=') || matches!(*word, "bash" | "sh" | "sudo" | "time" | "env"));
    // A linter in a container is called by its image.
    if let Some(image) = LINTER_IMAGE.captures(last).and_then(|groups| groups.get(1)) {
        return Some(image.as_str());
    }
    words.next().filter(|word| {
        *word != "test" && !word.starts_with('[') && !word.contains(['$', '"', '\'']) && CHECK_BY_NAME.is_match(word)
    })
}
