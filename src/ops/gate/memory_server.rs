//! Asks a memory server that the user configured: a child on pipes that speaks the Model Context Protocol. Whatever it
//! does is an answer or a warning, and it is gone when the time is up.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::base::text;
use crate::diagnose;
use crate::event::{GateMemoryAnswer, GateMemoryQuestion};
use crate::gate::memory::{
    ANSWER_BYTES_MAX, MemoryCall, MemorySubject, ServerMessage, ToolAnswer, call_line, initialize_line,
    initialized_line, list_tools_line, parse_message, plan_calls, read_tool_answer, read_tool_names, reply_line,
};
use crate::host::conversation::{Conversation, ReadLine};

/// Time that a server has to end on its own once its input is closed.
const END_TIME: Duration = Duration::from_millis(250);
/// Between two looks whether the evaluation has ended meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Pages of tools that are read.
const PAGES_MAX: u64 = 20;
/// Lines of a server that are no messages, and requests of its own; of more it is not listened to any longer.
const STRANGE_LINES_MAX: usize = 200;
/// What is said of a server that fails, bytes.
const TROUBLE_BYTES_MAX: usize = 300;

/// A server to ask.
#[derive(Debug)]
pub(super) struct MemoryServer {
    /// The words of its command.
    pub command: Vec<String>,
    /// Its working directory.
    pub dir: PathBuf,
    /// Variables that are set for it.
    pub variables: Vec<(&'static str, OsString)>,
    /// What is asked about.
    pub subject: MemorySubject,
    /// When the time is up.
    pub until: Instant,
}

/// What a server answered.
#[derive(Debug, Default)]
pub(super) struct ServerAnswers {
    /// By the question.
    pub answers: Vec<GateMemoryAnswer>,
    /// Files with results.
    pub files: BTreeSet<String>,
    /// Why something was not answered.
    pub trouble: Option<String>,
    /// When the server was gone; `None` where it is not known.
    pub ended: Option<Instant>,
}

/// A session with a server.
struct ServerSession<'a> {
    conversation: Conversation,
    until: Instant,
    is_cancelled: &'a AtomicBool,
    next_id: u64,
    strange_lines: usize,
}

impl MemoryServer {
    /// Asks everything, until the time is up or `is_cancelled`. The server is gone afterwards.
    pub(super) fn ask(&self, is_cancelled: &AtomicBool) -> ServerAnswers {
        let answers = self.ask_all(is_cancelled);
        ServerAnswers { ended: Some(Instant::now()), ..answers }
    }

    fn ask_all(&self, is_cancelled: &AtomicBool) -> ServerAnswers {
        let argv: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        let conversation = match Conversation::start(&argv, &self.dir, &self.variables) {
            Ok(conversation) => conversation,
            Err(error) => {
                return ServerAnswers { trouble: Some(self.describe(&error.to_string())), ..Default::default() };
            }
        };
        let mut session = ServerSession { conversation, until: self.until, is_cancelled, next_id: 1, strange_lines: 0 };
        let mut answered = BTreeMap::new();
        let said = session.list_tools().and_then(|tools| {
            let (calls, missing) = plan_calls(&tools, &self.subject);
            let troubles = session.call_tools(&calls, &mut answered)?;
            let missing = missing.iter().map(|question| format!("it has no tool for {question}"));
            let troubles: Vec<String> = missing.chain(troubles).collect();
            if troubles.is_empty() { Ok(()) } else { Err(troubles.join("; ")) }
        });
        let grace = END_TIME.min(self.until.saturating_duration_since(Instant::now()));
        let (status, last_error) = session.conversation.close(grace);
        let trouble = said.err().map(|why| match (status, last_error) {
            (Some(status), Some(error)) if !status.success() => format!("{why} ({status}: {error})"),
            (Some(status), None) if !status.success() => format!("{why} ({status})"),
            _ => why,
        });
        let (answers, files) = join_answers(answered);
        ServerAnswers { answers, files, trouble: trouble.map(|why| self.describe(&why)), ended: None }
    }

    fn describe(&self, why: &str) -> String {
        let program = self.command.first().map_or("", String::as_str);
        let why = text::one_line(&diagnose::plain_text(why.as_bytes()));
        text::ellipsis(format!("memory server {program}: {why}").trim(), TROUBLE_BYTES_MAX)
    }
}

