//! Seeing what a project's own script does, by its name and its arguments.

use super::arguments::{collect_selectors, find_matching_pattern, is_option};
use super::program::{base_name, lossy_text};
use super::reason::NotACheckReason;
use super::recognise::CheckSearch;
use super::resolution::Resolution;
use super::scripts::{self, ScriptFile, ScriptNameMeaning};
use super::table::{ScriptNameRules, TextList};
use super::{Check, CheckKind};
use crate::base::bytes;

impl CheckSearch<'_> {
    /// A script that is the program of its name, and is given the rest: `npm run ng -- test`.
    pub(super) fn find_in_program_script(
        &mut self,
        name: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        self.beside = true;
        let rest = arguments.strip_prefix(&[&b"--"[..]]).unwrap_or(arguments);
        let words: Vec<&[u8]> = std::iter::once(name).chain(rest.iter().copied()).collect();
        self.find_in_command(&words, trail)
    }

    /// A project's own file by its name: `./run-tests.sh`, `bash ci/lint.sh`, `ruby -Itest test/cart_test.rb`.
    pub(super) fn find_in_script_file(
        &mut self,
        path: &[u8],
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        // Almost every command that is none of the known ones is no file of the project's.
        let Some(file) = scripts::script_file_at(path) else {
            self.note_reason(NotACheckReason::Unknown(lossy_text(base_name(path))));
            return None;
        };
        let layers = self.whitelist.script_name_rules();
        let kind = match self.interpret_file(file, arguments, &layers) {
            ScriptNameMeaning::Check(kind) => kind,
            ScriptNameMeaning::Denied(part) => {
                self.note_reason(NotACheckReason::ScriptDenied { name: lossy_text(path), part: lossy_text(part) });
                return None;
            }
            ScriptNameMeaning::Nothing => return self.find_behind_script(path, file, arguments, trail),
        };
        let is_denied =
            |argument: &&&[u8]| layers.iter().any(|layer| find_matching_pattern(argument, layer.deny_args).is_some());
        let denied = self.whitelist.denied_everywhere(arguments).or(arguments.iter().find(is_denied).copied());
        if let Some(argument) = denied {
            self.note_reason(NotACheckReason::Denied { tool: lossy_text(path), argument: lossy_text(argument) });
            return None;
        }
        self.confine_file(path);
        self.confine_arguments(path, arguments);
        let mut check = trail.build_check(&format!("script:{}", lossy_text(base_name(path))), kind);
        check.manifest = Some(lossy_text(path.strip_prefix(b"./").unwrap_or(path)));
        collect_selectors(arguments, &[], &[], TextList::default(), &mut check.selectors);
        check.selectors.sort();
        check.why = format!("the file name `{}` suggests a {} check", lossy_text(path), kind.as_str());
        Some(check)
    }
}

impl CheckSearch<'_> {
    /// The command that a shell script is given, whole, to run in some place of its own: `./in-container.sh cargo test`.
    fn find_behind_script(
        &mut self,
        path: &[u8],
        file: ScriptFile<'_>,
        arguments: &[&[u8]],
        trail: &Resolution,
    ) -> Option<Check> {
        let unknown = NotACheckReason::Unknown(lossy_text(base_name(path)));
        let start = arguments.iter().position(|argument| *argument == b"--").map_or(0, |dashes| dashes + 1);
        let words = arguments.get(start..).unwrap_or_default();
        // A single word is as likely data (`./notify.sh pytest`).
        let is_command = words.len() > usize::from(start == 0) && self.whitelist.has_program_rule(base_name(words[0]));
        if file.is_program || !is_command {
            self.note_reason(unknown);
            return None;
        }
        let mut trail = trail.clone();
        trail.via.push(lossy_text(base_name(path)));
        trail.elsewhere = true;
        self.beside = true;
        self.confine_file(path);
        self.find_in_command(words, &trail)
    }

    /// What a project's file does, by its name and by the task that it is given.
    fn interpret_file<'a>(
        &self,
        file: ScriptFile<'a>,
        arguments: &[&'a [u8]],
        layers: &[ScriptNameRules<'_>],
    ) -> ScriptNameMeaning<'a> {
        let name = file.name;
        let own = scripts::interpret_file_name(file, layers);
        let takes_task = match own {
            ScriptNameMeaning::Denied(part) if scripts::is_comparing(part, arguments) => {
                return ScriptNameMeaning::Check(CheckKind::Lint);
            }
            ScriptNameMeaning::Denied(_) => return own,
            ScriptNameMeaning::Check(kind) => kind == CheckKind::Build || scripts::is_driver(name, layers),
            ScriptNameMeaning::Nothing => scripts::is_driver(name, layers),
        };
        if takes_task && let Some(task) = task_argument(arguments) {
            match scripts::interpret_target_name(task, layers) {
                ScriptNameMeaning::Nothing => {}
                // `build.sh release` builds.
                ScriptNameMeaning::Denied(part) if own != ScriptNameMeaning::Nothing && scripts::is_setting(part) => {}
                read => return read,
            }
            if is_checking_format(task, arguments, layers) {
                return ScriptNameMeaning::Check(CheckKind::Format);
            }
        }
        match own {
            ScriptNameMeaning::Nothing if is_checking_format(name, arguments, layers) => {
                ScriptNameMeaning::Check(CheckKind::Format)
            }
            ScriptNameMeaning::Nothing if file.is_program => own,
            ScriptNameMeaning::Nothing => self.bare_tool_kind(name).map_or(own, ScriptNameMeaning::Check),
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
pub(super) fn is_checking_format(name: &[u8], arguments: &[&[u8]], layers: &[ScriptNameRules<'_>]) -> bool {
    let is_asked =
        |argument: &&[u8]| layers.iter().any(|layer| find_matching_pattern(argument, layer.check_args).is_some());
    arguments.iter().any(is_asked) && scripts::is_formatter(name, layers)
}
