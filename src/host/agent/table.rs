//! The agents. Sources and their versions: [`crate::host::dialect`].

use super::form::HookEventEntry;
use super::{Agent, ConfigPart, ConfigPiece, DisablingSetting, HookShape, InstructionForm, McpServerEntry};

/// Shell lines, and what changes files, as Claude Code names them. On Windows there may be no `Bash`.
const CLAUDE_TOOLS: &str = "Bash|PowerShell|Edit|Write|MultiEdit|NotebookEdit";
const CLAUDE_SHELLS: &str = "Bash|PowerShell";

const CLAUDE_EVENTS: &[HookEventEntry] = &[
    ("PreToolUse", "pre-tool", CLAUDE_TOOLS),
    ("PostToolUse", "post-tool", CLAUDE_SHELLS),
    ("PostToolUseFailure", "post-fail", CLAUDE_SHELLS),
    ("SessionStart", "session-start", ""),
    ("UserPromptSubmit", "prompt", ""),
    ("SessionEnd", "session-end", ""),
];
const CLAUDE: InstructionForm = InstructionForm {
    shape: HookShape::Line,
    events: CLAUDE_EVENTS,
    stop: Some(("Stop", "stop", "")),
    earlier: &[InstructionForm { shape: HookShape::Words, events: CLAUDE_EVENTS, stop: None, earlier: &[] }],
};

/// Versions before 0.160 may not know `SessionEnd`, and one of a failure is never sent.
const CODEX_EVENTS: &[HookEventEntry] = &[
    ("PreToolUse", "pre-tool", "^(Bash|apply_patch)$"),
    ("PostToolUse", "post-tool", "^Bash$"),
    ("SessionStart", "session-start", ""),
    ("UserPromptSubmit", "prompt", ""),
];
const CODEX: InstructionForm = InstructionForm {
    shape: HookShape::Line,
    events: CODEX_EVENTS,
    stop: Some(("Stop", "stop", "")),
    earlier: &[InstructionForm { shape: HookShape::BareLine, events: CODEX_EVENTS, stop: None, earlier: &[] }],
};

/// `afterShellExecution` gets the same commands as these.
const CURSOR_EVENTS: &[HookEventEntry] = &[
    ("preToolUse", "pre-tool", "Shell|Write"),
    ("postToolUse", "post-tool", "Shell"),
    ("postToolUseFailure", "post-fail", "Shell"),
    ("sessionStart", "session-start", ""),
    ("sessionEnd", "session-end", ""),
];
const CURSOR: InstructionForm = InstructionForm {
    shape: HookShape::Flat,
    events: CURSOR_EVENTS,
    stop: Some(("stop", "stop", "")),
    earlier: &[InstructionForm { shape: HookShape::BareFlat, events: CURSOR_EVENTS, stop: None, earlier: &[] }],
};

const GEMINI_EVENTS: &[HookEventEntry] = &[
    ("BeforeTool", "pre-tool", "^(run_shell_command|replace|write_file|edit)$"),
    ("AfterTool", "post-tool", "^run_shell_command$"),
    ("SessionStart", "session-start", ""),
    ("BeforeAgent", "prompt", ""),
    ("SessionEnd", "session-end", ""),
];
const GEMINI: InstructionForm = InstructionForm {
    shape: HookShape::Guarded,
    events: GEMINI_EVENTS,
    stop: Some(("AfterAgent", "stop", "")),
    earlier: &[],
};

/// A command that fails is a tool that succeeded there: `postToolUseFailure` would tell of nothing.
const COPILOT_EVENTS: &[HookEventEntry] = &[
    ("preToolUse", "pre-tool", "bash|edit|create|write|str_replace_editor|apply_patch"),
    ("postToolUse", "post-tool", "bash"),
    ("sessionStart", "session-start", ""),
    ("userPromptSubmitted", "prompt", ""),
    ("sessionEnd", "session-end", ""),
];
/// Before `apply_patch` was among its tools.
const COPILOT_EARLIER: InstructionForm = InstructionForm {
    shape: HookShape::Shells,
    events: &[("preToolUse", "pre-tool", "bash|edit|create|write|str_replace_editor")],
    stop: None,
    earlier: &[],
};
const COPILOT: InstructionForm = InstructionForm {
    shape: HookShape::Shells,
    events: COPILOT_EVENTS,
    stop: Some(("agentStop", "stop", "")),
    earlier: &[COPILOT_EARLIER],
};

/// Later versions know more events; this one all of them know.
const CRUSH: InstructionForm = InstructionForm {
    shape: HookShape::Plain,
    events: &[("PreToolUse", "pre-tool", "^(bash|edit|write|multiedit)$")],
    stop: None,
    earlier: &[],
};

