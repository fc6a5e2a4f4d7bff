// Written by `verify-run init`; `verify-run hook uninstall opencode` removes it.
//
// OpenCode runs plugins in its own process. This one puts the shims in front of PATH for every command, where they are
// installed, and tells verify-run what ran and how it ended. Whatever goes wrong here is silent.
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const SHIMS = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "verify-run", "shims")
const ANSWER_MS = 5000

/** What verify-run has to say about an event; undefined when that is nothing. */
async function ask(event: string, payload: unknown): Promise<string | undefined> {
  try {
    const child = Bun.spawn(["verify-run", "hook", "opencode", event], {
      stdin: new Blob([JSON.stringify(payload)]),
      stdout: "pipe",
      stderr: "ignore",
      timeout: ANSWER_MS,
    })
    const answer = JSON.parse((await new Response(child.stdout).text()) || "{}")
    return typeof answer.context === "string" ? answer.context : undefined
  } catch {
    return undefined
  }
}

export const VerifyRun = async ({ directory }: { directory: string }) => ({
  "shell.env": async (_input: unknown, output: { env: Record<string, string> }) => {
    if (existsSync(SHIMS)) {
      output.env.PATH = `${SHIMS}:${output.env.PATH ?? process.env.PATH ?? ""}`
    }
  },
  "tool.execute.after": async (
    input: { tool: string; sessionID: string; callID: string; args?: unknown },
    output: { title?: string; output?: string; metadata?: { exit?: number } },
  ) => {
    if (!["bash", "edit", "write"].includes(input.tool)) return
    const context = await ask("post-tool", {
      sessionID: input.sessionID,
      callID: input.callID,
      cwd: directory,
      tool: input.tool,
      args: input.args,
      exit: output.metadata?.exit ?? null,
      output: output.output,
    })
    if (context !== undefined) output.output = `${output.output ?? ""}\n${context}`
  },
})