impl ServerSession<'_> {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Begins the session, and asks which tools there are.
    fn list_tools(&mut self) -> Result<Vec<String>, String> {
        let id = self.new_id();
        self.conversation.say(initialize_line(id));
        self.wait_for(id)?;
        self.conversation.say(initialized_line());
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let id = self.new_id();
            self.conversation.say(list_tools_line(id, cursor.as_deref()));
            let (names, next) = read_tool_names(&self.wait_for(id)?);
            tools.extend(names);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// Makes all calls at once, and takes the answers as they come; what failed of them, a sentence each.
    fn call_tools(
        &mut self,
        calls: &[MemoryCall],
        answered: &mut BTreeMap<usize, (MemoryCall, ToolAnswer)>,
    ) -> Result<Vec<String>, String> {
        let mut open = BTreeMap::new();
        for (at, call) in calls.iter().enumerate() {
            let id = self.new_id();
            self.conversation.say(call_line(id, call.tool, &call.arguments));
            open.insert(id, (at, call));
        }
        let mut troubles = Vec::new();
        while !open.is_empty() {
            let (id, result) = match self.next_answer() {
                Ok(answer) => answer,
                Err(why) => {
                    let tools: BTreeSet<&str> = open.values().map(|(_, call)| call.tool).collect();
                    let tools: Vec<&str> = tools.into_iter().collect();
                    return Err(format!("{why} to {}", tools.join(", ")));
                }
            };
            let Some((at, call)) = open.remove(&id) else { continue };
            match result.and_then(|result| read_tool_answer(&result)) {
                Ok(answer) => drop(answered.insert(at, (call.clone(), answer))),
                Err(why) => troubles.push(format!("{}: {why}", call.tool)),
            }
        }
        troubles.dedup();
        Ok(troubles)
    }

    fn wait_for(&mut self, id: u64) -> Result<serde_json::Value, String> {
        loop {
            let (answered, result) = self.next_answer()?;
            if answered == id {
                return result;
            }
        }
    }

    /// The next answer; requests of the server's own get their reply.
    fn next_answer(&mut self) -> Result<(u64, Result<serde_json::Value, String>), String> {
        while self.strange_lines < STRANGE_LINES_MAX {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_cancelled.load(Ordering::Relaxed) {
                return Err("no answer in time".to_owned());
            }
            let line = match self.conversation.listen(left.min(LOOK_EVERY)) {
                ReadLine::Late => continue,
                ReadLine::Line(line) => line,
                ReadLine::TooLong => return Err("an answer longer than 1 MiB".to_owned()),
                ReadLine::End => return Err("it ended without an answer".to_owned()),
            };
            match parse_message(&line)? {
                Some(ServerMessage::Answer { id, result }) => return Ok((id, result)),
                Some(ServerMessage::Request { id, method }) => self.conversation.say(reply_line(&id, &method)),
                Some(ServerMessage::Other) | None => {}
            }
            self.strange_lines += 1;
        }
        Err("it says too much that is no answer".to_owned())
    }
}

/// One answer to each question; those about files are one, with the name of each file that has results.
fn join_answers(answered: BTreeMap<usize, (MemoryCall, ToolAnswer)>) -> (Vec<GateMemoryAnswer>, BTreeSet<String>) {
    let mut joined: BTreeMap<GateMemoryQuestion, GateMemoryAnswer> = BTreeMap::new();
    let mut files = BTreeSet::new();
    for (call, answer) in answered.into_values() {
        let entry = joined.entry(call.question).or_insert_with(|| GateMemoryAnswer {
            question: call.question,
            tool: call.tool.to_owned(),
            stands_for: call.stands_for.map(str::to_owned),
            count: 0,
            text: String::new(),
            cut_bytes: 0,
        });
        let said = match call.file {
            Some(_) if answer.count == 0 => continue,
            Some(file) => {
                entry.count += 1;
                let said = format!("{file}:\n{}\n", answer.text);
                files.insert(file);
                said
            }
            None => {
                entry.count += answer.count;
                answer.text
            }
        };
        let kept = text::prefix(&said, ANSWER_BYTES_MAX.saturating_sub(entry.text.len()));
        entry.cut_bytes += answer.cut_bytes + (said.len() - kept.len()) as u64;
        entry.text.push_str(kept);
    }
    (joined.into_values().collect(), files)
}
