//! Seeing through runners: `sudo env npx …`, `npm run lint`, `sh -c '…'`, `docker compose run app …`.

use super::arguments::{self, Words, is_assignment, is_option, is_version, matched, selectors};
use super::encode::{
    ASSIGNMENTS, DASHDASH, ELSEWHERE, LATE_OPTIONS, MANY, OR_COMMAND, PACKAGES, PROJECT, SKIP_SELECTS, SKIP_VERSIONS,
};
use super::program::{base_name, lossy, package_name};
use super::reason::Reason;
use super::recognise::Search;
use super::scripts::{self, File, Named};
use super::table::{List, Rule, Runner, Scripts};
use super::trail::{Trail, take_option, take_options};
use super::{Check, CheckKind};
use crate::base::bytes;

/// Values of `then` as [`super::encode`] writes them.
mod then {
    pub const COMMAND: u8 = 0;
    pub const SCRIPT: u8 = 1;
    pub const SCRIPTS: u8 = 2;
    pub const FILE: u8 = 3;
    pub const LINE: u8 = 4;
    pub const AGAIN: u8 = 5;
}

impl<'w> Search<'w> {
    pub(super) fn runner(
        &mut self,
        runner: &Runner<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Trail,
    ) -> Option<Check> {
        let has = |flag: u16| runner.flags & flag != 0;
        let values = [runner.value_options, runner.dir_options, runner.select_options];
        let (sub_places, name) = self.runner_name(runner, base, arguments, &values)?;
        let mut trail = trail.clone();
        trail.via.push(name);
        trail.elsewhere |= has(ELSEWHERE);
        trail.is_past_dashes = false;
        let start = sub_places.last().map_or(0, |last| last + 1);
        let dashes = has(DASHDASH).then(|| arguments.iter().skip(start).position(|word| *word == b"--")).flatten();
        let end = dashes.map_or(arguments.len(), |dashes| start + dashes);
        let mut skip = runner.skip;
        let mut at = 0;
        while at < end {
            let argument = arguments[at];
            let rest = &arguments[at + 1..];
            if sub_places.contains(&at) {
                at += 1;
            } else if argument == b"--" {
                trail.is_past_dashes = true;
                at += 1;
                break;
            } else if let Some(value) = option_value(argument, rest, runner.line_options, b'c') {
                self.confine_runner(runner, &arguments[..at]);
                return self.line_option(runner, value, rest, &trail);
            } else if let Some((module, rest)) =
                option_value(argument, rest, runner.module_options, b'm').and_then(split)
            {
                self.confine_runner(runner, &arguments[..at]);
                return self.module(module, rest, &trail);
            } else if let Some(words) = option_value(argument, rest, runner.command_options, 0) {
                self.confine_runner(runner, &arguments[..at]);
                return self.command(words, &trail);
            } else if let Some((names, rest)) = script_option(argument, rest, runner.script_options) {
                self.confine_runner(runner, &arguments[..at]);
                return self.named_option(runner, names, rest, &trail);
            } else if runner.select_flags.has(argument) {
                trail.select(b"*");
                at += 1;
            } else if is_option(argument) && !(skip > 0 && argument.starts_with(b"+")) {
                at += take_option(arguments, at, &values, [runner.dir_options, runner.select_options], &mut trail);
            } else if has(ASSIGNMENTS) && is_assignment(argument) {
                // Any variable may name what is run (`LD_PRELOAD`, `PATH`).
                self.beside = true;
                at += 1;
            } else if has(SKIP_VERSIONS) && is_version(argument) {
                at += 1;
            } else if skip > 0 {
                skip -= 1;
                if has(SKIP_SELECTS) {
                    trail.select(argument);
                }
                at += 1;
            } else {
                break;
            }
        }
        if dashes.is_some() {
            at = end + 1;
        }
        self.confine_runner(runner, &arguments[..at.min(arguments.len())]);
        self.rest(runner, base, arguments.get(at..).unwrap_or_default(), &trail)
    }

