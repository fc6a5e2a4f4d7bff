//! From a command to the check in it: rules are tried, runners seen through, until a tool or a script is found.

use super::arguments::{
    self, SubCommandMatch, WordPositions, collect_selectors, find_matching_pattern, is_option, matches_pattern,
};
use super::encode::{TOOL_ANYWHERE, TOOL_INTERPRETER, TOOL_WRAPPER};
use super::program::{base_name, lossy_text, program_of_variable, split_variable};
use super::reason::NotACheckReason;
use super::resolution::{Resolution, read_options};
use super::scripts::{self, ScriptNameMeaning};
use super::table::{TextList, ToolRule, WhitelistRule};
use super::{Check, CheckKind, Whitelist};
use crate::base::bytes;
use crate::base::limits::RUNNERS_MAX;
use crate::command::{LineStep, ShellLine, SimpleCommand};

/// One decision.
pub(super) struct CheckSearch<'w> {
    pub(super) whitelist: &'w Whitelist,
    /// Why it is not a check, the most telling reason so far.
    pub reason: NotACheckReason,
    /// Something was looked through that may run other commands beside the check.
    pub(super) beside: bool,
    /// What runs the check has an exit code of its own, and may not end with it.
    pub(super) has_own_status: bool,
    /// Look for what a call brings along that isn't the project's.
    pub(super) is_strict: bool,
    /// The first of that; see [`super::confined`].
    pub(super) foreign: Option<String>,
}

impl<'w> CheckSearch<'w> {
    pub(super) fn new(whitelist: &'w Whitelist) -> Self {
        CheckSearch {
            whitelist,
            reason: NotACheckReason::None,
            beside: false,
            has_own_status: false,
            is_strict: false,
            foreign: None,
        }
    }

    /// As [`CheckSearch::new`], for `--only-checks`.
    pub(super) fn new_strict(whitelist: &'w Whitelist) -> Self {
        CheckSearch { is_strict: true, ..CheckSearch::new(whitelist) }
    }

