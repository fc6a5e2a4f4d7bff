//! From a command to the check in it: rules are tried, runners seen through, until a tool or a script is found.

use super::arguments::{self, Sub, Words, is_option, matched, matches, selectors};
use super::encode::{TOOL_ANYWHERE, TOOL_INTERPRETER, TOOL_WRAPPER};
use super::program::{base_name, lossy, named_by_variable, variable};
use super::reason::Reason;
use super::scripts::{self, Named};
use super::table::{List, Rule, Tool};
use super::trail::{Trail, take_options};
use super::{Check, CheckKind, Whitelist};
use crate::base::bytes;
use crate::base::limits::RUNNERS_MAX;
use crate::command::{Line, Step};

/// One decision.
pub struct Search<'w> {
    pub(super) whitelist: &'w Whitelist,
    /// Why it is no check, the most telling reason so far.
    pub reason: Reason,
    /// Something was looked through that may run other commands beside the check.
    pub(super) beside: bool,
    /// Look for what a call brings along that isn't the project's.
    pub(super) is_strict: bool,
    /// The first of that; see [`super::confined`].
    pub(super) foreign: Option<String>,
}

impl<'w> Search<'w> {
    pub fn new(whitelist: &'w Whitelist) -> Self {
        Search { whitelist, reason: Reason::None, beside: false, is_strict: false, foreign: None }
    }

    /// As [`Search::new`], for `--only-checks`.
    pub fn strict(whitelist: &'w Whitelist) -> Self {
        Search { is_strict: true, ..Search::new(whitelist) }
    }

