// Every page of a dashboard as people with different needs get it:
//
//     node pages.mjs ADDRESS
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, DETAILS, links, Suite, violations } from './browser.mjs'

// Of what was recorded, not of the page around it.
const RECORDED = '.*Private Use Area.*'

const suite = new Suite()
const { page, context, wrong } = await suite.open()

await suite.check('the token is neither in the address nor in the history', async () => {
  const session = await context.newCDPSession(page)
  const { entries } = await session.send('Page.getNavigationHistory')
  const token = suite.address.searchParams.get('token')
  const all = [page.url(), ...entries.flatMap((entry) => [entry.url, entry.userTypedURL])]
  // The first address of a history is the one that a person typed; it must not be what the browser came to.
  const came = entries.map((entry) => entry.url)
  assert(![page.url(), ...came].some((url) => url.includes(token) || url.includes('token=')), all.join(', '))
  assert((await page.evaluate(() => document.cookie)) === '', 'scripts read the cookie')
})

const paths = await suite.pages(page)
console.log(`${paths.length} pages: ${paths.join(' ')}`)
await suite.check('there is a page of every kind', async () => {
  const kinds = ['figures', 'patterns', 'failures', 'runs', 'fixes', 'knowledge', 'promotions', 'tasks', 'lessons', 'gate', 'gate/evaluations']
  // Where nothing can be isolated, no job ran and there is no page.
  if (paths.some((path) => path.startsWith('/library/a-'))) kinds.push('library/jobs')
  for (const kind of kinds) {
    assert(paths.some((path) => path.startsWith(`/${kind}/`)), `nothing links to /${kind}/`)
  }
})
// A job that failed has the command that is run again beside its button.
await suite.go(page, '/library/jobs?state=failed')
paths.push('/library/jobs', ...(await links(page, 'td.main a')).filter((path) => !paths.includes(path)))
paths.push('/figures', '/search?q=refund', '/patterns?agent=nobody', '/problems/unknown-id')

await suite.check('the Nu checker finds no fault in any page', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verify-run-pages-'))
  for (const [number, path] of paths.entries()) {
    const answer = await context.request.get(new URL(path, suite.address.origin).href)
    writeFileSync(join(folder, `${number}.html`), await answer.body())
  }
  const checked = spawnSync('vnu', ['--stdout', '--exit-zero-always', '--filterpattern', RECORDED, folder], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  assert(checked.status === 0, `the checker failed: ${checked.error} ${checked.stderr}`)
  assert(checked.stdout === '', checked.stdout)
})

/** What scrolls sideways on a page, or is beyond its edge, but tables in their own box. */
function wide() {
  const root = document.scrollingElement
  const found = root.scrollWidth > root.clientWidth ? [`the page, ${root.scrollWidth} px`] : []
  for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element)
    const scrolls = style.overflowX === 'auto' || style.overflowX === 'scroll'
    const isTable = element.matches('.scroll') && element.querySelector('table')
    if (scrolls && !isTable && element.scrollWidth > element.clientWidth) found.push(element.outerHTML.slice(0, 80))
    const isBeyond = element.getBoundingClientRect().right > root.clientWidth + 1
    if (isBeyond && !element.closest('.scroll, .skip, svg')) found.push(`beyond the edge: ${element.outerHTML.slice(0, 80)}`)
  }
  return found
}

// Each page is loaded once. Zoomed to 200 %, a window of 1280 pixels has 640 for it.
const WIDTHS = { 'at 320 px': 320, 'at 200 % zoom': 640 }
const faults = { light: [], dark: [], 'at 320 px': [], 'at 200 % zoom': [] }
for (const path of paths) {
  await page.setViewportSize({ width: 1280, height: 900 })
  await suite.go(page, path)
  for (const [colorScheme, found] of Object.entries(await violations(page))) faults[colorScheme].push(...found)
  for (const [name, width] of Object.entries(WIDTHS)) {
    await page.setViewportSize({ width, height: 800 })
    faults[name].push(...(await page.evaluate(wide)).map((it) => `${path}: ${it}`))
  }
}
// What answers with an error is a page, too; a browser reports each as an error.
const failing = await suite.open()
for (const [path, expected] of Object.entries({ '/patterns/p-none': 404, '/nowhere': 404, '/failures?state=wrong': 400 })) {
  const status = await suite.go(failing.page, path)
  assert(status === expected, `${path} answers ${status}`)
  assert((await failing.page.locator('h1').count()) === 1, `${path} is no page`)
  for (const [colorScheme, found] of Object.entries(await violations(failing.page))) faults[colorScheme].push(...found)
}
await failing.context.close()
await page.setViewportSize({ width: 1280, height: 900 })
for (const [name, found] of Object.entries(faults)) {
  const what = name in WIDTHS ? 'nothing scrolls sideways but tables in their own box' : 'axe finds no violation'
  await suite.check(`${what}, ${name}`, () => assert(found.length === 0, found.join('\n')))
}

