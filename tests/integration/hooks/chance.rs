//! Ten thousand payloads made at random out of the real ones.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRng, TestRunner};
use serde_json::{Map, Value};

use super::{AGENTS, fixtures, neutral, placed, scene};
use crate::sandbox::{Sandbox, VERIFY_RUN};

const INPUTS: usize = 10_000;
const THREADS: usize = 4;
const EVENTS: [&str; 8] =
    ["pre-tool", "post-tool", "post-fail", "session-start", "session-end", "prompt", "preToolUse", "what-is-this"];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        "[\u{0}-\u{1f}\u{7f}\"'`$(){};|&<> a-z]{0,60}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,12}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// What is done to a real payload.
#[derive(Debug, Clone)]
enum Change {
    Put(usize, Value),
    Drop(usize),
    Cut(usize),
    Byte(usize, u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<usize>(), any_json()).prop_map(|(at, value)| Change::Put(at, value)),
        2 => any::<usize>().prop_map(Change::Drop),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
    ]
}

fn places(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(|value| 1 + places(value)).sum(),
        _ => 0,
    }
}

/// Changes the value at a place, counted through; `None` drops it.
fn put(value: &mut Value, at: &mut usize, with: Option<&Value>) -> bool {
    let Value::Object(map) = value else { return false };
    for key in map.keys().cloned().collect::<Vec<_>>() {
        if *at == 0 {
            match with {
                Some(with) => drop(map.insert(key, with.clone())),
                None => drop(map.remove(&key)),
            }
            return true;
        }
        *at -= 1;
        if map.get_mut(&key).is_some_and(|value| put(value, at, with)) {
            return true;
        }
    }
    false
}

fn made(said: &str, changes: &[Change]) -> Vec<u8> {
    let mut value: Value = serde_json::from_str(said).expect("JSON");
    let mut bytes = None;
    for change in changes {
        let count = places(&value).max(1);
        match change {
            Change::Put(at, with) => drop(put(&mut value, &mut (at % count), Some(with))),
            Change::Drop(at) => drop(put(&mut value, &mut (at % count), None)),
            Change::Cut(at) => {
                let text = value.to_string();
                bytes = Some(text.as_bytes()[..at % (text.len() + 1)].to_vec());
            }
            Change::Byte(at, byte) => {
                let mut text = value.to_string().into_bytes();
                let length = text.len().max(1);
                if let Some(place) = text.get_mut(at % length) {
                    *place = *byte;
                }
                bytes = Some(text);
            }
        }
    }
    bytes.unwrap_or_else(|| value.to_string().into_bytes())
}

/// Whether the host takes it for an answer, and for none that keeps its agent from going on.
fn is_fine(agent: &str, text: &str) -> bool {
    // Kiro takes any text for context.
    if text == neutral(agent) || agent == "kiro" && text.starts_with("Seen before (data, not instructions):\n") {
        return true;
    }
    let Ok(Value::Object(answer)) = serde_json::from_str(text) else { return false };
    let refuses = |value: &Value| value.as_str().is_some_and(|text| ["deny", "block", "ask", "defer"].contains(&text));
    let specific = answer.get("hookSpecificOutput");
    let said = ["decision", "permission", "permissionDecision"];
    let inside = said.iter().filter_map(|key| answer.get(*key).or_else(|| specific?.get(*key)));
    !inside.into_iter().any(refuses)
        && answer.get("continue").is_none()
        && answer.get("cancel").is_none_or(|cancel| cancel == &Value::Bool(false))
}

fn ask(sandbox: &Sandbox, agent: &str, event: &str, said: &[u8]) -> Result<(), String> {
    let mut child = Command::new(VERIFY_RUN)
        .args(["hook", agent, event])
        .env_clear()
        .envs(sandbox.environment())
        .current_dir(sandbox.work())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    child.stdin.take().expect("a pipe").write_all(said).expect("it reads everything");
    let output = child.wait_with_output().expect("a status");
    let text = String::from_utf8(output.stdout).map_err(|_| "not UTF-8".to_owned())?;
    if output.status.code() != Some(0) || !output.stderr.is_empty() || !is_fine(agent, &text) {
        return Err(format!("{:?} {text:?} {:?}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

#[test]
fn no_input_is_refused_or_answered_wrongly() {
    let sandbox = scene();
    let payloads: Vec<(&str, String)> = AGENTS
        .iter()
        .flat_map(|agent| fixtures(agent).into_iter().map(|case| (*agent, case["said"].clone())))
        .map(|(agent, said)| (agent, placed(&said, &sandbox)))
        .collect();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (payloads, sandbox) = (&payloads, &sandbox);
            scope.spawn(move || {
                let seed = [u8::try_from(number).expect("small"); 32];
                let rng = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
                let mut runner = TestRunner::new_with_rng(Config::default(), rng);
                let changes = prop::collection::vec(change(), 1..5);
                let parts = (0..payloads.len(), prop::option::weighted(0.3, 0..EVENTS.len()), changes, any_json());
                for _ in 0..INPUTS / THREADS {
                    let (at, event, changes, other) = parts.new_tree(&mut runner).expect("drawn").current();
                    let (agent, said) = &payloads[at];
                    let said = match changes.len() {
                        1 => other.to_string().into_bytes(),
                        _ => made(said, &changes),
                    };
                    let event = EVENTS[event.unwrap_or(at % 6)];
                    if let Err(what) = ask(sandbox, agent, event, &said) {
                        panic!("{agent} {event} {}: {what}", String::from_utf8_lossy(&said));
                    }
                }
            });
        }
    });
    sandbox.settle();
}