const DROID: InstructionForm = InstructionForm {
    shape: HookShape::Line,
    events: &[
        ("PreToolUse", "pre-tool", "Execute|Edit|MultiEdit|Create|ApplyPatch"),
        ("PostToolUse", "post-tool", "Execute"),
        ("SessionStart", "session-start", ""),
        ("UserPromptSubmit", "prompt", ""),
        ("SessionEnd", "session-end", ""),
    ],
    stop: Some(("Stop", "stop", "")),
    earlier: &[],
};

const QWEN: InstructionForm = InstructionForm {
    shape: HookShape::Guarded,
    events: &[
        ("PreToolUse", "pre-tool", "^(run_shell_command|edit|replace|write_file)$"),
        ("PostToolUse", "post-tool", "^run_shell_command$"),
        ("SessionStart", "session-start", ""),
        ("UserPromptSubmit", "prompt", ""),
        ("SessionEnd", "session-end", ""),
    ],
    stop: Some(("Stop", "stop", "")),
    earlier: &[],
};

/// What a hook prints after a tool is not passed on, but how a command ended is known there.
const KIRO: InstructionForm = InstructionForm {
    shape: HookShape::Listed,
    events: &[
        ("PreToolUse", "pre-tool", "execute_bash|fs_write|fs_append|str_replace"),
        ("PostToolUse", "post-tool", "execute_bash"),
        ("SessionStart", "session-start", ""),
        ("UserPromptSubmit", "prompt", ""),
    ],
    stop: None,
    earlier: &[],
};

/// Nothing that a hook prints reaches the model: only what tells how a command ended.
const GOOSE: InstructionForm = InstructionForm {
    shape: HookShape::Line,
    events: &[
        ("PostToolUse", "post-tool", "^developer__shell$"),
        ("PostToolUseFailure", "post-fail", "^developer__shell$"),
    ],
    stop: None,
    earlier: &[],
};
const GOOSE_PLUGIN: &str = include_str!("../../../hooks/agent/goose/plugin.json");

/// Called before each of the model's answers. Before a tool it wants a decision, of which `allow` skips the user's own
/// rules; after one it tells neither code nor output, and nothing is passed on.
const ANTIGRAVITY: InstructionForm = InstructionForm {
    shape: HookShape::Named,
    events: &[("PreInvocation", "session-start", "")],
    stop: None,
    earlier: &[],
};

const PI: &str = include_str!("../../../hooks/agent/pi/verify-run.ts");
const OPENCODE: &str = include_str!("../../../hooks/agent/opencode/verify-run.ts");

const fn hooks(paths: &'static [&'static str], form: InstructionForm) -> ConfigPiece {
    ConfigPiece { paths, what: ConfigPart::Hooks(form) }
}

const fn server(paths: &'static [&'static str], server: McpServerEntry) -> ConfigPiece {
    ConfigPiece { paths, what: ConfigPart::Server(server) }
}

const fn script(paths: &'static [&'static str], moment: &'static str) -> ConfigPiece {
    ConfigPiece { paths, what: ConfigPart::Script(moment) }
}

