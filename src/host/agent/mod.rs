//! Agents: which are here, and what their configuration needs to say to call us. One row of `table` an agent.

mod checks;
mod form;
mod instructions;
mod plan;
pub mod probe;
mod table;

pub use checks::Stack;
pub use form::{HookShape, HookWishes, InstructionForm};
pub use instructions::displacing;
pub use plan::{AgentFileEdit, AgentPlan, AgentPlanOptions, WrittenTextLookup, WrittenTexts, of, plan};
pub use table::AGENTS;

use std::path::Path;

use crate::host::InstallScope;
use crate::host::dialect::{Dialect, RewritePolicy};

/// An agent: where its configuration is, and what goes into it.
pub struct Agent {
    /// As it is named on our command line, and in `verify-run hook NAME`.
    pub name: &'static str,
    /// As its makers name it.
    pub title: &'static str,
    /// Paths of a project of which one says that it is used there.
    pub signs: &'static [&'static str],
    /// The same below the home folder.
    pub home_signs: &'static [&'static str],
    /// What goes into a project.
    pub project: &'static [ConfigPiece],
    /// What goes into files of a project that are not committed, where the host reads such files.
    pub local: &'static [ConfigPiece],
    /// What goes into the home folder.
    pub home: &'static [ConfigPiece],
    /// What a person has to do once it is in place.
    pub then: &'static str,
    /// Settings of the host that keep it from calling any hook.
    pub off: &'static [DisablingSetting],
}

/// A setting of a host that keeps it from calling hooks.
pub struct DisablingSetting {
    /// The files of a project that may have it; the first of them may also be in the home folder.
    pub files: &'static [&'static str],
    /// Keys from the top.
    pub path: &'static [&'static str],
    /// The value that does it.
    pub value: bool,
}

/// Something that goes into one file.
pub struct ConfigPiece {
    /// Names of the file, relative; the first that is there, else the first of all.
    pub paths: &'static [&'static str],
    /// What.
    pub what: ConfigPart,
}

/// What goes into a file.
pub enum ConfigPart {
    /// Hooks, as this host has them.
    Hooks(InstructionForm),
    /// Our MCP server under this key.
    Server(McpServerEntry),
    /// A verify-run hook that the host runs at this moment.
    Script(&'static str),
    /// A file that is the host's plugin.
    Plugin(&'static str),
    /// The commands that the host runs on its own.
    Checks,
}

/// How a host wants an MCP server described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpServerEntry {
    /// `mcpServers`: command and arguments.
    Plain,
    /// `servers`, with its kind.
    VsCode,
    /// `mcp`: one list of words.
    OpenCode,
    /// `mcp`, with its kind.
    Crush,
    /// `mcpServers`, with its kind and which tools may be used.
    Copilot,
    /// `[mcp_servers.NAME]` of a TOML file.
    Toml,
}

impl Agent {
    /// What goes into the files of a scope.
    pub fn pieces(&self, scope: InstallScope) -> &'static [ConfigPiece] {
        match scope {
            InstallScope::Project => self.project,
            InstallScope::Local => self.local,
            InstallScope::User => self.home,
        }
    }

    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// Whether its checks are recorded only where its commands are replaced, which allows them, or by shims.
    pub fn tells_no_exit_codes(&self) -> bool {
        let dialect = Dialect::named(self.name);
        dialect.is_some_and(|dialect| dialect.rewriting == RewritePolicy::Allows)
    }

    /// Whether it lets a hook ask it to go on at the end of a turn.
    pub fn can_keep_going(&self) -> bool {
        let pieces = self.project.iter().chain(self.home);
        pieces.into_iter().any(|piece| matches!(&piece.what, ConfigPart::Hooks(form) if form.stop.is_some()))
    }

    /// Whether something in the project says that it is used there.
    pub fn is_in(&self, root: &Path) -> bool {
        self.signs.iter().any(|sign| root.join(sign).symlink_metadata().is_ok())
    }

    /// Whether something in the home folder says that it is installed.
    pub fn is_at_home(&self, home: &Path) -> bool {
        self.home_signs.iter().any(|sign| home.join(sign).symlink_metadata().is_ok())
    }
}
