// Written by `verify-run init`; `verify-run hook uninstall pi` removes it.
//
// pi runs extensions in its own process. This one puts verify-run in front of recognised checks and adds what is known of
// a failure to the results of tools. Whatever goes wrong here is silent.
import { spawn } from "node:child_process"

const ANSWER_MS = 5000
const SESSION = `pi-${process.pid}-${Date.now()}`

type Answer = { context?: string; command?: string }
type Text = { type: string; text?: string }
type Tool = { toolName: string; toolCallId: string; input: Record<string, unknown> }
type Events = {
  tool_call: Tool
  tool_result: Tool & { content: Text[] }
  before_agent_start: { prompt: string }
}
type Pi = { on<E extends keyof Events>(event: E, run: (event: Events[E], ctx: { cwd: string }) => unknown): void }

/** What verify-run has to say about an event; empty when that is nothing. */
function ask(event: string, payload: object): Promise<Answer> {
  return new Promise((resolve) => {
    try {
      const options = { stdio: ["pipe", "pipe", "ignore"] as ["pipe", "pipe", "ignore"], timeout: ANSWER_MS }
      const child = spawn("verify-run", ["hook", "pi", event], options)
      let said = ""
      child.on("error", () => resolve({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part: Buffer) => (said += part))
      child.on("close", () => {
        try {
          resolve(JSON.parse(said || "{}"))
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify({ session: SESSION, ...payload }))
    } catch {
      resolve({})
    }
  })
}

const fields = (event: Tool) => ({ callId: event.toolCallId, tool: event.toolName, input: event.input })

export default function (pi: Pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return
    const { command } = await ask("pre-tool", { cwd: ctx.cwd, ...fields(event) })
    if (typeof command === "string") event.input.command = command
  })
  pi.on("tool_result", async (event, ctx) => {
    if (!["bash", "edit", "write"].includes(event.toolName)) return
    const { context } = await ask("post-tool", { cwd: ctx.cwd, ...fields(event) })
    if (typeof context === "string") return { content: [...event.content, { type: "text", text: context }] }
  })
  pi.on("before_agent_start", async (event, ctx) => {
    const { context } = await ask("prompt", { cwd: ctx.cwd, prompt: event.prompt })
    if (typeof context === "string") return { message: { customType: "verify-run", content: context, display: true } }
  })
}
