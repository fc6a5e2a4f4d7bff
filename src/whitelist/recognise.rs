//! From a command to the check in it: rules are tried, runners seen through, until a tool or a script is found.

use super::arguments::{self, Sub, Words, is_assignment, is_option, is_version, matched, matches, selectors, width};
use super::encode::{
    ASSIGNMENTS, DASHDASH, ELSEWHERE, LATE_OPTIONS, MANY, OR_COMMAND, PACKAGES, PROJECT, SKIP_SELECTS, SKIP_VERSIONS,
    TOOL_ANYWHERE, TOOL_INTERPRETER, TOOL_WRAPPER,
};
use super::reason::Reason;
use super::scripts::{self, Named};
use super::table::{List, Rule, Runner, Tool};
use super::{Check, CheckKind, Whitelist};
use crate::base::limits::RUNNERS_MAX;
use crate::command::{Line, Step};

/// Values of `then` as [`super::encode`] writes them.
mod then {
    pub const COMMAND: u8 = 0;
    pub const SCRIPT: u8 = 1;
    pub const SCRIPTS: u8 = 2;
    pub const FILE: u8 = 3;
    pub const LINE: u8 = 4;
    pub const AGAIN: u8 = 5;
}

/// What was seen on the way to the command.
#[derive(Debug, Clone, Default)]
pub struct Trail {
    via: Vec<String>,
    dir: Option<String>,
    selectors: Vec<String>,
    elsewhere: bool,
}

impl Trail {
    fn enter(&mut self, dir: &[u8]) {
        let dir = String::from_utf8_lossy(dir);
        self.dir = Some(match self.dir.take() {
            Some(before) if !dir.starts_with('/') => format!("{before}/{dir}"),
            _ => dir.into_owned(),
        });
    }

    fn check(&self, tool: &str, kind: CheckKind) -> Check {
        let mut check = Check::new(tool, kind);
        check.via.clone_from(&self.via);
        check.dir.clone_from(&self.dir);
        check.selectors.clone_from(&self.selectors);
        check.elsewhere = self.elsewhere;
        check
    }
}

/// One decision.
pub struct Search<'w> {
    whitelist: &'w Whitelist,
    /// Why it is no check, the most telling reason so far.
    pub reason: Reason,
}

impl<'w> Search<'w> {
    pub fn new(whitelist: &'w Whitelist) -> Self {
        Search { whitelist, reason: Reason::None }
    }

    /// The check that a shell line names first.
    pub fn line(&mut self, text: &str, trail: &Trail) -> Option<Check> {
        let line = match Line::parse(text) {
            Ok(line) => line,
            Err(gave_up) => {
                self.because(Reason::GaveUp(gave_up));
                return None;
            }
        };
        let mut trails = vec![trail.clone()];
        let mut found: Option<Check> = None;
        for step in &line.steps {
            let Some(here) = trails.last_mut() else { break };
            match step {
                Step::Open => {
                    let inner = here.clone();
                    trails.push(inner);
                }
                Step::Close => drop(trails.pop()),
                Step::Run(simple) => {
                    let words: Vec<&[u8]> = simple.words.iter().map(String::as_bytes).collect();
                    if let Some(dir) = change_of_directory(&words) {
                        here.enter(dir);
                    } else if let Some(check) = self.command(&words, here) {
                        match &mut found {
                            None => found = Some(check),
                            Some(first) => first.also.push(check.tool),
                        }
                    }
                }
            }
        }
        let mut check = found?;
        check.status_is_own &= line.all_joined_by_and;
        Some(check)
    }

    /// The check that a simple command is.
    pub fn command(&mut self, words: &[&[u8]], trail: &Trail) -> Option<Check> {
        let (&path, arguments) = words.split_first()?;
        if trail.via.len() > RUNNERS_MAX {
            self.because(Reason::TooDeep);
            return None;
        }
        let base = base_name(path);
        let rules = self.whitelist.programs(base, path);
        if rules.is_empty() {
            self.because(Reason::Unknown(lossy(base)));
            return None;
        }
        self.rules(&rules, base, arguments, trail)
    }