    /// The check that a shell line names first.
    pub(super) fn find_in_line(&mut self, text: &str, trail: &Resolution) -> Option<Check> {
        self.beside = true;
        let line = match ShellLine::parse(text) {
            Ok(line) => line,
            Err(gave_up) => {
                self.note_reason(NotACheckReason::GaveUp(gave_up));
                return None;
            }
        };
        let mut trails = vec![trail.clone()];
        let mut found: Option<Check> = None;
        for step in &line.steps {
            let Some(here) = trails.last_mut() else { break };
            match step {
                LineStep::Open => {
                    let inner = here.clone();
                    trails.push(inner);
                }
                LineStep::Close => drop(trails.pop()),
                LineStep::Run(simple) => {
                    let words: Vec<&[u8]> = simple.words.iter().map(String::as_bytes).collect();
                    if let Some(dir) = change_of_directory(&words) {
                        here.enter_directory(dir);
                    } else if let Some(check) =
                        self.find_in_command(&words, here).or_else(|| self.find_in_substitution(simple, here))
                    {
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

    /// The check whose output is kept or tested: `x=$(CMD)`, `[ -z "$(CMD)" ]`.
    fn find_in_substitution(&mut self, simple: &SimpleCommand, trail: &Resolution) -> Option<Check> {
        let inside = |text: &'_ str| -> Option<String> {
            let line = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
            line.or_else(|| text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))).map(str::to_owned)
        };
        match (simple.words.as_slice(), simple.assignments.as_slice()) {
            ([], [assignment]) => self.find_in_line(&inside(assignment.split_once('=')?.1)?, trail),
            ([program, arguments @ ..], _) if matches!(program.as_str(), "test" | "[") => {
                let line = arguments.iter().find_map(|argument| inside(argument))?;
                // A tool that fails without a word passes such a test.
                self.find_in_line(&line, trail).map(|check| Check { status_is_own: false, ..check })
            }
            _ => None,
        }
    }

    /// The check that a simple command is.
    pub(super) fn find_in_command(&mut self, words: &[&[u8]], trail: &Resolution) -> Option<Check> {
        let (&path, arguments) = words.split_first()?;
        if trail.via.len() > RUNNERS_MAX {
            self.note_reason(NotACheckReason::TooDeep);
            return None;
        }
        let base = base_name(path);
        let rules = self.whitelist.program_rules(base, path);
        if rules.is_empty() {
            return match split_variable(path) {
                Some((name, default, rest)) => self.find_in_variable(path, name, default, rest, arguments, trail),
                None => self.find_in_script_file(path, arguments, trail),
            };
        }
        let before = self.foreign.clone();
        let has_path = |rule: &WhitelistRule<'_>| matches!(rule, WhitelistRule::Tool(tool) if !tool.paths.is_empty());
        self.confine_program(path, rules.iter().any(has_path));
        let check = self.find_by_rules(&rules, base, arguments, trail);
        if check.is_none() {
            self.foreign = before;
            // `tests/run.sh` is called as the script that runs all others is, and says itself what it does.
            if rules.iter().any(|rule| rule.name() == "project-runner") {
                return self.find_in_script_file(path, arguments, trail);
            }
        }
        check
    }

    /// A program whose name is a variable's, or begins with one. What it runs is unknown: good enough to recognise
    /// the check, not to run it without asking.
    fn find_in_variable(
        &mut self,
        path: &[u8],
        name: &[u8],
        default: &[u8],
        rest: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        self.beside = true;
        let named = program_of_variable(name);
        let program = match (rest, default) {
            ([], []) if self.whitelist.has_program_rule(&named) => named.as_slice(),
            ([], []) => return self.find_in_command_variable(path, name, arguments, trail),
            ([], default) => default,
            _ => rest,
        };
        let words: Vec<&[u8]> = std::iter::once(program).chain(arguments.iter().copied()).collect();
        let check = self.find_in_command(&words, trail)?;
        self.confine_variable(path);
        Some(check)
    }

    /// A variable that is said to have a command in it, and which: `$TEST_CMD`.
    fn find_in_command_variable(
        &mut self,
        path: &[u8],
        name: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let layers = self.whitelist.script_name_rules();
        let command = [&b"_CMD"[..], b"_COMMAND"].into_iter().find_map(|end| name.strip_suffix(end));
        let named =
            command.map_or(ScriptNameMeaning::Nothing, |command| scripts::interpret_target_name(command, &layers));
        let is_denied =
            |argument: &&[u8]| layers.iter().any(|layer| find_matching_pattern(argument, layer.deny_args).is_some());
        match named {
            ScriptNameMeaning::Check(kind) if !arguments.iter().any(is_denied) => {
                self.confine_variable(path);
                let mut check = trail.build_check(&format!("script:{}", lossy_text(path)), kind);
                collect_selectors(arguments, &[], &[], TextList::default(), &mut check.selectors);
                check.selectors.sort();
                check.why = format!("the variable name `{}` suggests a {} check", lossy_text(name), kind.as_str());
                Some(check)
            }
            _ => {
                self.note_reason(NotACheckReason::Unknown(lossy_text(path)));
                None
            }
        }
    }

    pub(super) fn find_by_rules(
        &mut self,
        rules: &[WhitelistRule<'w>],
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let is_wrapper = |tool: &ToolRule<'_>| tool.flags & TOOL_WRAPPER != 0;
        let tools = |wrapper: bool| {
            rules.iter().filter_map(move |rule| match rule {
                WhitelistRule::Tool(tool) if is_wrapper(tool) == wrapper => Some(tool),
                _ => None,
            })
        };
        for tool in tools(false) {
            if let Some(check) = self.find_by_tool(tool, base, arguments, trail) {
                return Some(check);
            }
        }
        for rule in rules {
            if let WhitelistRule::Runner(runner) = rule
                && let Some(check) = self.find_in_runner(runner, base, arguments, trail)
            {
                return Some(check);
            }
        }
        for tool in tools(true) {
            if let Some(check) = self.find_in_wrapper(tool, base, arguments, trail) {
                return Some(check);
            }
        }
        None
    }

    /// A tool that runs another command (`c8 mocha`, `valgrind ./a.out`): the inner one, if it is known.
    fn find_in_wrapper(
        &mut self,
        tool: &ToolRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let inner = WordPositions { arguments, value_options: &[tool.value_options], at: 0 }.next();
        if let Some(start) = inner {
            let mut trail = trail.clone();
            trail.via.push(lossy_text(base));
            if let Some(check) = self.find_in_command(&arguments[start..], &trail) {
                self.confine_tool(tool, base, &arguments[..start]);
                return Some(check);
            }
        }
        self.find_by_tool(tool, base, arguments, trail)
    }

    fn find_by_tool(&mut self, tool: &ToolRule<'w>, base: &[u8], all: &[&[u8]], trail: &Resolution) -> Option<Check> {
        let value_options = [tool.value_options, tool.dir_options];
        let mut arguments = all;
        if tool.flags & TOOL_INTERPRETER != 0 {
            let file = WordPositions { arguments, value_options: &value_options, at: 0 }.next();
            arguments = &arguments[..file.unwrap_or(arguments.len())];
        }
        let words = || WordPositions { arguments, value_options: &value_options, at: 0 };
        let sub = self.find_tool_sub_command(tool, base, arguments, &value_options)?;
        if let Some(denied) = self.find_denied_argument(tool, arguments, sub.as_ref(), words) {
            self.note_reason(NotACheckReason::Denied { tool: tool.name.to_owned(), argument: denied });
            return None;
        }
        if let Some(one_of) = find_missing_arguments(tool, base, sub.as_ref(), arguments) {
            // Without its option an interpreter (`bash -n`) is not that tool at all.
            self.note_reason(match tool.flags & TOOL_INTERPRETER {
                0 => NotACheckReason::Needs { tool: tool.name.to_owned(), one_of },
                _ => NotACheckReason::OtherUse(lossy_text(base)),
            });
            return None;
        }
        let mut trail = trail.clone();
        let mut skip: Vec<usize> = sub.as_ref().map_or(Vec::new(), |sub| sub.word_positions().to_vec());
        read_options(arguments, [tool.dir_options, TextList::default()], &mut trail, &mut skip);
        let kind_of = sub
            .as_ref()
            .and_then(|sub| tool.kind_of.find_value(sub.spelling).or(tool.kind_of.find_value(sub.canonical)));
        let kind = match self.task_option_kind(tool, arguments) {
            Ok(kind) => kind.or(kind_of.and_then(kind_from_name)).unwrap_or(tool.kind),
            Err(denied) => {
                self.note_reason(NotACheckReason::Denied { tool: tool.name.to_owned(), argument: denied });
                return None;
            }
        };
        let mut check = trail.build_check(tool.name, kind);
        let mut called = lossy_text(base);
        if let Some(sub) = sub.as_ref().filter(|sub| !sub.word_positions().is_empty()) {
            called = format!("{called} {}", lossy_text(sub.spelling));
        }
        if let Some(sub) = sub.filter(|sub| !sub.canonical.is_empty() && tool.sub.count() > 1) {
            check.selectors.push(lossy_text(sub.canonical));
            check.sub = Some(lossy_text(sub.canonical));
        }
        collect_selectors(all, &skip, &value_options, tool.ignore, &mut check.selectors);
        check.selectors.sort();
        check.fixes = arguments.iter().any(|argument| find_matching_pattern(argument, tool.fixes).is_some());
        self.confine_tool(tool, base, all);
        check.why = format!("`{called}` is the {} tool {}", check.kind.as_str(), tool.name);
        Some(check)
    }

    /// The kind that the tasks in the call say (`nox -s lint`, `tox -e docs,py312`); the first one where there are several.
    ///
    /// # Errors
    /// The name of the task, where each of them is not a check.
    fn task_option_kind(&self, tool: &ToolRule<'_>, arguments: &[&[u8]]) -> Result<Option<CheckKind>, String> {
        if tool.task_options.is_empty() {
            return Ok(None);
        }
        let layers = self.whitelist.script_name_rules();
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
                    is_value = tool.task_options.contains(option);
                    if is_value { value } else { b"" }
                }
                false if is_value => argument,
                false => b"",
            };
            // What a variable represents isn't known.
            let is_known = |task: &&[u8]| !task.is_empty() && !task.contains(&b'$') && !task.contains(&b'{');
            for task in tasks.split(|byte| *byte == b',').filter(is_known) {
                match scripts::interpret_target_name(task, &layers) {
                    ScriptNameMeaning::Check(kind) => return Ok(Some(kind)),
                    // What is built may be called anything (`--target game-server`).
                    ScriptNameMeaning::Denied(_) if tool.kind == CheckKind::Build && !scripts::is_no_product(task) => {}
                    ScriptNameMeaning::Denied(_) => denied = Some(lossy_text(task)),
                    ScriptNameMeaning::Nothing if scripts::is_formatter(task, &layers) => {
                        denied = Some(lossy_text(task))
                    }
                    ScriptNameMeaning::Nothing => {
                        let kind = scripts::task_kind(task, &layers).or_else(|| self.bare_tool_kind(task));
                        return Ok(kind);
                    }
                }
            }
        }
        denied.map_or(Ok(None), Err)
    }

