//! What measuring tools printed over a tree. They leave no receipts, which are about passes; but what they print is the same
//! where everything that a receipt compares is the same.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::execute::CommandResult;
use super::kept::KeptValues;
use crate::base::clock::Timestamp;
use crate::diagnose;
use crate::ops::receipt::age_refusal;
use crate::ops::request::Request;

/// Outputs that are kept, the newest.
const OUTPUTS_MAX: usize = 32;
/// A longer output is not kept, bytes.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// Outputs of the tools of one evaluation.
#[derive(Debug, Default)]
pub(super) struct ToolOutputs {
    /// Those of which it is not known yet whether the tree stayed the same.
    unproven: Mutex<Vec<(String, ToolOutput)>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ToolOutput {
    ended_at: Timestamp,
    code: i32,
    text: String,
}

impl ToolOutputs {
    /// The result of the tool with this key over `tree`, unless it is too old.
    pub(super) fn find(&self, request: &Request, key: &str, tree: &str) -> Option<CommandResult> {
        let ToolOutput { ended_at, code, text } = read_kept(request).find(key, tree)?;
        if age_refusal(request, ended_at).is_some() {
            return None;
        }
        let reused = format!("measured {} on this tree", ended_at.age_at(request.now()));
        Some(CommandResult {
            code: Some(code),
            text: diagnose::plain_text(text.as_bytes()),
            output: text.into_bytes(),
            reused: Some(reused),
            ..CommandResult::default()
        })
    }

    /// Notes what a tool printed.
    pub(super) fn note(&self, request: &Request, key: String, result: &CommandResult) {
        let (Some(code), Ok(text)) = (result.code, std::str::from_utf8(&result.output)) else { return };
        if result.is_late || result.is_cut || result.stopped.is_some() || text.len() > OUTPUT_BYTES_MAX {
            return;
        }
        let output = ToolOutput { ended_at: request.now(), code, text: text.to_owned() };
        self.unproven.lock().unwrap_or_else(PoisonError::into_inner).push((key, output));
    }

    /// Keeps what was noted, if nothing touched the tree since the evaluation began; else forgets it.
    pub(super) fn settle(&self, request: &Request, tree: &str, is_untouched: bool) {
        let noted = std::mem::take(&mut *self.unproven.lock().unwrap_or_else(PoisonError::into_inner));
        if noted.is_empty() || !is_untouched {
            return;
        }
        let mut kept = read_kept(request);
        noted.into_iter().for_each(|(key, output)| kept.keep(key, Some(tree.to_owned()), output));
    }
}

fn read_kept(request: &Request) -> KeptValues<ToolOutput> {
    KeptValues::read(request.places.state.gate_tool_outputs(), OUTPUTS_MAX)
}