    fn rules(&mut self, rules: &[Rule<'w>], base: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let is_wrapper = |tool: &Tool<'_>| tool.flags & TOOL_WRAPPER != 0;
        let tools = |wrapper: bool| {
            rules.iter().filter_map(move |rule| match rule {
                Rule::Tool(tool) if is_wrapper(tool) == wrapper => Some(tool),
                _ => None,
            })
        };
        for tool in tools(false) {
            if let Some(check) = self.tool(tool, base, arguments, trail) {
                return Some(check);
            }
        }
        for rule in rules {
            if let Rule::Runner(runner) = rule
                && let Some(check) = self.runner(runner, base, arguments, trail)
            {
                return Some(check);
            }
        }
        for tool in tools(true) {
            if let Some(check) = self.wrapper(tool, base, arguments, trail) {
                return Some(check);
            }
        }
        None
    }

    /// A tool that runs another command (`c8 mocha`, `valgrind ./a.out`): the inner one, if it is known.
    fn wrapper(&mut self, tool: &Tool<'w>, base: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let inner = Words { arguments, value_options: &[tool.value_options], at: 0 }.next();
        if let Some(start) = inner {
            let mut trail = trail.clone();
            trail.via.push(lossy(base));
            if let Some(check) = self.command(&arguments[start..], &trail) {
                return Some(check);
            }
        }
        self.tool(tool, base, arguments, trail)
    }

    fn tool(&mut self, tool: &Tool<'w>, base: &[u8], all: &[&[u8]], trail: &Trail) -> Option<Check> {
        let value_options = [tool.value_options, tool.dir_options];
        let mut arguments = all;
        if tool.flags & TOOL_INTERPRETER != 0 {
            let file = Words { arguments, value_options: &value_options, at: 0 }.next();
            arguments = &arguments[..file.unwrap_or(arguments.len())];
        }
        let words = || Words { arguments, value_options: &value_options, at: 0 };
        let sub = self.sub_of(tool, arguments, &value_options)?;
        if let Some(denied) = self.denied(tool, arguments, sub.as_ref(), words) {
            self.because(Reason::Denied { tool: tool.name.to_owned(), argument: denied });
            return None;
        }
        if let Some(missing) = missing(tool, base, sub.as_ref(), arguments) {
            self.because(Reason::Needs { tool: tool.name.to_owned(), one_of: missing });
            return None;
        }
        let mut trail = trail.clone();
        let mut skip: Vec<usize> = sub.as_ref().map_or(Vec::new(), |sub| sub.places().to_vec());
        take_options(arguments, [tool.dir_options, List::default()], &mut trail, &mut skip);
        let kind_of =
            sub.as_ref().and_then(|sub| tool.kind_of.value(sub.spelling).or(tool.kind_of.value(sub.canonical)));
        let mut check = trail.check(tool.name, kind_of.and_then(kind_named).unwrap_or(tool.kind));
        if let Some(sub) = sub.filter(|sub| !sub.canonical.is_empty() && tool.sub.count() > 1) {
            check.selectors.push(lossy(sub.canonical));
        }
        selectors(all, &skip, &value_options, tool.ignore, &mut check.selectors);
        check.selectors.sort();
        check.fixes = arguments.iter().any(|argument| matched(argument, tool.fixes).is_some());
        check.why = format!("`{}` is the {} tool {}", lossy(base), check.kind.as_str(), tool.name);
        Some(check)
    }

    /// The sub-command in the call. `None`: it has to have one and hasn't.
    #[allow(clippy::option_option, reason = "no match, and nothing to match, are different answers")]
    fn sub_of(&mut self, tool: &Tool<'w>, arguments: &[&[u8]], values: &[List<'_>]) -> Option<Option<Sub<'w>>> {
        if tool.sub.is_empty() {
            return Some(None);
        }
        let sub = if tool.flags & TOOL_ANYWHERE != 0 {
            arguments::sub_command_anywhere(arguments, tool.sub, values)
        } else {
            arguments::sub_command(arguments, tool.sub, values)
        };
        if sub.is_none() {
            self.because(Reason::OtherSubCommand { tool: tool.name.to_owned() });
        }
        sub.map(Some)
    }

    /// The argument that makes the call no check.
    fn denied<W: Iterator<Item = usize>>(
        &self,
        tool: &Tool<'_>,
        arguments: &[&[u8]],
        sub: Option<&Sub<'_>>,
        words: impl Fn() -> W,
    ) -> Option<String> {
        if let Some(argument) = self.whitelist.denied_everywhere(arguments) {
            return Some(lossy(argument));
        }
        if tool.deny.is_empty() {
            return None;
        }
        let options = arguments.iter().filter(|argument| !argument.first().is_some_and(u8::is_ascii_alphanumeric));
        if let Some(argument) = options.copied().find(|argument| matched(argument, tool.deny).is_some()) {
            return Some(lossy(argument));
        }
        // A word counts in the place of the sub-command and right after it, not as a path or a filter.
        let reach =
            if tool.flags & TOOL_ANYWHERE != 0 { usize::MAX } else { sub.map_or(0, |sub| sub.places().len()) + 1 };
        let mut words = words().take(reach).map(|place| arguments[place]);
        words.find(|word| matched(word, tool.deny).is_some()).map(lossy)
    }

    fn runner(&mut self, runner: &Runner<'w>, base: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let has = |flag: u16| runner.flags & flag != 0;
        let values = [runner.value_options, runner.dir_options, runner.select_options];
        let mut sub_places: Vec<usize> = Vec::new();
        let mut trail = trail.clone();
        let mut name = lossy(base);
        let first_word = Words { arguments, value_options: &values, at: 0 }.next();
        if !runner.sub.is_empty() {
            let sub = arguments::sub_command(arguments, runner.sub, &values)?;
            sub_places.extend_from_slice(sub.places());
            if !sub.places().is_empty() {
                name = format!("{name} {}", lossy(sub.spelling));
            } else if first_word.is_some_and(|place| runner.deny.has(arguments[place])) {
                self.because(Reason::OtherSubCommand { tool: runner.name.to_owned() });
                return None;
            }
        } else if arguments.first().is_some_and(|first| runner.deny.has(first)) {
            self.because(Reason::Denied { tool: runner.name.to_owned(), argument: lossy(arguments[0]) });
            return None;
        }
        trail.via.push(name);
        trail.elsewhere |= has(ELSEWHERE);
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
                at += 1;
                break;
            } else if let Some(value) = option_value(argument, rest, runner.line_options, b'c') {
                return self.line_option(runner, value, rest, &trail);
            } else if let Some((module, rest)) =
                option_value(argument, rest, runner.module_options, b'm').and_then(split)
            {
                return self.module(module, rest, &trail);
            } else if let Some(words) = option_value(argument, rest, runner.command_options, 0) {
                return self.command(words, &trail);
            } else if let Some((names, rest)) = script_option(argument, rest, runner.script_options) {
                return self.script_names(runner, names, rest, &trail);
            } else if is_option(argument) {
                at += take_option(arguments, at, &values, [runner.dir_options, runner.select_options], &mut trail);
            } else if (has(ASSIGNMENTS) && is_assignment(argument)) || (has(SKIP_VERSIONS) && is_version(argument)) {
                at += 1;
            } else if skip > 0 {
                skip -= 1;
                if has(SKIP_SELECTS) {
                    trail.selectors.push(lossy(argument));
                }
                at += 1;
            } else {
                break;
            }
        }
        if dashes.is_some() {
            at = end + 1;
        }
        self.rest(runner, base, arguments.get(at..).unwrap_or_default(), &trail)
    }

    /// What follows a runner's own arguments.
    fn rest(&mut self, runner: &Runner<'w>, base: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        match runner.then {
            then::COMMAND => self.packaged(runner, rest, trail),
            then::FILE => self.command(rest, trail),
            then::LINE => self.line(&lossy(&rest.join(&b' ')), trail),
            then::AGAIN if !rest.is_empty() => {
                let words: Vec<&[u8]> = std::iter::once(base).chain(rest.iter().copied()).collect();
                self.command(&words, trail)
            }
            then::SCRIPTS => self.scripts(runner, rest, trail),
            then::SCRIPT if !runner.script.is_empty() => self.script(runner, runner.script, rest, trail),
            then::SCRIPT => self.script_or_command(runner, rest, trail),
            _ => None,
        }
    }

    fn line_option(&mut self, runner: &Runner<'_>, value: &[&[u8]], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        if runner.then == then::LINE && runner.line_options.has(b"/c") | runner.line_options.has(b"-Command") {
            return self.line(&lossy(&rest.join(&b' ')), trail);
        }
        self.line(&lossy(value.first()?), trail)
    }

    fn module(&mut self, module: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let rules = self.whitelist.modules(module);
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
            if let Some(check) = self.script(runner, rest[place], &others, trail) {
                return Some(check);
            }
        }
        None
    }

    /// `nx run-many -t lint test`, `node --run test`.
    fn script_names(&mut self, runner: &Runner<'w>, names: &[u8], rest: &[&[u8]], trail: &Trail) -> Option<Check> {
        let more = if runner.flags & MANY != 0 { rest.iter().take_while(|word| !is_option(word)).count() } else { 0 };
        let all: Vec<&[u8]> = names.split(|byte| *byte == b',').chain(rest[..more].iter().copied()).collect();
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
        let kind = match scripts::named(name, &layers) {
            Named::Check(kind) => kind,
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
        let mut check = trail.check(&format!("script:{}", lossy(name)), kind);
        check.manifest = Some(if runner.manifest.is_empty() { runner.name } else { runner.manifest }.to_owned());
        selectors(arguments, &skip, &[runner.value_options], List::default(), &mut check.selectors);
        check.selectors.sort();
        check.why = format!("the script's name, `{}`, says that it is a {} check", lossy(name), kind.as_str());
        Some(check)
    }

    fn because(&mut self, reason: Reason) {
        if reason.rank() > self.reason.rank() {
            self.reason = reason;
        }
    }
}