    /// The places of a runner's sub-command, and what it is called with it. `None` where it runs nothing.
    fn runner_name(
        &mut self,
        runner: &Runner<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        values: &[List<'w>],
    ) -> Option<(Vec<usize>, String)> {
        if runner.sub.is_empty() {
            if arguments.first().is_some_and(|first| runner.deny.has(first)) {
                self.because(Reason::Denied { tool: runner.name.to_owned(), argument: lossy(arguments[0]) });
                return None;
            }
            return Some((Vec::new(), lossy(base)));
        }
        let sub = arguments::sub_command(arguments, runner.sub, values)?;
        if !sub.places().is_empty() {
            return Some((sub.places().to_vec(), format!("{} {}", lossy(base), lossy(sub.spelling))));
        }
        let first_word = Words { arguments, value_options: values, at: 0 }.next();
        if first_word.is_some_and(|place| runner.deny.has(arguments[place])) {
            self.because(Reason::OtherUse(lossy(base)));
            return None;
        }
        Some((Vec::new(), lossy(base)))
    }

    /// What follows a runner's own arguments.
    fn rest(&mut self, runner: &Runner<'w>, base: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        match runner.then {
            // A service without a command does what it is named for.
            then::COMMAND if rest.is_empty() && !runner.manifest.is_empty() => {
                let service = trail.selectors.last()?.strip_prefix('@')?.to_owned();
                self.script(runner, service.as_bytes(), &[], trail)
            }
            then::COMMAND => self.packaged(runner, rest, trail).or_else(|| self.image(runner, rest, trail)),
            then::FILE => {
                self.confine_file(rest.first()?);
                self.command(rest, trail)
            }
            then::LINE => self.line(&lossy(&rest.join(&b' ')), trail),
            then::AGAIN => self.again(base, rest, trail),
            then::SCRIPTS => self.scripts(runner, rest, trail),
            then::SCRIPT if !runner.script.is_empty() => self.script(runner, runner.script, rest, trail),
            then::SCRIPT => self.script_or_command(runner, rest, trail),
            _ => None,
        }
    }

    /// An image that is named for the tool which it runs: `docker run koalaman/shellcheck:stable a.sh`.
    fn image(&mut self, runner: &Runner<'_>, rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        let image = trail.selectors.last().filter(|_| runner.name == "docker-run")?.strip_prefix('@')?;
        let name = image.rsplit('/').next()?.split([':', '@']).next()?.as_bytes();
        let program = self.whitelist.package(name).unwrap_or(name);
        let has_tool = self.whitelist.programs(program, program).iter().any(|rule| matches!(rule, Rule::Tool(_)));
        let words: Vec<&[u8]> = std::iter::once(program).chain(rest.iter().copied()).collect();
        if has_tool && image.contains('/') { self.command(&words, trail) } else { None }
    }

    /// `mix do lint, test` and `mix do lint + test`: the first check among the runner's own sub-commands.
    fn again(&mut self, base: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        self.beside = true;
        let mut words = vec![base];
        for (place, word) in rest.iter().enumerate() {
            let bare = word.strip_suffix(b",").unwrap_or(word);
            if *word != b"+" {
                words.push(bare);
            }
            if (bare.len() < word.len() || *word == b"+" || place + 1 == rest.len()) && words.len() > 1 {
                if let Some(check) = self.command(&words, trail) {
                    return Some(check);
                }
                words.truncate(1);
            }
        }
        None
    }