    /// The check that a shell line names first.
    pub fn line(&mut self, text: &str, trail: &Trail) -> Option<Check> {
        self.beside = true;
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
            return match variable(path) {
                Some(parts) => self.variable(path, parts, arguments, trail),
                None => self.script_file(path, arguments, trail),
            };
        }
        let before = self.foreign.clone();
        let has_path = |rule: &Rule<'_>| matches!(rule, Rule::Tool(tool) if !tool.paths.is_empty());
        self.confine_program(path, rules.iter().any(has_path));
        let check = self.rules(&rules, base, arguments, trail);
        if check.is_none() {
            self.foreign = before;
            // `tests/run.sh` is called as the script that runs all others is, and says itself what it does.
            if rules.iter().any(|rule| rule.name() == "project-runner") {
                return self.script_file(path, arguments, trail);
            }
        }
        check
    }

    /// A program whose name is a variable's, or begins with one. What it is when it runs, nobody knows: good enough to tell
    /// which check is meant, not to let it run unasked.
    fn variable(
        &mut self,
        path: &[u8],
        (name, default, rest): (&[u8], &[u8], &[u8]),
        arguments: &[&[u8]],
        trail: &Trail,
    ) -> Option<Check> {
        self.beside = true;
        let named = named_by_variable(name);
        let program = match (rest, default) {
            ([], []) if self.whitelist.knows(&named) => named.as_slice(),
            ([], []) => return self.named_command(path, name, arguments, trail),
            ([], default) => default,
            _ => rest,
        };
        let words: Vec<&[u8]> = std::iter::once(program).chain(arguments.iter().copied()).collect();
        let check = self.command(&words, trail)?;
        self.confine_variable(path);
        Some(check)
    }

    /// A variable that is said to have a command in it, and which: `$TEST_CMD`.
    fn named_command(&mut self, path: &[u8], name: &[u8], arguments: &[&[u8]], trail: &Trail) -> Option<Check> {
        let layers = self.whitelist.scripts();
        let command = [&b"_CMD"[..], b"_COMMAND"].into_iter().find_map(|end| name.strip_suffix(end));
        let named = command.map_or(Named::Nothing, |command| scripts::named(command, &layers));
        let is_denied = |argument: &&[u8]| layers.iter().any(|layer| matched(argument, layer.deny_args).is_some());
        match named {
            Named::Check(kind) if !arguments.iter().any(is_denied) => {
                self.confine_variable(path);
                let mut check = trail.check(&format!("script:{}", lossy(path)), kind);
                selectors(arguments, &[], &[], List::default(), &mut check.selectors);
                check.selectors.sort();
                check.why =
                    format!("the variable's name, `{}`, says that it is a {} check", lossy(name), kind.as_str());
                Some(check)
            }
            _ => {
                self.because(Reason::Unknown(lossy(path)));
                None
            }
        }
    }

    pub(super) fn rules(
        &mut self,
        rules: &[Rule<'w>],
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Trail,
    ) -> Option<Check> {
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
                self.confine_tool(tool, base, &arguments[..start]);
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
        let sub = self.sub_of(tool, base, arguments, &value_options)?;
        if let Some(denied) = self.denied(tool, arguments, sub.as_ref(), words) {
            self.because(Reason::Denied { tool: tool.name.to_owned(), argument: denied });
            return None;
        }
        if let Some(one_of) = missing(tool, base, sub.as_ref(), arguments) {
            // Without its option an interpreter (`bash -n`) is not that tool at all.
            self.because(match tool.flags & TOOL_INTERPRETER {
                0 => Reason::Needs { tool: tool.name.to_owned(), one_of },
                _ => Reason::OtherUse(lossy(base)),
            });
            return None;
        }
        let mut trail = trail.clone();
        let mut skip: Vec<usize> = sub.as_ref().map_or(Vec::new(), |sub| sub.places().to_vec());
        take_options(arguments, [tool.dir_options, List::default()], &mut trail, &mut skip);
        let kind_of =
            sub.as_ref().and_then(|sub| tool.kind_of.value(sub.spelling).or(tool.kind_of.value(sub.canonical)));
        let kind = match self.task_option(tool, arguments) {
            Ok(kind) => kind.or(kind_of.and_then(kind_named)).unwrap_or(tool.kind),
            Err(denied) => {
                self.because(Reason::Denied { tool: tool.name.to_owned(), argument: denied });
                return None;
            }
        };
        let mut check = trail.check(tool.name, kind);
        let mut called = lossy(base);
        if let Some(sub) = sub.as_ref().filter(|sub| !sub.places().is_empty()) {
            called = format!("{called} {}", lossy(sub.spelling));
        }
        if let Some(sub) = sub.filter(|sub| !sub.canonical.is_empty() && tool.sub.count() > 1) {
            check.selectors.push(lossy(sub.canonical));
            check.sub = Some(lossy(sub.canonical));
        }
        selectors(all, &skip, &value_options, tool.ignore, &mut check.selectors);
        check.selectors.sort();
        check.fixes = arguments.iter().any(|argument| matched(argument, tool.fixes).is_some());
        self.confine_tool(tool, base, all);
        check.why = format!("`{called}` is the {} tool {}", check.kind.as_str(), tool.name);
        Some(check)
    }

    /// The kind that the tasks in the call say (`nox -s lint`, `tox -e docs,py312`); the first one where there are several.
    ///
    /// # Errors
    /// The name of the task, where each of them is no check.
    fn task_option(&self, tool: &Tool<'_>, arguments: &[&[u8]]) -> Result<Option<CheckKind>, String> {
        if tool.task_options.is_empty() {
            return Ok(None);
        }
        let layers = self.whitelist.scripts();
        let own = arguments.split(|argument| *argument == b"--").next().unwrap_or_default();
        let mut denied = None;
        let mut is_value = false;
        for argument in own {
            let (option, value) = match bytes::find_byte(argument, b'=') {
                Some(end) => (&argument[..end], &argument[end + 1..]),
                None => (*argument, &b""[..]),
            };
            let tasks = match is_option(argument) {
                true => {
                    is_value = tool.task_options.has(option);
                    if is_value { value } else { b"" }
                }
                false if is_value => argument,
                false => b"",
            };
            // What a variable stands for isn't known.
            let is_known = |task: &&[u8]| !task.is_empty() && !task.contains(&b'$') && !task.contains(&b'{');
            for task in tasks.split(|byte| *byte == b',').filter(is_known) {
                match scripts::named(task, &layers) {
                    Named::Check(kind) => return Ok(Some(kind)),
                    // What is built may be called anything (`--target game-server`).
                    Named::Denied(_) if tool.kind == CheckKind::Build && !scripts::is_no_product(task) => {}
                    Named::Denied(_) => denied = Some(lossy(task)),
                    Named::Nothing if scripts::is_formatter(task, &layers) => denied = Some(lossy(task)),
                    Named::Nothing => {
                        let kind = scripts::task_kind(task, &layers).or_else(|| self.tool_named(task));
                        return Ok(kind);
                    }
                }
            }
        }
        denied.map_or(Ok(None), Err)
    }

    /// The kind of a tool that is a check when nothing but its name is called: what a script of that name is.
    pub(super) fn tool_named(&self, name: &[u8]) -> Option<CheckKind> {
        let is_bare = |tool: &Tool<'_>| {
            let mut subs = tool.sub;
            let needs_no_sub = tool.sub.is_empty()
                || subs.any(|sub| sub.split(|byte| *byte == b'|').any(|spelling| matches!(spelling, b"" | b"*")));
            let needs_nothing = tool.need.is_empty() && tool.need_for.is_empty() && tool.contains.is_empty();
            needs_no_sub && needs_nothing && tool.flags & TOOL_WRAPPER == 0
        };
        let rules = if name.len() > 3 { self.whitelist.programs(name, name) } else { Vec::new() };
        rules.iter().find_map(|rule| match rule {
            Rule::Tool(tool) if is_bare(tool) => {
                Some(tool.kind).filter(|kind| matches!(kind, CheckKind::Test | CheckKind::Lint | CheckKind::Type))
            }
            _ => None,
        })
    }

    /// The sub-command in the call. `None`: it has to have one and hasn't.
    #[allow(clippy::option_option, reason = "no match, and nothing to match, are different answers")]
    fn sub_of(
        &mut self,
        tool: &Tool<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        values: &[List<'_>],
    ) -> Option<Option<Sub<'w>>> {
        if tool.sub.is_empty() {
            return Some(None);
        }
        let sub = if tool.flags & TOOL_ANYWHERE != 0 {
            arguments::sub_command_anywhere(arguments, tool.sub, values)
        } else {
            arguments::sub_command(arguments, tool.sub, values)
        };
        if sub.is_none() {
            self.because(Reason::OtherUse(lossy(base)));
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

    pub(super) fn because(&mut self, reason: Reason) {
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
    let found = contains.any(|text| arguments.iter().any(|argument| bytes::find(argument, text).is_some()));
    (!tool.contains.is_empty() && !found).then(|| one_of(tool.contains))
}

fn one_of(list: List<'_>) -> String {
    list.map(lossy).collect::<Vec<_>>().join(", ")
}

/// `cd DIR`, `pushd DIR`.
pub(super) fn change_of_directory<'a>(words: &[&'a [u8]]) -> Option<&'a [u8]> {
    match words {
        [b"cd" | b"pushd", b"--", dir] | [b"cd" | b"pushd", b"-P" | b"-L", dir] | [b"cd" | b"pushd", dir] => Some(dir),
        _ => None,
    }
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