/// What of a tool's required arguments is missing.
fn missing(tool: &Tool<'_>, base: &[u8], sub: Option<&Sub<'_>>, arguments: &[&[u8]]) -> Option<String> {
    let has = |mut needs: List<'_>| needs.any(|need| arguments.iter().any(|argument| matches(argument, need)));
    if !tool.need.is_empty() && !has(tool.need) {
        return Some(one_of(tool.need));
    }
    let mut groups = tool.need_for;
    while let Some(of) = groups.next() {
        let applies = of == base || sub.is_some_and(|sub| of == sub.spelling || of == sub.canonical);
        let mut satisfied = false;
        let mut wanted = Vec::new();
        for need in groups.by_ref().take_while(|need| !need.is_empty()) {
            satisfied |= arguments.iter().any(|argument| matches(argument, need));
            if applies {
                wanted.push(lossy(need));
            }
        }
        if applies && !satisfied {
            return Some(wanted.join(", "));
        }
    }
    let mut contains = tool.contains;
    let found = contains.any(|text| arguments.iter().any(|argument| memchr::memmem::find(argument, text).is_some()));
    (!tool.contains.is_empty() && !found).then(|| one_of(tool.contains))
}

fn one_of(list: List<'_>) -> String {
    list.map(lossy).collect::<Vec<_>>().join(", ")
}