    fn line_option(&mut self, runner: &Runner<'_>, value: &[&[u8]], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        if runner.then == then::LINE && runner.line_options.has(b"/c") | runner.line_options.has(b"-Command") {
            return self.line(&lossy(&rest.join(&b' ')), trail);
        }
        self.line(&lossy(value.first()?), trail)
    }

    fn module(&mut self, module: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let mut rules = self.whitelist.modules(module);
        if rules.is_empty() {
            // A package of Python has most often the name of its program.
            let package = module.split(|byte| *byte == b'.').next().unwrap_or(module);
            rules = self.whitelist.programs(package, package);
            rules.retain(|rule| matches!(rule, Rule::Tool(tool) if matches!(tool.language, "python" | "any")));
        }
        if rules.is_empty() {
            self.because(Reason::Unknown(lossy(module)));
            return None;
        }
        self.rules(&rules, module, arguments, trail)
    }

    /// A program that may be written as a package.
    fn packaged(&mut self, runner: &Runner<'_>, words: &[&[u8]], trail: &Trail) -> Option<Check> {
        let (&first, rest) = words.split_first()?;
        if runner.flags & PACKAGES == 0 {
            return self.command(words, trail);
        }
        self.confine_package(runner, first);
        let package = package_name(first);
        let program = match self.whitelist.package(package) {
            Some(program) => program,
            // Somebody's `@scope/eslint` is not eslint.
            None if package.starts_with(b"@") => {
                self.because(Reason::Unknown(lossy(package)));
                return None;
            }
            None => package,
        };
        let words: Vec<&[u8]> = std::iter::once(program).chain(rest.iter().copied()).collect();
        self.command(&words, trail)
    }

    /// `pnpm lint`, `yarn eslint .`, `hatch run test:pytest`, `make check lint`.
    fn script_or_command(&mut self, runner: &Runner<'w>, rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        let values = [runner.value_options, runner.dir_options, runner.select_options];
        if runner.flags & OR_COMMAND != 0
            && let Some((&first, arguments)) = rest.split_first()
        {
            let program = after_project(runner, first).0;
            if self.whitelist.knows(base_name(program)) {
                let before = std::mem::take(&mut self.reason);
                let words: Vec<&[u8]> = std::iter::once(program).chain(arguments.iter().copied()).collect();
                let check = self.command(&words, trail);
                let refused = self.reason.is_refusal();
                self.because(before);
                if check.is_some() || refused {
                    return check;
                }
            }
        }
        let many = runner.flags & MANY != 0;
        let mut places = Words { arguments: rest, value_options: &values, at: 0 };
        for place in places.by_ref().take(if many { usize::MAX } else { 1 }) {
            let others: Vec<&[u8]> = if many {
                rest.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, word)| *word).collect()
            } else {
                rest[place + 1..].to_vec()
            };
            self.beside |= many && others.iter().any(|word| !is_option(word));
            if let Some(check) = self.script(runner, rest[place], &others, trail) {
                return Some(check);
            }
        }
        None
    }

    /// `node --run test`; of several aliases of Clojure's the last one counts (`-M:dev:test`), and more than any the
    /// namespace behind them (`-M:dev -m kaocha.runner`).
    fn named_option(&mut self, runner: &Runner<'w>, names: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        if let Some((option, rest)) = split(rest)
            && let Some((module, rest)) = option_value(option, rest, runner.module_options, 0).and_then(split)
            && let Some(check) = self.module(module, rest, trail)
        {
            return Some(check);
        }
        let has_aliases = runner.flags & PROJECT == 0;
        let last = names.iter().rposition(|byte| *byte == b':').filter(|_| has_aliases);
        let check = self.script_names(runner, names, rest, trail);
        check.or_else(|| self.script_names(runner, &names[last? + 1..], rest, trail))
    }

    /// `nx run-many -t lint test`, `node --run test`.
    fn script_names(&mut self, runner: &Runner<'w>, names: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        let more = if runner.flags & MANY != 0 { rest.iter().take_while(|word| !is_option(word)).count() } else { 0 };
        let all: Vec<&[u8]> = names.split(|byte| *byte == b',').chain(rest[..more].iter().copied()).collect();
        self.beside |= all.len() > 1;
        for (place, name) in all.iter().enumerate() {
            let others = all.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, word)| *word);
            let others: Vec<&[u8]> = others.chain(rest[more..].iter().copied()).collect();
            if let Some(check) = self.script(runner, name, &others, trail) {
                return Some(check);
            }
        }
        None
    }

    /// `run-s lint test:*`, `concurrently "npm run lint" npm:test`.
    fn scripts(&mut self, runner: &Runner<'w>, rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        self.beside = true;
        for place in (Words { arguments: rest, value_options: &[runner.value_options], at: 0 }) {
            let word = rest[place];
            let check = if word.contains(&b' ') {
                self.line(&lossy(word), trail)
            } else {
                let others: Vec<&[u8]> =
                    rest.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, w)| *w).collect();
                self.script(runner, word.strip_prefix(b"npm:").unwrap_or(word), &others, trail)
            };
            if check.is_some() {
                return check;
            }
        }
        None
    }

    /// A script or target, by its name.
    fn script(&mut self, runner: &Runner<'w>, written: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let (name, project) = after_project(runner, written);
        let layers = self.whitelist.scripts();
        // An environment of hatch is named for what its scripts do (`lint:all`), a project of nx isn't.
        let is_whole = project.is_some() && runner.flags & MANY == 0;
        let read = match scripts::named(name, &layers) {
            Named::Nothing if is_whole => scripts::named(written, &layers),
            read => read,
        };
        let is_made = runner.name == "make-target" && scripts::is_made(name);
        let run = || project.filter(|_| scripts::is_plain_run(name)).and_then(|own| scripts::task_kind(own, &layers));
        let kind = match read {
            Named::Check(_) | Named::Nothing if is_made => CheckKind::Build,
            Named::Check(kind) if is_whole => scripts::task_kind(written, &layers).unwrap_or(kind),
            Named::Check(kind) => kind,
            Named::Nothing if is_checking_format(name, arguments, &layers) => CheckKind::Format,
            Named::Nothing if let Some(kind) = run() => kind,
            // `bun scripts/lint.ts`.
            Named::Nothing if name.contains(&b'/') => return self.script_file(name, arguments, trail),
            Named::Nothing if let Some(kind) = self.tool_named(name) => kind,
            Named::Denied(part) if scripts::is_comparing(part, arguments) => CheckKind::Lint,
            Named::Nothing if runner.flags & MANY == 0 && self.whitelist.knows(name) && !arguments.is_empty() => {
                return self.named_for_program(name, arguments, trail);
            }
            Named::Denied(part) => {
                self.because(Reason::ScriptDenied { name: lossy(name), part: lossy(part) });
                return None;
            }
            Named::Nothing => {
                self.because(Reason::ScriptName(lossy(name)));
                return None;
            }
        };
        let mut trail = trail.clone();
        trail.selectors.extend(project.map(lossy));
        let mut skip = Vec::new();
        if runner.flags & LATE_OPTIONS != 0 {
            take_options(arguments, [runner.dir_options, runner.select_options], &mut trail, &mut skip);
        }
        let left = || arguments.iter().enumerate().filter(|(at, _)| !skip.contains(at)).map(|(_, argument)| *argument);
        if let Some(argument) = left().find(|argument| layers.iter().any(|s| matched(argument, s.deny_args).is_some()))
        {
            self.because(Reason::Denied { tool: lossy(name), argument: lossy(argument) });
            return None;
        }
        let is_late = runner.flags & (LATE_OPTIONS | MANY) != 0 && !trail.is_past_dashes;
        let late = if is_late { arguments } else { &[] };
        self.confine_runner(runner, late);
        self.confine_arguments(runner.name.as_bytes(), arguments);
        let mut check = trail.check(&format!("script:{}", lossy(name)), kind);
        check.manifest = Some(if runner.manifest.is_empty() { runner.name } else { runner.manifest }.to_owned());
        selectors(arguments, &skip, &[runner.value_options], List::default(), &mut check.selectors);
        check.selectors.sort();
        check.why = format!("the script's name, `{}`, says that it is a {} check", lossy(name), kind.as_str());
        Some(check)
    }
}