    /// The kind of a tool that is a check when nothing but its name is called: what a script of that name is.
    pub(super) fn bare_tool_kind(&self, name: &[u8]) -> Option<CheckKind> {
        let is_bare = |tool: &ToolRule<'_>| {
            let mut subs = tool.sub;
            let needs_no_sub = tool.sub.is_empty()
                || subs.any(|sub| sub.split(|byte| *byte == b'|').any(|spelling| matches!(spelling, b"" | b"*")));
            let needs_nothing = tool.need.is_empty() && tool.need_for.is_empty() && tool.contains.is_empty();
            needs_no_sub && needs_nothing && tool.flags & TOOL_WRAPPER == 0
        };
        let rules = if name.len() > 3 { self.whitelist.program_rules(name, name) } else { Vec::new() };
        rules.iter().find_map(|rule| match rule {
            WhitelistRule::Tool(tool) if is_bare(tool) => {
                Some(tool.kind).filter(|kind| matches!(kind, CheckKind::Test | CheckKind::Lint | CheckKind::Type))
            }
            _ => None,
        })
    }

    /// The sub-command in the call. `None`: it has to have one and hasn't.
    #[allow(clippy::option_option, reason = "no match, and nothing to match, are different answers")]
    fn find_tool_sub_command(
        &mut self,
        tool: &ToolRule<'w>,
        base: &[u8],
        arguments: &[&[u8]],
        values: &[TextList<'_>],
    ) -> Option<Option<SubCommandMatch<'w>>> {
        if tool.sub.is_empty() {
            return Some(None);
        }
        let sub = if tool.flags & TOOL_ANYWHERE != 0 {
            arguments::find_sub_command_anywhere(arguments, tool.sub, values)
        } else {
            arguments::find_sub_command(arguments, tool.sub, values)
        };
        if sub.is_none() {
            self.note_reason(NotACheckReason::OtherUse(lossy_text(base)));
        }
        sub.map(Some)
    }

    /// The argument that makes the call no check.
    fn find_denied_argument<W: Iterator<Item = usize>>(
        &self,
        tool: &ToolRule<'_>,
        arguments: &[&[u8]],
        sub: Option<&SubCommandMatch<'_>>,
        words: impl Fn() -> W,
    ) -> Option<String> {
        // `-V` asks some for the version, others for more words.
        let everywhere = self.whitelist.denied_everywhere(arguments).filter(|argument| !tool.ignore.contains(argument));
        if let Some(argument) = everywhere {
            return Some(lossy_text(argument));
        }
        // `cargo test -h`.
        let of_sub = sub.map_or(0, |sub| sub.word_positions().len());
        if of_sub > 0 && arguments.len() == of_sub + 1 && arguments[of_sub] == b"-h" {
            return Some("-h".to_owned());
        }
        if tool.deny.is_empty() {
            return None;
        }
        let options = arguments.iter().filter(|argument| !argument.first().is_some_and(u8::is_ascii_alphanumeric));
        if let Some(argument) = options.copied().find(|argument| find_matching_pattern(argument, tool.deny).is_some()) {
            return Some(lossy_text(argument));
        }
        // A word counts in the place of the sub-command and right after it, not as a path or a filter.
        let reach = if tool.flags & TOOL_ANYWHERE != 0 {
            usize::MAX
        } else {
            sub.map_or(0, |sub| sub.word_positions().len()) + 1
        };
        let mut words = words().take(reach).map(|place| arguments[place]);
        words.find(|word| find_matching_pattern(word, tool.deny).is_some()).map(lossy_text)
    }

    pub(super) fn note_reason(&mut self, reason: NotACheckReason) {
        if reason.specificity_rank() > self.reason.specificity_rank() {
            self.reason = reason;
        }
    }
}

