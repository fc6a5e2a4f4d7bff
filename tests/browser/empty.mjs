// A dashboard before anything is recorded: each page explains itself, for everybody.
//
//     node empty.mjs ADDRESS
import { assert, links, Suite, violations } from './browser.mjs'

const suite = new Suite()
const { page, wrong } = await suite.open()
const paths = [...(await links(page, 'nav a')), '/figures', '/figures/failing_tasks', '/gate', '/library', '/patterns/p-none']
const faults = { light: [], dark: [] }

await suite.check('each page says that there is nothing yet', async () => {
  assert(paths.length > 15, paths.join(' '))
  for (const path of paths) {
    const status = await suite.go(page, path)
    assert(status === 200, `${path} answers ${status}`)
    const text = await page.locator('main').innerText()
    assert(/nothing|nobody|no |none|empty|not /i.test(text), `${path}: ${text}`)
    for (const [colorScheme, found] of Object.entries(await violations(page))) faults[colorScheme].push(...found)
  }
  await suite.go(page, '/')
  assert((await page.locator('main pre').innerText()).includes('verify-run npm test'), 'no command to begin with')
  console.log(`${paths.length} pages`)
})
for (const [colorScheme, found] of Object.entries(faults)) {
  await suite.check(`axe finds no violation, ${colorScheme}`, () => assert(found.length === 0, found.join('\n')))
}
await suite.check('nothing was reported on the way', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})
await suite.end()