impl Search<'_> {
    /// A script that is the program of its name, and is given the rest: `npm run ng -- test`.
    fn named_for_program(&mut self, name: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        self.beside = true;
        let rest = arguments.strip_prefix(&[&b"--"[..]]).unwrap_or(arguments);
        let words: Vec<&[u8]> = std::iter::once(name).chain(rest.iter().copied()).collect();
        self.command(&words, trail)
    }

    /// A project's own file by its name: `./run-tests.sh`, `bash ci/lint.sh`, `ruby -Itest test/cart_test.rb`.
    pub(super) fn script_file(&mut self, path: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        // Almost every command that is none of the known ones is no file of the project's.
        let Some(file) = scripts::file(path) else {
            self.because(Reason::Unknown(lossy(base_name(path))));
            return None;
        };
        let layers = self.whitelist.scripts();
        let kind = match self.file_kind(file, arguments, &layers) {
            Named::Check(kind) => kind,
            Named::Denied(part) => {
                self.because(Reason::ScriptDenied { name: lossy(path), part: lossy(part) });
                return None;
            }
            Named::Nothing => return self.behind_script(path, file, arguments, trail),
        };
        let is_denied = |argument: &&&[u8]| layers.iter().any(|layer| matched(argument, layer.deny_args).is_some());
        let denied = self.whitelist.denied_everywhere(arguments).or(arguments.iter().find(is_denied).copied());
        if let Some(argument) = denied {
            self.because(Reason::Denied { tool: lossy(path), argument: lossy(argument) });
            return None;
        }
        self.confine_file(path);
        self.confine_arguments(path, arguments);
        let mut check = trail.check(&format!("script:{}", lossy(base_name(path))), kind);
        check.manifest = Some(lossy(path.strip_prefix(b"./").unwrap_or(path)));
        selectors(arguments, &[], &[], List::default(), &mut check.selectors);
        check.selectors.sort();
        check.why = format!("the file's name, `{}`, says that it is a {} check", lossy(path), kind.as_str());
        Some(check)
    }
}

