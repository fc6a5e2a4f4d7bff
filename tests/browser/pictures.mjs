// The pictures of docs/dashboard.md, made from a dashboard of what team.py records:
//
//     node pictures.mjs ADDRESS FOLDER
import { join } from 'node:path'
import { links, Suite } from './browser.mjs'

const folder = process.argv[3]
const suite = new Suite()
const { page } = await suite.open({ viewport: { width: 1200, height: 760 } })

/** The first page of a kind that a list links to and that has what is asked for. */
async function first(list, prefix, has) {
  await suite.go(page, list)
  for (const path of (await links(page, 'main a')).filter((link) => link.startsWith(prefix))) {
    await suite.go(page, path)
    if ((await page.locator(has).count()) > 0) return path
  }
  throw new Error(`no page of ${list} has ${has}`)
}

const pictures = {
  overview: '/',
  patterns: '/patterns?order=tasks',
  pattern: await first('/patterns?order=tasks', '/patterns/p-', 'section ol'),
  fix: await first('/fixes?state=success', '/fixes/x-', '#a2 pre.diff'),
  effect: '/effect',
}
for (const [name, path] of Object.entries(pictures)) {
  await suite.check(`dashboard-${name}.png`, async () => {
    await suite.go(page, path)
    await page.screenshot({ path: join(folder, `dashboard-${name}.png`) })
  })
}
await suite.end()
