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
