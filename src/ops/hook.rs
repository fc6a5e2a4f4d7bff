//! `hook AGENT EVENT`: answers an agent's hook.
//!
//! Before a tool: the wrapper is put before the checks of a shell line, and what is known to go wrong with the files or
//! the command is said. After a failed check: what is known of its failure; and the check is recorded if no wrapper saw
//! it. At the start of a session and at a prompt: the few things that concern the task. At the end of a turn, where the
//! user wants that: that the gate rejects the work. Nothing twice in a session, and nothing at all where there is nothing
//! to say.

mod observed;

use std::time::Duration;

use serde_json::Value;

use super::gate;
use super::knowledge;
use super::recording;
use super::reply::Reply;
use super::request::Request;
use super::warn;

use crate::advice::mention;
use crate::base::file::read_end;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line};
use crate::capture::{self, Identity, SpooledRun};
use crate::config::{Environment, Places};
use crate::event::EntryTypeName;
use crate::host::dialect::{Dialect, HookAction, HookAnswer, HookCall, HookEvent, model_of_transcript};
use crate::host::rewrite::{self, LineToRewrite};
use crate::host::shims;
use crate::recorder;
use crate::retrieval::due::is_held_out;
use crate::retrieval::entry_page::EntryPage;
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::retrieval::question::{CurrentFailure, WarnRequest};
use crate::store::{EntryFilter, Index};
use crate::whitelist::Whitelist;

/// What is said to a host at once, bytes: Claude Code puts more than 10,000 characters into a file.
const CONTEXT_BYTES_MAX: usize = 9_000;
/// How long the answer to an agent that ends its turn may take.
const STOP_TIME: Duration = Duration::from_secs(3);
/// The end of a session's record that is looked at, bytes.
const TRANSCRIPT_BYTES_MAX: u64 = 256 << 10;
/// What an entry says, bytes.
const LINE_BYTES_MAX: usize = 300;
/// A prompt that is looked at, bytes.
const PROMPT_BYTES_MAX: usize = 2_000;
/// Lowest confidence of entries that are shown at a session's start.
const ENTRY_CONFIDENCE_MIN: f64 = 0.7;

/// What a hook answers.
#[derive(Clone)]
pub(crate) struct HookReply {
    /// In the host's words.
    pub text: String,
    /// The line that is to be run instead.
    line: Option<String>,
    /// What it was made of: to be recorded once the text was written.
    pub advice: Option<Reply<warn::WarnReply>>,
}

/// A hook's call.
pub(crate) struct Hook {
    dialect: &'static Dialect,
    moment: HookEvent,
    said: Value,
    call: HookCall,
    request: Request,
    /// The user wants commands replaced even where that allows them.
    rewrite: bool,
    /// What a check that failed printed, as far as the host shows it.
    failed: Option<SpooledRun>,
}

impl Hook {
    /// Understands a call: `said` is what the host wrote to standard input. `None` where there is nothing to answer.
    pub(crate) fn read_event(dialect: &'static Dialect, moment: HookEvent, said: &[u8], rewrite: bool) -> Option<Self> {
        let said: Value = serde_json::from_slice(said).ok()?;
        let call = dialect.read(moment, &said);
        if call.ignored {
            return None;
        }
        let cwd = call.cwd.clone().or_else(|| std::env::current_dir().ok()).filter(|cwd| cwd.is_dir())?;
        let environment = Environment::from_process();
        let variable = |name: &str| std::env::var(name).ok();
        let session = variable("VERIFY_RUN_SESSION").filter(|session| !session.is_empty());
        let agent = variable("VERIFY_RUN_AGENT").filter(|agent| !agent.is_empty());
        let model = variable("VERIFY_RUN_MODEL").filter(|model| !model.is_empty());
        let told = Identity {
            session: session.or_else(|| call.session.clone()),
            agent: Some(agent.unwrap_or_else(|| dialect.agent.to_owned())),
            model: model.or_else(|| call.model.clone()),
            ..Identity::default()
        };
        let request = Request::new(cwd, environment, Request::identify_caller(told));
        Some(Hook { dialect, moment, said, call, request, rewrite, failed: None })
    }

