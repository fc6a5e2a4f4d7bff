//! Settings: `verify-run.toml` in layers, shipped defaults < the user's file < the repository's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::advice::AdviceSettings;
use super::category::CategoryTable;
use super::gate::GateSettings;
use super::hooks::{self, HookSettings};
use super::input_name::is_variable;
use super::knowledge::KnowledgeSettings;
use super::lab::LabSettings;
use super::layer::SettingsLayer;
use super::learn::{LearnSettings, LibrarySettings};
use super::learning::{ConfidenceSettings, PatternSettings};
use super::lesson::LessonSettings;
use super::promotion::PromotionSettings;
use super::receipt::ReceiptSettings;
use super::strategy::{STRATEGIES_MAX, StrategyTable};
use super::{Environment, Places, Problem};
use crate::base::limits::{
    CONFIG_FILE_BYTES_MAX, LESSON_BYTES_MAX, RAW_BYTES_MAX, RAW_DAYS_MAX, SNAPSHOT_BYTES_MAX, SNAPSHOT_DAYS_MAX,
    SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_MS_MAX,
};
use crate::base::text::line_number;

/// The file's name in each layer.
pub const SETTINGS_FILE: &str = "verify-run.toml";

/// `[raw]`: the redacted output of failed runs in the state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawSettings {
    /// `days`: days for which output is kept.
    pub days: u64,
    /// `bytes`: size limit of all kept output, in bytes.
    pub bytes: u64,
}

/// `[snapshot]`: snapshots of the work tree, from which fixes are computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// `enabled`: take a snapshot of the work tree at each run.
    pub enabled: bool,
    /// `time_ms`: time limit of a snapshot, in milliseconds.
    pub time_ms: u64,
    /// `file_bytes`: larger files are left out, in bytes.
    pub file_bytes: u64,
    /// `days`: days for which snapshots are kept, unless an open failure needs them.
    pub days: u64,
    /// `bytes`: size limit of all snapshots, in bytes, unless an open failure needs them.
    pub bytes: u64,
}

/// `[fix]`: open failures, fixes and tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixSettings {
    /// `open_days`: days after which a failure that was not checked again is no longer open.
    pub open_days: u64,
    /// `quick_attempts`: a fix that took at most this many attempts has a high value.
    pub quick_attempts: u64,
    /// `silence_hours`: hours without a run after which a task ends.
    pub silence_hours: u64,
    /// `environment`: names of further environment variables that change what the project's checks do, and files that
    /// git does not see (`config/local.json`, relative to the root; a name with `.` or `/`).
    pub environment: Vec<String>,
}

impl FixSettings {
    /// The names of variables in `environment`.
    pub fn variables(&self) -> Vec<String> {
        self.environment.iter().filter(|name| is_variable(name)).cloned().collect()
    }

    /// The files in `environment`, relative to the root.
    pub fn files(&self) -> Vec<&str> {
        self.environment.iter().filter(|name| !is_variable(name)).map(String::as_str).collect()
    }