impl Search<'_> {
    /// The command that a shell script is given, whole, to run in some place of its own: `./in-container.sh cargo test`.
    fn behind_script(&mut self, path: &[u8], file: File<'_>, arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let unknown = Reason::Unknown(lossy(base_name(path)));
        let start = arguments.iter().position(|argument| *argument == b"--").map_or(0, |dashes| dashes + 1);
        let words = arguments.get(start..).unwrap_or_default();
        // A single word is as likely data (`./notify.sh pytest`).
        let is_command = words.len() > usize::from(start == 0) && self.whitelist.knows(base_name(words[0]));
        if file.is_program || !is_command {
            self.because(unknown);
            return None;
        }
        let mut trail = trail.clone();
        trail.via.push(lossy(base_name(path)));
        trail.elsewhere = true;
        self.beside = true;
        self.confine_file(path);
        self.command(words, &trail)
    }

    /// What a project's file does, by its name and by the task that it is given.
    fn file_kind<'a>(&self, file: File<'a>, arguments: &[&'a [u8]], layers: &[Scripts<'_>]) -> Named<'a> {
        let name = file.name;
        let own = scripts::named_file(file, layers);
        let takes_task = match own {
            Named::Denied(part) if scripts::is_comparing(part, arguments) => return Named::Check(CheckKind::Lint),
            Named::Denied(_) => return own,
            Named::Check(kind) => kind == CheckKind::Build || scripts::is_driver(name, layers),
            Named::Nothing => scripts::is_driver(name, layers),
        };
        if takes_task && let Some(task) = task_argument(arguments) {
            match scripts::named(task, layers) {
                Named::Nothing => {}
                // `build.sh release` builds.
                Named::Denied(part) if own != Named::Nothing && scripts::is_setting(part) => {}
                read => return read,
            }
            if is_checking_format(task, arguments, layers) {
                return Named::Check(CheckKind::Format);
            }
        }
        match own {
            Named::Nothing if is_checking_format(name, arguments, layers) => Named::Check(CheckKind::Format),
            Named::Nothing if file.is_program => own,
            Named::Nothing => self.tool_named(name).map_or(own, Named::Check),
            _ => own,
        }
    }
}

