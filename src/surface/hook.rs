//! `verify-run hook AGENT EVENT`: asked by an agent's hook, answered in the agent's words.
//!
//! Whatever happens, the exit code is 0 and the answer one that lets the agent go on: other codes and texts are refusals
//! to some hosts.

use std::ffi::{OsString, c_int};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use crate::base::arena;
use crate::config::Places;
use crate::host::dialect::Dialect;
use crate::ops::hook::{self, Hook, HookReply};
use crate::ops::warn;

/// Input that is looked at, bytes; of more nothing is, but it is read to its end.
const INPUT_BYTES_MAX: usize = 4 << 20;

/// Whether these arguments (after `hook`) are an agent's call: the other ones are people's.
pub fn is_call(args: &[OsString]) -> bool {
    let first = args.first().and_then(|first| first.to_str());
    !matches!(first, None | Some("install" | "uninstall" | "status" | "help" | "-h" | "--help"))
}

/// Answers a call and returns 0.
pub fn start(args: &[OsString]) -> c_int {
    // What goes wrong in us is no text for a model.
    std::panic::set_hook(Box::new(|_| {}));
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    let (options, named): (Vec<&str>, Vec<&str>) = words.iter().copied().partition(|word| word.starts_with("--"));
    let dialect = named.first().and_then(|name| Dialect::named(name));
    let rewrite = options.contains(&"--rewrite");
    let answer = catch_unwind(AssertUnwindSafe(|| answer(dialect, named.get(1).copied(), rewrite)));
    let (text, told) = match answer.ok().flatten() {
        Some((said, places)) => (said.text, said.advice.zip(Some(places))),
        None => (dialect.map_or("", |dialect| dialect.neutral).to_owned(), None),
    };
    let mut out = io::stdout().lock();
    let is_written = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok();
    // What the host never got was not said to anybody.
    if let (true, Some((mut advice, places))) = (is_written, told) {
        let _ = catch_unwind(AssertUnwindSafe(|| warn::record_deliveries(&places, &mut advice)));
    }
    0
}

/// The answer; `None` when there is nothing to say, or it would be said too late.
fn answer(dialect: Option<&'static Dialect>, named: Option<&str>, rewrite: bool) -> Option<(HookReply, Places)> {
    let said = input()?;
    // A host may take its time to write.
    let started = Instant::now();
    let dialect = dialect?;
    let moment = hook::hook_moment(named, &said)?;
    let mut hook = Hook::read_event(dialect, moment, &said, rewrite)?;
    hook.remember_session();
    let places = hook.event_places().clone();
    let until = started + hook.time_limit();
    arena::reserve_for_threads();
    let (told, heard) = mpsc::sync_channel(2);
    // It is not waited for: the process ends around it.
    let work = move || {
        let plain = hook.plain_reply();
        let _ = told.send(plain.clone());
        let _ = told.send(hook.advised_reply(plain));
    };
    thread::Builder::new().spawn(work).ok()?;
    let next = || heard.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
    let plain = next()?;
    // Advice that takes too long costs the command nothing.
    Some((next().unwrap_or(plain), places))
}

/// Standard input up to its end: a host that can't write all of it may take that for a failure.
fn input() -> Option<Vec<u8>> {
    let mut said = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.by_ref().take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut said).ok()?;
    let is_whole = said.len() <= INPUT_BYTES_MAX;
    if !is_whole {
        io::copy(&mut stdin, &mut io::sink()).ok()?;
    }
    is_whole.then_some(said)
}
