//! Seeing through runners: `sudo env npx …`, `npm run lint`, `sh -c '…'`, `docker compose run app …`.

use super::arguments::{
    self, WordPositions, collect_selectors, find_matching_pattern, is_assignment, is_option, is_version, split_project,
};
use super::encode::{
    ASSIGNMENTS, DASHDASH, ELSEWHERE, LATE_OPTIONS, MANY, OR_COMMAND, OWN_STATUS, PACKAGES, PROJECT, SKIP_SELECTS,
    SKIP_VERSIONS,
};
use super::program::{base_name, looked_up_program, lossy_text, package_name};
use super::reason::NotACheckReason;
use super::recognise::CheckSearch;
use super::resolution::{Resolution, read_option, read_options};
use super::script_files::is_checking_format;
use super::scripts::{self, ScriptNameMeaning};
use super::table::{RunnerRule, TextList, WhitelistRule};
use super::{Check, CheckKind};
use crate::base::bytes;

/// Packages of Python that run other commands (`python3 -m poetry run pytest`).
const PYTHON_RUNNERS: [&[u8]; 6] = [b"poetry", b"pipenv", b"uv", b"hatch", b"pdm", b"rye"];

/// Values of `then` as [`super::encode`] writes them.
mod then {
    pub(super) const COMMAND: u8 = 0;
    pub(super) const SCRIPT: u8 = 1;
    pub(super) const SCRIPTS: u8 = 2;
    pub(super) const FILE: u8 = 3;
    pub(super) const LINE: u8 = 4;
    pub(super) const AGAIN: u8 = 5;
}

/// What an option of a runner's says.
enum OptionReading {
    /// What is run, and whether that is a check.
    Runs(Option<Box<Check>>),
    /// What it names is not a check; where the arguments go on.
    GoesOn(usize),
}

impl<'w> CheckSearch<'w> {
    /// The check that a runner runs.
    pub(super) fn find_in_runner(
        &mut self,
        runner: &RunnerRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let mut check = self.find_behind_runner(runner, base, arguments, trail)?;
        if runner.flags & OWN_STATUS != 0 {
            self.beside = true;
            self.has_own_status = true;
            check.status_is_own = false;
        }
        Some(check)
    }