    /// Records what has to be remembered of the call, before anything is answered: a check that no wrapper preceded.
    /// Starts the recorder where there is something for it to do. To be called by a process of one thread.
    pub(crate) fn remember_session(&mut self) {
        let seen = observed::observed_check(&self.request, &self.call);
        if let Some(check) = seen {
            if check.is_new
                && capture::write_spool(&self.request.places.state, &check.spooled.header, &[&check.spooled.output])
                    .is_ok()
            {
                recording::start_recorder(&self.request.places);
            }
            self.failed = Some(check.spooled).filter(|spooled| !spooled.header.ended.passed());
        }
        if let (Some(model), Some(session)) = (self.model_at_work(), &self.request.identity.session) {
            // Without it the gate knows one implementer less.
            let _ = capture::remember_session_model(&self.request.environment, session, &model);
        }
        let file = std::env::var_os("CLAUDE_ENV_FILE").filter(|_| self.dialect.agent == "claude-code");
        if let (HookEvent::SessionStart, Some(file), Some(shims)) =
            (self.moment, file, self.request.environment.shims_dir())
        {
            // Without them a check is still recorded where the agent names us, or the hook sees its end.
            let _ = shims::put_in_front(&shims, file.as_ref());
        }
        if self.moment == HookEvent::SessionEnd && !recorder::pending_entries(&self.request.places).is_empty() {
            recording::start_recorder(&self.request.places);
        }
    }

    /// The language model, as the host names it here or in its record of the session. The record is read where a command
    /// is about to run, and at the end of a turn.
    fn model_at_work(&self) -> Option<String> {
        let is_asked = self.moment == HookEvent::Stop
            || self.moment == HookEvent::BeforeTool && matches!(self.call.action, HookAction::Shell(_));
        let of_transcript = || {
            let path = self.call.transcript.as_ref().filter(|_| is_asked)?;
            model_of_transcript(&read_end(path, TRANSCRIPT_BYTES_MAX).ok()?)
        };
        self.call.model.clone().or_else(of_transcript)
    }

    /// How long the answer may take; see the setting `advice.hook_ms`.
    pub(crate) fn time_limit(&self) -> Duration {
        match self.moment {
            // An agent that has done its work waits for nothing.
            HookEvent::Stop => STOP_TIME,
            _ => Duration::from_millis(self.request.settings().advice.hook_ms),
        }
    }

    /// The answer in the host's words without advice: a command's other line. It takes hardly any time.
    pub(crate) fn plain_reply(&self) -> HookReply {
        let line = match (&self.call.action, self.moment) {
            (HookAction::Shell(line), HookEvent::BeforeTool) => self.rewritten_line(line),
            _ => None,
        };
        let text = self.dialect.write(self.moment, &self.said, &HookAnswer { context: None, line: line.clone() });
        HookReply { text, line, advice: None }
    }

    fn rewritten_line(&self, line: &str) -> Option<String> {
        rewrite::rewritten_line(&LineToRewrite {
            line,
            dialect: self.dialect,
            call: &self.call,
            cwd: &self.request.cwd,
            places: &self.request.places,
            environment: &self.request.environment,
            rewrite: self.rewrite,
        })
    }

    /// The same with what there is to say.
    pub(crate) fn advised_reply(&self, plain: HookReply) -> HookReply {
        if self.moment == HookEvent::Stop {
            let context = gate::answer_stop(&self.request).map(|said| untagged(&said));
            let answer = HookAnswer { context, line: None };
            return HookReply { text: self.dialect.write(self.moment, &self.said, &answer), line: None, advice: None };
        }
        let context = self.dialect.hears.contains(&self.moment).then(|| self.find_context()).flatten();
        let Some((context, advice)) = context else { return plain };
        let answer = HookAnswer { context, line: plain.line.clone() };
        HookReply { text: self.dialect.write(self.moment, &self.said, &answer), line: plain.line, advice: Some(advice) }
    }

    /// Where things are: what was said is recorded there.
    pub(crate) fn event_places(&self) -> &Places {
        &self.request.places
    }

    /// What there is to say, and what has to be remembered of it.
    fn find_context(&self) -> Option<(Option<String>, Reply<warn::WarnReply>)> {
        let asked = self.warn_request()?;
        let mut answer = warn::collect_warnings(&self.request, &asked).ok()?;
        let mut said = if answer.data.is_silent() {
            String::new()
        } else {
            warn::format_reply(&self.request, &asked, &mut answer).ok()?
        };
        if self.moment == HookEvent::SessionStart {
            if let Some(notice) = gate::session_notice(&self.request) {
                said.insert_str(0, &format!("{notice}\n\n"));
            }
            said.push_str(&self.entries_text(&answer.data).unwrap_or_default());
        }
        let said = said.trim();
        Some(((!said.is_empty()).then(|| ellipsis(said, CONTEXT_BYTES_MAX)), answer))
    }