/// Every agent that is set up by its name.
pub const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        title: "Claude Code",
        signs: &[".claude", "CLAUDE.md", ".mcp.json"],
        home_signs: &[".claude"],
        project: &[hooks(&[".claude/settings.json"], CLAUDE), server(&[".mcp.json"], McpServerEntry::Plain)],
        local: &[hooks(&[".claude/settings.local.json"], CLAUDE)],
        // Its own list of servers is in a file that it writes all the time: `claude mcp add` changes that.
        home: &[hooks(&[".claude/settings.json"], CLAUDE)],
        then: "Claude Code asks once whether the MCP server may be used",
        off: &[DisablingSetting {
            files: &[".claude/settings.json", ".claude/settings.local.json"],
            path: &["disableAllHooks"],
            value: true,
        }],
    },
    Agent {
        name: "codex",
        title: "Codex",
        signs: &[".codex"],
        home_signs: &[".codex"],
        project: &[hooks(&[".codex/hooks.json"], CODEX), server(&[".codex/config.toml"], McpServerEntry::Toml)],
        local: &[],
        home: &[hooks(&[".codex/hooks.json"], CODEX), server(&[".codex/config.toml"], McpServerEntry::Toml)],
        then: "Codex ignores hooks until you trust them: type /hooks in Codex, and again whenever they change",
        off: &[
            DisablingSetting { files: &[".codex/config.toml"], path: &["features", "hooks"], value: false },
            DisablingSetting { files: &[".codex/config.toml"], path: &["features", "codex_hooks"], value: false },
        ],
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        signs: &[".cursor", ".cursorrules"],
        home_signs: &[".cursor"],
        project: &[hooks(&[".cursor/hooks.json"], CURSOR), server(&[".cursor/mcp.json"], McpServerEntry::Plain)],
        local: &[],
        home: &[hooks(&[".cursor/hooks.json"], CURSOR), server(&[".cursor/mcp.json"], McpServerEntry::Plain)],
        then: "Cursor asks once whether the MCP server may be used",
        off: &[],
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        signs: &[".gemini", "GEMINI.md"],
        home_signs: &[".gemini"],
        project: &[
            hooks(&[".gemini/settings.json"], GEMINI),
            server(&[".gemini/settings.json"], McpServerEntry::Plain),
        ],
        local: &[],
        home: &[hooks(&[".gemini/settings.json"], GEMINI), server(&[".gemini/settings.json"], McpServerEntry::Plain)],
        then: "Gemini CLI reads a project's hooks in trusted folders only: type /permissions there",
        off: &[DisablingSetting { files: &[".gemini/settings.json"], path: &["hooksConfig", "enabled"], value: false }],
    },
    Agent {
        name: "copilot",
        title: "GitHub Copilot",
        signs: &[".github/hooks", ".github/copilot-instructions.md", ".github/instructions"],
        home_signs: &[".copilot"],
        project: &[hooks(&[".github/hooks/verify-run.json"], COPILOT), server(&[".mcp.json"], McpServerEntry::Plain)],
        local: &[],
        home: &[
            hooks(&[".copilot/hooks/verify-run.json"], COPILOT),
            server(&[".copilot/mcp-config.json"], McpServerEntry::Copilot),
        ],
        then: "",
        off: &[],
    },
    Agent {
        name: "vscode",
        title: "VS Code",
        signs: &[".vscode/mcp.json"],
        home_signs: &[],
        project: &[server(&[".vscode/mcp.json"], McpServerEntry::VsCode)],
        local: &[],
        home: &[],
        then: "VS Code asks once whether the MCP server may be started",
        off: &[],
    },
    Agent {
        name: "opencode",
        title: "OpenCode",
        signs: &[".opencode", "opencode.json", "opencode.jsonc"],
        home_signs: &[".config/opencode"],
        project: &[
            ConfigPiece { paths: &[".opencode/plugins/verify-run.ts"], what: ConfigPart::Plugin(OPENCODE) },
            server(&["opencode.json", "opencode.jsonc"], McpServerEntry::OpenCode),
        ],
        local: &[],
        home: &[
            ConfigPiece { paths: &[".config/opencode/plugins/verify-run.ts"], what: ConfigPart::Plugin(OPENCODE) },
            server(&[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"], McpServerEntry::OpenCode),
        ],
        then: "OpenCode does not let a plugin replace commands: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "cline",
        title: "Cline",
        signs: &[".clinerules"],
        home_signs: &["Documents/Cline"],
        project: &[
            script(&[".clinerules/hooks/PreToolUse"], "pre-tool"),
            script(&[".clinerules/hooks/PostToolUse"], "post-tool"),
            script(&[".clinerules/hooks/TaskStart"], "session-start"),
            script(&[".clinerules/hooks/UserPromptSubmit"], "prompt"),
        ],
        local: &[],
        home: &[
            script(&["Documents/Cline/Hooks/PreToolUse"], "pre-tool"),
            script(&["Documents/Cline/Hooks/PostToolUse"], "post-tool"),
            script(&["Documents/Cline/Hooks/TaskStart"], "session-start"),
            script(&["Documents/Cline/Hooks/UserPromptSubmit"], "prompt"),
        ],
        then: "Cline does not let a hook replace commands: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "crush",
        title: "Crush",
        signs: &["crush.json", ".crush.json", ".crush"],
        home_signs: &[".config/crush"],
        project: &[
            hooks(&["crush.json", ".crush.json"], CRUSH),
            server(&["crush.json", ".crush.json"], McpServerEntry::Crush),
        ],
        local: &[],
        home: &[
            hooks(&[".config/crush/crush.json"], CRUSH),
            server(&[".config/crush/crush.json"], McpServerEntry::Crush),
        ],
        then: "",
        off: &[],
    },
    Agent {
        name: "droid",
        title: "Factory Droid",
        signs: &[".factory"],
        home_signs: &[".factory"],
        project: &[hooks(&[".factory/settings.json"], DROID)],
        local: &[],
        home: &[hooks(&[".factory/settings.json"], DROID)],
        then: "Droid reads these hooks only without a hooks.json beside them",
        off: &[],
    },
    Agent {
        name: "qwen",
        title: "Qwen Code",
        signs: &[".qwen", "QWEN.md"],
        home_signs: &[".qwen"],
        project: &[hooks(&[".qwen/settings.json"], QWEN), server(&[".qwen/settings.json"], McpServerEntry::Plain)],
        local: &[],
        home: &[hooks(&[".qwen/settings.json"], QWEN), server(&[".qwen/settings.json"], McpServerEntry::Plain)],
        then: "Qwen Code reads a project's hooks in trusted folders only",
        off: &[DisablingSetting { files: &[".qwen/settings.json"], path: &["disableAllHooks"], value: true }],
    },
    Agent {
        name: "pi",
        title: "pi",
        signs: &[".pi"],
        home_signs: &[".pi"],
        project: &[ConfigPiece { paths: &[".pi/extensions/verify-run.ts"], what: ConfigPart::Plugin(PI) }],
        local: &[],
        home: &[ConfigPiece { paths: &[".pi/agent/extensions/verify-run.ts"], what: ConfigPart::Plugin(PI) }],
        then: "pi loads a project's extensions once the project is trusted",
        off: &[],
    },
    Agent {
        name: "kiro",
        title: "Kiro",
        signs: &[".kiro"],
        home_signs: &[".kiro"],
        project: &[
            hooks(&[".kiro/hooks/verify-run.json"], KIRO),
            server(&[".kiro/settings/mcp.json"], McpServerEntry::Plain),
        ],
        local: &[],
        home: &[
            hooks(&[".kiro/hooks/verify-run.json"], KIRO),
            server(&[".kiro/settings/mcp.json"], McpServerEntry::Plain),
        ],
        then: "Kiro has these hooks since IDE 1.0 and CLI 3.0, but they cannot replace commands: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "goose",
        title: "goose",
        signs: &[".goosehints", ".goose"],
        home_signs: &[".config/goose"],
        project: &[
            hooks(&[".agents/plugins/verify-run/hooks/hooks.json"], GOOSE),
            ConfigPiece { paths: &[".agents/plugins/verify-run/plugin.json"], what: ConfigPart::Plugin(GOOSE_PLUGIN) },
            server(&[".agents/plugins/verify-run/.mcp.json"], McpServerEntry::Plain),
        ],
        local: &[],
        home: &[
            hooks(&[".agents/plugins/verify-run/hooks/hooks.json"], GOOSE),
            ConfigPiece { paths: &[".agents/plugins/verify-run/plugin.json"], what: ConfigPart::Plugin(GOOSE_PLUGIN) },
            server(&[".agents/plugins/verify-run/.mcp.json"], McpServerEntry::Plain),
        ],
        then: "goose passes no output to hooks, and none of their texts to the model: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "antigravity",
        title: "Antigravity",
        signs: &[".agents/hooks.json", ".agents/mcp_config.json", ".agents/rules", ".agent/rules"],
        home_signs: &[".gemini/antigravity", ".gemini/antigravity-cli", ".gemini/config"],
        project: &[
            hooks(&[".agents/hooks.json"], ANTIGRAVITY),
            server(&[".agents/mcp_config.json"], McpServerEntry::Plain),
        ],
        local: &[],
        home: &[
            hooks(&[".gemini/config/hooks.json"], ANTIGRAVITY),
            server(&[".gemini/config/mcp_config.json"], McpServerEntry::Plain),
        ],
        then: "Antigravity's CLI calls only hooks of the home folder (--user), and passes no exit codes: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "windsurf",
        title: "Windsurf",
        signs: &[".windsurf", ".windsurfrules"],
        home_signs: &[".codeium/windsurf"],
        project: &[],
        local: &[],
        home: &[server(&[".codeium/windsurf/mcp_config.json"], McpServerEntry::Plain)],
        then: "Windsurf passes no exit codes to hooks, and none of their texts to the model: verify-run shims install",
        off: &[],
    },
    Agent {
        name: "aider",
        title: "Aider",
        signs: &[".aider.conf.yml"],
        home_signs: &[],
        project: &[ConfigPiece { paths: &[".aider.conf.yml"], what: ConfigPart::Checks }],
        local: &[],
        home: &[],
        then: "",
        off: &[],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::host::dialect::{Dialect, HookEvent};

    #[test]
    fn every_hook_of_the_table_is_one_that_is_answered() {
        let names: BTreeSet<_> = AGENTS.iter().map(|agent| agent.name).collect();
        assert_eq!(names.len(), AGENTS.len(), "a name occurs twice");
        for agent in AGENTS {
            for piece in agent.project.iter().chain(agent.home) {
                let moments: Vec<&str> = match &piece.what {
                    ConfigPart::Hooks(form) => form.events.iter().chain(&form.stop).map(|(_, ours, _)| *ours).collect(),
                    ConfigPart::Script(moment) => vec![*moment],
                    _ => continue,
                };
                assert!(Dialect::named(agent.name).is_some(), "{} is not understood", agent.name);
                assert!(moments.iter().all(|moment| HookEvent::named(moment).is_some()), "{}: {moments:?}", agent.name);
            }
        }
    }
}
