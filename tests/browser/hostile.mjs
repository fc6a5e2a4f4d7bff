// A dashboard whose records are full of what pages are attacked with:
//
//     node hostile.mjs ADDRESS PAYLOADS
//
// PAYLOADS is a JSON list of the texts that were recorded.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { assert, links, Suite } from './browser.mjs'

const PAGES_MAX = 150

const payloads = JSON.parse(readFileSync(process.argv[3], 'utf8'))
const suite = new Suite()
const { page, context, wrong } = await suite.open()

/** What the pages of a dashboard do with a character that no screen shows. */
const shown = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
const squeezed = (text) => text.replace(/\s+/g, '')

await suite.check('no page does what its records say', async () => {
  const waiting = await links(page, 'nav a')
  waiting.push(...payloads.map((payload) => `/search?q=${encodeURIComponent(payload)}`))
  const seen = new Map()
  while (waiting.length > 0 && seen.size < PAGES_MAX) {
    const path = waiting.shift()
    if (seen.has(path)) continue
    const status = await suite.go(page, path)
    assert(status === 200, `${path} answers ${status}`)
    // Whatever waits for a pointer or for focus gets it.
    await page.evaluate(() => {
      for (const element of document.querySelectorAll('main *')) {
        element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
        element.focus?.()
      }
    })
    seen.set(path, squeezed(await page.locator('body').evaluate((body) => body.textContent)))
    const found = await page.locator('script:not([src]), iframe, object, embed, base, main img, main style').count()
    assert(found === 0, `${path} has an element that a record made`)
    const made = await page.locator('[onload], [onerror], [onclick], [onmouseover], [onfocus], [style]').count()
    assert(made === 0, `${path} has an attribute that a record made`)
    const leads = await page.locator('a[href]').evaluateAll((all) => all.map((it) => it.getAttribute('href')))
    assert(leads.every((href) => href.startsWith('/') || href.startsWith('#') || href.startsWith('?')), `${path}: ${leads}`)
    waiting.push(...(await links(page, 'main a')).filter((link) => !link.startsWith('/search') && !link.startsWith('/api')))
  }
  const all = [...seen].filter(([path]) => !path.startsWith('/search'))
  const lost = payloads.filter((payload) => !all.some(([, words]) => words.includes(squeezed(shown(payload)))))
  assert(lost.length === 0, `not readable on any of ${all.length} pages: ${JSON.stringify(lost)}`)
  console.log(`${seen.size} pages, ${payloads.length} payloads`)
})

await suite.check('the pages reported no dialog, no violation, no error and no foreign request', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})

/** Every page of a list, from the first to the one without a next. */
async function* listed(path) {
  for (let next = path; next; [next] = await links(page, 'main a[rel=next]')) {
    assert((await suite.go(page, next)) === 200, next)
    yield next
  }
}
/** A text without invisible characters, however a page shows them, and without the marks of code. */
const legible = (text) => squeezed(text.replace(/U\+[0-9A-F]{4,5}/g, '').replace(/[\p{Cc}\p{Cf}`]/gu, ''))

/** Panics unless each payload, or each of some, is one of the texts that are shown in a place. */
function assertShown(place, texts, expected = payloads) {
  const shown = texts.map(legible)
  const lost = expected.filter((payload) => !shown.some((text) => text.includes(legible(payload))))
  assert(lost.length === 0, `${place}: ${lost.length} of ${expected.length} are not readable, as ${JSON.stringify(lost[0])}`)
}

await suite.check('reasons, notes and their authors are readable on the audit page', async () => {
  const rows = []
  for await (const _ of listed('/audit?limit=100')) {
    const cells = await page.locator('main tbody tr').evaluateAll((all) => {
      return all.map((row) => [...row.cells].map((cell) => cell.textContent))
    })
    rows.push(...cells)
  }
  for (const kind of ['pattern', 'fix', 'lesson']) {
    const own = rows.filter(([, , what]) => what.includes(kind))
    assert(own.length >= payloads.length, `${own.length} decisions about a ${kind}`)
    assertShown(`who decided about a ${kind}`, own.map(([, who]) => who))
    assertShown(`why, about a ${kind}`, own.map(([, , , why]) => why))
  }
})

await suite.check('titles, pitfalls, fixes and tags of gotchas are readable on their pages', async () => {
  await suite.go(page, '/knowledge?limit=1000')
  const rows = page.locator('main tbody tr', { has: page.locator('td:first-child', { hasText: 'gotcha' }) })
  const entries = await rows.locator('td.main a').evaluateAll((all) => all.map((it) => it.getAttribute('href')))
  const [titles, texts] = [[], []]
  for (const path of entries) {
    await suite.go(page, path)
    titles.push(await page.locator('h1').textContent())
    texts.push(await page.locator('main').textContent())
  }
  assertShown('the title of an entry', titles)
  // Title, pitfall, fix and tag of one gotcha are the same text; tags are in small letters.
  const often = (text, payload) => legible(text).toLowerCase().split(legible(payload).toLowerCase()).length > 4
  const lost = payloads.filter((payload) => !texts.some((text) => often(text, payload)))
  assert(lost.length === 0, `not in every field of its page: ${JSON.stringify(lost)}`)
})

await suite.check('names of branches are readable in the list of tasks', async () => {
  const names = []
  for await (const _ of listed('/tasks?limit=100')) names.push(...(await page.locator('main td.main').allTextContents()))
  const branches = payloads.filter((payload) => names.some((name) => !/^t\d+ /.test(name) && legible(name).startsWith(legible(payload))))
  assert(branches.length >= 5, `tasks of branches: ${branches}`)
  console.log(`${branches.length} branches`)
})

await suite.check('what is written by people did nothing either', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})

/** Another site: a page that sends a form to the dashboard as soon as it is opened. */
async function foreignSite(type) {
  const target = new URL('/api/knowledge/decision', suite.address.origin)
  const body = JSON.stringify({ decision: 'planted', context: 'planted', agentId: 'planted', tags: ['='] })
  const [name, value] = [body.slice(0, body.indexOf('=')), body.slice(body.indexOf('=') + 1)]
  const field = `name='${name}' value='${value}'`
  const html = `<!doctype html><form method=post action='${target}' enctype='${type}'><input ${field}></form>`
  const server = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(html))
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  return server
}
const entries = async () => {
  const answer = await context.request.get(new URL('/api/v1/knowledge?limit=1000', suite.address.origin).href)
  return (await answer.json()).entries.length
}

for (const host of ['127.0.0.1', 'localhost']) {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    await suite.check(`a form of another origin changes nothing: ${host}, ${type}`, async () => {
      const before = await entries()
      const site = await foreignSite(type)
      const other = await context.newPage()
      await other.goto(`http://${host}:${site.address().port}/`)
      const answered = other.waitForResponse((it) => it.url().startsWith(suite.address.origin))
      await other.locator('form').evaluate((form) => form.submit())
      const answer = await answered
      assert([401, 403].includes(answer.status()), `status ${answer.status()}`)
      assert((await entries()) === before, 'an entry was recorded')
      await other.close()
      site.close()
    })
  }
}
await suite.end()
