// Patterns of each severity, of which `critical` failed in twelve tasks of this week:
//
//     node severity.mjs ADDRESS
import { assert, Suite } from './browser.mjs'

const SHAPES = { critical: '◆', high: '▲', medium: '●', low: '○' }

const suite = new Suite()
const { page, context, wrong } = await suite.open()
const session = await context.newCDPSession(page)

/** The mark of a page or list: its words, its shape, and the picture of the shape. */
async function mark(severity) {
  const found = page.locator('main .severity', { hasText: severity }).first()
  const shape = found.locator('[aria-hidden]')
  const picture = (await shape.screenshot()).toString('base64')
  return { words: await found.innerText(), shape: await shape.innerText(), picture }
}

await suite.check('a pattern of twelve tasks this week is critical', async () => {
  await suite.go(page, '/patterns?order=tasks')
  const row = page.locator('main tbody tr').first()
  assert((await row.locator('td').nth(3).innerText()) === '12', await row.innerText())
  await row.locator('td.main a').click()
  const { words, shape } = await mark('critical')
  assert(shape === '◆' && words === '◆ critical', words)
  const said = await page.locator('main .severity').first().ariaSnapshot()
  assert(said.includes('critical') && !said.includes('◆'), `a screen reader hears ${said}`)
})

for (const [name, media, deficiency] of [
  ['as it is', { forcedColors: 'none' }, 'none'],
  ['without colours', { forcedColors: 'none' }, 'achromatopsia'],
  ['in the colours of the system', { forcedColors: 'active' }, 'none'],
  ['in the dark colours of the system', { forcedColors: 'active', colorScheme: 'dark' }, 'none'],
]) {
  await suite.check(`each severity has a shape of its own, ${name}`, async () => {
    await page.emulateMedia(media)
    await session.send('Emulation.setEmulatedVisionDeficiency', { type: deficiency })
    await suite.go(page, '/patterns?order=tasks')
    const pictures = new Map()
    for (const [severity, expected] of Object.entries(SHAPES)) {
      const { words, shape, picture } = await mark(severity)
      assert(shape === expected && words === `${expected} ${severity}`, `${severity}: ${words}`)
      assert(![...pictures.values()].includes(picture), `${severity} looks like another one`)
      pictures.set(severity, picture)
    }
    // A shape that has the colour of its page is in no picture.
    for (const severity of pictures.keys()) {
      const colours = await page.locator('main .severity', { hasText: severity }).first().evaluate((element) => {
        const shape = element.querySelector('[aria-hidden]')
        return [getComputedStyle(shape).color, getComputedStyle(document.body).backgroundColor]
      })
      assert(colours[0] !== colours[1], `${severity} is ${colours[0]} on ${colours[1]}`)
    }
  })
}

await suite.check('nothing was reported on the way', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})
await suite.end()