    fn find_behind_runner(
        &mut self,
        runner: &RunnerRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
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
            if sub_places.contains(&at) {
                at += 1;
            } else if argument == b"--" {
                trail.is_past_dashes = true;
                at += 1;
                break;
            } else if let Some(reading) = self.read_running_option(runner, base, arguments, at, &trail) {
                match reading {
                    OptionReading::Runs(check) => return check.map(|check| *check),
                    OptionReading::GoesOn(place) => at = place,
                }
            } else if runner.select_flags.contains(argument) {
                trail.add_selector(b"*");
                at += 1;
            } else if matches!(argument, b"--help" | b"--version") {
                self.note_reason(NotACheckReason::Denied {
                    tool: runner.name.to_owned(),
                    argument: lossy_text(argument),
                });
                return None;
            } else if is_option(argument) && !(skip > 0 && argument.starts_with(b"+")) {
                at += read_option(arguments, at, &values, [runner.dir_options, runner.select_options], &mut trail);
            } else if has(ASSIGNMENTS) && is_assignment(argument) {
                // Any variable may name what is run (`LD_PRELOAD`, `PATH`).
                self.beside = true;
                at += 1;
            } else if has(SKIP_VERSIONS) && is_version(argument) {
                at += 1;
            } else if skip > 0 {
                skip -= 1;
                if has(SKIP_SELECTS) {
                    trail.add_selector(argument);
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
        self.find_in_runner_rest(runner, base, arguments.get(at..).unwrap_or_default(), &trail)
    }

    /// An option that names what is run: a line, a module, a command, a script. `None` where it is none of these.
    fn read_running_option(
        &mut self,
        runner: &RunnerRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        at: usize,
        trail: &Resolution,
    ) -> Option<OptionReading> {
        let (argument, own, rest) = (arguments[at], &arguments[..at], &arguments[at + 1..]);
        let line =
            option_value(argument, rest, runner.line_options, b'c').filter(|value| is_line(runner, argument, value));
        let check = if let Some(value) = line {
            self.confine_runner(runner, own);
            self.find_in_line_option(runner, value, rest, trail)
        } else if let Some(line) = attached_value(argument, runner.line_options) {
            self.confine_runner(runner, own);
            self.find_in_line(&lossy_text(line), trail)
        } else if let Some((module, rest)) =
            option_value(argument, rest, runner.module_options, b'm').and_then(split_first_word)
        {
            self.confine_runner(runner, own);
            self.find_in_module(module, rest, trail)
        } else if let Some(words) = option_value(argument, rest, runner.command_options, 0) {
            self.confine_runner(runner, own);
            match runner.name {
                "find" => self.find_in_executed_commands(words, trail),
                _ => self.find_in_command(words, trail),
            }
        } else {
            let (names, rest) = script_option(argument, rest, runner.script_options)?;
            self.confine_runner(runner, own);
            if runner.then == then::AGAIN {
                // `cargo watch -x check -x 'test --workspace'`.
                self.beside = true;
                let named = names.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
                let words: Vec<&[u8]> = std::iter::once(base).chain(named).collect();
                let Some(check) = self.find_in_command(&words, trail) else {
                    return Some(OptionReading::GoesOn(arguments.len() - rest.len()));
                };
                Some(check)
            } else {
                self.find_in_named_option(runner, names, rest, trail)
            }
        };
        Some(OptionReading::Runs(check.map(Box::new)))
    }

    /// The commands of `find … -exec CMD {} + -exec CMD \;`. The status of the latter kind isn't find's.
    fn find_in_executed_commands(&mut self, words: &[&[u8]], trail: &Resolution) -> Option<Check> {
        self.beside = true;
        let mut rest = words;
        loop {
            let is_end =
                |place: &usize| rest[*place] == b";" || rest[*place] == b"+" && *place > 0 && rest[*place - 1] == b"{}";
            let end = (0..rest.len()).find(is_end).unwrap_or(rest.len());
            let (command, behind) = rest.split_at(end);
            if let Some(mut check) = self.find_in_command(command, trail) {
                check.status_is_own &= behind.first().is_some_and(|sign| *sign == b"+");
                return Some(check);
            }
            let next = behind.iter().position(|word| matches!(*word, b"-exec" | b"-execdir"))?;
            rest = &behind[next + 1..];
        }
    }

    /// The places of a runner's sub-command, and what it is called with it. `None` where it runs nothing.
    fn runner_name(
        &mut self,
        runner: &RunnerRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        values: &[TextList<'w>],
    ) -> Option<(Vec<usize>, String)> {
        if runner.sub.is_empty() {
            if arguments.first().is_some_and(|first| runner.deny.contains(first)) {
                self.note_reason(NotACheckReason::Denied {
                    tool: runner.name.to_owned(),
                    argument: lossy_text(arguments[0]),
                });
                return None;
            }
            return Some((Vec::new(), lossy_text(base)));
        }
        let sub = arguments::find_sub_command(arguments, runner.sub, values)?;
        if !sub.word_positions().is_empty() {
            return Some((sub.word_positions().to_vec(), format!("{} {}", lossy_text(base), lossy_text(sub.spelling))));
        }
        let first_word = WordPositions { arguments, value_options: values, at: 0 }.next();
        if first_word.is_some_and(|place| runner.deny.contains(arguments[place])) {
            self.note_reason(NotACheckReason::OtherUse(lossy_text(base)));
            return None;
        }
        Some((Vec::new(), lossy_text(base)))
    }

    /// What follows a runner's own arguments.
    fn find_in_runner_rest(
        &mut self,
        runner: &RunnerRule<'w>,
        base: &[u8],
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        match runner.then {
            // A service without a command does what it is named for.
            then::COMMAND if rest.is_empty() && !runner.manifest.is_empty() => {
                let service = trail.selectors.last()?.strip_prefix('@')?.to_owned();
                self.find_in_script(runner, service.as_bytes(), &[], trail)
            }
            then::COMMAND => {
                self.find_in_package(runner, rest, trail).or_else(|| self.find_in_image(runner, rest, trail))
            }
            then::FILE => {
                let mut words = rest.to_vec();
                self.confine_file(words.first()?);
                words[0] = looked_up_program(words[0]).unwrap_or(words[0]);
                self.find_in_command(&words, trail)
            }
            then::LINE => self.find_in_line(&lossy_text(&rest.join(&b' ')), trail),
            then::AGAIN => self.find_in_repeated_sub_commands(base, rest, trail),
            then::SCRIPTS => self.find_in_script_arguments(runner, rest, trail),
            then::SCRIPT if !runner.script.is_empty() => self.find_in_script(runner, runner.script, rest, trail),
            then::SCRIPT => self.find_in_script_or_command(runner, rest, trail),
            _ => None,
        }
    }

    /// An image that is named for the tool which it runs: `docker run koalaman/shellcheck:stable a.sh`.
    fn find_in_image(&mut self, runner: &RunnerRule<'_>, rest: &[&[u8]], trail: &Resolution) -> Option<Check> {
        let image = trail.selectors.last().filter(|_| runner.name == "docker-run")?.strip_prefix('@')?;
        let name = image.rsplit('/').next()?.split([':', '@']).next()?.as_bytes();
        let program = self.whitelist.package_program(name).unwrap_or(name);
        let has_tool =
            self.whitelist.program_rules(program, program).iter().any(|rule| matches!(rule, WhitelistRule::Tool(_)));
        let words: Vec<&[u8]> = std::iter::once(program).chain(rest.iter().copied()).collect();
        if has_tool && image.contains('/') { self.find_in_command(&words, trail) } else { None }
    }

    /// `mix do lint, test` and `mix do lint + test`: the first check among the runner's own sub-commands.
    fn find_in_repeated_sub_commands(&mut self, base: &[u8], rest: &[&[u8]], trail: &Resolution) -> Option<Check> {
        self.beside = true;
        let mut words = vec![base];
        for (place, word) in rest.iter().enumerate() {
            let bare = word.strip_suffix(b",").unwrap_or(word);
            if *word != b"+" {
                words.push(bare);
            }
            if (bare.len() < word.len() || *word == b"+" || place + 1 == rest.len()) && words.len() > 1 {
                if let Some(check) = self.find_in_command(&words, trail) {
                    return Some(check);
                }
                words.truncate(1);
            }
        }
        None
    }

    fn find_in_line_option(
        &mut self,
        runner: &RunnerRule<'_>,
        value: &[&[u8]],
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        if runner.then == then::LINE && runner.line_options.contains(b"/c") | runner.line_options.contains(b"-Command")
        {
            return self.find_in_line(&lossy_text(&rest.join(&b' ')), trail);
        }
        self.find_in_line(&lossy_text(value.first()?), trail)
    }

    fn find_in_module(&mut self, module: &[u8], arguments: &[&[u8]], trail: &Resolution) -> Option<Check> {
        let mut rules = self.whitelist.module_rules(module);
        if rules.is_empty() {
            // A package of Python has most often the name of its program.
            let package = module.split(|byte| *byte == b'.').next().unwrap_or(module);
            rules = self.whitelist.program_rules(package, package);
            rules.retain(|rule| match rule {
                WhitelistRule::Tool(tool) => matches!(tool.language, "python" | "any"),
                WhitelistRule::Runner(_) => PYTHON_RUNNERS.contains(&package),
            });
        }
        if rules.is_empty() {
            self.note_reason(NotACheckReason::Unknown(lossy_text(module)));
            return None;
        }
        self.find_by_rules(&rules, module, arguments, trail)
    }

    /// A program that may be written as a package.
    fn find_in_package(&mut self, runner: &RunnerRule<'_>, words: &[&[u8]], trail: &Resolution) -> Option<Check> {
        let (&first, rest) = words.split_first()?;
        if runner.flags & PACKAGES == 0 {
            return self.find_in_command(words, trail);
        }
        self.confine_package(runner, first);
        let package = package_name(first);
        let program = match self.whitelist.package_program(package) {
            Some(program) => program,
            // `@scope/eslint` is not eslint.
            None if package.starts_with(b"@") => {
                self.note_reason(NotACheckReason::Unknown(lossy_text(package)));
                return None;
            }
            None => package,
        };
        let words: Vec<&[u8]> = std::iter::once(program).chain(rest.iter().copied()).collect();
        self.find_in_command(&words, trail)
    }

    /// `pnpm lint`, `yarn eslint .`, `hatch run test:pytest`, `make check lint`.
    fn find_in_script_or_command(
        &mut self,
        runner: &RunnerRule<'w>,
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let values = [runner.value_options, runner.dir_options, runner.select_options];
        if runner.flags & OR_COMMAND != 0
            && let Some((&first, arguments)) = rest.split_first()
        {
            let program = split_project(runner, first).0;
            if self.whitelist.has_program_rule(base_name(program)) {
                let before = std::mem::take(&mut self.reason);
                let arguments = arguments.strip_prefix(&[&b"--"[..]]).unwrap_or(arguments);
                let words: Vec<&[u8]> = std::iter::once(program).chain(arguments.iter().copied()).collect();
                let check = self.find_in_command(&words, trail);
                // `yarn playwright install` is the tool's own command, not a script of that name.
                let is_other_use = matches!(self.reason, NotACheckReason::OtherUse(_))
                    && arguments.first().is_some_and(|argument| !is_option(argument));
                let refused = self.reason.is_refusal() || is_other_use;
                self.note_reason(before);
                if check.is_some() || refused {
                    return check;
                }
            }
        }
        let many = runner.flags & MANY != 0;
        let mut places = WordPositions { arguments: rest, value_options: &values, at: 0 };
        for place in places.by_ref().take(if many { usize::MAX } else { 1 }) {
            let others: Vec<&[u8]> = if many {
                rest.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, word)| *word).collect()
            } else {
                rest[place + 1..].to_vec()
            };
            self.beside |= many && others.iter().any(|word| !is_option(word));
            if let Some(check) = self.find_in_script(runner, rest[place], &others, trail) {
                return Some(check);
            }
        }
        None
    }

    /// `node --run test`; of several aliases of Clojure's the last one counts (`-M:dev:test`), and more than any the
    /// namespace behind them (`-M:dev -m kaocha.runner`).
    fn find_in_named_option(
        &mut self,
        runner: &RunnerRule<'w>,
        names: &[u8],
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        if let Some((option, rest)) = split_first_word(rest)
            && let Some((module, rest)) =
                option_value(option, rest, runner.module_options, 0).and_then(split_first_word)
            && let Some(check) = self.find_in_module(module, rest, trail)
        {
            return Some(check);
        }
        let has_aliases = runner.flags & PROJECT == 0;
        let last = names.iter().rposition(|byte| *byte == b':').filter(|_| has_aliases);
        let check = self.find_in_script_names(runner, names, rest, trail);
        check.or_else(|| self.find_in_script_names(runner, &names[last? + 1..], rest, trail))
    }

    /// `nx run-many -t lint test`, `node --run test`.
    fn find_in_script_names(
        &mut self,
        runner: &RunnerRule<'w>,
        names: &[u8],
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let more = if runner.flags & MANY != 0 { rest.iter().take_while(|word| !is_option(word)).count() } else { 0 };
        let all: Vec<&[u8]> = names.split(|byte| *byte == b',').chain(rest[..more].iter().copied()).collect();
        self.beside |= all.len() > 1;
        for (place, name) in all.iter().enumerate() {
            let others = all.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, word)| *word);
            let others: Vec<&[u8]> = others.chain(rest[more..].iter().copied()).collect();
            if let Some(check) = self.find_in_script(runner, name, &others, trail) {
                return Some(check);
            }
        }
        None
    }

    /// `run-s lint test:*`, `concurrently "npm run lint" npm:test`.
    fn find_in_script_arguments(
        &mut self,
        runner: &RunnerRule<'w>,
        rest: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        self.beside = true;
        for place in (WordPositions { arguments: rest, value_options: &[runner.value_options], at: 0 }) {
            let word = rest[place];
            let check = if word.contains(&b' ') {
                self.find_in_line(&lossy_text(word), trail)
            } else {
                let others: Vec<&[u8]> =
                    rest.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, w)| *w).collect();
                self.find_in_script(runner, word.strip_prefix(b"npm:").unwrap_or(word), &others, trail)
            };
            if check.is_some() {
                return check;
            }
        }
        None
    }

    /// A script or target, by its name.
    fn find_in_script(
        &mut self,
        runner: &RunnerRule<'w>,
        written: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let (name, project) = split_project(runner, written);
        let layers = self.whitelist.script_name_rules();
        // An environment of hatch is named for what its scripts do (`lint:all`), a project of nx isn't.
        let is_whole = project.is_some() && runner.flags & MANY == 0;
        let read = match scripts::interpret_target_name(name, &layers) {
            ScriptNameMeaning::Nothing if is_whole => scripts::interpret_target_name(written, &layers),
            read => read,
        };
        let is_made = runner.name == "make-target" && scripts::is_made_file(name);
        let run = || project.filter(|_| scripts::is_plain_run(name)).and_then(|own| scripts::task_kind(own, &layers));
        let kind = match read {
            ScriptNameMeaning::Check(_) | ScriptNameMeaning::Nothing if is_made => CheckKind::Build,
            ScriptNameMeaning::Check(kind) if is_whole => scripts::task_kind(written, &layers).unwrap_or(kind),
            ScriptNameMeaning::Check(kind) => kind,
            ScriptNameMeaning::Nothing if is_checking_format(name, arguments, &layers) => CheckKind::Format,
            ScriptNameMeaning::Nothing if let Some(kind) = run() => kind,
            // `bun scripts/lint.ts`.
            ScriptNameMeaning::Nothing if name.contains(&b'/') => {
                return self.find_in_script_file(name, arguments, trail);
            }
            ScriptNameMeaning::Nothing if let Some(kind) = self.bare_tool_kind(name) => kind,
            ScriptNameMeaning::Denied(part) if scripts::is_comparing(part, arguments) => CheckKind::Lint,
            ScriptNameMeaning::Nothing
                if runner.flags & MANY == 0 && self.whitelist.has_program_rule(name) && !arguments.is_empty() =>
            {
                return self.find_in_program_script(name, arguments, trail);
            }
            ScriptNameMeaning::Denied(part) => {
                self.note_reason(NotACheckReason::ScriptDenied { name: lossy_text(name), part: lossy_text(part) });
                return None;
            }
            ScriptNameMeaning::Nothing => {
                self.note_reason(NotACheckReason::ScriptName(lossy_text(name)));
                return None;
            }
        };
        let mut trail = trail.clone();
        trail.selectors.extend(project.map(lossy_text));
        let mut skip = Vec::new();
        if runner.flags & LATE_OPTIONS != 0 {
            read_options(arguments, [runner.dir_options, runner.select_options], &mut trail, &mut skip);
        }
        let left = || arguments.iter().enumerate().filter(|(at, _)| !skip.contains(at)).map(|(_, argument)| *argument);
        let own: Vec<&[u8]> = left().collect();
        let is_denied =
            |argument: &&&[u8]| layers.iter().any(|s| find_matching_pattern(argument, s.deny_args).is_some());
        if let Some(argument) = own.iter().find(is_denied).copied().or(self.whitelist.denied_everywhere(&own)) {
            self.note_reason(NotACheckReason::Denied { tool: lossy_text(name), argument: lossy_text(argument) });
            return None;
        }
        let is_late = runner.flags & (LATE_OPTIONS | MANY) != 0 && !trail.is_past_dashes;
        let late = if is_late { arguments } else { &[] };
        self.confine_runner(runner, late);
        self.confine_arguments(runner.name.as_bytes(), arguments);
        let mut check = trail.build_check(&format!("script:{}", lossy_text(name)), kind);
        check.manifest = Some(if runner.manifest.is_empty() { runner.name } else { runner.manifest }.to_owned());
        collect_selectors(arguments, &skip, &[runner.value_options], TextList::default(), &mut check.selectors);
        check.selectors.sort();
        check.why = format!("the script name `{}` suggests a {} check", lossy_text(name), kind.as_str());
        Some(check)
    }
}