    /// The question that the call amounts to; `None` where it amounts to none.
    fn warn_request(&self) -> Option<WarnRequest> {
        let asked = WarnRequest {
            identity: self.request.identity.clone(),
            news: true,
            surface: format!("hook:{}", self.dialect.name),
            ..WarnRequest::default()
        };
        let whitelist = || Whitelist::open(&self.request.places, &self.request.environment);
        Some(match (self.moment, &self.call.action) {
            (HookEvent::BeforeTool, HookAction::Edit(files)) => {
                WarnRequest { files: files.clone(), at_hand: true, ..asked }
            }
            (HookEvent::BeforeTool, HookAction::Shell(line)) => {
                whitelist().decide_line(line).into_check()?;
                WarnRequest { command: Some(line.clone()), at_hand: true, ..asked }
            }
            (HookEvent::AfterTool | HookEvent::AfterFailure, _) => {
                let failed = self.failed.as_ref()?;
                let Request { places, environment, .. } = &self.request;
                let categories = &self.request.settings().categories;
                let loaded = recorder::definitions::load_definitions(places, environment, categories);
                let keys = recorder::pattern_keys(&self.request.places, &loaded.definitions, failed);
                let started_at = failed.header.started_at;
                WarnRequest { failed: Some(CurrentFailure { keys, started_at }), at_hand: true, ..asked }
            }
            (HookEvent::SessionStart, _) => asked,
            (HookEvent::Prompt, _) => {
                let prompt = mention::strip_host_blocks(self.call.prompt.as_deref()?);
                if prompt.is_empty() {
                    return None;
                }
                WarnRequest { title: Some(ellipsis(&prompt, PROMPT_BYTES_MAX)), ..asked }
            }
            _ => return None,
        })
    }

    /// Entries about the task with enough confidence. Showing one counts as a use.
    fn entries_text(&self, answer: &warn::WarnReply) -> Option<String> {
        let settings = self.request.settings();
        let index = Index::open_read(&self.request.places.state.index()).ok().flatten()?;
        if !settings.advice.injection {
            return None;
        }
        let limit = usize::try_from(settings.advice.limit).ok()?.saturating_sub(answer.warnings.len());
        let mut lines: Vec<String> = Vec::new();
        for kind in [EntryTypeName::GOTCHA, EntryTypeName::PATTERN] {
            let filter = EntryFilter { kind: Some(kind), ..EntryFilter::default() };
            let asked =
                EntryQueryRequest { filter, min_confidence: ENTRY_CONFIDENCE_MIN, ..EntryQueryRequest::default() };
            let found = knowledge::relevant_entries(&self.request, asked).ok()?;
            for page in found.data.entries.iter().filter(|page| !page.learnt && !page.imported) {
                let is_said = answer.warnings.iter().any(|warning| warning.entry.as_ref() == Some(&page.id));
                if !is_said && !is_held_out(&index, &page.id, &answer.task, settings).ok()? {
                    lines.push(line_of(page));
                }
            }
        }
        lines.truncate(limit);
        (!lines.is_empty()).then(|| format!("\nRecorded knowledge about this task:\n\n{}", lines.concat()))
    }
}

/// An entry in one line.
fn line_of(page: &EntryPage) -> String {
    let property = |name: &str| page.properties.get(name).and_then(Value::as_str).unwrap_or_default();
    let body = ["fix", "description"].map(property).into_iter().find(|text| !text.is_empty());
    let body = body.map_or_else(String::new, |text| format!(": {}", ellipsis(&one_line(text), LINE_BYTES_MAX)));
    format!("- {}{body} [{}]\n", one_line(&page.title), page.id)
}

/// The moment of a call: as the command line names it, else as the host does.
pub(crate) fn hook_moment(named: Option<&str>, said: &[u8]) -> Option<HookEvent> {
    named.and_then(HookEvent::named).or_else(|| {
        let said: Value = serde_json::from_slice(said).ok()?;
        HookEvent::named(said.get("hook_event_name").or_else(|| said.get("hookName"))?.as_str()?)
    })
}