/// What of a tool's required arguments is missing.
fn find_missing_arguments(
    tool: &ToolRule<'_>,
    base: &[u8],
    sub: Option<&SubCommandMatch<'_>>,
    arguments: &[&[u8]],
) -> Option<String> {
    let has =
        |mut needs: TextList<'_>| needs.any(|need| arguments.iter().any(|argument| matches_pattern(argument, need)));
    if !tool.need.is_empty() && !has(tool.need) {
        return Some(join_list(tool.need));
    }
    let mut groups = tool.need_for;
    while let Some(of) = groups.next() {
        let applies = of == base || sub.is_some_and(|sub| of == sub.spelling || of == sub.canonical);
        let mut satisfied = false;
        let mut wanted = Vec::new();
        for need in groups.by_ref().take_while(|need| !need.is_empty()) {
            satisfied |= arguments.iter().any(|argument| matches_pattern(argument, need));
            if applies {
                wanted.push(lossy_text(need));
            }
        }
        if applies && !satisfied {
            return Some(wanted.join(", "));
        }
    }
    let mut contains = tool.contains;
    let found = contains.any(|text| arguments.iter().any(|argument| bytes::find(argument, text).is_some()));
    (!tool.contains.is_empty() && !found).then(|| join_list(tool.contains))
}

fn join_list(list: TextList<'_>) -> String {
    list.map(lossy_text).collect::<Vec<_>>().join(", ")
}

/// `cd DIR`, `pushd DIR`.
pub(super) fn change_of_directory<'a>(words: &[&'a [u8]]) -> Option<&'a [u8]> {
    match words {
        [b"cd" | b"pushd", b"--", dir] | [b"cd" | b"pushd", b"-P" | b"-L", dir] | [b"cd" | b"pushd", dir] => Some(dir),
        _ => None,
    }
}

fn kind_from_name(name: &[u8]) -> Option<CheckKind> {
    Some(match name {
        b"test" => CheckKind::Test,
        b"lint" => CheckKind::Lint,
        b"type" => CheckKind::Type,
        b"format" => CheckKind::Format,
        b"build" => CheckKind::Build,
        _ => return None,
    })
}