/// The task that a script is given: its first argument, or the value of one that says so (`-Target Lint`).
fn task_argument<'a>(arguments: &[&'a [u8]]) -> Option<&'a [u8]> {
    let first = *arguments.first()?;
    let is_naming = |option: &[u8]| {
        let name = option.strip_prefix(b"-").unwrap_or(option);
        let name = name.strip_prefix(b"-").unwrap_or(name);
        name.eq_ignore_ascii_case(b"target") || name.eq_ignore_ascii_case(b"task") || name.eq_ignore_ascii_case(b"t")
    };
    let task = match bytes::find_byte(first, b'=') {
        _ if !is_option(first) => first,
        Some(end) if is_naming(&first[..end]) => &first[end + 1..],
        None if is_naming(first) => arguments.get(1)?,
        _ => return None,
    };
    task.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(byte)).then_some(task)
}

/// `just format --check`, `npm run fmt -- --check`.
fn is_checking_format(name: &[u8], arguments: &[&[u8]], layers: &[Scripts<'_>]) -> bool {
    let is_asked = |argument: &&[u8]| layers.iter().any(|layer| matched(argument, layer.check_args).is_some());
    arguments.iter().any(is_asked) && scripts::is_formatter(name, layers)
}

/// The values that an option of `list` takes from `rest`: everything from its value on.
///
/// `letter`: the option may be the last of a cluster (`-lc`, `-Im`); 0 for none.
fn option_value<'s, 'a>(
    argument: &'a [u8],
    rest: &'s [&'a [u8]],
    list: List<'_>,
    letter: u8,
) -> Option<&'s [&'a [u8]]> {
    if list.is_empty() {
        return None;
    }
    let cluster = || {
        let letters = argument.strip_prefix(b"-")?;
        let is_cluster = (2..=5).contains(&letters.len())
            && letters.iter().all(u8::is_ascii_alphabetic)
            && letters.contains(&letter)
            && list.has(&[b'-', letter])
            && (letter == b'm' || letters.iter().all(u8::is_ascii_lowercase));
        is_cluster.then_some(())
    };
    (list.has(argument) || (letter != 0 && cluster().is_some())).then_some(rest)
}

fn split<'s, 'a>(words: &'s [&'a [u8]]) -> Option<(&'a [u8], &'s [&'a [u8]])> {
    words.split_first().map(|(first, rest)| (*first, rest))
}

/// The script that an option names (`-t lint`, `--target=lint`, `-M:test`), and the arguments after it.
fn script_option<'s, 'a>(
    argument: &'a [u8],
    rest: &'s [&'a [u8]],
    options: List<'_>,
) -> Option<(&'a [u8], &'s [&'a [u8]])> {
    for option in options {
        if let Some(start) = option.strip_suffix(b"*") {
            if let Some(name) = argument.strip_prefix(start) {
                return Some((name.strip_prefix(b":").unwrap_or(name), rest));
            }
        } else if argument == option {
            return split(rest);
        } else if let Some(value) = argument.strip_prefix(option).and_then(|value| value.strip_prefix(b"=")) {
            return Some((value, rest));
        }
    }
    None
}

/// `project:script`, `project#script`, `+target`: the script and the project.
fn after_project<'a>(runner: &Runner<'_>, name: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
    let name = name.strip_prefix(b"+").unwrap_or(name);
    if runner.flags & PROJECT == 0 {
        return (name, None);
    }
    match name.iter().position(|byte| matches!(byte, b':' | b'#')) {
        Some(end) => (&name[end + 1..], Some(&name[..end])),
        None => (name, None),
    }
}
