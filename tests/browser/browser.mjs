// What the suites share: a real Chromium that watches what it must not see, the pages of a dashboard, and the report.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const tools = new URL('../../.tools/node/', import.meta.url)
export const require = createRequire(fileURLToPath(tools))
const { chromium } = require('playwright-core')

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

// The pages that the rail of a dashboard names, and what only links lead to. One of each kind is enough.
const KINDS =
  'patterns|failures|runs|fixes|knowledge|promotions|tasks|lessons|problems|gate|gate/evaluations|library|library/jobs|figures'
export const DETAILS = new RegExp(`^/(${KINDS})/[^/?]+$`)
// A page is looked at when its kind is new, at most this often.
const SAME_KIND_MAX = 2

export class Suite {
  #checks = []
  #browser

  /** The address with the token, from the command line. */
  address = new URL(process.argv[2])

  /** Runs a check; the others go on when it fails. */
  async check(name, body) {
    const began = Date.now()
    try {
      await body()
      this.#checks.push(name)
      console.log(`passed: ${name} (${Date.now() - began} ms)`)
    } catch (error) {
      process.exitCode = 1
      console.log(`FAILED: ${name}\n${error.stack}`)
    }
  }

  /** Opens the printed address in a browser of its own: a page, and everything on it that must not happen. */
  async open(options = {}) {
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
    this.#browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    const context = await this.#browser.newContext(options)
    const wrong = []
    context.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol !== 'data:' && url.host !== this.address.host) wrong.push(`a request to ${url}`)
    })
    context.on('dialog', (dialog) => {
      wrong.push(`a dialog: ${dialog.message()}`)
      dialog.dismiss()
    })
    // Chromium reports a violation of the policy of the content as an error, too.
    context.on('console', (message) => {
      if (message.type() === 'error') wrong.push(`${message.text()} on ${message.page()?.url()}`)
    })
    context.on('weberror', (error) => wrong.push(`${error.error()}`))
    const page = await context.newPage()
    await page.goto(this.address.href)
    return { context, page, wrong }
  }

  /** Goes to a path of the dashboard; the status. */
  async go(page, path) {
    return (await page.goto(new URL(path, this.address.origin).href)).status()
  }

  /** Paths of all pages: what the rail names and what these link to. */
  async pages(page) {
    await this.go(page, '/')
    const waiting = await links(page, 'nav a')
    const seen = new Set()
    const kinds = new Map()
    while (waiting.length > 0) {
      const path = waiting.shift()
      const kind = path.match(DETAILS)?.[1]
      const known = kinds.get(kind) ?? 0
      if (seen.has(path) || (kind && known >= SAME_KIND_MAX)) continue
      const status = await this.go(page, path)
      if (status !== 200) throw new Error(`${path} answers ${status}`)
      seen.add(path)
      kinds.set(kind, known + 1)
      waiting.push(...(await links(page, 'main a')).filter((link) => DETAILS.test(link)))
    }
    return [...seen]
  }

  /** Ends the browser. */
  async close() {
    await this.#browser?.close()
  }

  /** Ends the browser and says how many checks passed. */
  async end() {
    await this.close()
    console.log(`${this.#checks.length} checks passed`)
  }
}

/** What axe finds on a page as it is, in both schemes. */
export async function violations(page) {
  await page.evaluate(axe)
  const found = { dark: [], light: [] }
  for (const colorScheme of Object.keys(found)) {
    await page.emulateMedia({ colorScheme })
    const { violations, passes } = await page.evaluate((rules) => window.axe.run({ runOnly: rules }), RULES)
    assert(passes.some(({ id }) => id === 'color-contrast'), `${page.url()} has no text to look at`)
    for (const { id, help, nodes: [first, ...more] } of violations) {
      const where = `${new URL(page.url()).pathname}: ${id} (${help})`
      found[colorScheme].push(`${where}, first ${first.html}: ${first.failureSummary}, and ${more.length} times more`)
    }
  }
  return found
}

/** Paths of this server that the elements link to. */
export async function links(page, selector) {
  const found = await page.locator(selector).evaluateAll((all) => all.map((it) => it.getAttribute('href')))
  return [...new Set(found.filter((link) => link?.startsWith('/')))]
}

export function assert(holds, message) {
  if (!holds) throw new Error(message)
}