/// `cd DIR`, `pushd DIR`.
fn change_of_directory<'a>(words: &[&'a [u8]]) -> Option<&'a [u8]> {
    match words {
        [b"cd" | b"pushd", b"--", dir] | [b"cd" | b"pushd", b"-P" | b"-L", dir] | [b"cd" | b"pushd", dir] => Some(dir),
        _ => None,
    }
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

/// Reads one option; how many arguments it takes up. `taken` are the options that name a directory, and those that
/// belong to the check's identity.
fn take_option(arguments: &[&[u8]], at: usize, values: &[List<'_>], taken: [List<'_>; 2], trail: &mut Trail) -> usize {
    let argument = arguments[at];
    let (option, value, length) = match memchr::memchr(b'=', argument) {
        Some(end) => (&argument[..end], Some(&argument[end + 1..]), 1),
        None => (argument, arguments.get(at + 1).copied(), width(argument, values)),
    };
    if let Some(value) = value {
        if taken[0].has(option) {
            trail.enter(value);
        } else if taken[1].has(option) {
            trail.selectors.push(lossy(value));
        }
    }
    length
}

/// Reads the options up to `--` that name a directory or belong to the identity; `places` are added to.
fn take_options(arguments: &[&[u8]], taken: [List<'_>; 2], trail: &mut Trail, places: &mut Vec<usize>) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at).filter(|argument| **argument != b"--") {
        let option = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
        if is_option(argument) && taken.iter().any(|list| list.has(option)) {
            let length = take_option(arguments, at, &taken, taken, trail);
            places.extend(at..at + length);
            at += length;
        } else {
            at += 1;
        }
    }
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

/// The name in `eslint@9`, `npm:eslint@9`, `@biomejs/biome@1`, `ruff==0.17`, `example.org/cmd/tool@v1`.
fn package_name(word: &[u8]) -> &[u8] {
    let word = word.strip_prefix(b"npm:").unwrap_or(word);
    let at = word.iter().skip(1).position(|byte| matches!(byte, b'@' | b'=' | b'<' | b'>' | b'['));
    &word[..at.map_or(word.len(), |at| at + 1)]
}

/// argv[0] without folders, and without what systems and languages hang on to a program's name.
pub fn base_name(path: &[u8]) -> &[u8] {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    for suffix in [&b".exe"[..], b".cmd", b".bat", b".ps1", b".phar"] {
        if let Some(base) = base.strip_suffix(suffix) {
            return base;
        }
    }
    if memchr::memmem::find(path, b"node_modules/").is_some() {
        for suffix in [&b".js"[..], b".mjs", b".cjs"] {
            if let Some(base) = base.strip_suffix(suffix) {
                return base;
            }
        }
    }
    base
}

/// A name without the version at its end: `python3.12`, `clang-16`. `None` if it has none.
pub fn without_version(base: &[u8]) -> Option<&[u8]> {
    let end = base.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b'.')? + 1;
    let stem = &base[..end];
    let stem = stem.strip_suffix(b"-").unwrap_or(stem);
    (end < base.len() && !stem.is_empty()).then_some(stem)
}

fn kind_named(name: &[u8]) -> Option<CheckKind> {
    Some(match name {
        b"test" => CheckKind::Test,
        b"lint" => CheckKind::Lint,
        b"type" => CheckKind::Type,
        b"format" => CheckKind::Format,
        b"build" => CheckKind::Build,
        _ => return None,
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