    /// After how long without a run a task is over.
    pub fn silence(&self) -> Duration {
        Duration::from_secs(self.silence_hours.saturating_mul(3_600))
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `[lesson]`
    pub lesson: LessonSettings,
    /// `[raw]`
    pub raw: RawSettings,
    /// `[snapshot]`
    pub snapshot: SnapshotSettings,
    /// `[fix]`
    pub fix: FixSettings,
    /// `[hooks]`
    pub hooks: HookSettings,
    /// `[patterns]`
    pub patterns: PatternSettings,
    /// `[confidence]`
    pub confidence: ConfidenceSettings,
    /// `[advice]`
    pub advice: AdviceSettings,
    /// `[knowledge]`
    pub knowledge: KnowledgeSettings,
    /// `[promotion]`
    pub promotion: PromotionSettings,
    /// `[receipts]`
    pub receipts: ReceiptSettings,
    /// `[gate]`
    pub gate: GateSettings,
    /// `[lab]`
    pub lab: LabSettings,
    /// `[learn]`
    pub learn: LearnSettings,
    /// `[library]`
    pub library: LibrarySettings,
    /// `[categories]`
    pub categories: CategoryTable,
    /// `[strategies.NAME]`, by name.
    pub strategies: BTreeMap<String, StrategyTable>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            lesson: LessonSettings::default(),
            raw: RawSettings { days: RAW_DAYS_MAX, bytes: RAW_BYTES_MAX },
            snapshot: SnapshotSettings {
                enabled: true,
                time_ms: SNAPSHOT_MS_MAX,
                file_bytes: SNAPSHOT_FILE_BYTES_MAX,
                days: SNAPSHOT_DAYS_MAX,
                bytes: SNAPSHOT_BYTES_MAX,
            },
            fix: FixSettings { open_days: 14, quick_attempts: 2, silence_hours: 24, environment: Vec::new() },
            hooks: HookSettings::default(),
            patterns: PatternSettings::default(),
            confidence: ConfidenceSettings::default(),
            advice: AdviceSettings::default(),
            knowledge: KnowledgeSettings::default(),
            promotion: PromotionSettings::default(),
            receipts: ReceiptSettings::default(),
            gate: GateSettings::default(),
            lab: LabSettings::default(),
            learn: LearnSettings::default(),
            library: LibrarySettings::default(),
            categories: CategoryTable::default(),
            strategies: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Reads the layers for `places`. Never fails: a broken file is a [`Problem`] and its layer is left out, a broken
    /// value is one and its default stays.
    pub fn load(places: &Places, environment: &Environment) -> (Self, Vec<Problem>) {
        let mut settings = Settings::default();
        let mut problems = Vec::new();
        let user = environment.config_dir().map(|dir| (dir.join(SETTINGS_FILE), true));
        for (file, is_user) in user.into_iter().chain([(places.root.join(SETTINGS_FILE), false)]) {
            match read(&file) {
                Ok(Some(text)) => {
                    let from = problems.len();
                    settings.apply(&file, is_user, &text.into(), &mut problems);
                    problems[from..].sort_by_key(|problem| problem.line);
                }
                Ok(None) => {}
                Err(reason) => problems.push(Problem {
                    hint: format!("until then its settings do not apply; check it with `ls -l {}`", file.display()),
                    file,
                    line: None,
                    reason,
                    warning: false,
                    used: false,
                }),
            }
        }
        settings.advice.apply_environment(|name| std::env::var_os(name));
        (settings, problems)
    }

    /// The settings of one file, with what is wrong in it.
    #[cfg(test)]
    pub fn of(text: &str) -> (Self, Vec<Problem>) {
        Settings::of_layer(text, true)
    }

    /// The same of a repository's file.
    #[cfg(test)]
    pub fn of_repository(text: &str) -> (Self, Vec<Problem>) {
        Settings::of_layer(text, false)
    }

    #[cfg(test)]
    fn of_layer(text: &str, is_user: bool) -> (Self, Vec<Problem>) {
        let (mut settings, mut problems) = (Settings::default(), Vec::new());
        settings.apply(Path::new(SETTINGS_FILE), is_user, &text.into(), &mut problems);
        problems.sort_by_key(|problem| problem.line);
        (settings, problems)
    }

    /// Puts one layer over the settings.
    fn apply(&mut self, file: &Path, is_user: bool, text: &Arc<str>, problems: &mut Vec<Problem>) {
        let mut layer = SettingsLayer { file, is_user, text, problems };
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                let line = error.span().map(|span| line_number(&**text, span.start));
                return layer.problem(
                    line,
                    error.message().replace('\n', ", "),
                    "correct it: until then no setting of the file applies",
                );
            }
        };
        for (section, value) in &table {
            let toml::Value::Table(keys) = value else {
                layer.unknown("", section);
                continue;
            };
            for (key, value) in keys {
                self.apply_one(&mut layer, section, key, value);
            }
        }
    }

    fn apply_one(&mut self, layer: &mut SettingsLayer<'_>, section: &str, key: &str, value: &toml::Value) {
        match (section, key) {
            ("lesson", "write") => layer.set(&mut self.lesson.write, section, key, value),
            ("lesson", "lines_bytes") => {
                layer.set(&mut self.lesson.lines_bytes, section, key, value);
                self.lesson.lines_bytes = self.lesson.lines_bytes.min(LESSON_BYTES_MAX);
            }
            ("lesson", "cancelled") => layer.set(&mut self.lesson.cancelled, section, key, value),
            ("lesson", "attempts") => layer.set(&mut self.lesson.attempts, section, key, value),
            ("lesson", "minutes") => layer.set(&mut self.lesson.minutes, section, key, value),
            ("lesson", "dir") => {
                if let Some(dir) = layer.inside(section, key, value) {
                    self.lesson.dir = Some(dir);
                }
            }
            ("raw", "days") => layer.set(&mut self.raw.days, section, key, value),
            ("raw", "bytes") => layer.set(&mut self.raw.bytes, section, key, value),
            ("snapshot", "enabled") => layer.set(&mut self.snapshot.enabled, section, key, value),
            ("snapshot", "time_ms") => layer.set(&mut self.snapshot.time_ms, section, key, value),
            ("snapshot", "file_bytes") => layer.set(&mut self.snapshot.file_bytes, section, key, value),
            ("snapshot", "days") => layer.set(&mut self.snapshot.days, section, key, value),
            ("snapshot", "bytes") => layer.set(&mut self.snapshot.bytes, section, key, value),
            ("fix", "open_days") => layer.set(&mut self.fix.open_days, section, key, value),
            ("fix", "quick_attempts") => layer.set(&mut self.fix.quick_attempts, section, key, value),
            ("fix", "silence_hours") => layer.set(&mut self.fix.silence_hours, section, key, value),
            ("fix", "environment") => {
                if let Some(names) = layer.variables(section, key, value) {
                    self.fix.environment = names;
                }
            }
            ("hooks", name) => match (self.hooks.commands(name), hooks::lines(value)) {
                (None, _) => layer.unknown(section, key),
                (Some(commands), Ok(lines)) => *commands = lines,
                (Some(_), Err(reason)) => layer.refuse(section, key, &reason),
            },
            ("patterns", "dir") => {
                if let Some(dir) = layer.inside(section, key, value) {
                    self.patterns.dir = dir;
                }
            }
            ("patterns", name) => layer.set_figure(self.patterns.figure(name), section, key, value),
            ("confidence", name) => layer.set_figure(self.confidence.figure(name), section, key, value),
            ("knowledge", "types") => {
                for (name, reason) in self.knowledge.take_types(value) {
                    layer.refuse("knowledge.types", &name, &reason);
                }
            }
            ("knowledge", name) => layer.set_figure(self.knowledge.figure(name), section, key, value),
            ("advice", "salt") => layer.set(&mut self.advice.salt, section, key, value),
            ("advice", name) => match self.advice.switch(name) {
                Some(switch) => layer.set(switch, section, key, value),
                None => layer.set_figure(self.advice.figure(name), section, key, value),
            },
            ("promotion", "rules") => layer.set(&mut self.promotion.rules, section, key, value),
            ("promotion", "target") => {
                if let Some(file) = layer.inside(section, key, value) {
                    self.promotion.target = Some(file);
                }
            }
            ("promotion", name) => layer.set_figure(self.promotion.figure(name), section, key, value),
            ("receipts", name) => self.receipts.apply(layer, section, name, value),
            ("gate", name) => self.gate.apply(layer, section, name, value),
            ("lab", name) => self.lab.apply(layer, name, value),
            ("learn", name) => self.learn.apply(layer, section, name, value),
            ("library", name) => self.library.apply(layer, name, value),
            ("categories", name) => self.take_category(layer, name, value),
            ("strategies", name) => self.take_strategy(layer, name, value),
            _ => layer.unknown(section, key),
        }
    }

    fn take_category(&mut self, layer: &mut SettingsLayer<'_>, name: &str, value: &toml::Value) {
        if let Err(reason) = self.categories.declare(name, value) {
            layer.refuse_with("categories", name, &reason, "correct it: until then it is not declared");
        }
    }

    fn take_strategy(&mut self, layer: &mut SettingsLayer<'_>, name: &str, value: &toml::Value) {
        if self.strategies.len() >= STRATEGIES_MAX && !self.strategies.contains_key(name) {
            let hint = "remove others: until then it is not proposed";
            return layer.refuse_with(
                "strategies",
                name,
                &format!("exceeds the limit of {STRATEGIES_MAX} strategies"),
                hint,
            );
        }
        let (file, text) = (layer.file.to_owned(), Arc::clone(layer.text));
        // A value that JSON has not is none that a strategy may have.
        let value = serde_json::to_value(value).unwrap_or_default();
        self.strategies.insert(name.to_owned(), StrategyTable { name: name.to_owned(), value, file, text });
    }
}