await suite.check('severities are told apart without colours', async () => {
  const session = await context.newCDPSession(page)
  for (const forcedColors of ['none', 'active']) {
    await page.emulateMedia({ forcedColors })
    await suite.go(page, '/patterns?state=all')
    await session.send('Emulation.setEmulatedVisionDeficiency', { type: 'achromatopsia' })
    const seen = new Map()
    for (const mark of await page.locator('td .severity').all()) {
      const text = (await mark.innerText()).trim()
      const shape = mark.locator('[aria-hidden]')
      const picture = (await shape.count()) > 0 ? (await shape.screenshot()).toString('base64') : text
      if (!seen.has(text)) seen.set(text, picture)
    }
    assert(seen.size >= 3, `only ${[...seen.keys()]}`)
    assert(new Set(seen.values()).size === seen.size, `two of ${[...seen.keys()]} have the same shape`)
  }
  await session.send('Emulation.setEmulatedVisionDeficiency', { type: 'none' })
  await page.emulateMedia({ forcedColors: 'none' })
})

await suite.check('without script every link, filter, form, tab and table works', async () => {
  const { page, context, wrong } = await suite.open({ javaScriptEnabled: false })
  const tabs = new Set()
  for (const path of paths) {
    await suite.go(page, path)
    for (const tab of await links(page, '.tabs a')) tabs.add(tab)
    const closed = page.locator('main details:not([open])')
    while ((await closed.count()) > 0) {
      const count = await closed.count()
      await closed.first().locator('summary').click()
      assert((await closed.count()) === count - 1, `${path}: a part does not open`)
    }
    for (const content of await page.locator('main details > :not(summary)').all()) {
      assert(await content.isVisible(), `${path}: what was opened is not visible`)
    }
    const filter = page.locator('form.filter input[name=agent]')
    if ((await filter.count()) > 0) {
      await filter.fill('codex')
      await page.locator('form.filter button').first().click()
      assert(new URL(page.url()).searchParams.get('agent') === 'codex', `${path}: ${page.url()}`)
      assert((await page.locator('form.filter input[name=agent]').inputValue()) === 'codex', `${path}: the filter is forgotten`)
    }
  }
  for (const tab of tabs) {
    assert((await suite.go(page, tab)) === 200, `${tab} does not open`)
    if (!tab.includes('=')) continue
    const current = await page.locator('.tabs a[aria-current]').evaluateAll((all) => all.map((it) => it.getAttribute('href')))
    assert(current.length > 0, `${tab} shows no tab as the current one`)
  }
  await page.locator('form.search input').fill('refund')
  await Promise.all([page.waitForURL('**/search?q=refund'), page.locator('form.search button').click()])
  assert((await links(page, 'main a')).some((link) => DETAILS.test(link)), 'nothing is found')
  assert(wrong.length === 0, wrong.join('\n'))
  await context.close()
})

await suite.check('without script a note is recorded', async () => {
  const { page, context, wrong } = await suite.open({ javaScriptEnabled: false })
  for (const [kind, field] of [['fixes', 'approach'], ['lessons', 'resolution']]) {
    await suite.go(page, paths.find((path) => path.startsWith(`/${kind}/`)))
    const form = page.locator('#decide form')
    await form.locator(`input[name=${field}]`).fill('Load <b>the order</b> first')
    await form.locator('button').click()
    assert(page.url().includes(`/${kind}/`), `${kind} leads to ${page.url()}`)
    assert((await page.locator('main').innerText()).includes('Load <b>the order</b> first'), `${kind}: it is not shown`)
  }
  assert(wrong.length === 0, wrong.join('\n'))
  await context.close()
})

await suite.check('nothing was reported on the way', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})
await suite.go(page, '/')
const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
console.log(`first contentful paint of the overview: ${Math.round(paint)} ms`)
await suite.end()