/// The values that an option of `list` takes from `rest`: everything from its value on.
///
/// `letter`: the option may be the last of a cluster (`-lc`, `-Im`); 0 for none.
fn option_value<'s, 'a>(
    argument: &'a [u8],
    rest: &'s [&'a [u8]],
    list: TextList<'_>,
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
            && list.contains(&[b'-', letter])
            && (letter == b'm' || letters.iter().all(u8::is_ascii_lowercase));
        is_cluster.then_some(())
    };
    (list.contains(argument) || (letter != 0 && cluster().is_some())).then_some(rest)
}

/// Whether the value of an option is a whole line. Where the option may have the words of a command behind it as well
/// (`nodemon --exec npm test`), only one with a blank is.
fn is_line(runner: &RunnerRule<'_>, argument: &[u8], value: &[&[u8]]) -> bool {
    !runner.command_options.contains(argument) || value.first().is_some_and(|line| line.contains(&b' '))
}

/// The value that a long option of `list` has attached: `--exec='make test'`.
fn attached_value<'a>(argument: &'a [u8], list: TextList<'_>) -> Option<&'a [u8]> {
    if list.is_empty() || !argument.starts_with(b"--") {
        return None;
    }
    let end = bytes::find_byte(argument, b'=')?;
    list.contains(&argument[..end]).then_some(&argument[end + 1..])
}

fn split_first_word<'s, 'a>(words: &'s [&'a [u8]]) -> Option<(&'a [u8], &'s [&'a [u8]])> {
    words.split_first().map(|(first, rest)| (*first, rest))
}

/// The script that an option names (`-t lint`, `--target=lint`, `-M:test`), and the arguments after it.
fn script_option<'s, 'a>(
    argument: &'a [u8],
    rest: &'s [&'a [u8]],
    options: TextList<'_>,
) -> Option<(&'a [u8], &'s [&'a [u8]])> {
    for option in options {
        if let Some(start) = option.strip_suffix(b"*") {
            if let Some(name) = argument.strip_prefix(start) {
                return Some((name.strip_prefix(b":").unwrap_or(name), rest));
            }
        } else if argument == option {
            return split_first_word(rest);
        } else if let Some(value) = argument.strip_prefix(option).and_then(|value| value.strip_prefix(b"=")) {
            return Some((value, rest));
        }
    }
    None
}