/// The file's text; `None` when there is none. The error is a reason for people.
fn read(file: &Path) -> Result<Option<String>, String> {
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => return Err("is a folder".to_owned()),
        Ok(metadata) if !metadata.is_file() => return Err("is not a regular file".to_owned()),
        Ok(metadata) if metadata.len() > CONFIG_FILE_BYTES_MAX => {
            return Err(format!("larger than {CONFIG_FILE_BYTES_MAX} bytes"));
        }
        Ok(_) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot read it: {error}")),
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot read it: {error}"))?;
    String::from_utf8(bytes).map(Some).map_err(|_| "not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(user: Option<&str>, repository: Option<&str>) -> (Settings, Vec<Problem>) {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = Environment { xdg_config_home: Some(dir.path().join("config")), ..Environment::default() };
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("made");
        fs::create_dir_all(dir.path().join("config/verify-run")).expect("made");
        fs::write(root.join("Makefile"), "").expect("written");
        if let Some(text) = user {
            fs::write(dir.path().join("config/verify-run").join(SETTINGS_FILE), text).expect("written");
        }
        if let Some(text) = repository {
            fs::write(root.join(SETTINGS_FILE), text).expect("written");
        }
        Settings::load(&Places::find(&root.join("sub"), &environment), &environment)
    }

    #[test]
    fn without_files_the_defaults_hold() {
        assert_eq!(load(None, None), (Settings::default(), Vec::new()));
    }

    #[test]
    fn the_repository_overrides_the_user_key_by_key() {
        let user = "[lesson]\nwrite = \"always\"\ncancelled = true\n[raw]\ndays = 3\n";
        let (settings, problems) = load(Some(user), Some("[lesson]\ncancelled = false\ndir = \"docs/lessons\"\n"));
        assert_eq!(problems, []);
        assert_eq!(settings.lesson.write, crate::config::WriteWhen::Always);
        assert!(!settings.lesson.cancelled);
        assert_eq!(settings.lesson.dir.as_deref(), Some(Path::new("docs/lessons")));
        assert_eq!(settings.raw.days, 3);
    }

    #[test]
    fn a_broken_file_names_its_line_and_leaves_the_other_layer_in_force() {
        let (settings, problems) = load(Some("[raw]\ndays = 3\n"), Some("[lesson]\nwrite = \n"));
        assert_eq!(settings.raw.days, 3);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, Some(2));
        assert!(!problems[0].warning);
        assert!(problems[0].file.ends_with("root/verify-run.toml"));
    }

    #[test]
    fn a_bad_value_names_its_line_and_the_rest_holds() {
        let (settings, problems) = load(None, Some("# x\n[raw]\nbytes = 7\ndays = \"many\"\n"));
        assert_eq!((settings.raw.bytes, settings.raw.days), (7, RAW_DAYS_MAX));
        assert_eq!(problems[0].line, Some(4));
        assert!(problems[0].reason.starts_with("raw.days: "), "{problems:?}");
    }

    #[test]
    fn unknown_keys_are_warnings_with_their_line() {
        let (_, problems) = load(None, Some("future = 1\n[lesson]\nwrite = \"new\"\nshape = 2\n[advice]\nx = 1\n"));
        let found: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        assert_eq!(found.len(), 3, "{problems:?}");
        for expected in [(Some(1), true), (Some(4), true), (Some(6), true)] {
            assert!(found.contains(&expected), "{problems:?}");
        }
    }

    #[test]
    fn figures_are_set_within_their_range() {
        let text = "[patterns]\nrecurring_tasks = 4\nfiles_coverage = 1.2\n[confidence]\nfurther_task = 0.1\nstart = 1\nmax = \"x\"\n";
        let (settings, problems) = load(None, Some(text));
        assert_eq!((settings.patterns.recurring_tasks, settings.patterns.files_coverage), (4, 0.8));
        assert_eq!(
            (settings.confidence.further_task, settings.confidence.start, settings.confidence.max),
            (0.1, 1.0, 0.95)
        );
        let lines: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        assert_eq!(lines, [(Some(3), false), (Some(7), false)], "{problems:?}");
    }

    #[test]
    fn variables_are_a_list_of_names() {
        let (settings, problems) = load(None, Some("[fix]\nenvironment = [\"SHOP_DB\", \"shop2\"]\n"));
        assert_eq!((settings.fix.environment, problems), (vec!["SHOP_DB".to_owned(), "shop2".to_owned()], Vec::new()));
        let (settings, _) = load(None, Some("[fix]\nenvironment = [\"SHOP_DB\", \".env.test\", \"config/local\"]\n"));
        assert_eq!(settings.fix.variables(), ["SHOP_DB"]);
        assert_eq!(settings.fix.files(), [".env.test", "config/local"]);
        let outside = ["[\"../a\"]", "[\"/etc/passwd\"]", "[\".git/config\"]", "[\"a/../../b\"]", "[\"a.b=c\"]"];
        for bad in outside.into_iter().chain(["\"SHOP_DB\"", "[1]", "[\"A=B\"]", "[\"\"]", "[\"A\\nB\"]"]) {
            let (settings, problems) =
                load(Some("[fix]\nenvironment = [\"A\"]"), Some(&format!("[fix]\nenvironment = {bad}\n")));
            assert_eq!(settings.fix.environment, ["A"], "{bad}");
            assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(2)], "{bad}");
        }
    }

    #[test]
    fn a_type_of_knowledge_is_a_schema_and_a_bad_one_is_named_with_its_line() {
        let good = "[knowledge]\nmerged = 0.9\n[knowledge.types.runbook]\ndescription = \"what to do\"\nmerges = false\n\
                    required = [\"steps\"]\nproperties.steps = { type = \"array\", items = { type = \"string\" } }\n";
        let (settings, problems) = load(Some(good), None);
        assert_eq!(problems, []);
        let runbook = &settings.knowledge.types["runbook"];
        assert!(!runbook.merges && settings.knowledge.merged == 0.9);
        assert_eq!(runbook.schema.faults(&serde_json::json!({"steps": ["a"]})), [""; 0]);
        assert_eq!(runbook.schema.faults(&serde_json::json!({})), ["steps: is missing"]);
        for bad in ["properties.a = { format = \"x\" }", "merges = 1", "required = [1]"] {
            let (settings, problems) = load(None, Some(&format!("[knowledge.types.runbook]\n{bad}\n")));
            assert!(settings.knowledge.types.is_empty(), "{bad}");
            assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(1)], "{problems:?}");
        }
        let (_, problems) = load(None, Some("[knowledge.types.\"Run Book\"]\ndescription = \"x\"\n"));
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn a_category_is_declared_by_either_layer_and_a_shipped_one_stays_what_it_is() {
        let repository = "[categories]\nsecurity_issue = \"ours\"\nlint_error = \"x\"\nBad = \"x\"\nempty = 1\n";
        let user = "[categories]\nsecurity_issue = \"theirs\"\nflaky_network = \"the other side was away\"\n";
        let (settings, problems) = load(Some(user), Some(repository));
        let declared: Vec<_> = settings.categories.declared().collect();
        assert_eq!(declared, [("flaky_network", "the other side was away"), ("security_issue", "ours")]);
        let lines: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        assert_eq!(lines, [(Some(3), false), (Some(4), false), (Some(5), false)], "{problems:?}");
        assert!(problems[0].reason.starts_with("categories.lint_error: is a built-in category"), "{problems:?}");
        assert!(problems[0].hint.contains("not declared; check again with: verify-run doctor"), "{problems:?}");
    }

    #[test]
    fn a_strategy_is_kept_with_its_place_and_one_too_many_is_named() {
        let table = |n: usize| format!("[strategies.s{n:02}]\ntool = \"x\"\ntechnique = \"do {n}\"\n");
        let text: String = (0..=STRATEGIES_MAX).map(table).collect();
        let (settings, problems) = load(Some(&table(7)), Some(&text));
        assert_eq!(settings.strategies.len(), STRATEGIES_MAX);
        let strategy = &settings.strategies["s07"];
        assert_eq!((strategy.line(None), strategy.line(Some("technique"))), (Some(22), Some(24)));
        assert!(strategy.file.ends_with("root/verify-run.toml"), "the repository's wins");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].line, Some(3 * STRATEGIES_MAX + 1));
    }

    #[test]
    fn a_folder_outside_the_repository_is_refused() {
        for dir in ["../lessons", "/tmp/lessons", "", ".", ".git/lessons", "a/../../b"] {
            let (settings, problems) = load(None, Some(&format!("[lesson]\ndir = {dir:?}\n")));
            assert_eq!(settings.lesson.dir, None, "{dir}");
            assert_eq!(problems.len(), 1, "{dir}");
        }
    }
}
