//! The one integration binary: the program as its users meet it, each test in its own [`sandbox::Sandbox`].
//!
//! A module per subject. What every test gets from the sandbox: a cleared environment, its own home, a
//! comparison of status, stdout and stderr in one call, and at its end the check that no process was left behind.

#![allow(dead_code, reason = "the sandbox is a vocabulary: not every word is in use at every time")]
#![allow(clippy::disallowed_methods, reason = "tests act as users do: they write files and start programs")]

mod advice;
mod ci;
mod completions;
mod configured;
mod dashboard;
mod definitions;
mod documentation;
mod exchange;
mod faults;
mod fixes;
mod frame;
mod gate;
mod git_hooks;
mod hooks;
mod hostile;
mod init;
mod json_replies;
mod knowledge;
mod lab;
mod learning;
mod lessons;
mod look_back;
mod mcp;
mod older;
mod pages;
mod patterns;
mod quickstart;
mod receipts;
mod recording;
mod report;
mod running;
mod sandbox;
mod shims;
mod snapshots;
mod story;
mod terminal;
mod tools;
mod weakened;
mod whitelist;
