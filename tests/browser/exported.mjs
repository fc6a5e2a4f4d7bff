// An exported file, opened from a disk by a browser without a network:
//
//     node exported.mjs ADDRESS
//
// ADDRESS is that of the file (`file:///…`).
import { assert, Suite } from './browser.mjs'

const suite = new Suite()
const { page, wrong } = await suite.open({ offline: true })

await suite.check('it asks for nothing but itself', async () => {
  const requests = []
  page.on('request', (request) => requests.push(request.url()))
  await page.reload()
  assert(requests.filter((url) => !url.startsWith('data:')).join(' ') === suite.address.href, requests.join(' '))
  assert((await page.locator('script, iframe, object, embed, form, main img, link[rel=stylesheet]').count()) === 0, 'it is not inert')
  const handlers = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll('*')].flatMap((element) => element.getAttributeNames())
    return attributes.filter((name) => name.startsWith('on') || name === 'style')
  })
  assert(handlers.length === 0, handlers.join(' '))
})

await suite.check('its style is applied', async () => {
  const display = await page.locator('header.top').evaluate((header) => getComputedStyle(header).display)
  assert(display === 'flex', `the header is ${display}`)
})

await suite.check('every link leads to something in the file', async () => {
  const { count, lost, repeated } = await page.evaluate(() => {
    const targets = [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
    return {
      count: targets.length,
      lost: targets.filter((target) => !target.startsWith('#') || !document.getElementById(target.slice(1))),
      repeated: ids.filter((id, number) => ids.indexOf(id) !== number),
    }
  })
  assert(count > 20, `only ${count} links`)
  assert(lost.length === 0, `these lead nowhere: ${lost.join(' ')}`)
  assert(repeated.length === 0, `more than once: ${repeated.join(' ')}`)
  assert((await page.locator('.why').count()) === 0, 'a figure has a link to a page that is not in the file')
  for (const prefix of ['#p-', '#x-']) {
    const link = page.locator(`a[href^="${prefix}"]`).first()
    const anchor = await link.getAttribute('href')
    await link.click()
    assert(new URL(page.url()).hash === anchor, page.url())
    const top = await page.locator(`[id="${anchor.slice(1)}"]`).evaluate((part) => part.getBoundingClientRect().top)
    assert(Math.abs(top) < 100, `${anchor} is ${top} px away`)
  }
  console.log(`${count} links`)
})

await suite.check('nothing was reported on the way', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})
await suite.end()
