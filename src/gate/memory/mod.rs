//! The four questions that an evaluation asks memories, as a memory server takes them, and what it answers. Pure.
//!
//! - `question`: what is asked, with which tool
//! - `protocol`: lines of the Model Context Protocol
//! - `answer`: a tool's answer as text that may be shown, and how many results it has

mod answer;
mod protocol;
mod question;

pub(crate) use answer::{ANSWER_BYTES_MAX, ToolAnswer, read_tool_answer};
pub(crate) use protocol::{
    ServerMessage, call_line, initialize_line, initialized_line, list_tools_line, parse_message, read_tool_names,
    reply_line,
};
pub(crate) use question::{MemoryCall, MemorySubject, plan_calls};
